"""Modules that are compiled are those of the sources, and say the same as the sources do."""

import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from index.facts_dump import dump_facts
from support.doors import open_test_workspace
from support.repositories import make_repository

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = "hatch_build.py"
# Prints a hash of all facts of the repository it is given, and where the resolver was loaded from.
_DUMP = """
import json, sys
from pathlib import Path
from codeplane.index.linking import resolve
from test_compiled_modules import hash_of_facts
print(json.dumps([hash_of_facts(Path(sys.argv[1])), resolve.__file__]))
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Return a copy of what a wheel is built from, nothing compiled in it."""
    root = tmp_path / "checkout"
    copy_sources(root / "src")
    for name in (SCRIPT, "pyproject.toml", "README.md", "CHANGELOG.md", ".gitignore"):
        shutil.copyfile(ROOT / name, root / name)
    return root


def copy_sources(target: Path) -> None:
    shutil.copytree(ROOT / "src", target, ignore=shutil.ignore_patterns("__pycache__", "*.so", ".compiled"))


def hash_of_facts(root: Path) -> str:
    with open_test_workspace(root) as workspace:
        workspace.index.refresh()
        return hashlib.sha256(repr(dump_facts(workspace)).encode("utf-8", "surrogatepass")).hexdigest()


def run(checkout: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=checkout,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def add_compiled(checkout: Path) -> list[Path]:
    """Put files where compiled modules lie, as if they had been made of the sources as they are."""
    files = [checkout / "src" / "0__mypyc.so", checkout / "src/codeplane/index/facts/compiling.so"]
    for file in files:
        file.write_bytes(b"")
    return files


def test_without_a_compiler_it_says_so_once_and_goes_on(checkout: Path) -> None:
    first = run(checkout, SCRIPT, CC="/nowhere/cc")
    assert (first.returncode, first.stderr) == (0, "")
    expected = "Indexing runs uncompiled and takes about a fifth longer: there is no C compiler (/nowhere/cc).\n"
    assert first.stdout == expected
    again = run(checkout, SCRIPT, CC="/nowhere/cc")
    assert (again.returncode, again.stdout) == (0, "")


@pytest.mark.parametrize(
    "changed",
    ["codeplane/languages/python/walking.py", "codeplane/languages/facts.py", "codeplane/core/errors.py"],
    ids=["compiled itself", "imported by what is compiled", "imported by what is imported"],
)
def test_what_is_not_made_of_these_sources_is_removed(checkout: Path, changed: str) -> None:
    run(checkout, SCRIPT, CC="/nowhere/cc")
    files = add_compiled(checkout)
    assert run(checkout, SCRIPT, "--forget-stale", CC="/nowhere/cc").returncode == 0
    assert all(file.exists() for file in files)
    source = checkout / "src" / changed
    source.write_text(source.read_text(encoding="utf-8") + "\nX = 1\n", encoding="utf-8")
    assert run(checkout, SCRIPT, "--forget-stale", CC="/nowhere/cc").returncode == 0
    assert not any(file.exists() for file in files)


def test_a_wheel_without_a_compiler_fits_every_machine_and_warns(checkout: Path, tmp_path: Path) -> None:
    built = run(checkout, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path), CC="/nowhere/cc")
    assert built.returncode == 0, built.stderr
    assert "no compiled modules: there is no C compiler (/nowhere/cc)" in built.stdout + built.stderr
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name.endswith("-py3-none-any.whl")
    assert not [name for name in zipfile.ZipFile(wheel).namelist() if name.endswith(".so")]


def test_a_wheel_takes_the_compiled_modules_along(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = importlib.util.spec_from_file_location("hatch_build_of_a_copy", checkout / SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    workshop = checkout / "build/compiled"
    made = ("0__mypyc.so", "codeplane/index/facts/compiling.so")

    def compile_quickly() -> str:
        for name in made:
            (workshop / name).parent.mkdir(parents=True, exist_ok=True)
            (workshop / name).write_bytes(b"")
        return ""

    monkeypatch.setattr(script, "_what_is_missing", str)
    monkeypatch.setattr(script, "_compile", compile_quickly)
    hook = script.CompiledModules(str(checkout), {}, None, None, "", "wheel")
    data: dict[str, Any] = {"force_include": {}}
    hook.initialize("editable", data)
    assert data == {"force_include": {}}
    hook.initialize("standard", data)
    included = {str(workshop / name): name for name in made}
    assert data == {"pure_python": False, "infer_tag": True, "force_include": included}


@pytest.mark.slow
def test_an_index_is_the_same_with_and_without_compiled_modules(tmp_path: Path) -> None:
    """Built of our own sources and tests: all languages, most of them in pieces that are damaged on purpose."""
    files: dict[str, str | bytes] = {
        path.relative_to(ROOT).as_posix(): path.read_bytes()
        for directory in ("src/codeplane/index", "src/codeplane/languages", "tests/languages", "tests/index")
        for path in (ROOT / directory).rglob("*")
        if path.is_file() and path.suffix not in {".pyc", ".so"}
    }
    plain = tmp_path / "plain"
    copy_sources(plain)
    hashes, loaded = [], []
    for name, source in (("one", ROOT / "src"), ("two", plain)):
        repository = make_repository(tmp_path / name / "repo", files)
        path = os.pathsep.join([str(source), str(ROOT / "tests")])
        done = run(tmp_path, "-c", _DUMP, str(repository), PYTHONPATH=path)
        assert done.returncode == 0, done.stderr
        one, file = json.loads(done.stdout)
        hashes.append(one)
        loaded.append(Path(file))
    assert loaded[1] == plain / "codeplane/index/linking/resolve.py"
    assert loaded[0].is_relative_to(ROOT / "src")
    assert hashes[0] == hashes[1]
