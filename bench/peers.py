"""CodePlane beside other code indexes that speak MCP, in one run on one repository.

    python bench/peers.py --repo DIRECTORY --venvs DIRECTORY [--peer NAME=COMMAND ...] [--rg PATH]

Each peer lives in a virtual environment of its own: one that exists (--peer, the path of its python or command), or
one that is made with pip under --venvs. All are driven with the official client over stdio, each on a fresh copy of the
repository and with a home of its own. `bench/peer_facts.py` draws the questions and works out the true answers.

Cold: from starting the server to the first right answer where a class is defined, with what the peer needs to know its
symbols. The speed of a machine that others use changes within seconds, so CodePlane runs before and after each peer, is
compared with the mean of the two, and the middle of these ratios counts. Warm: the same four kinds of questions, each
asked with the peer's best tool and room for the whole answer. Right is the share of true lines that the answer names,
exact the share of named lines that are true. A token is counted as four characters. CPU is that of the whole process
tree; memory is the highest sum of resident sizes over the tree, which counts shared pages more than once. A peer that
fails is printed with its own error.
"""

import argparse
import asyncio
import csv
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from repositories import compile_as_installed, copy_repository

HERE = Path(__file__).resolve().parent
OURS = "codeplane"
KINDS = ("definitions", "references", "identifier", "part")
LABELS = {
    "definitions": "where a class is defined",
    "references": "references of a function",
    "identifier": "text, a whole identifier",
    "part": "text, a part of a word",
}
TICK = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")
MATCHED = re.compile(r">\s*(\d+):")
Place = tuple[str, int]
Call = tuple[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Where a peer's programs are and where it works."""

    programs: Path
    root: Path
    home: Path


@dataclass(frozen=True, slots=True)
class Peer:
    """How one peer is installed, started, asked and understood."""

    name: str
    packages: tuple[str, ...]
    command: Callable[[Surroundings], list[str]]
    ask: Callable[[str, dict[str, Any]], Call]
    places: Callable[[str], set[Place]]
    index: Callable[[Surroundings], Call | None] = lambda _: None
    prepare: Callable[[Surroundings], None] = lambda _: None
    environment: tuple[tuple[str, str], ...] = ()
    resolves_lines: bool = False
    remark: str = ""


@dataclass(frozen=True, slots=True)
class Cold:
    """What it took from nothing to the first right answer; `ratio` is to CodePlane before and after it."""

    seconds: float
    cpu_seconds: float
    peak_bytes: int
    ratio: float = 1.0


@dataclass(slots=True)
class Result:
    """What one peer showed."""

    colds: list["Cold"] = field(default_factory=list)
    times: dict[str, list[float]] = field(default_factory=dict)
    tokens: dict[str, list[float]] = field(default_factory=dict)
    found: dict[str, float] = field(default_factory=dict)
    exact: dict[str, float] = field(default_factory=dict)
    error: str = ""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repo", type=Path, required=True)
    parser.add_argument("--venvs", type=Path, help="where environments are made for peers not given with --peer")
    parser.add_argument("--peer", action="append", default=[], metavar="NAME=COMMAND")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="only these, beside CodePlane")
    parser.add_argument("--questions", type=int, default=25)
    parser.add_argument("--cold-runs", type=int, default=2, help="how often each peer runs from nothing")
    parser.add_argument("--rg", default=shutil.which("rg") or "", help="offered to peers that search with it")
    parser.add_argument("--answers", type=Path, help="keep every answer here, to read")
    options = parser.parse_args()
    compile_as_installed()
    given = dict(text.split("=", 1) for text in options.peer)
    if options.rg:
        os.environ["PATH"] = f"{Path(options.rg).resolve().parent}{os.pathsep}{os.environ['PATH']}"
    command = [sys.executable, str(HERE / "peer_facts.py"), "--repo", str(options.repo)]
    output = subprocess.run([*command, "--questions", str(options.questions)], capture_output=True, check=True).stdout
    facts: dict[str, list[dict[str, Any]]] = json.loads(output)
    for question in (one for kind in KINDS for one in facts[kind]):
        question["repository"] = options.repo.resolve().name
    ours, *others = [peer for peer in PEERS if not options.only or peer.name in (OURS, *options.only)]
    results = {peer.name: Result() for peer in (ours, *others)}
    measure(ours, facts, options, given, results[OURS])
    for peer in others * options.cold_runs:
        measure(peer, facts, options, given, results[peer.name])
        measure(ours, facts, options, given, results[OURS])
        if not results[OURS].error and not results[peer.name].error:
            around, colds = results[OURS].colds[-2:], results[peer.name].colds
            colds[-1] = replace(colds[-1], ratio=2 * colds[-1].seconds / (around[0].seconds + around[1].seconds))
    print_tables(facts, results)


