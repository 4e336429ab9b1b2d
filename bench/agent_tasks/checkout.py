"""Prepare a play: the start commit as a repository without history, the prompt, and for CodePlane its session."""

import os
import subprocess
import sys
from pathlib import Path

from .play import ROOT, Play
from .session import cpl_command, cpl_environment, start_session
from .tasks import Task

TOOL_TEXT = {
    "shell": """Your only tool is a shell. One turn runs one bash script in the checkout:

    {turn} <<'END'
    git status
    END
""",
    "codeplane": """Your tools are those of an MCP server, listed below. One turn is one JSON object, or a list of them
for calls side by side:

    {turn} <<'END'
    {{"tool": "NAME", "arguments": {{}}}}
    END

The extra tool `shell` runs tests and programs only. Do not look at files, search or edit with it.
""",
}


def prepare(play: Play) -> None:
    """Make everything that a player needs."""
    check_out(play.task, Path(play.repo), play.checkout)
    play.save()
    if play.task.source.setup:
        subprocess.run(["bash", "-ec", play.task.source.setup], cwd=play.checkout, check=True)
    if play.arm == "codeplane":
        subprocess.run(
            [cpl_command(), "init"], cwd=play.checkout, env=cpl_environment(play), check=True, stdout=subprocess.DEVNULL
        )
        start_session(play)
    for action in ("turn", "finish"):
        script = play.directory / action
        script.write_text(command_line(play, action), encoding="utf-8")
        script.chmod(0o755)
    (play.directory / "PROMPT.md").write_text(player_text(play), encoding="utf-8")


def check_out(task: Task, repo: Path, tree: Path) -> None:
    """Write the start commit into a new repository with one commit, so that nothing tells what came later."""
    tree.mkdir(parents=True)
    index = tree.parent / "start.index"
    from_repo = {"GIT_DIR": git_directory(repo), "GIT_WORK_TREE": str(tree), "GIT_INDEX_FILE": str(index)}
    git(tree, "read-tree", task.start, **from_repo)
    git(tree, "checkout-index", "--all", "--force", **from_repo)
    index.unlink()
    git(tree, "init", "-q", "-b", "main")
    settings = {"user.name": "player", "user.email": "player@example.org", "gc.auto": "0", "maintenance.auto": "false"}
    for name, value in settings.items():
        git(tree, "config", name, value)
    git(tree, "add", "--all", "--force")
    git(tree, "commit", "-q", "--no-verify", "-m", "Start")


def git_directory(repo: Path) -> str:
    """Return the git directory of a clone, bare or not."""
    return git(repo, "rev-parse", "--absolute-git-dir").strip()


def git(directory: Path, *arguments: str, **environment: str) -> str:
    """Run git and return what it printed."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    command = ["git", *arguments]
    done = subprocess.run(command, cwd=directory, env=kept | environment, check=True, stdout=subprocess.PIPE)
    return done.stdout.decode()


def player_text(play: Play) -> str:
    """Return the whole prompt file: how to play, the task and the tools."""
    turn, finish = (play.directory / action for action in ("turn", "finish"))
    return f"""# How to play

Do the task below in `{play.checkout}`. Do it with the tools named here and nothing else: no other way to read, search
or change files, no network, nothing outside the checkout. Every turn costs you all that you read before, so use few
turns and read little. {TOOL_TEXT[play.arm].format(turn=turn)}
`python` runs with everything that the tests need. When you are done, give your final answer:

    {finish} <<'END'
    …
    END

# Task

{play.task.full_prompt()}
# Tools

{play.system_text()}
"""


def command_line(play: Play, action: str) -> str:
    """Return a script that runs an action of this harness on a play, from any directory."""
    python = f'PYTHONPATH="{ROOT}" PYTHONSAFEPATH=1 exec "{sys.executable}" -m bench.agent_tasks'
    return f'#!/bin/sh\n{python} {action} --in "{play.directory}"\n'
