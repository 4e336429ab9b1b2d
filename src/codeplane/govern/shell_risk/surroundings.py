"""Look at the place a command would run in, without running anything."""

import os
import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from codeplane.core.secrets import secret_rule
from codeplane.edit.protection import is_protected_name
from codeplane.govern.shell_risk.context import EVERYTHING, ShellContext
from codeplane.govern.shell_risk.readers import READERS
from codeplane.govern.shell_risk.report import UnclearCommandError
from codeplane.govern.shell_risk.words import Word, read_tokens

_MAX_CONFIG: Final = 1_000_000
_MAX_ENTRIES: Final = 20_000
_MAX_MODULES: Final = 200
_MAX_STARTS: Final = 400
_MAX_INDEX: Final = 200_000_000
_GITLINK: Final = b"\x00\x00\xe0\x00"
_SECTION: Final = re.compile(r'\s*\[\s*([A-Za-z0-9.-]+)\s*(?:"((?:[^"\\]|\\.)*)")?\s*\]')
_SETTING: Final = re.compile(r"\s*([A-Za-z][A-Za-z0-9-]*)\s*(?:=\s*(.*))?$")
# Settings after which reading with git starts a program, follows another file or reaches the network.
_HELPERS: Final = re.compile(
    r"core\.(?:fsmonitor|pager|sshcommand|gitproxy|worktree|alternaterefscommand|askpass)"
    r"|diff\.external|diff\..*\.(?:textconv|command)|filter\..*\.(?:clean|smudge|process)|pager\..*"
    r"|include\.path|includeif\..*\.path|gpg\.(?:.*\.)?program|log\.showsignature|interactive\.difffilter"
    r"|extensions\.partialclone|pretty\..*|format\.pretty|remote\..*\.(?:promisor|partialclonefilter|vcs)"
    r"|trailer\..*\.(?:command|cmd)|blame\.ignorerevsfile|submodule\.recurse|status\.submodulesummary"
)
_FALSE: Final = frozenset({"false", "no", "off", "0", ""})
_OFF_IS_FINE: Final = frozenset({"core.fsmonitor", "log.showsignature", "submodule.recurse", "status.submodulesummary"})
_EVERY_PROGRAM: Final = re.compile(
    r"BASH_ENV|ENV|LD_.*|DYLD_.*|BASH_FUNC_.*|SHELLOPTS|BASHOPTS|PS4|PROMPT_COMMAND|GCONV_PATH|LOCPATH|GREP_OPTIONS"
    r"|POSIXLY_CORRECT_.*|MAGIC|JQ_LIBRARY_PATH|AWKPATH|AWKLIBPATH|GLOBIGNORE|MALLOC_.*_FILE|NLSPATH|GETCONF_DIR"
)
_GIT_VARIABLES: Final = re.compile(
    r"GIT_(?!OPTIONAL_LOCKS|TERMINAL_PROMPT|AUTHOR_|COMMITTER_|EDITOR|SEQUENCE_EDITOR|CONFIG_NOSYSTEM|ASKPASS"
    r"|MERGE_AUTOEDIT|ADVICE|SSL_|HTTP_|PS1_|CONFIG_COUNT|CONFIG_VALUE_).*"
)
_OTHER_VARIABLES: Final = frozenset({"RIPGREP_CONFIG_PATH", "CDPATH"})
_OTHER_NAMES: Final = frozenset(
    {"git", "find", "sed", "awk", "jq", "yq", "env", "test", "printf", "echo", "true", "npm", "pnpm", "yarn", "bun"}
)


def look_around(root: Path | None, cwd: Path, environment: Mapping[str, str], command: str) -> ShellContext:
    """Return the facts that bear on a command; `root` is the top of the working tree, when there is one."""
    top = str(root) if root is not None else ""
    return ShellContext(
        root=top,
        cwd=str(cwd),
        git_runs_helpers=why_git_runs_helpers(cwd) or (why_git_runs_helpers(root) if root not in {None, cwd} else ""),
        variables=tuple(sorted(_telling(environment, root))),
        shadowed=tuple(sorted(_shadowed(environment.get("PATH", ""), root, cwd))),
        leading_away=tuple(sorted(leading_away(command, root or cwd, cwd))),
        is_one_repository=root is not None and is_one_repository(command, root, cwd),
    )


def find_root(start: Path) -> Path | None:
    """Return the top of the working tree a directory is in, None when it is in none."""
    return next((one for one in (start, *start.parents) if (one / ".git").exists()), None)


def why_git_runs_helpers(cwd: Path) -> str:
    """Return what would make git run a program in a directory, empty when nothing does."""
    try:
        return _why_helpers(cwd)
    except (OSError, ValueError) as error:
        return f"its configuration cannot be read ({type(error).__name__})"


