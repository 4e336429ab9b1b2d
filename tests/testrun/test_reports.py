"""Reports as runners write them, recorded: the counts, the id of the failing test, its place and what it says."""

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from codeplane.testrun.model import Case, Finished, Report
from codeplane.testrun.runners.catalog import RUNNER_BY_NAME, RUNNERS, find_runner
from codeplane.testrun.settings import ALIASES, RUNNER_NAMES


@dataclass(frozen=True)
class Recorded:
    """What a runner left, and what it means."""

    report: str = ""
    stdout: str = ""
    stderr: str = ""
    file: str = "report"
    counts: tuple[int, int, int, int] = (1, 1, 0, 0)
    name: str = ""
    place: str = ""
    line: int | None = None
    says: str = ""


JUNIT = """<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="com.shop.PriceTest" tests="3" failures="1" time="0.1">
  <testcase name="keepsNames" classname="com.shop.PriceTest" time="0.01"/>
  <testcase name="laterOne" classname="com.shop.PriceTest" time="0"><skipped/></testcase>
  <testcase name="addsUp" classname="com.shop.PriceTest" time="0.02">
    <failure message="expected: &lt;3&gt; but was: &lt;2&gt;" type="org.opentest4j.AssertionFailedError">
org.opentest4j.AssertionFailedError: expected: &lt;3&gt; but was: &lt;2&gt;
\tat org.junit.jupiter.api.AssertEquals.assertEquals(AssertEquals.java:150)
\tat com.shop.PriceTest.addsUp(PriceTest.java:14)
    </failure>
  </testcase>
</testsuite>
"""
PHPUNIT = """<?xml version="1.0" encoding="UTF-8"?>
<testsuites><testsuite name="PriceTest" file="/repo/tests/PriceTest.php">
  <testcase name="testNames" file="/repo/tests/PriceTest.php" line="8" class="PriceTest" time="0.001"/>
  <testcase name="testSum" file="/repo/tests/PriceTest.php" line="12" class="PriceTest" time="0.002">
    <failure type="PHPUnit\\Framework\\ExpectationFailedException">PriceTest::testSum
Failed asserting that 2 matches expected 3.
</failure></testcase>
</testsuite></testsuites>
"""
CTEST = """<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="Linux-c++" tests="2" failures="1">
  <testcase name="names" classname="names" time="0.01" status="run"/>
  <testcase name="sums" classname="sums" time="0.01" status="fail">
    <failure message=""/><system-out>sum.c:7: 2 is not 3</system-out></testcase>
</testsuite>
"""
JEST = {
    "testResults": [
        {
            "name": "/repo/src/a.test.ts",
            "status": "failed",
            "assertionResults": [
                {"fullName": "prices keep", "status": "passed", "duration": 2, "failureMessages": []},
                {"fullName": "prices wait", "status": "pending", "failureMessages": []},
                {
                    "fullName": "prices add up",
                    "status": "failed",
                    "failureMessages": [
                        "\x1b[31mError: expected 2 to be 3\x1b[39m\n    at Object.<anonymous> (/repo/src/a.test.ts:9:20)"
                    ],
                },
            ],
        },
        {"name": "/repo/src/b.test.ts", "status": "failed", "message": "SyntaxError: bad\n  /repo/src/b.test.ts:2:1"},
    ]
}
MOCHA = {
    "pending": [{"fullTitle": "p later", "file": "/repo/test/a.js"}],
    "failures": [{"fullTitle": "p sums", "file": "/repo/test/a.js", "err": {"message": "2 == 3"}}],
    "tests": [
        {"fullTitle": "p keeps", "file": "/repo/test/a.js", "duration": 1, "err": {}},
        {"fullTitle": "p later", "file": "/repo/test/a.js", "err": {}},
        {
            "fullTitle": "p sums",
            "file": "/repo/test/a.js",
            "err": {
                "message": "2 == 3",
                "stack": "AssertionError: 2 == 3\n    at Context.<anonymous> (/repo/test/a.js:6:3)",
            },
        },
    ],
}
PLAYWRIGHT = {
    "config": {"rootDir": "/repo/e2e"},
    "errors": [],
    "suites": [
        {
            "title": "login.spec.ts",
            "file": "login.spec.ts",
            "specs": [
                {"title": "opens", "file": "login.spec.ts", "line": 3,
                 "tests": [{"projectName": "firefox", "status": "expected", "results": [{"duration": 5}]}]},
            ],
            "suites": [
                {"title": "form", "file": "login.spec.ts", "specs": [
                    {"title": "sends", "file": "login.spec.ts", "line": 9, "tests": [
                        {"projectName": "firefox", "status": "unexpected", "results": [
                            {"duration": 7, "error": {"message": "Error: no button", "location": {"line": 11}}}]}]}]},
            ],
        }
    ],
}  # fmt: skip
RSPEC = {
    "examples": [
        {"full_description": "Price keeps", "status": "passed", "file_path": "./spec/price_spec.rb", "line_number": 3},
        {
            "full_description": "Price sums", "status": "failed", "file_path": "./spec/price_spec.rb", "line_number": 6,
            "exception": {"class": "RSpec::Expectations::ExpectationNotMetError", "message": "\nexpected: 3\n got: 2",
                          "backtrace": ["/gems/rspec.rb:1:in `x'", "/repo/spec/price_spec.rb:7:in `block'"]},
        },
    ],
    "summary": {"errors_outside_of_examples_count": 0},
}  # fmt: skip
TRX = """<?xml version="1.0" encoding="utf-8"?>
<TestRun xmlns="http://microsoft.com/schemas/VisualStudio/TeamTest/2010">
  <Results>
    <UnitTestResult testId="1" testName="Shop.PriceTests.Keeps" outcome="Passed" duration="00:00:00.0100000"/>
    <UnitTestResult testId="2" testName="Shop.PriceTests.Sums" outcome="Failed" duration="00:00:00.0200000">
      <Output><ErrorInfo><Message>Assert.Equal() Failure</Message>
        <StackTrace>   at Shop.PriceTests.Sums() in /repo/tests/PriceTests.cs:line 21</StackTrace></ErrorInfo></Output>
    </UnitTestResult>
  </Results>
  <TestDefinitions>
    <UnitTest id="1"><TestMethod className="Shop.PriceTests" name="Keeps"/></UnitTest>
    <UnitTest id="2"><TestMethod className="Shop.PriceTests" name="Sums"/></UnitTest>
  </TestDefinitions>
</TestRun>
"""
MIX = """Running ExUnit with seed: 1, max_cases: 4

.

  1) test adds up (Shop.PriceTest)
     test/price_test.exs:7
     Assertion with == failed
     code:  assert Shop.sum() == 3
     left:  2
     right: 3
     stacktrace:
       test/price_test.exs:8: (test)


Finished in 0.03 seconds (0.00s async, 0.03s sync)
2 tests, 1 failure
"""
DJANGO = """Found 3 test(s).
test_keeps (shop.tests.test_prices.PriceTest.test_keeps) ... ok
test_later (shop.tests.test_prices.PriceTest.test_later) ... skipped 'later'
test_sums (shop.tests.test_prices.PriceTest.test_sums) ... FAIL

======================================================================
FAIL: test_sums (shop.tests.test_prices.PriceTest.test_sums)
----------------------------------------------------------------------
Traceback (most recent call last):
  File "/repo/shop/tests/test_prices.py", line 12, in test_sums
    self.assertEqual(2, 3)
AssertionError: 2 != 3

----------------------------------------------------------------------
Ran 3 tests in 0.004s

FAILED (failures=1, skipped=1)
"""
GO = "".join(
    json.dumps({"Package": "shop/pkg", **event}) + "\n"
    for event in (
        {"Action": "run", "Test": "TestSums"},
        {"Action": "output", "Test": "TestSums/two", "Output": "    price_test.go:9: got 2\n"},
        {"Action": "fail", "Test": "TestSums/two", "Elapsed": 0.01},
        {"Action": "fail", "Test": "TestSums", "Elapsed": 0.02},
        {"Action": "pass", "Test": "TestKeeps", "Elapsed": 0.0},
        {"Action": "fail", "Elapsed": 0.1},
    )
)
CARGO = """
running 2 tests
test keeps ... ok
test sums ... FAILED

failures:

---- sums stdout ----
thread 'sums' panicked at tests/price.rs:7:5:
assertion `left == right` failed
  left: 2
 right: 3
note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace


failures:
    sums

test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out
"""
EVENTS = (
    '{"kind": "start", "file": "/repo/test_a.py"}\n{"kind": "case", "name": "test_a", "outcome": "passed"}\n'
    '{"kind": "case", "name": "test_b", "outcome": "failed", "file": "/repo/test_a.py", "line": 4, "text": "assert 0"}\n'
)
RECORDED = {
    "mvn test": Recorded(JUNIT, file="target/surefire-reports/TEST-a.xml", counts=(1, 1, 0, 1), name="com.shop.PriceTest::addsUp", line=14, says="but was: <2>"),
    "gradle test": Recorded(JUNIT, file="build/test-results/test/TEST-a.xml", counts=(1, 1, 0, 1), name="com.shop.PriceTest::addsUp", line=14, says="but was: <2>"),
    "phpunit": Recorded(PHPUNIT, name="PriceTest::testSum", place="/repo/tests/PriceTest.php", line=12, says="2 matches expected 3"),
    "ctest": Recorded(CTEST, name="sums"),
    "jest": Recorded(json.dumps(JEST), counts=(1, 1, 1, 1), name="prices add up", place="/repo/src/a.test.ts", line=9, says="Error: expected 2 to be 3"),
    "vitest": Recorded(json.dumps(JEST), counts=(1, 1, 1, 1), name="prices add up", place="/repo/src/a.test.ts", line=9, says="Error: expected 2 to be 3"),
    "mocha": Recorded(json.dumps(MOCHA), counts=(1, 1, 0, 1), name="p sums", place="/repo/test/a.js", line=6, says="2 == 3"),
    "playwright": Recorded(json.dumps(PLAYWRIGHT), name="form sends [firefox]", place="/repo/e2e/login.spec.ts", line=11, says="no button"),
    "rspec": Recorded(json.dumps(RSPEC), name="Price sums", place="./spec/price_spec.rb", line=7, says="expected: 3"),
    "dotnet test": Recorded(TRX, name="Shop.PriceTests::Sums", place="/repo/tests/PriceTests.cs", line=21, says="Assert.Equal() Failure"),
    "mix test": Recorded(stdout=MIX, name="Shop.PriceTest::adds up", place="test/price_test.exs", line=7, says="left:  2"),
    "django": Recorded(stderr=DJANGO, counts=(1, 1, 0, 1), name="PriceTest::test_sums", place="/repo/shop/tests/test_prices.py", line=12, says="2 != 3"),
    "go test": Recorded(stdout=GO, name="TestSums/two", place="shop/pkg/price_test.go", line=9, says="got 2"),
    "cargo test": Recorded(stdout=CARGO, stderr="     Running tests/price.rs (target/debug/deps/price-1)\n", name="sums", place="tests/price.rs", line=7, says="left: 2"),
    "pytest": Recorded(EVENTS, name="test_b", place="/repo/test_a.py", line=4, says="assert 0"),
    "unittest": Recorded(EVENTS, name="test_b", place="/repo/test_a.py", line=4, says="assert 0"),
    "node:test": Recorded(EVENTS, name="test_b", place="/repo/test_a.py", line=4, says="assert 0"),
}  # fmt: skip


