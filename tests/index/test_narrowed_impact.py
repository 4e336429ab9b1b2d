"""Which tests a changed definition affects, in each linked language."""

from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codeplane.index.impact import AffectedTests, Evidence
from support.doors import open_test_workspace
from support.effort import examples
from support.repositories import make_repository

Files = dict[str, str | bytes]


@dataclass(frozen=True)
class Case:
    """What a change of one definition, `path::name`, selects: test files with their confidence."""

    title: str
    files: dict[str, str]
    changed: str
    expected: dict[str, str] = field(default_factory=dict)


PYTHON = {
    "pyproject.toml": "[project]\nname = 'p'\n[project.scripts]\ntool = 'p.cli:main'\n",
    "p/__init__.py": "from .shapes import area, Square, edge\n",
    "p/shapes.py": "def area(n): return helper(n)\n\ndef helper(n): return n\n\ndef edge(n): return n\n\n"
    "class Square:\n    size = 1\n    def __init__(self): self.n = 1\n    def grow(self): return self.n\n"
    "    def shrink(self): return self.n\n",
    "p/cli.py": "from p.shapes import edge\n\ndef main(): return edge(1)\n\ndef other(): return 1\n",
    "p/typed.py": "from p.shapes import Square\n\nSHAPES = {'s': Square}\n\ndef takes(s: Square): return 1\n",
    "tests/test_typed.py": "from p.typed import takes\n\ndef test_t(): takes(None).shrink()\n",
    "tests/test_table.py": "from p.typed import SHAPES\n\ndef test_t(): SHAPES['s']().grow()\n",
    "p/plain.py": "TABLE = {}\n\ndef register(f):\n    TABLE[f.__name__] = f\n    return f\n\n"
    "@register\ndef first(): return 1\n",
    "tests/conftest.py": "import pytest\nfrom p import Square\n\n@pytest.fixture\ndef square(): return Square()\n\n"
    "@pytest.fixture\ndef big(square): return square\n",
    "tests/makers.py": "from p import area\n\ndef make(): return area(2)\n",
    "tests/test_area.py": "import p\n\ndef test_area(): assert p.area(1) == 1\n",
    "tests/test_edge.py": "from p import edge\nimport pytest\n\n"
    "@pytest.mark.parametrize('f', [edge])\ndef test_e(f): f(1)\n",
    "tests/test_maker.py": "from makers import make\n\ndef test_m(): make()\n",
    "tests/test_big.py": "def test_big(big): assert big.grow()\n",
    "tests/test_patch.py": "import p\n\ndef test_p(monkeypatch): monkeypatch.setattr('p.shapes.helper', None)\n",
    "tests/test_dynamic.py": "from p import Square\n\ndef test_d(): getattr(Square(), 'shrink')()\n",
    "tests/test_run.py": "import subprocess\n\ndef test_r(): subprocess.run(['tool'])\n",
    "tests/test_plain.py": "import p.plain\n\ndef test_t(): p.plain.TABLE['first']()\n",
}
JAVASCRIPT = {
    "package.json": '{"name": "m"}',
    "src/a.js": "export function f() { return g() }\nexport function g() { return 1 }\n"
    "export function h() { return 2 }\n"
    "export class Box {\n  constructor() { this.n = 1 }\n  open() { return this.n }\n  close() { return 2 }\n}\n",
    "src/index.js": "export * from './a.js'\n",
    "src/f.test.js": "import { f } from './index.js'\ntest('f', () => { f() })\n",
    "src/h.test.js": "import { h } from './a.js'\ntest('h', () => { h() })\n",
    "src/box.test.js": "import { Box } from './a.js'\nconst make = () => [new Box()]\n"
    "test('b', () => { make()[0].open() })\n",
}
GO = {
    "go.mod": "module m\n",
    "a/a.go": "package a\n\ntype T struct{}\n\nfunc (t *T) Run() int { return inner() }\n\nfunc (t *T) Stop() {}\n\n"
    "func inner() int { return 1 }\n\nfunc Other() int { return 2 }\n\ntype Runner interface{ Run() int }\n\n"
    "func Start(r Runner) int { return r.Run() }\n",
    "a/run_test.go": 'package a\n\nimport "testing"\n\nfunc TestRun(t *testing.T) { var x T; x.Run() }\n',
    "a/other_test.go": 'package a\n\nimport "testing"\n\nfunc TestOther(t *testing.T) { Other() }\n',
    "b/b_test.go": 'package b\n\nimport (\n\t"testing"\n\t"m/a"\n)\n\nfunc TestB(t *testing.T) { a.Start(&a.T{}) }\n',
}
RUST = {
    "Cargo.toml": '[package]\nname = "m"\nversion = "0.1.0"\n',
    "src/lib.rs": "pub fn f() -> i32 { g() }\nfn g() -> i32 { 1 }\npub fn h() -> i32 { 2 }\n",
    "tests/f_test.rs": "use m::f;\n#[test]\nfn t() { f(); }\n",
    "tests/h_test.rs": "use m::h;\n#[test]\nfn t() { h(); }\n",
}
JAVA = {
    "pom.xml": "<project/>",
    "src/main/java/m/A.java": "package m;\npublic class A {\n  public int f() { return g(); }\n"
    "  int g() { return 1; }\n"
    "  public int h() { return 2; }\n}\n",
    "src/test/java/m/FTest.java": "package m;\nclass FTest { void t() { A a = new A(); a.f(); } }\n",
    "src/test/java/m/HTest.java": "package m;\nclass HTest { void t() { A a = new A(); a.h(); } }\n",
}
TYPESCRIPT = {path.replace(".js", ".ts"): text.replace(".js'", "'") for path, text in JAVASCRIPT.items()} | {
    "package.json": '{"name": "m"}',
    "tsconfig.json": "{}",
}
CASES = (
    Case("python direct and helpers", PYTHON, "p/shapes.py::area", {"test_area": "high", "test_maker": "high"}),
    Case("python through a reference and a patched name", PYTHON, "p/shapes.py::helper",
         {"test_area": "high", "test_maker": "high", "test_patch": "low"}),
    Case("python parametrised and entry point", PYTHON, "p/shapes.py::edge", {"test_edge": "high", "test_run": "low"}),
    Case("python fixture of a fixture", PYTHON, "p/shapes.py::Square.grow", {"test_big": "low", "test_table": "low"}),
    Case("python constructor", PYTHON, "p/shapes.py::Square.__init__",
         {"test_big": "high", "test_dynamic": "high", "test_table": "high"}),
    Case("python field", PYTHON, "p/shapes.py::Square.size",
         {"test_big": "high", "test_dynamic": "high", "test_table": "high"}),
    Case("python signatures make no instances", PYTHON, "p/shapes.py::Square.shrink", {"test_dynamic": "low"}),
    Case("python program", PYTHON, "p/cli.py::main", {"test_run": "low"}),
    Case("python registered", PYTHON, "p/plain.py::first", {"test_plain": "low"}),
    *(
        case
        for words, files, end in (("javascript", JAVASCRIPT, "js"), ("typescript", TYPESCRIPT, "ts"))
        for case in (
            Case(f"{words} through references", files, f"src/a.{end}::g", {"f.test": "high"}),
            Case(f"{words} direct", files, f"src/a.{end}::h", {"h.test": "high"}),
            Case(f"{words} unknown receiver", files, f"src/a.{end}::Box.open", {"box.test": "low"}),
        )
    ),
    Case("go method", GO, "a/a.go::inner", {"run_test": "high", "b_test": "low"}),
    Case("go interface", GO, "a/a.go::T.Run", {"run_test": "high", "b_test": "low"}),
    Case("go function", GO, "a/a.go::Other", {"other_test": "high"}),
    Case("rust", RUST, "src/lib.rs::g", {"f_test": "high"}),
    Case("rust direct", RUST, "src/lib.rs::h", {"h_test": "high"}),
    Case("java", JAVA, "src/main/java/m/A.java::A.g", {"FTest": "high"}),
    Case("java direct", JAVA, "src/main/java/m/A.java::A.h", {"HTest": "high"}),
)  # fmt: skip


