"""How long warm answers take through the official MCP client, over the stdio bridge and over HTTP.

    python bench/queries.py --repo DIRECTORY [--queries 120] [--rg PATH]

Each kind of question is asked with that many different queries, drawn with a fixed seed from the repository: the names
that are defined most often, names every codebase has, and names by chance. Beside p50 and p95 stand what the server
spent at the door and on checking that the index is fresh (both from /metrics; "beyond" is each answer without its
check), the ratio to a bare SDK server driven the same way, and for text the ratio to ripgrep asked in turns. A token is
counted as four characters of the answer's text. The repository is copied, so that it stays as it is.
"""

import argparse
import ast
import asyncio
import os
import random
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from repositories import compile_as_installed, copy_repository

BIN = Path(sys.executable).parent
SEED = 20
COMMON_NAMES = ("get", "save", "name", "request", "value", "self", "id", "data", "run", "test", "main", "key", "items")
# A language without `ast` still has words before its names.
NAMED = re.compile(r"\b(?:class|def|enum|fn|func|function|interface|struct|trait|type)\s+([A-Za-z_]\w{2,})")
SOURCES = frozenset({".py", ".js", ".ts", ".tsx", ".go", ".rs", ".java"})
BARE_SERVER = """
import asyncio
import sys
import mcp_types as types
import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
async def list_tools(context, params):
    return types.ListToolsResult(tools=[types.Tool(name="describe", input_schema={"type": "object"})])
async def call_tool(context, params):
    return types.CallToolResult(content=[types.TextContent(text="x" * 400)])
server = Server("bare", version="1", on_list_tools=list_tools, on_call_tool=call_tool)
async def over_stdio():
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())
if len(sys.argv) > 1:
    uvicorn.run(server.streamable_http_app(), host="127.0.0.1", port=int(sys.argv[1]), log_level="error")
else:
    asyncio.run(over_stdio())
"""


@dataclass(frozen=True, slots=True)
class Question:
    """One kind of question, its queries and the goal for its p95."""

    label: str
    tool: str
    queries: tuple[dict[str, Any], ...]
    goal_ms: float | None = None
    goal_rg: float | None = None

    @property
    def is_text(self) -> bool:
        """Tell whether ripgrep can be asked the same."""
        return self.tool == "search" and "mode" not in self.queries[0]


@dataclass(slots=True)
class Answers:
    """What one kind of question cost over one transport."""

    seconds: list[float] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    rg_seconds: list[float] = field(default_factory=list)
    errors: int = 0
    door_seconds: float = 0.0
    checks: list[float] = field(default_factory=list)

    @property
    def beyond(self) -> list[float]:
        """Return what each answer took besides its freshness check."""
        return [max(0.0, whole - check) for whole, check in zip(self.seconds, self.checks, strict=True)]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repo", type=Path, required=True)
    parser.add_argument("--queries", type=int, default=120)
    parser.add_argument("--rg", default=shutil.which("rg") or "")
    options = parser.parse_args()
    compile_as_installed()
    with tempfile.TemporaryDirectory() as text:
        directory = Path(text).resolve()
        os.environ.update({"XDG_STATE_HOME": str(directory / "state"), "XDG_CONFIG_HOME": str(directory / "config")})
        root = directory / options.repo.resolve().name
        copy_repository(options.repo, root)
        questions = draw_questions(root, options.queries)
        with started_server(root) as port:
            asyncio.run(measure(root, port, questions, options.rg))


@dataclass(slots=True)
class Names:
    """What a repository calls its things, and some of its lines."""

    defined: Counter[str] = field(default_factory=Counter)
    places: list[str] = field(default_factory=list)
    phrases: list[str] = field(default_factory=list)

    def add(self, path: str, source: str) -> None:
        """Take the names of one file."""
        for qualified in qualified_names(source) if path.endswith(".py") else NAMED.findall(source):
            self.defined[qualified.rsplit(".", 1)[-1]] += 1
            self.places.append(f"{path}::{qualified}")
        self.phrases += [line.strip()[:40].strip() for line in source.splitlines() if 12 < len(line.strip()) < 90]


