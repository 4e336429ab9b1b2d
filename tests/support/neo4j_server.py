"""A real Neo4j server for tests, from the files that `make tools` installs."""

import socket
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from support.toolchains import NEO4J

_OPTIONS = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        port: int = found.getsockname()[1]
        return port


@dataclass
class Neo4jServer:
    """A server on a port of its own; it can be killed and started again with the same data."""

    home: Path
    port: int = field(default_factory=_free_port)
    _process: subprocess.Popen[str] | None = None

    @property
    def url(self) -> str:
        return f"bolt://127.0.0.1:{self.port}"

    def start(self) -> None:
        classes = f"{NEO4J.directory}:{NEO4J.directory / 'lib'}/*"
        command = ["java", *_OPTIONS, "-cp", classes, "Bolt", str(self.home), str(self.port)]
        log = (self.home.parent / "neo4j.log").open("a")
        with log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
            )
        assert self._process.stdout is not None
        told = self._process.stdout.readline()
        assert told.startswith("bolt://"), (self.home.parent / "neo4j.log").read_text("utf-8")

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.communicate(timeout=60)
