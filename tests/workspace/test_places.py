"""Where things are kept, also when the obvious place cannot be used."""

import os
from pathlib import Path

import pytest

from codeplane.workspace.places import Places, UserPlaces


def _places(root: Path, runtime: Path) -> Places:
    user = UserPlaces(root / "config", root / "state", runtime)
    return Places(root, root / ".codeplane", root / ".codeplane", user, root / ".git")


def test_the_socket_is_in_the_private_directory_when_its_path_is_short() -> None:
    places = _places(Path("/r"), Path("/run/user/1"))
    assert places.socket == places.socket_link


@pytest.mark.parametrize(
    ("runtime", "expected_parent"), [("/run/user/1", "/run/user/1"), ("/run/" + "x" * 100, "codeplane-")]
)
def test_a_long_path_moves_the_socket_to_the_first_short_place(runtime: str, expected_parent: str) -> None:
    places = _places(Path("/" + "d" * 120), Path(runtime))
    assert expected_parent in str(places.socket.parent)
    assert len(os.fsencode(places.socket)) <= 100
