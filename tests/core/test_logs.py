"""Logs: what a line looks like, where it goes, and that logging never hurts the caller."""

import contextvars
import errno
import io
import json
import logging
import os
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, cast

import pytest

from codeplane.core.clock import ManualClock
from codeplane.core.errors import CodePlaneError
from codeplane.core.logs import (
    MAX_FIELD_CHARACTERS,
    MAX_LINE_BYTES,
    LoggingHandle,
    LoggingSettings,
    LogOutput,
    LogRotation,
    configure_logging,
    correlated,
    fields,
    get_logger,
    tail_lines,
)
from codeplane.core.setting_sources import EnvironmentSource, FileSource, OverrideSource
from codeplane.core.settings import load_settings, setting_rows

log = get_logger("sample")


def hide_hunter(text: str) -> str:
    """Stand in for the real redaction: the password of these tests goes, and anything under `password=`."""
    if text.startswith("password="):
        return "password=[redacted]"
    return text.replace("hunter2", "[redacted]")


@dataclass(slots=True)
class JsonLog:
    """A JSON log in a file with everything that writes to it."""

    path: Path
    clock: ManualClock = field(default_factory=ManualClock)

    def open(self, level: str = "debug", **rotation: int) -> LoggingHandle:
        output = LogOutput("json", str(self.path))
        settings = LoggingSettings(cast("Any", level), (output,), LogRotation(**rotation))
        return configure_logging(settings, clock=self.clock, redact=hide_hunter)

    def lines(self) -> list[str]:
        return self.path.read_text(encoding="utf-8").splitlines() if self.path.exists() else []

    def entries(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.lines()]


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[JsonLog]:
    journal = JsonLog(tmp_path / "logs" / "server.jsonl")
    with journal.open():
        yield journal


def record_at(created: float, event: str) -> logging.LogRecord:
    record = log.makeRecord(log.name, logging.INFO, "x.py", 1, event, (), None)
    record.created = created
    return record


def test_a_json_line_begins_with_time_level_and_event(journal: JsonLog) -> None:
    log.handle(record_at(1769441400.123, "server started"))
    assert journal.lines() == ['{"ts":"2026-01-26T15:30:00.123Z","level":"info","event":"server started"}']


def test_fields_follow_the_correlation_in_the_line(journal: JsonLog) -> None:
    with correlated(task_id="t1", request_id="r1"), correlated(op_id="o1"):
        log.warning("slow %s", "query", extra=fields(port=1, ok=True, none=None, ratio=0.5))
    [entry] = journal.entries()
    assert list(entry) == ["ts", "level", "event", "request_id", "op_id", "task_id", "port", "ok", "none", "ratio"]
    assert (entry["level"], entry["event"], entry["task_id"]) == ("warn", "slow query", "t1")


def test_correlation_ends_with_its_block(journal: JsonLog) -> None:
    with correlated(op_id="outer"):
        with correlated(op_id="inner"):
            log.info("a")
        log.info("b")
    log.info("c")
    assert [entry.get("op_id") for entry in journal.entries()] == ["inner", "outer", None]


def test_a_thread_with_a_copied_context_keeps_the_correlation(journal: JsonLog) -> None:
    with correlated(op_id="o1"):
        context = contextvars.copy_context()
    threads = [
        threading.Thread(target=lambda: context.run(log.info, "copied")),
        threading.Thread(target=lambda: log.info("bare")),
    ]
    for thread in threads:
        thread.start()
        thread.join()
    assert [entry.get("op_id") for entry in journal.entries()] == ["o1", None]


def test_lines_of_many_threads_do_not_mix(journal: JsonLog) -> None:
    def work(number: int) -> None:
        for i in range(50):
            log.info("step", extra=fields(worker=number, i=i, filler="x" * 500))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({(entry["worker"], entry["i"]) for entry in journal.entries()}) == 400


class Colour(Enum):
    RED = "red"


class Hostile:
    def __repr__(self) -> str:
        raise RuntimeError("no")