def settings_that_run(text: str) -> Iterator[str]:
    """Return the settings of a git configuration after which reading starts something."""
    for name, value in _settings(text):
        is_off = (name in _OFF_IS_FINE or name.startswith("pager.")) and value.lower() in _FALSE
        if _HELPERS.fullmatch(name) and not is_off:
            yield name


def _settings(text: str) -> Iterator[tuple[str, str]]:
    section = ""
    for line in text.lstrip("\ufeff").replace("\\\n", "").splitlines():
        found = _SECTION.match(line)
        if found is not None:
            section = found[1].lower() + (f".{found[2]}" if found[2] is not None else "")
            line = line[found.end() :]  # noqa: PLW2901 - a setting may follow on the same line.
        setting = _SETTING.match(line)
        if setting is None:
            continue
        name = f"{section}.{setting[1].lower()}"
        yield name, re.split(r"[#;]", setting[2] if setting[2] is not None else "true")[0].strip().strip('"')


def leading_away(command: str, root: Path, cwd: Path) -> set[str]:
    """Return the paths from the root that the command's words name and that lead out or to something protected."""
    texts = _texts(command)
    real_root = os.path.realpath(root)
    starts = {cwd}
    for _ in range(_n_moves(command)):
        starts |= {start / text for start in starts for text in texts}
        if len(starts) > _MAX_STARTS:
            return {EVERYTHING}
    return {away for start in starts for text in texts for away in _away(start, text, root, real_root)}


def is_one_repository(command: str, root: Path, cwd: Path) -> bool:
    """Tell that neither the start nor a directory that the command names has a repository of its own."""
    if _n_moves(command) > 1:
        return False
    places = [cwd, *(cwd / text for text in _texts(command))]
    for place in places[:_MAX_STARTS]:
        parts = Path(os.path.relpath(os.path.normpath(place), root)).parts
        for count in range(1, len(parts) + 1):
            if parts[0] != ".." and _is_repository(root.joinpath(*parts[:count])):
                return False
    return len(places) <= _MAX_STARTS


def _n_moves(command: str) -> int:
    return len(re.findall(r"\bcd\b", command)) if "cd" in command else 0


def _texts(command: str) -> set[str]:
    """Return every text of a command that could be a path; none when it cannot be read, and so never is SAFE."""
    try:
        tokens = read_tokens(command.encode("utf-8").decode("latin-1"), is_bash=True)
        words = [one.value.encode("latin-1").decode("utf-8") for one in tokens if isinstance(one, Word)]
    except (UnclearCommandError, UnicodeError):
        return set()
    parts = {part for word in words for part in (word, word.partition("=")[2], word.rpartition(":")[2])}
    return {part for part in parts if part and "\0" not in part and len(part) < 1000}


def _is_repository(folder: Path) -> bool:
    return (folder / ".git").exists() or ((folder / "HEAD").is_file() and (folder / "objects").is_dir())


def _away(start: Path, text: str, root: Path, real_root: str) -> set[str]:
    """Return the first linked part of a path that leads away, as a path from the root."""
    lexical = os.path.normpath(start / text)
    if ".." in text.split("/") and os.path.realpath(start / text) != os.path.realpath(lexical):
        # The system follows a link before it goes up; the text alone does not tell where that leads.
        return {EVERYTHING}
    inside = os.path.relpath(lexical, root)
    if inside.startswith(".."):
        return set()
    current = str(root)
    for part in Path(inside).parts:
        current = f"{current}/{part}"
        if not os.path.islink(current):  # noqa: PTH114 - text in, text out.
            continue
        target = os.path.relpath(os.path.realpath(current), real_root)
        is_hidden = is_protected_name(target) or secret_rule(target) is not None
        if target.startswith("..") or is_hidden:
            return {os.path.relpath(current, root)}
    return set()


def _telling(environment: Mapping[str, str], root: Path | None) -> Iterator[str]:
    home = environment.get("HOME", "")
    if root is not None and home and (not home.startswith("/") or Path(home).is_relative_to(root)):
        yield "HOME"
    for name, value in environment.items():
        if _is_known_harmless(name, value, root):
            continue
        if value and (_EVERY_PROGRAM.fullmatch(name) or _GIT_VARIABLES.fullmatch(name) or name in _OTHER_VARIABLES):
            yield name


