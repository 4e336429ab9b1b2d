"""Secrets leave the text, everything else stays."""

import json
import string
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codeplane.core.redaction import redact, redact_value

_CASES: dict[str, Any] = json.loads(Path(__file__).with_name("redaction_cases.json").read_text(encoding="utf-8"))


def _joined(text: str | list[str]) -> str:
    return text if isinstance(text, str) else "".join(text)


_POSITIVE = [(_joined(case["text"]), case["expected"], case["kind"]) for case in _CASES["positive"]]
_NEGATIVE = [_joined(text) for text in _CASES["negative"]]
# A key block that was cut off takes what follows with it, so it does not stand between others.
_WHOLE = [(text, expected) for text, expected, _ in _POSITIVE if "(cut" not in text]
_LINES = st.lists(st.sampled_from([*_WHOLE, *((text, text) for text in _NEGATIVE)]), max_size=6)


@pytest.mark.parametrize(("text", "expected", "kind"), _POSITIVE)
def test_each_labelled_secret_is_replaced_and_nothing_around_it(text: str, expected: str, kind: str) -> None:
    assert f"[redacted:{kind}]" in expected
    assert redact(text) == expected


@pytest.mark.parametrize("text", _NEGATIVE)
def test_each_labelled_harmless_text_is_left_alone(text: str) -> None:
    assert redact(text) == text


def test_there_are_enough_labelled_cases_of_both_kinds() -> None:
    assert len(_POSITIVE) >= 60
    assert len(_NEGATIVE) >= 60


@given(_LINES)
def test_what_stands_on_other_lines_changes_nothing(lines: list[tuple[str, str]]) -> None:
    text = "\n\n".join(text for text, _ in lines)
    assert redact(text) == "\n\n".join(expected for _, expected in lines)


@given(_LINES)
def test_redacting_twice_changes_nothing_more(lines: list[tuple[str, str]]) -> None:
    once = redact("\n".join(text for text, _ in lines))
    assert redact(once) == once


@given(st.text(st.characters(exclude_characters=string.ascii_letters + ":")))
def test_text_without_words_or_addresses_survives_whatever_it_is(text: str) -> None:
    assert redact(text) == text


def test_a_letter_that_grows_in_lower_case_does_not_shift_the_cut() -> None:
    assert redact("\u0130" * 40 + " PASSWORD=correcthorse \u0130") == (
        "\u0130" * 40 + " PASSWORD=[redacted:password] \u0130"
    )


@pytest.mark.parametrize(
    "form", ["password='{}'", 'password: "{}"', "DB_PASSWORD={}", "token: {}", 'x = {{"token": "{}"}}']
)
def test_a_long_secret_goes_to_its_last_character(form: str) -> None:
    secret = "0fake" * 4000
    assert "fake" not in redact(form.format(secret))


def test_a_secret_of_two_shapes_is_replaced_as_a_whole() -> None:
    token = "gh" + "p_FAKEfakeFAKEfakeFAKEfakeFAKEfake0000"
    assert redact(f"PASSWORD={token}:and-more") == "PASSWORD=[redacted:github-token]"


@pytest.mark.parametrize(
    "unit",
    [
        "token=",
        "token:",
        'token="',
        "password: a b",
        "--password ",
        "secret_access_key=",
        "sk-",
        "eyJ",
        "eyJaaaaaa.",
        "://a:",
        "-----BEGIN PRIV" + "ATE KEY-----(",
        "-----END ",
        "authorization: ",
        "curl -u a:1 ",
        "[redacted:",
        "a",
        "\\",
    ],
)
def test_hostile_repetition_is_worked_through(unit: str) -> None:
    """A quadratic rule would take minutes here; the size is cut down so that the linear ones take milliseconds."""
    text = unit * (200_000 // len(unit))
    assert len(redact(text)) <= 4 * len(text)


def test_the_home_directory_becomes_a_tilde() -> None:
    text = "/home/ada/x file:///home/ada/y -I/home/ada/z /home/ada2 /mnt/home/ada /home/ada. '/home/ada'"
    assert redact(" " + text, home=Path("/home/ada")) == " ~/x file://~/y -I~/z /home/ada2 /mnt/home/ada ~. '~'"
    assert redact(text) == text
    assert redact("/etc/passwd", home="/") == "/etc/passwd"


def test_under_a_telling_key_every_string_and_number_goes() -> None:
    value = {
        "user": "ada",
        "password": "word",
        "pin_token": 12345,
        "apiKey": ["one", {"note": "two"}],
        "Authorization": "anything",
        "secret": {"name": "kept", "token": "x"},
    }
    assert redact_value(value) == {
        "user": "ada",
        "password": "[redacted:password]",
        "pin_token": "[redacted:token]",
        "apiKey": ["[redacted:api-key]", {"note": "two"}],
        "Authorization": "[redacted:authorization]",
        "secret": {"name": "kept", "token": "[redacted:token]"},
    }


def test_under_a_telling_key_what_holds_nothing_stays() -> None:
    value = {"password": None, "token": "", "secret": True, "api_key": "[redacted:api-key]", "next_page_token": "abc"}
    assert redact_value(value) == value


def test_texts_anywhere_in_the_data_are_redacted() -> None:
    value = ({"log": ["run with DB_PASSWORD=correcthorse in /home/ada"]}, 3, None)
    assert redact_value(value, home="/home/ada") == [
        {"log": ["run with DB_PASSWORD=[redacted:password] in ~"]},
        3,
        None,
    ]


def test_a_key_that_is_itself_a_secret_is_redacted() -> None:
    assert redact_value({"gh" + "p_FAKEfakeFAKEfakeFAKEfakeFAKEfake0000": 1}) == {"[redacted:github-token]": 1}


def test_nesting_without_end_is_cut_off() -> None:
    endless: list[Any] = []
    endless.append(endless)
    assert "[redacted:too-deep]" in str(redact_value(endless))