def measure(
    peer: Peer,
    facts: dict[str, list[dict[str, Any]]],
    options: argparse.Namespace,
    given: dict[str, str],
    result: Result,
) -> None:
    """Let a peer run once from nothing and add what it shows, or its error."""
    if result.error:
        return
    print(f"measuring {peer.name} ...", file=sys.stderr, flush=True)
    try:
        programs = installed(peer, options.venvs, given.get(peer.name))
        with tempfile.TemporaryDirectory() as text:
            directory = Path(text).resolve()
            root = directory / options.repo.resolve().name
            copy_repository(options.repo, root)
            (directory / "home").mkdir()
            asyncio.run(run(peer, Surroundings(programs, root, directory / "home"), facts, result, options.answers))
    except Exception as problem:  # noqa: BLE001 - whatever a peer does wrong is its result.
        result.error = innermost(problem)


def innermost(problem: BaseException) -> str:
    """Return the last line of what went wrong, without the groups around it."""
    while isinstance(problem, BaseExceptionGroup):
        problem = problem.exceptions[0]
    if isinstance(problem, subprocess.CalledProcessError):
        return f"{problem} {(problem.stderr or b'').decode(errors='replace').strip()[-300:]}"
    return " ".join("".join(traceback.format_exception_only(problem)).split())[:600]


def installed(peer: Peer, venvs: Path | None, given: str | None) -> Path:
    """Return the directory of a peer's programs, made if need be."""
    if given:
        return Path(given).absolute().parent
    if not peer.packages:
        return Path(sys.executable).parent
    if venvs is None:
        raise FileNotFoundError(f"no environment: give --peer {peer.name}=COMMAND or --venvs DIRECTORY")
    directory = venvs.absolute() / peer.name
    if not (directory / "installed").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(directory)], check=True, capture_output=True)
        pip = [str(directory / "bin" / "python"), "-m", "pip", "install", "--quiet"]
        subprocess.run([*pip, *peer.packages], check=True, capture_output=True, timeout=1800)
        (directory / "installed").touch()
    return directory / "bin"


async def run(
    peer: Peer, around: Surroundings, facts: dict[str, list[dict[str, Any]]], result: Result, answers: Path | None
) -> None:
    """Index from nothing, then ask everything once."""
    peer.prepare(around)
    program, *arguments = peer.command(around)
    environment = {
        **os.environ,
        "HOME": str(around.home),
        "XDG_STATE_HOME": str(around.home / "state"),
        "XDG_CONFIG_HOME": str(around.home / "config"),
        "XDG_CACHE_HOME": str(around.home / "cache"),
        "PATH": f"{around.programs}{os.pathsep}{os.environ['PATH']}",
        **dict(peer.environment),
    }
    parameters = StdioServerParameters(command=program, args=arguments, cwd=around.root, env=environment)
    first = facts["definitions"][0]
    with (around.home / "stderr").open("w", encoding="utf-8") as errors, TreeWatch() as watch:
        begun = time.perf_counter()
        async with Client(stdio_client(parameters, errlog=errors)) as client:
            step = peer.index(around)
            if step:
                await call(client, step)
            while not covers(peer.places(await call(client, peer.ask("definitions", first))), first):
                if time.perf_counter() - begun > 900:
                    raise TimeoutError(f"no right answer about {first['name']} in 900 s")
                await asyncio.sleep(0.2)
            seconds = time.perf_counter() - begun
            result.colds.append(Cold(seconds, watch.cpu_seconds, watch.peak_bytes))
            if not result.times:
                for kind in KINDS:
                    await ask_all(client, peer, kind, facts[kind], result, answers)


async def ask_all(
    client: Client, peer: Peer, kind: str, questions: list[dict[str, Any]], result: Result, answers: Path | None
) -> None:
    """Ask one kind of question with every query, after one that only warms up."""
    await call(client, peer.ask(kind, questions[-1]))
    times, tokens, found, exact = [], [], [], []
    for question in questions:
        begun = time.perf_counter()
        text = await call(client, peer.ask(kind, question))
        times.append(time.perf_counter() - begun)
        tokens.append(len(text) / 4)
        places = peer.places(text)
        true = {(path, line) for path, line in question["lines"]}
        own = {(question.get("path", ""), question.get("line", 0))}
        found.append(len(true & places) / len(true))
        exact.append(len(true & places) / len(places - own) if places - own else 0.0)
        if answers is not None:
            head = f"missing {sorted(true - places)}\nmore {sorted(places - own - true)}\n\n"
            keep(answers / f"{peer.name}-{kind}-{question['name']}.txt", head + text)
    result.times[kind], result.tokens[kind] = times, tokens
    result.found[kind], result.exact[kind] = sum(found) / len(found), sum(exact) / len(exact)


