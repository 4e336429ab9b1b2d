"""The intents file: what is valid, what is refused with its line, and how it is changed without losing anything."""

from pathlib import Path

import pytest

from codeplane.core.errors import CodePlaneError
from codeplane.govern.intents import Intent, is_ignored, is_inside, matches, parse_ignored, parse_intents
from codeplane.govern.intents_file import widened, with_intent, with_status
from codeplane.govern.spec_import import find_specs
from support.governed import INTENTS
from support.repositories import write


def _one(**fields: str) -> str:
    lines = {"id": "INT-1", "name": "n", **fields}
    return "active_intents:\n  - " + "\n    ".join(f"{name}: {value}" for name, value in lines.items()) + "\n"


def _twice(first: str, second: str) -> str:
    return _one(id=first) + _one(id=second).removeprefix("active_intents:\n")


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("- a\n", 1, "mapping"),
        ("active_intents: [\n", 2, "YAML"),
        ("active_intents:\n\t- id: x\n", 2, "tab"),
        ("active_intents: many\n", 1, "list"),
        ("active:\n  - id: x\n", 1, "active"),
        ("active_intents:\n  - name: n\n", 2, "id"),
        ("active_intents:\n  - id: INT-1\n", 2, "name"),
        (_one(status="open"), 4, "status"),
        (_one(id="a b"), 3, "letters"),
        (_one(name='""'), 3, "name"),
        (_one(owned_scope="src/**"), 4, "list"),
        (_one(owned_scope="[/etc/**]"), 4, "relative"),
        (_one(owned_scope="[../x]"), 4, "relative"),
        (_one(owned_scope='[""]'), 4, "nothing"),
        (_one(expires="soon"), 4, ""),
        (_one(parent="INT-9"), 4, "no intent INT-9"),
        (_one(parent="INT-1"), 4, "above itself"),
        (_twice("INT-1", "INT-1"), 4, "twice, first on line 2"),
        (_one(owner="me"), 4, "owner"),
        ("active_intents: &a [*a]\n", 1, ""),
        ("x" * 20 + ": !!python/object:os.system\n", 1, "tag"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(text: str, line: int, words: str) -> None:
    with pytest.raises(CodePlaneError) as caught:
        parse_intents(text)
    assert caught.value.code == "CONFIG_INVALID"
    assert f"active_intents.yaml:{line}" in caught.value.message
    assert words in caught.value.message


def test_a_huge_file_is_refused_quickly() -> None:
    many = "active_intents:\n" + "  - {id: A, name: b}\n" * 20_000
    with pytest.raises(CodePlaneError):
        parse_intents(many)


def test_a_valid_file_is_read_whole() -> None:
    intent = parse_intents(INTENTS).active_intents[0]
    assert (intent.id, intent.status, intent.requirements) == ("INT-001", "active", ("REQ-12",))
    assert intent.constraints == ("public API unchanged",)


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("src/json/**", "src/json/a.py", True),
        ("src/json/**", "src/json/deep/a.py", True),
        ("src/json/**", "src/jsonx/a.py", False),
        ("src/json/**", "lib/src/json/a.py", False),
        ("src/json/", "src/json/a.py", True),
        ("app.py", "app.py", True),
        ("app.py", "src/app.py", False),
        ("*.py", "a.py", True),
        ("*.py", "src/a.py", False),
        ("**/*.py", "src/a.py", True),
        ("**", "anything/at/all", True),
        ("src/*/a.py", "src/x/a.py", True),
        ("src/*/a.py", "src/x/y/a.py", False),
        ("src/a[bc].py", "src/ab.py", True),
    ],
)
def test_globs_are_read_from_the_root(pattern: str, path: str, fits: bool) -> None:
    assert matches((pattern,), path) is fits


@pytest.mark.parametrize(
    ("inner", "outer", "inside"),
    [
        ("src/a/**", ("src/**",), True),
        ("src/a.py", ("src/*.py",), True),
        ("src/**", ("src/a/**",), False),
        ("**", ("src/**",), False),
        ("src/**", ("**",), True),
        ("src/*.py", ("src/*.py",), True),
        ("srcx/a", ("src/**",), False),
        ("*/a.py", ("src/**",), False),
    ],
)
def test_a_childs_scope_lies_certainly_inside_of_its_parents(inner: str, outer: tuple[str, ...], inside: bool) -> None:
    assert is_inside(inner, outer) is inside


