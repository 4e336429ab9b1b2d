"""Opening one working tree: its places, its private directory, its ledger."""

import errno
import os
from pathlib import Path

import pytest

from codeplane.core.clock import ManualClock
from codeplane.core.errors import CodePlaneError
from codeplane.core.ids import RandomIds
from codeplane.core.settings import load_settings
from codeplane.ledger.chain import RowFilter
from codeplane.workspace.config import HARMLESS, LOOSENING, Settings
from codeplane.workspace.places import Places, UserPlaces, user_places
from codeplane.workspace.workspace import Workspace, ensure_ignore_file, locate_places
from support.doors import caller, open_test_workspace
from support.repositories import git, make_repository


def test_opening_creates_a_private_directory_that_git_does_not_see(repo: Path) -> None:
    with open_test_workspace(repo):
        assert (repo / ".codeplane" / "ledger.db").is_file()
        assert git(repo, "status", "--porcelain") == ""


def test_the_private_configuration_can_be_committed(repo: Path) -> None:
    with open_test_workspace(repo):
        (repo / ".codeplane" / "config.yaml").write_text("", encoding="utf-8")
        assert git(repo, "status", "--porcelain", "-uall") == "?? .codeplane/config.yaml\n"


def test_looking_for_the_places_creates_nothing(repo: Path) -> None:
    places = locate_places(repo / "src")
    assert places.ledger == repo / ".codeplane" / "ledger.db"
    assert not (repo / ".codeplane").exists()


def test_linked_worktrees_share_the_ledger_of_the_main_tree(repo: Path, tmp_path: Path) -> None:
    git(repo, "worktree", "add", "--quiet", str(tmp_path / "linked"), "-b", "side")
    with open_test_workspace(tmp_path / "linked") as linked:
        linked.record("started", {})
        assert linked.places.ledger == repo / ".codeplane" / "ledger.db"
        assert linked.places.private == tmp_path / "linked" / ".codeplane"
        assert linked.chain.rows(RowFilter())[0].worktree == "linked"


@pytest.mark.parametrize("kind", ["submodule", "bare"])
def test_a_tree_without_a_main_tree_keeps_its_ledger_in_the_git_directory(
    repo: Path, tmp_path: Path, kind: str
) -> None:
    if kind == "submodule":
        inner = make_repository(tmp_path / "inner", {"i.py": "i\n"})
        git(repo, "submodule", "--quiet", "add", str(inner), "sub")
        places, expected = locate_places(repo / "sub"), repo / ".git" / "modules" / "sub" / "codeplane"
    else:
        git(tmp_path, "clone", "--quiet", "--bare", str(repo), "bare.git")
        git(tmp_path / "bare.git", "worktree", "add", "--quiet", str(tmp_path / "tree"), "main")
        places, expected = locate_places(tmp_path / "tree"), tmp_path / "bare.git" / "codeplane"
    assert places.shared == expected


def test_the_repository_id_stays_the_same_over_restarts_and_worktrees(repo: Path, tmp_path: Path) -> None:
    git(repo, "worktree", "add", "--quiet", str(tmp_path / "linked"), "-b", "side")
    ids = []
    for root in (repo, repo, tmp_path / "linked"):
        with open_test_workspace(root, ids=RandomIds()) as workspace:
            ids.append(workspace.repo_id)
    assert len(set(ids)) == 1


def test_a_damaged_ledger_is_kept_aside_and_a_row_says_so(repo: Path) -> None:
    open_test_workspace(repo).close()
    ledger = repo / ".codeplane" / "ledger.db"
    ledger.write_bytes(b"not a database" * 1000)
    with open_test_workspace(repo) as workspace:
        (row,) = workspace.chain.rows(RowFilter(kinds=("ledger_replaced",)))
        kept = ledger.with_name(row.body["kept"])
        assert kept.read_bytes() == b"not a database" * 1000
        assert workspace.chain.verify().first_bad_seq is None


