"""What an agent starts for every hook: it hands the event to the server and prints what that answers.

It runs as `python -I -S client.py AGENT EVENT [ROOT]`. On the way to a running server it needs built-in modules only.
This file is short, because it is compiled at every start; everything else is in `fallback.py`.
"""

import _socket
import posix
import sys

_CHUNK = 65536
# A server that is at work, or waits for a person, says so every second.
_SILENCE_SECONDS = 6.0


def main(arguments: list[str]) -> int:
    """Answer one event; return the exit code that the agent gets."""
    payload = _read_all()
    root = tree_root(posix.getcwd()) or (arguments[2] if len(arguments) > 2 else "")
    connection = _connect(root) if len(arguments) > 1 else None
    answer = None
    if connection is not None:
        try:
            answer = _ask(connection, arguments[0], arguments[1], payload)
        except OSError:
            answer = None
    if answer is None:
        return _fall_back(arguments, payload, root, is_silent=connection is not None)
    return show(answer)


def _ask(connection: "_socket.socket", agent: str, event: str, payload: bytes) -> "tuple[int, bytes, bytes] | None":
    """Send the event and return exit code, output and error output; None when the answer is not whole."""
    connection.settimeout(_SILENCE_SECONDS)
    names = f"{agent}{event}"
    if '"' in names or "\\" in names or not names.isprintable():
        return None
    hello = f'{{"codeplane": 1, "speak": "hook", "agent": "{agent}", "event": "{event}", "size": {len(payload)}}}\n'
    connection.sendall(hello.encode() + payload)
    data = b""
    while b"\n" not in data:
        chunk = connection.recv(_CHUNK)
        if not chunk:
            return None
        data = (data + chunk).lstrip(b".")
    head, _, body = data.partition(b"\n")
    words = head.split(b" ")
    if len(words) != 3 or not all(word.isdigit() and len(word) < 10 for word in words):
        return None
    code, n_out, n_err = (int(word) for word in words)
    parts, n_left = [body], n_out + n_err - len(body)
    while n_left > 0:
        chunk = connection.recv(_CHUNK)
        if not chunk:
            return None
        parts.append(chunk)
        n_left -= len(chunk)
    body = b"".join(parts)
    return code, body[:n_out], body[n_out : n_out + n_err]


def show(answer: "tuple[int, bytes, bytes]") -> int:
    """Print an answer and return its exit code; what the agent cannot read must not pass for "no opinion"."""
    code, out, err = answer
    _write(2, err)
    return code if _write(1, out) else 2


def tree_root(start: str) -> str:
    """Return the directory at or above a start that holds `.git`, or an empty text."""
    directory = start
    while True:
        try:
            posix.lstat(f"{directory}/.git")
        except OSError:
            directory = directory.rpartition("/")[0]
            if not directory:
                return ""
        else:
            return directory


def _connect(root: str) -> "_socket.socket | None":
    path = f"{root}/.codeplane/server.sock"
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        try:
            # A path that is too long for a socket is behind a link.
            path = posix.readlink(path)
        except OSError:
            path = str(path)
        connection.connect(path)
    except OSError:
        return None
    return connection


def _fall_back(arguments: list[str], payload: bytes, root: str, *, is_silent: bool) -> int:
    here = posix.fspath(__file__).rpartition("/codeplane/surfaces/")[0]
    try:
        if sys.flags.no_site:
            import site  # noqa: PLC0415 - 6 ms that the quick path does not pay.

            site.main()
        if here not in sys.path:
            sys.path.append(here)
        from codeplane.surfaces.agent_hooks.fallback import answer  # noqa: PLC0415 - as above.

        return show(answer(arguments, payload, root, is_silent=is_silent))
    except Exception as error:  # noqa: BLE001 - whatever is broken, a tool that may change something is refused.
        _write(2, f"CodePlane could not judge this call ({type(error).__name__}).\n".encode())
        name = arguments[1].lower() if len(arguments) > 1 else "pre"
        if arguments[:1] == ["cline"] and name == "pretooluse":
            _write(1, b'{"cancel": true, "errorMessage": "CodePlane could not judge this call."}')
        # An event after a tool has nothing to refuse.
        return 2 if name.startswith(("pre", "before", "permission", "tool.execute.before")) else 0


def _read_all() -> bytes:
    parts = []
    try:
        while chunk := posix.read(0, _CHUNK):
            parts.append(chunk)
    except OSError:
        # Closed before we came: an event without content.
        return b""
    return b"".join(parts)


def _write(descriptor: int, data: bytes) -> bool:
    """Write everything; false when the agent has closed its side."""
    view = memoryview(data)
    try:
        while view:
            view = view[posix.write(descriptor, view) :]
    except OSError:
        return False
    return True


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
