"""Compile the modules in which a build of the index spends its time; where they cannot be, they run as they are.

A wheel takes the compiled modules along. In a checkout `make setup` runs this file, which puts them beside their
sources, where Python prefers them; they are made anew when a source differs from what was compiled (decision 0017).
`--forget-stale` only removes those that are not current, so that tests never run what is not in the sources.
"""

import hashlib
import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_ROOT = Path(__file__).resolve().parent
_WORKSHOP = _ROOT / "build" / "compiled"
_PACKAGE = "codeplane"
# Every loop over the identifiers of a file, and over what they mean.
_MODULES = (
    "codeplane.index.facts.columns",
    "codeplane.index.facts.compiling",
    "codeplane.index.facts.encoded",
    "codeplane.index.facts.outline",
    "codeplane.index.facts.outline_storage",
    "codeplane.index.linking.resolve",
    "codeplane.index.linking.stored_links",
    "codeplane.index.linking.unit",
    "codeplane.languages.python.extract",
    "codeplane.languages.python.scoping",
    "codeplane.languages.python.tables",
    "codeplane.languages.python.texts",
    "codeplane.languages.python.walking",
)
_IMPORT = re.compile(r"^(?:from|import) (codeplane[\w.]*)(?: import (\w+))?", re.MULTILINE)
# Most packages that sources import are not there when a wheel is built apart. What `make types` checks is not checked
# again here.
_OPTIONS = ("--config-file=", "--ignore-missing-imports")


class CompiledModules(BuildHookInterface[Any]):
    """Adds the compiled modules to a wheel."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, unless a checkout is only to be found where it lies."""
        if version == "editable":
            return
        missing = _what_is_missing()
        output = "" if missing else _compile()
        if missing or output:
            self.app.display_warning(f"The wheel has no compiled modules: {missing or output}")
            return
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
        build_data["force_include"].update({str(_WORKSHOP / path): path.as_posix() for path in _compiled(_WORKSHOP)})


def main(arguments: list[str]) -> int:
    """Bring the compiled modules of this checkout up to date."""
    source, stamp = _ROOT / "src", _ROOT / "src" / ".compiled"
    missing = _what_is_missing()
    state = f"{_digest(source)} {missing}"
    if stamp.exists() and stamp.read_text(encoding="utf-8") == state:
        return 0
    stamp.unlink(missing_ok=True)
    for path in _compiled(source):
        (source / path).unlink()
    if "--forget-stale" in arguments:
        return 0
    if missing:
        print(f"Indexing runs uncompiled and takes about a fifth longer: {missing}.")
    else:
        print(f"Compiling {len(_MODULES)} modules ...")
        output = _compile()
        if output:
            print(output)
            return 1
        for path in _compiled(_WORKSHOP):
            # Copied beside and renamed: a process may be using an older one.
            beside = source / f"{path}.new"
            shutil.copyfile(_WORKSHOP / path, beside)
            beside.replace(source / path)
    stamp.write_text(state, encoding="utf-8")
    return 0


def _what_is_missing() -> str:
    """Return why nothing can be compiled here, empty when it can."""
    compiler = os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc"
    if platform.python_implementation() != "CPython":
        return "the interpreter is not CPython"
    if shutil.which(compiler.split()[0]) is None:
        return f"there is no C compiler ({compiler.split()[0]})"
    if not (Path(sysconfig.get_paths()["include"]) / "Python.h").exists():
        return "Python's headers are not installed"
    if any(importlib.util.find_spec(name) is None for name in ("mypyc", "setuptools")):
        return "mypyc is not installed"
    return ""


def _compile() -> str:
    """Compile a copy of the sources in the workshop; return what went wrong, empty for nothing."""
    shutil.rmtree(_WORKSHOP, ignore_errors=True)
    ignored = shutil.ignore_patterns("__pycache__", "*.so")
    shutil.copytree(_ROOT / "src" / _PACKAGE, _WORKSHOP / _PACKAGE, ignore=ignored)
    files = [name.replace(".", "/") + ".py" for name in _MODULES]
    done = subprocess.run(
        [sys.executable, "-m", "mypyc", *_OPTIONS, *files],
        cwd=_WORKSHOP,
        env={**os.environ, "MYPYC_OPT_LEVEL": "3", "MYPYC_DEBUG_LEVEL": "0"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    return done.stdout[-4000:] or "mypyc failed" if done.returncode else ""


def _compiled(directory: Path) -> list[Path]:
    """Return the compiled modules below a directory, relative to it; one that all of them share lies at its top."""
    found = [*directory.glob("*__mypyc*.so"), *(directory / _PACKAGE).rglob("*.so")]
    return sorted(path.relative_to(directory) for path in found)


def _digest(source: Path) -> str:
    """Return a hash of everything that compiled modules are made of.

    They hold constants of the modules they import, and those of the modules these import.
    """
    waiting, seen = [*_MODULES], set(_MODULES)
    digest = hashlib.sha256(f"{sysconfig.get_config_var('EXT_SUFFIX')} {sys.version}".encode())
    digest.update(Path(__file__).read_bytes())
    texts = {}
    while waiting:
        name = waiting.pop()
        path = source / (name.replace(".", "/") + ".py")
        if not path.exists():
            continue
        texts[name] = path.read_bytes()
        for module, member in _IMPORT.findall(texts[name].decode()):
            for one in {module, f"{module}.{member}"} - seen:
                seen.add(one)
                waiting.append(one)
    for name in sorted(texts):
        digest.update(name.encode() + b"\0" + texts[name] + b"\0")
    return digest.hexdigest()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
