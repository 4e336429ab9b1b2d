"""Tickets of Jira Cloud (API v3) and Jira Data Center (API v2)."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

from codeplane.controller.connectors.adf import blocks_of_document
from codeplane.controller.connectors.blocks import Block, all_criteria, as_text, criteria_in, is_criteria_title
from codeplane.controller.connectors.credentials import Origin, read_credential
from codeplane.controller.connectors.failures import ConnectorError, FailureKind
from codeplane.controller.connectors.kernel import Fetched, Kernel, Request
from codeplane.controller.connectors.wiki_text import blocks_of_wiki_text
from codeplane.core.redaction import redact

KEY_FORM: Final = re.compile(r"[A-Z][A-Z0-9_]{1,63}-[0-9]{1,12}", re.ASCII)
COMMENTS: Final = "comments"
_API: Final = {"cloud": "3", "datacenter": "2"}
_MAX_COMMENTS: Final = 50
_MAX_LINKS: Final = 100
_MAX_CRITERIA: Final = 100
_MAX_TEXT: Final = 100_000


@dataclass(frozen=True, slots=True)
class Ticket:
    """A ticket as a verb answers it; `truncated` names the fields of which only a part is there."""

    key: str
    summary: str
    description_text: str
    acceptance_criteria: tuple[str, ...]
    status: str
    links: tuple[Mapping[str, str], ...]
    comments: tuple[Mapping[str, str], ...]
    truncated: tuple[str, ...] = ()
    attempts: int = field(default=0, compare=False)

    @property
    def source_key(self) -> str:
        """Return the key under which it counts as evidence."""
        return f"jira:{self.key}"

    def as_dict(self) -> dict[str, Any]:
        """Return the `ticket` of a result."""
        return {
            "key": self.key,
            "summary": self.summary,
            "descriptionText": self.description_text,
            "acceptanceCriteria": list(self.acceptance_criteria),
            "status": self.status,
            "links": [dict(link) for link in self.links],
            "comments": [dict(comment) for comment in self.comments],
            **({"truncated": list(self.truncated)} if self.truncated else {}),
        }


def fetch_ticket(kernel: Kernel, auth_directory: Path, key: str, expand: Sequence[str] = ()) -> Ticket:
    """Return a ticket; its comments only when `expand` holds `comments`.

    Raises:
        ConnectorError: Jira is not configured, the key is none, or there is no usable answer.
    """
    settings = kernel.settings.jira
    if not settings.base_url:
        message = "No Jira is configured. Set controller.connectors.jira.base_url."
        raise ConnectorError(FailureKind.NOT_CONFIGURED, message)
    key = key.strip().upper()
    if not KEY_FORM.fullmatch(key):
        raise ConnectorError(FailureKind.INVALID_ARGUMENT, "A ticket key looks like PROJ-123.")
    unknown = sorted(set(expand) - {COMMENTS})
    if unknown:
        message = f"`expand` can hold {COMMENTS!r} only, not {', '.join(map(repr, unknown))[:200]}."
        raise ConnectorError(FailureKind.INVALID_ARGUMENT, message)
    origin = Origin.of(settings.base_url)
    credential = read_credential(auth_directory, settings.token_file, origin)
    hidden = ("attachment", "worklog", *(() if COMMENTS in expand else ("comment",)))
    query = urlencode({"fields": ",".join(["*all", *(f"-{name}" for name in hidden)]), "expand": "names"})
    url = f"{settings.base_url.rstrip('/')}/rest/api/{_API[settings.flavour]}/issue/{key}?{query}"
    fetched = kernel.get(Request(url, frozenset({origin}), credential))
    return _ticket(_issue(fetched), key, settings.criteria_fields, fetched.attempts)


def _issue(fetched: Fetched) -> Mapping[str, Any]:
    try:
        issue = json.loads(fetched.body)
    except (ValueError, RecursionError) as error:
        message = "Jira's answer is not valid JSON."
        raise ConnectorError(FailureKind.BAD_RESPONSE, message, attempts=fetched.attempts, http_status=200) from error
    if not isinstance(issue, dict) or not isinstance(issue.get("fields"), dict):
        message = "Jira's answer is not a ticket."
        raise ConnectorError(FailureKind.BAD_RESPONSE, message, attempts=fetched.attempts, http_status=200)
    return issue


def _ticket(issue: Mapping[str, Any], key: str, criteria_fields: Sequence[str], attempts: int) -> Ticket:
    fields = issue["fields"]
    own_key = _text(issue.get("key"))
    description = _blocks(fields.get("description"))
    criteria = [*_criteria_of_fields(fields, _mapping(issue.get("names")), criteria_fields), *criteria_in(description)]
    links = list(_links(fields))
    comments = _mapping(fields.get("comment")).get("comments")
    remarks = [_comment(one) for one in comments if isinstance(one, dict)] if isinstance(comments, list) else []
    text = as_text(description)
    sizes = {
        "descriptionText": (len(text), _MAX_TEXT),
        "acceptanceCriteria": (len(dict.fromkeys(criteria)), _MAX_CRITERIA),
        "links": (len(links), _MAX_LINKS),
        "comments": (_total(fields, len(remarks)), min(_MAX_COMMENTS, len(remarks))),
    }
    return Ticket(
        key=own_key if KEY_FORM.fullmatch(own_key) else key,
        summary=_safe(_text(fields.get("summary"))),
        description_text=_safe(text),
        acceptance_criteria=tuple(map(_safe, dict.fromkeys(criteria)))[:_MAX_CRITERIA],
        status=_name(fields.get("status")),
        links=tuple(links[:_MAX_LINKS]),
        comments=tuple(remarks[-_MAX_COMMENTS:]),
        truncated=tuple(name for name, (size, most) in sizes.items() if size > most),
        attempts=attempts,
    )


def _criteria_of_fields(
    fields: Mapping[str, Any], names: Mapping[str, Any], criteria_fields: Sequence[str]
) -> Iterator[str]:
    """Yield what custom fields hold: the configured ones, and those with a telling name."""
    named = (one for one in fields if one in criteria_fields or is_criteria_title(_text(names.get(one))))
    for name in named:
        value = fields[name]
        for one in value if isinstance(value, list) else [value]:
            inner = one.get("value", one.get("name")) if isinstance(one, dict) and "type" not in one else one
            yield from all_criteria(_blocks(inner))


def _blocks(value: Any) -> tuple[Block, ...]:
    """Return the blocks of a document of Cloud or of a wiki text, whatever Jira sent."""
    return blocks_of_wiki_text(value[: 2 * _MAX_TEXT]) if isinstance(value, str) else blocks_of_document(value)


def _links(fields: Mapping[str, Any]) -> Iterator[Mapping[str, str]]:
    parent = fields.get("parent")
    if isinstance(parent, dict):
        yield _link("parent", parent)
    for child in _list(fields.get("subtasks")):
        yield _link("subtask", child)
    for link in _list(fields.get("issuelinks")):
        names = _mapping(link.get("type"))
        for direction in ("outward", "inward"):
            other = link.get(f"{direction}Issue")
            if isinstance(other, dict):
                yield _link(_text(names.get(direction)), other)


def _link(relation: str, issue: Mapping[str, Any]) -> Mapping[str, str]:
    fields = _mapping(issue.get("fields"))
    return {
        "type": relation[:100],
        "key": _text(issue.get("key"))[:100],
        "summary": _safe(_text(fields.get("summary")))[:500],
        "status": _name(fields.get("status")),
    }


def _comment(comment: Mapping[str, Any]) -> Mapping[str, str]:
    author = _text(_mapping(comment.get("author")).get("displayName"))
    text = as_text(_blocks(comment.get("body")))
    return {"author": author[:100], "created": _text(comment.get("created"))[:40], "text": _safe(text)}


def _total(fields: Mapping[str, Any], n_found: int) -> int:
    total = _mapping(fields.get("comment")).get("total")
    return max(total, n_found) if isinstance(total, int) else n_found


def _safe(text: str) -> str:
    return redact(text[:_MAX_TEXT])


def _name(value: Any) -> str:
    return _text(_mapping(value).get("name"))[:100]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
