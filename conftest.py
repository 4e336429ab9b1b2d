"""Remove compiled modules that are not made of the sources as they are, before anything of ours is imported.

Python prefers them to the sources, so that tests would otherwise judge what is no longer written anywhere.
"""

import os
import subprocess
import sys
from pathlib import Path

if "PYTEST_XDIST_WORKER" not in os.environ:
    subprocess.run([sys.executable, str(Path(__file__).with_name("hatch_build.py")), "--forget-stale"], check=True)
