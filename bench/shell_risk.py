"""How fast and how right the shell risk classifier is on the labelled set.

    python bench/shell_risk.py [--rounds N]

Per command the best of N runs in this process; p50 and p95 over all commands, and as ratios to a bare tree-sitter parse
of the same text. The goal is a p95 of at most 2 ms. The table counts what differs from the labels; labels that rest
on a prepared repository (`state`, `env`) are left to the tests.
"""

import argparse
import functools
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import tree_sitter_bash
from tree_sitter import Language, Parser

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from codeplane.govern.shell_risk.classifier import classify
from codeplane.govern.shell_risk.context import ShellContext
from support.shell_cases import FILES, cases_of, confirm, context_of, needs_place

CONTEXT = ShellContext(root="/repo", cwd="/repo")


def best(action: Callable[[], object], rounds: int) -> float:
    """Return the milliseconds of the fastest run."""
    times = []
    for _ in range(rounds):
        started = time.perf_counter()
        action()
        times.append(time.perf_counter() - started)
    return min(times) * 1000


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    cases = [case for file in FILES for case in cases_of(file) if not needs_place(case)]
    texts = [(confirm.command_text(case), case["shell"]) for case in cases]
    own = [best(functools.partial(classify, text, shell, CONTEXT), rounds) for text, shell in texts]
    bare = Parser(Language(tree_sitter_bash.language()))
    sources = [text.encode("utf-8", "surrogatepass") for text, _ in texts]
    floor = [best(functools.partial(bare.parse, source), rounds) for source in sources]
    for name, position in (("p50", 49), ("p95", 94)):
        ours, theirs = (statistics.quantiles(times, n=100)[position] for times in (own, floor))
        print(f"{name}: {ours:.3f} ms, {ours / theirs:.1f} times a bare parse ({theirs:.3f} ms)")
    print(f"slowest: {max(own):.3f} ms")
    _print_score()


def _print_score() -> None:
    print(f"{'file':24} {'cases':>6} {'dangerous SAFE':>15} {'plain refused':>14} {'borderline':>11}")
    for file in FILES:
        counts: Counter[str] = Counter()
        for case in cases_of(file):
            if needs_place(case):
                continue
            verdict = classify(confirm.command_text(case), case["shell"], context_of(case, Path())).verdict.value
            counts["cases"] += 1
            if verdict == case["verdict"]:
                continue
            kind = "dangerous" if verdict == "SAFE" else "plain" if case["verdict"] == "SAFE" else "other"
            counts["borderline" if case.get("borderline") else kind] += 1
        numbers = (counts["cases"], counts["dangerous"], counts["plain"], counts["borderline"])
        print("{:24} {:>6} {:>15} {:>14} {:>11}".format(file, *numbers))


if __name__ == "__main__":
    main()
