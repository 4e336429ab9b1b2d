"""Make the pictures of the documentation from `cpl demo dashboard`, with Playwright and Chromium.

`python bench/pictures.py` writes `docs/pictures`; `python bench/pictures.py DIRECTORY` writes every page there, at 390
and 1600 pixels, light and dark, to look at.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

CHROMIUM = shutil.which("chromium")
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
PAGES = {
    "now": "",
    "approvals": "/approvals",
    "operations": "/operations",
    "intents": "/intents",
    "intent": "/intents/INT-001",
    "blame": "/blame?path=src/orders/totals.py",
    "tests": "/tests",
    "memory": "/memory",
    "lessons": "/memory?q=total",
    "controller": "/controller",
    "run": "/controller/golden",
    "refused": "/controller/plan-2",
    "ledger": "/ledger",
    "health": "/health",
}
# Page, color scheme, height.
DOCUMENTED = (
    ("now", "light", 900),
    ("approvals", "dark", 760),
    ("blame", "light", 520),
    ("memory", "light", 900),
    ("run", "dark", 760),
    ("health", "light", 760),
)


@contextmanager
def demo() -> Iterator[str]:
    """Run the demo with a home directory of its own, and give the address that logs in."""
    with tempfile.TemporaryDirectory(prefix="cpl-pictures-") as home:
        places = {f"XDG_{name}_HOME": f"{home}/{name.lower()}" for name in ("CONFIG", "STATE", "DATA", "CACHE")}
        environment = {**os.environ, "HOME": home, "XDG_RUNTIME_DIR": home, **places}
        command = [sys.executable, "-m", "codeplane", "demo", "dashboard", "--print"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        try:
            assert process.stdout is not None
            found = next(line for line in process.stdout if "http://" in line and "code=" in line)
            yield found[found.index("http://") :].strip()
        finally:
            process.terminate()
            process.wait(20)


def take(browser: Browser, address: str, wanted: list[tuple[str, str, int, int, bool]], directory: Path) -> None:
    """Take pictures: page, color scheme, width, height, whole page."""
    directory.mkdir(parents=True, exist_ok=True)
    start = browser.new_context()
    start.new_page().goto(address)
    state = start.storage_state()
    base = address.partition("/login")[0]
    for name, scheme, width, height, is_whole in wanted:
        context = browser.new_context(
            storage_state=state,
            viewport={"width": width, "height": height},
            color_scheme="dark" if scheme == "dark" else "light",
        )
        page = context.new_page()
        page.goto(base + PAGES[name])
        page.wait_for_timeout(150)
        file = directory / (f"{name}.png" if not is_whole else f"{name}-{width}-{scheme}.png")
        page.screenshot(path=str(file), full_page=is_whole)
        overflow = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        print(f"{file} {file.stat().st_size // 1000} kB{f', {overflow} px too wide' if overflow > 0 else ''}")
        context.close()


def main() -> None:
    """Take the pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", nargs="?", help="Write every page here, in all forms.")
    parser.add_argument("--only", default="", help="Only these pages, separated by commas.")
    given = parser.parse_args()
    names = given.only.split(",") if given.only else list(PAGES)
    wanted = [(name, scheme, 1280, height, False) for name, scheme, height in DOCUMENTED]
    if given.directory:
        forms = [(scheme, width) for scheme in ("light", "dark") for width in (1600, 390)]
        wanted = [(name, scheme, width, 900, True) for name in names for scheme, width in forms]
    target = Path(given.directory) if given.directory else Path(__file__).parents[1] / "docs/pictures"
    with demo() as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        take(browser, address, wanted, target)
        browser.close()


if __name__ == "__main__":
    main()
