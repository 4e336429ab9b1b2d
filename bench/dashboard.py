"""How quick the dashboard is, and what an open one costs an agent.

    python bench/dashboard.py [--operations 10000] [--rounds 10] [--calls 400]

Goals: a live call is on the screen 300 ms after it ended; the server makes a page of 10,000 operations in 100 ms; an
open dashboard costs a call of an agent at most 3 %. Pages are also compared with `/health` of the same server. Needs
Playwright and Debian's Chromium.
"""

import argparse
import http.client
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import Page, sync_playwright

from codeplane.ledger.chain import NewEvent
from codeplane.workspace.workspace import WorkspaceRequest, open_workspace

BIN = Path(sys.executable).parent
OPTIONS = [
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--no-first-run",
]  # fmt: skip
# Notes in the page when the row of each call came.
OBSERVE = """() => {
    window.seen = {};
    const body = document.querySelector("[data-follow=calls]").tBodies[0];
    new MutationObserver((changes) => {
        for (const change of changes) for (const row of change.addedNodes) {
            const at = Date.now();
            const call = row.querySelector("a").getAttribute("href").split("/").pop();
            requestAnimationFrame(() => { window.seen[call] = [at, Date.now()]; });
        }
    }).observe(body, { childList: true });
}"""


class Client:
    """One connection to the server that stays open, as an agent has."""

    def __init__(self, port: int, token: str) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self._token = token
        self.cookie = ""

    def ask(self, method: str, path: str, document: object = None) -> tuple[int, bytes]:
        """Send one request and return the status and the body."""
        headers = {"Authorization": f"Bearer {self._token}", "Cookie": self.cookie}
        self._connection.request(method, path, json.dumps(document) if document is not None else None, headers)
        response = self._connection.getresponse()
        self.cookie = (response.getheader("set-cookie") or self.cookie).partition(";")[0]
        return response.status, response.read()

    def call(self, name: str, arguments: object) -> str:
        """Call an operation and return the id of the call."""
        _, body = self.ask("POST", f"/operations/{name}", arguments)
        return str(json.loads(body)["meta"]["request_id"])

    def link(self) -> str:
        """Return a login link."""
        return str(json.loads(self.ask("POST", "/dashboard/login-links")[1])["url"])


def fill(root: Path, n_operations: int) -> None:
    """Put operations of twenty sessions on record."""
    body = {
        "effect": "write", "effects": {"writes": ["src/app/main.py"]}, "arguments_digest": "ab" * 32, "caller": "agent",
        "arguments": {"edits": [{"path": "src/app/main.py", "content": "x = 1\n" * 200}]}, "surface": "mcp-http",
        "policy": "scope", "duration_ms": 12, "changed_paths": ["src/app/main.py"], "short_diff": "~ src/app/main.py",
    }  # fmt: skip
    with open_workspace(WorkspaceRequest(root)) as workspace:
        for number in range(n_operations):
            kind = ("finished", "finished", "failed", "denied")[number % 4]
            name = ("write_source", "read_source", "search")[number % 3]
            event = NewEvent(kind, f"s-{number % 20:010d}", body, f"req_{number:026d}", name, f"task_{number % 50}")
            workspace.chain.append_later(event)
        workspace.chain.flush()


@contextmanager
def served(root: Path) -> Iterator[int]:
    """Run a server for the block; give its port."""
    server = subprocess.Popen([str(BIN / "cpl"), "up"], cwd=root, stdout=subprocess.PIPE)
    try:
        assert server.stdout is not None
        for line in server.stdout:
            if b"Ctrl+C" in line:
                break
        yield int((root / ".codeplane/port").read_text())
    finally:
        server.terminate()
        server.wait()


def median_ms(action: Callable[[], object], rounds: int) -> float:
    """Return the median of so many runs."""
    times = []
    for _ in range(rounds):
        begun = time.perf_counter()
        action()
        times.append((time.perf_counter() - begun) * 1000)
    return statistics.median(times)


