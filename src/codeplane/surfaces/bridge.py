"""`cpl mcp`: stdio for one MCP client, bridged to the server of the working tree.

Started for every agent session, so the way to a running server imports nothing but built-in modules and forwards bytes.
Without a server this process becomes one, and meanwhile answers the handshake and the tool list itself. When the server
it talks to goes away, it finds the next one or takes over, shows it the client's handshake again and answers what was
lost, so that the client notices nothing else.

This file also runs by itself (`python -I -S bridge.py`), which is the quickest form.
"""

import _socket
import os
import select
import sys

_CHUNK = 65536
_MAX_HISTORY = 262_144
_RECONNECT_SECONDS = 20.0
_LOST = (
    "SERVER_LOST (3004): The server ended while it worked on this call.\n"
    "Call again; for a change, look at the files first to see whether it happened."
)


def main(arguments: list[str]) -> int:
    """Run the bridge until the client closes its side; return the exit code."""
    options = _options(arguments)
    if options is None:
        sys.stderr.write("usage: cpl mcp [--profile PROFILE] [--repo DIRECTORY] [--set KEY=VALUE]\n")
        return 2
    bridge = _Bridge(options)
    try:
        return bridge.run()
    except KeyboardInterrupt:
        return 0
    except BrokenPipeError:
        # The client stopped reading.
        return 0
    finally:
        bridge.close()


class _Options:
    def __init__(self) -> None:
        self.profile = ""
        self.start = os.getcwd()
        self.overrides: list[str] = []


def _options(arguments: list[str]) -> _Options | None:
    """Read the few options by hand: argparse alone would cost more than all the rest."""
    options = _Options()
    remaining = list(arguments)
    while remaining:
        name, separator, value = remaining.pop(0).partition("=")
        if name not in {"--profile", "--repo", "--set"}:
            return None
        if not separator:
            if not remaining:
                return None
            value = remaining.pop(0)
        if name == "--profile":
            options.profile = value
        elif name == "--repo":
            options.start = os.path.abspath(value)
        else:
            options.overrides.append(value)
    return options


def _tree_root(start: str) -> str:
    """Return the directory above `start` that holds `.git`, or `start` itself."""
    directory = start
    while True:
        if os.path.lexists(os.path.join(directory, ".git")):
            return directory
        parent = os.path.dirname(directory)
        if parent == directory:
            return start
        directory = parent


def _connect(root: str) -> "_socket.socket | None":
    """Return a connection to the server of this tree, or None."""
    path = os.path.join(root, ".codeplane", "server.sock")
    try:
        if os.path.islink(path):
            path = os.readlink(path)
        connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        connection.connect(path)
    except OSError:
        return None
    return connection


