"""API descriptions in OpenAPI 2.0, 3.0 and 3.1, from a configured address or a file of the repository."""

import json
import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from codeplane.controller.connectors.credentials import Origin
from codeplane.controller.connectors.failures import ConnectorError, FailureKind
from codeplane.controller.connectors.kernel import Kernel
from codeplane.controller.connectors.spec_documents import (
    Located,
    ReadFile,
    SpecDocuments,
    escaped,
    is_address,
    source_for,
)
from codeplane.core.hashing import sha256_text
from codeplane.core.redaction import redact
from codeplane.index.contexts.globs import compile_globs
from codeplane.workspace.controller_settings import ConnectorSettings

_VERSION: Final = re.compile(r"3\.[01]\.\d{1,3}(?:-.{0,20})?")
_METHODS: Final = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
_MAX_OPERATIONS: Final = 200
_MAX_SCHEMAS: Final = 200
_MAX_PROPERTIES: Final = 100
_MAX_POINTERS: Final = 20_000
_MAX_PATHS: Final = 20_000
_MAX_WALKED: Final = 10_000
_ROOTS: Final = ("paths", "components", "definitions")
_COMBINED: Final = ("allOf", "anyOf", "oneOf")


@dataclass(frozen=True, slots=True)
class ApiSpec:
    """A description as a verb answers it; `truncated` names the lists of which only a part is there.

    `locators` are all operation ids and the pointers below `paths`, `components` and `definitions`, shallow ones first,
    at most 20,000, each with and without `#`.
    """

    spec_id: str
    title: str
    version: str
    openapi: str
    operations: tuple[Mapping[str, Any], ...]
    schemas: tuple[Mapping[str, Any], ...]
    locators: frozenset[str]
    missing_operation_ids: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    truncated: tuple[str, ...] = ()
    attempts: int = field(default=0, compare=False)

    @property
    def source_key(self) -> str:
        """Return the key under which it counts as evidence."""
        return f"swagger:{self.spec_id}"

    def as_dict(self) -> dict[str, Any]:
        """Return the `spec` of a result."""
        more = {
            "missingOperationIds": list(self.missing_operation_ids),
            "problems": list(self.problems),
            "truncated": list(self.truncated),
        }
        return {
            "specId": self.spec_id,
            "title": self.title,
            "version": self.version,
            "openapi": self.openapi,
            "operations": [dict(one) for one in self.operations],
            "schemas": [dict(one) for one in self.schemas],
            **{name: value for name, value in more.items() if value},
        }


@dataclass(frozen=True, slots=True)
class SpecRequest:
    """Which description, and which of its operations; without a filter all of them."""

    url: str
    operation_ids: tuple[str, ...] = ()
    path_glob: str = ""


def hosts_of_specs(settings: ConnectorSettings, url: str) -> tuple[str, ...]:
    """Return the hosts that fetching a description may contact, its own first; none when nothing may be fetched.

    Redirects and references can lead to every configured source, and nowhere else.
    """
    if is_address(url) and source_for(settings, url) is None:
        return ()
    own = [Origin.of(url).host] if is_address(url) else []
    return tuple(dict.fromkeys([*own, *sorted(Origin.of(source.url).host for source in settings.specs)]))


def fetch_spec(kernel: Kernel, auth_directory: Path, request: SpecRequest, read_file: ReadFile) -> ApiSpec:
    """Return a description; a path is read through `read_file`, which returns None for what may not be read.

    Raises:
        ConnectorError: it may not be fetched, is not there, or is no description.
    """
    documents = SpecDocuments(kernel, auth_directory, read_file)
    name = request.url.strip()
    if not name:
        raise ConnectorError(FailureKind.INVALID_ARGUMENT, "Give the address or the path of a description.")
    root = documents.load(name)
    try:
        return _Reading(documents, name, root, request).spec()
    except ConnectorError as error:
        error.attempts = documents.attempts
        raise