class HostileMapping(Mapping[str, int]):
    def __getitem__(self, key: str) -> int:
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        raise RuntimeError("changed during iteration")

    def __len__(self) -> int:
        return 1


def cyclic() -> list[object]:
    values: list[object] = []
    values.append(values)
    return values


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("two\nlines\u2028three", "two\nlines\u2028three"),
        ("lone \udc80 surrogate", "lone \\udc80 surrogate"),
        (float("nan"), "nan"),
        (float("inf"), "inf"),
        pytest.param(10**5000, "<unprintable: ValueError>", id="huge number"),
        (b"\x00\xff", "b'\\x00\\xff'"),
        (Path("/a/b"), "/a/b"),
        (Colour.RED, "red"),
        (Hostile(), "<unprintable: RuntimeError>"),
        (HostileMapping(), "<unprintable: RuntimeError>"),
        ({"a": (1, {"b": None})}, {"a": [1, {"b": None}]}),
        ({1: Hostile()}, {"1": "<unprintable: RuntimeError>"}),
        (cyclic(), [[["[[...]]"]]]),
        (list(range(22)), [*range(20), "… 2 more"]),
    ],
)
def test_any_value_gives_one_line_of_valid_json(journal: JsonLog, value: object, written: object) -> None:
    log.info("event", extra=fields(value=value))
    assert len(journal.path.read_bytes().splitlines()) == 1
    assert journal.entries()[0]["value"] == written


def test_a_message_that_cannot_be_formatted_is_still_one_line(tmp_path: Path) -> None:
    journal = JsonLog(tmp_path / "a.jsonl")
    # Opened here, not by the fixture: pytest's own handler joins loggers that a fixture has set up, and it would fail.
    with journal.open():
        log.info("%d files", "many")
        log.info(Hostile())
    assert [entry["event"] for entry in journal.entries()] == [
        "<unprintable: TypeError>",
        "<unprintable: RuntimeError>",
    ]


def test_fields_cannot_replace_the_required_ones(journal: JsonLog) -> None:
    log.info("event", extra=fields(ts="x", level="y", event="z", op_id="given"))
    [entry] = journal.entries()
    assert entry["event"] == "event"
    assert (entry["ts_"], entry["level_"], entry["event_"], entry["op_id"]) == ("x", "y", "z", "given")


def test_a_long_field_is_cut(journal: JsonLog) -> None:
    log.info("e" * 5_000, extra=fields(text="x" * 1_000_000, rows=[["y" * 1_000] * 10] * 10))
    [entry] = journal.entries()
    for name in ("event", "text", "rows"):
        assert len(entry[name]) == MAX_FIELD_CHARACTERS
        assert entry[name].endswith("…")
    assert "truncated" not in entry


@pytest.mark.parametrize("char", ["x", "é", "\U0001f600"])
def test_a_long_line_is_cut_and_says_so(journal: JsonLog, char: str) -> None:
    log.info(char * 3_000, extra=fields(**{f"f{i}": char * 2_000 for i in range(50)}))
    assert len(journal.path.read_bytes()) <= MAX_LINE_BYTES + 1
    [entry] = journal.entries()
    assert entry["truncated"] is True
    assert entry["event"].startswith(char * 400)


def test_secrets_are_taken_out_of_every_text(journal: JsonLog) -> None:
    with correlated(op_id="hunter2"):
        log.info(
            "login hunter2",
            extra=fields(hunter2="hunter2", password="opensesame", nested={"a": ["hunter2"], "password": "swordfish"}),
        )
        log.error("failed", exc_info=ValueError("bad hunter2"))
    text = journal.path.read_text(encoding="utf-8")
    assert not any(secret in text for secret in ("hunter2", "opensesame", "swordfish"))
    assert len(journal.entries()) == 2


def test_no_half_secret_is_left_at_the_cut(journal: JsonLog) -> None:
    log.info("event", extra=fields(text="x" * (MAX_FIELD_CHARACTERS - 4) + "hunter2"))
    assert "hunt" not in journal.lines()[0]


