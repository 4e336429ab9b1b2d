"""Scripted models on loopback, so that tests drive real coding agents without a model.

The agent's own client, hooks, permissions and MCP connections are the real ones. Only the model's answers are scripted,
in one of the wire forms of `WIRE_FORMS`. A script is a list of steps:

    {"name": "Write", "input": {...}}               one tool call; a text as input makes a free-form call (`responses`)
    [{"name": ...}, {"name": ...}]                  several calls in one answer
    {"name": ..., "input": ..., "wait": callable}   run the callable, or wait for the event, before the answer
    {"name": ..., "input": callable}                the input is made from the tuple of the results so far
    {"say": "text"}                                 an answer without a call, which ends the agent's turn

After the last step the model says "done". The next step follows from what the request shows (tool results and the
model's own texts), so a repeated request gets the same answer. A conversation whose prompt contains a key of `others`
follows that script instead: this is how a sub-agent gets its own.
"""

import json
import secrets
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal, Self

Json = dict[str, Any]
Script = Sequence[Mapping[str, Any] | Sequence[Mapping[str, Any]]]
Kind = Literal["anthropic", "responses", "chat", "gemini"]
DONE = "done"
MAX_WAIT = 60.0


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call that the model asks for; `id` is unique among all conversations and all models of a test."""

    id: str
    name: str
    input: Any


@dataclass(frozen=True, slots=True)
class Answer:
    """What the model says: calls, or a text when there are none."""

    calls: tuple[Call, ...]
    text: str = DONE


@dataclass(frozen=True, slots=True)
class Seen:
    """What a request shows of its conversation."""

    tools: Mapping[str, Json]
    prompts: tuple[str, ...]
    results: tuple[str, ...]
    n_texts: int


@dataclass(frozen=True, slots=True)
class Request:
    """One logged request. `seen` is empty for requests that are not turns of a conversation."""

    path: str
    headers: Mapping[str, str]
    body: Json
    seen: Seen

    @property
    def last(self) -> Any:
        """Return the last message, which holds the newest tool results."""
        messages = self.body.get("messages") or self.body.get("input") or self.body.get("contents") or [None]
        return messages[-1]


@dataclass(frozen=True, slots=True)
class WireForm:
    """How one kind of endpoint reads requests and writes answers, streamed or whole."""

    turns: tuple[str, ...]
    see: Callable[[Json], Seen]
    stream: Callable[[Answer, Json], Iterator[tuple[str, Json]]]
    whole: Callable[[Answer, Json], Json]
    id_prefix: str = "call_"


class ScriptedModel:
    """A loopback endpoint that follows a script; use it with `with`. `requests` logs what the agent sent."""

    def __init__(self, kind: Kind, script: Script, others: Mapping[str, Script] | None = None) -> None:
        self.requests: list[Request] = []
        self._form = WIRE_FORMS[kind]
        self._scripts = {"": script, **(others or {})}
        self._token = secrets.token_hex(4)
        handler = type("Handler", (_Handler,), {"model": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        """Return the address without a path; agents add theirs."""
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def turns(self) -> list[Request]:
        """Return the requests that offered tools: the turns of conversations, without titles and summaries."""
        return [request for request in self.requests if request.seen.tools]

    @property
    def results(self) -> list[str]:
        """Return the texts of all tool results that reached the model, in order, each once."""
        return list(dict.fromkeys(text for request in self.requests for text in request.seen.results))

    def answer(self, seen: Seen) -> Answer:
        """Return the step that follows what the request shows, after its wait."""
        key = next((key for key in self._scripts if key and any(key in prompt for prompt in seen.prompts)), "")
        n_results, n_texts = len(seen.results), seen.n_texts
        for number, step in enumerate(self._scripts[key] if seen.tools else ()):
            calls = [step] if isinstance(step, Mapping) else list(step)
            if "say" in calls[0]:
                n_texts -= 1
            else:
                n_results -= len(calls)
            if n_texts < 0 or n_results < 0:
                return self._take(calls, f"{list(self._scripts).index(key)}{number:03d}", seen.results)
        return Answer(())

    def _take(self, calls: Sequence[Mapping[str, Any]], number: str, results: tuple[str, ...]) -> Answer:
        for wait in (call["wait"] for call in calls if "wait" in call):
            if isinstance(wait, threading.Event):
                wait.wait(MAX_WAIT)
            else:
                wait()
        if "say" in calls[0]:
            return Answer((), calls[0]["say"])
        prefix = f"{self._form.id_prefix}{self._token}{number}"
        inputs = [call["input"](results) if callable(call["input"]) else call["input"] for call in calls]
        return Answer(tuple(Call(f"{prefix}{i}", call["name"], inputs[i]) for i, call in enumerate(calls)))


class _Handler(BaseHTTPRequestHandler):
    """Serves one model; whatever is not a turn gets an empty answer."""

    protocol_version = "HTTP/1.1"
    model: ScriptedModel

    def log_message(self, *_: object) -> None:
        """Stay quiet."""

    def do_HEAD(self) -> None:
        self._send({})

    def do_GET(self) -> None:
        self._send({"object": "list", "data": [], "models": []})

    def do_POST(self) -> None:
        form = self.model._form
        try:
            body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
        except ValueError:
            body = {}
        is_turn = any(part in self.path for part in form.turns) and "count" not in self.path
        seen = form.see(body) if is_turn else Seen({}, (), (), 0)
        self.model.requests.append(Request(self.path, dict(self.headers), body, seen))
        if not is_turn:
            self._send({"input_tokens": 1, "totalTokens": 1})
            return
        answer = self.model.answer(seen)
        if body.get("stream") or "stream" in self.path:
            self._stream(form.stream(answer, body))
        else:
            self._send(form.whole(answer, body))

    def _send(self, document: Json) -> None:
        body = json.dumps(document).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _stream(self, events: Iterator[tuple[str, Json]]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        for name, document in events:
            line = f"event: {name}\n" if name else ""
            data = json.dumps(document) if document else "[DONE]"
            self.wfile.write(f"{line}data: {data}\n\n".encode())
        self.close_connection = True


def _text(content: Any) -> str:
    """Return the text of a content that is a text, or blocks with texts, or anything else as JSON."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(_text(block.get("text", block) if isinstance(block, dict) else block) for block in content)
    return json.dumps(content)


