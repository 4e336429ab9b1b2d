"""`cpl demo dashboard` as a running program: its server has a day of several agents behind it."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from support.forks import started_python
from surfaces.dashboard.support_visitors import Visitor, cookie_of
from surfaces.support_processes import CPL, Sandbox, UpServer, end, make_sandbox, send_http


@dataclass(frozen=True)
class Demo:
    """The server of the demo, and a person who has followed the printed link."""

    server: UpServer
    visitor: Visitor


@contextmanager
def running_demo(directory: Path) -> Iterator[Demo]:
    """Run the demo until the block ends."""
    with make_sandbox(directory) as sandbox:
        process = started_python(
            (*CPL, "demo", "dashboard", "--print"),
            cwd=directory,
            env={**sandbox.env, "TMPDIR": str(directory)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        try:
            yield _opened(process, sandbox)
        finally:
            end(process)
            if process.stdout is not None:
                process.stdout.close()


def _opened(process: "subprocess.Popen[str]", sandbox: Sandbox) -> Demo:
    assert process.stdout is not None
    line = next(line for line in process.stdout if "code=" in line)
    port, _, rest = line.partition("http://127.0.0.1:")[2].strip().partition("/")
    cookie = cookie_of(send_http(int(port), "GET", f"/{rest}"))
    server = UpServer(process, Path(), sandbox, int(port), line)
    return Demo(
        UpServer(process, Path(server.get("/status").json["repo_root"]), sandbox, int(port), line),
        Visitor(int(port), cookie),
    )