def qualified_names(source: str) -> list[str]:
    """Return the classes, functions and methods of a Python file, with what they stand in."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            nodes: list[tuple[str, ast.AST]] = [("", ast.parse(source))]
    except (SyntaxError, ValueError):
        return []
    found: list[str] = []
    while nodes:
        prefix, node = nodes.pop()
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.ClassDef):
                found.append(prefix + child.name)
                nodes.append((f"{prefix}{child.name}.", child))
            elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                found.append(prefix + child.name)
    return found


def draw_questions(root: Path, n_queries: int) -> list[Question]:
    """Return all questions, the same for the same repository."""
    names = Names()
    for path in sorted(root.rglob("*")):
        if path.suffix in SOURCES and path.is_file() and ".git" not in path.parts:
            names.add(path.relative_to(root).as_posix(), path.read_text(encoding="utf-8", errors="replace"))
    chance = random.Random(SEED)
    ranked = [name for name, _ in names.defined.most_common(n_queries // 8)]
    by_chance = chance.sample(sorted(names.defined), min(n_queries, len(names.defined)))
    identifiers = list(dict.fromkeys([*COMMON_NAMES, *ranked, *by_chance]))[:n_queries]
    places = chance.sample(names.places, min(n_queries, len(names.places)))
    long_names = sorted(name for name in names.defined if len(name) > 7)
    parts = [name[1:-1] for name in chance.sample(long_names, min(n_queries // 2, len(long_names)))]
    phrases = chance.sample(names.phrases, min(n_queries - len(parts), len(names.phrases)))
    asked = [*identifiers[: n_queries // 2], *places[: n_queries // 2]]
    return [
        Question("definition, a name", "search", searches(identifiers, "definitions"), goal_ms=15),
        Question("definition, path::Name", "search", searches(places, "definitions"), goal_ms=15),
        Question("symbol, mistyped too", "search", searches(mistyped(identifiers), "symbol"), goal_ms=15),
        Question("references", "search", searches(asked, "references"), goal_ms=30),
        Question("text, an identifier", "search", searches(identifiers), goal_ms=50, goal_rg=1.5),
        Question("text, part or phrase", "search", searches([*parts, *phrases]), goal_rg=1.5),
        Question("map", "map_repo", ({},) * max(20, n_queries // 4), goal_ms=100),
        Question("cheapest tool", "describe", ({"action": "error", "name": "STALE_FILE"},) * n_queries),
    ]


def searches(queries: list[str], mode: str = "") -> tuple[dict[str, Any], ...]:
    """Return the arguments of searches."""
    return tuple({"query": query, "mode": mode} if mode else {"query": query} for query in queries)


def mistyped(identifiers: list[str]) -> list[str]:
    """Leave a letter out of every third name."""
    return [
        name[: len(name) // 2] + name[len(name) // 2 + 1 :] if i % 3 == 0 and len(name) > 5 else name
        for i, name in enumerate(identifiers)
    ]


@contextmanager
def started_server(root: Path) -> Iterator[int]:
    """Run CodePlane for a repository and give its port."""
    # A person loosens settings in a file of their own.
    settings_file = Path(os.environ["XDG_CONFIG_HOME"]) / "codeplane/config.yaml"
    settings_file.parent.mkdir(parents=True, exist_ok=True)
    settings_file.write_text("sessions: {read_budget_bytes: 0}\n", encoding="utf-8")
    settings = ["--set", "logging.level=warn"]
    port = free_port()
    command = [str(BIN / "cpl"), "up", "--port", str(port), *settings]
    with subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE) as server:
        try:
            assert server.stdout is not None
            server.stdout.readline()
            yield port
        finally:
            server.terminate()
            server.wait(timeout=30)


@contextmanager
def started_bare_server() -> Iterator[int]:
    """Run a server that answers with a constant and give its port."""
    port = free_port()
    with subprocess.Popen([sys.executable, "-c", BARE_SERVER, str(port)]) as server:
        try:
            deadline = time.monotonic() + 20
            while time.monotonic() < deadline:
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.05)
            yield port
        finally:
            server.terminate()
            server.wait(timeout=30)


def free_port() -> int:
    """Return a port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


