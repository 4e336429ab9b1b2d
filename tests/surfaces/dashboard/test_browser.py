"""The pages in a real browser: live, by keyboard, at every width, without JavaScript, and while the server is away."""

import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from support.toolchains import chromium
from surfaces.dashboard.support_visitors import agent, ask_to_delete, link_of, worker, write_file
from surfaces.support_processes import UpServer, make_repo, text_of, up

pytestmark = pytest.mark.slow
OPTIONS = (
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--no-first-run",
)  # fmt: skip
PATHS = ("", "/approvals", "/operations", "/ledger")
NAMELESS = """[...document.querySelectorAll("main a, main button")]
    .filter((one) => one.checkVisibility() && !one.textContent.trim() && !one.getAttribute("aria-label")).length"""
expect.set_options(timeout=15_000)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(OPTIONS))
        yield browser
        browser.close()


@pytest.fixture
def context(browser: Browser, server: UpServer) -> Iterator[BrowserContext]:
    """Return a browser that is logged in."""
    context = browser.new_context()
    _log_in(context, server)
    yield context
    context.close()


@pytest.fixture
def page(context: BrowserContext) -> Page:
    return context.pages[0]


def _log_in(context: BrowserContext, server: UpServer) -> Page:
    page = context.new_page()
    page.goto(f"{server.url}{link_of(server)}")
    return page


def _open(page: Page, server: UpServer, path: str) -> None:
    page.goto(f"{server.url}/dashboard{path}")
    expect(page.locator("#connection")).to_have_text("live")


def test_the_link_leads_to_the_page_without_its_code(page: Page, server: UpServer) -> None:
    assert page.url == f"{server.url}/dashboard"


def test_a_call_appears_while_it_is_looked_at(page: Page, server: UpServer) -> None:
    _open(page, server, "")

    call = write_file(worker(server, name="busy-bee"), "src/json/provider.py", "LIVE = 1\n")

    row = page.locator(".calls tbody tr").first
    expect(row).to_contain_text("write_source")
    expect(row.locator("a").first).to_have_attribute("href", f"/dashboard/operations/{call}")
    expect(page.locator("#activity")).to_contain_text("busy-bee")


def test_a_hostile_call_that_appears_is_text(page: Page, server: UpServer) -> None:
    _open(page, server, "")

    agent(server).call("read_source", {"targets": ["<img src=x onerror=document.title='owned'>\u202e\u00a0\u17b4"]})

    expect(page.locator(".calls tbody tr").first).to_contain_text("<img src=x")
    expect(page.locator(".calls tbody tr").first).to_contain_text("<U+202E><U+00A0><U+17B4>")
    assert (page.locator("main img").count(), "owned" in page.title()) == (0, False)


def test_a_held_call_is_answered_by_keyboard(page: Page, server: UpServer) -> None:
    peer = worker(server)
    _open(page, server, "/approvals")
    hold = ask_to_delete(peer)
    expect(page.locator(f"#hold-{hold}")).to_contain_text("-X = 1")

    page.locator(f"#comment-{hold}").focus()
    page.keyboard.type("Fine.")
    for _ in range(3):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")

    expect(page.locator(".notice")).to_contain_text(f"{hold}) is approved")
    assert "deleted" in text_of(peer.call("write_source", {"edits": [{"path": "src/json/old.py", "action": "delete"}]}))
    (server.root / "src/json/old.py").write_text("X = 1\n")


def test_what_is_being_typed_survives_a_call_that_arrives(page: Page, server: UpServer) -> None:
    hold = ask_to_delete(worker(server))
    _open(page, server, "/approvals")
    page.locator(f"#comment-{hold}").type("Half a sen")

    ask_to_delete(worker(server))

    waiting = page.locator("#waiting")
    before = int(waiting.inner_text())
    expect(waiting).not_to_have_text(str(before - 1))
    expect(page.locator(f"#comment-{hold}")).to_have_value("Half a sen")


