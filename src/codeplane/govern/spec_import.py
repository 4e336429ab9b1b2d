"""Intents from specifications that are in the repository already: spec-kit, OpenSpec and Kiro folders.

What is imported is a draft: a person looks at the scope, which is guessed from the paths that tasks name, and activates
it.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from codeplane.govern.intents import Intent, check_pattern

_MAX_BYTES: Final = 1_000_000
_MAX_LISTED: Final = 50
_HEADING: Final = re.compile(r"^#\s+(.+?)\s*$", re.MULTILINE)
_TASK: Final = re.compile(r"^\s*[-*]\s+\[[ xX]\]\s+(.+?)\s*$", re.MULTILINE)
_TITLE_WORDS: Final = re.compile(
    r"^(?:feature specification|specification|spec|implementation plan|tasks|proposal|change|"
    r"requirements?(?: document)?|design(?: document)?)\s*[:\u2013-]\s*",
    re.IGNORECASE,
)
_PATH: Final = re.compile(r"(?<![\w./-])((?:[\w.-]+/)+[\w.*-]+\.[A-Za-z0-9]{1,8}|(?:[\w.-]+/){1,}\*\*?)(?![\w/])")
_REQUIREMENT: Final = re.compile(r"\b((?:FR|NFR|REQ|SC|US)-\d{1,4})\b")
_CRITERION: Final = re.compile(r"^\s*(?:\d+\.\s*|[-*]\s*)(.*\b(?:WHEN|GIVEN|Given|SHALL|MUST)\b.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class SpecKind:
    """One kind of specification: where its folders are, and which files hold what."""

    name: str
    prefix: str
    folders: str
    title: Sequence[str]
    criteria: Sequence[str]
    tasks: Sequence[str]
    skips: Callable[[str], bool] = lambda _name: False


KINDS: Final = (
    SpecKind("spec-kit", "SPEC", "specs/*", ("spec.md", "plan.md"), ("spec.md",), ("tasks.md", "plan.md")),
    SpecKind(
        "openspec", "CHANGE", "openspec/changes/*", ("proposal.md", "design.md"), ("specs/**/spec.md", "proposal.md"),
        ("tasks.md", "design.md"), lambda name: name == "archive",
    ),
    SpecKind(
        "kiro", "KIRO", ".kiro/specs/*", ("requirements.md", "design.md"), ("requirements.md",),
        ("tasks.md", "design.md"),
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ImportedIntent:
    """A draft and the folder it comes from."""

    intent: Intent
    source: str
    kind: str


def find_specs(root: Path, kind: str | None = None) -> list[ImportedIntent]:
    """Return a draft for every specification folder, in the order of their names."""
    found = []
    for one in KINDS:
        if kind is not None and one.name != kind:
            continue
        for folder in sorted(root.glob(one.folders)):
            # What a link leads to is not part of the repository.
            if folder.is_dir() and not folder.is_symlink() and not one.skips(folder.name):
                imported = _intent_of(root, folder, one)
                if imported is not None:
                    found.append(imported)
    return found


def _intent_of(root: Path, folder: Path, kind: SpecKind) -> ImportedIntent | None:
    texts = {path.relative_to(folder).as_posix(): text for path, text in _texts(folder)}
    if not texts:
        return None
    tasks = _joined(texts, folder, kind.tasks)
    everything = "\n".join(texts.values())
    slug = re.sub(r"[^A-Za-z0-9._-]+", "-", folder.name).strip("-.")[:50] or "spec"
    criteria = [*_CRITERION.findall(_joined(texts, folder, kind.criteria)), *_TASK.findall(tasks)]
    intent = Intent(
        id=f"{kind.prefix}-{slug}",
        name=_title(texts, folder, kind) or folder.name,
        status="draft",
        owned_scope=tuple(_scope(tasks)),
        acceptance_criteria=tuple(_short(one) for one in dict.fromkeys(criteria))[:_MAX_LISTED],
        requirements=tuple(dict.fromkeys(_REQUIREMENT.findall(everything)))[:_MAX_LISTED],
    )
    return ImportedIntent(intent, folder.relative_to(root).as_posix(), kind.name)


def _texts(folder: Path) -> Iterator[tuple[Path, str]]:
    for path in sorted(folder.rglob("*.md")):
        if path.is_symlink() or not path.is_file() or path.stat().st_size > _MAX_BYTES:
            continue
        yield path, path.read_text(encoding="utf-8", errors="replace")


def _joined(texts: Mapping[str, str], folder: Path, names: Sequence[str]) -> str:
    wanted = [path.relative_to(folder).as_posix() for name in names for path in sorted(folder.glob(name))]
    return "\n".join(texts[name] for name in wanted if name in texts)


def _title(texts: Mapping[str, str], folder: Path, kind: SpecKind) -> str:
    for name in kind.title:
        heading = _HEADING.search(_joined(texts, folder, (name,)))
        if heading is not None:
            title = _short(_TITLE_WORDS.sub("", heading[1]))
            if title and title.lower() not in {"requirements", "requirements document", "design document", "proposal"}:
                return title
    return ""


def _scope(text: str) -> list[str]:
    found = []
    for path in dict.fromkeys(_PATH.findall(text)):
        try:
            check_pattern(path)
        except ValueError:
            continue
        found.append(path)
    return found[:_MAX_LISTED]


def _short(text: str) -> str:
    return " ".join(text.replace("**", "").replace("`", "").split())[:300]
