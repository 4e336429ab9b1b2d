"""What we read of a command is what a real bash makes of it; what we read of git settings is what git makes of them."""

import os
import random
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from codeplane.govern.shell_risk.classifier import classify
from codeplane.govern.shell_risk.git_settings import settings
from codeplane.govern.shell_risk.patterns import matches_in_shell
from codeplane.govern.shell_risk.report import RiskVerdict, UnclearCommandError
from codeplane.govern.shell_risk.words import Word, read_tokens
from support.effort import repeated

N_TEXTS = 1000
N_CONFIGURATIONS = 150
SECONDS = 60 * repeated(1)
# Every character that means something to bash, and few letters, so that patterns match; no text is a program's name.
PIECES = (
    *"abce.nv-_=:,^!/", "{", "}", "{", "}", "[", "]", "[", "]", "*", "?", "'", '"', "\\", "$", " ", "\t", "\n", "#",
    "~",
    "..", "[:lower:]", "[^", "[!", "[[=e=]",
    ".env", "{a", ",b}", "$'", "\\n", "''", "${HOME}", "a-c", "(", ")", "&&", "|",
    ";", "<", ">", "\\\n", "\u00e4",
)  # fmt: skip
# Few pieces that meet often: braces in braces, and brackets that come out as `.env`.
BRACES = ("{", "}", "{", "}", ",", "..", "a", "b", "'", "''", "\\", '"')
BRACKETS = (
    ".[",
    "]nv",
    "]nv",
    "]",
    "[",
    "^",
    "!",
    "e",
    "a",
    "nv",
    "[:lower:]",
    "[=e=]",
    "[.e.]",
    "\\]",
    "']'",
    "-",
    "A",
    ".",
    "*",
)
NAMES = (".env", ".a", ".netrc", "a", "b", "ab", "abc", "a]", "]", "[a", "^", "-a", "id_rsa", "e.nv", "\u00e4", "a b")
# Prints how many words it got and each of them; the text is expanded, and the one program that runs is this function.
SHOW = r"""
show() { printf '%s\0' "$#" "$@"; }
while IFS= read -r -d '' text; do
  printf '\1\0'
  ( eval "show $text" ) </dev/null
done
"""
CONFIGURATION = (
    "[core]", '[a "b"]', "[a.b]", '[Core "x\\"y"]', "fsmonitor", "x", "=", " ", "\t", "\n", "\n", "\r\n", "\r", "\\\n",
    "\\\\", "\\n", '"', "#", ";", "\u2028", "\x0b", "\x0c", "\x85", "./p", "0", "\ufeff", "[", '"]', "\\", '\\"',
    "-", "k1",
)  # fmt: skip

needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="compares with a real bash")


def _texts(seed: str, count: int) -> list[str]:
    chance = random.Random(seed)
    kinds = (PIECES, BRACES, BRACKETS)
    return ["".join(chance.choices(chance.choice(kinds), k=chance.randrange(1, 12))) for _ in range(count)]


def _words_of_bash(texts: list[str], folder: Path) -> list[list[str] | None]:
    """Return the words that bash makes of each text, None where it fails or does more than one thing.

    The shell is a restricted one without any program on its path: it can neither write files nor start anything.
    """
    given = b"".join(text.encode() + b"\0" for text in texts)
    command = ["bash", "--norc", "--noprofile", "-r", "-c", SHOW]
    environment = {"PATH": "/nowhere", "HOME": "/home/fig", "LC_ALL": "C.UTF-8"}
    bash = shutil.which("bash") or "bash"
    done = subprocess.run(
        [bash, *command[1:]],
        input=given,
        cwd=folder,
        env=environment,
        capture_output=True,
        timeout=SECONDS,
        check=False,
    )
    answers = done.stdout.decode("utf-8", "surrogateescape").split("\1\0")[1:]
    assert len(answers) == len(texts)
    return [_one_call(answer.split("\0")[:-1]) for answer in answers]


def _one_call(fields: list[str]) -> list[str] | None:
    is_one = bool(fields) and fields[0].isdigit() and int(fields[0]) == len(fields) - 1
    return fields[1:] if is_one else None


