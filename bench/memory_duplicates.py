"""How well duplicates are told from near misses: backports in a real history against their originals and neighbours.

A backport says the same as the commit it names, with another branch in front and a line behind. Pairs that say
something else are commits that the store itself finds nearest to each other.
"""

import argparse
import random
import re
import subprocess
import sys
from pathlib import Path

from codeplane.memory.near_duplicates import bands_of, is_duplicate, shape_of

_BACKPORT = re.compile(r"(?im)^\s*backport of\s+([0-9a-f]{7,40})")


def messages(repo: Path, *arguments: str) -> dict[str, str]:
    """Return the messages of commits by hash."""
    command = ["git", "-C", str(repo), "log", "--format=%x1e%H%x1f%B", *arguments]
    log = subprocess.run(command, check=True, capture_output=True, timeout=600).stdout.decode("utf-8", "replace")
    return {sha: text.strip() for sha, _, text in (block.partition("\x1f") for block in log.split("\x1e")[1:])}


def main() -> int:
    """Print precision, recall and F1."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repo", type=Path, required=True, help="a clone with its stable branches (Django)")
    parser.add_argument("--pairs", type=int, default=2000)
    arguments = parser.parse_args()
    originals = messages(arguments.repo, "HEAD")
    backports = messages(arguments.repo, "--branches", "--remotes", "--grep=^Backport of")
    full = {sha[:10]: sha for sha in originals}
    pairs = []
    for text in backports.values():
        named = _BACKPORT.search(text)
        sha = full.get(named[1][:10]) if named is not None else None
        if sha is not None:
            pairs.append((text, originals[sha]))
    source = random.Random(1)
    pairs = source.sample(pairs, min(arguments.pairs, len(pairs)))
    missed = [pair for pair in pairs if not is_duplicate(shape_of(pair[0]), shape_of(pair[1]))]
    wrong = [pair for pair in _neighbours(list(originals.values()), len(pairs)) if _is_wrong(*pair)]
    n_right = len(pairs) - len(missed)
    precision, recall = n_right / (n_right + len(wrong)), n_right / len(pairs)
    print(f"{len(pairs)} backports and as many near misses: precision {precision:.3f}, recall {recall:.3f}", end=", ")
    print(f"F1 {2 * precision * recall / (precision + recall):.3f}")
    for first, second in wrong[:5]:
        print(f"merged: {first.splitlines()[0][:90]!r} and {second.splitlines()[0][:90]!r}")
    return 0


def _neighbours(texts: list[str], n_wanted: int) -> list[tuple[str, str]]:
    """Return pairs of different texts that share a bucket."""
    buckets: dict[int, list[str]] = {}
    found: list[tuple[str, str]] = []
    for text in texts:
        for band in bands_of(shape_of(text)):
            others = buckets.setdefault(band, [])
            if others and others[-1] != text:
                found.append((others[-1], text))
            others.append(text)
        if len(found) >= 3 * n_wanted:
            break
    return random.Random(2).sample(found, min(n_wanted, len(found)))


def _is_wrong(first: str, second: str) -> bool:
    """Tell whether two commits that are not the same were taken for it; equal first lines are the same lesson."""
    if first.splitlines()[0].strip(". ").lower() == second.splitlines()[0].strip(". ").lower():
        return False
    return is_duplicate(shape_of(first), shape_of(second))


if __name__ == "__main__":
    sys.exit(main())
