"""Random repositories: histories made by `git fast-import`, then a working tree in some state.

The same seed gives the same repository, byte for byte. Making one takes a handful of processes.
"""

import os
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from codeplane.core.processes import ProcessRequest, ProcessResult, run_process

CONFIGURATION = (
    "user.name=Test", "user.email=test@example.invalid", "commit.gpgsign=false", "init.defaultBranch=main",
    "protocol.file.allow=always", "advice.detachedHead=false", "core.editor=true", "gc.auto=0",
    "core.quotepath=false",
)  # fmt: skip
NAMES = (
    b"a.txt", b"src/b.py", b"src/deep/c.md", b"with space.txt", b'quote".txt', b"tab\tname", b"new\nline", b"-dash",
    "ünï.txt".encode(), b"\xff\xfe.bin", b"data.bin", b"crlf.txt", b"run.sh", b"*star*", b"back\\slash", b"empty",
    b"docs/x.txt", b"docs/y.txt", b"[ab].txt",
)  # fmt: skip
STATES = (
    "plain", "plain", "detached", "unborn", "worktree", "submodule", "stash", "upstream", "sparse",
    "merge", "cherrypick", "revert", "rebase", "bisect",
)  # fmt: skip
_WORDS = ("alpha", "beta", "gamma", "delta", "", "    indented", "}", "ünïcode", "--- a/x", "+++ b/x", "@@ -1 +1 @@")
_ATTRIBUTES = (
    b"*.txt text=auto\n", b"*.txt text eol=crlf\n", b"*.bin binary\n*.md -diff\n", b"*.py diff=python\n",
    b"*.txt text eol=lf\n",
)  # fmt: skip
_FIRST_TIME = 1_700_000_000


@dataclass
class History:
    """A repository and how it was made; `refs` are the full names of refs that lead to commits."""

    root: Path
    seed: int
    state: str
    refs: list[str] = field(default_factory=list)

    def git(self, *arguments: str) -> bytes:
        """Run git as a person would and return what it prints; fail loudly."""
        result = self.try_git(*arguments)
        assert result.returncode == 0, (self.seed, arguments, result.stderr_text)
        return result.stdout

    def try_git(self, *arguments: str, stdin: bytes | None = None) -> ProcessResult:
        """Run git as a person would; how it ended is for the caller to judge."""
        return run_plain_git(self.root, *arguments, stdin=stdin)


