"""Fixtures of the surface tests: homes of their own, sample repositories, and servers that tests share."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from surfaces.support_processes import (
    TOY_CPL,
    HttpPeer,
    OpenPeer,
    RawPeer,
    Sandbox,
    UpServer,
    make_repo,
    make_sandbox,
    stdio_peer,
    up,
)


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[Sandbox]:
    with make_sandbox(tmp_path) as made:
        yield made


@pytest.fixture
def sample_repo(sandbox: Sandbox, tmp_path: Path) -> Path:
    return make_repo(sandbox, tmp_path / "sample")


@pytest.fixture(scope="session")
def shared_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[UpServer]:
    """Return a server for tests that leave it as they found it."""
    directory = tmp_path_factory.mktemp("shared")
    with make_sandbox(directory) as sandbox, up(sandbox, make_repo(sandbox, directory / "sample")) as server:
        yield server


@pytest.fixture(params=["http", "stdio"])
def open_peer(request: pytest.FixtureRequest, shared_server: UpServer) -> Iterator[OpenPeer]:
    """Return what opens a raw client of the shared server, over each transport in turn."""
    with ExitStack() as stack:

        def open_one(profile: str = "") -> RawPeer:
            if request.param == "http":
                return HttpPeer(shared_server.port, profile)
            arguments = ("--profile", profile) if profile else ()
            return stack.enter_context(stdio_peer(shared_server.sandbox, shared_server.root, *arguments))

        yield open_one


@pytest.fixture(scope="session")
def toy_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[UpServer]:
    """Return a server that also offers the toy operations."""
    directory = tmp_path_factory.mktemp("toy")
    with make_sandbox(directory) as sandbox:
        root = make_repo(sandbox, directory / "sample")
        with up(sandbox, root, program=TOY_CPL) as server:
            yield server
