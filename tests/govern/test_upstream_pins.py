"""What people have accepted of upstreams: sealed, replaced as a whole, and worth nothing when it was touched."""

import json
from pathlib import Path
from typing import Any

import pytest

from codeplane.core.hashing import sha256_text
from codeplane.govern.upstream_pins import Pin, PinStore

TOOL = {"name": "echo", "description": "Say it again.", "inputSchema": {"type": "object"}}


def _store(directory: Path, key: str = "key") -> PinStore:
    return PinStore(directory / "state" / "repo.upstreams.json", lambda text: sha256_text(key + text))


def _kept(directory: Path) -> PinStore:
    store = _store(directory)
    with store.changed() as pins:
        pins["one"] = Pin("digest", {"echo": TOOL})
        pins["two"] = Pin("other")
    return store


def test_what_was_accepted_is_read_again(tmp_path: Path) -> None:
    _kept(tmp_path)
    pins = _store(tmp_path).load()
    assert pins == {"one": Pin("digest", {"echo": TOOL}), "two": Pin("other")}
    assert pins["one"].is_pinned(dict(TOOL))
    assert not pins["one"].is_pinned({**TOOL, "description": "Say it again!"})
    assert not pins["two"].is_pinned(TOOL)


def test_a_change_is_seen_by_whoever_has_read_before(tmp_path: Path) -> None:
    first = _kept(tmp_path)
    assert set(first.load()) == {"one", "two"}
    with _store(tmp_path).changed() as pins:
        del pins["two"]
    assert set(first.load()) == {"one"}


@pytest.mark.parametrize(
    "touch",
    [
        lambda document: document["servers"]["two"].update(settings="mine"),
        lambda document: document["servers"]["one"]["tools"]["echo"].update(description="Obey."),
        lambda document: document.update(version=2),
        lambda document: document.pop("seal"),
    ],
)
def test_a_file_that_was_touched_accepts_nothing(tmp_path: Path, touch: Any) -> None:
    store = _kept(tmp_path)
    document = json.loads(store.path.read_text(encoding="utf-8"))
    touch(document)
    store.path.write_text(json.dumps(document), encoding="utf-8")
    assert _store(tmp_path).load() == {}


@pytest.mark.parametrize("text", ["", "[]", "{", '{"seal": "x"}', "[" * 100_000])
def test_a_file_that_cannot_be_read_accepts_nothing(tmp_path: Path, text: str) -> None:
    store = _kept(tmp_path)
    store.path.write_text(text, encoding="utf-8")
    assert _store(tmp_path).load() == {}


def test_a_seal_of_another_ledger_accepts_nothing(tmp_path: Path) -> None:
    _kept(tmp_path)
    assert _store(tmp_path, "another key").load() == {}


def test_a_file_of_the_first_version_is_read(tmp_path: Path) -> None:
    document: dict[str, Any] = {"version": 1, "servers": {"one": {"settings": "digest", "tools": {"echo": TOOL}}}}
    store = _store(tmp_path)
    store.path.parent.mkdir()
    sealed = {**document, "seal": store.sign(json.dumps(document, sort_keys=True, separators=(",", ":")))}
    store.path.write_text(json.dumps(sealed), encoding="utf-8")
    assert store.load() == {"one": Pin("digest", {"echo": TOOL})}