def run_plain_git(
    directory: Path, *arguments: str, stdin: bytes | None = None, variables: Mapping[str, str] = MappingProxyType({})
) -> ProcessResult:
    """Run git with a fixed identity and fixed dates, and with some variables in its environment."""
    configuration = [part for item in CONFIGURATION for part in ("-c", item)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    dates = {f"GIT_{who}_DATE": "2026-01-02T03:04:05Z" for who in ("AUTHOR", "COMMITTER")}
    return run_process(
        ProcessRequest(
            ("git", *configuration, *arguments),
            directory,
            60,
            stdin=stdin,
            output_limit_bytes=1 << 26,
            environment={**environment, **dates, "LC_ALL": "C.UTF-8", **variables},
        )
    )


def make_history(root: Path, seed: int, state: str | None = None) -> History:
    """Make a random repository below a directory that does not exist yet.

    The seed decides everything, the state of the working tree too unless one is asked for.
    """
    dice = random.Random(seed)
    chosen = state or dice.choice(STATES)
    root.mkdir(parents=True)
    history = History(root / "repo", seed, chosen)
    history.root.mkdir()
    history.git("init", "--quiet", "--template=")
    for setting in _settings(dice):
        history.git("config", *setting)
    if chosen != "unborn":
        stream = _Stream(dice)
        stream.write_history()
        # Few objects stay loose unless they are asked to be packed; deltas come with a repack.
        limit = f"fastimport.unpackLimit={dice.choice([1, 1_000_000])}"
        result = history.try_git("-c", limit, "fast-import", "--quiet", "--force", stdin=bytes(stream.data))
        assert result.returncode == 0, (seed, result.stderr_text)
        if dice.random() < 0.25:
            history.git("repack", "-a", "-d", "-f", "-q", "--window=50", "--depth=50")
            history.git("pack-refs", "--all")
        history.refs = stream.refs
        history.git("reset", "--quiet", "--hard")
    _PREPARATIONS.get(chosen, _prepare_nothing)(history, dice)
    change_tree(history, dice)
    return history


def _settings(dice: random.Random) -> list[tuple[str, str]]:
    settings = []
    if dice.random() < 0.4:
        settings.append(("core.autocrlf", dice.choice(["true", "input", "false"])))
    if dice.random() < 0.2:
        settings.append(("diff.noprefix", "true"))
    if dice.random() < 0.2:
        settings.append(("diff.suppressBlankEmpty", "true"))
    if dice.random() < 0.2:
        settings.append(("status.showUntrackedFiles", "no"))
    if dice.random() < 0.2:
        settings.append(("diff.renames", "false"))
    return settings


class _Stream:
    """A stream for `git fast-import`.

    Invariant: `trees` knows the files of every branch's newest commit.
    """

    def __init__(self, dice: random.Random) -> None:
        self.dice = dice
        self.data = bytearray()
        self.trees: dict[str, dict[bytes, tuple[str, bytes]]] = {}
        self.refs: list[str] = []
        self.marks: dict[str, int] = {}
        self._next_mark = 1
        self._time = _FIRST_TIME

    def write_history(self) -> None:
        """Write some branches, merges and tags, and two branches that conflict."""
        self.trees["main"] = {}
        for number in range(self.dice.randint(2, 9)):
            branch = self.dice.choice(list(self.trees))
            if number and self.dice.random() < 0.25:
                branch = self._fork(branch)
            other = self.dice.choice(list(self.trees))
            merged = other if number > 1 and other != branch and self.dice.random() < 0.4 else None
            self.commit(branch, self._random_changes(branch), merged)
            if self.dice.random() < 0.2:
                self._tag(branch)
        self._write_conflict()
        self.refs += [f"refs/heads/{name}" for name in self.trees if name in self.marks]

    def commit(
        self, branch: str, changes: dict[bytes, tuple[str, bytes] | None], merged: str | None = None, message: str = ""
    ) -> None:
        """Write a commit; None deletes a file."""
        tree = self.trees[branch]
        mark = self._next_mark
        self._next_mark += 1
        # Several commits in the same second, and now and then a clock that goes wrong.
        self._time += self.dice.choice([0, 0, 1, 60, 86_400, -100])
        zone = self.dice.choice(["+0000", "+0200", "-0730", "+0545"])
        self._line(f"commit refs/heads/{branch}")
        self._line(f"mark :{mark}")
        self._line(f"author {self._person()} {self._time - self.dice.randint(0, 500)} {zone}")
        self._line(f"committer {self._person()} {self._time} {zone}")
        self._blob((message or self._message()).encode())
        if branch in self.marks:
            self._line(f"from :{self.marks[branch]}")
        if merged is not None and merged in self.marks:
            self._line(f"merge :{self.marks[merged]}")
            for name in self.dice.sample(sorted(self.trees[merged]), min(2, len(self.trees[merged]))):
                changes.setdefault(name, self.trees[merged][name])
        for name, entry in changes.items():
            self._write_change(tree, name, entry)
        self.marks[branch] = mark

    def _write_change(self, tree: dict[bytes, tuple[str, bytes]], name: bytes, entry: tuple[str, bytes] | None) -> None:
        if entry is None:
            self._raw(b"D " + _quoted(name))
            tree.pop(name, None)
            return
        mode, content = entry
        tree[name] = entry
        if mode == "160000":
            self._raw(b"M 160000 " + content + b" " + _quoted(name))
            return
        self._raw(f"M {mode} inline ".encode() + _quoted(name))
        self._blob(content)

    def _random_changes(self, branch: str) -> dict[bytes, tuple[str, bytes] | None]:
        dice, tree = self.dice, self.trees[branch]
        changes: dict[bytes, tuple[str, bytes] | None] = {}
        for _ in range(dice.randint(0 if tree else 2, 4)):
            known = sorted(name for name in tree if name not in changes)
            what = dice.random()
            if what < 0.15 and known:
                changes[dice.choice(known)] = None
            elif what < 0.35 and known:
                self._rename(dice, tree, known, changes)
            elif what < 0.45 and known:
                name = dice.choice(known)
                mode, content = tree[name]
                flipped = {"100644": "100755", "100755": "100644"}.get(mode, mode)
                changes[name] = (flipped, content)
            elif what < 0.5:
                changes[b"link"] = ("120000", dice.choice([b"a.txt", b"nowhere"]))
            elif what < 0.55:
                changes[b"module"] = ("160000", f"{dice.getrandbits(160):040x}".encode())
            elif what < 0.6:
                changes[b".gitattributes"] = ("100644", dice.choice(_ATTRIBUTES))
            else:
                name = dice.choice(NAMES)
                old = tree.get(name)
                content = changed_content(dice, old[1]) if old is not None else new_content(dice, name)
                changes[name] = ("100755" if name == b"run.sh" else "100644", content)
        return changes

    def _rename(
        self,
        dice: random.Random,
        tree: dict[bytes, tuple[str, bytes]],
        known: list[bytes],
        changes: dict[bytes, tuple[str, bytes] | None],
    ) -> None:
        old = dice.choice(known)
        free = [name for name in NAMES if name not in tree and name not in changes]
        mode, content = tree[old]
        if free and mode.startswith("100"):
            changes[old] = None
            changes[dice.choice(free)] = (mode, changed_content(dice, content) if dice.random() < 0.5 else content)

    def _write_conflict(self) -> None:
        base: dict[bytes, tuple[str, bytes] | None] = {
            b"a.txt": ("100644", b"one\ntwo\nthree\n"),
            b"gone.txt": ("100644", b"here\nfor now\n"),
        }
        self.commit("main", base, message="ground")
        self._fork("main", "theirs")
        self.commit(
            "theirs",
            {b"a.txt": ("100644", b"one\nTHEIRS\nthree\n"), b"gone.txt": None, b"both.txt": ("100644", b"theirs\n")},
            message="theirs",
        )
        ours: dict[bytes, tuple[str, bytes] | None] = {
            b"a.txt": ("100644", b"one\nOURS\nthree\n"),
            b"gone.txt": ("100644", b"here\nto stay\n"),
            b"both.txt": ("100644", b"ours\n"),
        }
        self.commit("main", ours, message="ours")

    def _fork(self, branch: str, name: str = "") -> str:
        name = name or f"branch-{len(self.trees)}"
        if branch not in self.marks:
            return branch
        self._line(f"reset refs/heads/{name}")
        self._line(f"from :{self.marks[branch]}")
        self.trees[name] = dict(self.trees[branch])
        self.marks[name] = self.marks[branch]
        return name

    def _tag(self, branch: str) -> None:
        name = f"v{self._next_mark}"
        self.refs.append(f"refs/tags/{name}")
        if self.dice.random() < 0.5:
            self._line(f"reset refs/tags/{name}")
            self._line(f"from :{self.marks[branch]}")
            return
        self._line(f"tag {name}")
        self._line(f"from :{self.marks[branch]}")
        self._line(f"tagger {self._person()} {self._time} +0100")
        self._blob(self._message().encode())

    def _person(self) -> str:
        return self.dice.choice(["Ada <ada@example.invalid>", "Grace Hopper <g@example.invalid>", "Ünï <u@x.invalid>"])

    def _message(self) -> str:
        subject = self.dice.choice(["Fix it", "Add a thing", "ünïcode", "two\nlines", "x" * 90])
        body = self.dice.choice(["", "", "\n\nA body.\n\nWith paragraphs.\n", "\n\n  indented\n", "\n"])
        return subject + body

    def _line(self, text: str) -> None:
        self._raw(text.encode())

    def _raw(self, data: bytes) -> None:
        self.data += data + b"\n"

    def _blob(self, content: bytes) -> None:
        self._raw(b"data %d" % len(content))
        self._raw(content)


def new_content(dice: random.Random, name: bytes) -> bytes:
    """Return a file's first content, after its name's manner."""
    if name == b"empty":
        return b""
    if name.endswith(b".bin"):
        return bytes(dice.randrange(256) for _ in range(40)) + b"\0"
    ending = b"\r\n" if name.startswith(b"crlf") or dice.random() < 0.1 else b"\n"
    lines = [f"{dice.choice(_WORDS)} {i}".strip().encode() for i in range(dice.randint(1, 30))]
    if dice.random() < 0.1:
        lines.append(b"latin \xe9")
    return ending.join(lines) + (ending if dice.random() < 0.8 else b"")


def changed_content(dice: random.Random, content: bytes) -> bytes:
    """Return a content with some lines added, taken or changed."""
    lines = content.split(b"\n")
    for _ in range(dice.randint(1, 4)):
        at = dice.randrange(len(lines) + 1)
        what = dice.random()
        if what < 0.4:
            lines.insert(at, f"new {dice.randrange(1000)}".encode())
        elif what < 0.7 and at < len(lines):
            del lines[at]
        elif at < len(lines):
            lines[at] += b" changed"
    return b"\n".join(lines)


def change_tree(history: History, dice: random.Random) -> None:
    """Change the working tree and the index at random, whatever state they are in."""
    for _ in range(dice.randint(0, 6)):
        name = dice.choice(NAMES)
        path = history.root / os.fsdecode(name)
        what = dice.random()
        if what < 0.15 and os.path.lexists(path):
            path.unlink()
        elif what < 0.25 and path.is_file():
            path.chmod(path.stat().st_mode ^ 0o111)
        elif what < 0.3 and path.is_file():
            path.unlink()
            path.symlink_to("a.txt")
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.is_symlink():
                path.unlink()
            path.write_bytes(changed_content(dice, path.read_bytes()) if path.exists() else new_content(dice, name))
    if dice.random() < 0.6:
        _stage_some(history, dice)
    if dice.random() < 0.3:
        directory = history.root / "fresh" / "deeper"
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "untracked.txt").write_text("new\n", encoding="utf-8")


