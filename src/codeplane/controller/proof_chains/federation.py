"""The chain of module federation: from a route of the host to the component of a remote that it shows."""

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, cast
from urllib.parse import urlsplit

from tree_sitter import Node

from codeplane.controller.proof_chains.ag_grid import components_of_route
from codeplane.controller.proof_chains.angular import COMPONENT
from codeplane.controller.proof_chains.chains import ChainKind, Found, LinkType
from codeplane.controller.proof_chains.resolution import class_at, exported, fold, values_of
from codeplane.controller.proof_chains.routes import (
    LOADERS,
    Route,
    all_routes,
    arrays_of_target,
    import_source,
    parts_of,
    picked_name,
)
from codeplane.controller.proof_chains.script import (
    At,
    Module,
    arguments_of,
    callee,
    descend,
    properties_of,
    string_of,
)
from codeplane.controller.proof_chains.source_files import SCRIPTS, SourceFiles
from codeplane.languages.javascript.jsonc import JsonObject, as_object, as_texts, read_object

_CONFIG: Final = re.compile(
    r"(?:^|/)(?:webpack(?:\.[\w-]+)?|(?:module-)?federation|rspack|rsbuild|vite)\.config\.(?:ts|js|mjs|cjs)$"
)
_CONFIG_WORDS: Final = ("exposes", "remotes")
_LOAD: Final = "loadRemoteModule"
_MANIFEST: Final = re.compile(r"manifest[^/]*\.json$|/assets/[^/]+\.json$|/public/[^/]+\.json$")
_PORT: Final = re.compile(r"--port[ =](\d{2,5})|\"port\"\s*:\s*(\d{2,5})|\bport:\s*(\d{2,5})|localhost:(\d{2,5})")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a host's route loads: a remote's name or address, the key that it exposes, and the name that is picked."""

    at: At
    remote: str
    entry: str
    expose: str
    name: str


@dataclass(frozen=True, slots=True)
class Unit:
    """A federation configuration; the directory of its file is the unit."""

    at: At
    directory: str
    name: str
    remotes: Mapping[str, tuple[str, At]]
    exposes: Mapping[str, tuple[str, At]]


def units(files: SourceFiles) -> tuple[Unit, ...]:
    """Return all federation configurations."""
    return files.once("units", lambda: tuple(_units(files)))


def _units(files: SourceFiles) -> Iterator[Unit]:
    for path in files.paths:
        module = files.module(path) if _is_config(files, path) else None
        for node in descend(module.root, "object") if module is not None else ():
            names = properties_of(node)
            if module is not None and {"exposes", "remotes"} & set(names):
                remotes = dict(_entries(files, At(module, names["remotes"]))) if "remotes" in names else {}
                exposes = dict(_entries(files, At(module, names["exposes"]))) if "exposes" in names else {}
                label = fold(files, At(module, names["name"]), None) if "name" in names else ""
                yield Unit(At(module, node), posixpath.dirname(path), label, remotes, exposes)
                break


def _is_config(files: SourceFiles, path: str) -> bool:
    return bool(_CONFIG.search(path)) and any(word in files.text(path) for word in _CONFIG_WORDS)


def _entries(files: SourceFiles, at: At) -> Iterator[tuple[str, tuple[str, At]]]:
    """Yield key and text of an object, or of a list of names or of pairs."""
    for value in values_of(files, at, None):
        if value.node.type == "object":
            for key, inner in properties_of(value.node).items():
                yield key, (_entry_text(files, At(value.module, inner)), At(value.module, inner))
        for one in value.node.named_children if value.node.type == "array" else ():
            parts = one.named_children if one.type == "array" else [one]
            texts = [fold(files, At(value.module, part), None) for part in parts if part.type != "comment"]
            if texts:
                yield texts[0], (texts[1] if len(texts) > 1 else "", At(value.module, one))


def _entry_text(files: SourceFiles, at: At) -> str:
    """Return a text, or the one that an object gives as `import` or `entry`."""
    for value in values_of(files, at, None):
        if value.node.type == "object":
            names = properties_of(value.node)
            inner = next((names[key] for key in ("import", "entry", "external") if key in names), None)
            return fold(files, At(value.module, inner), None) if inner is not None else ""
        if value.node.type == "array" and value.node.named_children:
            return fold(files, At(value.module, value.node.named_children[0]), None)
    return fold(files, at, None)


def wanted_of(files: SourceFiles, module: Module, loader: Node) -> Wanted | None:
    """Return what a route's loader loads from another application, None when it loads nothing from one."""
    for call in descend(loader, "call_expression"):
        at = At(module, call)
        arguments = arguments_of(call)
        if callee(call)[1] == _LOAD and arguments:
            return _from_call(files, at, arguments, picked_name(loader))
        source = import_source(call)
        is_remote = source and not source.startswith(".") and "/" in source and not source.startswith("@")
        if is_remote:
            remote, _, expose = source.partition("/")
            path = files.locate(module.path, source)
            known = any(remote in _names(one.remotes) for one in units(files)) or path is not None
            if known:
                return Wanted(at, remote, "", f"./{expose}", picked_name(loader))
    return None