def measure_pages(client: Client, n_operations: int) -> None:
    """Print how long the server takes for pages."""
    client.ask("GET", f"/{client.link().split('/', 3)[3]}")
    floor = median_ms(lambda: client.ask("GET", "/health"), 50)
    middle = n_operations // 2
    for path in (
        "", "/operations", f"/operations?cursor={middle}", "/operations?outcome=denied&type=search",
        "/operations?session=s-0000000007", "/operations?path=src/app/main.py", "/operations?path=not/there.py",
        "/operations?task=task_7", "/approvals", "/ledger",
    ):  # fmt: skip
        status, _ = client.ask("GET", f"/dashboard{path}")
        assert status == 200, (status, path)
        found = median_ms(lambda path=path: client.ask("GET", f"/dashboard{path}"), 15)  # type: ignore[misc]  # the default binds it
        print(f"/dashboard{path}: {found:.0f} ms, {found / floor:.0f} x /health   (goal <= 100 ms)")


def measure_latency(page: Page, client: Client, n_calls: int) -> None:
    """Print how long after the end of a call its row is painted."""
    page.evaluate(OBSERVE)
    ended = {}
    for number in range(n_calls):
        call = client.call("read_source", {"targets": [f"file{number % 5}.py"]})
        ended[call] = time.time() * 1000
        # At moments that have nothing to do with the rhythm of the server.
        time.sleep(0.2 + (number * 37 % 100) / 250)
    time.sleep(1)
    seen = page.evaluate("window.seen")
    delays = sorted(seen[call][1] - at for call, at in ended.items() if call in seen)
    late = delays[int(len(delays) * 0.95)]
    print(
        f"live call painted after: median {statistics.median(delays):.0f} ms, 95 % {late:.0f} ms,"
        f" worst {delays[-1]:.0f} ms, {len(ended) - len(delays)} of {len(ended)} missing   (goal <= 300 ms)"
    )


def measure_cost(page: Page, address: str, client: Client, rounds: int, n_calls: int) -> None:
    """Print what an open page costs calls, alternating with none."""
    shares: dict[str, list[float]] = {"read_source": [], "search": []}
    for number in range(rounds):
        medians: dict[tuple[str, bool], float] = {}
        # Each comes first in every other round: machines drift.
        for is_open in (bool(number % 2), not number % 2):
            page.goto(address if is_open else "about:blank")
            time.sleep(1)
            for name, arguments in (("read_source", {"targets": ["file1.py"]}), ("search", {"query": "return"})):
                medians[name, is_open] = median_ms(lambda n=name, a=arguments: client.call(n, a), n_calls)  # type: ignore[misc]  # bound by default
        for name, ratios in shares.items():
            ratios.append(medians[name, True] / medians[name, False])
    for name, ratios in shares.items():
        print(f"{name} with an open dashboard: {statistics.median(ratios):.3f} x without   (goal <= 1.03)")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--operations", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--calls", type=int, default=400)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as text:
        directory = Path(text).resolve()
        os.environ.update({"XDG_STATE_HOME": str(directory / "state"), "XDG_CONFIG_HOME": str(directory / "config")})
        root = directory / "repository"
        root.mkdir()
        subprocess.run(["git", "init", "-q"], cwd=root, check=True)
        for number in range(50):
            (root / f"file{number}.py").write_text(f"def f{number}():\n    return {number}\n" * 5, encoding="utf-8")
        fill(root, options.operations)
        with served(root) as port:
            token = (directory / "state/codeplane/operator.token").read_text("ascii").strip()
            client = Client(port, token)
            measure_pages(client, options.operations)
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=OPTIONS)
                page = browser.new_page()
                page.goto(client.link())
                page.reload()
                painted = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
                while (paint := page.evaluate(painted)) is None:
                    time.sleep(0.01)
                print(f"first paint: {paint:.0f} ms")
                page.locator("#connection[data-state=live]").wait_for()
                measure_latency(page, client, 40)
                address = urlsplit(page.url)._replace(query="").geturl()
                measure_cost(page, address, client, options.rounds, options.calls)
                browser.close()


if __name__ == "__main__":
    main()
