"""Look at the place a command would run in, without running anything."""

import os
import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from codeplane.core.secrets import secret_rule
from codeplane.edit.protection import is_protected_name
from codeplane.govern.shell_risk.context import EVERYTHING, OPTION_IN_LISTING, ShellContext
from codeplane.govern.shell_risk.git_settings import is_helper, settings, settings_that_run
from codeplane.govern.shell_risk.patterns import matches, matches_in_shell, widened
from codeplane.govern.shell_risk.readers import READERS
from codeplane.govern.shell_risk.report import UnclearCommandError
from codeplane.govern.shell_risk.words import Word, read_tokens

_MAX_CONFIG: Final = 1_000_000
_MAX_BELOW: Final = 20_000
_MAX_MATCHES: Final = 5_000
_MAX_MODULES: Final = 200
_MAX_STARTS: Final = 400
_MAX_INDEX: Final = 200_000_000
_GITLINK: Final = b"\x00\x00\xe0\x00"
_EVERY_PROGRAM: Final = re.compile(
    r"BASH_ENV|ENV|LD_.*|DYLD_.*|BASH_FUNC_.*|SHELLOPTS|BASHOPTS|PS4|PROMPT_COMMAND|GCONV_PATH|LOCPATH|GREP_OPTIONS"
    r"|POSIXLY_CORRECT_.*|MAGIC|JQ_LIBRARY_PATH|AWKPATH|AWKLIBPATH|GLOBIGNORE|MALLOC_.*_FILE|NLSPATH|GETCONF_DIR"
)
_GIT_VARIABLES: Final = re.compile(
    r"GIT_(?!OPTIONAL_LOCKS|TERMINAL_PROMPT|AUTHOR_|COMMITTER_|EDITOR|SEQUENCE_EDITOR|CONFIG_NOSYSTEM|ASKPASS"
    r"|MERGE_AUTOEDIT|ADVICE|SSL_|HTTP_|PS1_|CONFIG_COUNT|CONFIG_VALUE_).*"
)
_OTHER_VARIABLES: Final = re.compile(
    r"RIPGREP_CONFIG_PATH|CDPATH|LESS|LESS(?:OPEN|CLOSE|KEY\w*|EDIT)|MORE|BAT_\w+|NODE_OPTIONS|RUBYOPT|PERL5\w+|PYTHON\w+"
    r"|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|JDK_JAVA_OPTIONS|GOFLAGS|GOTOOLCHAIN|RUSTUP_TOOLCHAIN"
)
_OTHER_NAMES: Final = frozenset(
    {"git", "find", "sed", "awk", "jq", "yq", "env", "test", "printf", "echo", "true", "npm", "pnpm", "yarn", "bun",
     "timeout", "nice", "time", "ps", "less", "xxd", "printenv"}
)  # fmt: skip
_SHARED_FOLDERS: Final = ("/tmp", "/var/tmp", "/dev/shm", "/private/tmp")  # noqa: S108 - names to distrust.
# Programs that follow every link below a directory when each of these is among their words.
_LETTER_L: Final = re.compile(r"-[A-Za-z]*L[A-Za-z]*|-follow|--follow|--dereference")
_LETTER_R: Final = re.compile(r"-[A-Za-z]*[Rr][A-Za-z]*|--(?:dereference-)?recursive")
_FOLLOWERS: Final = (
    (re.compile(r"(?:.*/)?[ef]?grep"), (re.compile(r"-[A-Za-z]*R[A-Za-z]*|--dereference-recursive"),)),
    (re.compile(r"(?:.*/)?diff"), (_LETTER_R,)),
    (re.compile(r"(?:.*/)?(?:rg|find|du|fd|fdfind)"), (_LETTER_L,)),
    (re.compile(r"(?:.*/)?ls"), (_LETTER_L, _LETTER_R)),
    (re.compile(r"(?:.*/)?tree"), (re.compile(r"-[A-Za-z]*l[A-Za-z]*"),)),
)


