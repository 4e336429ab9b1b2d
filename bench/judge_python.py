"""Ask jedi or basedpyright where identifiers are defined; no code of ours takes part.

python bench/judge_python.py {jedi,basedpyright} REPOSITORY QUESTIONS.jsonl ANSWERS.jsonl

A question is {"path", "start"}, an answer the same with "defs": [{"path", "start"}]; starts are byte offsets.
Run it with an interpreter that has the judge installed; it imports nothing of CodePlane.
"""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any


class Texts:
    """Converts between byte offsets and line/column pairs."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._lines: dict[str, list[bytes]] = {}

    def lines(self, path: str) -> list[bytes]:
        """Return the lines of a file with their ends."""
        if path not in self._lines:
            self._lines[path] = (self._root / path).read_bytes().split(b"\n")
        return self._lines[path]

    def position(self, path: str, start: int, *, utf16: bool) -> tuple[int, int]:
        """Return 0-based line and character column of a byte offset."""
        for number, line in enumerate(self.lines(path)):
            if start <= len(line):
                text = line[:start].decode("utf-8", "replace")
                return number, len(text.encode("utf-16-le")) // 2 if utf16 else len(text)
            start -= len(line) + 1
        raise ValueError(f"{start} is beyond the end of {path}")

    def offset(self, path: str, line: int, column: int, *, utf16: bool) -> int:
        """Return the byte offset of a 0-based line and character column."""
        lines = self.lines(path)
        before = sum(len(one) + 1 for one in lines[:line])
        text = lines[line].decode("utf-8", "replace")
        prefix = text.encode("utf-16-le")[: 2 * column].decode("utf-16-le", "replace") if utf16 else text[:column]
        return before + len(prefix.encode())


def ask_jedi(root: Path, questions: list[dict[str, object]]) -> Iterator[dict[str, object]]:
    """Yield jedi's answers."""
    import jedi  # type: ignore[import-not-found]  # noqa: PLC0415 - only this judge needs it, in its own interpreter

    jedi.settings.fast_parser = True
    project = jedi.Project(root)
    texts = Texts(root)
    scripts: dict[str, object] = {}
    for question in questions:
        path = str(question["path"])
        if path not in scripts:
            scripts.clear()
            scripts[path] = jedi.Script(path=root / path, project=project)
        line, column = texts.position(path, int(str(question["start"])), utf16=False)
        defs = []
        try:
            found = scripts[path].goto(line + 1, column, follow_imports=True)  # type: ignore[attr-defined]
        except Exception as error:  # noqa: BLE001 - a judge that fails has no opinion
            print(f"{path}:{line + 1}: {type(error).__name__}", file=sys.stderr)
            found = []
        for one in found:
            place = inside(root, str(one.module_path)) if one.module_path else None
            if place and one.line is not None and one.type != "module":
                defs.append({"path": place, "start": texts.offset(place, one.line - 1, one.column, utf16=False)})
        yield {**question, "defs": defs}


def inside(root: Path, path: str) -> str | None:
    """Return a path relative to the repository, None outside of it."""
    try:
        return Path(path).resolve().relative_to(root.resolve()).as_posix()
    except ValueError:
        return None


class LanguageServer:
    """Talks to a language server over its standard streams."""

    def __init__(self, argv: list[str], root: Path) -> None:
        self._process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self._answers: dict[int, Any] = {}
        self._came = threading.Condition()
        self._number = 0
        threading.Thread(target=self._listen, daemon=True).start()
        uri = root.resolve().as_uri()
        self.ask("initialize", {"processId": None, "rootUri": uri, "capabilities": {},
                                "workspaceFolders": [{"uri": uri, "name": root.name}]})  # fmt: skip
        self.tell("initialized", {})

    def tell(self, method: str, params: object, number: int | None = None) -> None:
        """Send a notification, or a request when it has a number."""
        message: dict[str, object] = {"jsonrpc": "2.0", "method": method, "params": params}
        if number is not None:
            message["id"] = number
        self._send(message)

    def ask(self, method: str, params: object, timeout: float = 600) -> Any:
        """Send a request and return its result."""
        self._number += 1
        number = self._number
        self.tell(method, params, number)
        with self._came:
            if not self._came.wait_for(lambda: number in self._answers, timeout):
                raise TimeoutError(method)
            return self._answers.pop(number)

    def _send(self, message: dict[str, object]) -> None:
        data = json.dumps(message).encode()
        pipe = self._process.stdin
        if pipe is None:
            raise OSError("the language server has no input")
        pipe.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
        pipe.flush()

    def _listen(self) -> None:
        pipe = self._process.stdout
        while pipe is not None:
            length = 0
            while (line := pipe.readline().strip()) != b"":
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            if not length:
                return
            message = json.loads(pipe.read(length))
            if "method" in message and "id" in message:
                items = message.get("params", {}).get("items") if isinstance(message.get("params"), dict) else None
                result = [None] * len(items) if message["method"] == "workspace/configuration" and items else None
                self._send({"jsonrpc": "2.0", "id": message["id"], "result": result})
            elif "id" in message:
                with self._came:
                    self._answers[message["id"]] = message.get("result")
                    self._came.notify_all()

    def close(self) -> None:
        """End the server."""
        self._process.kill()
        self._process.wait()


def ask_basedpyright(root: Path, questions: list[dict[str, object]]) -> Iterator[dict[str, object]]:
    """Yield basedpyright's answers."""
    server = LanguageServer([str(Path(sys.executable).parent / "basedpyright-langserver"), "--stdio"], root)
    texts = Texts(root)
    opened = ""
    try:
        for question in questions:
            path = str(question["path"])
            uri = (root.resolve() / path).as_uri()
            if path != opened:
                if opened:
                    old = (root.resolve() / opened).as_uri()
                    server.tell("textDocument/didClose", {"textDocument": {"uri": old}})
                text = (root / path).read_text(encoding="utf-8", errors="replace")
                document = {"uri": uri, "languageId": "python", "version": 1, "text": text}
                server.tell("textDocument/didOpen", {"textDocument": document})
                opened = path
            line, character = texts.position(path, int(str(question["start"])), utf16=True)
            where = {"textDocument": {"uri": uri}, "position": {"line": line, "character": character}}
            found = server.ask("textDocument/definition", where)
            defs = []
            for one in found if isinstance(found, list) else [found] if found else []:
                target = one.get("uri") or one["targetUri"]
                place = inside(root, target.removeprefix("file://"))
                start = (one.get("range") or one["targetSelectionRange"])["start"]
                if place and place.endswith((".py", ".pyi")):
                    offset = texts.offset(place, start["line"], start["character"], utf16=True)
                    # It counts the stars of `*args` to the name.
                    stars = len(texts.lines(place)[start["line"]].decode()[start["character"] :]) - len(
                        texts.lines(place)[start["line"]].decode()[start["character"] :].lstrip("*")
                    )
                    defs.append({"path": place, "start": offset + stars})
            yield {**question, "defs": defs}
    finally:
        server.close()


def main() -> int:
    """Answer all questions, in the order of files."""
    judge, root, asked, answered = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), Path(sys.argv[4])
    questions = [json.loads(line) for line in asked.read_text().splitlines()]
    ask = {"jedi": ask_jedi, "basedpyright": ask_basedpyright}[judge]
    with answered.open("w") as out:
        for number, answer in enumerate(ask(root, questions), start=1):
            out.write(json.dumps(answer) + "\n")
            if number % 500 == 0:
                print(f"{number} of {len(questions)}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
