"""What the README's first screen shows is what the commands print."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from codeplane.surfaces.cli.demo_command import make_sample

README = Path(__file__).resolve().parent.parent / "README.md"


@pytest.mark.slow
def test_the_first_screen_shows_real_output(tmp_path: Path) -> None:
    root = tmp_path / "orders"
    make_sample(root)
    subprocess.run([sys.executable, "-m", "codeplane", "init"], cwd=root, check=True, capture_output=True)
    block = README.read_text(encoding="utf-8").split("```console\n")[1].split("```")[0]
    for command, expected in re.findall(r"\$ cpl (.*)\n((?:[^$].*\n)*)", block):
        arguments = [sys.executable, "-m", "codeplane", *shlex.split(command)]
        output = subprocess.run(arguments, cwd=root, capture_output=True, text=True, check=False).stdout
        assert output == expected
