"""Tools are found by their markers, run on their own terms, and whatever they do is told."""

import os
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from codeplane.lint.catalog import TOOLS
from codeplane.lint.discovery import Project, assigned_files, check_jobs, find_tools, fix_jobs
from codeplane.lint.model import Finding, Ran
from codeplane.lint.running import changed_lines, findings_of, format_finding, in_order, plain, run_check, run_fix
from codeplane.lint.settings import CustomLinter, LintSettings
from support.repositories import write

Files = dict[str, str | bytes]


def make_project(root: Path, files: Files, settings: LintSettings | None = None, path: str = "") -> Project:
    """Write files and return the tree as a project; programs are only those of the tree unless a path is given."""
    write(root, files)
    names = [one.relative_to(root).as_posix() for one in root.rglob("*") if one.is_file()]
    known = sorted(name for name in names if "/bin/" not in f"/{name}" and ".bin/" not in name)

    def read(name: str) -> str | None:
        place = root / name
        return place.read_text("utf-8") if place.is_file() else None

    return Project(root, known, read, settings or LintSettings(), str(root.parent / "cache"), path)


def program(root: Path, place: str, script: str) -> None:
    """Write a program of the project's environment."""
    write(root, {place: f"#!/bin/sh\n{script}\n"})
    (root / place).chmod(0o755)


def check(project: Project, paths: list[str], new: dict[str, frozenset[int] | None] | None = None) -> list[Finding]:
    """Run every configured tool on some files; problems are raised."""
    found: list[Finding] = []
    for configured, inside in assigned_files(find_tools(project), paths):
        for job in check_jobs(project, configured, inside):
            text = (project.root / job.paths[0]).read_bytes() if job.stdin_path else None
            ran = run_check(project, job, text, lambda: False)
            assert not ran.problem, (configured.tool.name, ran.problem)
            formatted = format_finding(ran, text or b"", new or {})
            found += [formatted] if formatted else findings_of(project, ran, frozenset(paths), new or {})[0]
    return in_order(found)


def run_one(project: Project, paths: list[str]) -> Ran:
    (configured, inside), *_ = assigned_files(find_tools(project), paths)
    (job,) = check_jobs(project, configured, inside)
    return run_check(project, job, None, lambda: False)


def test_every_tool_of_the_catalog_is_found_by_each_of_its_markers(tmp_path: Path) -> None:
    marked = [(tool, marker) for tool in TOOLS for marker in tool.markers]
    for number, (tool, marker) in enumerate(marked):
        name, _, section = marker.partition("#")
        content = f'{{"{section}": {{}}}}' if name.endswith(".json") and section else f"[{section}]\n"
        root = tmp_path / str(number)
        project = make_project(root, {f"sub/{name.replace('*', 'js')}": content})
        found = [one for one in find_tools(project) if one.tool is tool]
        assert [one.folder for one in found] == ["sub"], (tool.name, marker)


def test_a_settings_file_without_the_section_configures_nothing(tmp_path: Path) -> None:
    files: Files = {
        "pyproject.toml": "[tool.ruffle]\n# [tool.mypy\n[project]\nname = '[tool.black]'\n",
        "package.json": '{"name": "eslintConfig"}',
        "sub/package.json": "[" * 100_000,
        "setup.cfg": "[metadata]\nflake8 = 1\n",
    }
    assert find_tools(make_project(tmp_path, files)) == []


def test_the_nearest_configuration_and_environment_count(tmp_path: Path) -> None:
    root = tmp_path / "r"
    for place in (".venv/bin/ruff", "web/node_modules/.bin/eslint", "node_modules/.bin/eslint", "bin/mypy"):
        program(root, place, "true")
    files: Files = {"ruff.toml": "", "mypy.ini": "", "web/eslint.config.js": "", "web/app/ruff.toml": "", ".flake8": ""}
    project = make_project(root, files, path=str(root / "bin"))
    found = {(one.tool.name, one.folder): (one.shown, one.looked_in) for one in find_tools(project)}
    assert found == {
        ("ruff", ""): (".venv/bin/ruff", ()),
        ("ruff", "web/app"): ("../../.venv/bin/ruff", ()),
        ("mypy", ""): ("mypy", ()),
        ("eslint", "web"): ("node_modules/.bin/eslint", ()),
        ("flake8", ""): ("flake8", (".venv/bin/flake8", "node_modules/.bin/flake8", "PATH")),
    }
    paths = ["a.py", "web/app/b.py", "web/x.ts", "web/app/y.js", "z.js", "README"]
    assigned = {(one.tool.name, one.folder): inside for one, inside in assigned_files(find_tools(project), paths)}
    assert assigned["ruff", ""] == ("a.py",)
    assert assigned["ruff", "web/app"] == ("web/app/b.py",)
    assert assigned["eslint", "web"] == ("web/x.ts", "web/app/y.js")