def _from_call(files: SourceFiles, at: At, arguments: list[Node], name: str) -> Wanted:
    texts: dict[str, str] = {}
    for value in values_of(files, At(at.module, arguments[0]), None):
        if value.node.type == "object":
            texts = {key: fold(files, At(value.module, one), None) for key, one in properties_of(value.node).items()}
    if not texts:
        texts = {"remoteName": fold(files, At(at.module, arguments[0]), None)}
        texts["exposedModule"] = fold(files, At(at.module, arguments[1]), None) if len(arguments) > 1 else ""
    expose = texts.get("exposedModule", "")
    return Wanted(at, texts.get("remoteName", ""), texts.get("remoteEntry", ""), expose, name)


def _host_routes(files: SourceFiles, _so_far: tuple[Found, ...]) -> Sequence[Found]:
    return files.once("host routes", lambda: _all_host_routes(files))


def _all_host_routes(files: SourceFiles) -> list[Found]:
    found = []
    for route in all_routes(files):
        for key in LOADERS:
            loader = route.settings.get(key)
            wanted = wanted_of(files, route.at.module, loader) if loader is not None else None
            if wanted is not None:
                at = route.at
                found.append(Found(at.module.path, at.line, route.path, "", (route, wanted), end_line=at.end_line))
    return found


def _mappings(files: SourceFiles, so_far: tuple[Found, ...]) -> Sequence[Found]:
    """Return where the remote's name or address is written; the entity is its address or the file it means."""
    _, wanted = cast("tuple[Route, Wanted]", so_far[0].entity)
    if wanted.entry:
        return [Found(wanted.at.module.path, wanted.at.line, wanted.entry, "the call names the entry", wanted.entry)]
    found = []
    for unit in units(files):
        for key, (address, at) in unit.remotes.items():
            if _same_name(key, wanted.remote):
                relation = f"`remotes` maps {key}"
                found.append(Found(at.module.path, at.line, key, relation, address, end_line=at.end_line))
    found.extend(_in_manifests(files, wanted))
    return found or list(_in_tsconfig(files, wanted))


def _in_manifests(files: SourceFiles, wanted: Wanted) -> Iterator[Found]:
    for path in manifests(files):
        for key, value in read_object(files.text(path)).items():
            address = value if isinstance(value, str) else str(as_object(value).get("remoteEntry", ""))
            if _same_name(key, wanted.remote) and address:
                yield Found(path, _line_of(files, path, f'"{key}"'), key, f"the manifest maps {key}", address)


def _in_tsconfig(files: SourceFiles, wanted: Wanted) -> Iterator[Found]:
    name = f"{wanted.remote}/{wanted.expose.removeprefix('./')}"
    for path in files.paths:
        if not re.search(r"(?:^|/)tsconfig[\w.-]*\.json$", path) or f'"{name}"' not in files.text(path):
            continue
        options = as_object(read_object(files.text(path)).get("compilerOptions"))
        paths: JsonObject = as_object(options.get("paths"))
        base = posixpath.join(posixpath.dirname(path), str(options.get("baseUrl", ".")))
        for target in as_texts(paths.get(name)):
            file = posixpath.normpath(posixpath.join(base, target))
            yield Found(path, _line_of(files, path, f'"{name}"'), name, "tsconfig `paths` maps it", f"file:{file}")


def manifests(files: SourceFiles) -> tuple[str, ...]:
    """Return the manifests: JSON files that map names to the addresses of remotes."""
    candidates = (path for path in files.paths if _MANIFEST.search(f"/{path}") and "node_modules" not in path)
    return files.once("manifests", lambda: tuple(path for path in candidates if _is_manifest(files.text(path))))