class _Lines:
    """Cuts a stream into lines; what follows the last line end waits, and is looked at once, however long it gets."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def add(self, data: bytes) -> list[bytes]:
        """Return the lines that these bytes end."""
        *ended, rest = data.split(b"\n")
        if ended:
            ended[0] = b"".join((*self._parts, ended[0]))
            self._parts = []
        if rest:
            self._parts.append(rest)
        return ended

    @property
    def rest(self) -> bytes:
        """Return what no line end has followed yet."""
        return b"".join(self._parts)


class _Bridge:
    """Moves lines between the client and whichever server there is.

    Invariant: the client gets whole lines only, and every request it sent is answered exactly once. `_settled` holds
    the ids of handshake requests that the client has the answer to: they are shown to further servers, never to it.
    """

    def __init__(self, options: _Options) -> None:
        self._options = options
        self._root = _tree_root(options.start)
        self._server: _socket.socket | None = None
        self._embedded: object = None
        self._failure: object = None
        self._name = os.urandom(16).hex()
        self._lines_in = _Lines()
        self._lines_out = _Lines()
        self._history: list[bytes] = []
        self._answers: list[bytes] = []
        self._history_size = 0
        self._settled: set[object] = set()
        self._swallow: set[object] = set()
        self._starter: object = None
        self._is_closing = False
        self._first: object = None
        self._is_greeted = False
        self._held: list[bytes] = []

    def run(self) -> int:
        self._server = _connect(self._root)
        if self._server is not None:
            self._greet()
        elif not self._start_while_answering():
            return self._answer_with_failure()
        while self._server is not None:
            ready, _, _ = select.select([0, self._server.fileno()], [], [])
            if self._server.fileno() in ready and not self._from_server():
                self._recover()
            elif 0 in ready and not self._from_client():
                return self._drain()
        return 0

    def close(self) -> None:
        self._is_closing = True
        if self._server is not None:
            self._server.close()
        if self._embedded is None and self._starter is None:
            return
        import signal  # noqa: PLC0415 - a bridge to a running server does not need it.

        # Clients close standard input and send SIGTERM two seconds later, while this may still be stopping, which takes
        # a bounded time.
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        if self._starter is not None:
            self._starter.join(_RECONNECT_SECONDS)  # type: ignore[attr-defined]
        if self._embedded is not None:
            self._embedded.stop()  # type: ignore[attr-defined]
            if self._embedded.may_abandon:  # type: ignore[attr-defined]
                sys.stderr.flush()
                os._exit(0)

    def _start_while_answering(self) -> bool:
        """Start a server in a thread, or wait for one, and answer what needs none; false when there can be none."""
        import threading  # noqa: PLC0415 - not needed when a server runs.

        _prepare_to_serve()
        self._first = _first_answers(self._options, self._root)
        woken, wake = os.pipe()
        self._starter = threading.Thread(target=self._start_in_thread, args=(wake,), daemon=True)
        self._starter.start()
        waited_for, ready = [woken, 0], [0]
        while woken not in ready:
            ready = select.select(waited_for, [], [])[0]
            data = os.read(0, _CHUNK) if 0 in ready else b""
            if 0 in ready and not data:
                # What the client has asked for until now is still answered.
                waited_for = [woken]
            for line in self._lines_in.add(data):
                self._answer_or_hold(line)
        os.close(woken)
        if self._server is None:
            return False
        self._catch_up()
        return True

    def _start_in_thread(self, wake: int) -> None:
        try:
            self._server = self._start_or_wait()
        finally:
            os.close(wake)

    def _answer_or_hold(self, line: bytes) -> None:
        import json  # noqa: PLC0415 - 9 ms that the way to a running server does not need.

        document = _parsed(json, line)
        result = self._first.answer(document) if self._first is not None else None  # type: ignore[attr-defined]
        if result is not None:
            answer = json.dumps({"jsonrpc": "2.0", "id": document["id"], "result": result}).encode()
            _write(answer + b"\n")
            self._answers.append(answer)
        if result is None or document["method"] == "initialize":
            self._held.append(line)
        if result is not None and document["method"] == "initialize":
            self._is_greeted = True
            self._swallow.add(_key(document["id"]))
        self._history.append(line)

    def _catch_up(self) -> None:
        """Bring the server that is up now to where the client is, and compare the tool lists."""
        self._greet()
        for line in self._held:
            self._send(line + b"\n")
        self._held = []
        if self._first is not None and self._first.told is not None:  # type: ignore[attr-defined]
            self._swallow.add(_key(self._name))
            self._send(f'{{"jsonrpc": "2.0", "id": "{self._name}", "method": "tools/list"}}\n'.encode())
        self._send(self._lines_in.rest)

    def _compare_tools(self, document: dict[str, object]) -> None:
        """Tell the client to ask again when rules hide tools that it was told of before they were read."""
        result = document.get("result")
        told = self._first.told if self._first is not None else None  # type: ignore[attr-defined]
        if isinstance(result, dict) and result.get("tools") != told:
            _write(b'{"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}\n')

    def _greet(self) -> None:
        profile = self._options.profile
        if '"' in profile or "\\" in profile or not profile.isprintable():
            profile = "invalid"
        # The name stays the same when the server changes: it is how the next one finds this client's session.
        hello = f'{{"codeplane": 1, "speak": "mcp", "profile": "{profile}", "connection": "{self._name}"}}\n'
        self._send(hello.encode())

    def _send(self, data: bytes) -> None:
        if self._server is not None:
            try:
                self._server.sendall(data)
            except OSError:
                # The reading side will notice and recover; what was sent is in the history.
                return

    def _from_client(self) -> bool:
        data = os.read(0, _CHUNK)
        if not data:
            return False
        self._send(data)
        self._remember(self._history, self._lines_in.add(data))
        return True

    def _from_server(self) -> bool:
        try:
            data = self._server.recv(_CHUNK) if self._server is not None else b""
        except OSError:
            data = b""
        if not data:
            return False
        lines = self._lines_out.add(data)
        if self._swallow:
            lines = [line for line in lines if not self._is_swallowed(line)]
        if lines:
            _write(b"\n".join(lines) + b"\n")
            self._remember(self._answers, lines)
        return True

    def _remember(self, where: list[bytes], lines: list[bytes]) -> None:
        where.extend(lines)
        self._history_size += sum(map(len, lines))
        if self._history_size > _MAX_HISTORY:
            self._compact()

    def _compact(self) -> None:
        """Forget what has been answered; the handshake stays."""
        handshake, waiting = self._outstanding()
        self._history = handshake + [line for _, line in waiting]
        self._answers = []
        # A large outstanding call must not make every further line compact again.
        self._history_size = 0

    def _outstanding(self) -> tuple[list[bytes], list[tuple[object, bytes]]]:
        """Return the client's handshake lines and its unanswered requests."""
        import json  # noqa: PLC0415 - 9 ms that a healthy session never needs.

        answered = set(self._settled)
        for line in self._answers:
            document = _parsed(json, line)
            if "id" in document and "method" not in document:
                answered.add(_key(document["id"]))
        sent = [(_parsed(json, line), line) for line in self._history]
        # A cancelled request gets no answer.
        answered |= {_key(_cancelled_id(document)) for document, _ in sent}
        handshake: list[bytes] = []
        waiting: list[tuple[object, bytes]] = []
        for document, line in sent:
            method = document.get("method")
            is_answered = _key(document.get("id")) in answered
            if method in {"initialize", "notifications/initialized"}:
                handshake.append(line)
                self._settled |= {_key(document["id"])} if "id" in document and is_answered else set()
            if _is_id(document.get("id")) and method is not None and not is_answered:
                waiting.append((document["id"], line))
        return handshake, waiting

    def _is_swallowed(self, line: bytes) -> bool:
        import json  # noqa: PLC0415 - only after a server was lost.

        document = _parsed(json, line)
        if "id" in document and "method" not in document and _key(document["id"]) in self._swallow:
            self._swallow.discard(_key(document["id"]))
            if document["id"] == self._name:
                self._compare_tools(document)
            return True
        return False

    def _recover(self) -> None:
        """The server is gone: find or become the next one and bring it to where the client is."""
        import json  # noqa: PLC0415 - only after a server was lost.

        if self._server is not None:
            self._server.close()
        self._lines_out = _Lines()
        self._swallow.discard(_key(self._name))
        handshake, waiting = self._outstanding()
        _prepare_to_serve()
        self._server = self._start_or_wait()
        if self._server is None:
            for request_id, line in waiting:
                _write(_lost_answer(json, request_id, line))
            sys.stderr.write("cpl mcp: the server is gone and could not be started again\n")
            raise BrokenPipeError
        self._greet()
        waiting_ids = {_key(request_id) for request_id, _ in waiting}
        for line in handshake:
            document = _parsed(json, line)
            if "id" in document and _key(document["id"]) not in waiting_ids:
                self._swallow.add(_key(document["id"]))
            self._send(line + b"\n")
        self._history = list(handshake)
        self._answers = []
        for request_id, line in waiting:
            document = _parsed(json, line)
            if document.get("method") == "tools/call" and not _is_repeatable(document):
                # Answered and therefore no part of the history: should this server die too, it is not told again.
                _write(_lost_answer(json, request_id, line))
            elif line not in handshake:
                self._history.append(line)
                self._send(line + b"\n")
        self._send(self._lines_in.rest)

    def _start_or_wait(self) -> "_socket.socket | None":
        """Return a connection to the server that this process starts, or that another one is starting."""
        import time  # noqa: PLC0415 - not needed when a server runs.

        deadline = time.monotonic() + _RECONNECT_SECONDS
        while time.monotonic() < deadline and not self._is_closing:
            connection = _connect(self._root)
            if connection is not None:
                return connection
            if self._embedded is None and not self._try_to_serve():
                return None
            if self._embedded is None:
                time.sleep(0.05)
        return None

    def _try_to_serve(self) -> bool:
        """Become the server unless another process is; False when there can be none."""
        import gc  # noqa: PLC0415 - not needed when a server runs.

        # What is imported stays; looking for garbage meanwhile costs a fifth of the start.
        gc.disable()
        # The full program: half a second of imports that a bridge to a running server never pays.
        from codeplane.core.errors import CodePlaneError  # noqa: PLC0415
        from codeplane.surfaces.server.embedded import start_embedded  # noqa: PLC0415

        try:
            self._embedded = start_embedded(self._options.start, self._options.overrides)
        except CodePlaneError as error:
            self._failure = error.report()
            return False
        finally:
            gc.freeze()
            gc.enable()
        return True

    def _answer_with_failure(self) -> int:
        """No server can run here: say why to every request, so that the client can show it."""
        document: dict[str, object] = {"error": "SERVER_UNREACHABLE", "message": "No server could start."}
        if self._failure is not None:
            document = self._failure.as_dict()  # type: ignore[attr-defined]
        sys.stderr.write(f"cpl mcp: {document['message']}\n{document.get('required_action', '')}\n")
        held, self._held = self._held, []
        for line in held:
            _write(self._failure_answer(line, document))
        data = b" "
        while data:
            data = os.read(0, _CHUNK)
            # The last line may come without its end.
            for line in self._lines_in.add(data or b"\n"):
                if self._is_greeted:
                    self._answer_or_hold(line)
                else:
                    self._held = [line]
                for unanswered in self._held:
                    _write(self._failure_answer(unanswered, document))
                self._held = []
        return 2

    def _failure_answer(self, line: bytes, document: dict[str, object]) -> bytes:
        """Return the answer to one message when no server can run here; empty for what wants no answer."""
        import json  # noqa: PLC0415 - as above.

        request = _parsed(json, line)
        if "id" not in request or "method" not in request:
            return b""
        answer: dict[str, object] = {"jsonrpc": "2.0", "id": request["id"]}
        if _key(request["id"]) in self._swallow:
            # It has been answered.
            return b""
        if self._is_greeted and request["method"] == "tools/call":
            # The reason has to reach the model.
            text = f"{document['error']}: {document['message']}\n{document.get('required_action', '')}"
            answer["result"] = {"content": [{"type": "text", "text": text}], "isError": True}
            if self._options.profile == "controller":
                answer["result"] = _failed_turn(request, text)
        else:
            answer["error"] = {"code": -32000, "message": document["message"], "data": document}
        return json.dumps(answer).encode() + b"\n"

    def _drain(self) -> int:
        """The client has said all it wants to say: pass on what is still answered, then end."""
        if self._server is not None:
            if self._lines_in.rest:
                self._send(b"\n")
            try:
                self._server.shutdown(_socket.SHUT_WR)
            except OSError:
                return 0
            while self._from_server():
                continue
            self._answer_lost()
        return 0

    def _answer_lost(self) -> None:
        """The server has closed: answer what it did not, which is nothing unless it died."""
        import json  # noqa: PLC0415 - the session is over anyway.

        for request_id, line in self._outstanding()[1]:
            _write(_lost_answer(json, request_id, line))