def _is_known_harmless(name: str, value: str, root: Path | None) -> bool:
    """Tell that a variable of a telling name has a value that changes nothing here."""
    if name in {"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"}:
        return value == os.devnull
    if name in {"GIT_PAGER", "PAGER"}:
        return value == "cat"
    if name.startswith("GIT_CONFIG_KEY_"):
        return _HELPERS.fullmatch(value.lower()) is None and not value.lower().startswith(("core.", "alias."))
    if name == "LD_LIBRARY_PATH":
        top = str(root) if root is not None else "/nowhere"
        return all(one.startswith("/") and not f"{one}/".startswith(f"{top}/") for one in value.split(":"))
    return False


def _shadowed(path: str, root: Path | None, cwd: Path) -> Iterator[str]:
    """Return readers that a directory of the tree, or a relative one, offers on PATH."""
    for entry in path.split(":") if path else ():
        folder = (cwd / entry) if entry else cwd
        is_inside = not entry.startswith("/") or (root is not None and folder.resolve().is_relative_to(root.resolve()))
        if not is_inside:
            continue
        try:
            names = [one.name for one, _ in zip(os.scandir(folder), range(_MAX_ENTRIES), strict=False)]
        except OSError:
            continue
        yield from (name for name in names if name in READERS or name in _OTHER_NAMES)


def _why_helpers(cwd: Path, n_levels: int = 3) -> str:
    place = _git_directory(cwd)
    if place is None:
        return ""
    common = place
    pointer = place / "commondir"
    if pointer.is_file():
        common = (place / pointer.read_text("utf-8").strip()).resolve()
    modules = [common / "modules"] if (common / "modules").is_dir() else []
    configurations = [common / "config", place / "config.worktree"]
    for top in modules:
        configurations += [found for found, _ in zip(top.rglob("config"), range(_MAX_MODULES), strict=False)]
    for configuration in configurations:
        if not configuration.exists():
            continue
        if configuration.stat().st_size > _MAX_CONFIG:
            return "its configuration is too large"
        text = configuration.read_bytes().decode("utf-8", "replace")
        reason = next(settings_that_run(text), "")
        if reason:
            return reason
        reason = _why_hooks(dict(_settings(text)).get("core.hookspath"), common, cwd)
        if reason:
            return reason
    return _why_hooks("", common, cwd) or _why_submodules(place, cwd, n_levels)


def _why_hooks(hooks_path: str | None, common: Path, cwd: Path) -> str:
    """Reading refreshes the index, and that runs one hook."""
    if hooks_path is None:
        return ""
    if hooks_path.startswith(("~", "%")):
        return "core.hookspath"
    top = next((one for one in (cwd, *cwd.parents) if (one / ".git").exists()), cwd)
    hook = (top / hooks_path if hooks_path else common / "hooks") / "post-index-change"
    return "the hook post-index-change" if hook.exists() and hook.stat().st_mode & stat.S_IXUSR else ""


def _why_submodules(place: Path, cwd: Path, n_levels: int) -> str:
    """Status and diff ask every submodule, which has a configuration of its own."""
    top = next((one for one in (cwd, *cwd.parents) if (one / ".git").exists()), cwd)
    for index in (place / "index", *place.glob("sharedindex.*")):
        if not index.is_file():
            continue
        data = index.read_bytes() if index.stat().st_size <= _MAX_INDEX else b""
        if not data:
            return "its index is too large"
        for path in _gitlinks(data):
            inner = top / os.fsdecode(path)
            if n_levels <= 0:
                return "submodules in submodules"
            if (inner / ".git").exists():
                reason = _why_helpers(inner, n_levels - 1)
                if reason:
                    return f"{reason} of a submodule"
    return ""


def _gitlinks(data: bytes) -> Iterator[bytes]:
    """Return the paths of submodules in a git index; compressed names cannot be read and are an error."""
    if _GITLINK not in data:
        return
    version = int.from_bytes(data[4:8], "big")
    if version not in {2, 3}:
        raise ValueError("an index with compressed names")
    position, width = 12, 20
    for _ in range(int.from_bytes(data[8:12], "big")):
        flags = position + 40 + width
        extended = 2 if data[flags] & 0x40 else 0
        end = data.index(b"\0", flags + 2 + extended)
        if data[position + 24 : position + 28] == _GITLINK:
            yield data[flags + 2 + extended : end]
        position += (end - position + 8) // 8 * 8


def _git_directory(cwd: Path) -> Path | None:
    """Return the directory git would use: the nearest `.git`, or a directory that is a repository itself."""
    for one in (cwd, *cwd.parents):
        inside = one / ".git"
        if inside.is_dir():
            return inside
        if inside.is_file():
            told = inside.read_text("utf-8").removeprefix("gitdir:").strip()
            return (one / told).resolve()
        if (one / "HEAD").is_file() and (one / "objects").is_dir() and (one / "refs").is_dir():
            return one
    return None
