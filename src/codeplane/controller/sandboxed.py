"""Programs of plans: the body of `main(inputs)`, checked before it runs in the embedded interpreter."""

import ast
import json
import re
import textwrap
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Final

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError

from codeplane.controller.codes import Code
from codeplane.controller.verb import DeniedError, FaultError, denied, wrong_argument
from codeplane.core.sandbox import Sandbox

DEFAULT_TIMEOUT_MS: Final = 5_000
DEFAULT_MEMORY_MB: Final = 128
_TIMEOUTS: Final = (100, 30_000)
_MEMORY: Final = (32, 512)
_MAX_CODE: Final = 50_000
_IMPORTS: Final = frozenset({"json", "math", "re", "datetime", "typing"})
_FORBIDDEN: Final = frozenset({"open", "exec", "eval", "compile", "input", "__import__", "globals", "locals", "vars"})
_PLACEHOLDER: Final = re.compile(
    r"(ok|done|success|todo|tbd|n/?a|none|null|placeholder|test|foo|bar)\W*", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Program:
    """A program with its limits."""

    code: str
    inputs: Any
    seconds: float
    memory_bytes: int
    expected: Mapping[str, Any] | None


def read_program(arguments: Mapping[str, Any]) -> Program:
    """Return the program of a turn, after the preflight.

    Raises:
        DeniedError: a limit is out of range, or the code uses what it may not.
    """
    timeout = arguments.get("timeoutMs", DEFAULT_TIMEOUT_MS)
    memory = arguments.get("memoryMb", DEFAULT_MEMORY_MB)
    for name, value, (least, most) in (("timeoutMs", timeout, _TIMEOUTS), ("memoryMb", memory, _MEMORY)):
        if not least <= value <= most:
            raise _preflight(f"{name} is from {least} to {most}.", name)
    code = arguments["code"]
    if len(code) > _MAX_CODE:
        raise _preflight(f"The code has more than {_MAX_CODE} characters.")
    for problem in _problems(code):
        raise _preflight(problem)
    expected = arguments.get("expectedReturn")
    if expected is not None:
        _check_schema(expected)
    return Program(code, arguments.get("declaredInputs", {}), timeout / 1000, memory * 1_000_000, expected)


def run_program(program: Program) -> Any:
    """Run a program and return what it returned.

    Raises:
        DeniedError: the value is a placeholder or not of the expected shape.
        FaultError: the program failed or overran its limits.
    """
    body = textwrap.indent(program.code, "    ")
    inputs = json.dumps(json.dumps(program.inputs))
    text = f"def main(inputs):\n{body}\nimport json\nmain(json.loads({inputs}))"
    with closing(Sandbox(program.seconds)) as sandbox:
        outcome = sandbox.run(text, {}, seconds=program.seconds, max_memory=program.memory_bytes)
    if outcome.error is not None:
        line = outcome.error.line - 1 if outcome.error.line else None
        raise FaultError("sandbox_failed", outcome.error.message[:1_000], line=line, printed=outcome.printed[-500:])
    if is_placeholder(outcome.returned, program.inputs):
        raise denied(Code.POLICY, "sandbox_placeholder", "The program returned nothing of substance.", "/args/code")
    if program.expected is not None:
        problems = sorted(Draft202012Validator(dict(program.expected)).iter_errors(outcome.returned), key=str)
        if problems:
            message = f"The value is not as expectedReturn says: {problems[0].message[:300]}"
            raise denied(Code.POLICY, "sandbox_return", message, "/args/expectedReturn")
    return outcome.returned


def is_placeholder(value: Any, inputs: Any) -> bool:
    """Tell whether a value only pretends to be a result."""
    if value is None or value is True or value is False or value in ("", [], {}):
        return True
    if isinstance(value, str) and _PLACEHOLDER.fullmatch(value.strip()):
        return True
    return bool(value == inputs)


def _problems(code: str) -> Iterator[str]:
    try:
        tree = ast.parse(f"def main(inputs):\n{textwrap.indent(code, '    ')}\n")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        yield f"The code does not parse as the body of a function: {error}."
        return
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [one.name.partition(".")[0] for one in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [(node.module or "").partition(".")[0]]
        bad = [name for name in names if name not in _IMPORTS]
        if bad:
            yield f"{bad[0] or 'a relative import'} cannot be imported. Allowed: {', '.join(sorted(_IMPORTS))}."
        if isinstance(node, ast.Attribute) and node.attr.startswith("__"):
            yield f"The attribute {node.attr} is not allowed."
        if isinstance(node, ast.Name) and node.id in _FORBIDDEN:
            yield f"{node.id} is not allowed."


def _check_schema(schema: Any) -> None:
    if not isinstance(schema, Mapping):
        raise wrong_argument("expectedReturn", "expectedReturn is a JSON Schema.")
    try:
        Draft202012Validator.check_schema(dict(schema))
    except SchemaError as error:
        raise _preflight(f"expectedReturn is not a JSON Schema: {error.message[:200]}", "expectedReturn") from error


def _preflight(message: str, name: str = "code") -> DeniedError:
    return denied(Code.POLICY, "sandbox_preflight", message, f"/args/{name}")