def keep(path: Path, text: str) -> None:
    """Write an answer down."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


async def call(client: Client, step: Call) -> str:
    """Return the text of an answer; an error is raised."""
    answer = await client.call_tool(step[0], step[1], read_timeout_seconds=900)
    text = "\n".join(getattr(part, "text", "") for part in answer.content)
    if answer.is_error:
        raise RuntimeError(f"{step[0]}: {text}")
    return text


def covers(places: set[Place], question: dict[str, Any]) -> bool:
    """Tell whether an answer names every true line."""
    return {(path, line) for path, line in question["lines"]} <= places


class TreeWatch:
    """CPU time and memory of all processes below this one, read from /proc again and again.

    Invariant: `cpu_seconds` never falls, because the time of a child that ended is in its parent's count.
    """

    def __init__(self) -> None:
        self.cpu_seconds = 0.0
        self.peak_bytes = 0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        # Looking more often takes a tenth of a processor, which one that uses all of them would miss.
        while not self._done.wait(0.25):
            below = list(processes_below(os.getpid()))
            self.cpu_seconds = max(self.cpu_seconds, sum(ticks for ticks, _ in below) / TICK)
            self.peak_bytes = max(self.peak_bytes, sum(pages for _, pages in below) * PAGE)


def processes_below(parent: int) -> Iterator[tuple[int, int]]:
    """Yield ticks and resident pages of each process below one."""
    children: dict[int, list[tuple[int, int, int]]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            except OSError:
                continue
            ticks = sum(int(text) for text in fields[11:15])
            children.setdefault(int(fields[1]), []).append((int(entry.name), ticks, int(fields[21])))
    waiting = [parent]
    while waiting:
        for pid, ticks, pages in children.get(waiting.pop(), ()):
            yield ticks, pages
            waiting.append(pid)


def print_tables(facts: dict[str, list[dict[str, Any]]], results: dict[str, Result]) -> None:
    """Print what was measured, each beside its ratio to CodePlane."""
    ours = results[OURS]
    for peer in PEERS:
        if peer.name in results:
            one = results[peer.name]
            print(f"{peer.name}: {f'FAILED: {one.error}' if one.error else peer.remark or 'ran'}")
    fine = {name: one for name, one in results.items() if not one.error}
    if OURS not in fine:
        return
    print(f"\n{'cold, to the first right answer':<34}{'s':>8}{'x':>7}{'CPU s':>9}{'x':>7}{'peak MB':>9}{'x':>7}")
    floor = middle_cold(ours)
    for name, one in fine.items():
        cold = middle_cold(one)
        ratio = cold.ratio, cold.cpu_seconds / floor.cpu_seconds, cold.peak_bytes / floor.peak_bytes
        print(
            f"{name:<34}{cold.seconds:>8.1f}{ratio[0]:>7.1f}{cold.cpu_seconds:>9.1f}{ratio[1]:>7.1f}"
            f"{cold.peak_bytes / 1e6:>9.0f}{ratio[2]:>7.1f}"
        )
    for kind in KINDS:
        title = f"{LABELS[kind]} ({len(facts[kind])})"
        print(f"\n{title:<34}{'p50 ms':>8}{'x':>7}{'p95 ms':>9}{'x':>7}{'tokens':>9}{'x':>7}{'right':>8}{'exact':>8}")
        for name, one in fine.items():
            row = middle(one.times[kind]) * 1e3, high(one.times[kind]) * 1e3, middle(one.tokens[kind])
            base = middle(ours.times[kind]) * 1e3, high(ours.times[kind]) * 1e3, middle(ours.tokens[kind])
            print(
                f"{name:<34}{row[0]:>8.0f}{row[0] / base[0]:>7.2f}{row[1]:>9.0f}{row[1] / base[1]:>7.2f}"
                f"{row[2]:>9.0f}{row[2] / base[2]:>7.2f}{one.found[kind]:>8.0%}{one.exact[kind]:>8.0%}"
            )
    print_goals(fine)


def print_goals(fine: dict[str, Result]) -> None:
    """Print each goal beside its value."""
    print()
    ours = fine[OURS]
    for peer in PEERS:
        if peer.name in fine and peer.name != OURS:
            one = fine[peer.name]
            ratio = middle_cold(one).ratio
            runs = ", ".join(f"{cold.seconds:.1f} s {cold.ratio:.1f} x" for cold in one.colds)
            verdict = "met" if ratio >= 3 else "MISSED"
            print(f"cold index of {peer.name}: {ratio:.1f} x ours ({runs}; goal >= 3) {verdict}")
            if peer.resolves_lines:
                times = middle(one.times["references"]) * 1e3, middle(ours.times["references"]) * 1e3
                verdict = "met" if times[0] >= 100 else "MISSED"
                print(f"resolved lines from {peer.name}: p50 {times[0]:.0f} ms (goal: no peer under 100 ms) {verdict}")
                print(f"resolved lines from {OURS}: p50 {times[1]:.0f} ms")
            else:
                print(f"resolved lines from {peer.name}: it has none, its lines are those that hold the name")


def middle_cold(result: Result) -> Cold:
    """Return the middle of each value over the cold runs."""
    return Cold(
        middle([cold.seconds for cold in result.colds]),
        middle([cold.cpu_seconds for cold in result.colds]),
        int(middle([float(cold.peak_bytes) for cold in result.colds])),
        statistics.median([cold.ratio for cold in result.colds]),
    )


def middle(values: list[float]) -> float:
    """Return the median."""
    return sorted(values)[len(values) // 2]


def high(values: list[float]) -> float:
    """Return the 95th percentile."""
    return sorted(values)[min(len(values) - 1, int(0.95 * len(values)))]


def codeplane_call(kind: str, question: dict[str, Any]) -> Call:
    """Ask CodePlane."""
    name = question["name"]
    if kind == "definitions":
        return "search", {"query": name, "mode": "definitions"}
    if kind == "references":
        return "search", {"query": f"{question['path']}::{name}", "mode": "references", "limit": 100}
    return "search", {"query": name, "limit": 100, **({"whole_word": True} if kind == "identifier" else {})}


def codeplane_places(text: str) -> set[Place]:
    """Read `path:first-last what` and lines below their path."""
    places = set()
    path = ""
    for line in text.splitlines():
        hit = re.match(r" (\d+): ", line + " ")
        defined = re.match(r"(\S+?):(\d+)-\d+ ", line)
        if hit:
            places.add((path, int(hit[1])))
        elif defined:
            places.add((defined[1], int(defined[2])))
        else:
            path = line
    return places


def code_index_call(kind: str, question: dict[str, Any]) -> Call:
    """Ask code-index-mcp: it has no tool for a name without its file, nor for references, but its search is quick."""
    name = question["name"]
    if kind == "definitions":
        return "search_code_advanced", {"pattern": rf"^\s*class {name}\b", "regex": True}
    whole = kind != "part"
    pattern = rf"\b{name}\b" if whole else name
    return "search_code_advanced", {"pattern": pattern, "regex": whole, "max_results": 200}


def code_index_places(text: str) -> set[Place]:
    """Read JSON with a file and a line in each result."""
    return {(str(Path(one["file"])), int(one["line"])) for one in json.loads(text).get("results", ())}


def jcodemunch_call(kind: str, question: dict[str, Any]) -> Call:
    """Ask jcodemunch-mcp."""
    name = question["name"]
    repository = {"repo": f"local/{question['repository']}"}
    if kind == "definitions":
        return "search_symbols", {**repository, "query": name, "kind": "class", "max_results": 1}
    if kind == "references":
        return "check_references", {**repository, "identifier": name, "max_content_results": 100}
    pattern = {"query": rf"\b{name}\b", "is_regex": True} if kind == "identifier" else {"query": name}
    return "search_text", {**repository, **pattern, "max_results": 100}


def jcodemunch_prepare(around: Surroundings) -> None:
    """Lift the budget after which answers are cut, since many questions are asked in one session."""
    (around.home / ".code-index").mkdir()
    (around.home / ".code-index" / "config.jsonc").write_text('{"turn_budget_tokens": 0}', encoding="utf-8")


def jcodemunch_places(text: str) -> set[Place]:
    """Read JSON, or rows of a table whose long values stand above it as `@1=...`."""
    if text.lstrip().startswith("{"):
        return set(places_in(json.loads(text), ""))
    lines = text.splitlines()
    long = dict(line.split("=", 1) for line in lines if re.match(r"@\d+=", line))
    columns = {tag: names.split("|") for tag, names in re.findall(r"\b([a-z]+):\w+:([a-z_|]+)", text)}
    places = set()
    for row in csv.reader(line for line in lines if re.match(r"[a-z]+,", line)):
        named = dict(zip(columns.get(row[0], ()), row[1:], strict=False))
        path = re.sub(r"^@\d+", lambda match: long.get(match[0], match[0]), named.get("file", ""))
        if named.get("line", "").isdigit():
            places.add((path, int(named["line"])))
    return places


def places_in(value: object, path: str) -> Iterator[Place]:
    """Yield every line of JSON below the file it is in."""
    if isinstance(value, dict):
        path = str(value.get("file", path))
        if isinstance(value.get("line"), int):
            yield path, value["line"]
        for key, inner in value.items():
            if key != "in":
                yield from places_in(inner, path)
    elif isinstance(value, list):
        for inner in value:
            yield from places_in(inner, path)


def serena_call(kind: str, question: dict[str, Any]) -> Call:
    """Ask Serena."""
    name = question["name"]
    if kind == "definitions":
        return "find_symbol", {"name_path_pattern": name}
    if kind == "references":
        return "find_referencing_symbols", {"name_path": name, "relative_path": question["path"]}
    return "search_for_pattern", {"substring_pattern": rf"\b{name}\b" if kind == "identifier" else re.escape(name)}


def serena_places(text: str) -> set[Place]:
    """Read JSON in which lines are counted from 0; an answer in words names no line."""
    try:
        answer = json.loads(text)
    except json.JSONDecodeError:
        return set()
    if isinstance(answer, list):
        return {(one["relative_path"], one["body_location"]["start_line"] + 1) for one in answer}
    return {(path, int(line) + 1) for path, inner in answer.items() for line in MATCHED.findall(json.dumps(inner))}


def serena_prepare(around: Surroundings) -> None:
    """Choose a language server that comes from the package index; the default one is fetched from elsewhere."""
    (around.home / ".serena").mkdir()
    server = around.programs / "basedpyright-langserver"
    settings = f"projects: []\nls_specific_settings:\n  python_basedpyright:\n    ls_path: {server}\n"
    (around.home / ".serena" / "serena_config.yml").write_text(settings, encoding="utf-8")
    (around.root / ".serena").mkdir()
    project = f"project_name: {around.root.name}\nlanguage_servers:\n- python_basedpyright\n"
    (around.root / ".serena" / "project.yml").write_text(project, encoding="utf-8")


PEERS = (
    Peer(
        name=OURS,
        packages=(),
        command=lambda around: [str(around.programs / "cpl"), "mcp"],
        ask=codeplane_call,
        places=codeplane_places,
        environment=(("CODEPLANE__SESSIONS__READ_BUDGET_BYTES", "0"),),
        resolves_lines=True,
    ),
    Peer(
        name="code-index-mcp",
        packages=("code-index-mcp",),
        command=lambda around: [
            str(around.programs / "code-index-mcp"),
            "--project-path",
            str(around.root),
            "--indexer-path",
            str(around.home / "index"),
        ],
        index=lambda _: ("build_deep_index", {}),
        ask=code_index_call,
        places=code_index_places,
        remark="its symbol index needs the file of a symbol, so its text search is asked; cold counts its "
        "deep index, which that search does not need",
    ),
    Peer(
        name="jcodemunch-mcp",
        packages=("jcodemunch-mcp",),
        command=lambda around: [str(around.programs / "jcodemunch-mcp")],
        index=lambda around: ("index_folder", {"path": str(around.root), "use_ai_summaries": False}),
        prepare=jcodemunch_prepare,
        ask=jcodemunch_call,
        places=jcodemunch_places,
        environment=(("JCODEMUNCH_MAX_FOLDER_FILES", "100000"), ("JCODEMUNCH_TOOL_SURFACE", "full")),
        remark="its limit of 2,000 files is lifted; its references name files only, so its lines with the name count",
    ),
    Peer(
        name="serena-agent",
        packages=("serena-agent", "basedpyright"),
        command=lambda around: [
            str(around.programs / "serena"),
            "start-mcp-server",
            "--project",
            str(around.root),
            "--context",
            "agent",
            "--agent-interface",
            "tools",
            "--enable-web-dashboard",
            "false",
        ],
        prepare=serena_prepare,
        ask=serena_call,
        places=serena_places,
        resolves_lines=True,
        remark="with basedpyright from the package index, set by ls_path",
    ),
)


if __name__ == "__main__":
    main()
