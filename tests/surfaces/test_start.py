"""What a server does after its start: the rest of it comes up without standing in the way of the first calls."""

import sys
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from codeplane.core.errors import CodePlaneError
from codeplane.core.processes import ProcessRequest, run_process
from codeplane.operations.catalog import TOOLS, Catalog, OfferedTools
from codeplane.operations.operation import AnyOperation
from codeplane.operations.perform import Door
from codeplane.surfaces.server.facts import try_server_lock
from codeplane.surfaces.server.host import HostRequest, ServerHost, build_host, close_host
from support.doors import open_test_workspace
from surfaces.support_processes import TOY_CPL, Sandbox, stdio_peer, text_of, wait_until


class _Asked(Catalog):
    """Remembers what it was asked for; one of its operations cannot be imported."""

    def __init__(self) -> None:
        super().__init__(tuple(TOOLS))
        self.names: list[str] = []

    def __getitem__(self, name: str) -> AnyOperation:
        self.names.append(name)
        if name == "describe":
            raise CodePlaneError("INTERNAL_ERROR", "describe cannot be loaded.")
        return super().__getitem__(name)


@pytest.fixture
def host(repo: Path) -> Iterator[ServerHost]:
    workspace = open_test_workspace(repo)
    lock = try_server_lock(workspace.places)
    assert lock is not None
    built = build_host(HostRequest(workspace, Door(workspace, _Asked()), lock, "mcp"))
    yield built
    close_host(built)


def _asked(host: ServerHost) -> list[str]:
    assert isinstance(host.door.operations, OfferedTools)
    assert isinstance(host.door.operations.own, _Asked)
    return host.door.operations.own.names


def test_a_server_imports_every_operation_and_tells_of_one_that_cannot_be(host: ServerHost) -> None:
    anyio.run(host._load_operations)
    assert _asked(host) == list(TOOLS)
    assert host.last_error is not None
    assert host.last_error["message"] == "describe cannot be loaded."


def test_operations_are_imported_while_no_call_is_worked_on(host: ServerHost) -> None:
    async def load() -> list[str]:
        async with anyio.create_task_group() as tasks:
            with host.in_flight:
                tasks.start_soon(host._load_operations)
                await anyio.wait_all_tasks_blocked()
                during = list(_asked(host))
        return during

    assert anyio.run(load) == []
    assert _asked(host) == list(TOOLS)


# Apart, because pytest's own process has imported the SDK in the usual way.
_MODELS = """
import codeplane.surfaces.server.host
import mcp_types
from pydantic import BaseModel
from codeplane.operations.models import Request

class Ours(BaseModel):
    number: int

models = [one for one in vars(mcp_types).values() if isinstance(one, type) and issubclass(one, BaseModel)]
waiting = [one for one in models if not one.__pydantic_complete__]
assert BaseModel.model_config == {}, BaseModel.model_config
assert Ours.__pydantic_complete__ and Request.__pydantic_complete__
assert len(waiting) > 100, len(waiting)
for one in models:
    one.model_rebuild()
    assert one.__pydantic_complete__, one
assert mcp_types.CallToolRequestParams.model_validate({"name": "search"}).name == "search"
"""


def test_models_of_the_sdk_are_built_when_they_are_used_and_all_can_be() -> None:
    ended = run_process(ProcessRequest((sys.executable, "-c", _MODELS), Path.cwd(), 60.0))
    assert ended.returncode == 0, ended.stderr


@pytest.mark.slow
def test_http_comes_up_although_a_first_call_takes_long(sandbox: Sandbox, sample_repo: Path, tmp_path: Path) -> None:
    with stdio_peer(sandbox, sample_repo, command=(*TOY_CPL, "mcp")) as peer:
        peer.initialize()
        waiting = {"operation": "toy_wait", "arguments": {"directory": str(tmp_path)}}
        params = {"name": "call", "arguments": waiting}
        peer.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
        wait_until((tmp_path / "started").exists, "the call is worked on")
        wait_until((sample_repo / ".codeplane" / "server.json").exists, "the server tells its address")
        (tmp_path / "release").touch()
        assert "looked" in text_of(peer.receive_answer(1)["result"])
