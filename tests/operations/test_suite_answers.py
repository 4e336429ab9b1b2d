"""What answers keep of a long failure: the message and the project's own frames."""

import pytest

from codeplane.operations.suite_answers import FailureInfo, failure_lines, shortened

JAVASCRIPT = """AssertionError: expected 1 to be 2
    at /r/src/a.test.ts:6:31
    at file:///r/node_modules/@vitest/runner/dist/chunk.js:302:11
    at new Promise (<anonymous>)
    at runWithTimeout (file:///r/node_modules/@vitest/runner/dist/chunk.js:2272:10)
    at process.processTicksAndRejections (node:internal/process/task_queues:95:5)"""
RUST = """thread 'tests::adds' (48) panicked at src/maths.rs:12:17:
assertion `left == right` failed
  left: -1
 right: 3
stack backtrace:
   0: __rustc::rust_begin_unwind
             at /rustc/5980/library/std/src/panicking.rs:689:5
   1: core::panicking::panic_fmt
             at /rustc/5980/library/core/src/panicking.rs:80:14
   2: shop::tests::adds
             at ./src/maths.rs:12:17
note: Some details are omitted, run with `RUST_BACKTRACE=full` for a verbose backtrace."""
GO = """panic: runtime error: invalid memory address
goroutine 449 [running]:
testing.tRunner.func1.2({0x6f, 0x9e})
	/usr/local/go/src/testing/testing.go:1974 +0x232
shop.TestFile(0x17)
	/r/file_test.go:141 +0x252
created by testing.(*T).Run in goroutine 1
	/usr/local/go/src/testing/testing.go:2101 +0x4c5"""
PYTHON = 'Traceback (most recent call last):\n  File "/r/t.py", line 8, in test_b\nAssertionError: 1 != 2'


@pytest.mark.parametrize(
    ("text", "n_lines", "own", "gist"),
    [
        (JAVASCRIPT, 2, "/r/src/a.test.ts:6:31", "AssertionError: expected 1 to be 2"),
        (RUST, 6, "./src/maths.rs:12:17", "assertion `left == right` failed"),
        (GO, 4, "/r/file_test.go:141", "panic: runtime error: invalid memory address"),
        (PYTHON, 3, "/r/t.py", "AssertionError: 1 != 2"),
        ("    at file:///r/node_modules/a.js:1:1", 1, "node_modules", "    at file:///r/node_modules/a.js:1:1"),
    ],
)
def test_a_failure_keeps_its_message_and_the_frames_of_the_project(
    text: str, n_lines: int, own: str, gist: str
) -> None:
    short = shortened(text)
    assert len(short.splitlines()) == n_lines
    assert own in short
    one = FailureInfo(tests=["t::a"], count=1, outcome="failed", text=short, fingerprint="f")
    assert failure_lines(one, is_long=False) == ["FAILED t::a", gist]
