"""The report: both arms of each task side by side."""

import json
import statistics
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

COUNTS = ("calls", "turns", "tokens_in", "tokens_out", "context", "context_without_tools", "tool_errors")
ARMS = ("shell", "codeplane")
Row = dict[str, Any]


def report_rows(directories: Iterable[Path]) -> list[Row]:
    """Return one row per task, then the total over tasks that were played in both arms.

    Several plays of the same task and arm count with their mean.
    """
    played: dict[str, dict[str, list[Row]]] = {}
    for directory in directories:
        if not (directory / "result.json").exists():
            print(f"not finished: {directory}", file=sys.stderr)
            continue
        result = json.loads((directory / "result.json").read_text(encoding="utf-8"))
        played.setdefault(result["task"], {}).setdefault(result["arm"], []).append(result)
    rows = [_row(task, {arm: _mean(results) for arm, results in arms.items()}) for task, arms in played.items()]
    both = [row for row in rows if all(arm in row for arm in ARMS)]
    if not both:
        return rows
    total = {arm: {name: sum(row[arm][name] for row in both) for name in (*COUNTS, "solved")} for arm in ARMS}
    return [*rows, _row(f"total of {len(both)}", total)]


def _mean(results: Sequence[Row]) -> Row:
    means: Row = {name: statistics.fmean(result[name] for result in results) for name in (*COUNTS, "solved")}
    for name in ("precision", "recall"):
        if name in results[0]:
            means[name] = statistics.fmean(result[name] for result in results)
    return means


def _row(task: str, arms: dict[str, Row]) -> Row:
    row: Row = {"task": task, **arms}
    if all(arm in arms for arm in ARMS):
        shell, ours = (arms[arm] for arm in ARMS)
        row["ratio"] = {name: ours[name] / shell[name] if shell[name] else None for name in COUNTS}
    return row


def as_table(rows: Sequence[Row]) -> str:
    """Return a Markdown table; each cell is shell, codeplane and the ratio codeplane/shell."""
    lines = ["| task | " + " | ".join((*COUNTS, "result")) + " |", "|---" * (len(COUNTS) + 2) + "|"]
    for row in rows:
        cells = [_cell(row, name) for name in COUNTS]
        lines.append(f"| {row['task']} | " + " | ".join((*cells, _outcome(row))) + " |")
    return "\n".join([*lines, "", "Cells: shell / codeplane (codeplane/shell)."])


def _cell(row: Row, name: str) -> str:
    values = " / ".join(f"{row[arm][name]:.0f}" if arm in row else "-" for arm in ARMS)
    ratio = row.get("ratio", {}).get(name)
    return values if ratio is None else f"{values} ({ratio:.2f})"


def _outcome(row: Row) -> str:
    def one(result: Row | None) -> str:
        if result is None:
            return "-"
        if "recall" in result:
            return f"p {result['precision']:.2f} r {result['recall']:.2f}"
        return f"solved {result['solved']:g}"

    return " / ".join(one(row.get(arm)) for arm in ARMS)