class _Reading:
    """Reads one description; references that lead nowhere are kept in `_problems`, and the rest is still told."""

    def __init__(self, documents: SpecDocuments, name: str, root: Any, request: SpecRequest) -> None:
        self._documents = documents
        self._name = name
        self._request = request
        self._version = _checked_version(root)
        self._root: Mapping[str, Any] = root
        self._problems: list[str] = []
        self._truncated: set[str] = set()

    def spec(self) -> ApiSpec:
        """Return the description as far as it was asked for."""
        items = list(self._path_items())
        operations = [one for path, item in items for one in _operations_of(path, item)]
        chosen = self._chosen(operations)
        ids = {one.operation_id for one in operations}
        info = _mapping(self._root.get("info"))
        is_filtered = bool(self._request.operation_ids or self._request.path_glob)
        shown = [self._operation(one) for one in self._cut("operations", chosen, _MAX_OPERATIONS)]
        schemas = self._used_schemas(chosen) if is_filtered else self._all_schemas()
        listed = [self._schema(one) for one in self._cut("schemas", schemas, _MAX_SCHEMAS)]
        return ApiSpec(
            spec_id=sha256_text(_canonical(self._root))[:12],
            title=_text(info.get("title"), 200),
            version=_text(info.get("version"), 100),
            openapi=self._version,
            operations=tuple(shown),
            schemas=tuple(listed),
            locators=frozenset(self._locators(operations)),
            missing_operation_ids=tuple(sorted(set(self._request.operation_ids) - ids)),
            problems=tuple(dict.fromkeys(self._problems))[:20],
            truncated=tuple(sorted(self._truncated)),
            attempts=self._documents.attempts,
        )

    def _cut(self, name: str, rows: list[Any], most: int) -> list[Any]:
        if len(rows) > most:
            self._truncated.add(name)
        return rows[:most]

    def _path_items(self) -> Iterator[tuple[str, Located]]:
        paths = _mapping(self._root.get("paths"))
        for path in self._cut("paths", list(paths), _MAX_PATHS):
            item = self._resolved(Located(paths[path], self._name, f"/paths/{escaped(path)}"))
            if item is not None and isinstance(item.value, dict):
                yield path, item

    def _resolved(self, located: Located) -> Located | None:
        try:
            return self._documents.resolve(located)
        except ConnectorError as error:
            if error.kind in {FailureKind.TIMEOUT, FailureKind.UNAVAILABLE, FailureKind.RATE_LIMITED}:
                raise
            self._problems.append(redact(error.message))
            return None

    def _chosen(self, operations: "list[_Operation]") -> "list[_Operation]":
        wanted = self._request.operation_ids
        # Braces of a path are parameters, not alternatives.
        glob = self._request.path_glob.strip("/").replace("{", r"\{").replace("}", r"\}")
        try:
            globs = compile_globs([glob or "**"])
        except ValueError as error:
            raise ConnectorError(FailureKind.INVALID_ARGUMENT, "pathGlob is not a glob.") from error
        return [
            one
            for one in operations
            if (not wanted or one.operation_id in wanted)
            and (not self._request.path_glob or globs.matches(one.path.strip("/")))
        ]

    def _operation(self, located: "_Operation") -> Mapping[str, Any]:
        operation, path, method = located.value, located.path, located.method
        parameters = [row for holder in (located.item, operation) for row in self._parameters(holder, located.document)]
        body = self._body(located) or next((one["schema"] for one in parameters if one["in"] == "body"), "")
        return {
            "operationId": _text(located.operation_id, 200),
            "method": method.upper(),
            "path": path,
            "pointer": f"/paths/{escaped(path)}/{method}",
            "summary": _text(operation.get("summary") or operation.get("description"), 300),
            "deprecated": operation.get("deprecated") is True,
            "parameters": list({(one["name"], one["in"]): one for one in parameters if one["in"] != "body"}.values()),
            "requestBody": body,
            "responses": self._responses(located),
        }

    def _parameters(self, holder: Mapping[str, Any], document: str) -> list[dict[str, Any]]:
        """Return the parameters of an operation or, for all of its operations, of a path."""
        found = []
        for one in _list(holder.get("parameters"))[:_MAX_PROPERTIES]:
            resolved = self._resolved(Located(one, document, ""))
            parameter = _mapping(resolved.value) if resolved else {}
            if parameter:
                found.append(
                    {
                        "name": _text(parameter.get("name"), 100),
                        "in": _text(parameter.get("in"), 20),
                        "required": parameter.get("required") is True,
                        "schema": _type_text(parameter.get("schema") or parameter),
                    }
                )
        return found

    def _body(self, operation: "_Operation") -> str:
        body = self._resolved(Located(operation.value.get("requestBody"), operation.document, ""))
        return _content_type_text(body.value) if body else ""

    def _responses(self, operation: "_Operation") -> dict[str, str]:
        found = {}
        for status, response in list(_mapping(operation.value.get("responses")).items())[:50]:
            resolved = self._resolved(Located(response, operation.document, ""))
            found[str(status)[:20]] = _content_type_text(resolved.value) if resolved else ""
        return found

    def _all_schemas(self) -> list[Located]:
        found = []
        for pointer, schemas in (
            ("/components/schemas", _mapping(self._root.get("components")).get("schemas")),
            ("/definitions", self._root.get("definitions")),
        ):
            for name, value in _mapping(schemas).items():
                found.append(Located(value, self._name, f"{pointer}/{escaped(name)}"))
        return found

    def _used_schemas(self, operations: "list[_Operation]") -> list[Located]:
        """Return the schemas that operations reach over references, nearest first; circles end by themselves."""
        found: dict[tuple[str, str], Located] = {}
        waiting = deque((one.document, reference) for one in operations for reference in _references(one.value))
        while waiting and len(found) <= _MAX_SCHEMAS:
            document, reference = waiting.popleft()
            try:
                target = self._documents.follow(reference, document)
            except ConnectorError as error:
                self._problems.append(redact(error.message))
                continue
            if (target.document, target.pointer) not in found:
                found[target.document, target.pointer] = target
                waiting.extend((target.document, one) for one in _references(target.value))
        return [one for one in found.values() if not re.search(r"/(parameters|responses|requestBodies)/", one.pointer)]

    def _schema(self, located: Located) -> Mapping[str, Any]:
        schema = _mapping(located.value)
        properties = _mapping(schema.get("properties"))
        if len(properties) > _MAX_PROPERTIES:
            self._truncated.add("properties")
        document = "" if located.document == self._name else located.document
        return {
            "name": located.pointer.rpartition("/")[2].replace("~1", "/").replace("~0", "~")[:200],
            "pointer": f"{document}#{located.pointer}" if document else located.pointer,
            "type": _type_text(schema),
            "properties": {
                str(name)[:100]: _type_text(value) for name, value in list(properties.items())[:_MAX_PROPERTIES]
            },
            "required": [one for one in _list(schema.get("required")) if isinstance(one, str)][:_MAX_PROPERTIES],
        }

    def _locators(self, operations: "list[_Operation]") -> Iterator[str]:
        yield from (one.operation_id for one in operations if one.operation_id)
        # A path whose item is in another document has its methods here, too.
        pointers = [f"/paths/{escaped(one.path)}/{one.method}" for one in operations]
        for pointer in (*pointers, *self._pointers()):
            yield from (pointer, f"#{pointer}")

    def _pointers(self) -> Iterator[str]:
        waiting = deque((f"/{name}", self._root[name]) for name in _ROOTS if name in self._root)
        n_left = _MAX_POINTERS
        while waiting:
            pointer, value = waiting.popleft()
            inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
            for key, item in inner:
                n_left -= 1
                if n_left < 0:
                    self._truncated.add("locators")
                    return
                below = f"{pointer}/{escaped(str(key))}"
                yield below
                waiting.append((below, item))


