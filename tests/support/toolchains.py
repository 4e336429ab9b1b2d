"""Packages of other languages that tests of runners and linters use, installed into `.tools` by `make tools`.

Each toolchain is installed once; what cannot be installed is named, and its tests are left out by name. With
`--required` that is a failure.
"""

import hashlib
import json
import os
import platform
import pwd
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

TOOLS = Path(__file__).parents[2] / ".tools"
NODE_PACKAGES = {
    "vitest": "3.2.4",
    "@vitest/coverage-v8": "3.2.4",
    "jest": "29.7.0",
    "eslint": "9.39.1",
    "typescript": "5.9.3",
}
# Coding agents, each the package that carries its program for this platform, without the launcher that installs it.
_PLATFORM = f"{sys.platform}-{'arm64' if platform.machine() in {'aarch64', 'arm64'} else 'x64'}"
AGENT_PACKAGES = {
    "claude": f"@anthropic-ai/claude-code-{_PLATFORM}@2.1.327",
    "codex": f"@openai/codex@0.169.0-{_PLATFORM}",
    "gemini": "@google/gemini-cli@0.61.0",
    "opencode": f"opencode-{_PLATFORM}@1.18.33",
    "copilot": f"@github/copilot-{_PLATFORM}@1.0.102",
    "cline": f"@cline/cli-{_PLATFORM}@3.0.65",
}
# Injected into pages by tests alone.
AXE_PACKAGE = "axe-core@4.11.0"
POM = """\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>example</groupId><artifactId>shop</artifactId><version>1</version>
  <properties>
    <maven.compiler.source>11</maven.compiler.source>
    <maven.compiler.target>11</maven.compiler.target>
    <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>
  </properties>
  <dependencies>
    <dependency>
      <groupId>org.junit.jupiter</groupId><artifactId>junit-jupiter</artifactId><version>5.11.4</version>
      <scope>test</scope>
    </dependency>
  </dependencies>
  <build><plugins>
    <plugin><artifactId>maven-surefire-plugin</artifactId><version>3.5.2</version></plugin>
  </plugins></build>
</project>
"""
JAVA_TEST = """\
package shop;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class PriceTest {
    @Test
    void a() {}

    @Test
    void b() {
        assertEquals(2, %s);
    }
}
"""
NEO4J_POM = """\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>example</groupId><artifactId>bolt</artifactId><version>1</version>
  <dependencies>
    <dependency>
      <groupId>org.neo4j.test</groupId><artifactId>neo4j-harness</artifactId><version>5.26.12</version>
    </dependency>
  </dependencies>
</project>
"""
# Unlike the harness itself it keeps its files, so that a server that was killed can be started again.
NEO4J_MAIN = """\
import java.nio.file.Path;
import org.neo4j.configuration.GraphDatabaseSettings;
import org.neo4j.configuration.connectors.BoltConnector;
import org.neo4j.configuration.helpers.SocketAddress;
import org.neo4j.dbms.api.DatabaseManagementServiceBuilder;

public class Bolt {
    public static void main(String[] arguments) throws Exception {
        var address = new SocketAddress("127.0.0.1", Integer.parseInt(arguments[1]));
        var service = new DatabaseManagementServiceBuilder(Path.of(arguments[0]))
            .setConfig(GraphDatabaseSettings.preallocate_logical_logs, false)
            .setConfig(GraphDatabaseSettings.pagecache_memory, 33554432L)
            .setConfig(BoltConnector.enabled, true)
            .setConfig(BoltConnector.listen_address, address)
            .build();
        System.out.println("bolt://" + address);
        System.in.read();
        service.shutdown();
    }
}
"""
_SECONDS = 600


def _install_node(directory: Path) -> None:
    text = json.dumps({"private": True, "devDependencies": NODE_PACKAGES})
    (directory / "package.json").write_text(text, encoding="utf-8")
    _run(["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"], directory)


def _install_agent(package: str, directory: Path) -> None:
    """Unpack one package; its scripts, and the optional native modules of its interface, are not needed."""
    (directory / "package.json").write_text('{"private": true}', encoding="utf-8")
    options = ["--no-audit", "--no-fund", "--ignore-scripts", "--omit=optional", "--loglevel=error"]
    _run(["npm", "install", *options, package], directory)


def axe() -> Path:
    """Return the script that finds faults of accessibility in a page."""
    return AXE.directory / "node_modules/axe-core/axe.min.js"


