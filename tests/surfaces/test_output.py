"""What commands print never steers the terminal that shows it."""

import sys

import pytest

from codeplane.surfaces.cli.output import print_facts, print_table

HOSTILE = "rm -rf docs \x1b[2J\x1b]0;title\x07\r \u202egnp"
SHOWN = "rm -rf docs <U+001B>[2J<U+001B>]0;title<U+0007><U+000D> <U+202E>gnp"


@pytest.mark.parametrize("is_terminal", [False, True])
def test_what_an_agent_wrote_is_shown_and_not_obeyed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, is_terminal: bool
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: is_terminal)

    print_table(("id", "reason"), [("hold_1", HOSTILE)])
    print_facts([("why", HOSTILE)])

    assert capsys.readouterr().out.count(SHOWN) == 2


def test_a_row_in_a_pipe_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("id", "reason"), [("hold_1", "a\tb\nhold_2\tharmless")])

    assert capsys.readouterr().out == "hold_1\ta\\tb\\nhold_2\\tharmless\n"
