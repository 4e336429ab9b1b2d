"""Browser automation: its contracts exist, and it says that it is switched off."""

from codeplane.controller.browser_automation import BrowserStep, DisabledBrowser


def test_a_step_is_answered_with_disabled() -> None:
    assert DisabledBrowser().perform(BrowserStep("open", "http://127.0.0.1/")).status == "disabled"