def select(root: Path, changed: str, evidence: Evidence | None = None) -> AffectedTests:
    """Return what the change of one definition affects."""
    path, _, name = changed.partition("::")
    with open_test_workspace(root) as workspace:
        workspace.index.refresh()
        return workspace.index.affected_tests([path], {path: [name]}, evidence or Evidence({path: [name]}))


def named(found: AffectedTests) -> dict[str, str]:
    """Return the stems of the tests with their confidence."""
    return {Path(one.path).name.rpartition(".")[0]: one.confidence for one in found.matches}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_a_changed_definition_selects_the_tests_that_reach_it(tmp_path: Path, case: Case) -> None:
    root = make_repository(tmp_path / "repo", dict(case.files))
    assert named(select(root, case.changed)) == case.expected


def test_an_earlier_run_adds_a_test_and_removes_none(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "repo", dict(PYTHON))
    path = "p/shapes.py"
    covered = {"tests/test_run.py": {path: {1}}, "tests/test_dynamic.py": {path: {5}}}
    found = named(select(root, f"{path}::area", Evidence({path: ["area"]}, covered)))
    assert found == {"test_area": "high", "test_maker": "high", "test_run": "high"}


def test_a_definition_that_is_gone_selects_all_importers(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "repo", dict(PYTHON))
    assert {"test_area", "test_edge", "test_big"} <= named(select(root, "p/shapes.py::vanished")).keys()


