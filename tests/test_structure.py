"""Rules of the house that no linter knows."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import codeplane
from codeplane.operations.catalog import TOOLS
from codeplane.operations.operation import AnyOperation

SOURCE = Path(codeplane.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
PACKAGES = sorted({path.relative_to(SOURCE).parts[0] for path in FILES})
BANNED_NAMES = {"ops", "utils", "helpers", "misc", "common", "base", "manager", "engine", "service"}
# Where the unexpected is caught: the door, policies that may be plugins, outermost loops, foreign __str__ in logs.
MAY_CATCH_EVERYTHING = {
    "core/logs.py": 1,
    "govern/gate.py": 1,
    "operations/perform.py": 3,
    "surfaces/agent_hooks/client.py": 1,
    "surfaces/gateway/connection.py": 1,
    "surfaces/server/guard.py": 1,
    "surfaces/server/unix_socket.py": 1,
}
# A logger, the version, and what each context keeps for itself in logs.
STATELESS = {"_log", "__version__", "_correlation"}
CONSTANT = re.compile(r"_{0,2}[A-Z][A-Z0-9_]*")


def _files_of(package: str) -> list[Path]:
    return [path for path in FILES if path.relative_to(SOURCE).parts[0] == package]


def _name(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def _nodes(path: Path) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(_tree(path)))


@pytest.mark.parametrize("name", ["plan", "work"])
def test_operations_are_planned_and_carried_out_at_the_door_only(name: str) -> None:
    callers = {
        _name(path)
        for path in FILES
        for node in _nodes(path)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == name
    }
    assert callers == {"operations/perform.py"}


# Modules that open files; each checks ignore rules and symlinks, or reads files that are not the repository's own.
OPENS_FILES = {
    "agent_connections.py", "codex_trust.py", "file_access.py", "git_merge.py", "history_access.py", "read_source.py",
    "tool_list.py",
}  # fmt: skip


def test_operations_open_files_only_through_the_checked_readers() -> None:
    found = {
        path.name
        for path in FILES
        if path.parent.name == "operations"
        for node in _nodes(path)
        if isinstance(node, ast.Call)
        and (
            (isinstance(node.func, ast.Name) and node.func.id == "open")
            or (isinstance(node.func, ast.Attribute) and node.func.attr in {"read_bytes", "read_text", "fdopen"})
        )
    }
    assert found == OPENS_FILES, (
        "use check_readable of operations/file_access.py and the readers of index/source_text.py"
    )


def _imports(path: Path) -> Iterator[str]:
    for node in _nodes(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


STARTERS = {"os.system", "os.popen", "os.execv", "os.execve", "os.execvp", "os.execvpe", "os.fork", "os.posix_spawn"}


def test_programs_are_started_in_one_place_only() -> None:
    importers = {_name(path) for path in FILES if {"subprocess", "pty", "multiprocessing"} & set(_imports(path))}
    assert importers == {"core/processes.py"}
    starters = {
        f"{_name(path)}: {ast.unparse(node.func)}"
        for path in FILES
        for node in _nodes(path)
        if isinstance(node, ast.Call) and ast.unparse(node.func) in STARTERS
    }
    # The bridge replaces itself by the full program; it starts nothing beside itself.
    assert starters <= {"surfaces/bridge.py: os.execv"}


@pytest.mark.parametrize("package", PACKAGES)
def test_a_module_keeps_no_state(package: str) -> None:
    """Names at the top of a module are constants, types or loggers, and hold nothing that can change."""
    for path in _files_of(package):
        _check_stateless(path)


def _check_stateless(path: Path) -> None:
    for node in _tree(path).body:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        value = getattr(node, "value", None)
        for target in targets:
            assert not isinstance(value, ast.List | ast.ListComp | ast.Set | ast.SetComp), ast.unparse(node)
            if isinstance(target, ast.Name) and not CONSTANT.fullmatch(target.id):
                is_type = re.fullmatch(r"_?[A-Z][A-Za-z]*", target.id) is not None
                is_decorator = value is not None and ast.unparse(value).startswith("click.option(")
                assert is_type or is_decorator or target.id in STATELESS, ast.unparse(node)
    assert not any(isinstance(node, ast.Global) for node in _nodes(path))


@pytest.mark.parametrize("path", [path for path in FILES if path.name == "__init__.py"], ids=_name)
def test_a_package_file_holds_a_docstring_and_nothing_else(path: Path) -> None:
    (statement,) = _tree(path).body
    assert isinstance(statement, ast.Expr)
    assert isinstance(statement.value, ast.Constant)
    assert isinstance(statement.value.value, str)


def test_a_module_is_named_after_a_thing() -> None:
    for path in FILES:
        parts = path.relative_to(SOURCE).with_suffix("").parts
        assert not BANNED_NAMES & set(parts), path
        assert not re.search(r"_ext$|_\d$", parts[-1]), path


def test_no_class_looks_like_a_test() -> None:
    classes = [node.name for path in FILES for node in _nodes(path) if isinstance(node, ast.ClassDef)]
    assert not [name for name in classes if name.startswith("Test")]


def test_everything_is_caught_only_where_it_is_allowed() -> None:
    found: dict[str, int] = {}
    for path in FILES:
        for node in _nodes(path):
            if isinstance(node, ast.ExceptHandler) and (node.type is None or ast.unparse(node.type) == "Exception"):
                found[_name(path)] = found.get(_name(path), 0) + 1
    assert found == MAY_CATCH_EVERYTHING


def test_the_catalog_is_in_alphabetical_order_and_names_are_unique() -> None:
    names = list(TOOLS)
    assert names == sorted(set(names))
    assert [operation.name for operation in TOOLS.values()] == names


@pytest.mark.parametrize("operation", TOOLS.values(), ids=lambda operation: operation.name)
def test_every_operation_teaches_when_to_use_it(operation: AnyOperation) -> None:
    assert re.fullmatch(r"[a-z]+(_[a-z]+)*", operation.name)
    assert operation.summary.endswith(".")
    assert operation.family
    assert operation.when_to_use
    assert operation.when_not_to_use
    assert operation.examples
    assert all(text.endswith(".") for text in operation.when_to_use + operation.when_not_to_use)


@pytest.mark.parametrize("package", PACKAGES)
def test_no_expression_repeats_a_group_possessively(package: str) -> None:
    """Before 3.11.5, which Debian 12 has not, Python matches `(?:…)*+` wrongly; `(?>(?:…)*)` means the same."""
    texts = [
        node.value.decode("latin-1") if isinstance(node.value, bytes) else node.value
        for path in _files_of(package)
        for node in _nodes(path)
        if isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes))
    ]
    assert [text for text in texts if re.search(r"[^\\]\)(?:[*+?]|\{\d*,?\d*\})\+", text)] == []
