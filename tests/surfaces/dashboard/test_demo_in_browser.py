"""Every page of the demo in a real browser: it fits, it is accessible, and it can be read without JavaScript."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, sync_playwright

from support.effort import spread
from support.toolchains import AXE, axe, chromium
from surfaces.dashboard.support_demo import Demo, running_demo
from surfaces.dashboard.test_browser import OPTIONS

pytestmark = pytest.mark.slow
PATHS = (
    "", "/approvals", "/operations", "/intents", "/intents/INT-001", "/blame", "/blame?path=src/orders/totals.py",
    "/tests", "/memory?q=total", "/controller", "/controller/golden", "/controller/plan-2", "/ledger", "/health",
)  # fmt: skip
FORMS = [(390, "dark"), (1600, "light")]
SHAPES = "all => all.map((one) => [one.innerText, one.innerText !== '' && one.offsetHeight > 2 * one.offsetWidth])"
FAULTS = """async () => (await axe.run()).violations
    .filter((one) => ["serious", "critical"].includes(one.impact))
    .map((one) => `${one.id}: ${one.nodes.map((node) => node.target.join(" ")).slice(0, 3).join(", ")}`)"""


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    with running_demo(tmp_path_factory.mktemp("demo")) as running:
        yield running


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(OPTIONS))
        yield browser
        browser.close()


def _logged_in(context: BrowserContext, demo: Demo) -> BrowserContext:
    name, _, value = demo.visitor.cookie.partition("=")
    context.add_cookies([{"name": name, "value": value, "url": f"{demo.server.url}/dashboard"}])
    return context


def _context(browser: Browser, demo: Demo, width: int, scheme: str, *, bypass_csp: bool) -> BrowserContext:
    context = browser.new_context(
        viewport={"width": width, "height": 900},
        color_scheme="dark" if scheme == "dark" else "light",
        bypass_csp=bypass_csp,
    )
    return _logged_in(context, demo)


@pytest.mark.parametrize(("width", "scheme"), FORMS)
def test_every_page_fits_without_a_complaint_of_the_browser(
    browser: Browser, demo: Demo, width: int, scheme: str
) -> None:
    context = _context(browser, demo, width, scheme, bypass_csp=False)
    page, problems = context.new_page(), []
    page.on("console", lambda message: problems.append(message.text) if message.type != "log" else None)
    page.on("pageerror", lambda error: problems.append(str(error)))
    for path in PATHS:
        page.goto(f"{demo.server.url}/dashboard{path}")
        if not page.evaluate("document.documentElement.scrollWidth <= innerWidth"):
            problems.append(f"{path} is too wide")
    context.close()
    assert problems == []


def test_no_cell_is_a_column_of_letters(browser: Browser, demo: Demo) -> None:
    context = _context(browser, demo, 390, "light", bypass_csp=False)
    page = context.new_page()
    page.goto(f"{demo.server.url}/dashboard/operations?type=git_reset&outcome=denied")
    page.locator("table.calls tbody a").first.click()
    page.wait_for_url("**/operations/req_*")

    cells = []
    for path in (page.url, f"{demo.server.url}/dashboard/ledger", f"{demo.server.url}/dashboard/approvals"):
        page.goto(path)
        cells += page.eval_on_selector_all("main td", SHAPES)

    context.close()
    assert [text for text, is_tall in cells if is_tall] == []
    assert any("git_reset on" in text for text, _is_tall in cells)


def test_every_page_can_be_read_without_javascript(browser: Browser, demo: Demo) -> None:
    context = _logged_in(browser.new_context(java_script_enabled=False), demo)
    page = context.new_page()
    for path in PATHS:
        page.goto(f"{demo.server.url}/dashboard{path}")
        assert page.locator("h1").inner_text(), path
        assert page.locator("main .card").count() >= 1, path
    context.close()


if AXE.is_there:

    @pytest.mark.parametrize(("width", "scheme"), spread(FORMS, 1))
    def test_no_page_has_a_serious_fault_of_accessibility(
        browser: Browser, demo: Demo, width: int, scheme: str
    ) -> None:
        context = _context(browser, demo, width, scheme, bypass_csp=True)
        page, faults = context.new_page(), []
        for path in PATHS:
            page.goto(f"{demo.server.url}/dashboard{path}")
            page.add_script_tag(path=str(axe()))
            faults += [f"{path} {fault}" for fault in page.evaluate(FAULTS)]
        context.close()
        assert faults == []
