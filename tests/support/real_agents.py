"""Real coding agents, run without a person and without a model: a scripted model on loopback answers them.

Each agent gets the least configuration that points it at the endpoint, written into a scratch home, with telemetry and
updates off. Hooks and MCP servers are what the test writes into the repository or the home before `run`.
"""

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from support.scripted_models import Kind, Request, Script, ScriptedModel
from support.toolchains import AGENT_PACKAGES, AGENTS

_SECONDS = 90.0


@dataclass(frozen=True, slots=True)
class Launch:
    """What an agent is started with: arguments after its program, and variables beside PATH and HOME."""

    arguments: Sequence[str]
    environment: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Finished:
    """What an agent left behind; `model` holds the requests that its scripted model has seen."""

    returncode: int
    stdout: str
    stderr: str
    model: ScriptedModel

    @property
    def requests(self) -> list[Request]:
        """Return every request to the model."""
        return self.model.requests


@dataclass(frozen=True, slots=True)
class Agent:
    """One agent: which program `make tools` installs, which wire form it speaks, how it is started in a home."""

    name: str
    kind: Kind
    pattern: str
    launch: Callable[[Path, str, str], Launch]

    @property
    def package(self) -> str:
        """Return the npm package."""
        return AGENT_PACKAGES[self.name].rpartition("@")[0]

    @property
    def version(self) -> str:
        """Return the pinned version, without the platform."""
        return AGENT_PACKAGES[self.name].rpartition("@")[2].partition("-")[0]

    @property
    def program(self) -> Path:
        """Return where the program is, or would be."""
        directory = next(one.directory for one in AGENTS if one.name == f"agents/{self.name}")
        return next(directory.glob(f"node_modules/{self.pattern}"), directory / "missing")

    @property
    def is_installed(self) -> bool:
        """Tell whether the program can be started."""
        return self.program.exists()