def parsed(tmp_path: Path, name: str, one: Recorded) -> Report:
    place = tmp_path / one.file
    place.parent.mkdir(parents=True, exist_ok=True)
    if one.report:
        place.write_text(one.report, encoding="utf-8")
    return RUNNER_BY_NAME[name].parse(Finished(one.stdout, one.stderr, tmp_path / "report", tmp_path))


def outcomes(cases: tuple[Case, ...]) -> tuple[int, int, int, int]:
    found = Counter(case.outcome.value for case in cases)
    return found["passed"], found["failed"], found["error"], found["skipped"]


@pytest.mark.parametrize("name", RECORDED)
def test_a_recorded_report_is_read(tmp_path: Path, name: str) -> None:
    one = RECORDED[name]
    report = parsed(tmp_path, name, one)
    assert outcomes(report.cases) == one.counts
    failed = next(case for case in report.cases if case.outcome.value == "failed")
    assert (failed.name, failed.place, failed.line) == (one.name, one.place, one.line)
    assert one.says in failed.text


@pytest.mark.parametrize("name", RECORDED)
def test_half_a_report_is_no_whole_one_and_raises_nothing(tmp_path: Path, name: str) -> None:
    one = RECORDED[name]
    for part in (0.0, 0.2, 0.5, 0.9):
        first, second, third = (text[: int(len(text) * part)] for text in (one.report, one.stdout, one.stderr))
        report = parsed(tmp_path, name, Recorded(first, second, third, one.file))
        assert not report.is_whole or part == 0.9
        (tmp_path / one.file).unlink(missing_ok=True)


