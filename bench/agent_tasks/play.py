"""A play: one task, one arm, one directory. It holds the checkout, the prompt, the log and the result."""

import json
import os
import signal
import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .tasks import Task, load_tasks

ROOT = Path(__file__).resolve().parent.parent.parent
MAX_OUTPUT = 30_000
SHELL_SECONDS = 600
SHELL_SCHEMA = json.dumps(
    {
        "name": "shell",
        "description": "Run a shell script with bash in the checkout and return stdout and stderr. Each call starts"
        " a new shell. Output beyond 30,000 characters is cut.",
        "inputSchema": {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]},
    }
)


@dataclass(frozen=True, slots=True)
class Play:
    """Where a play is, and what it was prepared with."""

    directory: Path
    task_id: str
    arm: str
    repo: str
    venv: str = ""
    tasks_file: str = ""

    @property
    def checkout(self) -> Path:
        """Return the working tree of the player."""
        return self.directory / "checkout"

    @property
    def state(self) -> Path:
        """Return where the harness keeps what the player does not need."""
        return self.directory / ".play"

    @property
    def log(self) -> Path:
        """Return the log of all calls."""
        return self.directory / "log.jsonl"

    @property
    def task(self) -> Task:
        """Return the task that is played."""
        return load_tasks(Path(self.tasks_file))[self.task_id]

    def save(self) -> None:
        """Write down how the play was prepared."""
        self.state.mkdir(parents=True, exist_ok=True)
        record = {name: str(value) for name, value in asdict(self).items()}
        (self.state / "play.json").write_text(json.dumps(record, indent=1), encoding="utf-8")

    @classmethod
    def load(cls, directory: Path) -> "Play":
        """Read how a play was prepared."""
        record = json.loads((directory / ".play/play.json").read_text(encoding="utf-8"))
        return cls(**{**record, "directory": directory.resolve()})

    def calls(self) -> list[dict[str, Any]]:
        """Read the log."""
        if not self.log.exists():
            return []
        return [json.loads(line) for line in self.log.read_text(encoding="utf-8").splitlines()]

    def system_text(self) -> str:
        """Return what a model reads about its tools before anything else."""
        if self.arm == "shell":
            return SHELL_SCHEMA
        return (self.state / "tools.txt").read_text(encoding="utf-8") + "\n" + SHELL_SCHEMA


@dataclass(frozen=True, slots=True)
class Output:
    """What one call returned."""

    text: str
    is_error: bool


def player_environment(play: Play) -> dict[str, str]:
    """Return the environment of programs in the checkout: the venv of the play, nothing of the harness."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV", "GIT_"))}
    if play.venv:
        kept["PATH"] = f"{play.venv}/bin{os.pathsep}{kept['PATH']}"
    if play.task.source.pythonpath:
        kept["PYTHONPATH"] = str(play.checkout / play.task.source.pythonpath)
    return kept | {"PYTHONDONTWRITEBYTECODE": "1", "GIT_PAGER": "cat", "PAGER": "cat"}


def run_shell(play: Play, script: str, seconds: float = SHELL_SECONDS) -> Output:
    """Run a script in the checkout. The whole process group ends at the timeout."""
    process = subprocess.Popen(
        ["bash", "-c", script],
        cwd=play.checkout,
        env=player_environment(play),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        text = process.communicate(timeout=seconds)[0].decode(errors="replace")
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        text = process.communicate()[0].decode(errors="replace") + f"\nStopped after {seconds:.0f} seconds."
    if len(text) > MAX_OUTPUT:
        text = f"{text[:MAX_OUTPUT]}\n… {len(text) - MAX_OUTPUT} more characters were cut."
    return Output(text, process.returncode != 0)
