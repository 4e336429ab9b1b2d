"""The forms in which agents send edits, each resolved to spans of a file: occurrences, expressions, definitions."""

from collections.abc import Sequence
from typing import Any, Final

from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import RepoPath
from codeplane.core.printable import counted
from codeplane.edit.planning import SpanEdit, not_found
from codeplane.edit.texts import SourceFile
from codeplane.languages.catalog import dialect_of, load_language
from codeplane.languages.facts import Definition, DefinitionKind
from codeplane.workspace.workspace import Workspace

_MAX_LISTED: Final = 8


def occurrences(path: RepoPath, file: SourceFile, old: str, new: str, count: int | None) -> list[SpanEdit]:
    """Return an edit for every occurrence of a text.

    Raises:
        CodePlaneError: CONTENT_NOT_FOUND when there is none; CONTENT_AMBIGUOUS when there are not `count` of them.
    """
    wanted = old.replace("\r\n", "\n")
    found: list[SpanEdit] = []
    place = file.text.find(wanted)
    while place >= 0:
        found.append(SpanEdit(new, span=(place, place + len(wanted))))
        place = file.text.find(wanted, place + len(wanted))
    if not found:
        raise not_found(path, file, wanted)
    return _counted(path, file, found, count)


def matches(path: RepoPath, file: SourceFile, expression: str, new: str, count: int | None) -> list[SpanEdit]:
    r"""Return an edit for every match of an RE2 expression; `\1` and `\g<name>` in the new text are groups.

    Raises:
        CodePlaneError: INVALID_ARGUMENTS for an invalid expression; otherwise as `occurrences`.
    """
    # 10 ms that only expressions need.
    import re2  # noqa: PLC0415

    try:
        compiled = re2.compile(f"(?m){expression}")
        found = [
            SpanEdit(match.expand(new), span=match.span())
            for match in compiled.finditer(file.text)
            if match.start() != match.end()
        ]
    except (re2.error, IndexError) as error:
        raise CodePlaneError("INVALID_ARGUMENTS", f"Invalid expression or replacement: {error}.") from error
    if not found:
        message = f"The expression matches nothing in {path}."
        raise CodePlaneError("CONTENT_NOT_FOUND", message, details={"path": path.text})
    return _counted(path, file, found, count)


def _counted(path: RepoPath, file: SourceFile, found: list[SpanEdit], count: int | None) -> list[SpanEdit]:
    if count is not None and len(found) != count:
        lines = [file.line_at(one.span[0]) for one in found if one.span is not None]
        shown = ", ".join(map(str, lines[:_MAX_LISTED])) + (" …" if len(lines) > _MAX_LISTED else "")
        raise CodePlaneError(
            "CONTENT_AMBIGUOUS",
            f"{path} has {counted(len(found), 'occurrence')}, not {count}: at lines {shown}.",
            hint="Send the right count, `all: true`, or more context.",
            details={"path": path.text, "lines": lines[:100]},
        )
    return found


def at_definition(
    path: RepoPath, data: bytes, definitions: Sequence[Definition], name: str, where: str, new: str
) -> SpanEdit:
    """Return the edit that replaces a definition, or that inserts `before` or `after` it.

    Decorators stay unless the new text brings its own.

    Raises:
        CodePlaneError: CONTENT_NOT_FOUND when the file defines no such name; CONTENT_AMBIGUOUS when it does twice.
    """
    one = find_definition(path, data, definitions, name)
    first, last = lines_of(data, one)
    if where == "after":
        return SpanEdit(_with_gap(new, before=True), start_line=last + 1, end_line=last)
    decorated = first - n_decorator_lines(data, first, one)
    if where == "before":
        return SpanEdit(_with_gap(new, before=False), start_line=decorated, end_line=decorated - 1)
    return SpanEdit(new, start_line=decorated if new.lstrip().startswith("@") else first, end_line=last)


def definitions_in(workspace: Workspace, path: str, data: bytes) -> Sequence[Definition]:
    """Return the definitions of a file as it is: from the index if that has the same content."""
    try:
        known = workspace.index.known_definitions(path, data) if workspace.has_index else None
    except CodePlaneError:
        # A damaged index must not block reading; the next update repairs it and says so.
        known = None
    if known is not None:
        return known
    language = load_language(dialect_of(path))
    return language.extract(data).definitions if language is not None else []


def find_definition(path: RepoPath, data: bytes, definitions: Sequence[Definition], name: str) -> Definition:
    """Return the definition of a dotted name; its end is enough when only one fits.

    Raises:
        CodePlaneError: as `at_definition`.
    """
    wanted = name.strip().removesuffix("()").replace("::", ".").replace("#", ".")
    known = [one for one in definitions if one.kind is not DefinitionKind.PARAMETER]
    paths = [(f"{one.owner}.{one.name}" if one.owner else one.lexical_path, one) for one in known]
    found = [one for full, one in paths if full == wanted]
    found = found or [one for full, one in paths if full.endswith(f".{wanted}")]
    if len(found) == 1:
        return found[0]
    details: dict[str, Any] = {"path": path.text, "name": name}
    if found:
        lines = ", ".join(str(lines_of(data, one)[0]) for one in found[:_MAX_LISTED])
        message = f"{path} defines `{name}` {len(found)} times: at lines {lines}."
        raise CodePlaneError("CONTENT_AMBIGUOUS", message, hint="Give lines, or the text to replace.", details=details)
    top = ", ".join(dict.fromkeys(full for full, _ in paths if "." not in full)) or "nothing that is known"
    message = f"{path} does not define `{name}`; it defines {top[:300]}."
    raise CodePlaneError("CONTENT_NOT_FOUND", message, hint="Name one of these, or send old and new.", details=details)


def lines_of(data: bytes, one: Definition) -> tuple[int, int]:
    """Return the first and the last line of a definition."""
    end = one.end - data[one.start : one.end].endswith(b"\n")
    return data.count(b"\n", 0, one.start) + 1, data.count(b"\n", 0, max(one.start, end)) + 1


def n_decorator_lines(data: bytes, first: int, one: Definition) -> int:
    """Return how many lines above a definition are its decorators."""
    if not one.decorators:
        return 0
    return n_decorators_above(data.decode("utf-8", "replace").split("\n")[:first])


def n_decorators_above(lines: Sequence[str]) -> int:
    """Return how many lines of decorators are above the last of these lines; one may span several lines."""
    indent = _indent(lines[-1])
    found = 0
    for number, line in enumerate(reversed(lines[:-1]), start=1):
        text = line.strip()
        if not text or _indent(line) < indent:
            break
        if _indent(line) == indent and text.startswith(("@", "#[")):
            found = number
        elif _indent(line) == indent and text[0] not in ")]}":
            break
    return found


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _with_gap(new: str, *, before: bool) -> str:
    """Return an inserted definition with an empty line between it and its neighbour."""
    text = new if new.endswith("\n") else f"{new}\n"
    is_indented = text[:1] in {" ", "\t"}
    gap = "\n" if is_indented else "\n\n"
    if before:
        return text if text.startswith("\n") else gap + text
    return text if text.endswith("\n\n") else text + gap
