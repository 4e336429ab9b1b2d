"""Whether Codex runs our hooks: it skips each one that its user has not reviewed, without a word."""

import json
import tomllib
from pathlib import Path
from typing import Any, Final

from codeplane.core.errors import CodePlaneError
from codeplane.core.hashing import sha256_text
from codeplane.core.json_edits import parse_json
from codeplane.operations.agent_files import is_ours

_SETTINGS: Final = Path(".codex/config.toml")
_DEFAULT_TIMEOUT: Final = 600


def unreviewed_hooks(hooks_file: Path, root: Path, home: Path) -> list[str]:
    """Return why Codex would skip our hooks; none when its user has reviewed all of them."""
    settings = _settings(home / _SETTINGS)
    found = []
    in_project = hooks_file.is_relative_to(root)
    projects = settings.get("projects")
    known = projects.get(str(root)) if isinstance(projects, dict) else None
    if in_project and (known or {}).get("trust_level") != "trusted":
        found.append("Codex does not trust this directory yet, so it reads none of the hooks.")
    expected = trusted_hashes(hooks_file)
    state = settings.get("hooks", {}).get("state", {})
    missing = [key for key, wanted in expected.items() if state.get(key, {}).get("trusted_hash") != wanted]
    if missing:
        found.append(f"{len(missing)} of {len(expected)} hooks wait for a review: run /hooks in Codex.")
    return found


def trusted_hashes(hooks_file: Path) -> dict[str, str]:
    """Return the key and the hash under which Codex stores the review of each of our hooks."""
    try:
        document = parse_json(hooks_file.read_text(encoding="utf-8")).value
    except (OSError, CodePlaneError, UnicodeDecodeError):
        return {}
    found = {}
    for event, groups in document.get("hooks", {}).items():
        name = _snake(event)
        for group_number, group in enumerate(groups):
            for number, hook in enumerate(group.get("hooks", ())):
                if is_ours(hook):
                    found[f"{hooks_file}:{name}:{group_number}:{number}"] = _hash(name, group.get("matcher"), hook)
    return found


def _hash(event: str, matcher: str | None, hook: dict[str, Any]) -> str:
    told = {
        "type": "command",
        "command": hook["command"],
        "timeout": hook.get("timeout", _DEFAULT_TIMEOUT),
        "async": hook.get("async", False),
    }
    whole = {"event_name": event, **({"matcher": matcher} if matcher is not None else {}), "hooks": [told]}
    return f"sha256:{sha256_text(json.dumps(whole, sort_keys=True, separators=(',', ':'), ensure_ascii=False))}"


def _snake(event: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in event).lstrip("_")


def _settings(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError):
        return {}
