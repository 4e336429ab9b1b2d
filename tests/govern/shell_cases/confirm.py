"""Proves labels by running: a dangerous command leaves a trace in a throw-away repository, a safe one leaves none.

`python confirm.py` runs every case marked `confirm` and every SAFE case; names of files or ids narrow the run.
"""

import atexit
import contextlib
import functools
import hashlib
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NotRequired, TypedDict

HERE = Path(__file__).resolve().parent
SECONDS = 5
MAX_ARGUMENT = 100_000  # Linux refuses a single argument of 128 KiB.
INDEX_HEADER = 12
INDEX_STAT = 24  # Times, device and inode; the mode follows.
INDEX_OBJECT = 40  # Owner, group and size lie between the mode and here.
INDEX_FIXED = 62
NEWEST_PLAIN_INDEX = 3  # Version 4 compresses names; git writes it only when asked.


class Spec(TypedDict, total=False):
    """A command too long to write down: first + repeat * times + then + repeat_after * times + last."""

    first: str
    repeat: str
    times: int
    then: str
    repeat_after: str
    last: str


# The functional form, because one of the keys is a word of the language.
Case = TypedDict(
    "Case",
    {
        "id": str,
        "command": str | Spec,
        "shell": str,
        "verdict": Literal["SAFE", "VERIFICATION", "DESTRUCTIVE"],
        "class": str,
        "why": str,
        "cwd": NotRequired[Literal["repository", "outside"]],
        "setup": NotRequired[list[str]],
        "env": NotRequired[dict[str, str]],
        "needs": NotRequired[list[str]],
        "borderline": NotRequired[bool],
        "confirm": NotRequired[bool],
    },
)
Snapshot = dict[str, str]

FILES = {
    ".editorconfig": "root = true\n",
    ".github/workflows/ci.yml": "name: ci\non: push\n",
    ".gitignore": ".env\nnode_modules/\n",
    "CHANGELOG.md": "# Changes\n\n## 1.0\n\n- first\n",
    "LICENSE": "Do what you like.\n",
    "Makefile": "all:\n\t@touch PWNED\n\ntest:\n\t@touch PWNED\n",
    "README.md": "# Sample\n\nTo install, read on.\n\nTODO: more words.\n",
    "config.yaml": "name: sample\nversion: 1\n",
    "data.json": '{"name": "sample", "items": [{"id": 1}, {"id": 2}]}\n',
    "docs/guide.md": "# Guide\n\nTODO: write it.\n",
    "list.txt": "pear\napple\napple\nfig\n",
    "notes.txt": "one\ntwo\nthree\n",
    "other.txt": "apple\nfig\nplum\n",
    "package.json": '{"name": "sample", "version": "1.0.0", "scripts": {"test": "echo ok", "lint": "echo ok"}}\n',
    "scripts/build.sh": "#!/bin/sh\ntouch PWNED\n",
    "src/app.py": 'from util import greet\n\n\ndef main():\n    print(greet("you"))  # TODO: arguments\n',
    "src/index.ts": "export const answer = 42;\n",
    "src/util.py": 'def greet(name):\n    return f"hello {name}"\n',
    "table.csv": "id,name,size\n1,fig,30\n2,pear,200\n",
    "tests/test_app.py": "def test_nothing():\n    assert True\n",
}


def load_cases(folder: Path = HERE) -> list[Case]:
    """Every case of the set, file by file."""
    texts = [path.read_text("ascii") for path in sorted(folder.glob("*.jsonl"))]
    return [json.loads(line) for text in texts for line in text.splitlines()]


def command_text(case: Case) -> str:
    """The command as it is run; lone surrogates stand for bytes that are not UTF-8."""
    command = case["command"]
    if isinstance(command, str):
        return command
    times = command.get("times", 1)
    middle = command.get("repeat", "") * times + command.get("then", "") + command.get("repeat_after", "") * times
    return command.get("first", "") + middle + command.get("last", "")


def environment(scratch: Path, case: Case | None = None) -> dict[str, str]:
    """A small environment that names only places below the scratch directory, and the system's programs."""
    path = f"{scratch / 'bin'}:{os.environ.get('PATH', os.defpath)}"
    values = {
        "PATH": path,
        "HOME": str(scratch / "home"),
        "TMPDIR": str(scratch / "tmp"),
        "SCRATCH": str(scratch),
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
    }
    wanted = case.get("env", {}) if case else {}
    for name, value in wanted.items():
        values[name] = value.replace("$PATH", path).replace("$REPO", str(scratch / "repo"))
    return values


def _script(lines: str, scratch: Path) -> None:
    subprocess.run(
        ["bash", "-e", "-c", lines],
        cwd=scratch / "repo",
        env=environment(scratch),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=30,
        check=True,
    )


@functools.cache
def _template() -> Path:
    """The scratch directory every case starts from; copied, because building it anew takes ten programs."""
    scratch = Path(tempfile.mkdtemp(prefix="shell-case-template-"))
    atexit.register(shutil.rmtree, scratch, ignore_errors=True)
    for name in ("repo", "home", "bin", "tmp", "outside"):
        (scratch / name).mkdir()
    (scratch / "home/.gitconfig").write_text(
        "[user]\n\tname = Test\n\temail = test@example.invalid\n[init]\n\tdefaultBranch = main\n"
        "[advice]\n\tdetachedHead = false\n"
    )
    repository = scratch / "repo"
    for name, content in {**FILES, ".env": "TOKEN=not-a-real-one\n"}.items():
        path = repository / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    _script(
        "git init -q --template= && git init -q --bare --template= ../remote.git\n"
        "git remote add origin ../remote.git\n"
        "git add -A && git commit -q -m 'add the sample' && git tag -a -m 'first' v1.0\n"
        "echo '- second' >> CHANGELOG.md && git commit -q -a -m 'fix: a second change' && git branch feature\n"
        "git push -q -u origin main && echo four >> notes.txt",
        scratch,
    )
    return scratch