async def measure(root: Path, port: int, questions: list[Question], rg: str) -> None:
    """Ask everything over both transports and print."""
    url = f"http://127.0.0.1:{port}"
    bridge = StdioServerParameters(command=str(BIN / "cpl"), args=["mcp"], cwd=root, env=dict(os.environ))
    async with Client(f"{url}/mcp") as client:
        begun = time.perf_counter()
        await client.call_tool("search", {"query": "warm", "mode": "definitions"}, read_timeout_seconds=600)
        n_files = int(metrics(url)["codeplane_index_files"])
        print(f"{root.name}: {n_files} files, the first answer after {time.perf_counter() - begun:.1f} s")
        bare_http, bare_stdio = await bare_times()
        http = [await ask(client, question, url) for question in questions]
    async with Client(stdio_client(bridge)) as client:
        stdio = [await ask(client, question, url, root=root, rg=rg) for question in questions]
    print_table("stdio bridge (cpl mcp)", questions, stdio, bare_stdio)
    print_table("HTTP", questions, http, bare_http)
    print_slowest(questions, stdio)
    print_goals(questions, stdio, "rg" if rg else "grep")


async def bare_times() -> tuple[list[float], list[float]]:
    """Return what a call costs with a server that does nothing, over HTTP and over stdio."""
    nothing = Question("", "describe", ({},) * 120)
    with started_bare_server() as port:
        async with Client(f"http://127.0.0.1:{port}/mcp") as client:
            over_http = await ask(client, nothing, "")
    bare = StdioServerParameters(command=sys.executable, args=["-c", BARE_SERVER])
    async with Client(stdio_client(bare)) as client:
        over_stdio = await ask(client, nothing, "")
    return over_http.seconds, over_stdio.seconds


async def ask(client: Client, question: Question, url: str, *, root: Path | None = None, rg: str = "") -> Answers:
    """Ask every query once, after a few that only warm up."""
    for _ in range(3):
        await client.call_tool(question.tool, question.queries[-1])
    answers = Answers()
    door = f'codeplane_call_seconds_sum{{operation="{question.tool}"}}'
    check = "codeplane_index_reconcile_seconds_total"
    first = before = metrics(url)
    for arguments in question.queries:
        begun = time.perf_counter()
        answer = await client.call_tool(question.tool, arguments)
        answers.seconds.append(time.perf_counter() - begun)
        after = metrics(url)
        answers.checks.append(after.get(check, 0.0) - before.get(check, 0.0))
        before = after
        answers.texts.append("\n".join(getattr(part, "text", "") for part in answer.content))
        answers.errors += bool(answer.is_error)
        if root is not None and question.is_text:
            answers.rg_seconds.append(peer_seconds(root, rg, str(arguments["query"])))
    answers.door_seconds = before.get(door, 0.0) - first.get(door, 0.0)
    return answers


def peer_seconds(root: Path, rg: str, text: str) -> float:
    """Return the time of ripgrep, or of grep where there is none, for all lines with a text."""
    command = ["grep", "-r", "-n", "-a", "-F", "--exclude-dir=.git", "--exclude-dir=.codeplane", "-e", text, "."]
    if rg:
        command = [rg, "-F", "-n", "--no-ignore", "--hidden", "-a", "-g", "!.git", "-g", "!.codeplane", "-e", text, "."]
    begun = time.perf_counter()
    subprocess.run(command, cwd=root, stdout=subprocess.DEVNULL, check=False)
    return time.perf_counter() - begun


def metrics(url: str) -> dict[str, float]:
    """Return the server's counters; a bare server has none."""
    if not url:
        return {}
    with urllib.request.urlopen(f"{url}/metrics", timeout=30) as answer:
        lines = answer.read().decode().splitlines()
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines if line[:1] != "#")}