def _stage_some(history: History, dice: random.Random) -> None:
    changed = history.git("ls-files", "-z", "--modified", "--deleted", "--others", "--exclude-standard").split(b"\0")
    unmerged = {entry.partition(b"\t")[2] for entry in history.git("ls-files", "-z", "-u").split(b"\0")}
    known = sorted({name for name in changed if name and not name.endswith(b"/")} - unmerged)
    chosen = [name for name in known if dice.random() < 0.5]
    intended = [name for name in known if name not in chosen and dice.random() < 0.3]
    for option, names in ((("add", "--all"), chosen), (("add", "--intent-to-add"), intended)):
        if names:
            history.try_git(
                "--literal-pathspecs", *option, "--sparse", "--pathspec-from-file=-", "--pathspec-file-nul",
                stdin=b"\0".join(names),
            )  # fmt: skip


def _prepare_nothing(_history: History, _dice: random.Random) -> None:
    pass


def _prepare_detached(history: History, dice: random.Random) -> None:
    history.git("checkout", "--quiet", "--detach", "--force", dice.choice(history.refs))


def _prepare_worktree(history: History, _dice: random.Random) -> None:
    linked = history.root.with_name("linked")
    history.git("worktree", "add", "--quiet", "--force", str(linked), "theirs")
    history.root = linked


