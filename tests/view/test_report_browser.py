"""Reports in a real browser: they draw, nothing leaves them, they fit a phone, a dark room and paper.

Needs Chromium (`chromium-headless-shell` or `chromium`); without it these tests are skipped.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from explorer import FLAGS, HOSTILE, chromium, hostile_keys
from playwright.sync_api import Page, sync_playwright

from tpstream import Scenario, Study, compare, trial
from tpstream.view.pages import Page as Report

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(chromium() is None, reason="Chromium is not installed: apt-get install chromium-headless-shell"),
]
Show = Callable[..., Page]
BRIGHTNESS = """path => {
    const [red, green, blue] = getComputedStyle(path).color.match(/\\d+/g).map(Number);
    return (red + green + blue) / 3;
}"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, started once."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
        yield browser
        browser.close()


@pytest.fixture
def show(browser: Any, tmp_path: Path) -> Iterator[Show]:
    """Shows a report; at the end there must have been no error, no dialog and no request but that for the page."""
    errors: list[str] = []
    requests: list[str] = []
    contexts: list[Any] = []

    def open_page(report: Report, width: int = 1000, scheme: str = "light") -> Page:
        contexts.append(browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme))
        page: Page = contexts[-1].new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda message: errors.append(message.text))
        page.on("dialog", lambda dialog: errors.append(dialog.message))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(report.write(tmp_path / f"{len(contexts)}.html").as_uri())
        return page

    yield open_page
    assert errors == []
    assert len(requests) == len(contexts)
    for context in contexts:
        context.close()


@pytest.fixture(scope="module")
def study() -> Study:
    """A comparison in money."""
    return compare(Scenario.load("e-commerce").with_(horizon=500), ["tp-ucb-ew", "uniform", "oracle"], runs=3)


def test_it_draws(show: Show, study: Study) -> None:
    """The figure has lines of every policy in its colour, the tables hold the numbers of the study."""
    page = show(study.report())
    box = page.locator("figure svg").bounding_box()
    assert box is not None
    assert box["width"] > 600
    assert page.locator('figure svg path[stroke="#aa3377"]').count() >= 2  # in both panels
    cells = page.locator("tbody tr").first.locator("th, td").all_inner_texts()
    assert cells[:3] == ["tp-ucb-ew", "3", f"{study.table()['regret'][0]:,.0f}"]
    mark = page.locator("tbody tr").first.locator("rect")
    assert mark.evaluate("mark => getComputedStyle(mark).fill") == "rgb(170, 51, 119)"


def test_light_and_dark(show: Show, study: Study) -> None:
    """Text, axes and the black line of `oracle` are dark on light and light on dark."""
    report = study.report()
    for scheme, dark in (("light", False), ("dark", True)):
        page = show(report, scheme=scheme)
        assert (page.locator("figure svg").evaluate(BRIGHTNESS) > 128) == dark
        assert page.locator("figure svg [stroke=currentColor]").count() > 5
        assert page.locator('figure svg [fill="#ffffff"]').count() == 0


def judged() -> Report:
    """The report of a trial, whose figure has two panels."""
    return trial(Scenario.load("medical-trial").with_(horizon=100), ["tp-ucb-ew", "delayed-ucb1"], runs=2).report()


@pytest.mark.parametrize("report", [lambda study: study.report(), lambda _: judged()])
def test_it_fits_a_phone(show: Show, study: Study, report: Callable[[Study], Report]) -> None:
    """At 390 pixels the page itself is not scrolled sideways; letters of the figure stay readable."""
    page = show(report(study), width=390)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    letters = page.locator("figure text").first.evaluate("text => text.getBoundingClientRect().height")
    assert letters > 7


def test_names_do_nothing(show: Show) -> None:
    """Hostile names are read as text, at any width."""
    page = show(compare(hostile_keys(), runs=2).report(), width=390)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert HOSTILE[1] in page.locator("tbody th").all_inner_texts()
    assert page.locator("script, img, b").count() == 0
    assert "$x_{$" in page.locator("figure").inner_text()


def test_it_prints(show: Show, study: Study, tmp_path: Path) -> None:
    """The PDF has a few pages of A4, and what is folded away is not printed."""
    page = show(study.report(), scheme="dark")
    content = page.pdf(path=tmp_path / "report.pdf", format="A4")
    assert content[:5] == b"%PDF-"
    assert 2 <= content.count(b"/Type /Page\n") <= 6
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not page.locator("details").first.is_visible()
