"""Files of packages that a workspace does not list are linked among themselves, and their contexts are listed."""

from pathlib import Path

import pytest

from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.perform import Door
from index.linking_cases import Case, check
from support.doors import call, open_test_workspace, result_of
from support.repositories import make_repository

CASES = [
    Case(
        "a Rust crate outside of the workspace",
        {
            "Cargo.toml": "[workspace]\nmembers = ['in']\n",
            "in/Cargo.toml": "[package]\nname = 'in'\nedition = '2021'\n",
            "in/src/lib.rs": "pub fn f() {}\n",
            "fuzz/Cargo.toml": "[package]\nname = 'fuzz'\nedition = '2021'\n",
            "fuzz/src/lib.rs": "mod part;\nfn g() { part::h(); }\n",
            "fuzz/src/part.rs": "pub fn h() {}\n",
        },
        "fuzz/src/lib.rs:2 h -> fuzz/src/part.rs:1 STRONG",
    ),
    Case(
        "a detached JavaScript package",
        {
            "package.json": '{"workspaces": ["packages/*"]}\n',
            "packages/a/package.json": '{"name": "a"}\n',
            "packages/a/index.js": "export const a = 1\n",
            "tools/package.json": '{"name": "tools"}\n',
            "tools/one.js": "export function one() {}\n",
            "tools/two.js": "import { one } from './one'\none()\n",
        },
        "tools/two.js:2 one -> tools/one.js:1 STRONG",
    ),
    Case(
        "a Go module that the workspace does not use",
        {
            "go.work": "go 1.22\nuse ./main\n",
            "main/go.mod": "module ex.com/main\n",
            "main/a.go": 'package main\nimport "ex.com/tool/part"\nfunc f() { part.Do() }\n',
            "tool/go.mod": "module ex.com/tool\n",
            "tool/t.go": 'package tool\nimport "ex.com/tool/part"\nfunc g() { part.Do() }\n',
            "tool/part/p.go": "package part\nfunc Do() {}\n",
        },
        "tool/t.go:3 Do -> tool/part/p.go:2 STRONG\nmain/a.go:3 Do -> -",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_files_without_an_owning_context_are_linked(case: Case, tmp_path: Path) -> None:
    check(case, tmp_path)


def test_detached_contexts_are_listed_with_their_reason(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "r", dict(CASES[0].files))
    with open_test_workspace(root) as workspace:
        answer = call(Door(workspace, OPERATIONS), "map_repo", {})
        states = {one["root"]: one for one in result_of(answer)["structure"]["context_states"]}
        summary = workspace.index_summary()["contexts"]
    assert states["in"]["status"] == "valid"
    assert (states["fuzz"]["status"], states["fuzz"]["file_count"]) == ("detached", 0)
    assert "fuzz (rust) detached: It is not listed in `Cargo.toml`." in answer.text()
    assert isinstance(summary, list)
    assert "fuzz" in {one["root"] for one in summary}