def test_a_redaction_that_fails_hides_the_text(tmp_path: Path) -> None:
    def fail(text: str) -> str:
        raise RuntimeError(text)

    path = tmp_path / "log"
    settings = LoggingSettings(outputs=(LogOutput("json", str(path)),))
    with configure_logging(settings, clock=ManualClock(), redact=fail):
        log.info("hunter2")
    assert json.loads(path.read_text(encoding="utf-8"))["event"] == "<unprintable: RuntimeError>"


def raise_deep(levels: int) -> None:
    if levels:
        raise_deep(levels - 1)
    raise LookupError("nothing\nthere")


def log_failure(raiser: Callable[[], None]) -> None:
    try:
        raiser()
    except LookupError:
        log.exception("step failed")


def test_an_exception_is_one_line_with_its_innermost_frames(journal: JsonLog) -> None:
    log_failure(lambda: raise_deep(5))
    [entry] = journal.entries()
    assert (entry["level"], entry["error_type"]) == ("error", "LookupError")
    assert entry["error_message"] == "nothing\nthere"
    frames = entry["where"].split(" < ")
    assert len(frames) == 3
    assert all(frame.startswith("test_logs.py:") and frame.endswith(" raise_deep") for frame in frames)


def test_the_cause_of_an_exception_is_named(journal: JsonLog) -> None:
    error = RuntimeError("cannot save")
    error.__cause__ = OSError("disk gone")
    log.error("failed", exc_info=error)
    assert journal.entries()[0]["cause"] == "OSError: disk gone"


def test_an_exception_that_repeats_is_written_once_a_minute_and_counted(journal: JsonLog) -> None:
    def fail() -> None:
        raise LookupError(str(journal.clock.milliseconds))

    for seconds in (0, 1, 30, 28.9, 0.2, 1):
        journal.clock.advance(seconds)
        log_failure(fail)
    assert [entry.get("suppressed") for entry in journal.entries()] == [None, 3]
    journal.clock.advance(60)
    log_failure(fail)
    assert journal.entries()[-1]["suppressed"] == 1


def test_different_exceptions_are_all_written(journal: JsonLog) -> None:
    log_failure(lambda: raise_deep(0))
    log_failure(lambda: raise_deep(1))
    assert len(journal.entries()) == 2


def test_exc_info_without_an_exception_is_an_ordinary_line(journal: JsonLog) -> None:
    log.error("nothing is raised", exc_info=(None, None, None))
    assert "error_type" not in journal.entries()[0]