def print_table(title: str, questions: list[Question], answers: list[Answers], bare: list[float]) -> None:
    """Print one row per kind of question."""
    floor = p50(bare)
    print(f"\n{title}; a bare SDK call: p50 {floor:.1f} ms, p95 {p95(bare):.1f} ms")
    print(
        f"{'question':<24}{'n':>4}{'p50 ms':>9}{'p95 ms':>9}{'max ms':>9}{'door ms':>9}{'check ms':>9}"
        f"{'beyond p50':>11}{'p95':>7}{'x bare':>8}{'tokens p50':>12}{'p95':>6}{'errors':>8}"
    )
    for question, one in zip(questions, answers, strict=True):
        n = len(one.seconds)
        tokens = [len(text) / 4 for text in one.texts]
        print(
            f"{question.label:<24}{n:>4}{p50(one.seconds):>9.1f}{p95(one.seconds):>9.1f}{max(one.seconds) * 1e3:>9.1f}"
            f"{one.door_seconds / n * 1e3:>9.1f}{p50(one.checks):>9.1f}{p50(one.beyond):>11.1f}{p95(one.beyond):>7.1f}"
            f"{p50(one.seconds) / floor:>8.1f}"
            f"{p50(tokens) / 1e3:>12.0f}{p95(tokens) / 1e3:>6.0f}{one.errors:>8}"
        )


def print_slowest(questions: list[Question], answers: list[Answers]) -> None:
    """Print the queries that took longest beyond the check."""
    print("\nslowest beyond the freshness check")
    for question, one in zip(questions, answers, strict=True):
        if question.tool == "search":
            ranked = sorted(zip(one.beyond, question.queries, strict=True), key=lambda pair: -pair[0])[:4]
            shown = ", ".join(f"{seconds * 1e3:.0f} ms {arguments['query']!r}" for seconds, arguments in ranked)
            print(f" {question.label:<24} {shown}")


def print_goals(questions: list[Question], answers: list[Answers], peer: str) -> None:
    """Print each goal beside its value, over stdio; the goals are counted after the freshness check."""
    print("\ngoals, over stdio, after the freshness check")
    by_label = {question.label: one for question, one in zip(questions, answers, strict=True)}
    for question in questions:
        one = by_label[question.label]
        if question.goal_ms is None and question.goal_rg is None:
            continue
        value = f"p95 {p95(one.beyond):.0f} ms, {p95(one.seconds):.0f} ms with the check"
        goal = f"<= {question.goal_ms:.0f} ms" if question.goal_ms is not None else ""
        is_met = question.goal_ms is not None and p95(one.beyond) <= question.goal_ms
        if question.goal_rg is not None and one.rg_seconds:
            middle, high = p50(one.beyond) / p50(one.rg_seconds), p95(one.beyond) / p95(one.rg_seconds)
            value += f"; {middle:.2f} x {peer} p50 ({p50(one.rg_seconds):.0f} ms), {high:.2f} x p95"
            goal += f"{' or ' if goal else ''}<= {question.goal_rg} x {peer}"
            is_met = is_met or high <= question.goal_rg
        print(f" {question.label:<24} goal {goal:<24} {'met   ' if is_met else 'MISSED'} {value}")
    print_token_goal("map", "tokens of the map", 500, by_label["map"].texts)
    single = [text for text in by_label["definition, a name"].texts if text.count("\n") == 0]
    print_token_goal("definition", f"{len(single)} answers with one definition", 60, single)


def print_token_goal(label: str, what: str, goal: int, texts: list[str]) -> None:
    """Print how long answers are."""
    tokens = [len(text) / 4 for text in texts] or [0.0]
    verdict = "met   " if max(tokens) <= goal else "MISSED"
    sizes = f"p50 {p50(tokens) / 1e3:.0f}, p95 {p95(tokens) / 1e3:.0f}, max {max(tokens):.0f}"
    print(f" {label:<24} goal {f'<= {goal} tokens':<24} {verdict} {sizes}; {what}")


def p50(values: list[float]) -> float:
    """Return the median in thousandths."""
    return percentile(values, 0.5) * 1e3


def p95(values: list[float]) -> float:
    """Return the 95th percentile in thousandths."""
    return percentile(values, 0.95) * 1e3


def percentile(values: list[float], share: float) -> float:
    """Return the value below which that share lies."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


if __name__ == "__main__":
    main()
