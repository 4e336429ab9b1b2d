"""Judges of renames: each says where it would write a new name, independent of CodePlane.

A judge is a function from a definition and a new name to the places, None where it refuses or fails. Those with a
language server are asked by `textDocument/rename`, jedi, rope and the TypeScript language service by lines of JSON.
javac has no rename: all names it resolves to a declaration, and to the methods that override it, are the places.
"""

import json
import os
import select
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from judge_python import LanguageServer, Texts, inside
from judges.definitions import Definition

Place = tuple[str, int, int]
Judge = Callable[[Definition, str], set[Place] | None]
HERE = Path(__file__).resolve().parent
TIMEOUT_S = 120.0
LOADING_S = 25.0


@contextmanager
def opened(name: str, root: Path, tools: Path) -> Iterator[Judge]:
    """Start a judge on a repository."""
    lines = {
        "jedi": [str(tools / "py/bin/python"), str(HERE / "rename_python.py"), "jedi", str(root)],
        "rope": [str(tools / "py/bin/python"), str(HERE / "rename_python.py"), "rope", str(root)],
        "typescript": [
            "node",
            str(HERE / "rename_typescript.mjs"),
            str(tools / "ts/node_modules/typescript"),
            str(root),
        ],
    }
    servers = {
        "basedpyright": ([str(tools / "py/bin/basedpyright-langserver"), "--stdio"], "python"),
        "gopls": ([str(tools / "bin/gopls")], "go"),
        "rust-analyzer": (["rust-analyzer"], "rust"),
    }
    if name in lines:
        with _line_judge(lines[name]) as judge:
            yield judge
    elif name in servers:
        server = LanguageServer(servers[name][0], root)
        try:
            yield _server_judge(server, root, servers[name][1])
        finally:
            server.close()
    else:
        yield _javac(root)


NAMES = ("basedpyright", "gopls", "javac", "jedi", "rope", "rust-analyzer", "typescript")


@contextmanager
def _line_judge(argv: list[str]) -> Iterator[Judge]:
    started: list[subprocess.Popen[str]] = []

    def judge(definition: Definition, new_name: str) -> set[Place] | None:
        if not started or started[-1].poll() is not None:
            started.append(subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
        process = started[-1]
        if process.stdin is None or process.stdout is None:
            raise OSError("the judge has no streams")
        question = {"path": definition.path, "line": definition.line, "column": definition.column,
                    "name": definition.name, "new_name": new_name}  # fmt: skip
        process.stdin.write(json.dumps(question) + "\n")
        process.stdin.flush()
        if not select.select([process.stdout], [], [], TIMEOUT_S)[0]:
            process.kill()
            process.wait()
            return None
        answer = json.loads(process.stdout.readline() or "{}")
        return {(path, line, column) for path, line, column in answer["edits"]} if "edits" in answer else None

    try:
        yield judge
    finally:
        for process in started:
            process.kill()
            process.wait()


def _server_judge(server: LanguageServer, root: Path, language: str) -> Judge:
    texts = Texts(root)
    # A server that still loads its project answers with a part.
    loaded = time.monotonic() + LOADING_S

    def judge(definition: Definition, new_name: str) -> set[Place] | None:
        path = definition.path
        document = {"uri": (root.resolve() / path).as_uri()}
        text = (root / path).read_text(encoding="utf-8", errors="replace")
        opening = {**document, "languageId": language, "version": 1, "text": text}
        server.tell("textDocument/didOpen", {"textDocument": opening})
        time.sleep(max(0.0, loaded - time.monotonic()))
        line = texts.lines(path)[definition.line - 1].decode("utf-8", "replace")
        character = len(line[: definition.column].encode("utf-16-le")) // 2
        where = {"textDocument": document, "position": {"line": definition.line - 1, "character": character}}
        answer = server.ask("textDocument/rename", {**where, "newName": new_name}, TIMEOUT_S)
        server.tell("textDocument/didClose", {"textDocument": document})
        return set(_places(answer, root, texts, definition.name)) if answer else None

    return judge


def _places(answer: dict[str, Any], root: Path, texts: Texts, name: str) -> Iterator[Place]:
    edits = [(uri, edit) for uri, all_edits in (answer.get("changes") or {}).items() for edit in all_edits]
    for change in answer.get("documentChanges") or []:
        edits += [(change["textDocument"]["uri"], edit) for edit in change.get("edits", [])]
    for uri, edit in edits:
        path = inside(root, unquote(uri.removeprefix("file://")))
        start = edit["range"]["start"]
        if path is not None:
            line = texts.lines(path)[start["line"]].decode("utf-8", "replace")
            prefix = line.encode("utf-16-le")[: 2 * start["character"]].decode("utf-16-le", "replace")
            # In `S { name }` a server may put `: new` behind the name instead of writing both over it.
            is_behind = edit["range"]["end"] == start and prefix.endswith(name)
            yield path, start["line"] + 1, len(prefix) - (len(name) if is_behind else 0)


def _javac(root: Path) -> Judge:
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "answers.jsonl"
        program = HERE.parent / "judge_java" / "Judge.java"
        classpath = os.environ.get("JUDGE_CLASSPATH", "")
        subprocess.run(["java", str(program), str(root), str(out), classpath, "--families"], check=True)
        answers = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    return javac_judge(answers, Texts(root))


def javac_judge(answers: list[dict[str, Any]], texts: Texts) -> Judge:
    """Return a judge by what javac resolves: a line per use with its declaration, or per pair of family members."""
    uses: dict[tuple[str, int], set[tuple[str, int]]] = defaultdict(set)
    family: dict[tuple[str, int], set[tuple[str, int]]] = defaultdict(set)
    for answer in answers:
        here = (str(answer["path"]), int(answer["start"]))
        for place in answer["defs"]:
            there = (str(place["path"]), int(place["start"]))
            if answer["kind"] == "family":
                family[here].add(there)
                family[there].add(here)
            else:
                uses[there].add(here)

    def judge(definition: Definition, _new_name: str) -> set[Place] | None:
        start = texts.offset(definition.path, definition.line - 1, definition.column, utf16=False)
        waiting, seen = [(definition.path, start)], {(definition.path, start)}
        while waiting:
            more = family[waiting.pop()] - seen
            seen |= more
            waiting += more
        found = seen.union(*(uses[member] for member in seen))
        places = [(path, *texts.position(path, offset, utf16=False)) for path, offset in found]
        return {(path, line + 1, column) for path, line, column in places}

    return judge


if __name__ == "__main__":
    sys.exit("This is read by bench/refactor.py.")