def look_around(root: Path | None, cwd: Path, environment: Mapping[str, str], command: str) -> ShellContext:
    """Return the facts that bear on a command; `root` is the top of the working tree, when there is one."""
    top = str(root) if root is not None else ""
    return ShellContext(
        root=top,
        cwd=str(cwd),
        git_runs_helpers=why_git_runs_helpers(cwd) or (why_git_runs_helpers(root) if root not in {None, cwd} else ""),
        variables=tuple(sorted(_telling(environment, root))),
        shadowed=tuple(sorted({*_shadowed(environment.get("PATH", ""), root, cwd, command), *_chosen(root, cwd)})),
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


def leading_away(command: str, root: Path, cwd: Path) -> set[str]:
    """Return the paths from the root that the command's words name and that lead out or to something protected."""
    words = _words(command)
    real_root = os.path.realpath(root)
    texts = {part for word in words if not word.pattern and not word.is_listing for part in _parts(word.value)}
    starts = {cwd}
    for _ in range(_n_moves(words)):
        starts |= {start / text for start in starts for text in texts}
        if len(starts) > _MAX_STARTS:
            return {EVERYTHING}
    found = {away for start in starts for text in texts for away in _away(start, text, root, real_root)}
    for word in words:
        paths = {os.path.relpath(os.path.normpath(start / word.value), root) for start in starts}
        if word.pattern and any(_matches_away(start, word, root, real_root) for start in starts):
            found |= paths
        elif word.is_listing and (hazard := _listing_hazard(word, root, real_root)) is not None:
            found |= {path + hazard for path in paths}
    if _follows_links([word.value for word in words]):
        found |= {away for start in starts if start.is_dir() for away in _links_below(start, root, real_root)}
    return found


def is_one_repository(command: str, root: Path, cwd: Path) -> bool:
    """Tell that neither the start nor a directory that the command names has a repository of its own."""
    words = _words(command)
    if _n_moves(words) > 1:
        return False
    places = [cwd, *(cwd / part for word in words for part in _parts(word.value))]
    real_root = Path(os.path.realpath(root))
    for place in places[:_MAX_STARTS]:
        # Git looks for its directory from where the system is, not from what the path says.
        for top, path in ((root, os.path.normpath(place)), (real_root, os.path.realpath(place))):
            parts = Path(os.path.relpath(path, top)).parts
            for count in range(1, len(parts) + 1):
                if parts[0] != ".." and _is_repository(top.joinpath(*parts[:count])):
                    return False
    return len(places) <= _MAX_STARTS


def _follows_links(values: list[str]) -> bool:
    return any(
        any(program.fullmatch(one) for one in values) and all(any(map(option.fullmatch, values)) for option in options)
        for program, options in _FOLLOWERS
    )


def _n_moves(words: list[Word]) -> int:
    return sum(word.value == "cd" for word in words)


def _words(command: str) -> list[Word]:
    """Return the words of a command; none when it cannot be read, and so never is SAFE."""
    try:
        tokens = read_tokens(command.encode("utf-8").decode("latin-1"), is_bash=True)
        words = [one for one in tokens if isinstance(one, Word)]
        for word in words:
            word.value = word.value.encode("latin-1").decode("utf-8")
            word.pattern = word.pattern.encode("latin-1").decode("utf-8")
    except (UnclearCommandError, UnicodeError):
        return []
    return words


def _parts(text: str) -> set[str]:
    """Return every part of a word that could be a path."""
    parts = {text, text.partition("=")[2], text.rpartition(":")[2]}
    return {part for part in parts if part and "\0" not in part and len(part) < 1000}


def _matches_away(start: Path, word: Word, root: Path, real_root: str) -> bool:
    """Tell whether a pattern of the shell matches something here that is secret, protected or leads away."""
    if word.pattern.startswith("/"):
        return True
    folders = [""]
    for part in word.pattern.split("/"):
        if not any(mark in part for mark in "*?"):
            folders = [os.path.join(one, part) for one in folders]  # noqa: PTH118 - text in, text out.
            continue
        names = [(one, name) for one in folders for name in _names_in(start / one) if matches_in_shell(name, part)]
        if len(names) > _MAX_MATCHES:
            return True
        folders = [os.path.join(one, name) for one, name in names]  # noqa: PTH118 - text in, text out.
    return any(_is_secret_path(one) or _away(start, one, root, real_root) for one in folders)


def _names_in(folder: Path) -> list[str]:
    try:
        return [one.name for one in folder.iterdir()]
    except OSError:
        return []


def _is_secret_path(path: str) -> bool:
    return is_protected_name(path) or secret_rule(path) is not None


def _listing_hazard(word: Word, root: Path, real_root: str) -> str | None:
    """Return what a path of tracked names is marked with: an option among them, "" for a secret or a link away."""
    wanted = [widened(one.strip("'")) for one in word.inner.split(" ")[2:] if one != "--"]
    try:
        names = [os.fsdecode(path) for path in _tracked(root)]
    except (OSError, ValueError, IndexError):
        return OPTION_IN_LISTING
    names = [name for name in names if not wanted or any(_is_in(name, one) for one in wanted)]
    if any(part.startswith("-") for name in names for part in name.split()):
        return OPTION_IN_LISTING
    folders = {os.path.dirname(name) for name in names}  # noqa: PTH120 - text in, text out.
    links = (one for one in (*names, *folders) if (root / one).is_symlink())
    is_hidden = any(_is_secret_path(name) or re.search(r"[\s*?\[\\]", name) for name in names)
    return "" if is_hidden or any(_away(root, one, root, real_root) for one in links) else None


def _is_in(name: str, pattern: str) -> bool:
    return pattern == "." or matches(name, f"*{pattern}") or matches(name, f"*{pattern}/*")


def _tracked(root: Path) -> Iterator[bytes]:
    place = _git_directory(root)
    index = (place or root) / "index"
    if index.stat().st_size > _MAX_INDEX:
        raise ValueError("its index is too large")
    return (path for _, path in _entries(index.read_bytes()))


def _links_below(start: Path, root: Path, real_root: str) -> set[str]:
    """Return the links below a directory that lead away, and `folder/*` for each folder with too much to look at."""
    found: set[str] = set()
    for name in _names_in(start):
        if (start / name).is_symlink():
            found |= _away(start, name, root, real_root)
            continue
        waiting, n_left = [str(start / name)], _MAX_BELOW
        while waiting and n_left > 0:
            entries = _entries_of(waiting.pop())
            n_left -= 1 + len(entries)
            for link in (one.path for one in entries if one.is_symlink()):
                found |= _away(start, link, root, real_root)
            waiting += [one.path for one in entries if one.is_dir(follow_symlinks=False)]
        if n_left <= 0:
            found.add(os.path.relpath(start / name, root) + "/*")
    return found


def _entries_of(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


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
        if value and any(one.fullmatch(name) for one in (_EVERY_PROGRAM, _GIT_VARIABLES, _OTHER_VARIABLES)):
            yield name


def _is_known_harmless(name: str, value: str, root: Path | None) -> bool:  # noqa: PLR0911 - one line per variable.
    """Tell that a variable of a telling name has a value that changes nothing here."""
    if name in {"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"}:
        return value == os.devnull
    if name in {"GIT_PAGER", "PAGER"}:
        return value == "cat"
    if name in {"LESS", "MORE"}:
        return re.fullmatch(r"(?:-?[FRSXiMQsnN]+ ?)*", value) is not None
    if name in {"LESSOPEN", "LESSCLOSE"}:
        return re.fullmatch(r"\|{0,2}-? ?/usr/bin/lesspipe(?:\.sh)? %s(?: %s)?", value) is not None
    if name in {"PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "PYTHONHASHSEED", "PYTHONIOENCODING", "PYTHONUTF8"}:
        return re.fullmatch(r"[\w.-]*", value) is not None
    if name.startswith("GIT_CONFIG_KEY_"):
        return not is_helper(value.lower()) and not value.lower().startswith(("core.", "alias."))
    if name == "LD_LIBRARY_PATH":
        top = str(root) if root is not None else "/nowhere"
        return all(one.startswith("/") and not f"{one}/".startswith(f"{top}/") for one in value.split(":"))
    return False


def _shadowed(path: str, root: Path | None, cwd: Path, command: str) -> Iterator[str]:
    """Return programs that a directory of the tree, a shared one or a relative one offers on PATH."""
    tops = tuple(f"{os.path.realpath(one)}/" for one in (*_SHARED_FOLDERS, *((root,) if root is not None else ())))
    for entry in dict.fromkeys(path.split(":")) if path else ():
        folder = (cwd / entry) if entry else cwd
        if not entry.startswith("/") or f"{os.path.realpath(folder)}/".startswith(tops):
            names = {*READERS, *_OTHER_NAMES, *(word.value for word in _words(command) if "/" not in word.value)}
            yield from (name for name in names if name and os.path.lexists(folder / name[:255]))


def _chosen(root: Path | None, cwd: Path) -> Iterator[str]:
    """Return tools of Rust when a file of the tree names a directory to take them from."""
    for folder in (cwd, *cwd.parents):
        for name in ("rust-toolchain", "rust-toolchain.toml"):
            try:
                if "path" in (folder / name).read_text("utf-8", "replace"):
                    yield from ("cargo", "rustc")
            except OSError:
                continue
        if folder == root:
            return


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
        reason = _why_hooks(dict(settings(text)).get("core.hookspath"), common, cwd)
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
        if _GITLINK not in data:
            continue
        for path in (path for mode, path in _entries(data) if mode == _GITLINK):
            inner = top / os.fsdecode(path)
            if n_levels <= 0:
                return "submodules in submodules"
            if (inner / ".git").exists():
                reason = _why_helpers(inner, n_levels - 1)
                if reason:
                    return f"{reason} of a submodule"
    return ""


def _entries(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Return modes and paths in a git index; compressed names cannot be read and are an error."""
    version = int.from_bytes(data[4:8], "big")
    if version not in {2, 3}:
        raise ValueError("an index with compressed names")
    position, width = 12, 20
    for _ in range(int.from_bytes(data[8:12], "big")):
        flags = position + 40 + width
        extended = 2 if data[flags] & 0x40 else 0
        end = data.index(b"\0", flags + 2 + extended)
        yield data[position + 24 : position + 28], data[flags + 2 + extended : end]
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
