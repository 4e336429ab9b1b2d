"""How a language connects files: which modules a file provides, and which module an import means.

A module is a name that other files can import from: a dotted path in Python, a file in JavaScript, a directory in Go,
a package in Java. The index resolves names by modules; everything that a language knows about them is in a `Linker`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class UnitView:
    """The files of one language family in a repository, as far as linking may look.

    `paths` are relative to the repository, sorted; files that no context owns are not among them. `roots` are the roots
    of the family's contexts, empty text for the repository itself. `package_of` gives what a file declares itself to
    belong to. `text_of` reads any indexed file of the repository (a configuration file), None when there is none.
    """

    paths: tuple[str, ...]
    roots: tuple[str, ...]
    package_of: Callable[[str], str]
    text_of: Callable[[str], str | None]


class Linker(Protocol):
    """What a language knows about the modules of one repository.

    Every answer depends on the view alone. What cannot be known is not answered: an import that could mean two
    modules means none.
    """

    def modules_of(self, path: str) -> tuple[str, ...]:
        """Return the names of the modules that a file provides or is a part of; the first names its definitions."""

    def locate(self, path: str, source: str) -> str | None:
        """Return the module that an import in this file means by its source text; None when it is not there."""

    def submodule(self, module: str, name: str) -> str | None:
        """Return the module that is reached as a member of another, None when there is none."""

    def implicit_modules(self, path: str) -> tuple[str, ...]:
        """Return the modules whose names this file sees without importing them, the nearest first."""


@dataclass(frozen=True, slots=True)
class LinkingRules:
    """How names behave across files in one language.

    `build` makes the linker. `exports_are_explicit`: only what is exported can be imported (JavaScript); otherwise
    every name of the file's own scope can. `class_scope_is_visible`: a plain name in a method may mean a member of
    the enclosing class or its bases (Java). `separator` joins the parts of a module's name.
    `imports_reach_into_types`: what an import names may be a type inside a module, found by taking parts off the end
    (Java, Rust). `binds_first_part`: an import of a module without alias binds the first part of its name (Python).
    `statics_are_apart`: members marked `static` belong to a class, the others to its instances (JavaScript).
    `members_stand_outside`: members of a type may stand outside of its body (Go, Rust). `config_names` are the names
    of files that change what imports mean; `texts_make_modules` says that the files' own texts do.
    """

    build: Callable[[UnitView], Linker]
    exports_are_explicit: bool = False
    class_scope_is_visible: bool = False
    separator: str = "."
    imports_reach_into_types: bool = False
    binds_first_part: bool = False
    statics_are_apart: bool = False
    members_stand_outside: bool = False
    config_names: frozenset[str] = frozenset()
    texts_make_modules: bool = False
