"""Small workspaces as text, each with the chains it must give."""

import re
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from codeplane.controller.proof_chains.catalog import KINDS, build_chains
from codeplane.controller.proof_chains.chains import Chain, Hint
from codeplane.controller.proof_chains.source_files import SourceFiles

FOLDER = Path(__file__).parent / "cases"
KIND_OF = {"ag_grid": "ag_grid_origin", "federation": "federation", "django_url": "django_url"}


@dataclass
class Case:
    name: str
    kind: str
    settings: dict[str, str] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)


def read_cases(path: Path) -> list[Case]:
    """Read the cases of one file; a file without text takes a file of the base away."""
    bases: dict[str, dict[str, str]] = {}
    cases = []
    for part in re.split(r"^=== ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        head, *bodies = re.split(r"^--- ", part, flags=re.MULTILINE)
        name, _, rest = head.partition("\n")
        files = {body.partition("\n")[0].strip(): body.partition("\n")[2] for body in bodies}
        if name.startswith("base "):
            bases[name.removeprefix("base ")] = files
            continue
        settings = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in rest.splitlines())}
        merged = bases[settings["use"]] | files
        cases.append(
            Case(name, KIND_OF[path.stem], settings, {one: text for one, text in merged.items() if text.strip()})
        )
    return cases


CASES = [case for path in sorted(FOLDER.glob("*.txt")) for case in read_cases(path)]


def view(files: dict[str, str]) -> SourceFiles:
    return SourceFiles(tuple(sorted(files)), files.get)


def chains_of(case: Case) -> tuple[Chain, ...]:
    hint = case.settings.get("hint")
    hints = []
    if hint:
        link, file, line = hint.split()
        hints.append(Hint(link, file, int(line)))
    return build_chains(case.kind, case.settings["target"], view(case.files), hints)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_workspace_gives_its_chains(case: Case) -> None:
    chains = chains_of(case)
    assert " | ".join(sorted(chain.status for chain in chains)) == case.settings["expect"], chains
    first = chains[0] if chains else Chain("", "", (), ())
    if "names" in case.settings:
        assert " > ".join(link.name for link in first.links) == case.settings["names"]
    if "via" in case.settings:
        assert " > ".join(link.via for link in first.links) == case.settings["via"]
    if "hop" in case.settings:
        assert case.settings["hop"] in first.hops


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_each_link_is_in_a_file_and_joined_to_the_one_before(case: Case) -> None:
    names = [link.name for link in KINDS[case.kind].links]
    for chain in chains_of(case):
        assert len(chain.relations) == len(chain.links)
        assert all(chain.relations[1:])
        if len(chain.links) > 1:
            assert [link.link for link in chain.links] == names[: len(chain.links)]
        for link in chain.links:
            assert 1 <= link.line <= case.files[link.file].count("\n") + 1
            assert link.confidence in {100, 80, 50}
