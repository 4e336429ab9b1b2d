"""HTTP to upstreams, of which each answer is bounded while it is read."""

from collections.abc import AsyncIterator, Mapping
from typing import Any

import httpx2


def bounded_client(headers: Mapping[str, str], timeout: httpx2.Timeout, max_bytes: int) -> httpx2.AsyncClient:
    """Return a client whose answers end with an error when they are longer; streams of events have bounds of their own.

    Compressed answers are refused: their size is not known before they are unpacked.
    """

    async def bound(response: httpx2.Response) -> None:
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            response.stream = _Bounded(response.stream, 0, "The answer is compressed, which was not asked for.")
        elif not response.headers.get("content-type", "").lower().startswith("text/event-stream"):
            response.stream = _Bounded(response.stream, max_bytes, f"The answer has more than {max_bytes} bytes.")

    plain = {**headers, "Accept-Encoding": "identity"}
    return httpx2.AsyncClient(headers=plain, timeout=timeout, event_hooks={"response": [bound]})


class _Bounded(httpx2.AsyncByteStream):
    """A body that ends with an error after so many bytes."""

    def __init__(self, stream: Any, room: int, refusal: str) -> None:
        self._stream = stream
        self._room = room
        self._refusal = refusal

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._stream:
            self._room -= len(chunk)
            if self._room < 0:
                raise httpx2.StreamError(self._refusal)
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()
