"""Whatever is thrown at the classifier, it answers, quickly, and never SAFE."""

import json
import random

import pytest

from codeplane.govern.shell_risk.characters import MAX_CHARACTERS
from codeplane.govern.shell_risk.classifier import MAX_SEGMENTS, classify
from codeplane.govern.shell_risk.report import RiskVerdict

BAD = {
    "empty": "",
    "blank": " \t\n ",
    "only a comment": "# ls",
    "nul": "ls\0",
    "escape": "ls \x1b[2J",
    "backspace": "ls\b\b rm x",
    "carriage return": "ls\rrm x",
    "carriage return line feed": "ls\r\nrm x\r\n",
    "vertical tab": "ls\x0brm",
    "form feed": "ls\x0crm",
    "zero width space": "ls\u200b -la",
    "no-break space": "ls\u00a0-la",
    "direction": "ls \u202e x",
    "soft hyphen": "cat REA\u00adDME",
    "variation selector": "cat a\ufe0f",
    "byte order mark": "\ufeffls",
    "cyrillic letter": "l\u0455",
    "cyrillic name": "\u0441at README.md",
    "full width": "\uff4c\uff53",
    "dash that is none": "ls \u2013la",
    "quotes that are none": "cat \u201cREADME.md\u201d",
    "lone surrogate": "ls \udcff",
    "high surrogate": "cat \ud83d",
    "tag characters": "ls \U000e0041",
    "unbalanced single": "echo 'x",
    "unbalanced double": 'echo "x',
    "unbalanced ansi": "echo $'x",
    "unbalanced backtick": "echo `x",
    "unbalanced group": "(ls",
    "unbalanced substitution": "echo $(ls",
    "unbalanced brace": "echo ${x",
    "trailing escape": "ls \\",
    "trailing pipe": "ls |",
    "trailing and": "ls &&",
    "leading separator": "; ls",
    "leading pipe": "| ls",
    "two separators": "ls ;; pwd",
    "heredoc": "cat <<E\n$(touch x)\nE",
    "quoted heredoc": "bash <<'E'\ntouch x\nE",
    "heredoc with tabs": "cat <<-E\n\t`touch x`\n\tE",
    "heredoc without end": "cat <<E\nls",
    "two heredocs": "cat <<A <<B\n$(x)\nA\n$(y)\nB",
    "heredoc and a command behind": "cat <<E\nx\nE\nrm x",
    "heredoc in a pipe": "cat <<E | sh\nrm x\nE",
    "here-string": "sh <<< 'rm x'",
    "one megabyte": "ls " + "a" * 1_000_000,
    "ten thousand segments": "ls;" * 10_000,
    "many pipes": "ls" + "|cat" * 10_000,
    "deep groups": "(" * 1000 + "ls" + ")" * 1000,
    "deep substitutions": "echo " + "$(" * 1000 + "ls" + ")" * 1000,
    "deep braces": "echo " + "{" * 1000 + "a,b" + "}" * 1000,
    "deep expansions": "echo " + "${x:-" * 1000 + "}" * 1000,
    "deep arithmetic": "echo $((" + "(" * 1000 + "1" + ")" * 1000 + "))",
    "many open braces": "echo " + "{" * 9000,
    "exploding braces": "echo " + "{a,b}" * 30,
    "many segments": "ls;" * (MAX_SEGMENTS + 1),
    "too long by one": "ls " + "a" * (MAX_CHARACTERS - 2),
}


@pytest.mark.parametrize("shell", ["bash", "sh"])
@pytest.mark.parametrize("name", sorted(BAD))
def test_bad_input_is_destructive(name: str, shell: str) -> None:
    report = classify(BAD[name], shell)
    assert report.verdict is RiskVerdict.DESTRUCTIVE
    assert report.reasons
    json.dumps(report.as_dict()).encode("ascii")


@pytest.mark.parametrize(
    "shell", ["zsh", "fish", "powershell", "cmd", "pwsh", "dash", "", "BASH", "/bin/bash", "\ud800"]
)
def test_a_shell_that_is_not_modelled_is_destructive(shell: str) -> None:
    assert classify("ls", shell).verdict is RiskVerdict.DESTRUCTIVE


def test_random_text_is_always_answered() -> None:
    chance = random.Random(3)
    pieces = [
        "ls",
        "cat",
        "git",
        "log",
        "find",
        ".",
        "-name",
        "*",
        "'",
        '"',
        "$",
        "(",
        ")",
        "{",
        "}",
        "`",
        ";",
        "&",
        "|",
    ]
    pieces += [
        "<",
        ">",
        "\n",
        " ",
        "\\",
        "#",
        "~",
        "!",
        "[",
        "]",
        "=",
        "-",
        "\0",
        "\u00e4",
        "\ud800",
        "0",
        "1",
        "sed",
        "awk",
    ]
    for _ in range(3000):
        text = "".join(chance.choices(pieces, k=chance.randrange(1, 30)))
        assert classify(text).verdict in RiskVerdict


def test_segments_are_told_apart_and_the_strictest_counts() -> None:
    report = classify("ls src && npm test; rm x")
    assert [(one.text, one.verdict.value) for one in report.segments] == [
        ("ls src", "SAFE"),
        ("npm test", "VERIFICATION"),
        ("rm x", "DESTRUCTIVE"),
    ]
    assert report.verdict is RiskVerdict.DESTRUCTIVE
    assert classify("ls && npm test").verdict is RiskVerdict.VERIFICATION