def _prepare_to_serve() -> None:
    """Get ready to become the server; in the main thread, which alone may handle signals."""
    import signal  # noqa: PLC0415 - not needed when a server runs.

    # From here on others may depend on this process, so it stops in order: rows committed, role given up.
    signal.signal(signal.SIGTERM, _stop_in_order)
    _find_packages()


def _first_answers(options: _Options, root: str) -> "object | None":
    """Return what answers without a server; None outside of a repository, where there can be none."""
    if not os.path.lexists(os.path.join(root, ".git")):
        return None
    from codeplane.surfaces.mcp.first_answers import FirstAnswers, default_profile  # noqa: PLC0415 - as above.

    return FirstAnswers(options.profile.strip() or default_profile(root, options.start, options.overrides))


def _failed_turn(request: "dict[str, object]", text: str) -> "dict[str, object]":
    """Return the complete answer to a turn when no server can run here."""
    from codeplane.controller.response import boot_failure  # noqa: PLC0415 - only for this failure.
    from codeplane.core.canonical_json import canonical_text  # noqa: PLC0415 - as above.

    params = request.get("params")
    given = params.get("arguments") if isinstance(params, dict) else None
    turn = boot_failure(given if isinstance(given, dict) else {}, text)
    return {"content": [{"type": "text", "text": canonical_text(turn)}], "structuredContent": turn, "isError": True}