def _install_maven(directory: Path) -> None:
    """Fetch what a test run needs, by a test run."""
    test = directory / "sample/src/test/java/shop/PriceTest.java"
    test.parent.mkdir(parents=True, exist_ok=True)
    test.write_text(JAVA_TEST % 2, encoding="utf-8")
    (directory / "sample/pom.xml").write_text(POM, encoding="utf-8")
    _run(["mvn", "-B", "-q", f"-Dmaven.repo.local={directory / 'repository'}", "test"], directory / "sample")


def _install_neo4j(directory: Path) -> None:
    (directory / "pom.xml").write_text(NEO4J_POM, encoding="utf-8")
    (directory / "Bolt.java").write_text(NEO4J_MAIN, encoding="utf-8")
    fetch = ["dependency:copy-dependencies", f"-DoutputDirectory={directory / 'lib'}"]
    _run(["mvn", "-B", "-q", f"-Dmaven.repo.local={directory / 'repository'}", *fetch], directory)
    shutil.rmtree(directory / "repository")
    _run(["javac", "-cp", "lib/*", "Bolt.java"], directory)


def chromium() -> str | None:
    """Return where Debian's browser is, None where it is not installed."""
    return shutil.which("chromium")


def _install_chromium(directory: Path) -> None:
    if chromium() is None and os.geteuid() != 0:
        raise OSError("chromium is not on PATH, and only root can install it")
    if chromium() is None:
        _run(["apt-get", "install", "--yes", "--quiet", "--no-install-recommends", "chromium"], directory)


@dataclass(frozen=True)
class Toolchain:
    """What is installed, by which program; `version` changes when it has to be installed again."""

    name: str
    program: str
    install: Callable[[Path], None]
    version: str

    @property
    def directory(self) -> Path:
        """Return where it is."""
        return TOOLS / self.name

    @property
    def is_there(self) -> bool:
        """Tell whether it is installed in this version."""
        stamp = self.directory / ".installed"
        return stamp.exists() and stamp.read_text("utf-8") == self.version


def keep_compiled_libraries(monkeypatch: "pytest.MonkeyPatch") -> None:
    """Let toolchains find themselves, and what they have compiled of their own libraries, in the user's directory."""
    home = Path(pwd.getpwuid(os.getuid()).pw_dir)
    kept = {"CARGO_HOME": ".cargo", "RUSTUP_HOME": ".rustup", "GOCACHE": ".cache/go-build"}
    for variable, directory in kept.items():
        monkeypatch.setenv(variable, os.environ.get(variable, str(home / directory)))


def _digest(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


NODE = Toolchain("node", "npm", _install_node, _digest(sorted(NODE_PACKAGES.items())))
AXE = Toolchain("axe", "npm", partial(_install_agent, AXE_PACKAGE), _digest(AXE_PACKAGE))
MAVEN = Toolchain("maven", "mvn", _install_maven, _digest(POM))
CHROMIUM = Toolchain("chromium", "apt-get", _install_chromium, "1")
NEO4J = Toolchain("neo4j", "mvn", _install_neo4j, _digest(NEO4J_POM, NEO4J_MAIN))
# One toolchain per agent, so that one that cannot be installed is left out alone. Together about 50 s and 1.4 GB.
AGENTS = tuple(
    Toolchain(f"agents/{name}", "npm", partial(_install_agent, package), _digest(package))
    for name, package in AGENT_PACKAGES.items()
)
TOOLCHAINS = (NODE, MAVEN, NEO4J, CHROMIUM, AXE, *AGENTS)


def _run(command: list[str], directory: Path) -> None:
    subprocess.run(command, cwd=directory, check=True, timeout=_SECONDS, stdin=subprocess.DEVNULL, capture_output=True)


def _ensure(toolchain: Toolchain) -> str:
    """Install a toolchain unless it is there; return why it is left out, empty when it is not."""
    if toolchain.is_there:
        return ""
    if shutil.which(toolchain.program) is None:
        return f"{toolchain.program} is not on PATH"
    try:
        toolchain.directory.mkdir(parents=True, exist_ok=True)
        toolchain.install(toolchain.directory)
        (toolchain.directory / ".installed").write_text(toolchain.version, encoding="utf-8")
    except subprocess.CalledProcessError as error:
        said = (error.stderr + error.stdout).decode("utf-8", "replace").strip().splitlines()
        told = next((line for line in said if "ERR" in line.upper()), f"exit code {error.returncode}")
        return f"{toolchain.program} failed: {told}"
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return ""


def main(arguments: list[str]) -> int:
    """Install everything; return 1 when something is left out and `--required` was given."""
    left_out = {one.name: problem for one in TOOLCHAINS if (problem := _ensure(one))}
    for name, problem in left_out.items():
        sys.stdout.write(f"left out: {name}: {problem}\n")
    return 1 if left_out and "--required" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
