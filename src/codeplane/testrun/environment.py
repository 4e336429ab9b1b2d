"""Where the programs of a project are: its own environment first, then the PATH."""

import os
import posixpath
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from codeplane.core.errors import CodePlaneError
from codeplane.testrun.model import Place, Runner

_ENVIRONMENTS: Final = (".venv", "venv", "env")
# Tools that know their environment, with the file that shows their use.
_LAUNCHERS: Final = (
    ("uv.lock", ("uv", "run", "--no-sync")),
    ("poetry.lock", ("poetry", "run")),
    ("pdm.lock", ("pdm", "run")),
    ("hatch.toml", ("hatch", "run")),
    ("Pipfile.lock", ("pipenv", "run")),
)


def python_places(module: str) -> tuple[Place, ...]:
    """Return where Python is looked for, and with it a module that it has to have; no module means Python alone."""
    words = ("-m", module) if module else ()
    own = [
        Place(("{path}", *words), path=f"{name}/bin/python", beside=f"{name}/bin/{module}" if module else "")
        for name in _ENVIRONMENTS
    ]
    launched = [Place((*launcher, "python", *words), on_path=launcher[0], beside=lock) for lock, launcher in _LAUNCHERS]
    last = (
        [Place((module,), on_path=module)]
        if module
        else [Place((name,), on_path=name) for name in ("python3", "python")]
    )
    return (*own, *launched, *last)


@dataclass(frozen=True, slots=True)
class Program:
    """The words that start a runner, or what was looked for in vain."""

    words: tuple[str, ...] = ()
    looked_for: tuple[str, ...] = ()


def find_program(root: Path, directory: str, runner: Runner) -> Program:
    """Look for a runner's program from its directory up to the repository's root, then on the PATH."""
    for place in runner.places:
        words = _words(root, directory, place)
        if words:
            return Program(words)
    return Program(looked_for=tuple(dict.fromkeys(_shown(place) for place in runner.places)))


def find_own(root: Path, name: str) -> Program:
    """Look for the program of a command of the project's own: in the repository or on the PATH."""
    if shutil.which(name) is not None or os.access(root / name, os.X_OK):
        return Program((name,))
    return Program(looked_for=(name, f"{name} on PATH"))


def not_found(runner: str, program: Program) -> CodePlaneError:
    """Return the error of a runner that is missing."""
    places = ", ".join(program.looked_for)
    message = f"Test runner '{runner}' not found in PATH or in the project; looked for {places}."
    return CodePlaneError("TEST_RUNNER_NOT_FOUND", message, details={"runner": runner, "looked_for": places})


def _words(root: Path, directory: str, place: Place) -> tuple[str, ...]:
    if place.on_path:
        is_there = shutil.which(place.on_path) is not None
        is_used = not place.beside or any((above / place.beside).exists() for above in _upwards(root, directory))
        return place.found if is_there and is_used else ()
    for above in _upwards(root, directory):
        program = above / place.path
        if os.access(program, os.X_OK) and (not place.beside or (above / place.beside).exists()):
            return tuple(str(program) if word == "{path}" else word for word in place.found)
    return ()


def _upwards(root: Path, directory: str) -> list[Path]:
    found = [root / directory]
    while directory not in {"", "."}:
        directory = posixpath.dirname(directory)
        found.append(root / directory)
    return found


def _shown(place: Place) -> str:
    if place.path:
        return place.beside or place.path
    return f"{place.on_path} on PATH" + (f" with {place.beside}" if place.beside else "")
