"""The chain of Django: from a URL pattern over its view to the model that the view uses."""

import ast
import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, cast

from codeplane.controller.proof_chains.chains import ChainKind, Ended, Found, LinkType, Via
from codeplane.controller.proof_chains.source_files import SourceFiles

_PATTERNS: Final = frozenset({"path", "re_path", "url"})
_WORDS: Final = ("urlpatterns",)
_MODEL: Final = re.compile(r"\bmodels\.Model\b|\bModel\b")


@dataclass(frozen=True, slots=True)
class Code:
    """A parsed Python file."""

    path: str
    tree: ast.Module


def _parsed(files: SourceFiles, path: str) -> Code | None:
    key = f"python:{path}"
    if key not in files.known:
        files.n_parsed += 1
        try:
            files.known[key] = Code(path, ast.parse(files.text(path)))
        except (SyntaxError, ValueError, RecursionError):
            files.known[key] = None
    return cast("Code | None", files.known[key])


def _patterns(files: SourceFiles, _so_far: tuple[Found, ...]) -> Sequence[Found]:
    found = []
    for path in files.containing(_WORDS, (".py",)):
        code = _parsed(files, path)
        for node in ast.walk(code.tree) if code is not None else ():
            is_pattern = isinstance(node, ast.Call) and _last_name(node.func) in _PATTERNS and len(node.args) > 1
            if isinstance(node, ast.Call) and is_pattern and not _is_include(node.args[1]):
                first = node.args[0]
                name = str(first.value) if isinstance(first, ast.Constant) else ":x"
                found.append(Found(path, node.lineno, name, "", (code, node.args[1]), end_line=node.end_lineno or 0))
    return found


def _is_include(node: ast.expr) -> bool:
    return (isinstance(node, ast.Call) and _last_name(node.func) == "include") or ast.unparse(node).endswith(".urls")


def _views(files: SourceFiles, so_far: tuple[Found, ...]) -> Sequence[Found]:
    code, view = cast("tuple[Code, ast.expr]", so_far[0].entity)
    # `login_required(View.as_view())` and `View.as_view()` show the view itself.
    while isinstance(view, ast.Call):
        is_class = isinstance(view.func, ast.Attribute) and view.func.attr == "as_view"
        view = cast("ast.Attribute", view.func).value if is_class else (view.args[0] if view.args else view.func)
        if not is_class and not isinstance(view, ast.Call):
            break
    return list(_definitions(files, code, view, "the pattern names the view"))


def _models(files: SourceFiles, so_far: tuple[Found, ...]) -> Sequence[Found] | Ended:
    code, view = cast("tuple[Code, ast.stmt]", so_far[1].entity)
    found: list[Found] = []
    is_unknown = False
    for name in _model_names(view):
        models = [one for one in _definitions(files, code, name, "the view uses the model") if _is_model(one)]
        is_unknown |= not models
        found.extend(models)
    return found or ([] if is_unknown else Ended("no_model"))


def _model_names(view: ast.stmt) -> Iterator[ast.expr]:
    """Yield what a view names as its model: `model = X`, `X.objects`, `get_object_or_404(X, …)`."""
    for node in ast.walk(view):
        if (isinstance(node, ast.Assign) and any(_last_name(one) == "model" for one in node.targets)) or (
            isinstance(node, ast.Attribute) and node.attr in {"objects", "_default_manager"}
        ):
            yield node.value
        elif isinstance(node, ast.Call) and _last_name(node.func).startswith("get_object_or_404") and node.args:
            yield node.args[0]


def _is_model(found: Found) -> bool:
    _, node = cast("tuple[Code, ast.stmt]", found.entity)
    return isinstance(node, ast.ClassDef) and any(_MODEL.search(ast.unparse(base)) for base in node.bases)


def _definitions(files: SourceFiles, code: Code, named: ast.expr, relation: str) -> Iterator[Found]:
    """Yield the function or class that an expression names: in the file, imported, or the only one of its name."""
    parts = ast.unparse(named).split(".")
    for target, name in _targets(files, code, parts):
        for node in target.tree.body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and node.name == name:
                yield Found(target.path, node.lineno, name, relation, (target, node), end_line=node.end_lineno or 0)
                return
    for path in files.containing((f"class {parts[-1]}", f"def {parts[-1]}"), (".py",)):
        other = _parsed(files, path)
        for node in other.tree.body if other is not None else ():
            is_named = getattr(node, "name", "") == parts[-1]
            if other is not None and is_named:
                entity = (other, node)
                yield Found(path, node.lineno, parts[-1], relation, entity, Via.LEXICAL, end_line=node.end_lineno or 0)


def _targets(files: SourceFiles, code: Code, parts: list[str]) -> Iterator[tuple[Code, str]]:
    if len(parts) == 1:
        yield code, parts[0]
    for node in ast.walk(code.tree):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if (alias.asname or alias.name) == parts[0]:
                    inner = f".{alias.name}" if len(parts) > 1 else ""
                    yield from _files_of(
                        files, code, f"{node.module or ''}{inner}", node.level, parts[1:] or [alias.name]
                    )
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if (alias.asname or alias.name).split(".")[0] == parts[0]:
                    yield from _files_of(files, code, ".".join(parts[:-1]), 0, parts[-1:])


def _files_of(files: SourceFiles, code: Code, module: str, level: int, names: list[str]) -> Iterator[tuple[Code, str]]:
    home = code.path
    for _ in range(level):
        home = posixpath.dirname(home)
    base = posixpath.join(home if level else "", module.strip(".").replace(".", "/"))
    for path in files.paths:
        if path in {f"{base}.py", f"{base}/__init__.py"} or (not level and path.endswith(f"/{base}.py")):
            target = _parsed(files, path)
            if target is not None:
                yield target, names[-1]


def _last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _may_concern(files: SourceFiles, path: str) -> bool:
    return path.endswith(".py") and bool(files.containing(_WORDS, (".py",)))


DJANGO: Final = ChainKind(
    "django_url",
    (
        LinkType("UrlPattern", _patterns, is_each=True),
        LinkType("View", _views),
        LinkType("Model", _models),
    ),
    3,
    _may_concern,
)