def prepare(case: Case, scratch: Path) -> Path:
    """Build the scratch repository with the case's set-up, and return the directory the command runs in."""
    shutil.copytree(_template(), scratch, symlinks=True, dirs_exist_ok=True)
    if "setup" in case:
        _script("\n".join(f"({line})" for line in case["setup"]), scratch)
    return scratch / ("outside" if case.get("cwd") == "outside" else "repo")


def _index_entries(data: bytes) -> bytes:
    """What a git index says, without the stat data that every reading command may refresh."""
    version = int.from_bytes(data[4:8], "big")
    if version > NEWEST_PLAIN_INDEX:
        return data
    parts = []
    position = INDEX_HEADER
    for _ in range(int.from_bytes(data[8:12], "big")):
        extended = 2 if data[position + 60] & 0x40 else 0
        end = data.index(b"\0", position + INDEX_FIXED + extended)
        mode = data[position + INDEX_STAT : position + INDEX_STAT + 4]
        parts.append(mode + data[position + INDEX_OBJECT : end])
        position += (end - position + 8) // 8 * 8
    return b"\0".join(parts)


def _walk(root: Path) -> Iterator[Path]:
    for folder, folders, files in os.walk(root):
        for name in (*folders, *files):
            yield Path(folder) / name


def snapshot(scratch: Path) -> Snapshot:
    """Every file, directory and link below the scratch directory with its mode and content."""
    found: Snapshot = {}
    for path in _walk(scratch):
        name = os.fsencode(path.relative_to(scratch)).hex()
        details = path.lstat()
        if stat.S_ISLNK(details.st_mode):
            content = os.fsencode(path.readlink())
        elif stat.S_ISREG(details.st_mode):
            content = path.read_bytes()
            if path.name == "index" and content[:4] == b"DIRC":
                content = _index_entries(content)
        else:
            content = b""
        found[name] = f"{details.st_mode:o} {hashlib.sha256(content).hexdigest()}"
    return found


def changed_paths(before: Snapshot, after: Snapshot) -> list[str]:
    """Paths that appeared, went away or differ; what fish and npm always write for themselves does not count."""
    own = ("home/.config/fish", "home/.local/share/fish", "home/.cache/fish", "home/.npm")
    parents = ("home/.config", "home/.local", "home/.local/share", "home/.cache")
    different = [name for name in before.keys() | after.keys() if before.get(name) != after.get(name)]
    names = [bytes.fromhex(name).decode("utf-8", "replace") for name in different]
    return sorted(name for name in names if not name.startswith(own) and name not in parents)


def run(case: Case, scratch: Path, directory: Path) -> str:
    """Run the command in its shell with closed input; returns what it printed, cut short."""
    text = os.fsencode(command_text(case))
    options = {"zsh": ["-f"], "fish": ["--no-config"]}.get(case["shell"], [])
    if len(text) < MAX_ARGUMENT and b"\0" not in text:
        arguments: list[str | bytes] = [case["shell"], *options, "-c", text]
    else:
        script = scratch / "tmp/command"
        script.write_bytes(text)
        arguments = [case["shell"], *options, str(script)]
    process = subprocess.Popen(
        arguments,
        cwd=directory,
        env=environment(scratch, case),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        output = b"(stopped: it did not end)"
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    (scratch / "tmp/command").unlink(missing_ok=True)
    return output[-2000:].decode("utf-8", "replace")


def trace(case: Case, scratch: Path) -> tuple[list[str], str]:
    """Run one case in a fresh `scratch` directory; returns what changed and what was printed."""
    directory = prepare(case, scratch)
    before = snapshot(scratch)
    output = run(case, scratch, directory)
    return changed_paths(before, snapshot(scratch)), output


def confirm(case: Case, scratch: Path) -> bool:
    """Whether the command leaves a trace below `scratch`, which must not exist yet or be empty."""
    return bool(trace(case, scratch)[0])


def runnable(case: Case) -> bool:
    """Whether this machine has the shell and the programs the case needs to show its effect."""
    return all(shutil.which(name) for name in (case["shell"], *case.get("needs", [])))


def main(wanted: list[str]) -> int:
    """Run the set; returns 1 when a label is wrong."""
    counts = {"confirmed": 0, "clean": 0, "not runnable": 0, "wrong": 0}
    for case in load_cases():
        if wanted and not any(case["id"].startswith(name.removesuffix(".jsonl").replace("_", "-")) for name in wanted):
            continue
        expected = case.get("confirm", False)
        if not expected and case["verdict"] != "SAFE":
            continue
        if not runnable(case):
            counts["not runnable"] += 1
            continue
        with tempfile.TemporaryDirectory(prefix="shell-case-") as folder:
            changed, output = trace(case, Path(folder) / "scratch")
        if bool(changed) is expected:
            counts["confirmed" if expected else "clean"] += 1
        else:
            counts["wrong"] += 1
            sys.stdout.write(f"{case['id']} {case['verdict']} {case['command']!r}\n")
            sys.stdout.write(f"  changed {changed}\n  {output[-300:]!r}\n")
    sys.stdout.write(json.dumps(counts) + "\n")
    return 1 if counts["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
