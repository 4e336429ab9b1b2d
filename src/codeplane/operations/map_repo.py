"""`map_repo`: an overview of the repository in a few lines, from the index."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, WithJsonSchema

from codeplane.core.errors import CodePlaneError
from codeplane.core.printable import counted
from codeplane.index.discovery import count_left_out
from codeplane.index.facts.reader import FactReader
from codeplane.index.index_store import IndexedFile
from codeplane.index.public_api import public_api
from codeplane.index.reconcile import IndexState
from codeplane.index.repository_map import (
    DirectoryCount,
    count_directories,
    count_languages,
    external_modules,
    find_entry_points,
    is_below,
    list_contexts,
    test_files,
)
from codeplane.languages.catalog import is_text_only
from codeplane.languages.families import FAMILY_BY_NAME, FamilyType
from codeplane.ledger.effects import EffectClass
from codeplane.operations.models import ListOfOne, Pagination, PathText, Request, Result
from codeplane.operations.operation import CallContext, Example, Operation, planned

NAME = "map_repo"
Section = Literal["structure", "languages", "entry_points", "dependencies", "test_layout", "public_api"]
_DEFAULT_SECTIONS: tuple[Section, ...] = ("structure", "languages", "entry_points")
_DEFAULT_DEPTH = 2
_DEEPER = 3
_DEFAULT_POINTS = 10
_SHOWN_TOP = 14
_SHOWN_INNER = 5
_SHOWN_REFUSED = 5
_SHOWN_FILES = 12


class MapRepoRequest(Request):
    """Which parts of the map to show."""

    ALIASES: ClassVar[dict[str, tuple[str, ...]]] = {
        "include": ("sections", "section"),
        "path": ("directory", "dir"),
        "depth": ("max_depth",),
    }
    include: Annotated[list[Section], ListOfOne] = Field(
        default_factory=list, description="Sections; default a short structure, languages, entry_points."
    )
    path: PathText = Field(".", description="Limit every section to this directory.")
    depth: int | None = Field(None, ge=1, le=20, description="Directory levels.")
    limit: int = Field(100, ge=1, le=1000, description="Items per section.")
    cursor: str | None = Field(None, description="Continues a cut answer.")


class DirectoryNode(Result):
    """A directory or a file of the tree."""

    name: str
    path: str
    is_dir: bool
    # A recursive schema would need references, which not every client follows.
    children: Annotated[
        list["DirectoryNode"] | None,
        WithJsonSchema({"type": ["array", "null"], "items": {"type": "object"}, "description": "The same, nested."}),
    ] = None
    file_count: int | None = None
    line_count: int | None = None


class ContextInfo(Result):
    """A package or workspace, and whether its files have it as their context."""

    root: str
    family: str
    status: Literal["valid", "failed", "empty", "detached"]
    reason: str
    file_count: int


class Structure(Result):
    """The directory tree, with counts of indexed files."""

    root: str
    tree: list[DirectoryNode]
    file_count: int
    is_short: bool = Field(description="Files below the top are not listed; include structure lists them.")
    contexts: list[str]
    context_states: list[ContextInfo] = Field(description="Every context that owns files or was rejected.")


class LanguageShare(Result):
    """How many files a language has."""

    language: str
    file_count: int
    percentage: float
    is_text_only: bool = Field(description="No grammar: searched as text, without symbols.")


class EntryPointInfo(Result):
    """Where execution starts."""

    path: str
    line: int
    kind: str
    name: str
    qualified_name: str | None = None
    why: str


class Dependencies(Result):
    """An external import."""

    external_modules: list[str]
    import_count: int


class LayoutOfTests(Result):
    """Where the tests are."""

    test_files: list[str]
    test_count: int


class ApiEntry(Result):
    """A name that users of a package can import."""

    name: str
    module: str
    path: str
    def_uid: str | None = None
    certainty: str
    evidence: str | None = None


class MapRepoResult(Result):
    """The requested sections."""

    structure: Structure | None = None
    languages: list[LanguageShare] | None = None
    entry_points: list[EntryPointInfo] | None = None
    dependencies: Dependencies | None = None
    test_layout: LayoutOfTests | None = None
    public_api: list[ApiEntry] | None = None
    not_indexed: dict[str, int] = Field(description="Files whose text is not indexed, by reason.")
    left_out: dict[str, int] = Field(description="Paths left out by ignore rules, by rule.")
    cut: dict[str, int] = Field(description="Items that did not fit, by section.")
    pagination: Pagination
    epoch: int


def _handle(context: CallContext, request: MapRepoRequest) -> MapRepoResult:
    index = context.workspace.index
    state = index.state()
    position = context.position
    offset = position.number("offset") if position is not None else 0
    if position is not None and position.number("epoch") != state.epoch:
        raise CodePlaneError("CURSOR_EXPIRED", "The files changed since the first page.")
    below = "" if request.path == "." else request.path.rstrip("/")
    files = [file for file in state.files.values() if is_below(file.path, below)]
    if below and not files:
        hint = "list_files shows all files, left-out ones too."
        raise CodePlaneError("FILE_NOT_FOUND", f"No indexed file below {below}.", hint=hint)
    with index.facts() as reader:
        view = _View(context, request, reader, state, files, below, offset)
        sections = tuple(dict.fromkeys(request.include)) or _DEFAULT_SECTIONS
        found = {section: _SECTIONS[section](view) for section in sections}
    cursor = None
    if request.include and view.cut:
        cursor = context.next_page({"offset": offset + request.limit, "epoch": state.epoch})
    return MapRepoResult(
        **found,
        not_indexed=_problems(files),
        left_out=count_left_out(item for item in state.left_out if is_below(item.path, below)),
        cut=view.cut,
        pagination=Pagination(next_cursor=cursor, total_estimate=None),
        epoch=state.epoch,
    )


@dataclass(slots=True)
class _View:
    """The inputs for the sections of one answer; `cut` counts what did not fit, by section."""

    context: CallContext
    request: MapRepoRequest
    reader: FactReader
    state: IndexState
    files: list[IndexedFile]
    below: str
    offset: int
    cut: dict[str, int] = field(default_factory=dict)

    def page(self, section: str, items: list[Any]) -> list[Any]:
        """Return the items of this page, and remember how many follow."""
        limit = self.request.limit if self.request.include else _DEFAULT_POINTS
        left = len(items) - self.offset - limit
        if left > 0:
            self.cut[section] = left
        return items[self.offset : self.offset + limit]


def _structure(view: _View) -> Structure:
    request = view.request
    tree = count_directories(view.files, view.below)
    is_short = not request.include and request.depth is None
    items = _levels(tree, request.depth or (_DEFAULT_DEPTH if is_short else _DEEPER), is_short=is_short)
    left = len(items) - view.offset - request.limit
    if left > 0:
        view.cut["structure"] = left
    states = [
        ContextInfo(
            root=one.root or ".", family=one.family, status=one.status, reason=one.reason, file_count=one.n_files
        )
        for one in list_contexts(view.reader)
        if is_below(one.root, view.below) or is_below(view.below, one.root)
    ]
    return Structure(
        root=view.context.workspace.root.name,
        tree=_as_tree(items[view.offset : view.offset + request.limit], view.below),
        file_count=tree.n_files,
        is_short=is_short,
        contexts=sorted({one.root for one in states if one.status == "valid"}),
        context_states=states,
    )


def _levels(top: DirectoryCount, depth: int, *, is_short: bool) -> list[DirectoryNode]:
    """Return directories and files level by level; the short form has files of the top level only."""
    found: list[DirectoryNode] = []
    level = [top]
    for remaining in range(depth, 0, -1):
        for directory in level:
            found.extend(
                DirectoryNode(
                    name=one.name,
                    path=one.path,
                    is_dir=True,
                    file_count=one.n_files,
                    children=[] if remaining > 1 else None,
                )
                for one in directory.directories
            )
            if not is_short or directory is top:
                found.extend(
                    DirectoryNode(name=name, path=path, is_dir=False, line_count=n_lines)
                    for name, path, n_lines in directory.files
                )
        level = [one for directory in level for one in directory.directories]
    return found


def _as_tree(nodes: list[DirectoryNode], below: str) -> list[DirectoryNode]:
    """Return a page of nodes as a tree; parent directories from earlier pages are repeated."""
    known = {one.path: one for one in nodes if one.is_dir}
    top: list[DirectoryNode] = []
    for node in nodes:
        child, parent = node, node.path.rpartition("/")[0]
        while parent != below and parent not in known:
            around = DirectoryNode(name=parent.rpartition("/")[2], path=parent, is_dir=True, children=[child])
            known[parent] = around
            child, parent = around, parent.rpartition("/")[0]
        children = top if parent == below else known[parent].children
        if children is not None:
            children.append(child)
    return top


def _entry_points(view: _View) -> list[EntryPointInfo]:
    points = [
        EntryPointInfo(
            path=one.path,
            line=one.line,
            kind=one.kind,
            name=one.name,
            qualified_name=one.qualified_name,
            why=one.why,
        )
        for one in find_entry_points(view.reader)
        if is_below(one.path, view.below)
    ]
    return view.page("entry_points", points)


def _dependencies(view: _View) -> Dependencies:
    modules, n_imports = external_modules(view.reader, view.below)
    return Dependencies(
        external_modules=view.page("dependencies", [name for name, _ in modules]), import_count=n_imports
    )


def _test_layout(view: _View) -> LayoutOfTests:
    tests = test_files(view.files)
    return LayoutOfTests(test_files=view.page("test_layout", tests), test_count=len(tests))


def _public_api(view: _View) -> list[ApiEntry]:
    api = public_api(view.reader)
    view.context.incomplete.extend(api.unknown)
    entries = [
        ApiEntry(
            name=one.name,
            module=one.module,
            path=one.path,
            def_uid=one.def_uid,
            certainty=one.certainty,
            evidence=one.evidence,
        )
        for one in api.names
        if is_below(one.path, view.below)
    ]
    return view.page("public_api", entries)


def _languages(view: _View) -> list[LanguageShare]:
    counts = count_languages(view.files)
    total = sum(count for _, count in counts) or 1
    return [
        LanguageShare(
            language=name,
            file_count=count,
            percentage=round(100 * count / total, 1),
            is_text_only=is_text_only(name),
        )
        for name, count in counts
    ]


_SECTIONS: Mapping[str, Callable[[_View], Any]] = MappingProxyType(
    {
        "structure": _structure,
        "languages": _languages,
        "entry_points": _entry_points,
        "dependencies": _dependencies,
        "test_layout": _test_layout,
        "public_api": _public_api,
    }
)


def _problems(files: Any) -> dict[str, int]:
    found: dict[str, int] = {}
    file: IndexedFile
    for file in files:
        if file.problem:
            found[file.problem] = found.get(file.problem, 0) + 1
    return dict(sorted(found.items()))


def _render(result: MapRepoResult) -> str:
    lines = [*_structure_lines(result), *_section_lines(result)]
    lines.extend(f"{count} more in {section}" for section, count in result.cut.items())
    for label, counts in (("not searched", result.not_indexed), ("left out", result.left_out)):
        if counts:
            lines.append(f"{label}: " + _listed([f"{count} {reason}" for reason, count in counts.items()], 5))
    if result.pagination.next_cursor:
        lines.append(f"more: cursor={result.pagination.next_cursor}")
    return "\n".join(lines)


def _structure_lines(result: MapRepoResult) -> list[str]:
    lines: list[str] = []
    if result.structure is not None:
        lines.append(f"{result.structure.root}: {counted(result.structure.file_count, 'file')}")
        lines.extend(_tree_lines(result.structure.tree, "", is_short=result.structure.is_short))
        if len(result.structure.contexts) > 1:
            lines.append("contexts: " + _listed(result.structure.contexts, 10))
        refused = [one for one in result.structure.context_states if _is_refused_code(one)]
        lines.extend(f" {one.root} ({one.family}) {one.status}: {one.reason}" for one in refused[:_SHOWN_REFUSED])
        if len(refused) > _SHOWN_REFUSED:
            lines.append(f" {len(refused) - _SHOWN_REFUSED} more contexts are detached or failed")
    if result.languages is not None:
        lines.append("languages: " + _listed([_share(one) for one in result.languages], 8))
    return lines


def _is_refused_code(one: ContextInfo) -> bool:
    is_code = FAMILY_BY_NAME[one.family].type is FamilyType.CODE
    return is_code and one.status in {"detached", "failed"}


def _share(one: LanguageShare) -> str:
    return f"{one.language} {one.file_count}" + (" (as text)" if one.is_text_only else "")


def _section_lines(result: MapRepoResult) -> list[str]:
    lines: list[str] = []
    if result.entry_points:
        lines.append("entry points:")
        lines.extend(f" {one.path}:{one.line} {one.name} ({one.why})" for one in result.entry_points)
    if result.dependencies is not None:
        head = f"dependencies ({result.dependencies.import_count} imports): "
        lines.append(head + ", ".join(result.dependencies.external_modules))
    if result.test_layout is not None:
        lines.append(f"test files: {result.test_layout.test_count}")
        lines.extend(f" {path}" for path in result.test_layout.test_files)
    if result.public_api is not None:
        lines.append(f"public API: {_api_count(result)}")
        lines.extend(f" {one.module}.{one.name}" for one in result.public_api)
    return lines


def _api_count(result: MapRepoResult) -> str:
    shown = len(result.public_api or ())
    left = result.cut.get("public_api", 0)
    return f"{shown} names shown, {left} more" if left else counted(shown, "name")


def _tree_lines(nodes: list[DirectoryNode], indent: str, *, is_short: bool) -> list[str]:
    """Return the tree as lines; inner directories without direct files share a line.

    The short form shows the largest items of a long list and counts the rest.
    """
    directories = [one for one in nodes if one.is_dir]
    shown = _largest(directories, _SHOWN_TOP) if is_short and not indent else directories
    lines: list[str] = []
    for one in shown:
        children = one.children or []
        head = f"{indent} {one.name}/" + (f" {one.file_count}" if one.file_count is not None else "")
        if any(not child.is_dir or child.children for child in children):
            lines += [head, *_tree_lines(children, f"{indent}  ", is_short=is_short)]
            continue
        inner = sorted(children, key=lambda child: (-(child.file_count or 0), child.name))
        names = [f"{child.name} {child.file_count}" for child in inner]
        lines.append(f"{head}: {_listed(names, _SHOWN_INNER if is_short else len(names))}" if names else head)
    if len(shown) < len(directories):
        lines.append(f"{indent} {len(directories) - len(shown)} more directories")
    names = [one.name for one in nodes if not one.is_dir]
    if names:
        lines.append(f"{indent} " + _listed(names, _SHOWN_FILES if is_short else len(names)))
    return lines


def _largest(directories: list[DirectoryNode], shown: int) -> list[DirectoryNode]:
    """Return the directories with the most files, in their order."""
    largest = sorted(directories, key=lambda one: -(one.file_count or 0))[:shown]
    return sorted(largest, key=lambda one: one.name)


def _listed(items: list[str], shown: int) -> str:
    return ", ".join(items[:shown]) + (f", {len(items) - shown} more" if len(items) > shown else "")


MAP_REPO = Operation(
    name=NAME,
    family="search",
    summary="Overview of this repository: directories, languages, entry points; more with include.",
    request_type=MapRepoRequest,
    result_type=MapRepoResult,
    effect=EffectClass.READ,
    plan=planned(_handle),
    render=_render,
    when_to_use=("You are new to the repository.", "You want to know where tests, entries or the API are."),
    when_not_to_use=("You look for a name: use search.",),
    examples=(
        Example("First look", {}),
        Example("The public API of a package", {"include": ["public_api", "dependencies"]}),
        Example("One directory", {"path": "src", "include": ["structure"], "depth": 4}),
    ),
    profiles=frozenset({"classic"}),
    reads_index=True,
)