def _checked_version(root: Any) -> str:
    document = _mapping(root)
    version = document.get("openapi", document.get("swagger"))
    is_known = str(version) == "2.0" if "swagger" in document else bool(_VERSION.fullmatch(str(version)))
    if not is_known:
        message = "It is no OpenAPI description of version 2.0, 3.0 or 3.1."
        raise ConnectorError(FailureKind.BAD_DOCUMENT, message)
    return str(version)


def _canonical(value: Any) -> str:
    """Return the contract's canonical form; unlike RFC 8785 it takes integers of any size, which schemas hold."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class _Operation:
    """A method of a path: its value, the path's own value, and the document that holds both."""

    path: str
    method: str
    value: Mapping[str, Any]
    item: Mapping[str, Any]
    document: str

    @property
    def operation_id(self) -> str:
        """Return its id, or an empty text."""
        name = self.value.get("operationId")
        return name if isinstance(name, str) else ""


def _operations_of(path: str, item: Located) -> Iterator[_Operation]:
    for method in _METHODS:
        operation = item.value.get(method)
        if isinstance(operation, dict):
            yield _Operation(path, method, operation, item.value, item.document)


def _references(value: Any) -> Iterator[str]:
    """Yield the references in a value, in order; of a very large value only those of its upper part."""
    waiting = deque([value])
    for _ in range(_MAX_WALKED):
        if not waiting:
            return
        item = waiting.popleft()
        if isinstance(item, dict):
            reference = item.get("$ref")
            if isinstance(reference, str):
                yield reference
            waiting.extend(item.values())
        elif isinstance(item, list):
            waiting.extend(item)


def _content_type_text(holder: Any) -> str:
    """Return the type of a body: the first of its media types, or the schema itself in 2.0."""
    value = _mapping(holder)
    for content in _mapping(value.get("content")).values():
        return _type_text(_mapping(content).get("schema"))
    return _type_text(value["schema"]) if "schema" in value else ""


def _type_text(schema: Any, depth: int = 0) -> str:
    """Return a short name of a type, such as `array of User`; references are named, not followed."""
    value = _mapping(schema)
    if depth > 5 or not value:
        return ""
    reference = value.get("$ref")
    if isinstance(reference, str):
        return reference.rpartition("/")[2].replace("~1", "/").replace("~0", "~")[:200]
    for word in _COMBINED:
        if parts := _list(value.get(word)):
            return f"{word}({', '.join(_type_text(part, depth + 1) or 'object' for part in parts[:10])})"
    kind = value.get("type")
    text = "|".join(map(str, kind[:10])) if isinstance(kind, list) else str(kind or "")
    if text == "array":
        return f"array of {_type_text(value.get('items'), depth + 1) or 'any'}"
    choices = _list(value.get("enum"))
    if choices:
        return f"{text or 'enum'} of {', '.join(str(one)[:40] for one in choices[:20])}"
    fallback = "object" if "properties" in value else ""
    return f"{text} ({value['format']})"[:100] if text and isinstance(value.get("format"), str) else text or fallback


def _text(value: Any, most: int) -> str:
    return redact(value[:most]) if isinstance(value, str) else ""


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else []
