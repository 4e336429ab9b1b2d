"""One turn of a player: run its calls, log them, and return what a model reads."""

import json
import time
from typing import Any

from .play import Output, Play, run_shell
from .session import ask_session


def take_turn(play: Play, given: str) -> str:
    """Play one turn, log each of its calls, and return what the model reads."""
    if (play.directory / "result.json").exists():
        raise SystemExit("This play is finished. Prepare another directory.")
    calls = [("shell", given)] if play.arm == "shell" else _tool_calls(given)
    if isinstance(calls, Output):
        outputs, calls = [calls], [("(unreadable)", given)]
    elif play.arm == "shell":
        outputs = [run_shell(play, given)]
    else:
        outputs = ask_session(play, json.loads(given))
    turn = max((call["turn"] for call in play.calls()), default=0) + 1
    with play.log.open("a", encoding="utf-8") as log:
        for (tool, text), output in zip(calls, outputs, strict=True):
            log.write(json.dumps(_record(play, turn, tool, text, output), ensure_ascii=False) + "\n")
    if len(outputs) == 1:
        return outputs[0].text
    headed = zip(calls, outputs, strict=True)
    return "\n".join(f"--- {i} {tool}\n{output.text}" for i, ((tool, _), output) in enumerate(headed, 1))


def _tool_calls(given: str) -> list[tuple[str, str]] | Output:
    """Return the tool and the text of each call, or an error that the model reads."""
    try:
        parsed = json.loads(given)
        calls = parsed if isinstance(parsed, list) else [parsed]
        return [(call["tool"], json.dumps(call.get("arguments", {}), ensure_ascii=False)) for call in calls]
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        form = '{"tool": NAME, "arguments": {…}} or a list of them'
        return Output(f"The turn is not readable: {error!r}. Write JSON: {form}.", True)


def _record(play: Play, turn: int, tool: str, text: str, output: Output) -> dict[str, Any]:
    return {
        "time": time.time(),
        "arm": play.arm,
        "turn": turn,
        "tool": tool,
        "chars_in": len(tool) + len(text),
        "chars_out": len(output.text),
        "is_error": output.is_error,
        "in": text,
        "out": output.text,
    }