def test_a_child_outside_of_its_parent_is_refused() -> None:
    child = "  - id: INT-009\n    name: child\n    parent: INT-001\n    owned_scope: [src/payments/**]\n"
    with pytest.raises(CodePlaneError) as caught:
        parse_intents(INTENTS + child)
    assert "not certainly inside of the scope of INT-001" in caught.value.message


def test_an_ignored_id_may_stand_with_a_star_and_comments() -> None:
    ignored = parse_ignored("# none\nINT-00* # old\n\nX-1\n")
    assert [is_ignored(ignored, one) for one in ("INT-001", "INT-010", "X-1", "X-11")] == [True, False, True, False]


STYLES = {
    "flow": 'active_intents:\n  - id: A\n    name: a  # why\n    status: active\n    owned_scope: ["x/**"]\n',
    "block": "# top\nactive_intents:\n- id: A\n  name: a\n  status: active\n  owned_scope:\n  - x/**\n  # the end\n",
    "empty": "active_intents:\n  - id: A\n    name: a\n    status: active\n    owned_scope: []\n",
    "none": "active_intents:\n  - id: A\n    name: a\n    status: active\n",
    "two": "active_intents:\n  - id: A\n    status: active\n    name: a\n  - id: B\n    name: b\n",
}


@pytest.mark.parametrize("style", STYLES)
def test_a_scope_is_widened_and_the_rest_stays(style: str) -> None:
    text = STYLES[style]
    changed = widened(text, "A", ("new/file.py", "more/**"))
    before = parse_intents(text).active_intents[0].owned_scope
    assert parse_intents(changed).active_intents[0].owned_scope == (*before, "new/file.py", "more/**")
    assert [line for line in text.splitlines() if "#" in line] == [line for line in changed.splitlines() if "#" in line]


@pytest.mark.parametrize("style", STYLES)
def test_a_status_is_changed_and_an_intent_added(style: str) -> None:
    closed = with_status(STYLES[style], "A", "done")
    assert parse_intents(closed).active_intents[0].status == "done"
    added = with_intent(closed, Intent(id="C", name="c: #x", status="active", owned_scope=("c/**",), parent=None))
    last = parse_intents(added).active_intents[-1]
    assert (last.id, last.name, last.owned_scope) == ("C", "c: #x", ("c/**",))
    assert {line for line in closed.splitlines() if line.strip()} <= set(added.splitlines())


def test_the_first_intent_makes_the_file() -> None:
    text = with_intent(None, Intent(id="A", name="a", status="active", owned_scope=("a/**",)))
    assert parse_intents(text).active_ids(0) == ("A",)


def test_drafts_come_from_spec_kit_openspec_and_kiro_folders(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "specs/001-photo-album/spec.md": "# Feature Specification: Photo Album\n\n- **FR-001**: It MUST sort.\n",
            "specs/001-photo-album/tasks.md": "- [ ] T001 [P] Create model in src/models/photo.py\n- [x] T002 test\n",
            "openspec/changes/add-2fa/proposal.md": "# Change: Add 2FA\n\nWhy.\n",
            "openspec/changes/add-2fa/tasks.md": "## 1.\n- [ ] 1.1 Edit `src/auth/login.ts`\n",
            "openspec/changes/add-2fa/specs/auth/spec.md": "- GIVEN a user WHEN they log in\n",
            "openspec/changes/archive/old/proposal.md": "# Old\n",
            ".kiro/specs/chat/requirements.md": "# Requirements\n\n1. WHEN a message arrives THE APP SHALL show it\n",
            ".kiro/specs/chat/tasks.md": "- [ ] 1. Build src/chat/view.tsx\n",
        },
    )
    found = {one.intent.id: one for one in find_specs(tmp_path)}
    assert set(found) == {"SPEC-001-photo-album", "CHANGE-add-2fa", "KIRO-chat"}
    album = found["SPEC-001-photo-album"].intent
    assert (album.name, album.status, album.owned_scope) == ("Photo Album", "draft", ("src/models/photo.py",))
    assert album.requirements == ("FR-001",)
    assert found["CHANGE-add-2fa"].intent.owned_scope == ("src/auth/login.ts",)
    assert any("WHEN a message arrives" in one for one in found["KIRO-chat"].intent.acceptance_criteria)
