"""Which runner takes which file: settings, then markers, then languages; and where its program is."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from codeplane.core.errors import CodePlaneError
from codeplane.languages.catalog import language_of
from codeplane.testrun.commands import batches_of, shown_commands
from codeplane.testrun.costs import CostBook, packed
from codeplane.testrun.discovery import Discovered, Discovery, RunnerUse, chosen_targets
from codeplane.testrun.environment import Program, find_program, not_found
from codeplane.testrun.model import Target
from codeplane.testrun.runners.catalog import RUNNER_BY_NAME
from codeplane.testrun.settings import CustomRunner, RunnerByLanguage, SuiteSettings

NODE_TEST = "import test from 'node:test'\n"


def found_in(files: Mapping[str, str], settings: SuiteSettings | None = None, root: Path = Path("/none")) -> Discovered:
    listed = [(path, language_of(path)) for path in files]
    return Discovery(root, settings or SuiteSettings(), lambda path: files[path], listed).find()


def told(found: Discovered) -> dict[str, str]:
    return {one.target_id: f"{one.runner} in {one.root}" for one in found.targets}


@pytest.mark.parametrize(
    ("marker", "text", "test", "target", "runner"),
    [
        ("pytest.ini", "", "t/test_a.py", "t/test_a.py", "pytest"),
        ("pyproject.toml", "[tool.pytest.ini_options]\n", "t/a_test.py", "t/a_test.py", "pytest"),
        ("setup.cfg", "[tool:pytest]\n", "test_a.py", "test_a.py", "pytest"),
        ("tox.ini", "[pytest]\n", "test_a.py", "test_a.py", "pytest"),
        ("manage.py", "import django\n", "shop/tests.py", "shop/tests.py", "django"),
        ("jest.config.js", "", "a.test.js", "a.test.js", "jest"),
        ("jest.config.ts", "", "src/__tests__/a.ts", "src/__tests__/a.ts", "jest"),
        ("jest.config.json", "{}", "a.spec.tsx", "a.spec.tsx", "jest"),
        ("package.json", '{"jest": {}}', "a.test.js", "a.test.js", "jest"),
        ("vitest.config.js", "", "a.test.js", "a.test.js", "vitest"),
        ("vitest.config.ts", "", "a.test.ts", "a.test.ts", "vitest"),
        ("package.json", '{"scripts": {"test": "node --test"}}', "test/a.js", "test/a.js", "node:test"),
        (".mocharc.json", "{}", "test/a.js", "test/a.js", "mocha"),
        ("go.mod", "module x\n", "pkg/a_test.go", "pkg", "go test"),
        ("Cargo.toml", "[package]\n", "tests/whole.rs", "tests/whole.rs", "cargo test"),
        ("S.Tests.csproj", "<PackageReference Include='xunit'/>", "a.cs", "S.Tests.csproj", "dotnet test"),
        ("pom.xml", "", "src/test/java/com/shop/FooTest.java", "com.shop.FooTest", "mvn test"),
        ("build.gradle", "", "src/test/java/com/shop/FooTest.java", "com.shop.FooTest", "gradle test"),
        ("build.gradle.kts", "", "src/test/kotlin/shop/FooTest.kt", "shop.FooTest", "gradle test"),
        ("Gemfile", "gem 'rspec'\n", "spec/a_spec.rb", "spec/a_spec.rb", "rspec"),
        ("mix.exs", "", "test/a_test.exs", "test/a_test.exs", "mix test"),
        ("phpunit.xml", "", "tests/ATest.php", "tests/ATest.php", "phpunit"),
        ("CMakeLists.txt", "enable_testing()\n", "a.c", "CMakeLists.txt", "ctest"),
    ],
)
def test_a_marker_file_names_the_runner(marker: str, text: str, test: str, target: str, runner: str) -> None:
    assert told(found_in({marker: text, test: ""})) == {target: f"{runner} in ."}
    inner = found_in({f"in/{marker}": text, f"in/{test}": ""})
    assert [one.root for one in inner.targets] == ["in"]


@pytest.mark.parametrize(
    ("test", "runner"),
    [
        ("test_a.py", "pytest"), ("a.test.js", "jest"), ("a.test.ts", "jest"), ("a_test.go", "go test"),
        ("tests/a.rs", "cargo test"), ("ATest.java", "mvn test"), ("a_spec.rb", "rspec"), ("a_test.exs", "mix test"),
        ("ATest.php", "phpunit"),
    ],
)  # fmt: skip
def test_without_a_marker_the_language_decides(test: str, runner: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert [one.runner for one in found_in({test: ""}).targets] == [runner]


def test_python_without_pytest_uses_unittest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "python3").touch(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert told(found_in({"test_a.py": ""})) == {"test_a.py": "unittest in ."}


def test_settings_come_before_markers() -> None:
    settings = SuiteSettings(runners=RunnerByLanguage(typescript="vitest"))
    assert told(found_in({"jest.config.js": "", "a.test.ts": "", "b.test.js": ""}, settings)) == {
        "a.test.ts": "vitest in .",
        "b.test.js": "jest in .",
    }


def test_several_runners_each_take_their_own_files() -> None:
    files = {
        "jest.config.js": "",
        "src/a.test.ts": "",
        "playwright.config.ts": "",
        "e2e/login.spec.ts": "import { test } from '@playwright/test'\n",
        "back/pytest.ini": "",
        "back/test_api.py": "",
        "tools/a.test.mjs": NODE_TEST,
    }
    assert told(found_in(files)) == {
        "src/a.test.ts": "jest in .",
        "e2e/login.spec.ts": "playwright in .",
        "back/test_api.py": "pytest in back",
        "tools/a.test.mjs": "node:test in .",
    }


def test_custom_commands_and_excluded_files() -> None:
    custom = CustomRunner("e2e/**/*.spec.ts", "playwright", ("npx", "playwright", "test", "{path}"), 120)
    settings = SuiteSettings(custom=(custom,), exclude=("**/fixtures/**",))
    found = found_in({"e2e/a b.spec.ts": "", "t/fixtures/test_a.py": "", "node_modules/x/a.test.js": ""}, settings)
    assert told(found) == {"e2e/a b.spec.ts": "playwright in ."}
    assert found.uses[0].found_by == "tests.custom e2e/**/*.spec.ts"
    (command,) = shown_commands(batches_of(found.targets, found, 2), Path("/none"))
    assert command == ("npx", "playwright", "test", "e2e/a b.spec.ts", "--reporter=json")
    assert found.targets[0].timeout_sec == 120


def test_a_project_may_name_its_test_files() -> None:
    files = {
        "pytest.ini": "[pytest]\npython_files = tests.py check_*.py\n",
        "shop/tests.py": "",
        "check_a.py": "",
        "test_b.py": "",
    }
    assert set(told(found_in(files))) == {"shop/tests.py", "check_a.py"}


def test_tests_inside_of_rust_sources_are_one_target() -> None:
    files = {"Cargo.toml": "[package]\n", "src/lib.rs": "#[test]\nfn a() {}\n", "src/b.rs": "#[test]\n", "src/c.rs": ""}
    assert told(found_in(files)) == {"src": "cargo test in ."}


@pytest.mark.parametrize(
    ("wanted", "ids", "names"),
    [
        (["."], ["a/test_x.py", "a/test_y.py", "b/test_z.py"], ()),
        (["a"], ["a/test_x.py", "a/test_y.py"], ()),
        (["a/"], ["a/test_x.py", "a/test_y.py"], ()),
        (["*_z.py"], ["b/test_z.py"], ()),
        (["a/test_x.py::test_1", "a/test_x.py::T::test_2"], ["a/test_x.py"], ("test_1", "T::test_2")),
        (["a/test_x.py::test_1", "a/test_x.py"], ["a/test_x.py"], ()),
    ],
)
def test_targets_are_chosen_by_name(wanted: list[str], ids: list[str], names: tuple[str, ...]) -> None:
    found = found_in({"pytest.ini": "", "a/test_x.py": "", "a/test_y.py": "", "b/test_z.py": ""})
    chosen, unknown = chosen_targets(found, wanted)
    assert ([one.target_id for one in chosen], unknown) == (ids, ())
    assert chosen[0].names == names


@pytest.mark.parametrize(
    ("wanted", "ids"),
    [(".", {".", "a", "a/b", "c"}), ("a", {"a", "a/b"}), ("./a", {"a", "a/b"}), (".::TestX", {"."}), ("c", {"c"})],
)
def test_a_directory_that_is_a_target_means_also_what_is_below_it(wanted: str, ids: set[str]) -> None:
    files = {"go.mod": "module m\n", "x_test.go": "", "a/x_test.go": "", "a/b/x_test.go": "", "c/x_test.go": ""}
    chosen, unknown = chosen_targets(found_in(files), [wanted])
    assert ({one.target_id for one in chosen}, unknown) == (ids, ())


@pytest.mark.parametrize(
    ("files", "runner", "words"),
    [
        ((".venv/bin/python", ".venv/bin/pytest"), "pytest", ("{root}/.venv/bin/python", "-m", "pytest")),
        (
            ("venv/bin/python", ".venv/bin/python", "venv/bin/pytest"),
            "pytest",
            ("{root}/venv/bin/python", "-m", "pytest"),
        ),
        (("uv.lock", "path/uv"), "pytest", ("uv", "run", "--no-sync", "python", "-m", "pytest")),
        (("poetry.lock", "path/poetry"), "pytest", ("poetry", "run", "python", "-m", "pytest")),
        (("pdm.lock", "path/pdm"), "unittest", ("pdm", "run", "python")),
        (("hatch.toml", "path/hatch"), "pytest", ("hatch", "run", "python", "-m", "pytest")),
        (("path/pytest",), "pytest", ("pytest",)),
        (("node_modules/.bin/jest", "path/jest"), "jest", ("{root}/node_modules/.bin/jest",)),
        (("gradlew", "path/gradle"), "gradle test", ("{root}/gradlew",)),
        (("mvnw",), "mvn test", ("{root}/mvnw",)),
        (("Gemfile.lock", "path/bundle"), "rspec", ("bundle", "exec", "rspec")),
        (("vendor/bin/phpunit",), "phpunit", ("{root}/vendor/bin/phpunit",)),
    ],
)
def test_the_programs_of_the_project_come_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: tuple[str, ...], runner: str, words: tuple[str, ...]
) -> None:
    for name in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    found = find_program(tmp_path, "deep/inside", RUNNER_BY_NAME[runner])
    assert found.words == tuple(word.replace("{root}", str(tmp_path)) for word in words)


def test_a_program_that_is_missing_is_told_with_every_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    program = find_program(tmp_path, ".", RUNNER_BY_NAME["mvn test"])
    error = not_found("mvn test", program)
    assert (error.code, program.looked_for) == ("TEST_RUNNER_NOT_FOUND", ("mvnw", "mvn on PATH"))
    assert isinstance(error, CodePlaneError)


def test_ten_thousand_targets_are_packed_evenly_and_into_arguments_that_the_system_takes() -> None:
    names = [f"tests/{'deep/' * 10}test_{number}.py" for number in range(10_000)]
    targets = [Target(name, "pytest", "python", name, ".", name) for name in names]
    found = Discovered(tuple(targets), (RunnerUse("pytest", ".", "pytest.ini", Program(("pytest",))),))
    batches = batches_of(targets, found, 8)
    assert sorted(one.target_id for batch in batches for one in batch.targets) == sorted(names)
    assert max(sum(len(one.argument) + 1 for one in batch.targets) for batch in batches) <= 100_000
    assert max(map(len, shown_commands(batches, Path("/none")))) <= 51


def test_costs_are_the_median_of_the_last_runs_and_balance_the_workers(tmp_path: Path) -> None:
    book = CostBook(tmp_path / "costs.json")
    for seconds in (100.0, 4.0, 4.0, 5.0, 4.0, 3.0):
        book.record({"slow": seconds, "a": 1.0, "b": 1.0, "c": 1.0})
    targets = [Target(name, "pytest", "python", name, ".", name) for name in ("a", "b", "c", "slow")]
    priced = book.priced(targets)
    assert {one.target_id: one.cost for one in priced} == {"a": 1.0, "b": 1.0, "c": 1.0, "slow": 4.0}
    assert [[one.target_id for one in pack] for pack in packed(priced, 2)] == [["slow"], ["a", "b", "c"]]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"version": 2}', '{"version": 1, "seconds": {"a": "x"}}'])
def test_a_damaged_book_of_costs_knows_nothing_and_is_replaced(tmp_path: Path, text: str) -> None:
    (tmp_path / "costs.json").write_text(text, encoding="utf-8")
    book = CostBook(tmp_path / "costs.json")
    target = Target("a", "pytest", "python", "a", ".", "a")
    assert book.priced([target])[0].cost == 1.0
    book.record({"a": 7.0})
    assert book.priced([target])[0].cost == 7.0


@pytest.mark.parametrize(("pattern", "command"), [("", ("x",)), ("#a", ("x",)), ("*.ts", ()), ("*.ts", ("",))])
def test_a_custom_command_that_could_never_run_is_refused(pattern: str, command: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match=r"pattern|cmd"):
        CustomRunner(pattern, "x", command)


@pytest.mark.parametrize(
    ("files", "root"),
    [
        ({"pyproject.toml": "[tool.pytest.ini_options]\n", "tests/conftest.py": ""}, "."),
        ({"a/pyproject.toml": "[project]\n", "a/tests/conftest.py": ""}, "a"),
        ({"tests/conftest.py": "", "tests/pytest.ini": ""}, "tests"),
    ],
)
def test_a_conftest_names_the_runner_and_not_the_directory_it_runs_in(files: dict[str, str], root: str) -> None:
    test = "a/tests/test_a.py" if root == "a" else "tests/test_a.py"
    (target,) = [one for one in found_in({**files, test: ""}).targets if one.target_id == test]
    assert (target.runner, target.root) == ("pytest", root)