def _is_manifest(text: str) -> bool:
    return "remoteEntry" in text or bool(re.search(r"\"https?://[^\"]+(?:\.js|\.json|:\d+/?)\"", text))


def _exposes(files: SourceFiles, so_far: tuple[Found, ...]) -> Sequence[Found]:
    _, wanted = cast("tuple[Route, Wanted]", so_far[0].entity)
    address = str(so_far[1].entity)
    key = _key(wanted.expose)
    found = []
    for unit in units(files):
        for name, (target, at) in unit.exposes.items():
            relation = _unit_relation(files, unit, wanted, address, target)
            if _key(name) == key and relation:
                found.append(Found(at.module.path, at.line, name, relation, (unit, target), end_line=at.end_line))
    return found


def _unit_relation(files: SourceFiles, unit: Unit, wanted: Wanted, address: str, target: str) -> str:
    """Return why a unit is the remote that is meant, an empty text when it is not."""
    if unit.name and _same_name(unit.name, wanted.remote):
        return f"the unit is called {unit.name}"
    if address.startswith("file:"):
        is_same = address.removeprefix("file:") in _module_paths(files, unit, target)
        return "tsconfig names the exposed file" if is_same else ""
    at_name, _, url = address.partition("@")
    if url and unit.name and _same_name(unit.name, at_name):
        return f"the unit is called {unit.name}"
    port = urlsplit(url or address).port if "://" in address else None
    return f"its dev server has port {port}" if port is not None and port in _ports(files, unit) else ""


def _ports(files: SourceFiles, unit: Unit) -> frozenset[int]:
    """Return the ports of a unit's dev server: in its configuration, its project file, or its scripts."""
    texts = [files.text(unit.at.module.path)]
    remote_texts = {text for text, _ in unit.remotes.values()}
    for name in ("project.json", "package.json", "angular.json"):
        path = posixpath.join(unit.directory, name)
        if path in files:
            texts.append(files.text(path))
    ports = {int(next(filter(None, match))) for text in texts for match in _PORT.findall(text)}
    # The ports of the remotes that it uses are not its own.
    used = {int(next(filter(None, match))) for text in remote_texts for match in _PORT.findall(text)}
    workspace = as_object(read_object(files.text("angular.json")).get("projects")) if "angular.json" in files else {}
    for project in workspace.values():
        settings = as_object(project)
        if str(settings.get("root", "?")).strip("/") == unit.directory and unit.directory:
            serve = as_object(as_object(as_object(settings.get("architect")).get("serve")).get("options"))
            port = serve.get("port")
            ports |= {port} if isinstance(port, int) else set()
    return frozenset(ports - used)


def _modules(files: SourceFiles, so_far: tuple[Found, ...]) -> Sequence[Found]:
    unit, target = cast("tuple[Unit, str]", so_far[2].entity)
    for path in _module_paths(files, unit, target):
        module = files.module(path)
        if module is not None:
            return [Found(path, 1, path, f"`exposes` names {target}", module, end_line=10**9)]
    return []


def _module_paths(files: SourceFiles, unit: Unit, target: str) -> list[str]:
    """Return the files that an exposed path may be: relative to the configuration, or to the root of the workspace."""
    plain = target.removeprefix("./")
    places = [posixpath.normpath(posixpath.join(unit.directory, plain)), posixpath.normpath(plain)]
    endings = ("", ".ts", "/index.ts", ".js", "/index.js")
    return [place + ending for place in places for ending in endings if place + ending in files]


def _destinations(files: SourceFiles, so_far: tuple[Found, ...]) -> Sequence[Found]:
    """Return the component that is picked from the exposed module, or the matching child of its routes."""
    _, wanted = cast("tuple[Route, Wanted]", so_far[0].entity)
    module = cast("Module", so_far[3].entity)
    picked = exported(files, module, wanted.name)
    targets = [picked] if picked is not None else [At(module, node) for node in module.declared.values()]
    found: list[Found] = []
    for target in targets:
        info = class_at(target)
        if info is not None and COMPONENT in info.decorators:
            at = info.at
            found.append(
                Found(at.module.path, at.line, info.name, f"{info.name} is exported", info, end_line=at.end_line)
            )
            continue
        for array in arrays_of_target(files, target):
            found.extend(_children(files, array))
    return found


