"""The outermost HTTP layer, in process: what happens when the application below it breaks."""

import asyncio
import json
import logging
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Message

from codeplane.surfaces.server.access import OWNER_STATE, Access
from codeplane.surfaces.server.guard import Guard
from codeplane.surfaces.server.rest import broken


async def _break(_request: Request) -> Response:
    raise RuntimeError("a bug")


def _answer(caplog: pytest.LogCaptureFixture) -> tuple[Message, dict[str, Any]]:
    """Send one request through the guard to an application that breaks."""
    app = Starlette(routes=[Route("/", _break)], exception_handlers={500: broken})
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {
        "type": "http", "method": "GET", "path": "/", "raw_path": b"/", "query_string": b"", "root_path": "",
        "scheme": "http", "http_version": "1.1", "server": ("127.0.0.1", 80), "client": ("127.0.0.1", 1),
        "headers": [(b"host", b"127.0.0.1:80")], "state": {OWNER_STATE: True},
    }  # fmt: skip
    with caplog.at_level(logging.ERROR, logger="codeplane"):
        asyncio.run(Guard(app, (80,), "/repo", Access(lambda: ("s" * 40,), frozenset()))(scope, receive, send))
    return sent[0], json.loads(sent[1]["body"])


def test_bug_is_answered_with_the_error_object(caplog: pytest.LogCaptureFixture) -> None:
    start, body = _answer(caplog)

    assert (start["status"], body["error"]) == (500, "INTERNAL_ERROR")


def test_answer_to_a_bug_names_the_repository(caplog: pytest.LogCaptureFixture) -> None:
    start, _ = _answer(caplog)

    assert (b"x-codeplane-repo", b"/repo") in start["headers"]


def test_bug_is_logged_once_with_its_path(caplog: pytest.LogCaptureFixture) -> None:
    _answer(caplog)

    assert [record.getMessage() for record in caplog.records] == ["a request failed"]
