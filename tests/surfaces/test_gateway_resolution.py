"""What references in the settings of upstreams mean, and which texts are secrets afterwards."""

from pathlib import Path
from typing import Any

import pytest

from codeplane.core.errors import CodePlaneError
from codeplane.surfaces.gateway.answers import checked_answer
from codeplane.surfaces.gateway.resolution import ResolvedUpstream, resolved
from codeplane.workspace.gateway_settings import UpstreamSettings

ENVIRON = {"PATH": "/bin", "HOME": "/home/user", "TOKEN": "tok-12345678", "EMPTY": "", "OTHER": "not inherited"}


def _resolved(directory: Path, **fields: Any) -> ResolvedUpstream:
    (directory / "secrets").mkdir(exist_ok=True)
    (directory / "secrets/a-key").write_text("from a file\n", encoding="utf-8")
    (directory / "outside").write_text("somebody else's", encoding="utf-8")
    (directory / "tree/below").mkdir(parents=True, exist_ok=True)
    settings = UpstreamSettings(**({"command": "toy"} | fields))
    return resolved(settings, directory / "tree", directory / "secrets", ENVIRON)


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("plain", "plain"),
        ("${TOKEN}", "tok-12345678"),
        ("Bearer ${TOKEN}!", "Bearer tok-12345678!"),
        ("${MISSING:-default}", "default"),
        ("${EMPTY:-default}", "default"),
        ("${MISSING:-}", ""),
        ("${EMPTY}", ""),
        ("${file:a-key}", "from a file"),
        ("$TOKEN {TOKEN} $(TOKEN)", "$TOKEN {TOKEN} $(TOKEN)"),
    ],
)
def test_references_are_resolved(tmp_path: Path, text: str, meaning: str) -> None:
    assert _resolved(tmp_path, args=(text,)).argv == ("toy", meaning)


@pytest.mark.parametrize("text", ["${MISSING}", "${file:missing}", "${file:..}"])
def test_what_is_not_there_is_named(tmp_path: Path, text: str) -> None:
    with pytest.raises(CodePlaneError, match="An upstream needs"):
        _resolved(tmp_path, args=(text,))


@pytest.mark.parametrize("text", ["${file:../outside}", "${file:/etc/passwd}"])
def test_no_file_elsewhere_is_a_secret(tmp_path: Path, text: str) -> None:
    assert _resolved(tmp_path, args=(text,)).argv == ("toy", text)


def test_a_program_gets_the_least_of_the_environment_and_what_is_configured(tmp_path: Path) -> None:
    found = _resolved(tmp_path, env={"MODE": "fast", "HOME": "/elsewhere"})
    assert found.environment == {"PATH": "/bin", "HOME": "/elsewhere", "MODE": "fast"}


def test_it_runs_in_the_tree(tmp_path: Path) -> None:
    assert _resolved(tmp_path, cwd="below").cwd == tmp_path / "tree/below"
    with pytest.raises(CodePlaneError, match="lies in the working tree"):
        _resolved(tmp_path, cwd="..")


def test_a_secret_that_would_be_cut_in_two_is_not_shown(tmp_path: Path) -> None:
    found = resolved(UpstreamSettings(command="x", env={"TOKEN": "0123456789abcdef"}), tmp_path, tmp_path, {})
    block = {"type": "text", "text": "x" * 992 + "0123456789abcdef" + "y" * 500}
    answer = checked_answer("toy", {"content": [block]}, found.without_secrets, 1_000)
    assert "0123" not in str(answer.content)


def test_secrets_are_taken_out_of_answers_wherever_they_are(tmp_path: Path) -> None:
    found = _resolved(
        tmp_path, env={"A_KEY": "${file:a-key}", "MODE": "production"}, headers={"Authorization": "Bearer ${TOKEN}"}
    )
    block = {"type": "text", "text": "tok-12345678 in production", "from a file": ["x from a file x", 7, None]}
    answer = checked_answer("toy", {"content": [block]}, found.without_secrets, 1_000)
    assert answer.content == [
        {
            "type": "text",
            "text": "[redacted:Authorization] in production",
            "[redacted:A_KEY]": ["x [redacted:A_KEY] x", 7, None],
        }
    ]


@pytest.mark.parametrize(
    "fields",
    [
        {"command": ""},
        {"url": "http://127.0.0.1/"},
        {"type": "http"},
        {"command": "", "url": "file:///x"},
        {"type": "ws"},
    ],
)
def test_settings_that_name_no_server_or_two_are_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="upstream"):
        UpstreamSettings(**({"command": "toy"} | fields))


def test_settings_print_no_secret() -> None:
    settings = UpstreamSettings(
        command="toy",
        args=("--key=ghp_0123456789abcdefghijklmnopqrstuvwxyz",),
        env={"A": "literal", "B": "${B}", "C": "${C:-a default}"},
    )
    assert "${B}" in repr(settings)
    assert not any(one in repr(settings) for one in ("literal", "a default", "ghp_"))