def _children(files: SourceFiles, array: At) -> Iterator[Found]:
    """Yield the component of the child that an empty path leads to, then those of the others."""
    routes = [route for route in _child_routes(files, array) if route.is_leaf and "redirectTo" not in route.settings]
    for route in sorted(routes, key=lambda one: len(one.parts)):
        for one in components_of_route(files, route):
            yield Found(one.file, one.line, one.name, f"the child `{route.path}` shows it", one.entity, one.via)


def _child_routes(files: SourceFiles, array: At) -> Iterator[Route]:
    for order, node in enumerate(array.node.named_children):
        settings = properties_of(node) if node.type == "object" else {}
        path = settings.get("path")
        parts = parts_of(string_of(path) or "") if path is not None else ()
        if settings:
            yield Route(At(array.module, node), parts, settings, 0, order)
        children = settings.get("children")
        for inner in values_of(files, At(array.module, children), None) if children is not None else ():
            yield from _child_routes(files, inner)


def is_federation_surface(files: SourceFiles, path: str) -> bool:
    """Tell whether a file is a federation configuration, a manifest, an exposed file, or holds a host's route."""
    if not path.endswith((*SCRIPTS, ".json")):
        return False
    if _is_config(files, path):
        return any(unit.at.module.path == path for unit in units(files))
    if path.endswith(".json"):
        return bool(_MANIFEST.search(f"/{path}")) and path in manifests(files) and bool(_hosts_exist(files))
    if any(word in files.text(path) for word in (_LOAD, "import(")) and any(
        found.file == path for found in _host_routes(files, ())
    ):
        return True
    return path in _exposed_files(files)


def _hosts_exist(files: SourceFiles) -> bool:
    return bool(units(files)) or bool(files.containing((_LOAD,), (".ts", ".js")))


def _exposed_files(files: SourceFiles) -> frozenset[str]:
    return files.once("exposed files", lambda: _all_exposed_files(files))


def _all_exposed_files(files: SourceFiles) -> frozenset[str]:
    paths = [
        path
        for unit in units(files)
        for target, _ in unit.exposes.values()
        for path in _module_paths(files, unit, target)
    ]
    return frozenset(paths)


def federation_unit_of(files: SourceFiles, path: str) -> str | None:
    """Return the directory of the nearest federation configuration above a file, None when there is none."""
    directories = files.once(
        "unit directories", lambda: {posixpath.dirname(one) for one in files.paths if _is_config(files, one)}
    )
    directory = posixpath.dirname(path)
    while True:
        if directory in directories:
            return directory
        if not directory:
            return None
        directory = posixpath.dirname(directory)


def _orphans(files: SourceFiles, path: str) -> list[tuple[str, Found, str]]:
    """Return what a file offers to hosts, or maps for them, which a chain ought to reach."""
    rows = []
    for unit in units(files):
        if unit.at.module.path == path:
            for name, (_, at) in unit.exposes.items():
                rows.append(("RemoteExpose", Found(path, at.line, name, "", end_line=at.end_line), "HostRoute"))
            for name, (_, at) in unit.remotes.items():
                rows.append(("FederationMapping", Found(path, at.line, name, "", end_line=at.end_line), "HostRoute"))
        for target, _ in unit.exposes.values():
            if path in _module_paths(files, unit, target):
                rows.append(("RemoteModule", Found(path, 1, path, "", end_line=10**9), "HostRoute"))
    return rows


def _line_of(files: SourceFiles, path: str, text: str) -> int:
    return files.text(path).partition(text)[0].count("\n") + 1


def _key(expose: str) -> str:
    return expose.removeprefix("./")


def _names(remotes: Mapping[str, object]) -> set[str]:
    return {name.replace("-", "_") for name in remotes} | set(remotes)


def _same_name(one: str, other: str) -> bool:
    return bool(one) and one.replace("-", "_") == other.replace("-", "_")


FEDERATION: Final = ChainKind(
    "federation",
    (
        LinkType("HostRoute", _host_routes, is_each=True),
        LinkType("FederationMapping", _mappings),
        LinkType("RemoteExpose", _exposes),
        LinkType("RemoteModule", _modules),
        LinkType("DestinationComponent", _destinations),
    ),
    5,
    is_federation_surface,
    _orphans,
)
