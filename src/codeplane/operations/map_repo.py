"""`map_repo`: what a repository is made of, in a few lines, from the index."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, WithJsonSchema

from codeplane.core.errors import CodePlaneError
from codeplane.core.printable import counted
from codeplane.index.discovery import count_left_out
from codeplane.index.index_store import IndexedFile
from codeplane.index.reconcile import IndexState
from codeplane.index.repository_map import (
    DirectoryCount,
    count_directories,
    count_languages,
    external_modules,
    find_entry_points,
    public_api,
    test_files,
)
from codeplane.languages.catalog import is_text_only
from codeplane.ledger.effects import EffectClass
from codeplane.operations.cursors import make_cursor, read_cursor
from codeplane.operations.models import ListOfOne, Pagination, PathText, Request, Result
from codeplane.operations.operation import CallContext, Example, Operation, no_effects

NAME = "map_repo"
Section = Literal["structure", "languages", "entry_points", "dependencies", "test_layout", "public_api"]
_DEFAULT_SECTIONS: tuple[Section, ...] = ("structure", "languages", "entry_points")
_DEFAULT_DEPTH = 2
_DEEPER = 3
_DEFAULT_POINTS = 10
_SHOWN_TOP = 14
_SHOWN_INNER = 5


class MapRepoRequest(Request):
    """Which parts of the map to show."""

    ALIASES: ClassVar[dict[str, tuple[str, ...]]] = {
        "include": ("sections", "section"),
        "path": ("directory", "dir"),
        "depth": ("max_depth",),
    }
    include: Annotated[list[Section], ListOfOne] = Field(
        default_factory=list, description="Sections; by default structure, languages, entry_points in short."
    )
    path: PathText = Field(".", description="Show the structure of this directory.")
    depth: int | None = Field(None, ge=1, le=20, description="Directory levels.")
    limit: int = Field(100, ge=1, le=1000, description="Items per section.")
    cursor: str | None = Field(None, description="Goes on where the last answer was cut.")


class DirectoryNode(Result):
    """A directory or a file of the tree."""

    name: str
    path: str
    is_dir: bool
    # A schema that contains itself would need references, which not every client follows.
    children: Annotated[
        list["DirectoryNode"] | None,
        WithJsonSchema({"type": ["array", "null"], "items": {"type": "object"}, "description": "The same, nested."}),
    ] = None
    file_count: int | None = None
    line_count: int | None = None


class Structure(Result):
    """The directory tree, with counts of indexed files."""

    root: str
    tree: list[DirectoryNode]
    file_count: int
    contexts: list[str]


class LanguageShare(Result):
    """How many files a language has."""

    language: str
    file_count: int
    percentage: float
    is_text_only: bool = Field(description="No grammar is known: searched as text, without symbols.")


class EntryPointInfo(Result):
    """Where execution begins."""

    path: str
    line: int
    kind: str
    name: str
    qualified_name: str | None = None
    why: str


class Dependencies(Result):
    """What is imported from outside."""

    external_modules: list[str]
    import_count: int


class LayoutOfTests(Result):
    """Where the tests are."""

    test_files: list[str]
    test_count: int


class ApiEntry(Result):
    """A name that is explicitly offered."""

    name: str
    module: str
    def_uid: str | None = None
    certainty: str
    evidence: str | None = None


class MapRepoResult(Result):
    """The sections that were asked for."""

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
    sections = tuple(dict.fromkeys(request.include)) or _DEFAULT_SECTIONS
    offset, epoch = _place(request)
    if epoch is not None and epoch != state.epoch:
        raise CodePlaneError("CURSOR_EXPIRED", "The files changed since the first page.")
    cut: dict[str, int] = {}
    with index.facts() as reader:
        found: dict[str, Any] = {}
        limit = request.limit if request.include else _DEFAULT_POINTS
        if "structure" in sections:
            found["structure"] = _structure(context, state, request, cut, reader.connection)
        if "languages" in sections:
            found["languages"] = _languages(state)
        if "entry_points" in sections:
            points = [
                EntryPointInfo(
                    path=one.path,
                    line=one.line,
                    kind=one.kind,
                    name=one.name,
                    qualified_name=one.qualified_name,
                    why=one.why,
                )
                for one in find_entry_points(reader)
            ]
            found["entry_points"] = _cut("entry_points", points, offset, limit, cut)
        if "dependencies" in sections:
            modules, n_imports = external_modules(reader)
            names = _cut("dependencies", [name for name, _ in modules], offset, limit, cut)
            found["dependencies"] = Dependencies(external_modules=names, import_count=n_imports)
        if "test_layout" in sections:
            tests = test_files(state.files.values())
            shown = _cut("test_layout", tests, offset, limit, cut)
            found["test_layout"] = LayoutOfTests(test_files=shown, test_count=len(tests))
        if "public_api" in sections:
            entries = [
                ApiEntry(
                    name=one.exported_name,
                    module=one.module,
                    def_uid=one.def_uid,
                    certainty=one.certainty,
                    evidence=one.evidence_kind,
                )
                for one in public_api(reader)
            ]
            found["public_api"] = _cut("public_api", entries, offset, limit, cut)
    cursor = None
    if request.include and any(section != "structure" for section in cut):
        cursor = make_cursor(NAME, {"offset": offset + limit, "epoch": state.epoch, "include": sorted(sections)})
    return MapRepoResult(
        **found,
        not_indexed=_problems(state.files.values()),
        left_out=count_left_out(state.left_out),
        cut=cut,
        pagination=Pagination(next_cursor=cursor, total_estimate=None),
        epoch=state.epoch,
    )


def _place(request: MapRepoRequest) -> tuple[int, int | None]:
    if request.cursor is None:
        return 0, None
    state = read_cursor(NAME, request.cursor)
    if state.get("include") != sorted(dict.fromkeys(request.include)):
        raise CodePlaneError("CURSOR_INVALID", "The cursor belongs to other sections.")
    offset, epoch = state.get("offset"), state.get("epoch")
    if not isinstance(offset, int) or not isinstance(epoch, int) or offset < 0:
        raise CodePlaneError("CURSOR_INVALID", "The cursor was not made by map_repo.")
    return offset, epoch


def _cut(section: str, items: list[Any], offset: int, limit: int, cut: dict[str, int]) -> list[Any]:
    left = len(items) - offset - limit
    if left > 0:
        cut[section] = left
    return items[offset : offset + limit]


def _structure(
    context: CallContext, state: IndexState, request: MapRepoRequest, cut: dict[str, int], connection: Any
) -> Structure:
    below = "" if request.path == "." else request.path.rstrip("/")
    lines = {text.text_id: text.line_count for text in state.texts.values()}
    tree = count_directories(state.files.values(), lines, below)
    if below and not tree.n_files:
        hint = "list_files shows what is there, left out or not."
        raise CodePlaneError("FILE_NOT_FOUND", f"There is no indexed file below {below}.", hint=hint)
    is_short = not request.include and request.depth is None
    depth = request.depth or (_DEFAULT_DEPTH if is_short else _DEEPER)
    shown = _Tree(request.limit * 10, is_short=is_short)
    nodes = shown.nodes(tree, depth, is_top=True)
    if shown.n_cut:
        cut["structure"] = shown.n_cut
    rows = connection.execute(
        "SELECT DISTINCT root FROM units WHERE status = 'valid' AND unit_id IN (SELECT unit_id FROM files)"
        " ORDER BY root"
    )
    contexts = [row[0] or "." for row in rows]
    return Structure(root=context.workspace.root.name, tree=nodes, file_count=tree.n_files, contexts=contexts)


class _Tree:
    """Turns counted directories into nodes, as many as fit; the short form shows directories and the top's files."""

    def __init__(self, limit: int, *, is_short: bool) -> None:
        self._left = limit
        self._is_short = is_short
        self.n_cut = 0

    def nodes(self, directory: DirectoryCount, depth: int, *, is_top: bool) -> list[DirectoryNode]:
        """Return the children of a directory."""
        found = []
        for one in directory.directories:
            if not self._fits(one.n_files):
                continue
            children = self.nodes(one, depth - 1, is_top=False) if depth > 1 else None
            found.append(
                DirectoryNode(name=one.name, path=one.path, is_dir=True, file_count=one.n_files, children=children)
            )
        if not self._is_short or is_top:
            found.extend(
                DirectoryNode(name=name, path=path, is_dir=False, line_count=n_lines)
                for name, path, n_lines in directory.files
                if self._fits(1)
            )
        return found

    def _fits(self, n_files: int) -> bool:
        self._left -= 1
        if self._left < 0:
            self.n_cut += n_files
        return self._left >= 0


