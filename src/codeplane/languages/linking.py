"""How a language connects files: which modules a file provides, and which module an import means.

A module is a name that other files can import from: a dotted path in Python, a file in JavaScript, a directory in Go,
a package in Java. The index resolves names by modules; everything that a language knows about them is in a `Linker`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from codeplane.languages.facts import DefinitionKind


@dataclass(frozen=True, slots=True)
class UnitView:
    """The files of one language family in a repository, as far as linking may look.

    `paths` are relative to the repository, sorted; files that no context owns, such as those of a package that its
    workspace does not list, are among them. `roots` are the roots of the family's contexts, empty text for the
    repository itself. `package_of` gives what a file declares itself to
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


class MethodOffer(NamedTuple):
    """A method that a type has or inherits under some name.

    `signature` and `decorators` are those of its definition. `holder` is the type it is in, by file and definition,
    `holder_kind` what that type is, `above` are the types that the holder inherits from.
    """

    signature: str
    decorators: tuple[str, ...]
    holder: tuple[int, int]
    holder_kind: DefinitionKind
    above: frozenset[tuple[int, int]]


class OpenType(NamedTuple):
    """A type that inherits from something unknown: its kind and signature, and which of its bases is the first such."""

    kind: DefinitionKind
    signature: str
    unknown_base: int


class Choice(NamedTuple):
    """A call that means one of several methods.

    `offers` are the methods of that name, those of nearer types first; `n_arguments` may be CALLED; `open_types` are
    those among the types that inherit from something unknown, which may have further ones.
    """

    name: str
    offers: tuple[MethodOffer, ...]
    n_arguments: int
    open_types: tuple[OpenType, ...]


@dataclass(frozen=True, slots=True)
class LinkingRules:
    """How names behave across files in one language.

    `build` makes the linker. `exports_are_explicit`: only what is exported can be imported (JavaScript); otherwise
    every name of the file's own scope can. `class_scope_is_visible`: a plain name in a method may mean a member of
    the enclosing class or its bases (Java). `separator` joins the parts of a module's name.
    `imports_reach_into_types`: what an import names may be a type inside a module, found by taking parts off the end
    (Java, Rust). `binds_first_part`: an import of a module without alias binds the first part of its name (Python).
    `last_star_wins`: an import of everything hides what is above it (Python); elsewhere what is written by name
    hides what imports of everything bring, and two of them that bring different things under one name bring nothing.
    `own_module_before_stars`: so do the names of other files of the same module (Java). `imports_stay_in_file`: no
    other file sees what a file imports, those of the same module included (Go, Java).
    `statics_are_apart`: members marked `static` belong to a class, the others to its instances (JavaScript).
    `methods_are_apart`: a member that is called is a method, one that is read is none (Java, Rust).
    `choose_method` chooses between methods of one name, None when that is left open; without it there are no overloads
    and the first type in the order of look-up that has the name decides. `nearest_depth_wins`: of the members that a
    type has through its bases the least deep is meant, and none if there are several of that depth (Go).
    `members_may_be_outside`: members of a type may be outside of its body in the same file (JavaScript, Rust), and
    with `members_stand_in_module` in other files of the module (Go). `config_names` are the names of files that change
    what imports mean; `texts_make_modules` says that the files' own texts do.
    """

    build: Callable[[UnitView], Linker]
    exports_are_explicit: bool = False
    class_scope_is_visible: bool = False
    separator: str = "."
    imports_reach_into_types: bool = False
    binds_first_part: bool = False
    last_star_wins: bool = False
    own_module_before_stars: bool = False
    imports_stay_in_file: bool = False
    statics_are_apart: bool = False
    methods_are_apart: bool = False
    choose_method: Callable[[Choice], int | None] | None = None
    nearest_depth_wins: bool = False
    members_may_be_outside: bool = False
    members_stand_in_module: bool = False
    config_names: frozenset[str] = frozenset()
    texts_make_modules: bool = False
