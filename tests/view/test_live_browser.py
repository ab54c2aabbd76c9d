"""A live page in a real browser: a run is seen to move, the button stops it, and the page says how it ended.

Needs Chromium, as test_browser.py does.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from explorer import chromium
from playwright.sync_api import Page, sync_playwright

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(chromium() is None, reason="Chromium is not installed: apt-get install chromium-headless-shell"),
]
WORDS = ("run", "setting-1", "-p", "tp-ucb-fr", "--horizon", "60000000", "--live", "--quiet")
"""A run that takes far longer than the test."""


@pytest.fixture
def command(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """The command, in a process of its own."""
    words = [sys.executable, "-c", "from tpstream.cli.app import main; main()", *WORDS]
    with subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        yield process
        process.kill()


@pytest.fixture
def page() -> Iterator[Page]:
    """A page of Chromium."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox", "--disable-gpu"])
        yield browser.new_page(viewport={"width": 390, "height": 900})
        browser.close()


def test_a_run_is_seen_to_move_and_can_be_stopped(command: subprocess.Popen[str], page: Page) -> None:
    """Figures appear and change, nothing is wider than a phone, the button stops the run, and its result is printed."""
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: message.type == "error" and errors.append(message.text))
    assert command.stderr is not None
    found = re.search(r"live page: (\S+)", command.stderr.readline())
    assert found is not None
    page.goto(found[1])
    page.wait_for_selector("html[data-ready]", timeout=60_000)
    before = page.locator("#progress").inner_text()
    picture = page.locator("#reward canvas").first.evaluate("canvas => canvas.toDataURL()")
    page.wait_for_function("text => document.getElementById('progress').innerText !== text", arg=before)
    page.wait_for_function("old => document.querySelector('#reward canvas').toDataURL() !== old", arg=picture)
    assert page.locator("#status").inner_text() == "Running"
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.click("#stop")
    page.wait_for_selector("html[data-status=stopped]", timeout=60_000)
    assert "it was stopped from this page" in page.locator("#status").inner_text()
    assert not page.locator("#stop").is_visible()
    out, err = command.communicate(timeout=60)
    assert (command.returncode, "stopped from the page" in err) == (0, True)
    assert "regret after" in out
    assert errors == []
