"""Seeds are read in a fixed order; every line that breaks a rule is named."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from codeplane.store.graph.model import Edge, line_of
from codeplane.store.graph.seeds import MAX_LINE_BYTES, SEED_FOLDER, Seeds, read_seeds
from support.graphs import edge, node, policy, write_seeds

GOOD = {
    "id": "a", "type": "fact", "version": 1, "updated_at": "2025-01-31T12:00:00Z", "updated_by": "me",
    "label": "X", "props": {},
}  # fmt: skip
GOOD_EDGE = {**{k: v for k, v in GOOD.items() if k != "label"}, "from": "a", "rel": "R", "to": "b"}


def messages(seeds: Seeds) -> list[str]:
    return [str(one).removeprefix(f"{SEED_FOLDER}/") for one in seeds.errors]


def test_a_tree_without_seeds_has_none(tmp_path: Path) -> None:
    assert read_seeds(tmp_path) == Seeds()


def test_rows_are_found_in_all_folders_with_their_places(tmp_path: Path) -> None:
    write_seeds(
        tmp_path,
        {
            "b.jsonl": [node("n2"), "", edge("n1>n2")],
            "deep/er/a.jsonl": [node("n1"), policy("p", title="T")],
            "notes.txt": ["not a seed"],
        },
    )
    seeds = read_seeds(tmp_path)
    found = [(one.row.id, str(one.place).removeprefix(f"{SEED_FOLDER}/")) for one in seeds.rows]
    expected = [
        ("n1", "deep/er/a.jsonl:1"),
        ("n2", "b.jsonl:1"),
        ("p", "deep/er/a.jsonl:2"),
        ("n1>n2:USES", "b.jsonl:3"),
    ]
    assert (found, seeds.errors, seeds.n_files) == (expected, (), 2)
    assert [one.row.document["title"] for one in seeds.of_type("policy")] == ["T"]
    assert seeds.of_type("recipe") == ()


def test_the_highest_version_of_an_id_wins_wherever_it_is(tmp_path: Path) -> None:
    write_seeds(tmp_path, {"a.jsonl": [node("x", version=10, n=1)], "b.jsonl": [node("x", version=9), node("y")]})
    assert [(one.row.id, one.row.stamp.version) for one in read_seeds(tmp_path).rows] == [("x", 10), ("y", 1)]


def test_an_equal_row_twice_is_one_row(tmp_path: Path) -> None:
    reordered = json.dumps(dict(reversed(node("x", n=1.0).document.items())))
    write_seeds(tmp_path, {"a.jsonl": [node("x", n=1), reordered], "b.jsonl": [node("x", n=1)]})
    seeds = read_seeds(tmp_path)
    assert (len(seeds.rows), seeds.errors) == (1, ())


@pytest.mark.parametrize("newer", [[], [node("x", version=2)]], ids=["alone", "superseded"])
def test_the_same_version_with_other_content_names_both_lines(tmp_path: Path, newer: list[Any]) -> None:
    write_seeds(tmp_path, {"B.jsonl": [*newer, node("y"), node("x", n=1)], "a.jsonl": ["", node("x", n=2)]})
    (message,) = messages(read_seeds(tmp_path))
    # The files are read in the order of the bytes of their names.
    place = f"{SEED_FOLDER}/B.jsonl:{len(newer) + 2}"
    assert message.startswith(f"a.jsonl:2: x has version 1 with other content at {place}.")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        *(({name: None}, f"Missing: {name}.") for name in ("id", "type", "version", "updated_at", "updated_by")),
        ({"id": ""}, "`id` must be printable text"),
        ({"id": " "}, "`id` must be printable text"),
        ({"id": 5}, "`id` must be printable text"),
        ({"id": "x" * 501}, "`id` must be printable text"),
        ({"id": "a\nb"}, "`id` must be printable text"),
        ({"id": "\ud800"}, "`id` must be printable text"),
        ({"type": []}, "`type` must be printable text"),
        ({"version": "1"}, "`version` must be a whole number"),
        ({"version": True}, "`version` must be a whole number"),
        ({"version": -1}, "`version` must be a whole number"),
        ({"version": 1.5}, "`version` must be a whole number"),
        ({"version": 2**53}, "`version` must be a whole number"),
        ({"updated_at": "yesterday"}, "`updated_at` must be an ISO 8601 time"),
        ({"updated_at": 5}, "`updated_at` must be printable text"),
        ({"updated_by": ""}, "`updated_by` must be printable text"),
        ({"label": "a b"}, "`label` must be a name"),
        ({"label": "X`) DETACH DELETE (n"}, "`label` must be a name"),
        ({"label": ""}, "`label` must be a name"),
        ({"label": None}, "a node has label and props"),
        ({"props": None}, "a node has label and props"),
        ({"props": []}, "`props` must be an object"),
        ({"props": {"big": 2**53}}, "cannot be written as canonical JSON"),
        ({"props": {"\udc00": 1}}, "cannot be written as canonical JSON"),
        ({"extra": 1}, "got extra, label, props"),
        ({"from": "a"}, "got from, label, props"),
    ],
)
def test_a_row_that_breaks_a_rule_is_named(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    bad = {name: value for name, value in {**GOOD, **change}.items() if value is not None}
    write_seeds(tmp_path, {"a.jsonl": [node("ok"), json.dumps(bad), node("ok2")]})
    seeds = read_seeds(tmp_path)
    assert [one.row.id for one in seeds.rows] == ["ok", "ok2"]
    (found,) = messages(seeds)
    assert found.startswith("a.jsonl:2: ")
    assert message in found


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"from": ""}, "`from` must be printable text"),
        ({"to": None}, "got from, props, rel"),
        ({"rel": "R-S"}, "`rel` must be a name"),
        ({"rel": 1}, "`rel` must be a name"),
    ],
)
def test_an_edge_that_breaks_a_rule_is_named(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    bad = {name: value for name, value in {**GOOD_EDGE, **change}.items() if value is not None}
    write_seeds(tmp_path, {"a.jsonl": [json.dumps(GOOD_EDGE), json.dumps({**bad, "id": "other"})]})
    seeds = read_seeds(tmp_path)
    assert isinstance(seeds.rows[0].row, Edge)
    (found,) = messages(seeds)
    assert found.startswith("a.jsonl:2: ")
    assert message in found


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "not JSON"),
        ("[]", "must be a JSON object"),
        ("null", "must be a JSON object"),
        ('{"id": NaN}', "NaN is not JSON"),
        ('{"id": 1, "id": 2}', "given twice"),
        ("[" * 100_000, "nested too deeply"),
        ('{"id": "' + "x" * MAX_LINE_BYTES + '"}', "more than"),
    ],
)
def test_a_line_that_is_no_row_is_named(tmp_path: Path, line: str, message: str) -> None:
    write_seeds(tmp_path, {"a.jsonl": [line, node("ok")]})
    seeds = read_seeds(tmp_path)
    assert [one.row.id for one in seeds.rows] == ["ok"]
    assert message in messages(seeds)[0]


def test_a_line_that_is_not_utf_8_is_named(tmp_path: Path) -> None:
    write_seeds(tmp_path, {"a.jsonl": [node("ok")]})
    with (tmp_path / SEED_FOLDER / "a.jsonl").open("ab") as file:
        file.write(b'{"id": "\xff"}\n')
    assert messages(read_seeds(tmp_path)) == ["a.jsonl:2: The line is not UTF-8."]


def test_links_and_pipes_are_not_read(tmp_path: Path) -> None:
    root = tmp_path / "tree"
    outside = tmp_path / "outside.jsonl"
    outside.write_text(line_of(node("outside")), encoding="utf-8")
    write_seeds(root, {"a.jsonl": [node("ok")]})
    folder = root / SEED_FOLDER
    (folder / "link.jsonl").symlink_to(outside)
    os.mkfifo(folder / "pipe.jsonl")
    (folder / "folder").symlink_to(tmp_path)
    seeds = read_seeds(root)
    assert [one.row.id for one in seeds.rows] == ["ok"]
    assert [message.split(":")[0] for message in messages(seeds)] == ["link.jsonl", "pipe.jsonl"]


def test_a_folder_of_seeds_that_is_a_link_is_not_read(tmp_path: Path) -> None:
    write_seeds(tmp_path / "elsewhere", {"a.jsonl": [node("outside")]})
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree/.orchestration").symlink_to(tmp_path / "elsewhere/.orchestration")
    seeds = read_seeds(tmp_path / "tree")
    assert (seeds.rows, len(seeds.errors)) == ((), 1)
