"""`cpl` with toy operations, so that tests can hold a call open in a real process."""

import sys
import time
from pathlib import Path
from types import MappingProxyType

from codeplane.core.errors import CodePlaneError
from codeplane.ledger.effects import EffectClass
from codeplane.operations.catalog import TOOLS
from codeplane.operations.models import Request, Result
from codeplane.operations.operation import CallContext, Example, Operation, planned


class WaitRequest(Request):
    """Where to leave marks and look for the release."""

    directory: str


class WaitResult(Result):
    """How often it looked."""

    looks: int


def _wait(context: CallContext, request: WaitRequest) -> WaitResult:
    """Work until the file `release` appears; `started` and `cancelled` tell the test what happened."""
    directory = Path(request.directory)
    (directory / "started").touch()
    looks = 0
    deadline = time.monotonic() + 60
    while not (directory / "release").exists() and time.monotonic() < deadline:
        looks += 1
        context.report_progress(looks, None, "waiting")
        if context.is_cancelled():
            (directory / "cancelled").touch()
            raise CodePlaneError("CANCELLED")
        time.sleep(0.02)
    return WaitResult(looks=looks)


class BreakRequest(Request):
    """What the failure says."""

    text: str = "a bug"


def _break(_context: CallContext, request: BreakRequest) -> WaitResult:
    raise RuntimeError(request.text)


WAIT = Operation(
    name="toy_wait",
    family="toys",
    summary="Wait for a file.",
    request_type=WaitRequest,
    result_type=WaitResult,
    effect=EffectClass.READ,
    plan=planned(_wait),
    render=lambda result: f"looked {result.looks} times",
    when_to_use=("In tests.",),
    when_not_to_use=("Elsewhere.",),
    examples=(Example("Wait", {"directory": "somewhere"}),),
)
BREAK = Operation(
    name="toy_break",
    family="toys",
    summary="Fail with a bug.",
    request_type=BreakRequest,
    result_type=WaitResult,
    effect=EffectClass.READ,
    plan=planned(_break),
    render=lambda _result: "",
    when_to_use=("In tests.",),
    when_not_to_use=("Elsewhere.",),
    examples=(Example("Fail", {}),),
)
TOY_OPERATIONS = MappingProxyType({**TOOLS, WAIT.name: WAIT, BREAK.name: BREAK})


def main() -> int:
    """Run `cpl` with the toys in its catalog."""
    # The catalog is a constant; the toys enter by replacing the name in the two modules that build servers.
    from codeplane.surfaces import entry  # noqa: PLC0415 - as `python -m codeplane` would.
    from codeplane.surfaces.server import embedded, foreground, host  # noqa: PLC0415

    # A call that takes long is tried there; the real patience would make its test wait.
    vars(host)["_HTTP_PATIENCE_WHILE_BUILDING"] = 2.0
    for module in (embedded, foreground):
        vars(module)["TOOLS"] = TOY_OPERATIONS
    return entry.main()


if __name__ == "__main__":
    sys.exit(main())