def _languages(state: IndexState) -> list[LanguageShare]:
    counts = count_languages(state.files.values())
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
        lines.extend(_tree_lines(result.structure.tree, ""))
        if len(result.structure.contexts) > 1:
            lines.append("contexts: " + _listed(result.structure.contexts, 10))
    if result.languages is not None:
        lines.append("languages: " + _listed([_share(one) for one in result.languages], 8))
    return lines


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
        lines.append("public API:")
        lines.extend(f" {one.module}.{one.name}" for one in result.public_api)
    return lines


def _tree_lines(nodes: list[DirectoryNode], indent: str) -> list[str]:
    """Return the tree as lines; inner directories without files of their own share a line, long lists are counted."""
    lines = []
    directories = [one for one in nodes if one.is_dir]
    files = [one for one in nodes if not one.is_dir]
    shown = directories
    if not indent and len(directories) > _SHOWN_TOP:
        shown = sorted(
            sorted(directories, key=lambda one: -(one.file_count or 0))[:_SHOWN_TOP], key=lambda one: one.name
        )
    for one in shown:
        children = one.children or []
        has_files = any(not child.is_dir for child in children)
        deeper = any(child.children for child in children)
        if has_files or deeper:
            lines.append(f"{indent} {one.name}/ {one.file_count}")
            lines.extend(_tree_lines(children, f"{indent}  "))
            continue
        largest = sorted(children, key=lambda child: (-(child.file_count or 0), child.name))[:_SHOWN_INNER]
        inner = ", ".join(f"{child.name} {child.file_count}" for child in largest)
        more = f", {len(children) - len(largest)} more" if len(children) > len(largest) else ""
        lines.append(f"{indent} {one.name}/ {one.file_count}" + (f": {inner}{more}" if inner else ""))
    if len(shown) < len(directories):
        lines.append(f"{indent} {len(directories) - len(shown)} more directories")
    if files:
        names = [one.name for one in files]
        lines.append(f"{indent} " + _listed(names, 12 if not indent else 30))
    return lines


def _listed(items: list[str], shown: int) -> str:
    return ", ".join(items[:shown]) + (f", {len(items) - shown} more" if len(items) > shown else "")


MAP_REPO = Operation(
    name=NAME,
    family="search",
    summary="What this repository is made of: directories, languages, entry points; more by include.",
    request_type=MapRepoRequest,
    result_type=MapRepoResult,
    effect=EffectClass.READ,
    effects=no_effects,
    handler=_handle,
    render=_render,
    when_to_use=("You see a repository for the first time.", "You want to know where tests, entries or the API are."),
    when_not_to_use=("You look for something with a name: use search.",),
    examples=(
        Example("The first look", {}),
        Example("What a package offers", {"include": ["public_api", "dependencies"]}),
        Example("One directory", {"path": "src", "include": ["structure"], "depth": 4}),
    ),
    profiles=frozenset({"classic"}),
    reads_index=True,
)
