"""What a verb is, what it answers, and the two ways in which it does not succeed."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from codeplane.controller.codes import Code, Violation

if TYPE_CHECKING:
    from codeplane.controller.turn_work import TurnWork


class DeniedError(Exception):
    """A rule forbids the turn; every reason is a violation with a code of the closed table.

    `result` is what the answer tells beside the violations, `insufficiency` what a context pack lacks.
    """

    def __init__(
        self,
        *violations: Violation,
        result: Mapping[str, Any] | None = None,
        insufficiency: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(violations[0].message if violations else "")
        self.violations = violations
        self.result = dict(result or {})
        self.insufficiency = insufficiency


class FaultError(Exception):
    """Something is wrong that is not the plan's fault: a file vanished, a connector is down, a person must answer."""

    def __init__(self, kind: str, message: str, *, is_retryable: bool = False, **details: Any) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.is_retryable = is_retryable
        self.details = details

    def as_json(self) -> dict[str, Any]:
        """Return the error as `result.error` has it."""
        found = {"kind": self.kind, "message": self.message, "retryable": self.is_retryable, "attempts": 1}
        return found | {name: value for name, value in self.details.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Reply:
    """What a verb answers, and the sources that the answer shows."""

    result: Mapping[str, Any]
    sources: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Verb:
    """One verb.

    One argument of `one_of` is enough. Arguments in `may_be_blank` may be empty texts. A mutation carries out a node of
    the accepted plan.
    """

    name: str
    description: str
    when_to_use: str
    run: "Callable[[TurnWork, Mapping[str, Any]], Reply]"
    required: Mapping[str, type] = field(default_factory=lambda: MappingProxyType({}))
    optional: Mapping[str, type] = field(default_factory=lambda: MappingProxyType({}))
    one_of: tuple[str, ...] = ()
    may_be_blank: tuple[str, ...] = ()
    is_mutation: bool = False

    def described(self) -> dict[str, Any]:
        """Return what a response says about the verb."""
        required = ["|".join(self.one_of)] if self.one_of else list(self.required)
        return {
            "description": self.description,
            "whenToUse": self.when_to_use,
            "requiredArgs": required,
            "optionalArgs": [name for name in self.optional if name not in self.one_of],
        }


def denied(code: Code, detail: str, message: str, pointer: str | None = None, **more: Any) -> DeniedError:
    """Return a denial with one violation."""
    return DeniedError(Violation(code, detail, message, pointer, **more))


def wrong_argument(name: str, message: str) -> DeniedError:
    """Return the denial of an argument with a wrong type or value."""
    return denied(Code.MISSING_FIELDS, "arg_type", message, f"/args/{name}")