# Anthropic Messages.


def _see_anthropic(body: Json) -> Seen:
    messages = body.get("messages", [])
    blocks = [
        (message["role"], block)
        for message in messages
        for block in (
            message["content"]
            if isinstance(message["content"], list)
            else [{"type": "text", "text": message["content"]}]
        )
    ]
    return Seen(
        {tool["name"]: tool.get("input_schema", {}) for tool in body.get("tools", [])},
        tuple(block["text"] for role, block in blocks if role == "user" and block["type"] == "text"),
        tuple(_text(block.get("content", "")) for _, block in blocks if block["type"] == "tool_result"),
        sum(role == "assistant" and block["type"] == "text" for role, block in blocks),
    )


def _whole_anthropic(answer: Answer, body: Json) -> Json:
    calls = [{"type": "tool_use", "id": call.id, "name": call.name, "input": call.input} for call in answer.calls]
    return {
        "id": f"msg_{secrets.token_hex(8)}",
        "type": "message",
        "role": "assistant",
        "model": body.get("model", "scripted"),
        "content": calls or [{"type": "text", "text": answer.text}],
        "stop_reason": "tool_use" if calls else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


def _stream_anthropic(answer: Answer, body: Json) -> Iterator[tuple[str, Json]]:
    for event in _events_anthropic(_whole_anthropic(answer, body)):
        yield event["type"], event


def _events_anthropic(message: Json) -> Iterator[Json]:
    yield {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}}
    for index, block in enumerate(message["content"]):
        start: Json = {**block, "input": {}} if block["type"] == "tool_use" else {**block, "text": ""}
        delta = (
            {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
            if block["type"] == "tool_use"
            else {"type": "text_delta", "text": block["text"]}
        )
        yield {"type": "content_block_start", "index": index, "content_block": start}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    ending = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": ending, "usage": {"output_tokens": 1}}
    yield {"type": "message_stop"}


# OpenAI Responses.


def _see_responses(body: Json) -> Seen:
    given = body.get("input", [])
    items = given if isinstance(given, list) else [{"role": "user", "content": given}]
    offered = [body, *(item for item in items if item.get("type") == "additional_tools")]
    return Seen(
        {name: schema for holder in offered for name, schema in _tools_responses(holder)},
        tuple(_text(item.get("content", "")) for item in items if _is_prompt(item)),
        tuple(_text(item.get("output", "")) for item in items if str(item.get("type")).endswith("call_output")),
        sum(item.get("role") == "assistant" for item in items),
    )


def _is_prompt(item: Json) -> bool:
    """Tell whether an item speaks for the user, or gives a sub-agent its task."""
    return item.get("role") == "user" or item.get("type") == "agent_message"


def _tools_responses(holder: Json, namespace: str = "") -> Iterator[tuple[str, Json]]:
    """Yield functions, free-form tools and the members of namespaces, whose names get a point."""
    for tool in holder.get("tools") or ():
        if tool.get("type") == "namespace":
            yield from _tools_responses(tool, f"{tool['name']}.")
        else:
            yield namespace + tool.get("name", tool.get("type", "")), tool.get("parameters", tool)


def _items(answer: Answer) -> list[Json]:
    if not answer.calls:
        text = {"type": "output_text", "text": answer.text, "annotations": []}
        unique = f"msg_{secrets.token_hex(8)}"
        return [{"type": "message", "role": "assistant", "id": unique, "status": "completed", "content": [text]}]
    return [_item(call) for call in answer.calls]


def _item(call: Call) -> Json:
    namespace, _, name = call.name.rpartition(".")
    shared = {
        "call_id": call.id,
        "name": name,
        "status": "completed",
        **({"namespace": namespace} if namespace else {}),
    }
    if isinstance(call.input, str):
        return {"type": "custom_tool_call", "id": f"ctc_{call.id}", **shared, "input": call.input}
    return {"type": "function_call", "id": f"fc_{call.id}", **shared, "arguments": json.dumps(call.input)}


def _whole_responses(answer: Answer, body: Json) -> Json:
    return {
        "id": f"resp_{secrets.token_hex(8)}",
        "object": "response",
        "created_at": 1,
        "status": "completed",
        "model": body.get("model", "scripted"),
        "output": _items(answer),
        "usage": {
            "input_tokens": 1,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 1,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 2,
        },
    }


def _stream_responses(answer: Answer, body: Json) -> Iterator[tuple[str, Json]]:
    response = _whole_responses(answer, body)
    started = {**response, "status": "in_progress", "output": []}
    number = iter(range(1000))
    yield "response.created", _event("response.created", number, response=started)
    for index, item in enumerate(response["output"]):
        shared = {"output_index": index, "item_id": item["id"]}
        empty = {"arguments": "", "input": "", "content": [], "status": "in_progress"}
        opened = {**item, **{key: value for key, value in empty.items() if key in item}}
        yield (
            "response.output_item.added",
            _event("response.output_item.added", number, output_index=index, item=opened),
        )
        for name, parts in _deltas(item):
            yield name, _event(name, number, **shared, **parts)
        yield "response.output_item.done", _event("response.output_item.done", number, output_index=index, item=item)
    yield "response.completed", _event("response.completed", number, response=response)


def _event(name: str, number: Iterator[int], **parts: Any) -> Json:
    return {"type": name, "sequence_number": next(number), **parts}


def _deltas(item: Json) -> Iterator[tuple[str, Json]]:
    if item["type"] == "message":
        part = item["content"][0]
        yield "response.content_part.added", {"content_index": 0, "part": {**part, "text": ""}}
        yield "response.output_text.delta", {"content_index": 0, "delta": part["text"]}
        yield "response.output_text.done", {"content_index": 0, "text": part["text"]}
        yield "response.content_part.done", {"content_index": 0, "part": part}
    elif item["type"] == "function_call":
        yield "response.function_call_arguments.delta", {"delta": item["arguments"]}
        yield "response.function_call_arguments.done", {"arguments": item["arguments"]}
    else:
        yield "response.custom_tool_call_input.delta", {"delta": item["input"]}
        yield "response.custom_tool_call_input.done", {"input": item["input"]}


# OpenAI Chat Completions.


def _see_chat(body: Json) -> Seen:
    messages = body.get("messages", [])
    functions = [tool.get("function", tool) for tool in body.get("tools") or []]
    return Seen(
        {function.get("name", ""): function.get("parameters", {}) for function in functions},
        tuple(_text(message.get("content")) for message in messages if message["role"] == "user"),
        tuple(_text(message.get("content")) for message in messages if message["role"] == "tool"),
        sum(message["role"] == "assistant" and not message.get("tool_calls") for message in messages),
    )


def _chat_message(answer: Answer) -> tuple[Json, str]:
    if not answer.calls:
        return {"role": "assistant", "content": answer.text}, "stop"
    calls = [
        {
            "index": index,
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": json.dumps(call.input)},
        }
        for index, call in enumerate(answer.calls)
    ]
    return {"role": "assistant", "content": None, "tool_calls": calls}, "tool_calls"


def _whole_chat(answer: Answer, body: Json) -> Json:
    message, reason = _chat_message(answer)
    return {
        "id": f"chatcmpl-{secrets.token_hex(8)}",
        "object": "chat.completion",
        "created": 1,
        "model": body.get("model", "scripted"),
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }


def _stream_chat(answer: Answer, body: Json) -> Iterator[tuple[str, Json]]:
    whole = _whole_chat(answer, body)
    message, reason = _chat_message(answer)
    chunk = {**whole, "object": "chat.completion.chunk", "usage": None}
    yield "", {**chunk, "choices": [{"index": 0, "delta": message, "finish_reason": None}]}
    yield "", {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}
    yield "", {**chunk, "choices": [], "usage": whole["usage"]}
    yield "", {}


# Gemini generateContent.


def _see_gemini(body: Json) -> Seen:
    parts = [(content.get("role"), part) for content in body.get("contents", []) for part in content.get("parts", [])]
    declared = [one for tool in body.get("tools", []) for one in tool.get("functionDeclarations", [])]
    return Seen(
        {one["name"]: one.get("parametersJsonSchema") or one.get("parameters") or {} for one in declared},
        tuple(part["text"] for role, part in parts if role == "user" and "text" in part),
        tuple(_text(part["functionResponse"]["response"]) for _, part in parts if "functionResponse" in part),
        sum(role == "model" and "text" in part for role, part in parts),
    )


def _whole_gemini(answer: Answer, _: Json) -> Json:
    calls: list[Json] = [
        {"functionCall": {"id": call.id, "name": call.name, "args": call.input}} for call in answer.calls
    ]
    content = {"role": "model", "parts": calls or [{"text": answer.text}]}
    return {
        "candidates": [{"content": content, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
        "modelVersion": "scripted",
        "responseId": secrets.token_hex(8),
    }


def _stream_gemini(answer: Answer, body: Json) -> Iterator[tuple[str, Json]]:
    yield "", _whole_gemini(answer, body)


WIRE_FORMS: Mapping[str, WireForm] = {
    "anthropic": WireForm(("/messages",), _see_anthropic, _stream_anthropic, _whole_anthropic, "toolu_"),
    "responses": WireForm(("/responses",), _see_responses, _stream_responses, _whole_responses),
    "chat": WireForm(("/chat/completions",), _see_chat, _stream_chat, _whole_chat),
    "gemini": WireForm((":generateContent", ":streamGenerateContent"), _see_gemini, _stream_gemini, _whole_gemini),
}
