"""How long extraction takes beside bare parsing, and how far its facts agree with the standard library.

python bench/extract_python.py --repo DIRECTORY [--judge]
"""

import argparse
import gc
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tree_sitter import Parser

from codeplane.languages.python.extract import extract
from codeplane.languages.python.syntax import PYTHON

ROOT = Path(__file__).resolve().parent.parent


def main() -> int:
    """Print the ratio, and with `--judge` the disagreements."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--repo", type=Path, default=ROOT / "src", help="directory whose Python files are read")
    arguments.add_argument("--runs", type=int, default=3, help="the best of so many runs counts")
    arguments.add_argument("--judge", action="store_true", help="also count disagreements with ast and symtable")
    options = arguments.parse_args()
    files = {path: path.read_bytes() for path in sorted(options.repo.rglob("*.py")) if path.is_file()}
    sources = list(files.values())
    parser = Parser(PYTHON)
    parsing, extracting = best_of(options.runs, [parser.parse, extract], sources)
    print(f"{len(sources)} files, {sum(map(len, sources)) / 1e6:.1f} MB")
    print(f"parse {parsing:.2f} s, extract {extracting:.2f} s, ratio {extracting / parsing:.2f}")
    gc.disable()
    parsing, extracting = best_of(options.runs, [parser.parse, extract], sources)
    gc.enable()
    print(f"without garbage collection: ratio {extracting / parsing:.2f}")
    return print_disagreements(files, options.repo) if options.judge else 0


def best_of(runs: int, actions: list[Callable[[bytes], object]], sources: list[bytes]) -> list[float]:
    """Return the best time of each action, the actions taking turns so that noise meets all of them."""
    best = [float("inf")] * len(actions)
    for _ in range(runs):
        for number, action in enumerate(actions):
            begin = time.perf_counter()
            for source in sources:
                action(source)
            best[number] = min(best[number], time.perf_counter() - begin)
    return best


def print_disagreements(files: dict[Path, bytes], root: Path) -> int:
    """Print each disagreement with its file and the number of them; 1 when there is any."""
    sys.path.insert(0, str(ROOT / "tests"))
    from languages.python_judge import judge  # noqa: PLC0415 - the judge lives with the tests, found only from here

    n_disagreements = n_skipped = 0
    for path, source in files.items():
        found = judge(source)
        n_skipped += found is None
        for disagreement in found or ():
            n_disagreements += 1
            print(f"{path.relative_to(root)}: {disagreement}")
    print(f"{n_disagreements} disagreements; {n_skipped} files that Python itself cannot compile were left out")
    return int(n_disagreements > 0)


if __name__ == "__main__":
    sys.exit(main())
