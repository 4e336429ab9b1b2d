"""Whether our MCP server runs below a process."""

import os
import subprocess
import sys

import pytest

from codeplane.surfaces.agent_hooks.processes import ancestors, has_our_server

pytestmark = pytest.mark.skipif(not ancestors(os.getpid()), reason="the system does not tell of processes in files")
WAITS = "print(flush=True); input()"


@pytest.mark.parametrize(
    ("words", "is_ours"),
    [
        (("/x/codeplane/surfaces/bridge.py", "--repo", "/x"), True),
        (("/x/bin/cpl", "mcp"), True),
        (("/x/other.py", "mcp"), False),
        (("/x/cpl", "serve", "mcp"), False),
    ],
)
def test_our_server_is_known_by_how_it_was_started(words: tuple[str, ...], is_ours: bool) -> None:
    with subprocess.Popen(
        (sys.executable, "-c", WAITS, *words), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        mark = ancestors(process.pid)[0].mark
        assert has_our_server(mark) is is_ours
        process.communicate(b"\n")
    assert has_our_server(mark) is True
