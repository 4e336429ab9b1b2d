"""Which file an import means.

A module is a file, named by its path in the repository. A relative source is looked for beside the importing file; any
other by the nearest `tsconfig.json` or `jsconfig.json`, then as a package: the own one, or one of the same workspace.
What is not in the repository is not found; neither are aliases that only a bundler's configuration knows.

What CommonJS exports is told by the exports' evidence: `exports.a = …` offers `a`, and `module.exports = X` the name
`default` with the evidence `commonjs`. Where an import of kind `js_require` has no imported name, it means the module:
a member of it is an export of that name or, when there is none, a member of what `default` means; the module itself,
where it is called or constructed, is what `default` means. The same holds for `export =`, whose evidence is
`export_assignment`, and for `import x from` a module of either evidence.

Scripts without imports and exports share their names in a page or a TypeScript project. Which scripts meet is not
written in them, so that their names stay unknown to each other.
"""

from typing import Final

from codeplane.languages.javascript.configs import Configs
from codeplane.languages.javascript.packages import Packages, split_name
from codeplane.languages.javascript.places import TYPED, Places, join, normal
from codeplane.languages.linking import LinkingRules, UnitView

_CONFIG_NAMES: Final = frozenset(
    {
        "package.json",
        "pnpm-workspace.yaml",
        "tsconfig.json",
        "tsconfig.app.json",
        "tsconfig.base.json",
        "tsconfig.build.json",
        "tsconfig.lib.json",
        "tsconfig.node.json",
        "jsconfig.json",
    }
)


class JavaScriptLinker:
    """The modules of one repository's JavaScript and TypeScript files."""

    def __init__(self, view: UnitView) -> None:
        self._places = Places(view.paths, view.text_of)
        self._packages = Packages(self._places)
        self._configs = Configs(self._places, self._packages)
        self._located: dict[tuple[str, bool, str], str | None] = {}

    def modules_of(self, path: str) -> tuple[str, ...]:
        """Return the path itself: each file is a module."""
        return (path,)

    def locate(self, path: str, source: str) -> str | None:
        """Return the file that a source text means in a file."""
        key = (path.rpartition("/")[0], path.endswith(TYPED), source)
        if key not in self._located:
            self._located[key] = self._find(*key)
        return self._located[key]

    def submodule(self, module: str, name: str) -> str | None:  # noqa: ARG002 - the protocol's
        """Return nothing: a file has no modules inside."""
        return None

    def implicit_modules(self, path: str) -> tuple[str, ...]:  # noqa: ARG002 - the protocol's
        """Return nothing: what scripts share is not known."""
        return ()

    def _find(self, directory: str, is_typed: bool, source: str) -> str | None:  # noqa: FBT001 - a part of the key
        if not source or source.startswith("/") or "\0" in source:
            return None
        if source in {".", ".."} or source.startswith(("./", "../")):
            path = normal(join(directory, source))
            return self._packages.file_or_directory(path, is_typed=is_typed) if path is not None else None
        for candidate in self._configs.rules_for(directory).candidates(source):
            found = self._packages.file_or_directory(candidate, is_typed=is_typed)
            if found is not None:
                return found
        if source.startswith("#"):
            return self._packages.imported(directory, source, is_typed=is_typed)
        name, subpath = split_name(source)
        package = self._packages.named(directory, name)
        return self._packages.entry(package, subpath, is_typed=is_typed) if package is not None else None


LINKING: Final = LinkingRules(
    build=JavaScriptLinker,
    exports_are_explicit=True,
    statics_are_apart=True,
    members_may_be_outside=True,
    config_names=_CONFIG_NAMES,
)
