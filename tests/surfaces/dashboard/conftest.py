"""One server for the tests of a module, and visitors who are logged in."""

import socket
from collections.abc import Callable, Iterator

import pytest

from support.governed import FILES, INTENTS
from support.toolchains import chromium
from surfaces.dashboard.support_visitors import Visitor, log_in
from surfaces.support_processes import UpServer, make_repo, make_sandbox, up

# Left out where the browser is missing.
collect_ignore = ["test_browser.py", "test_demo_in_browser.py"] if chromium() is None else []
REPOSITORY = {name: str(text) for name, text in FILES.items()} | {
    "src/app.py": "def main() -> int:\n    return 0\n",
    ".orchestration/active_intents.yaml": INTENTS,
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[UpServer]:
    """Return a server of a repository with intents."""
    directory = tmp_path_factory.mktemp("dashboard")
    with make_sandbox(directory) as sandbox, up(sandbox, make_repo(sandbox, directory / "shop", REPOSITORY)) as server:
        yield server


@pytest.fixture(scope="module")
def visitor(server: UpServer) -> Visitor:
    """Return a person who is logged in."""
    return log_in(server)


@pytest.fixture
def another(server: UpServer) -> Callable[[], Visitor]:
    """Return what logs another browser in."""
    return lambda: log_in(server)


@pytest.fixture
def unused_port() -> Callable[[], int]:
    """Return what finds a port that nobody listens on."""

    def find() -> int:
        with socket.create_server(("127.0.0.1", 0)) as found:
            return int(found.getsockname()[1])

    return find