def _prepare_submodule(history: History, dice: random.Random) -> None:
    inner = make_inner(history.root.with_name("inner"))
    history.git("submodule", "--quiet", "add", "--force", str(inner), "sub")
    if dice.random() < 0.7:
        history.git("commit", "--quiet", "-m", "submodule")
    what = dice.random()
    if what < 0.3:
        (history.root / "sub" / "file.txt").write_text("changed\n", encoding="utf-8")
    elif what < 0.6:
        (history.root / "sub" / "more.txt").write_text("more\n", encoding="utf-8")
    else:
        run_plain_git(history.root / "sub", "commit", "--quiet", "--allow-empty", "-m", "ahead")


def make_inner(root: Path) -> Path:
    """Make a small repository to be a submodule or a remote."""
    root.mkdir()
    for arguments in (("init", "--quiet", "--template="), ("add", "."), ("commit", "--quiet", "-m", "inner")):
        if arguments[0] == "add":
            (root / "file.txt").write_text("inner\n", encoding="utf-8")
        assert run_plain_git(root, *arguments).returncode == 0
    return root


def _prepare_stash(history: History, dice: random.Random) -> None:
    for number in range(dice.randint(1, 2)):
        (history.root / "a.txt").write_text(f"stashed {number}\n", encoding="utf-8")
        history.git("stash", "push", "--quiet")


