"""Workflow presets: which tools must have been called before an agent may act, and how strictly that is enforced."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from codeplane.core.errors import CodePlaneError

GATES: Final = ("teach", "learn", "reason")
ENFORCEMENTS: Final = ("lenient", "moderate", "strict", "custom")
_NAME: Final = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,79}")
_MINUTE_MS: Final = 60_000
_MAX_TTL_MS: Final = 24 * 60 * _MINUTE_MS
_DESCRIPTIONS: Final = ("Share what was learned.", "Look for what is known.", "Think before acting.")


def _preset(name: str, description: str, tools: Sequence[str], minutes: tuple[int, int], how: str) -> dict[str, Any]:
    gates = {
        gate: {"required_tools": listed.split(), "description": text}
        for gate, listed, text in zip(GATES, tools, _DESCRIPTIONS, strict=True)
    }
    ttl = {"operation": minutes[0] * _MINUTE_MS, "session": minutes[1] * _MINUTE_MS}
    return {"name": name, "description": description, "gates": gates, "token_ttl": ttl, "enforcement": how}


BUILT_IN: Final[Mapping[str, Mapping[str, Any]]] = {
    "three-gate": _preset(
        "three-gate", "Teach, learn and reason before files are edited.",
        ("record_experience tag_experience", "search_experiences gather_context", "reason_through finalize_decision"),
        (5, 60), "moderate",
    ),
    "minimal": _preset("minimal", "No gate; reminders only.", ("", "", ""), (10, 120), "lenient"),
    "strict": _preset(
        "strict", "More steps at every gate, before edits and commands.",
        ("record_experience tag_experience export_experiences",
         "search_experiences get_experience gather_context",
         "analyze_problem reason_through finalize_decision"),
        (3, 30), "strict",
    ),
    "custom": _preset("custom", "A start for a preset of your own.", ("", "", ""), (5, 60), "custom"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ConfigReport:
    """What is wrong with a preset, and what could be better."""

    errors: tuple[str, ...]
    warnings: tuple[str, ...]


def check_name(name: str) -> str:
    """Return a preset's name if it can be one.

    Raises:
        CodePlaneError: PRESET_NOT_FOUND.
    """
    if not _NAME.fullmatch(name) or ".." in name:
        raise CodePlaneError("PRESET_NOT_FOUND", f"`{name[:80]}` cannot be the name of a preset.")
    return name


def check_preset(config: Mapping[str, Any]) -> ConfigReport:
    """Check the shape of a preset."""
    errors: list[str] = []
    warnings: list[str] = []
    name = config.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        errors.append("name is missing or not a name." if name else "name is missing.")
    gates = config.get("gates")
    if isinstance(gates, Mapping):
        for gate in GATES:
            _check_gate(gate, gates.get(gate), errors, warnings)
    else:
        errors.append("gates is missing." if gates is None else "gates is not an object.")
    if not config.get("description"):
        warnings.append("description is missing.")
    if config.get("enforcement", "custom") not in ENFORCEMENTS:
        errors.append(f"enforcement is not one of {', '.join(ENFORCEMENTS)}.")
    ttl = config.get("token_ttl", {})
    for kind in ("operation", "session"):
        value = ttl.get(kind, _MINUTE_MS) if isinstance(ttl, Mapping) else ttl
        if not isinstance(value, int | float) or isinstance(value, bool):
            warnings.append(f"token_ttl.{kind} is not a number.")
    return ConfigReport(tuple(errors), tuple(warnings))


def _check_gate(name: str, gate: Any, errors: list[str], warnings: list[str]) -> None:
    if not isinstance(gate, Mapping):
        errors.append(f"gate {name} is missing.")
        return
    tools = gate.get("required_tools")
    if tools is None:
        warnings.append(f"gate {name} has no required_tools.")
    elif not isinstance(tools, list) or not all(isinstance(one, str) for one in tools):
        errors.append(f"required_tools of gate {name} is not a list of names.")
    if not gate.get("description"):
        warnings.append(f"gate {name} has no description.")


def parse_preset(text: str, name: str) -> dict[str, Any]:
    """Return a preset from a file.

    Raises:
        CodePlaneError: CONFIG_INVALID.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CodePlaneError("CONFIG_INVALID", f"The preset {name} is not JSON.") from error
    if not isinstance(document, dict):
        raise CodePlaneError("CONFIG_INVALID", f"The preset {name} is not an object.")
    report = check_preset(document)
    if report.errors:
        raise CodePlaneError("CONFIG_INVALID", f"The preset {name} is not valid: {' '.join(report.errors)}")
    return document


def required_tools(preset: Mapping[str, Any], gate: str) -> tuple[str, ...]:
    """Return the tools that a gate asks for."""
    return tuple(preset["gates"][gate].get("required_tools") or ())


def token_ttl_ms(preset: Mapping[str, Any] | None, kind: str) -> int:
    """Return how long tokens of a kind live; without a preset as in three-gate."""
    ttl = (preset or BUILT_IN["three-gate"]).get("token_ttl")
    value = ttl.get(kind) if isinstance(ttl, Mapping) else None
    usual = BUILT_IN["three-gate"]["token_ttl"][kind]
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and value > 0
    return min(_MAX_TTL_MS, int(value)) if is_number and value is not None else int(usual)