def test_a_computed_member_name_makes_a_narrow_answer_partial(tmp_path: Path) -> None:
    text = PYTHON["p/shapes.py"] + "\ndef pick(o, n): return getattr(o, n)\n"
    root = make_repository(tmp_path / "repo", {**PYTHON, "p/shapes.py": text, "tests/test_run.py": ""})
    found = select(root, "p/shapes.py::area")
    assert (found.confidence, found.unknown_hops) == ("partial", ("p/shapes.py reads members by computed names",))


@pytest.mark.parametrize(
    ("changed", "is_kept"),
    [
        ("p/shapes.py::edge", True),
        ("p/far.py::deep", True),
        ("p/far.py::at_import", True),
        ("p/shapes.py::area", False),
    ],
)
def test_a_computed_import_reaches_what_is_named_and_what_modules_run(
    tmp_path: Path, changed: str, *, is_kept: bool
) -> None:
    files = {
        **PYTHON,
        "p/far.py": "def outer(): return deep()\n\ndef deep(): return 1\n\ndef at_import(): return 1\n\nat_import()\n",
        "p/load.py": "import importlib\nimport p.shapes, p.far\n\ndef load(n): return importlib.import_module(n)\n",
        "tests/test_load.py": "from p.load import load\n\ndef test_l():\n"
        "    load('p.' + 'shapes').edge(1)\n    load('p.' + 'far').outer()\n",
        "tests/test_far.py": "from p.far import deep, at_import\n\ndef test_f(): deep()\n",
    }
    found = select(make_repository(tmp_path / "repo", dict(files)), changed)
    assert found.confidence == "partial"
    assert ("test_load" in named(found)) == is_kept


def test_a_data_file_affects_the_tests_that_name_it_and_those_beside_it(tmp_path: Path) -> None:
    files: Files = {
        "tests/data/table.json": "{}",
        "tests/test_names.py": "def test_n(): open('data/table.json')\n",
        "tests/test_beside.py": "def test_b(): pass\n",
        "apart/test_apart.py": "def test_a(): pass\n",
    }
    with open_test_workspace(make_repository(tmp_path / "repo", files)) as workspace:
        workspace.index.refresh()
        found = workspace.index.affected_tests(["tests/data/table.json"])
    assert (found.confidence, named(found)) == ("partial", {"test_names": "high", "test_beside": "low"})


@given(st.data())
@examples(12)
def test_a_test_that_refers_to_a_definition_is_always_selected(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """A chain of functions of any shape: whoever reaches the changed one is selected, and high if by references."""
    n_functions = data.draw(st.integers(2, 7))
    calls = [data.draw(st.sets(st.integers(0, n_functions - 1), max_size=2)) for _ in range(n_functions)]
    files: Files = {"p/__init__.py": ""}
    for number, called in enumerate(calls):
        lines = [f"from p.m{one} import f{one}" for one in sorted(called) if one != number]
        imports = "".join(f"    {line}\n" for line in lines)
        body = "".join(f"    f{one}()\n" for one in sorted(called))
        files[f"p/m{number}.py"] = f"def f{number}():\n{imports}{body}    return {number}\n"
        files[f"tests/test_{number}.py"] = f"from p.m{number} import f{number}\ndef test_it(): f{number}()\n"
    changed = data.draw(st.integers(0, n_functions - 1))
    root = make_repository(tmp_path_factory.mktemp("repo") / "r", files)
    reaching = {changed}
    while more := {number for number, called in enumerate(calls) if called & reaching and number not in reaching}:
        reaching |= more
    assert named(select(root, f"p/m{changed}.py::f{changed}")) == {f"test_{number}": "high" for number in reaching}
