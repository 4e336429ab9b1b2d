"""The labelled shell commands with the context each is judged in."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from codeplane.govern.shell_risk.context import ShellContext
from codeplane.govern.shell_risk.surroundings import look_around

FOLDER = Path(__file__).resolve().parent.parent / "govern" / "shell_cases"
FILES = tuple(sorted(path.stem for path in FOLDER.glob("*.jsonl")))


def _load_confirm() -> ModuleType:
    """The runner lies beside the cases, which are data and no package."""
    specification = importlib.util.spec_from_file_location("shell_case_confirm", FOLDER / "confirm.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules[specification.name] = module
    specification.loader.exec_module(module)
    return module


confirm = _load_confirm()


def cases_of(file: str) -> list[dict[str, Any]]:
    """Return the cases of one file."""
    prefix = file.replace("_", "-") + "-"
    return [case for case in confirm.load_cases() if case["id"].startswith(prefix)]


def needs_place(case: dict[str, Any]) -> bool:
    """Tell whether the label rests on what the set-up or the environment left behind, not on the text alone."""
    is_configured = case["id"].startswith("git-") and any("git config" in line for line in case.get("setup", ()))
    is_prepared = case["id"].startswith("parser-holes-") and "setup" in case
    return is_configured or is_prepared or case["id"].startswith("state-") or "env" in case


def context_of(case: dict[str, Any], scratch: Path) -> ShellContext:
    """Return the context; only where the label rests on it a scratch repository is built."""
    if not needs_place(case):
        return ShellContext(root="/repo", cwd="/outside" if case.get("cwd") == "outside" else "/repo")
    directory = confirm.prepare(case, scratch)
    text = confirm.command_text(case)
    return look_around(scratch / "repo", directory, confirm.environment(scratch, case), text)