def _prepare_upstream(history: History, dice: random.Random) -> None:
    history.git("remote", "add", "origin", str(history.root.with_name("nowhere")))
    history.git("update-ref", "refs/remotes/origin/main", dice.choice(history.refs) + "^{commit}")
    history.git("config", "branch.main.remote", "origin")
    history.git("config", "branch.main.merge", "refs/heads/main")
    if dice.random() < 0.2:
        history.git("update-ref", "-d", "refs/remotes/origin/main")


def _prepare_sparse(history: History, _dice: random.Random) -> None:
    history.git("sparse-checkout", "set", "--no-cone", "/*.txt", "/src/")


def _prepare_merge(history: History, _dice: random.Random) -> None:
    assert history.try_git("merge", "--quiet", "theirs").returncode != 0


def _prepare_pick(history: History, _dice: random.Random) -> None:
    assert history.try_git("cherry-pick", "theirs").returncode != 0


def _prepare_revert(history: History, _dice: random.Random) -> None:
    history.git("commit", "--quiet", "--allow-empty", "-m", "later")
    (history.root / "a.txt").write_text("one\nLATER\nthree\n", encoding="utf-8")
    history.git("commit", "--quiet", "-m", "later change", "--", "a.txt")
    assert history.try_git("revert", "--no-edit", "HEAD~2").returncode != 0


def _prepare_rebase(history: History, dice: random.Random) -> None:
    backend = "--apply" if dice.random() < 0.3 else "--merge"
    assert history.try_git("rebase", backend, "theirs").returncode != 0


def _prepare_bisect(history: History, _dice: random.Random) -> None:
    history.git("bisect", "start")
    history.git("bisect", "bad")


_PREPARATIONS = {
    "detached": _prepare_detached,
    "worktree": _prepare_worktree,
    "submodule": _prepare_submodule,
    "stash": _prepare_stash,
    "upstream": _prepare_upstream,
    "sparse": _prepare_sparse,
    "merge": _prepare_merge,
    "cherrypick": _prepare_pick,
    "revert": _prepare_revert,
    "rebase": _prepare_rebase,
    "bisect": _prepare_bisect,
}


def _quoted(name: bytes) -> bytes:
    """Return a path as fast-import takes it."""
    body = b"".join(
        bytes([byte]) if 32 < byte < 127 and byte not in b'"\\' else b"\\%03o" % byte for byte in name
    )  # fmt: skip
    return b'"' + body + b'"'