def run(
    agent: Agent,
    repository: Path,
    script: Script,
    home: Path,
    extra_env: Mapping[str, str] | None = None,
    prompt: str = "go",
    *,
    timeout: float = _SECONDS,
    others: Mapping[str, Script] | None = None,
    arguments: Sequence[str] = (),
) -> Finished:
    """Run an agent in `repository` until it has nothing more to do; `arguments` follow the agent's own.

    An agent that takes longer is killed; its return code is then negative.
    """
    home.mkdir(parents=True, exist_ok=True)
    with ScriptedModel(agent.kind, script, others) as model:
        launch = agent.launch(home, model.url, prompt)
        environment = {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", "TERM": "dumb"}
        process = subprocess.Popen(
            [str(agent.program), *launch.arguments, *arguments],
            cwd=repository,
            env={**environment, **launch.environment, **(extra_env or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            start_new_session=True,
        )
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            _kill_group(process.pid)
            out, err = process.communicate()
        # The agent may leave its MCP servers and background shells behind.
        _kill_group(process.pid)
        return Finished(process.returncode, out, err, model)


def _kill_group(leader: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL)


def _launch_claude(home: Path, url: str, prompt: str) -> Launch:
    """Allow tools by name: in this mode hooks run as usual, and what is not listed still asks and is refused."""
    del home
    tools = "Agent,Bash,Edit,EnterWorktree,Glob,Grep,NotebookEdit,Read,Skill,ToolSearch,Write,mcp__codeplane"
    return Launch(
        ["-p", prompt, "--allowedTools", tools, "--output-format", "json"],
        {
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_API_KEY": "none",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
        },
    )


def _launch_codex(home: Path, url: str, prompt: str) -> Launch:
    """Use flags only, because hooks and their trust belong to the test's own `config.toml`.

    The model takes tool calls directly. With `-m gpt-6.1-sol` they are JavaScript for `functions.exec`. Hooks run when
    the test stores their trust, or gives `--dangerously-bypass-hook-trust`; those of the project also need `--trust`.
    """
    del home
    provider = f'{{name="scripted", base_url="{url}/v1", wire_api="responses", env_key="SCRIPTED_KEY"}}'
    settings = {
        "model": "gpt-5.5",
        "model_provider": "scripted",
        "model_providers.scripted": provider,
        "check_for_update_on_startup": "false",
        "analytics.enabled": "false",
        "feedback.enabled": "false",
    }
    flags = [part for key, value in settings.items() for part in ("-c", f"{key}={value}")]
    unattended = ["--dangerously-bypass-approvals-and-sandbox", "--json"]
    return Launch(["exec", *flags, *unattended, prompt], {"SCRIPTED_KEY": "none"})


def _launch_gemini(home: Path, url: str, prompt: str) -> Launch:
    """Trust the directory by a variable: with `--skip-trust` the project's settings are not read.

    A model given by name keeps the agent from asking another model which one to take.
    """
    settings = home / ".gemini/settings.json"
    known = json.loads(settings.read_text("utf-8")) if settings.exists() else {}
    quiet = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
    }
    settings.parent.mkdir(exist_ok=True)
    settings.write_text(json.dumps({**quiet, **known}), encoding="utf-8")
    environment = {"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": url, "GEMINI_CLI_TRUST_WORKSPACE": "true"}
    return Launch(["-m", "gemini-2.5-flash", "-p", prompt, "--yolo"], environment)


def _launch_opencode(home: Path, url: str, prompt: str) -> Launch:
    """Give the endpoint by a variable; the agent merges it with its files.

    It would install a package beside every directory of plugins, and cannot, because the registry is a closed port.
    """
    del home
    model = {"name": "scripted", "tool_call": True, "limit": {"context": 200000, "output": 8000}}
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "scripted",
        "options": {"baseURL": f"{url}/v1", "apiKey": "none"},
        "models": {"scripted": model},
    }
    settings = {
        "model": "scripted/scripted",
        "small_model": "scripted/scripted",
        "autoupdate": False,
        "share": "disabled",
        "provider": {"scripted": provider},
    }
    environment = {
        "OPENCODE_CONFIG_CONTENT": json.dumps(settings),
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        "npm_config_registry": "http://127.0.0.1:9",
        "npm_config_fetch_retries": "0",
    }
    return Launch(["run", prompt], environment)


def _launch_copilot(home: Path, url: str, prompt: str) -> Launch:
    """Stay offline with an endpoint of our own; the model's name decides which tools are offered.

    `--allow-all-tools` answers what would be asked; hooks run as without it. `--trust-folder` loads the project's hooks
    and MCP servers for this run.
    """
    del home
    environment = {
        "COPILOT_OFFLINE": "true",
        "COPILOT_AUTO_UPDATE": "false",
        "COPILOT_PROVIDER_BASE_URL": f"{url}/v1",
        "COPILOT_PROVIDER_API_KEY": "none",
        "COPILOT_MODEL": "claude-sonnet-4.5",
    }
    return Launch(["-p", prompt, "--allow-all-tools", "--trust-folder"], environment)


def _launch_cline(home: Path, url: str, prompt: str) -> Launch:
    """Write the provider, which has no variable; without a local session a daemon would stay behind.

    A prompt of one word is taken for a command, so it gets a second one.
    """
    name = "openai-compatible"
    settings = {"provider": name, "apiKey": "none", "model": "scripted", "baseUrl": f"{url}/v1"}
    provider = {"settings": settings, "updatedAt": "2026-01-01T00:00:00.000Z", "tokenSource": "manual"}
    known = {"version": 1, "lastUsedProvider": name, "modes": {}, "providers": {name: provider}}
    path = home / ".cline/data/settings/providers.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(known), encoding="utf-8")
    environment = {"CLINE_SESSION_BACKEND_MODE": "local", "CLINE_NO_AUTO_UPDATE": "1", "CLINE_TELEMETRY_DISABLED": "1"}
    spoken = prompt if " " in prompt else f"{prompt} now"
    return Launch(["--json", "-P", name, "-m", "scripted", spoken], environment)


CLAUDE = Agent("claude", "anthropic", "@anthropic-ai/claude-code-*/claude", _launch_claude)
CODEX = Agent("codex", "responses", "@openai/codex*/vendor/*/bin/codex", _launch_codex)
GEMINI = Agent("gemini", "gemini", "@google/gemini-cli/bundle/gemini.js", _launch_gemini)
OPENCODE = Agent("opencode", "chat", "opencode-*/bin/opencode", _launch_opencode)
COPILOT = Agent("copilot", "chat", "@github/copilot-*/copilot", _launch_copilot)
CLINE = Agent("cline", "chat", "@cline/cli-*/bin/cline", _launch_cline)
REAL_AGENTS = (CLAUDE, CODEX, GEMINI, OPENCODE, COPILOT, CLINE)