def test_a_name_that_looks_like_an_option_stays_a_name(tmp_path: Path) -> None:
    project = make_project(tmp_path, {"ruff.toml": "", "sub/go.mod": ""})
    (ruff, _), (vet, _), (gofmt, _) = assigned_files(find_tools(project), ["--fix.py", "sub/pkg/a.go"])
    assert check_jobs(project, ruff, ["--fix.py"])[0].argv[-1] == "./--fix.py"
    assert fix_jobs(project, ruff, ["{path}.py"])[0].argv[-2:] == ("{path}.py", "-")
    assert check_jobs(project, vet, ["sub/pkg/a.go", "sub/b.go"])[0].argv[1:] == ("vet", "-json", "./.", "./pkg")
    assert gofmt.tool.name == "gofmt"


def test_many_files_are_divided_among_processes(tmp_path: Path) -> None:
    project = make_project(tmp_path, {"ruff.toml": "", "tsconfig.json": ""})
    by_name = {one.tool.name: one for one in find_tools(project)}
    assert len(check_jobs(project, by_name["ruff"], [f"{n}.py" for n in range(450)])) == 3
    assert len(check_jobs(project, by_name["tsc"], [f"{n}.ts" for n in range(450)])) == 1


RUFF = '[{"code": "F401", "filename": "a.py", "location": {"row": 1, "column": 2}, "message": "m", "fix": null}]'
ENDINGS: list[tuple[str, str, int, str]] = [
    (f"echo '{RUFF}'; exit 0", "findings with exit code 0 count", 1, ""),
    (f"echo '{RUFF}'; exit 1", "findings with exit code 1 count", 1, ""),
    (f"echo '{RUFF}'; echo broken >&2; exit 2", "findings of a broken run count, and it is told", 1, "code 2.*broken"),
    ("echo '[]'; exit 0", "nothing found", 0, ""),
    ("echo '[]'; echo no such rule >&2; exit 2", "exit code 2 without findings is a failure", 0, "2.*no such rule"),
    ("echo '[]'; exit 1", "exit code 1 without findings is a failure", 0, "exit code 1"),
    ("echo Traceback; echo boom; exit 0", "output that cannot be read is a failure", 0, "code 0: Traceback . boom"),
    ("echo '[{'; kill -9 $$", "a killed tool is told", 0, "ended by signal 9"),
    ("sleep 60", "a tool that hangs is ended", 0, "did not end within 1 s"),
    ("head -c 40000000 /dev/zero", "a flood is told", 0, "more than 16 MB"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("script", "n_found", "problem"), [(s, n, p) for s, _, n, p in ENDINGS], ids=[e[1] for e in ENDINGS]
)
def test_what_was_printed_decides(tmp_path: Path, script: str, n_found: int, problem: str) -> None:
    project = make_project(tmp_path / "r", {"ruff.toml": "", "a.py": ""}, LintSettings(timeout_sec=1))
    program(project.root, ".venv/bin/ruff", script)
    ran = run_one(project, ["a.py"])
    assert len(ran.reported) == n_found
    assert re.search(problem, ran.problem) if problem else not ran.problem, ran.problem


def test_a_program_that_cannot_be_started_is_told(tmp_path: Path) -> None:
    project = make_project(tmp_path / "r", {"ruff.toml": "", "a.py": ""})
    write(project.root, {".venv/bin/ruff": "#!/no/such/interpreter\n"})
    (project.root / ".venv/bin/ruff").chmod(0o755)
    assert "not found" in run_one(project, ["a.py"]).problem


def test_messages_are_one_short_line_without_control_characters_and_secrets() -> None:
    told = plain("a\nb\x1b[31m\u2028 password = 'hunter2hunter2' \udcff" + "x" * 5_000)
    assert "\n" not in told
    assert "\x1b" not in told
    assert "\u2028" not in told
    assert "hunter2hunter2" not in told
    assert len(told) == 300
    told.encode("utf-8")


def test_findings_outside_of_the_files_asked_for_are_only_counted(tmp_path: Path) -> None:
    names = ["a.py", "b.py", "../x.py", "/etc/passwd", str(tmp_path / "r" / "a.py"), "sub/../a.py", "a.py\u0000"]
    rows = ",".join(RUFF[1:-1].replace("a.py", name.replace("\0", "\\u0000")) for name in names)
    project = make_project(tmp_path / "r", {"ruff.toml": "", "a.py": ""})
    program(project.root, ".venv/bin/ruff", f"echo '[{rows}]'".replace("\\u", "\\\\u"))
    found, n_other = findings_of(project, run_one(project, ["a.py"]), frozenset({"a.py"}), {"a.py": frozenset({1})})
    assert [one.is_new for one in found] == [True, True, True]
    assert n_other == 4


def test_a_line_is_new_if_the_old_text_does_not_have_it() -> None:
    assert changed_lines(b"a\nb\nc\n", b"a\nB\nc\nd\n") == {2, 4}
    assert changed_lines(b"a\nb\nc\n", b"a\nc\n") == frozenset()
    assert changed_lines(None, b"a\nb") == {1, 2}


def test_a_formatters_finding_is_new_if_it_touches_a_new_line(tmp_path: Path) -> None:
    project = make_project(tmp_path / "r", {"go.mod": "", "a.go": "one\ntwo\nthree\n"})
    program(project.root, ".venv/bin/gofmt", "sed 's/t/T/'")
    program(project.root, ".venv/bin/go", "echo {}")
    for new, line, is_new in (({2}, 2, True), ({3}, 3, True), ({1}, 2, False), (set(), 2, False)):
        (found,) = check(project, ["a.go"], {"a.go": frozenset(new)})
        assert (found.line, found.is_new, found.fixable, found.tool) == (line, is_new, True, "gofmt")
        assert found.message == "not formatted: 2 lines would change"


@pytest.mark.parametrize("script", ["true", "cat; exit 3", "echo"])
def test_a_formatter_that_breaks_changes_nothing(tmp_path: Path, script: str) -> None:
    project = make_project(tmp_path / "r", {"go.mod": "", "a.go": "one\n"})
    program(project.root, ".venv/bin/gofmt", script)
    gofmt = next(one for one in find_tools(project) if one.tool.name == "gofmt")
    ran = run_fix(project, fix_jobs(project, gofmt, ["a.go"])[0], b"one\n", lambda: False)
    assert ran.text is None
    assert ran.problem


def test_a_command_of_the_teams_own_is_run(tmp_path: Path) -> None:
    own = CustomLinter("words", ("sh", "-c", 'echo "$1:2:3: warning: rude word [W1]"', "sh", "{paths}"), ("*.txt",))
    project = make_project(tmp_path / "r", {"a.txt": "x\n"}, LintSettings(custom=(own,)), os.environ["PATH"])
    (found,) = check(project, ["a.txt"])
    assert (found.path, found.line, found.rule, found.severity, found.tool) == ("a.txt", 2, "W1", "warning", "words")
    assert find_tools(make_project(tmp_path / "r", {}, LintSettings(custom=(own,), exclude=("words",)))) == []


class Real(NamedTuple):
    """Files that a real tool is run on, the tools of the catalog that run, and their findings: tool, line, rule."""

    program: str
    files: Files
    path: str
    found: list[tuple[str, int, str]]


GO_MOD = "module ex\n\ngo 1.20\n"
REAL = (
    Real("ruff", {"ruff.toml": "[lint]\nselect = ['F']\n[format]\n", "a.py": "import os\nx  = 1\n"}, "a.py",
         [("ruff", 1, "F401"), ("ruff format", 2, "format")]),
    Real("mypy", {"mypy.ini": "[mypy]\n", "a.py": "\nx: int = 'a'\n"}, "a.py", [("mypy", 2, "assignment")]),
    Real("gofmt", {"go.mod": GO_MOD, "a.go": "package ex\n\nfunc F() {\n  return\n}\n"}, "a.go",
         [("gofmt", 4, "format")]),
    Real("tsc", {"tsconfig.json": "{}", "a.ts": "\nconst x: number = 'a';\n"}, "a.ts", [("tsc", 2, "TS2322")]),
    Real("eslint", {"eslint.config.mjs": "export default [{rules: {'no-var': 2}}];\n", "a.js": "\nvar x = 1;\n"},
         "a.js",
         [("eslint", 2, "no-var")]),
)  # fmt: skip
SEARCH = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
PRESENT = [one for one in REAL if shutil.which(one.program, path=SEARCH)]


@pytest.mark.parametrize("real", PRESENT, ids=lambda real: real.program)
def test_a_real_tool_is_understood_and_leaves_the_tree_alone(tmp_path: Path, real: Real) -> None:
    others = tuple(tool.name for tool in TOOLS if tool.name not in {name for name, _, _ in real.found})
    project = make_project(tmp_path / "r", real.files, LintSettings(exclude=others), SEARCH)
    found = check(project, [real.path])
    assert [(one.tool, one.line, one.rule) for one in found] == real.found
    assert {one.path for one in found} == {real.path}
    there = {one.relative_to(project.root).as_posix() for one in project.root.rglob("*") if one.is_file()}
    assert there == set(real.files)


def test_real_tools_that_are_not_here_are_named(record_property: Callable[[str, object], None]) -> None:
    present = {one.program for one in PRESENT}
    record_property("left out", sorted({one.program for one in REAL} - present))
    assert {"ruff", "mypy"} <= present


def test_a_command_of_the_teams_own_needs_a_program() -> None:
    with pytest.raises(ValueError, match="empty"):
        CustomLinter("words", ())
