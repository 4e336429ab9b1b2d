"""What the stdio bridge answers itself while its server starts: `initialize`, `ping` and `tools/list`.

Agents give a tool server a second or less before they go on without its tools; a first start on a cold machine takes
longer. The standard library is enough to import this.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from codeplane.core.version import VERSION
from codeplane.operations.tool_list import CONTROLLER, CORE, stored_cards, tool_documents

SERVER_NAME = "codeplane"
SERVER_TITLE = "CodePlane"
INSTRUCTIONS = (
    "CodePlane has an index of this repository; answers are never stale and say what is missing. Most tasks need three "
    "calls. One `search` with show=code (several queries, or a mode such as references) instead of grep and reading "
    "files. One `write_source` with all edits, which happen together or not at all; what was shown needs no hash. One "
    "check: its answer names syntax errors, leftovers, broken references and affected tests; `undo` takes it back. "
    "`run` loops over hits and edits by rule in one call. "
    "`call` runs further operations (git and more; `describe` lists them). Paths are relative to the repository root."
)
CONTROLLER_INSTRUCTIONS = (
    "One tool, `controller_turn`. Send runSessionId and workId of the first answer with every further turn. Read with "
    "read_file_lines and search_codebase_text; each answer has a traceRef to cite as evidence. list_scoped_files gives "
    "the envelope of a plan. submit_execution_plan checks it and says what is wrong with which node. Then "
    "apply_code_patch, run_automation_recipe (run_targeted_validation) and execute_gated_side_effect carry it out. "
    "Every answer lists the verbs that can be called now; after a denial suggestedAction says what to do. Call "
    "signal_task_complete at the end."
)
# Those with a handshake; a test compares with the SDK.
PROTOCOL_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")


def instructions_for(profile: str) -> str:
    """Return how the tools of a profile are best used."""
    return CONTROLLER_INSTRUCTIONS if profile == CONTROLLER else INSTRUCTIONS


class FirstAnswers:
    """Answers that need no server.

    Invariant: `told` is the tool list that the client has been given, None before it asked.
    """

    def __init__(self, profile: str) -> None:
        self._profile = profile
        self._tools = tool_documents(profile, stored_cards())
        self._is_greeted = False
        self.told: list[dict[str, Any]] | None = None

    def answer(self, request: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the result for a request, or None when only the server can answer it."""
        if self._tools is None or not _is_request(request):
            return None
        method, params = request["method"], request.get("params", {})
        if method == "ping":
            return {}
        if method == "initialize" and not self._is_greeted and _is_handshake(params):
            self._is_greeted = True
            return _greeting(params["protocolVersion"], self._profile)
        if method == "tools/list" and self._is_greeted and not params.get("cursor"):
            self.told = self._tools
            return {"tools": self._tools}
        return None


def _is_request(document: Mapping[str, Any]) -> bool:
    is_id = isinstance(document.get("id"), int | str) and not isinstance(document.get("id"), bool)
    is_shaped = isinstance(document.get("method"), str) and isinstance(document.get("params", {}), dict)
    return document.get("jsonrpc") == "2.0" and is_id and is_shaped


def _is_handshake(params: Mapping[str, Any]) -> bool:
    """Tell whether these are complete; the server says what is wrong with others."""
    client = params.get("clientInfo")
    return (
        isinstance(client, dict)
        and all(isinstance(client.get(name), str) for name in ("name", "version"))
        and isinstance(params.get("protocolVersion"), str)
        and isinstance(params.get("capabilities"), dict)
    )


def _greeting(requested: str, profile: str) -> dict[str, Any]:
    return {
        "protocolVersion": requested if requested in PROTOCOL_VERSIONS else PROTOCOL_VERSIONS[-1],
        # Rules may hide tools from the list that was given before the server had read them.
        "capabilities": {
            "prompts": {"listChanged": False},
            "resources": {"listChanged": False, "subscribe": False},
            "tools": {"listChanged": True},
        },
        "serverInfo": {"name": SERVER_NAME, "title": SERVER_TITLE, "version": VERSION},
        "instructions": instructions_for(profile),
    }


def default_profile(root: str, start: str, overrides: Sequence[str]) -> str:
    """Return the profile that the settings name; an empty text when they cannot be read.

    It is seldom set. Only where the word occurs in a source are the settings read, which takes a
    tenth of a second of imports.
    """
    if not _may_set_profile(root, overrides):
        return CORE
    # 100 ms of imports that the usual start does not need.
    from codeplane.core.errors import CodePlaneError  # noqa: PLC0415
    from codeplane.workspace.config import load_workspace_settings  # noqa: PLC0415
    from codeplane.workspace.workspace import locate_places  # noqa: PLC0415

    try:
        return load_workspace_settings(locate_places(Path(start)), overrides).values.mcp.profile.strip() or CORE
    except CodePlaneError:
        return ""


def _may_set_profile(root: str, overrides: Sequence[str]) -> bool:
    # 3 ms of imports that only a start without a server needs.
    from platformdirs import user_config_dir  # noqa: PLC0415

    if any("profile" in one.lower() for one in (*overrides, *_environment_names())):
        return True
    directories = (user_config_dir("codeplane", appauthor=False), f"{root}/.codeplane")
    return any(_mentions_profile(Path(directory, "config.yaml")) for directory in directories)


def _environment_names() -> tuple[str, ...]:
    return tuple(name for name in os.environ if name.upper().startswith("CODEPLANE__"))


def _mentions_profile(file: Path) -> bool:
    try:
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return False
    return any("profile" in line.partition("#")[0].lower() for line in lines)
