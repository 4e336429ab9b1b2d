"""A mistyped path gets the files that were probably meant."""

import pytest

from codeplane.index.near_names import near_paths

FILES = ("src/flask/app.py", "src/flask/sansio/app.py", "src/flask/cli.py", "tests/test_cli.py", "README.md")


@pytest.mark.parametrize(
    ("wanted", "first"),
    [
        ("src/flask/ap.py", "src/flask/app.py"),
        ("flask/app.py", "src/flask/app.py"),
        ("src/sansio/app.py", "src/flask/sansio/app.py"),
        ("readme.md", "README.md"),
        ("test_cli.py", "tests/test_cli.py"),
    ],
)
def test_the_nearest_existing_path_comes_first(wanted: str, first: str) -> None:
    assert near_paths(wanted, FILES)[0] == first


def test_nothing_alike_gives_no_suggestion() -> None:
    assert near_paths("zzz/qqq.xyz", FILES) == []
