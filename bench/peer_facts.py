"""Questions about a Python repository and their true answers, worked out with `ast` and plain reading.

    python bench/peer_facts.py --repo DIRECTORY [--questions 25]

Prints one JSON document for `bench/peers.py`: classes and where they stand, functions of modules and every line that
uses them, identifiers and parts of words and every line that holds them. Nothing of CodePlane is used. Drawn with a
fixed seed; a name that two things share is not asked for as a class, and no function of the tests is asked for, since
tests are often imported from another root.

A use of a function is a line that imports it, names it or reaches it as an attribute of its module, in any file that
gets at it by imports, re-exports and star imports followed, and a line of `__all__`. Its own file counts, its `def`
line does not. Where a function has a parameter or a variable of the same name, that function's lines are left out.
"""

import argparse
import ast
import json
import random
import re
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

SEED = 20
Place = tuple[str, int]


@dataclass(slots=True)
class Module:
    """One Python file, read once."""

    path: str
    tree: ast.Module
    imports: list[ast.Import | ast.ImportFrom] = field(default_factory=list)
    names: dict[str, list[ast.Name]] = field(default_factory=lambda: defaultdict(list))
    attributes: dict[str, list[ast.Attribute]] = field(default_factory=lambda: defaultdict(list))
    functions: list[ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda] = field(default_factory=list)

    @property
    def package(self) -> str:
        """Return the dotted name of the package the file is in."""
        return ".".join(PurePosixPath(self.path).parent.parts)

    @property
    def dotted(self) -> str:
        """Return the dotted name of the module."""
        path = PurePosixPath(self.path)
        return self.package if path.name == "__init__.py" else ".".join((*path.parent.parts, path.stem))


def main() -> None:
    """Print questions and answers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repo", type=Path, required=True)
    parser.add_argument("--questions", type=int, default=25)
    parser.add_argument("--class-name", default="QuerySet", help="asked first")
    parser.add_argument("--function", default="slugify", help="asked first")
    options = parser.parse_args()
    chance = random.Random(SEED)
    texts = dict(read_texts(options.repo))
    modules = [module for path, text in texts.items() if path.endswith(".py") for module in parse(path, text)]
    defined = Counter(name for module in modules for name, _ in definitions(module))
    facts = {
        "definitions": draw_classes(modules, defined, options.class_name, options.questions, chance),
        "references": draw_functions(modules, options.function, options.questions, chance),
    }
    names = sorted(name for name, n in defined.items() if len(name) > 7 and not name.startswith("__"))
    chance.shuffle(names)
    facts["identifier"] = draw_lines(texts, names, options.questions, is_whole=True)
    facts["part"] = draw_lines(texts, [name[2:-2] for name in reversed(names)], options.questions, is_whole=False)
    print(json.dumps(facts))


def read_texts(root: Path) -> Iterator[tuple[str, str]]:
    """Yield every file that is text."""
    for path in sorted(root.rglob("*")):
        relative = path.relative_to(root)
        if relative.parts[0] in {".git", ".codeplane"} or path.is_symlink() or not path.is_file():
            continue
        raw = path.read_bytes()
        if b"\0" in raw:
            continue
        try:
            yield relative.as_posix(), raw.decode("utf-8")
        except UnicodeDecodeError:
            continue


def parse(path: str, text: str) -> Iterator[Module]:
    """Yield the file as a module, if it is one."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = Module(path, ast.parse(text))
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            module.imports.append(node)
        elif isinstance(node, ast.Name):
            module.names[node.id].append(node)
        elif isinstance(node, ast.Attribute):
            module.attributes[node.attr].append(node)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            module.functions.append(node)
    yield module


