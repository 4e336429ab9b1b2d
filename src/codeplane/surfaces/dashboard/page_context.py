"""What a view gets: a way to run operations as the person who looks."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from codeplane.core.callers import Caller
from codeplane.core.errors import CodePlaneError, ErrorReport
from codeplane.operations.answer import Answer
from codeplane.surfaces.dashboard.login import Notice

# What the address of a page asks for, and what a form holds.
Query = Mapping[str, str]
Data = dict[str, Any]
Run = Callable[[str, dict[str, Any], Caller, None], Awaitable[Answer | ErrorReport]]


@dataclass(frozen=True, slots=True)
class PageContext:
    """Runs operations for one page; `status` is what `/status` answers, `health` what `/status/health` does."""

    run: Run
    caller: Caller
    now_ms: int
    status: Callable[[], Awaitable[Data]]
    health: Callable[[], Awaitable[Data]]

    async def read(self, operation: str, /, **arguments: Any) -> Data:
        """Return the result of an operation; arguments that are None or empty are left out.

        Raises:
            CodePlaneError: what the operation answered with.
        """
        given = {name: value for name, value in arguments.items() if value not in (None, "")}
        answer = await self.run(operation, given, self.caller, None)
        if isinstance(answer, Answer) and answer.result is not None:
            return answer.result.model_dump(mode="json")
        report = answer.error if isinstance(answer, Answer) else answer
        if report is None:
            raise CodePlaneError("INTERNAL_ERROR", f"{operation} gave no answer.")
        raise CodePlaneError(
            report.error, report.message, hint=report.required_action, details=dict(report.details or {})
        )


Show = Callable[[PageContext, Query], Awaitable[Data]]


@dataclass(frozen=True, slots=True)
class Done:
    """Where an action leads, and what the next page says about it."""

    address: str
    notice: Notice


Act = Callable[[PageContext, Query], Awaitable[Done]]


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """One page. `path` is below `/dashboard`; `template` is `templates/<name>.html`.

    `show` returns what the template needs, `act` carries out a form that was sent to the page's own address. `rest`
    names the addresses with the same data; names in braces stand for parts of the page's address. `belongs_to` is the
    view of the menu from which this one is reached.
    """

    name: str
    title: str
    path: str
    show: Show
    rest: tuple[str, ...] = ()
    act: Act | None = None
    belongs_to: str = ""

    @property
    def is_in_menu(self) -> bool:
        """Tell whether the menu lists it."""
        return not self.belongs_to

    @property
    def menu_name(self) -> str:
        """Return the name of the entry of the menu that is marked."""
        return self.belongs_to or self.name
