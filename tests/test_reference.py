"""The generated pages are what the code says."""

from pathlib import Path

import pytest

from codeplane.operations.cards import cards_text
from codeplane.operations.catalog import TOOLS
from codeplane.operations.tool_list import CARDS_FILE
from codeplane.surfaces.cli.reference import pages

DIRECTORY = Path(__file__).resolve().parent.parent / "docs" / "reference"


@pytest.mark.parametrize("name", sorted(pages()))
def test_reference_page_has_not_drifted_from_the_code(name: str) -> None:
    assert (DIRECTORY / name).read_text(encoding="utf-8") == pages()[name], "run `make reference`"


def test_the_cards_of_the_operations_have_not_drifted_from_the_code() -> None:
    assert CARDS_FILE.read_text(encoding="utf-8") == cards_text(TOOLS), "run `make reference`"


def test_no_reference_page_is_left_over() -> None:
    assert {path.name for path in DIRECTORY.iterdir()} == set(pages())
