"""The one exception base class and the error object that every surface shows."""

import json
from dataclasses import dataclass, field
from typing import Any

from codeplane.core.error_registry import ErrorEntry, entry_for
from codeplane.core.printable import encodable


class CodePlaneError(Exception):
    """A failure with a code from the registry; the message says what happened to what, the hint what to do now.

    An ordinary class (picklable, with a traceback that context managers may set), never a frozen dataclass.
    """

    def __init__(self, code: str, message: str = "", *, hint: str = "", details: dict[str, Any] | None = None) -> None:
        self.entry: ErrorEntry = entry_for(code)
        self.code = code
        self.message = message or self.entry.message
        self.hint = hint or self.entry.required_action
        self.details = dict(details or {})
        super().__init__(self.message)

    def __reduce__(self) -> tuple[Any, ...]:
        """Rebuild from the constructor's arguments, keyword ones included."""
        return (_rebuild, (type(self), self.code, self.message, self.hint, self.details))

    def report(self) -> "ErrorReport":
        """Return the error object as data."""
        return ErrorReport(self.code, self.message, self.hint, self.details)


def _rebuild(kind: type[CodePlaneError], code: str, message: str, hint: str, details: dict[str, Any]) -> CodePlaneError:
    error = kind.__new__(kind)
    CodePlaneError.__init__(error, code, message, hint=hint, details=details)
    return error


@dataclass(frozen=True, slots=True)
class ErrorReport:
    """An error as it is answered, logged and recorded.

    Invariant: every text in it can be written as UTF-8.
    """

    error: str
    message: str
    required_action: str = ""
    details: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Escape what no encoder takes: text of a file that is not UTF-8 holds its bytes as lone surrogates."""
        for name in ("message", "required_action", "details"):
            object.__setattr__(self, name, encodable(getattr(self, name)))

    def as_dict(self) -> dict[str, Any]:
        """Return the error object of the specs, with the aliases some clients look for."""
        entry = entry_for(self.error)
        action = self.required_action or entry.required_action
        return {
            "code": entry.number,
            "error": entry.name,
            "message": self.message,
            "retryable": entry.retryable,
            "details": self.details,
            "required_action": action,
            "error_code": entry.name,
            "recoverable": entry.recoverable,
            "suggestion": action,
        }

    def as_text(self) -> str:
        """Return the same as short text for a model or a terminal."""
        entry = entry_for(self.error)
        lines = [f"{entry.name} ({entry.number}): {self.message}"]
        action = self.required_action or entry.required_action
        if action:
            lines.append(action)
        call = self.details.get("correct_call")
        if isinstance(call, dict):
            lines.append(f"For example: {call['operation']} {json.dumps(call['arguments'], ensure_ascii=False)}")
        active = self.details.get("active_intents")
        if active and not any(str(active[0]) in line for line in lines[1:2]):
            lines.append(f"Active intents: {', '.join(map(str, active))}")
        return "\n".join(lines)