def _our_words(text: str) -> list[Word] | None:
    try:
        tokens = read_tokens(text.encode().decode("latin-1"), is_bash=True)
    except UnclearCommandError:
        return None
    words = [one for one in tokens if isinstance(one, Word)]
    return words if len(words) == len(tokens) else None


def _decoded(text: str) -> str:
    return text.encode("latin-1").decode("utf-8", "surrogateescape")


def _agrees(word: Word, theirs: list[str]) -> int:
    """Return how many of bash's next words this one explains; -1 when it cannot."""
    value, pattern = _decoded(word.value), _decoded(word.pattern)
    if not word.has_glob:
        return 1 if theirs[:1] == [value] else -1
    n_fitting = 0
    while n_fitting < len(theirs) and matches_in_shell(theirs[n_fitting], pattern):
        n_fitting += 1
    # A pattern without a match stays as it is written.
    return n_fitting or (1 if theirs[:1] == [value] else -1)


@needs_bash
def test_static_words_are_those_of_bash(tmp_path: Path) -> None:
    texts = _texts("words", repeated(N_TEXTS))
    wrong = []
    for text, theirs in zip(texts, _words_of_bash(texts, tmp_path), strict=True):
        ours = _our_words(text)
        if ours is None or any(word.variables or word.inner or (word.has_glob and "/" in word.value) for word in ours):
            continue
        # In an empty directory no pattern matches, so that every word stays as it is written.
        if theirs != [_decoded(word.value) for word in ours]:
            wrong.append((text, [_decoded(word.value) for word in ours], theirs))
    assert wrong == []


@needs_bash
def test_a_pattern_covers_every_name_that_bash_finds(tmp_path: Path) -> None:
    for name in NAMES:
        (tmp_path / name).write_text("")
    texts = [text.replace("/", "") for text in _texts("patterns", repeated(N_TEXTS))]
    wrong = []
    for text, theirs in zip(texts, _words_of_bash(texts, tmp_path), strict=True):
        ours = _our_words(text)
        if ours is None or len(ours) != 1 or not ours[0].has_glob or ours[0].variables or not theirs:
            continue
        if _agrees(ours[0], theirs) != len(theirs):
            wrong.append((text, _decoded(ours[0].pattern), theirs))
    assert wrong == []


@needs_bash
def test_no_safe_command_gives_a_secret_to_a_reader(tmp_path: Path) -> None:
    for name in NAMES:
        (tmp_path / name).write_text("")
    texts = _texts("secrets", repeated(N_TEXTS))
    wrong = []
    for text, theirs in zip(texts, _words_of_bash(texts, tmp_path), strict=True):
        # More than one command: their words are compared one by one elsewhere.
        if set(text) & set("|&;<>\n") or classify(f"cat {text}").verdict is not RiskVerdict.SAFE:
            continue
        if theirs is None or {".env", ".netrc"} & {one.rpartition("/")[2] for one in theirs}:
            wrong.append((text, theirs))
    assert wrong == []


def test_settings_of_git_are_read_as_git_reads_them(tmp_path: Path) -> None:
    chance = random.Random("settings")
    file = tmp_path / "configuration"
    wrong = []
    for _ in range(repeated(N_CONFIGURATIONS)):
        text = "[core]\n" * chance.randrange(2) + "".join(chance.choices(CONFIGURATION, k=chance.randrange(1, 14)))
        file.write_bytes(text.encode())
        done = subprocess.run(
            ["git", "config", "--file", str(file), "--list", "-z"],
            env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)}, capture_output=True, timeout=30, check=False,
        )  # fmt: skip
        theirs = [entry.partition("\n") for entry in done.stdout.decode().split("\0")[:-1]]
        try:
            ours = list(settings(text))
        except ValueError:
            continue
        # Versions of git differ in whether a blank inside a value is kept or becomes a space.
        read = [(name, re.sub(r"\s", " ", value)) for name, value in ours]
        told = [(name, re.sub(r"\s", " ", value if line else "true")) for name, line, value in theirs]
        if done.returncode == 0 and read != told:
            wrong.append((text, ours, theirs))
    assert wrong == []