def test_a_report_with_entities_is_not_expanded(tmp_path: Path) -> None:
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaa">]><testsuite><testcase name="&a;"/></testsuite>'
    assert parsed(tmp_path, "phpunit", Recorded(bomb)) == Report(is_whole=False)
    assert parsed(tmp_path, "dotnet test", Recorded(bomb)) == Report(is_whole=False)


def test_a_report_of_an_earlier_run_is_left_out(tmp_path: Path) -> None:
    place = tmp_path / "target/surefire-reports/TEST-a.xml"
    place.parent.mkdir(parents=True)
    place.write_text(JUNIT, encoding="utf-8")
    later = place.stat().st_mtime_ns + 1
    report = RUNNER_BY_NAME["mvn test"].parse(Finished("", "", tmp_path / "report", tmp_path, later))
    assert report == Report(is_whole=False)


def test_a_package_of_go_that_does_not_compile_is_an_error(tmp_path: Path) -> None:
    events = [
        {"ImportPath": "shop/pkg [shop/pkg.test]", "Action": "build-output", "Output": "pkg/a.go:3:1: syntax error\n"},
        {"Package": "shop/pkg", "Action": "fail", "Elapsed": 0},
    ]
    text = "".join(json.dumps(one) + "\n" for one in events)
    report = parsed(tmp_path, "go test", Recorded(stdout=text))
    assert outcomes(report.cases) == (0, 0, 1, 0)
    assert "syntax error" in report.cases[0].text


def test_every_runner_has_a_recorded_report_and_its_name_in_the_settings() -> None:
    assert set(RECORDED) == set(RUNNER_BY_NAME) == set(RUNNER_NAMES)
    assert [find_runner(name) for name in ALIASES] == [RUNNER_BY_NAME[name] for name in ALIASES.values()]
    assert len({one.name for one in RUNNERS}) == len(RUNNERS)