def _stop_in_order(_number: int, _frame: object) -> None:
    raise KeyboardInterrupt


def _find_packages() -> None:
    """Make installed packages importable when the interpreter was started without `site`."""
    if sys.flags.no_site:
        import site  # noqa: PLC0415 - 6 ms that the quick path does not pay.

        site.main()
    here = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    if here not in sys.path:
        sys.path.append(here)


def _parsed(json: object, line: bytes) -> dict[str, object]:
    try:
        document = json.loads(line)  # type: ignore[attr-defined]
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def _key(request_id: object) -> object:
    return (type(request_id).__name__, str(request_id))


def _is_id(value: object) -> bool:
    return isinstance(value, int | str) and not isinstance(value, bool)


def _is_repeatable(document: dict[str, object]) -> bool:
    """Tell whether a lost call only read something, so that it is simply made again."""
    from codeplane.operations.tool_list import repeatable_names  # noqa: PLC0415 - only after a server was lost.

    params = document.get("params")
    return isinstance(params, dict) and params.get("name") in repeatable_names()


def _cancelled_id(document: dict[str, object]) -> object:
    params = document.get("params")
    is_cancellation = document.get("method") == "notifications/cancelled" and isinstance(params, dict)
    return params.get("requestId") if is_cancellation and isinstance(params, dict) else None


def _lost_answer(json: object, request_id: object, line: bytes) -> bytes:
    """Return the answer to a request that no server will answer: a tool result for a call, else an error."""
    answer: dict[str, object] = {"jsonrpc": "2.0", "id": request_id}
    if _parsed(json, line).get("method") == "tools/call":
        answer["result"] = {"content": [{"type": "text", "text": _LOST}], "isError": True}
    else:
        answer["error"] = {"code": -32000, "message": _LOST}
    text: str = json.dumps(answer)  # type: ignore[attr-defined]
    return text.encode() + b"\n"


def _write(data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(1, view) :]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