def test_each_output_has_its_own_level_and_form(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "all.jsonl"
    outputs = (LogOutput("console", "stderr", "warning"), LogOutput("json", "stdout", "error"))
    settings = LoggingSettings("debug", outputs)
    extra = (LogOutput("json", str(path)),)
    with configure_logging(settings, clock=ManualClock(), extra_outputs=extra, redact=hide_hunter):
        for number in (logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR):
            log.log(number, "event %d", number)
    captured = capsys.readouterr()
    assert [line.split()[1] for line in captured.err.splitlines()] == ["WARN", "ERROR"]
    assert [json.loads(line)["level"] for line in captured.out.splitlines()] == ["error"]
    levels = [json.loads(line)["level"] for line in path.read_text(encoding="utf-8").splitlines()]
    assert levels == ["debug", "info", "warn", "error"]


def test_the_default_is_console_on_stderr_from_info(capsys: pytest.CaptureFixture[str]) -> None:
    with configure_logging(LoggingSettings(), clock=ManualClock()):
        log.debug("hidden")
        log.handle(record_at(1769441400.0, "server started"))
    moment = time.strftime("%H:%M:%S", time.localtime(1769441400.0))
    assert capsys.readouterr().err == f"{moment} INFO  server started\n"


def test_the_console_quotes_and_escapes_what_could_mislead(capsys: pytest.CaptureFixture[str]) -> None:
    with configure_logging(LoggingSettings(), clock=ManualClock(), redact=hide_hunter):
        log.info("a\nb\x1b[2J", extra=fields(plain="x/y", spaced="a b", empty="", port=1, items=[1, "ü"], line="c\nd"))
    [line] = capsys.readouterr().err.splitlines()
    assert line[9:] == 'INFO  a\\nb\\x1b[2J plain=x/y spaced="a b" empty="" port=1 items=[1, "ü"] line="c\\nd"'


class Terminal(io.StringIO):
    encoding = "ascii"

    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_colours_and_only_characters_it_can_show(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with configure_logging(LoggingSettings(), clock=ManualClock(), redact=hide_hunter):
        log.error("größe")
    assert terminal.getvalue()[9:] == "\x1b[31mERROR\x1b[0m gr\\xf6\\xdfe\n"


def test_library_warnings_join_and_their_chatter_does_not(journal: JsonLog) -> None:
    logging.getLogger("uvicorn.access").setLevel(logging.DEBUG)
    try:
        logging.getLogger("uvicorn.access").info("GET /")
        logging.getLogger("mcp.server").warning("odd request")
        logging.getLogger("unrelated").error("not ours")
    finally:
        logging.getLogger("uvicorn.access").setLevel(logging.NOTSET)
    assert [(entry["event"], entry["logger"]) for entry in journal.entries()] == [("odd request", "mcp.server")]


def test_closing_puts_the_loggers_back(tmp_path: Path) -> None:
    names = ("codeplane", "mcp", "uvicorn", "starlette", "asyncio")

    def states() -> list[tuple[int, bool, int]]:
        loggers = [logging.getLogger(name) for name in names]
        return [(logger.level, logger.propagate, len(logger.handlers)) for logger in loggers]

    before = states()
    journal = JsonLog(tmp_path / "a.jsonl")
    first = journal.open()
    second = journal.open("error")
    first.close()
    log.info("hidden")
    log.error("shown once")
    second.close()
    second.close()
    assert states() == before
    assert [entry["event"] for entry in journal.entries()] == ["shown once"]


def test_a_log_file_is_private_and_its_directory_made(journal: JsonLog) -> None:
    log.info("x")
    assert stat.S_IMODE(journal.path.stat().st_mode) == 0o600


def test_an_existing_log_becomes_private_and_is_continued(journal: JsonLog) -> None:
    journal.path.parent.mkdir()
    journal.path.write_text("{}\n", encoding="utf-8")
    journal.path.chmod(0o644)
    log.info("x")
    assert len(journal.lines()) == 2
    assert stat.S_IMODE(journal.path.stat().st_mode) == 0o600


@pytest.mark.parametrize("backups", [0, 2])
def test_a_full_log_is_put_aside(tmp_path: Path, backups: int) -> None:
    journal = JsonLog(tmp_path / "a.jsonl")
    with journal.open(max_bytes=10_000, backups=backups):
        for i in range(200):
            log.info("event", extra=fields(i=i, filler="x" * 200))
    expected = ["a.jsonl", *(f"a.jsonl.{i}" for i in range(1, backups + 1))]
    assert sorted(path.name for path in tmp_path.iterdir()) == expected
    numbers = []
    for name in reversed(expected):
        path = tmp_path / name
        assert path.stat().st_size <= 10_000
        numbers += [json.loads(line)["i"] for line in path.read_text(encoding="utf-8").splitlines()]
    assert numbers == list(range(200 - len(numbers), 200))


def test_a_deleted_log_is_made_again(journal: JsonLog) -> None:
    log.info("a")
    journal.path.unlink()
    log.info("b")
    assert [entry["event"] for entry in journal.entries()] == ["b"]


def test_an_unwritable_destination_costs_one_note(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with JsonLog(tmp_path / "file" / "log").open():
        log.info("a")
        log.info("b")
    note = capsys.readouterr().err
    assert note.count("\n") == 1
    assert "cannot write the log to" in note
    assert "Not a directory" in note


def test_a_full_disk_costs_one_note_and_only_its_own_lines(
    journal: JsonLog, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_descriptor: int, _data: bytes) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", fail)
        log.info("a")
        log.info("b")
    log.info("c")
    assert capsys.readouterr().err.count("No space left on device") == 1
    assert [entry["event"] for entry in journal.entries()] == ["c"]


def test_a_pipe_without_a_reader_does_not_hold_up_the_caller(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    os.mkfifo(tmp_path / "pipe")
    with JsonLog(tmp_path / "pipe").open():
        log.info("a")
    assert "cannot write the log" in capsys.readouterr().err


def test_a_line_after_a_half_written_one_is_whole(journal: JsonLog, monkeypatch: pytest.MonkeyPatch) -> None:
    log.info("a")
    real_write = os.write
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda descriptor, data: real_write(descriptor, data[:10]))
        log.info("cut off by a full disk")
    log.info("b")
    lines = journal.lines()
    assert [json.loads(line)["event"] for line in (lines[0], lines[2])] == ["a", "b"]
    assert len(lines[1]) == 10


def test_a_closed_stdout_costs_one_note(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    closed = io.StringIO()
    closed.close()
    monkeypatch.setattr(sys, "stdout", closed)
    settings = LoggingSettings(outputs=(LogOutput(destination="stdout"),))
    with configure_logging(settings, clock=ManualClock(), redact=hide_hunter):
        log.info("a")
        log.info("b")
    assert capsys.readouterr().err.count("cannot write the log to stdout") == 1


def test_a_closed_stderr_is_borne_in_silence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    closed = io.StringIO()
    closed.close()
    monkeypatch.setattr(sys, "stderr", closed)
    with configure_logging(LoggingSettings(), clock=ManualClock(), redact=hide_hunter) as handle:
        log.error("nobody hears this")
    handle.close()
    assert capsys.readouterr() == ("", "")


def test_settings_are_read_as_the_specification_shows(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(
        "level: DEBUG\noutputs:\n  - format: console\n    destination: stderr\n    level: INFO\n"
        "  - format: json\n    destination: /var/log/codeplane.jsonl\n",
        encoding="utf-8",
    )
    environment = EnvironmentSource({"CODEPLANE__ROTATION__BACKUPS": "5"})
    settings = load_settings(LoggingSettings, [FileSource(path, "config"), environment]).values
    outputs = (LogOutput("console", "stderr", "info"), LogOutput("json", "/var/log/codeplane.jsonl"))
    assert settings == LoggingSettings("debug", outputs, LogRotation(backups=5))
    assert all(row.doc for row in setting_rows(LoggingSettings))


def test_a_relative_destination_is_refused() -> None:
    with pytest.raises(CodePlaneError, match="destination must be stderr, stdout or an absolute file path"):
        load_settings(LoggingSettings, [OverrideSource(["outputs=[{destination: x.log}]"])])


def test_logger_names_stay_below_codeplane() -> None:
    assert [get_logger(name).name for name in ("codeplane", "codeplane.git", "git", "codeplanes")] == [
        "codeplane",
        "codeplane.git",
        "codeplane.git",
        "codeplane.codeplanes",
    ]


@pytest.mark.parametrize(
    ("text", "count", "lines"),
    [
        ("", 5, ()),
        ("a\nb\nc\n", 2, ("b", "c")),
        ("a\nb\nc", 2, ("b", "c")),
        ("a\r\n\nc\n", 9, ("a", "", "c")),
        ("a\nb\n", 0, ()),
        ("a\u2028b\n", 1, ("a\u2028b",)),
    ],
)
def test_the_last_lines_are_read(tmp_path: Path, text: str, count: int, lines: tuple[str, ...]) -> None:
    path = tmp_path / "log"
    path.write_bytes(text.encode())
    assert tail_lines(path, count) == lines


def test_the_last_lines_of_a_long_log_span_blocks(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("".join(f"{i} {'x' * 1000}\n" for i in range(1_000)), encoding="utf-8")
    assert [line.split()[0] for line in tail_lines(path, 150)] == [str(i) for i in range(850, 1_000)]


def test_a_file_without_line_breaks_is_not_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"\xff" * 1_000_000)
    [line] = tail_lines(path, 1)
    assert len(line) < 100_000


def test_a_missing_log_has_no_last_lines(tmp_path: Path) -> None:
    assert tail_lines(tmp_path / "none", 5) == ()