def test_rows_that_wait_and_sessions_are_written_when_the_workspace_closes(repo: Path, clock: ManualClock) -> None:
    ids = RandomIds()
    with open_test_workspace(repo, clock=clock, ids=ids) as workspace:
        session = workspace.sessions.find(caller()).session
        session.spend_read(42, 100)
    with open_test_workspace(repo, clock=clock, ids=ids) as workspace:
        assert workspace.sessions.find(caller("c2", session.session_id)).session.read_bytes == 42


@pytest.mark.parametrize(
    ("number", "code"),
    [(errno.EACCES, "PERMISSION_DENIED"), (errno.EROFS, "PERMISSION_DENIED"), (errno.ENOSPC, "DISK_FULL")],
)
def test_a_private_directory_that_cannot_be_made_is_refused(
    repo: Path, monkeypatch: pytest.MonkeyPatch, number: int, code: str
) -> None:
    def refuse(*_arguments: object, **_options: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(CodePlaneError) as caught:
        open_test_workspace(repo)
    assert caught.value.code == code


def test_an_invalid_configuration_is_refused_before_anything_is_opened(repo: Path) -> None:
    (repo / ".codeplane").mkdir()
    (repo / ".codeplane" / "config.yaml").write_text("sessions:\n  idle_timeout_minutes: 0\n", encoding="utf-8")
    with pytest.raises(CodePlaneError) as caught:
        open_test_workspace(repo)
    assert caught.value.code == "CONFIG_INVALID"
    assert not (repo / ".codeplane" / "ledger.db").exists()


def test_settings_come_from_the_file_then_the_environment_then_the_command_line(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repo / ".codeplane").mkdir()
    text = "reads:\n  page_bytes: 1000\n  range_bytes: 1000\n  full_inline_bytes: 1000\n"
    (repo / ".codeplane" / "config.yaml").write_text(text, encoding="utf-8")
    monkeypatch.setenv("CODEPLANE__READS__RANGE_BYTES", "2000")
    monkeypatch.setenv("CODEPLANE__READS__FULL_INLINE_BYTES", "2000")
    with open_test_workspace(repo, overrides=("reads.full_inline_bytes=3000",)) as workspace:
        reads = workspace.settings.reads
        assert (reads.page_bytes, reads.range_bytes, reads.full_inline_bytes) == (1000, 2000, 3000)


def test_an_ignore_file_is_written_once_and_never_over_a_persons(repo: Path) -> None:
    places = locate_places(repo)
    assert ensure_ignore_file(places)
    (repo / ".cplignore").write_text("mine\n", encoding="utf-8")
    assert not ensure_ignore_file(places)
    assert (repo / ".cplignore").read_text(encoding="utf-8") == "mine\n"


def test_a_new_file_and_a_commit_change_the_fingerprint(workspace: Workspace) -> None:
    workspace.refresh_index()
    prints = [workspace.fingerprint()]
    (workspace.root / "new.py").write_text("new\n", encoding="utf-8")
    workspace.refresh_index()
    prints.append(workspace.fingerprint())
    git(workspace.root, "add", "new.py")
    git(workspace.root, "commit", "--quiet", "-m", "second")
    prints.append(workspace.fingerprint())
    assert len(set(prints)) == 3


def test_a_socket_path_that_is_too_long_moves_to_the_runtime_directory(tmp_path: Path) -> None:
    root = tmp_path / ("d" * 100)
    user = UserPlaces(tmp_path / "config", tmp_path / "state", tmp_path / "run")
    places = Places(root, root / ".codeplane", root / ".codeplane", user, root / ".git")
    assert places.socket.parent == tmp_path / "run"
    assert places.socket_link == root / ".codeplane" / "server.sock"


def test_the_runtime_directory_follows_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert user_places().runtime == tmp_path / "codeplane"
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    assert user_places().runtime.name.startswith("codeplane-")


def test_every_setting_is_known_to_loosen_or_not() -> None:
    loaded = load_settings(Settings, ()).origins
    assert set(loaded) == set(LOOSENING) | HARMLESS
    assert not set(LOOSENING) & HARMLESS
