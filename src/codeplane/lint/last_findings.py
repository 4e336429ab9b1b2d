"""What tools found in the last call, so that the next one can tell what has come since."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from codeplane.core.kept_results import read_json, write_json
from codeplane.lint.model import Finding

_MAX_FILES: Final = 2_000

# What a tool said of a file, whatever the lines; they move.
_Said = Counter[tuple[str, str]]


class LastFindings:
    """The findings of the last call for each file and tool, in a file; damaged, it is empty."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def marked(self, found: Sequence[Finding]) -> list[Finding]:
        """Return the findings; those that the same tool did not have in the same file last time are new."""
        known = self._load()
        said: dict[tuple[str, str], _Said] = {}
        marked = []
        for one in found:
            place = (one.path, one.tool)
            if one.path in known and one.tool in known[one.path]:
                left = said.setdefault(place, Counter(tuple(row) for row in known[one.path][one.tool]))
                left[one.rule, one.message] -= 1
                marked.append(replace(one, is_new=one.is_new or left[one.rule, one.message] < 0))
            else:
                marked.append(one)
        return marked

    def record(self, checked: Iterable[tuple[str, str]], found: Sequence[Finding]) -> None:
        """Replace what is known of these files and tools.

        Raises:
            OSError: it cannot be written.
        """
        known = self._load()
        for path, tool in checked:
            tools = known.pop(path, {})
            known[path] = {**tools, tool: []}
        for one in found:
            known.get(one.path, {}).get(one.tool, []).append([one.rule, one.message])
        self._path.parent.mkdir(parents=True, exist_ok=True)
        write_json(self._path, {"files": dict(list(known.items())[-_MAX_FILES:])})

    def _load(self) -> dict[str, dict[str, list[Any]]]:
        document = read_json(self._path)
        files = document.get("files") if document is not None else None
        return files if isinstance(files, dict) else {}