def test_an_answer_in_one_tab_shows_in_the_other(page: Page, context: BrowserContext, server: UpServer) -> None:
    hold = ask_to_delete(worker(server))
    other = context.new_page()
    for tab in (page, other):
        _open(tab, server, "/approvals")
        expect(tab.locator(f"#hold-{hold}")).to_be_visible()

    page.locator(f"#hold-{hold} button[value=deny]").click()

    expect(other.locator(f"#hold-{hold}")).to_have_count(0)
    expect(other.locator("#answered")).to_contain_text("denied")


def test_an_operation_is_undone_after_a_look(page: Page, server: UpServer) -> None:
    peer = worker(server)
    write_file(peer, "src/json/provider.py", "KEPT = 1\n")
    call = write_file(peer, "src/json/provider.py", "UNWANTED = 1\n")
    _open(page, server, f"/operations/{call}")

    page.get_by_role("link", name="Undo…").click()
    page.get_by_role("button", name="Undo this operation").click()

    expect(page.locator(".notice")).to_contain_text("1 operation undone")
    assert (server.root / "src/json/provider.py").read_text() == "KEPT = 1\n"


def test_the_timeline_leads_closer(page: Page, server: UpServer) -> None:
    write_file(worker(server), "src/json/provider.py", "ZOOM = 1\n")
    _open(page, server, "/ledger")

    page.locator(".span svg").first.locator("a").last.press("Enter")

    expect(page).to_have_url(re.compile(r"since=.*until="))
    expect(page.locator(".span svg").first.locator("a")).not_to_have_count(0)


@pytest.mark.parametrize("width", [390, 1600])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_fit_and_ask_nobody_else(browser: Browser, server: UpServer, width: int, scheme: str) -> None:
    call = write_file(worker(server), "src/json/provider.py", f"WIDE = '{'x' * 900}'\n")
    ask_to_delete(worker(server))
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme="dark" if scheme == "dark" else "light"
    )
    asked: list[str] = []
    problems: list[str] = []
    context.on("request", lambda request: asked.append(request.url))
    page = _log_in(context, server)
    page.on("console", lambda message: problems.append(message.text) if message.type != "log" else None)
    page.on("pageerror", lambda error: problems.append(str(error)))
    for path in (*PATHS, f"/operations/{call}", f"/operations/{call}/undo"):
        _open(page, server, path)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
        assert page.evaluate(NAMELESS) == 0
    context.close()

    assert (problems, [url for url in asked if not url.startswith(f"{server.url}/dashboard")]) == ([], [])


def test_everything_in_the_menu_is_reached_by_keyboard(page: Page, server: UpServer) -> None:
    _open(page, server, "")
    reached = []
    for _ in range(16):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.getAttribute('href')"))

    assert {"#main", *(f"/dashboard{path}" for path in PATHS)} <= set(reached)


def test_pages_and_forms_work_without_javascript(browser: Browser, server: UpServer) -> None:
    hold = ask_to_delete(worker(server))
    context = browser.new_context(java_script_enabled=False)
    page = _log_in(context, server)

    for path in PATHS:
        page.goto(f"{server.url}/dashboard{path}")
        expect(page.locator("h1")).to_be_visible()
    page.goto(f"{server.url}/dashboard/approvals")
    page.locator(f"#hold-{hold} button[value=deny]").click()

    expect(page.locator(".notice")).to_contain_text(f"{hold}) is denied")
    context.close()


def test_a_page_goes_on_when_the_server_is_back(
    browser: Browser, server: UpServer, tmp_path: Path, unused_port: Callable[[], int]
) -> None:
    root, port = make_repo(server.sandbox, tmp_path / "again"), unused_port()
    context = browser.new_context()
    with up(server.sandbox, root, "--port", str(port)) as first:
        page = _log_in(context, first)
        expect(page.locator("#connection")).to_have_text("live")
        first.operate("describe", {})
        expect(page.locator(".calls tbody tr")).to_have_count(1)
        first.stop(signal.SIGTERM)
        expect(page.locator("#connection")).to_have_text("server is away")
    with up(server.sandbox, root, "--port", str(port)) as second:
        second.operate("list_files", {})
        expect(page.locator("#connection")).to_have_text("live")
        expect(page.locator(".calls tbody tr")).to_have_count(2)
        expect(page.locator(".calls tbody tr").first).to_contain_text("list_files")
    context.close()
