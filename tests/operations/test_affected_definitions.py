"""Which tests are selected for the definitions that differ from HEAD, through the door."""

from pathlib import Path

from codeplane.operations.suite_coverage import coverage_book
from support.doors import call, result_of
from support.repositories import write
from support.suites import NO_CACHE, suite

PRICES = (
    "RATE = 2\n\ndef net():\n    return 3\n\ndef gross():\n    return net() * RATE\n\ndef label():\n    return 'x'\n"
)
FILES = {
    "pytest.ini": NO_CACHE,
    "shop/__init__.py": "",
    "shop/prices.py": PRICES,
    "tests/test_net.py": "from shop.prices import net\n\ndef test_net():\n    assert net() == 3\n",
    "tests/test_gross.py": "from shop import prices\n\ndef test_gross():\n    assert prices.gross() == 6\n",
    "tests/test_label.py": "from shop.prices import label\n\ndef test_label():\n    assert label() == 'x'\n",
}


def tiers(directory: Path, changed: dict[str, str]) -> dict[str, str]:
    """Return the selected targets with their tiers after some files were written."""
    with suite(directory / "r", FILES) as door:
        write(door.workspace.root, dict(changed))
        result = result_of(call(door, "inspect_affected_tests", {}))
        return {one["target_id"]: one["tier"] for one in result["matches"]}


def test_a_changed_function_selects_the_tests_that_reach_it(tmp_path: Path) -> None:
    changed = PRICES.replace("return 3", "return 4")
    assert tiers(tmp_path, {"shop/prices.py": changed}) == {
        "tests/test_net.py": "direct",
        "tests/test_gross.py": "references",
    }


def test_a_new_test_beside_a_changed_function_does_not_widen_the_selection(tmp_path: Path) -> None:
    changed = {"shop/prices.py": PRICES.replace("'x'", "'y'"), "tests/test_new.py": "def test_n():\n    pass\n"}
    assert tiers(tmp_path, changed) == {"tests/test_label.py": "direct", "tests/test_new.py": "direct"}


def test_changed_code_outside_of_definitions_selects_every_importer(tmp_path: Path) -> None:
    found = tiers(tmp_path, {"shop/prices.py": PRICES + "\nprint(RATE)\n"})
    assert set(found) == {"tests/test_net.py", "tests/test_gross.py", "tests/test_label.py"}


def test_a_definition_that_no_test_reaches_selects_every_importer(tmp_path: Path) -> None:
    """A test that imports by a computed name must not stand in for the importers."""
    loader = "import importlib\nimport sys\n\ndef test_any():\n    importlib.import_module(sys.argv[-1])\n"
    files = {**FILES, "shop/prices.py": PRICES + "\ndef unused():\n    return 1\n", "tests/test_loader.py": loader}
    with suite(tmp_path / "r", files) as door:
        write(door.workspace.root, {"shop/prices.py": PRICES + "\ndef unused():\n    return 2\n"})
        result = result_of(call(door, "inspect_affected_tests", {}))
    found = {one["target_id"] for one in result["matches"]}
    assert found >= {"tests/test_net.py", "tests/test_gross.py", "tests/test_label.py"}


def test_a_test_that_ran_the_definition_before_is_added_and_none_is_left_out_for_it(tmp_path: Path) -> None:
    with suite(tmp_path / "r", FILES) as door:
        coverage_book(door.workspace).record({"tests/test_label.py": {"shop/prices.py": [3, 4]}})
        write(door.workspace.root, {"shop/prices.py": PRICES.replace("return 3", "return 4")})
        result = result_of(call(door, "inspect_affected_tests", {}))
    found = {one["target_id"] for one in result["matches"]}
    assert found == {"tests/test_net.py", "tests/test_gross.py", "tests/test_label.py"}


def test_an_environment_that_git_shows_as_new_is_not_part_of_the_change(tmp_path: Path) -> None:
    with suite(tmp_path / "r", FILES) as door:
        write(door.workspace.root, {".venv/lib/site.py": "x = 1\n", "shop/more.py": "y = 1\n"})
        assert door.workspace.new_files() == ["shop/more.py"]
        changed = result_of(call(door, "semantic_diff", {}))
        assert [one["path"] for one in changed["structural_changes"]] == ["shop/more.py"]
