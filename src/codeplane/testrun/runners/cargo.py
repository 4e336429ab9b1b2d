"""`cargo test`, read from the text that Rust's test harness prints."""

import posixpath
import re
from typing import Final

from codeplane.testrun.model import Case, Finished, Marker, Named, Outcome, Place, Report, Runner, Source

_OUTCOMES: Final = {"ok": Outcome.PASSED, "FAILED": Outcome.FAILED, "ignored": Outcome.SKIPPED}
_RUNNING: Final = re.compile(r"^\s+Running (?:unittests )?(\S+) \(", re.MULTILINE)
_BLOCK: Final = re.compile(r"^running \d+ tests?$", re.MULTILINE)
_LINE: Final = re.compile(r"^test (\S+)(?: - should panic)? \.\.\. (ok|FAILED|ignored)", re.MULTILINE)
_DETAIL: Final = re.compile(
    r"^---- (\S+) std(?:out|err) ----\n(.*?)(?=^---- |^failures:$|\Z)", re.MULTILINE | re.DOTALL
)
_PANIC: Final = re.compile(r"panicked at (?:'.*?', )?([^\s:]+):(\d+):\d+")
_COMPILE: Final = re.compile(r"^error(?:\[\w+\])?: .*?(?=^\n|\Z)", re.MULTILINE | re.DOTALL)
_TESTS: Final = re.compile(r"#\[(?:\w+::)*test\b|#\[rstest\b")


def parse_cargo(finished: Finished) -> Report:
    """Read the blocks of all test programs; their order is that of the programs that cargo names."""
    programs = _RUNNING.findall(finished.stderr)
    blocks = _BLOCK.split(finished.stdout)[1:]
    cases: list[Case] = []
    for number, block in enumerate(blocks):
        program = programs[number] if number < len(programs) else ""
        details = dict(_DETAIL.findall(block))
        cases += [_case(name, outcome, details.get(name, ""), program) for name, outcome in _LINE.findall(block)]
    if not blocks and "error" in finished.stderr:
        found = _COMPILE.search(finished.stderr)
        where = re.search(r"--> ([^\s:]+):(\d+)", finished.stderr)
        place, line = (where[1], int(where[2])) if where else ("", None)
        return Report((Case("compilation", Outcome.ERROR, place, line, found[0].strip() if found else ""),))
    is_whole = len(blocks) >= len(programs) and finished.stdout.count("test result:") >= len(blocks) > 0
    return Report(tuple(cases), is_whole)


def _case(name: str, outcome: str, detail: str, program: str) -> Case:
    found = _PANIC.search(detail)
    place, line = (found[1], int(found[2])) if found else (program, None)
    lines = [one for one in detail.splitlines() if not one.startswith("note: run with")]
    is_unit = program.startswith("src/") or "/src/" in program
    owner = "--lib" if program.endswith("lib.rs") else "--bins" if is_unit else f"--test={_stem(program)}"
    kind = "panic" if found else ""
    return Case(name, _OUTCOMES[outcome], place, line, "\n".join(lines).strip(), kind, owner=owner)


def _stem(path: str) -> str:
    directory, base = posixpath.split(path)
    return posixpath.basename(directory) if base == "main.rs" else base.removesuffix(".rs")


def _identify(source: Source) -> Named | None:
    parts = source.inside.split("/")
    if parts[0] == "tests":
        is_program = len(parts) == 2 or (len(parts) == 3 and parts[2] == "main.rs")
        return Named(source.path, source.path, f"--test={_stem(source.path)}") if is_program else None
    if parts[0] != "src" or not _TESTS.search(source.text()):
        return None
    where = "src" if source.root == "." else f"{source.root}/src"
    is_program = parts[1] in {"main.rs", "bin"}
    return Named(f"{where}/main.rs" if is_program else where, where, "--bins" if is_program else "--lib")


CARGO = Runner(
    name="cargo test",
    languages=("rust",),
    files=r"\.rs$",
    places=(Place(("cargo", "test"), on_path="cargo"),),
    command=("{program}", "--no-fail-fast", "{targets}"),
    parse=parse_cargo,
    markers=(Marker("Cargo.toml", r"(?m)^\[package\]"),),
    identify=_identify,
    is_alone=True,
    startup_seconds=600.0,
)
