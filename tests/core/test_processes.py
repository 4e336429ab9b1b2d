"""Programs run within limits, and nothing of them stays behind."""

import fcntl
import os
import signal
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codeplane.core import processes
from codeplane.core.errors import CodePlaneError
from codeplane.core.processes import ProcessRequest, ProcessResult, run_process

# A grandchild in the same group that keeps the pipes, holds a lock as a sign of life, and ignores the polite signal.
_STUBBORN_FAMILY = """
import fcntl, os, signal, sys, time
if os.fork() == 0:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    lock = open(sys.argv[1], "w")
    fcntl.flock(lock, fcntl.LOCK_EX)
    os.write(1, b"locked")
    time.sleep(600)
if sys.argv[2] == "stay":
    time.sleep(600)
while not os.path.exists(sys.argv[1]):
    time.sleep(0.001)
"""


def _python(tmp_path: Path, script: str, *arguments: str, **limits: Any) -> ProcessResult:
    limits.setdefault("timeout_seconds", 60)
    return run_process(ProcessRequest((sys.executable, "-I", "-c", script, *arguments), tmp_path, **limits))


def _check_lock_is_free(path: Path) -> None:
    """A lock is given back by the system when its holder has died, even one that nobody has collected."""
    with path.open("w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)


def _locked(path: Path) -> Callable[[], bool]:
    """Return a question that is answered with yes once somebody holds the lock."""

    def is_locked() -> bool:
        if not path.exists():
            return False
        with path.open(encoding="utf-8") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
        return False

    return is_locked


def test_output_error_output_and_exit_status_come_back(tmp_path: Path) -> None:
    result = _python(tmp_path, "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)")
    assert (result.returncode, result.stdout_text, result.stderr_text) == (3, "out\n", "err\n")
    assert not result.timed_out
    assert not result.was_cancelled
    assert result.duration_ms >= 0


def test_a_program_killed_by_a_signal_has_a_negative_status(tmp_path: Path) -> None:
    result = _python(tmp_path, "import os; os.kill(os.getpid(), 9)")
    assert result.returncode == -signal.SIGKILL


def test_the_program_runs_in_the_given_directory_and_its_own_session(tmp_path: Path) -> None:
    result = _python(tmp_path, "import os; print(os.getcwd()); print(os.getsid(0) == os.getpid())")
    assert result.stdout_text.splitlines() == [os.path.realpath(tmp_path), "True"]


def test_without_input_the_program_reads_nothing(tmp_path: Path) -> None:
    assert _python(tmp_path, "import sys; print(repr(sys.stdin.read()))").stdout_text == "''\n"


@pytest.mark.parametrize("size", [0, 1, 300_000])
def test_input_reaches_the_program_while_its_output_is_read(tmp_path: Path, size: int) -> None:
    data = os.urandom(size)
    result = _python(tmp_path, "import sys; sys.stdout.buffer.write(sys.stdin.buffer.read())", stdin=data)
    assert result.stdout == data


def test_huge_input_for_a_program_that_does_not_read_does_no_harm(tmp_path: Path) -> None:
    result = _python(tmp_path, "print('done')", stdin=bytes(8_000_000))
    assert (result.returncode, result.stdout_text) == (0, "done\n")


def test_arguments_are_never_seen_by_a_shell(tmp_path: Path) -> None:
    arguments = ("$HOME", "; echo x", "`id`", "*", "a b", "", "-n", "ü")
    result = _python(tmp_path, "import sys; print(sys.argv[1:])", *arguments)
    assert result.stdout_text == f"{list(arguments)}\n"


def test_output_beyond_the_limit_is_counted_and_not_kept(tmp_path: Path) -> None:
    script = "import sys; sys.stdout.write('a' * 300_000); sys.stderr.write('b' * 5)"
    result = _python(tmp_path, script, output_limit_bytes=1000)
    assert (result.stdout, result.stdout_dropped) == (b"a" * 1000, 299_000)
    assert (result.stderr, result.stderr_dropped) == (b"b" * 5, 0)


@given(st.integers(0, 20), st.lists(st.binary(max_size=10), max_size=6))
def test_kept_and_dropped_bytes_add_up(limit: int, chunks: list[bytes]) -> None:
    capture = processes._Capture(limit)
    for chunk in chunks:
        capture.add(chunk)
    assert bytes(capture.kept) == b"".join(chunks)[:limit]
    assert len(capture.kept) + capture.n_dropped == sum(map(len, chunks))


def test_bytes_that_are_not_text_show_as_escapes(tmp_path: Path) -> None:
    result = _python(tmp_path, r"import os; os.write(1, b'caf\xc3\xa9 \xff')")
    assert result.stdout_text == "café \\xff"


def test_variables_are_added_to_the_environment_or_replace_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INHERITED", "1")
    script = "import os; print(os.environ.get('INHERITED'), os.environ.get('ADDED'), os.environ.get('BASE'))"
    added = _python(tmp_path, script, extra_environment={"ADDED": "2"})
    replaced = _python(tmp_path, script, environment={"BASE": "3"}, extra_environment={"ADDED": "2"})
    assert (added.stdout_text, replaced.stdout_text) == ("1 2 None\n", "None 2 3\n")


def test_a_program_over_its_time_is_ended_with_its_whole_family(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    result = _python(tmp_path, _STUBBORN_FAMILY, str(lock), "stay", timeout_seconds=0.5)
    assert result.timed_out
    assert result.returncode < 0
    _check_lock_is_free(lock)


def test_a_program_that_answers_the_polite_signal_ends_by_it(tmp_path: Path) -> None:
    result = _python(tmp_path, "import time; time.sleep(600)", timeout_seconds=0.05)
    assert (result.timed_out, result.returncode) == (True, -signal.SIGTERM)


def test_what_was_written_before_the_time_limit_is_kept(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    script = "import sys, time; print('early', flush=True); open(sys.argv[1], 'w').close(); time.sleep(600)"
    result = _python(tmp_path, script, str(seen), cancelled=seen.exists)
    assert (result.was_cancelled, result.stdout_text) == (True, "early\n")


def test_a_cancelled_program_is_ended_with_its_whole_family(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    result = _python(tmp_path, _STUBBORN_FAMILY, str(lock), "stay", cancelled=_locked(lock))
    assert (result.was_cancelled, result.timed_out) == (True, False)
    _check_lock_is_free(lock)


def test_an_interrupt_ends_the_whole_family_and_goes_on(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    is_locked = _locked(lock)

    def interrupt() -> bool:
        if is_locked():
            raise KeyboardInterrupt
        return False

    with pytest.raises(KeyboardInterrupt):
        _python(tmp_path, _STUBBORN_FAMILY, str(lock), "stay", cancelled=interrupt)
    _check_lock_is_free(lock)


def test_a_grandchild_that_keeps_the_pipe_does_not_keep_the_caller(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    result = _python(tmp_path, _STUBBORN_FAMILY, str(lock), "leave")
    assert (result.returncode, result.timed_out) == (0, False)
    _check_lock_is_free(lock)


def test_a_program_that_closes_its_output_and_runs_on_is_still_waited_for(tmp_path: Path) -> None:
    script = "import os, sys; os.close(1); os.close(2); open(sys.argv[1], 'w').close(); os._exit(7)"
    result = _python(tmp_path, script, str(tmp_path / "mark"))
    assert result.returncode == 7
    assert (tmp_path / "mark").exists()


@pytest.mark.parametrize("seconds", ["0", "600"])
def test_no_zombie_remains(tmp_path: Path, seconds: str) -> None:
    pid_file = tmp_path / "pid"
    script = "import os, sys, time; print(os.getpid(), file=open(sys.argv[1], 'w')); time.sleep(float(sys.argv[2]))"
    is_written = lambda: pid_file.exists() and pid_file.stat().st_size > 0  # noqa: E731 - a question, not an action
    result = _python(tmp_path, script, str(pid_file), seconds, cancelled=is_written if seconds == "600" else None)
    assert result.was_cancelled is (seconds == "600")
    with pytest.raises(ChildProcessError):
        os.waitpid(int(pid_file.read_text(encoding="utf-8")), os.WNOHANG)


def test_no_file_descriptor_is_left_open(tmp_path: Path) -> None:
    _python(tmp_path, "pass", stdin=b"x")
    before = os.dup(0)
    os.close(before)
    for _ in range(3):
        _python(tmp_path, "pass", stdin=b"x")
    after = os.dup(0)
    os.close(after)
    assert after == before


def test_programs_run_side_by_side_in_worker_threads(tmp_path: Path) -> None:
    def echo(n: int) -> str:
        return _python(tmp_path, "import sys; sys.stdout.write(sys.stdin.read())", stdin=str(n).encode()).stdout_text

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(echo, range(8))) == [str(n) for n in range(8)]


def test_a_missing_program_is_named(tmp_path: Path) -> None:
    with pytest.raises(CodePlaneError, match="no-such-program") as caught:
        run_process(ProcessRequest(("no-such-program",), tmp_path, 5))
    assert caught.value.code == "FILE_NOT_FOUND"


def test_a_missing_directory_is_named(tmp_path: Path) -> None:
    with pytest.raises(CodePlaneError, match="no directory") as caught:
        run_process(ProcessRequest((sys.executable,), tmp_path / "missing", 5))
    assert caught.value.code == "FILE_NOT_FOUND"


def test_a_file_that_may_not_be_run_is_named(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("", encoding="utf-8")
    with pytest.raises(CodePlaneError, match="may not be run") as caught:
        run_process(ProcessRequest((str(tmp_path / "data"),), tmp_path, 5))
    assert caught.value.code == "PERMISSION_DENIED"


def test_a_file_that_is_no_program_is_refused(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_bytes(b"\x7fELF nothing")
    program.chmod(0o700)
    with pytest.raises(CodePlaneError) as caught:
        run_process(ProcessRequest((str(program),), tmp_path, 5))
    assert caught.value.code == "INVALID_ARGUMENTS"


@pytest.mark.parametrize("argv", ["ls -l", b"ls", ("ls", 1), ("ls", b"-l")])
def test_arguments_of_the_wrong_type_are_a_type_error(tmp_path: Path, argv: Any) -> None:
    with pytest.raises(TypeError):
        ProcessRequest(argv, tmp_path, 5)


@pytest.mark.parametrize(
    ("argv", "changes"),
    [
        ((), {}),
        (("",), {}),
        (("ls", "a\0b"), {}),
        (("ls",), {"timeout_seconds": 0}),
        (("ls",), {"timeout_seconds": float("nan")}),
        (("ls",), {"extra_environment": {"A=B": "x"}}),
        (("ls",), {"environment": {"A": "\0"}}),
    ],
)
def test_a_request_that_cannot_be_run_is_refused(
    tmp_path: Path, argv: tuple[str, ...], changes: dict[str, Any]
) -> None:
    with pytest.raises(CodePlaneError) as caught:
        ProcessRequest(argv, tmp_path, **{"timeout_seconds": 5, **changes})
    assert caught.value.code == "INVALID_ARGUMENTS"


def test_an_argument_that_has_no_bytes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CodePlaneError) as caught:
        run_process(ProcessRequest((sys.executable, "\ud800"), tmp_path, 5))
    assert caught.value.code == "INVALID_ARGUMENTS"


def test_a_list_of_arguments_becomes_a_tuple(tmp_path: Path) -> None:
    arguments: Any = [sys.executable, "-c", "pass"]
    request = ProcessRequest(arguments, tmp_path, 60)
    assert request.argv == tuple(arguments)
