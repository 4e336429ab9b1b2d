"""`go test`, whose report is a line of JSON for each event."""

import json
import posixpath
import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Final

from codeplane.testrun.coverage import parse_go_profile
from codeplane.testrun.model import Case, Finished, Marker, Measuring, Named, Outcome, Place, Report, Runner, Source

_OUTCOMES: Final = {"pass": Outcome.PASSED, "fail": Outcome.FAILED, "skip": Outcome.SKIPPED}
_NOISE: Final = re.compile(r"^\s*(?:=== |--- (?:FAIL|PASS|SKIP)|FAIL\b|ok\b|PASS$|exit status)")
_PLACE: Final = re.compile(r"^\s*([\w./ -]+_test\.go):(\d+):", re.MULTILINE)


def parse_go(finished: Finished) -> Report:
    """Read the events; a package that does not compile is one error."""
    output: dict[tuple[str, str], list[str]] = defaultdict(list)
    ended: dict[tuple[str, str], tuple[Outcome, float]] = {}
    for event in _events(finished.stdout):
        key = (_package(event), str(event.get("Test") or ""))
        action = event.get("Action")
        if action in {"output", "build-output"}:
            output[key].append(str(event.get("Output") or ""))
        elif action in _OUTCOMES:
            ended[key] = (_OUTCOMES[action], float(event.get("Elapsed") or 0.0))
    module = _module(finished)
    tests = [key for key in ended if key[1] and not _has_failed_part(key, ended)]
    cases = [_case(key, *ended[key], "".join(output[key]), module) for key in tests]
    for key, (outcome, seconds) in ended.items():
        if (
            not key[1]
            and outcome is Outcome.FAILED
            and not any(one[0] == key[0] for one in tests if ended[one][0].is_bad)
        ):
            text = "".join(output[key]) or finished.stderr
            cases.append(_case(key, Outcome.ERROR, seconds, text, module))
    packages = {key[0] for key in (*ended, *output)}
    return Report(tuple(cases), bool(ended) and all((one, "") in ended for one in packages))


def _events(text: str) -> list[dict[str, Any]]:
    found = []
    for line in text.splitlines():
        if line.startswith("{"):
            try:
                event = json.loads(line)
            except (ValueError, RecursionError):
                continue
            found.append(event)
    return found


def _package(event: dict[str, Any]) -> str:
    # What the compiler says carries the name of the package that is built, with the tested one behind it.
    return str(event.get("Package") or event.get("ImportPath") or "").partition(" ")[0].removesuffix(".test")


def _has_failed_part(key: tuple[str, str], ended: dict[tuple[str, str], tuple[Outcome, float]]) -> bool:
    """Tell whether a test only fails because a part of it does."""
    inner = f"{key[1]}/"
    return ended[key][0].is_bad and any(
        one[0] == key[0] and one[1].startswith(inner) and ended[one][0].is_bad for one in ended
    )


def _case(key: tuple[str, str], outcome: Outcome, seconds: float, output: str, module: str) -> Case:
    package, test = key
    directory = package.removeprefix(module).lstrip("/") if package.startswith(module) else package
    lines = [line for line in output.splitlines() if not _NOISE.match(line)]
    text = "\n".join(lines).strip("\n") if outcome.is_bad else ""
    found = _PLACE.search(text)
    name = posixpath.basename(found[1]) if found else ""
    place = posixpath.join(directory, name) if found else directory or "."
    kind = "panic" if "panic:" in text else ""
    line = int(found[2]) if found else None
    return Case(test, outcome, place, line, text, kind, seconds, owner=f"./{directory}" if directory else ".")


def _module(finished: Finished) -> str:
    try:
        text = (finished.directory / "go.mod").read_text("utf-8", "replace")
    except OSError:
        return ""
    found = re.search(r"(?m)^module\s+\"?([^\s\"]+)", text)
    return found[1] if found else ""


def _identify(source: Source) -> Named | None:
    inside, directory = posixpath.dirname(source.inside), posixpath.dirname(source.path) or "."
    return Named(directory, directory, f"./{inside}" if inside else ".")


def _choose(argument: str, names: Sequence[str]) -> tuple[str, ...]:
    parts = [f"^{re.escape(name)}$" for name in names]
    return (f"-run={'|'.join(parts)}", argument)


GO = Runner(
    name="go test",
    languages=("go",),
    files=r"_test\.go$",
    places=(Place(("go", "test"), on_path="go"),),
    command=("{program}", "-json", "-timeout={timeout}s", "{targets}"),
    parse=parse_go,
    markers=(Marker("go.mod"),),
    identify=_identify,
    choose=_choose,
    stop_early=("-failfast",),
    is_alone=True,
    startup_seconds=300.0,
    measuring=Measuring(
        parse_go_profile, ("-coverprofile={coverage}/go.out", "-coverpkg={scope}"), begins="./", whole="./..."
    ),
)
