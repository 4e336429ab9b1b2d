"""The documents of one API description: the one that was asked for, and those that its references name."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urljoin, urlsplit

from codeplane.controller.connectors.credentials import Origin, read_credential
from codeplane.controller.connectors.documents import parse_document
from codeplane.controller.connectors.failures import ConnectorError, FailureKind
from codeplane.controller.connectors.kernel import Kernel, Request
from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import RepoPath
from codeplane.workspace.controller_settings import ConnectorSettings, SpecSource

ReadFile = Callable[[str], bytes | None]
_ACCEPT: Final = "application/json, application/yaml, text/yaml"
_CONTENT_TYPES: Final = ("json", "yaml", "openapi", "text/plain", "octet-stream")
_MAX_DOCUMENTS: Final = 50
_MAX_CHAIN: Final = 20


@dataclass(frozen=True, slots=True)
class Located:
    """A value, the document that holds it, and its pointer there; `#/a/b` names it inside the main document."""

    value: Any
    document: str
    pointer: str


def is_address(text: str) -> bool:
    """Tell whether a description is named by an address and not by a path of the repository."""
    return text.startswith(("http://", "https://"))


def source_for(settings: ConnectorSettings, url: str) -> SpecSource | None:
    """Return the configured source that an address belongs to, None when there is none."""
    parts = urlsplit(url)
    if ".." in unquote(parts.path).split("/") or "@" in parts.netloc or "\\" in url:
        return None
    plain = url.partition("#")[0]
    for source in settings.specs:
        is_below = source.url.endswith("/") and plain.startswith(source.url)
        if (is_below or plain == source.url) and plain.isascii() and plain.isprintable() and " " not in plain:
            return source
    return None


@dataclass(slots=True)
class SpecDocuments:
    """Loads documents, each once: by the kernel from configured addresses, by the caller's reader from files."""

    kernel: Kernel
    auth_directory: Path
    read_file: ReadFile
    attempts: int = 0
    _loaded: dict[str, Any] = field(default_factory=dict)

    def load(self, name: str) -> Any:
        """Return the parsed document of an address or a path.

        Raises:
            ConnectorError: it may not be fetched, does not exist, or is no document.
        """
        if name not in self._loaded:
            if len(self._loaded) >= _MAX_DOCUMENTS:
                message = f"The description is spread over more than {_MAX_DOCUMENTS} documents."
                raise ConnectorError(FailureKind.BAD_DOCUMENT, message)
            self._loaded[name] = parse_document(self._fetch(name) if is_address(name) else self._read(name))
        return self._loaded[name]

    def resolve(self, located: Located) -> Located:
        """Return what a value means: itself, or what its `$ref` leads to.

        Raises:
            ConnectorError: a reference leads nowhere, in a circle, or to a place that is not configured.
        """
        seen = set()
        for _ in range(_MAX_CHAIN):
            reference = located.value.get("$ref") if isinstance(located.value, dict) else None
            if not isinstance(reference, str):
                return located
            located = self.follow(reference, located.document)
            if (located.document, located.pointer) in seen:
                break
            seen.add((located.document, located.pointer))
        message = f"The reference {str(reference)[:200]!r} leads in a circle."
        raise ConnectorError(FailureKind.BAD_DOCUMENT, message)

    def follow(self, reference: str, document: str) -> Located:
        """Return what a reference in a document names.

        Raises:
            ConnectorError: as `resolve` says.
        """
        name, _, fragment = reference.partition("#")
        target = _joined(document, name) if name else document
        value = self.load(target)
        try:
            for part in _parts(unquote(fragment)):
                value = value[int(part)] if isinstance(value, list) else value[part]
        except (KeyError, IndexError, ValueError, TypeError):
            raise ConnectorError(
                FailureKind.BAD_DOCUMENT, f"The reference {reference[:200]!r} names nothing."
            ) from None
        return Located(value, target, unquote(fragment))

    def _fetch(self, url: str) -> bytes:
        settings = self.kernel.settings
        source = source_for(settings, url)
        if source is None:
            message = "This address is not configured. Add it to controller.connectors.specs."
            raise ConnectorError(FailureKind.HOST_NOT_ALLOWED, message)
        origin = Origin.of(source.url)
        credential = read_credential(self.auth_directory, source.token_file, origin) if source.token_file else None
        origins = frozenset(Origin.of(one.url) for one in settings.specs)
        fetched = self.kernel.get(Request(url, origins, credential, _ACCEPT, _CONTENT_TYPES))
        self.attempts += fetched.attempts
        return fetched.body

    def _read(self, path: str) -> bytes:
        try:
            name = RepoPath.parse(path).text
        except CodePlaneError as error:
            raise ConnectorError(FailureKind.INVALID_ARGUMENT, error.message) from error
        data = self.read_file(name)
        if data is None:
            raise ConnectorError(FailureKind.NOT_FOUND, f"There is no file {name} that may be read.")
        if len(data) > self.kernel.settings.max_bytes:
            message = f"{name} is larger than {self.kernel.settings.max_bytes} bytes."
            raise ConnectorError(FailureKind.TOO_LARGE, message)
        return data


def escaped(part: str) -> str:
    """Return a key as a part of a JSON pointer."""
    return part.replace("~", "~0").replace("/", "~1")


def _parts(pointer: str) -> Iterator[str]:
    if pointer:
        yield from (part.replace("~1", "/").replace("~0", "~") for part in pointer.removeprefix("/").split("/"))


def _joined(document: str, name: str) -> str:
    if is_address(name):
        return name
    if is_address(document):
        return urljoin(document, name)
    # `urljoin` works on paths as well; a path that would leave the repository keeps its dots and is refused.
    directory = document.rpartition("/")[0]
    parts = directory.split("/") if directory else []
    for part in unquote(name).split("/"):
        if part == ".." and parts:
            parts.pop()
        elif part not in {".", ""}:
            parts.append(part)
    return "/".join(parts)