def definitions(module: Module) -> Iterator[tuple[str, int]]:
    """Yield every class and function with its line."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, node.lineno


def draw_classes(
    modules: list[Module], defined: Counter[str], first: str, n: int, chance: random.Random
) -> list[dict[str, object]]:
    """Return classes whose name nothing else has, with their place."""
    classes: list[dict[str, object]] = [
        {"name": node.name, "lines": [(module.path, node.lineno)]}
        for module in modules
        for node in module.tree.body
        if isinstance(node, ast.ClassDef) and defined[node.name] == 1
    ]
    drawn = chance.sample(classes, min(n, len(classes)))
    return [*[one for one in classes if one["name"] == first], *drawn][:n]


def draw_functions(modules: list[Module], first: str, n: int, chance: random.Random) -> list[dict[str, object]]:
    """Return functions of modules that are used, with every line that uses them."""
    candidates = [
        (module, node)
        for module in modules
        for node in module.tree.body
        if isinstance(node, ast.FunctionDef) and not {"test", "tests"} & set(PurePosixPath(module.path).parts)
    ]
    chance.shuffle(candidates)
    candidates.sort(key=lambda pair: pair[1].name != first or "utils" not in pair[0].path)
    drawn: list[dict[str, object]] = []
    for module, node in candidates:
        n_same = sum(isinstance(other, ast.FunctionDef) and other.name == node.name for other in module.tree.body)
        if len(drawn) == n:
            break
        uses = sorted(find_uses(modules, module, node.name)) if n_same == 1 else []
        if 2 <= len(uses) <= 60:
            drawn.append({"name": node.name, "path": module.path, "line": node.lineno, "lines": uses})
    return drawn


def find_uses(modules: list[Module], home: Module, name: str) -> set[Place]:
    """Return every line that uses a function."""
    uses: set[Place] = set()
    waiting = [(home, name)]
    seen = {(home.dotted, name)}
    while waiting:
        holder, held = waiting.pop()
        uses |= uses_of_name(holder, held, is_home=holder is home) | exported_lines(holder, held)
        for module in modules:
            for alias, line in imported_as(module, holder.dotted, held):
                if line:
                    uses.add((module.path, line))
                if (module.dotted, alias) not in seen:
                    seen.add((module.dotted, alias))
                    waiting.append((module, alias))
            uses |= uses_through_module(module, holder.dotted, held)
    return uses


def imported_as(module: Module, source: str, name: str) -> Iterator[tuple[str, int]]:
    """Yield the names under which a file imports something, with the line that names it (0 for a star)."""
    for node in module.imports:
        if isinstance(node, ast.ImportFrom) and absolute(module, node) == source:
            for alias in node.names:
                if alias.name == name:
                    yield alias.asname or alias.name, alias.lineno
                elif alias.name == "*" and not name.startswith("_"):
                    yield name, 0


def absolute(module: Module, node: ast.ImportFrom) -> str:
    """Return the dotted name of what is imported from."""
    if not node.level:
        return node.module or ""
    parts = module.package.split(".") if module.package else []
    parts = parts[: len(parts) - (node.level - 1)]
    return ".".join([*parts, *([node.module] if node.module else [])])


def exported_lines(module: Module, name: str) -> set[Place]:
    """Return the lines of `__all__` that give a name."""
    return {
        (module.path, one.lineno)
        for node in module.tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
        for one in ast.walk(node.value)
        if isinstance(one, ast.Constant) and one.value == name
    }


def uses_of_name(module: Module, name: str, *, is_home: bool) -> set[Place]:
    """Return the lines that name something of the file's own scope."""
    # In the file that defines a function, an import of the same name inside another function is another thing.
    other = [node.lineno for node in module.imports for alias in node.names if (alias.asname or alias.name) == name]
    hidden = list(hiding_functions(module, name, other if is_home else []))
    return {
        (module.path, node.lineno)
        for node in module.names.get(name, ())
        if isinstance(node.ctx, ast.Load) and not any(start <= node.lineno <= end for start, end in hidden)
    }


def hiding_functions(module: Module, name: str, imported: list[int]) -> Iterator[tuple[int, int]]:
    """Yield the spans of functions that have a parameter, a variable or an import of that name."""
    stored = [node.lineno for node in module.names.get(name, ()) if not isinstance(node.ctx, ast.Load)] + imported
    for function in module.functions:
        span = (function.lineno, function.end_lineno or function.lineno)
        taken = function.args
        arguments: Iterable[ast.arg | None] = (
            *taken.posonlyargs,
            *taken.args,
            *taken.kwonlyargs,
            taken.vararg,
            taken.kwarg,
        )
        if any(one is not None and one.arg == name for one in arguments) or any(
            span[0] <= line <= span[1] for line in stored
        ):
            yield span


def uses_through_module(module: Module, source: str, name: str) -> set[Place]:
    """Return the lines that reach a function as an attribute of its module."""
    attributes = module.attributes.get(name)
    if not attributes:
        return set()
    ways: set[str] = set()
    package, _, last = source.rpartition(".")
    for node in module.imports:
        if isinstance(node, ast.ImportFrom):
            ways |= {
                alias.asname or last for alias in node.names if alias.name == last and absolute(module, node) == package
            }
        else:
            ways |= {alias.asname or source for alias in node.names if alias.name == source}
    return {(module.path, node.end_lineno or node.lineno) for node in attributes if ast.unparse(node.value) in ways}


def draw_lines(texts: dict[str, str], queries: list[str], n: int, *, is_whole: bool) -> list[dict[str, object]]:
    """Return texts with every line that holds them, few enough for one answer."""
    drawn: list[dict[str, object]] = []
    for query in dict.fromkeys(queries):
        if len(drawn) == n:
            break
        wanted = re.compile(rf"\b{re.escape(query)}\b" if is_whole else re.escape(query))
        lines = [
            (path, number)
            for path, text in texts.items()
            if query in text
            for number, line in enumerate(text.split("\n"), 1)
            if wanted.search(line)
        ]
        if 2 <= len(lines) <= 80:
            drawn.append({"name": query, "lines": lines})
    return drawn


if __name__ == "__main__":
    main()
