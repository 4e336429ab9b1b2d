"""Python programs as processes of their own, forked from one that has imported CodePlane already.

An interpreter that imports the operations or the server takes about a second of a core, far more than most programs of
tests do. A fork has a number, streams, a directory and an environment of its own, and dies of signals, as any process.
What starting itself does is tested with real interpreters (`tests/surfaces/test_start.py` and others).
"""

import multiprocessing
import os
import runpy
import subprocess
import sys
from collections.abc import Mapping, Sequence
from multiprocessing.context import ForkServerProcess
from multiprocessing.reduction import DupFd
from pathlib import Path
from types import ModuleType
from typing import Any, AnyStr

from codeplane.operations.catalog import OPERATIONS, module_of

_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(
    [
        "codeplane.surfaces.entry",
        "codeplane.surfaces.cli.generated",
        "codeplane.surfaces.server.embedded",
        "codeplane.surfaces.server.foreground",
        "codeplane.surfaces.server.host",
        "codeplane.index.repository_index",
        "codeplane.edit.editor",
        "codeplane.workspace.git_bracket",
        "codeplane.memory.store",
        "jsonschema",
        *sorted({module_of(name) for name in OPERATIONS}),
    ]
)


class Forked(subprocess.Popen[AnyStr]):
    """A process that runs `python -m module`, `python -c text` or `python file`, with the rest as its arguments."""

    _process: ForkServerProcess

    def _execute_child(self, args: Sequence[str], *rest: Any) -> None:
        """Start it. The arguments are those that Popen of Python 3.11 to 3.14 gives to its own method."""
        directory, environment = rest[4], rest[5]
        p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite = rest[9:15]
        starts_session = rest[20]
        assert args[0] == sys.executable, args
        streams = [DupFd(own) if own != -1 else None for own in (p2cread, c2pwrite, errwrite)]
        whole = dict(os.environ if environment is None else environment)
        asked = (os.fspath(directory or Path.cwd()), whole, list(args[1:]), streams, starts_session)
        self._process = _FORKS.Process(target=_become, args=asked)
        self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid
        self._child_created = True
        self._close_pipe_fds(p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite)  # type: ignore[attr-defined]  # Popen's own.

    def _internal_poll(self, *_unused: Any, **_named: Any) -> int | None:
        if self.returncode is None:
            self.returncode = self._process.exitcode
        return self.returncode

    def _wait(self, timeout: float | None) -> int | None:
        self._process.join(timeout)
        if self._internal_poll() is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0.0)
        return self.returncode


def started_python(command: Sequence[str], **named: Any) -> "subprocess.Popen[Any]":
    """Start a Python program; one that wants options of the interpreter gets an interpreter of its own."""
    is_plain = command[0] == sys.executable and (command[1] in {"-m", "-c"} or command[1].endswith(".py"))
    return Forked[Any](command, **named) if is_plain else subprocess.Popen(command, **named)


def run_forked(command: Sequence[str], **named: Any) -> "subprocess.CompletedProcess[str]":
    """Run a Python program to its end; `named` is what `subprocess.run` takes."""
    given, timeout = named.pop("input", None), named.pop("timeout", 60)
    stdin = subprocess.DEVNULL if given is None else subprocess.PIPE
    with Forked[str](
        command, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8", **named
    ) as process:
        try:
            output, errors = process.communicate(given, timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    return subprocess.CompletedProcess(list(command), process.returncode, output, errors)


def _become(
    directory: str,
    environment: Mapping[str, str],
    arguments: Sequence[str],
    streams: Sequence[Any],
    starts_session: bool,
) -> None:
    """Become the program with another directory, environment, arguments and streams."""
    if starts_session:
        os.setsid()
    os.chdir(directory)
    os.environ.clear()
    os.environ.update(environment)
    for number, stream in enumerate(streams):
        if stream is not None:
            given = stream.detach()
            os.dup2(given, number)
            os.close(given)
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    _run_python(list(arguments))


def _run_python(arguments: list[str]) -> None:
    if arguments[0] == "-m":
        sys.argv = arguments[1:]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    elif arguments[0] == "-c":
        sys.argv = ["-c", *arguments[2:]]
        module = ModuleType("__main__")
        sys.modules["__main__"] = module
        exec(compile(arguments[1], "<string>", "exec"), vars(module))
    else:
        sys.argv = arguments
        runpy.run_path(arguments[0], run_name="__main__")
