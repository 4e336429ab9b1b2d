"""Django's own runner, which tells its results as text."""

import re
from typing import Final

from codeplane.testrun.environment import python_places
from codeplane.testrun.model import Case, Finished, Marker, Named, Outcome, Report, Runner, Source

_LINE: Final = re.compile(
    r"^(?P<test>\w+) \((?P<path>[\w.]+)\)(?:\n[^\n]*?)?? \.\.\. (?:.*?)?"
    r"(?P<outcome>ok|FAIL|ERROR|skipped|expected failure|unexpected success)\b",
    re.MULTILINE,
)
_SECTION: Final = re.compile(
    r"^={70}\n(?:FAIL|ERROR): (?P<test>\w+) \((?P<path>[\w.]+)\)[^\n]*\n(?:[^\n]+\n)*?-{70}\n"
    r"(?P<text>.*?)(?=^={70}$|^-{70}$)",
    re.MULTILINE | re.DOTALL,
)
_OUTCOMES: Final = {"FAIL": Outcome.FAILED, "ERROR": Outcome.ERROR, "unexpected success": Outcome.FAILED,
                    "skipped": Outcome.SKIPPED, "expected failure": Outcome.SKIPPED}  # fmt: skip
_FRAME: Final = re.compile(r'File "([^"]+)", line (\d+)')
_TYPE: Final = re.compile(r"^([A-Za-z_][\w.]*)(?::|$)", re.MULTILINE)


def parse_verbose_unittest(finished: Finished) -> Report:
    """Read what unittest prints with `--verbosity 2`."""
    text = finished.stderr.replace("\r\n", "\n")
    details = {(one["test"], one["path"]): one["text"].strip() for one in _SECTION.finditer(text + "\n" + "-" * 70)}
    cases, told = [], set()
    for one in _LINE.finditer(text):
        key = (one["test"], one["path"])
        told.add(key)
        cases.append(_case(key, _OUTCOMES.get(one["outcome"], Outcome.PASSED), details.get(key, "")))
    # What failed before its line was written: modules that cannot be imported.
    cases += [_case(key, Outcome.ERROR, details[key]) for key in details if key not in told]
    return Report(tuple(cases), bool(re.search(r"^Ran \d+ tests?", text, re.MULTILINE)))


def _case(key: tuple[str, str], outcome: Outcome, text: str) -> Case:
    test, path = key
    # Since Python 3.11 the name of the test is repeated in the parentheses.
    owner = path.removesuffix(f".{test}")
    module = owner.rpartition(".")[0] if outcome is not Outcome.ERROR or "_FailedTest" not in owner else test
    kinds = _TYPE.findall(text)
    frames = [one for one in _FRAME.findall(text) if one[0].endswith(f"{module.replace('.', '/')}.py")]
    place = frames[-1][0] if frames else f"{module.replace('.', '/')}.py"
    line = int(frames[-1][1]) if frames else None
    return Case(f"{owner.rpartition('.')[2]}::{test}", outcome, place, line, text, kinds[-1] if kinds else "")


def _identify(source: Source) -> Named | None:
    return Named(source.path, source.path, source.inside.removesuffix(".py").replace("/", "."))


DJANGO = Runner(
    name="django",
    languages=("python",),
    files=r"(?:^|/)(?:test[^/]*)\.py$",
    places=python_places(""),
    command=("{program}", "manage.py", "test", "--verbosity=2", "--no-input", "{targets}"),
    parse=parse_verbose_unittest,
    markers=(Marker("manage.py", r"django", is_high=False),),
    identify=_identify,
    stop_early=("--failfast",),
    is_alone=True,
)
