"""Contexts that a person declares, in their own file or in the configuration."""

from pathlib import Path

import pytest

from codeplane.core.errors import CodePlaneError
from support.doors import open_test_workspace
from support.repositories import make_repository, write

FILES: dict[str, str | bytes] = {
    "Cargo.toml": "[workspace]\nmembers = ['in']\n",
    "in/Cargo.toml": "[package]\nname = 'in'\n",
    "in/src/lib.rs": "pub fn f() {}\n",
    "fuzz/Cargo.toml": "[package]\nname = 'fuzz'\n",
    "fuzz/src/lib.rs": "pub fn g() {}\n",
    "plain/tool.py": "x = 1\n",
}
DECLARED = (
    "contexts:\n  - id: fuzzing\n    language: rust\n    workspace_roots: [./fuzz]\n"
    "  - id: tool\n    language: python\n    workspace_roots: [plain]\n"
)


def statuses(root: Path) -> dict[tuple[str, str], str]:
    with open_test_workspace(root) as workspace:
        workspace.index.refresh()
        return {(str(one["family"]), str(one["root"])): str(one["status"]) for one in workspace.index.contexts()}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "r", FILES)


@pytest.mark.parametrize("name", ["contexts.yaml", "config.yaml"])
def test_declared_contexts_are_there_whatever_is_discovered(tree: Path, name: str) -> None:
    before = statuses(tree)
    assert before["rust", "fuzz"] == "detached"
    assert ("python", "plain") not in before
    write(tree, {f".codeplane/{name}": DECLARED})
    declared = statuses(tree)
    assert declared["rust", "fuzz"] == declared["python", "plain"] == "valid"
    (tree / ".codeplane" / name).unlink()
    assert statuses(tree) == before


def test_the_example_of_the_specification_is_accepted(tree: Path) -> None:
    text = (
        "version: 1\ncontexts:\n  - id: core-java\n    language: java\n    workspace_roots: [./core]\n    env:\n"
        "      build_root: ./core\n    indexer:\n      name: scip-java\ndefaults:\n  max_parallel_contexts: 4\n"
        "  divergence_behavior: fail\n"
    )
    write(tree, {".codeplane/contexts.yaml": text})
    with open_test_workspace(tree) as workspace:
        assert [one.id for one in workspace.settings.contexts] == ["core-java"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("contexts:\n  - id: a\n    language: klingon\n", "klingon"),
        ("contexts:\n  - language: rust\n", "id"),
        ("contexts:\n  - id: a\n    language: rust\n    workspace_roots: [../out]\n", "workspace_roots"),
        ("contexts:\n  - id: a\n    language: rust\n    workspace_roots: []\n", "at least one"),
        ("version: 2\n", "version"),
        ("contexts:\n  - id: a\n    language: rust\n  - id: a\n    language: python\n", "twice"),
        ("contexts:\n  - id: a\n    language: rust\n  - id: b\n    language: rust\n", "rust at ."),
    ],
)
def test_a_wrong_declaration_is_an_error_that_says_what_is_wrong(tree: Path, text: str, said: str) -> None:
    write(tree, {".codeplane/contexts.yaml": text})
    with pytest.raises(CodePlaneError) as raised:
        open_test_workspace(tree)
    assert raised.value.code == "CONFIG_INVALID"
    assert said in raised.value.report().as_text()
