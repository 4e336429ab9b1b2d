"""Ranked text: words, phrases, filters, and what happens when its files are gone."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from codeplane.core.errors import CodePlaneError
from codeplane.workspace.workspace import Workspace
from support.doors import open_test_workspace
from support.repositories import make_repository, write

FILES: dict[str, str | bytes] = {
    "a.py": "def reset_password_token(user):\n    return sendMail(user)\n",
    "b.py": "password = 1\n# how to reset it\ntoken = 2\n",
    "c.md": "The password must be reset with a token.\n",
}


@pytest.fixture
def indexed(tmp_path: Path) -> Iterator[Workspace]:
    """Return a workspace whose index is built."""
    with open_test_workspace(make_repository(tmp_path / "repo", FILES)) as workspace:
        workspace.index.refresh()
        yield workspace


def found(workspace: Workspace, query: str, **filters: str) -> list[str]:
    """Return the paths for a query."""
    return [hit.path for hit in workspace.index.lexical_search(query, 10, **filters)]  # type: ignore[arg-type]


def test_all_words_must_be_there(indexed: Workspace) -> None:
    assert sorted(found(indexed, "reset password token")) == ["a.py", "b.py", "c.md"]
    assert found(indexed, "reset nowhere") == []


def test_a_phrase_stands_in_a_row(indexed: Workspace) -> None:
    assert found(indexed, '"reset password token"') == ["a.py"]


def test_whole_names_and_their_parts_are_found(indexed: Workspace) -> None:
    assert found(indexed, "reset_password_token") == ["a.py"]
    assert found(indexed, "mail") == ["a.py"]


def test_a_language_narrows(indexed: Workspace) -> None:
    assert found(indexed, "password", language="markdown") == ["c.md"]


def test_the_limit_is_hard(indexed: Workspace) -> None:
    assert len(indexed.index.lexical_search("password", 1)) == 1
    with pytest.raises(CodePlaneError):
        indexed.index.lexical_search("password", 0)


@pytest.mark.parametrize("query", ["", "...", '""'])
def test_a_query_without_words_is_refused(indexed: Workspace, query: str) -> None:
    with pytest.raises(CodePlaneError, match="no word"):
        indexed.index.lexical_search(query, 5)


def test_changes_are_seen(indexed: Workspace) -> None:
    write(indexed.root, {"b.py": "nothing = 1\n", "d.py": "password = token = reset\n"})
    (indexed.root / "c.md").unlink()
    indexed.index.refresh()
    assert sorted(found(indexed, "reset password token")) == ["a.py", "d.py"]


@pytest.mark.parametrize("damage", ["removed", "pointer", "emptied"])
def test_a_lost_or_damaged_ranked_index_is_built_again(tmp_path: Path, damage: str) -> None:
    root = make_repository(tmp_path / "repo", FILES)
    with open_test_workspace(root) as workspace:
        found(workspace, "password")
    directory = root / ".codeplane" / "tantivy"
    if damage == "removed":
        shutil.rmtree(directory)
    elif damage == "pointer":
        (directory / "current").write_text("nowhere", encoding="utf-8")
    else:
        for file in directory.glob("gen-*/*"):
            file.write_bytes(b"")
    with open_test_workspace(root) as workspace:
        workspace.index.refresh()
        assert sorted(found(workspace, "password")) == ["a.py", "b.py", "c.md"]
