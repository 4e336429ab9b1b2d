"""The wheel: pure Python, with its licence, and `cpl` works from it."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

pytestmark = pytest.mark.slow


def test_the_wheel_is_pure_and_carries_its_licence_and_runs(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True, timeout=120)
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name.endswith("-py3-none-any.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = archive.read(next(name for name in names if name.endswith("/METADATA"))).decode()
        archive.extractall(tmp_path / "installed")
    assert "License-Expression: Apache-2.0" in metadata
    assert any(name.endswith("/licenses/LICENSE") for name in names)
    assert {name.rsplit(".", 1)[-1] for name in names if name.startswith("codeplane/")} <= {
        "css",
        "html",
        "js",
        "json",
        "mjs",
        "py",
        "scm",
        "svg",
        "typed",
    }
    assert {"layout.html", "dashboard.css", "live.js"} <= {name.rpartition("/")[2] for name in names}
    command = [sys.executable, "-c", "from codeplane.surfaces.entry import main; raise SystemExit(main())", "version"]
    environment = {"PYTHONPATH": str(tmp_path / "installed"), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout.startswith("cpl ")) == (0, True), done.stderr
