"""Pages in a real browser: they draw, their figures are linked, and nothing leaves them.

Needs Chromium (`chromium-headless-shell` or `chromium`); without it these tests are skipped.
"""

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import msgspec
import numpy as np
import pytest
from explorer import FLAGS, chromium, with_looks, written
from log_samples import make_header
from PIL import Image
from playwright.sync_api import Page, sync_playwright
from studies import ASYNCHRONOUS, KEYS

from tpstream import Scenario, read_log, simulate
from tpstream.log.reader import Log
from tpstream.looks.design import Reason
from tpstream.view.explorer import view

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(chromium() is None, reason="Chromium is not installed: apt-get install chromium-headless-shell"),
]
PICTURE = Path(__file__).parent / "explorer.png"
"""How the page of the log below looks, roughly."""
SHADES = """canvas => {
    const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
    const seen = new Set();
    for (let i = 0; i < data.length; i += 4) seen.add((data[i] << 16) + (data[i + 1] << 8) + data[i + 2]);
    return seen.size;
}"""
"""The number of colours on a canvas."""


LATE = """canvas => {
    const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
    const seen = new Set();
    for (let i = 0; i < data.length; i += 4)
        if (data[i] === 0xb3 && data[i + 1] === 0x26 && data[i + 2] === 0x1e) seen.add((i / 4) % canvas.width);
    return [...seen];
}"""
"""Where across a canvas there is the colour of what is late or stopped."""


SPOTS = """(canvas, [red, green, blue, room = 0]) => {
    const { data, width } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height), found = [];
    const apart = (i) => Math.abs(data[i] - red) + Math.abs(data[i + 1] - green) + Math.abs(data[i + 2] - blue);
    for (let i = 0; i < data.length; i += 4)
        if (apart(i) <= room)
            found.push([(i / 4) % width, Math.floor(i / 4 / width)]);
    return found;
}"""
"""Where a canvas has this colour, or one that is not further away: the places across and down."""


@dataclass
class Shown:
    """A page in the browser, and what it complained of or asked for."""

    page: Page
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def text(self, selector: str) -> str:
        """What is written there."""
        return str(self.page.locator(selector).first.inner_text())

    def table(self, section: str) -> list[list[str]]:
        """The table of a figure, row by row."""
        details = self.page.locator(f"#{section} details").first
        details.locator("summary").click()
        rows: list[list[str]] = details.locator("table").evaluate(
            "table => [...table.rows].map(row => [...row.cells].map(cell => cell.textContent))"
        )
        return rows


Show = Callable[..., Shown]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, started once."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
        yield browser
        browser.close()


@pytest.fixture
def show(browser: Any, tmp_path: Path) -> Iterator[Show]:
    """Shows the page of some logs; at the end there must have been no error and no request but that for the page."""
    opened: list[Shown] = []

    def open_page(*logs: Log, width: int = 1200, scheme: str = "light", pulls: tuple[int, ...] = ()) -> Shown:
        path = view(logs, pulls).write(tmp_path / f"page-{len(opened)}.html")
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        shown = Shown(context.new_page())
        opened.append(shown)
        shown.page.on("pageerror", lambda error: shown.errors.append(f"{error}\n{error.stack}"))
        shown.page.on("console", lambda message: message.type == "error" and shown.errors.append(message.text))
        shown.page.on("dialog", lambda dialog: shown.errors.append(dialog.message))
        shown.page.on("request", lambda request: shown.requests.append(request.url))
        shown.page.goto(path.as_uri())
        shown.page.wait_for_selector("html[data-ready]", timeout=20_000)
        return shown

    yield open_page
    for shown in opened:
        assert shown.errors == []
        assert len(shown.requests) == 1
        shown.page.context.close()


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Log:
    """The log of a run with late parts and indices."""
    path = tmp_path_factory.mktemp("logs") / "run.arrows"
    keys = KEYS | ASYNCHRONOUS["window"] | {"horizon": 400, "time_unit": "day", "currency": "EUR"}
    simulate(Scenario(**keys), "tp-ucb-fr", log=path, log_detail="indices")
    return read_log(path)


def test_all_figures_are_drawn(show: Show, log: Log) -> None:
    """The five figures are there, each canvas has many colours, and the units of the log are named."""
    shown = show(log)
    sections = shown.page.locator("section").evaluate_all("all => all.map(one => one.id)")
    assert sections == ["reward", "allocation", "heat", "belief", "pull"]
    colours = [canvas.evaluate(SHADES) for canvas in shown.page.locator("canvas").all()]
    assert len(colours) == 9
    assert min(colours) > 8
    assert "EUR" in shown.text("#reward h3")
    assert "in days" in shown.text("#heat h3")


def test_numbers_are_those_of_the_log(show: Show, log: Log) -> None:
    """The last row of a table: what each arm received and how often it was pulled, as pandas computes it."""
    shown, frame = show(log), log.frame()
    received = [cell.replace(",", "") for cell in shown.table("reward")[-1][1::3]]
    expected = frame[frame["kind"] == "partial"].groupby("arm")["value"].sum()
    assert [float(text) for text in received] == pytest.approx(expected.tolist(), rel=1e-3)
    pulls = [int(cell) for cell in shown.table("allocation")[-1][1::2]]
    assert pulls == frame[frame["kind"] == "pull"].groupby("arm").size().tolist()
    by_age = [[int(cell.replace(",", "")) for cell in row[1:]] for row in shown.table("heat")[1:]]
    arrived = frame[frame["kind"].isin(["partial", "late"])].groupby("arm").size().tolist()
    assert [sum(column) for column in zip(*by_age, strict=True)] == arrived


def test_a_selection_is_one_in_all_figures(show: Show, log: Log) -> None:
    """Dragging across one figure changes the time of all; choosing an arm changes all; Escape takes both back."""
    shown = show(log)
    pictures = [canvas.evaluate("canvas => canvas.toDataURL()") for canvas in shown.page.locator("canvas").all()[:8]]
    shown.page.locator("#allocation").scroll_into_view_if_needed()
    box = shown.page.locator("#allocation canvas").first.bounding_box()
    assert box is not None
    shown.page.mouse.move(box["x"] + 300, box["y"] + 40)
    shown.page.mouse.down()
    shown.page.mouse.move(box["x"] + 500, box["y"] + 60)
    shown.page.mouse.up()
    shown.page.mouse.move(2, 2)  # away from the figure, so that no line marks the pointer's time
    shown.page.wait_for_timeout(150)
    again = [canvas.evaluate("canvas => canvas.toDataURL()") for canvas in shown.page.locator("canvas").all()[:8]]
    assert [one != other for one, other in zip(pictures, again, strict=True)] == [True] * 8
    first, last = (float(number) for number in re.findall(r"[\d.]+", shown.text("#range")))
    assert 50 < first < last < 250
    shown.page.locator("#reward canvas").first.hover(position={"x": 61, "y": 50})  # the left end of its axis
    assert float(re.findall(r"[\d.]+", shown.text("#tip"))[0]) == pytest.approx(first, abs=2)
    shown.page.get_by_role("button", name="middle").click()
    assert "only middle" in shown.text("#range")
    shown.page.wait_for_timeout(150)  # until it is drawn
    shown.page.keyboard.press("Escape")
    assert "everything" in shown.text("#range")
    assert "only" not in shown.text("#range")


def saved_texts(shown: Shown, folder: Path) -> list[str]:
    """The texts in the first picture of a page, saved as SVG."""
    with shown.page.expect_download() as download:
        shown.page.locator("#reward").get_by_role("button", name="save SVG").click()
    download.value.save_as(folder / "reward.svg")
    return [str(node.text) for node in ET.parse(folder / "reward.svg").iter("{http://www.w3.org/2000/svg}text")]  # noqa: S314 (our own page wrote it)


def test_dates(show: Show, tmp_path: Path) -> None:
    """Where a log knows the dates of its times, axes have round ones; tips, the range and a story have them, too."""
    keys = KEYS | ASYNCHRONOUS["window"] | {"time_unit": "day", "start": "2024-01-01"}
    simulate(Scenario(**keys), "uniform", log=tmp_path / "run.arrows")
    shown = show(read_log(tmp_path / "run.arrows"))
    assert re.search(r"^day 1 to [\d.]+ \(2024-01-02 00:00 to 2024-\d\d-\d\d 00:00\)", shown.text("#range"))
    shown.page.locator("#reward canvas").first.hover(position={"x": 61, "y": 50})  # the left end of its axis
    assert "at the end of day 1 to 2 (2024-01-02 00:00 to 2024-01-03 00:00)" in shown.text("#tip")
    shown.page.fill("#number", "12")
    shown.page.keyboard.press("Enter")
    assert "Pull 12, made at day 12 (2024-01-13 00:00)" in shown.text("#story")
    assert {"date", "2024-01-08", "2024-01-22"} <= set(saved_texts(shown, tmp_path))  # Mondays
    simulate(Scenario.load("medical-trial").with_(horizon=30), "uniform", log=tmp_path / "years.arrows")
    texts = saved_texts(show(read_log(tmp_path / "years.arrows")), tmp_path)
    days = {text for text in texts if re.fullmatch(r"20\d\d-\d\d-\d\d", text)}
    assert len(days) > 4
    assert {day[-2:] for day in days} == {"01"}  # of months


def test_an_arm_is_selected_where_it_is_drawn(show: Show, log: Log) -> None:
    """A click on an arm's area, line or name selects it in all figures, and a pull of it; elsewhere none."""
    shown, arms = show(log), log.header.arms
    for section, arm in (("#reward", 2), ("#allocation", 1), ("#belief", 0)):
        canvas, button = shown.page.locator(f"{section} canvas").last, shown.page.locator("button.arm").nth(arm)
        colour = button.locator("i").evaluate("dot => getComputedStyle(dot).backgroundColor.match(/\\d+/g).map(Number)")
        spots = canvas.evaluate(SPOTS, [*colour, 60])
        x, y = spots[len(spots) // 2]
        canvas.click(position={"x": x, "y": y})
        assert shown.text("#range").endswith(f"only {arms[arm]}")
        assert f"arm “{arms[arm]}”" in shown.text("#story")
        shown.page.keyboard.press("Escape")
        shown.page.wait_for_timeout(150)
    shown.page.locator("#reward canvas").first.click(position={"x": 200, "y": 20})
    assert "only" not in shown.text("#range")


def test_parts_that_arrive_together_are_stacked(show: Show, tmp_path: Path) -> None:
    """The bars of a pull are as high as the sums of what arrived at a time, and are all in the picture."""
    path = tmp_path / "weekly.arrows"
    simulate(Scenario.load("e-commerce-weekly").with_(horizon=60), "tp-ucb-ew", log=path)
    shown, frame = show(read_log(path)), read_log(path).frame()
    parts = frame[frame["kind"] == "partial"]
    own = parts[parts["pull"] == int(parts.groupby("pull")["value"].sum().idxmax())]
    shown.page.fill("#number", str(own["pull"].iloc[0]))
    shown.page.keyboard.press("Enter")
    shown.page.wait_for_timeout(150)
    assert shown.text("#pull h3") == "A pull's parts over time (EUR)"
    dot = shown.page.locator("button.arm").nth(int(own["arm"].iloc[0])).locator("i")
    colour = dot.evaluate("dot => getComputedStyle(dot).backgroundColor.match(/\\d+/g).map(Number)")
    spots = np.array(shown.page.locator("#pull canvas").evaluate(SPOTS, colour))
    columns = {int(x): np.ptp(spots[spots[:, 0] == x][:, 1]) + 1 for x in np.unique(spots[:, 0])}
    bars = [height for x, height in columns.items() if x - 1 not in columns]
    sums = own.groupby("time")["value"].sum()
    sums = sums[sums > 0]
    assert len(bars) == len(sums) < len(own)
    assert bars == pytest.approx((sums / sums.max() * max(bars)).tolist(), abs=3)
    assert 100 < max(bars) < 152


def test_the_page_looks_as_before(show: Show, log: Log) -> None:
    """A grey picture of 64 x 64 pixels is roughly the stored one; if it is to be another, remove that, and look."""
    picture = show(log).page.screenshot(full_page=True)
    small = Image.open(BytesIO(picture)).convert("L").resize((64, 64), Image.Resampling.BOX)
    if not PICTURE.exists():
        small.save(PICTURE)
        pytest.fail(f"{PICTURE.name} was made anew; look at it, and run this again")
    apart = np.abs(np.asarray(small, dtype=float) - np.asarray(Image.open(PICTURE), dtype=float))
    assert apart.mean() < 2.5
    assert (apart > 60).mean() < 0.02


def test_keys(show: Show, log: Log) -> None:
    """+ and - zoom, arrows move, ? helps, / goes to the search."""
    shown = show(log)
    whole = shown.text("#range")
    shown.page.keyboard.press("+")
    near = shown.text("#range")
    shown.page.keyboard.press("ArrowRight")
    moved = shown.text("#range")
    shown.page.keyboard.press("-")
    shown.page.keyboard.press("-")
    assert len({whole, near, moved}) == 3
    assert shown.text("#range") == whole
    shown.page.keyboard.press("?")
    assert shown.page.locator("#help").is_visible()
    shown.page.keyboard.press("Escape")
    shown.page.keyboard.press("/")
    assert shown.page.evaluate("document.activeElement.id") == "number"


def test_the_search_finds_a_pull(show: Show, log: Log) -> None:
    """A number typed shows this pull: its arm, what it was credited with, what was open; a wrong one is refused."""
    shown, frame = show(log), log.frame()
    own = frame[frame["pull"] == 123]
    shown.page.fill("#number", "123")
    shown.page.keyboard.press("Enter")
    story = shown.text("#story")
    name = log.header.arms[int(own["arm"].iloc[0])]
    assert f"Pull 123, made at day 123: arm “{name}”." in story
    credited = own[own["kind"] == "partial"]["value"]
    assert f"credited with {float(f'{credited.sum():.4g}'):g} EUR in {len(credited)} of 6 parts" in story
    before = frame.loc[: own.index[0] - 1, "kind"]
    assert f"{(before == 'pull').sum() - (before == 'closed').sum()} other pulls were open" in story
    indices = sorted(frame.loc[own.index[0], "indices"], reverse=True)
    margin = shown.page.evaluate("text => Number(text.match(/two largest indices was ([0-9.e-]+)\\./)[1])", story)
    assert margin == pytest.approx(indices[0] - indices[1], rel=1e-2)
    shown.page.fill("#number", "4000")
    shown.page.keyboard.press("Enter")
    assert "Pull 123" in shown.text("#story")


def test_a_hostile_log_does_nothing(show: Show, tmp_path: Path) -> None:
    """Names with markup, quotes, marks of direction and 10,000 letters are text."""
    names = ["</script><script>alert(1)</script>", "\"'><img src=x onerror=alert(1)>", "\u202egnp.exe", "n" * 10_000]
    header = msgspec.structs.replace(
        make_header(arms=4, policy=names[0]), arms=names, span=6, parameters={names[1]: names[1]}
    )
    header.scenario["name"] = names[1]
    source = tmp_path / "source.jsonl"
    simulate(Scenario(**KEYS), "uniform", log=source)
    log = written(tmp_path / "hostile.jsonl", read_log(source).join(), header)
    shown = show(log, width=390)
    for details in shown.page.locator("details").all():
        details.locator("summary").click()
    for canvas in shown.page.locator("section > .panels canvas").all():
        canvas.hover()
    assert shown.page.locator("img").count() == 0
    assert shown.page.locator("script").count() == 2
    assert names[0] in shown.text("#title")
    assert shown.page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark(show: Show, log: Log, scheme: str) -> None:
    """Text and canvas are dark on light or light on dark, as the system is; the button changes both, paper is light."""
    shown = show(log, scheme=scheme)
    corner = (
        """() => [...document.querySelector("canvas").getContext("2d").getImageData(2, 2, 1, 1).data].slice(0, 3)"""
    )
    first = sum(shown.page.evaluate(corner))
    shown.page.click("#theme")
    shown.page.wait_for_timeout(150)
    second = sum(shown.page.evaluate(corner))
    assert (first > 600, second > 600) == ((True, False) if scheme == "light" else (False, True))
    shown.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    shown.page.emulate_media(media="print", color_scheme=scheme)
    assert sum(shown.page.evaluate(corner)) > 600
    canvas = shown.page.locator("canvas").first
    assert canvas.evaluate("one => getComputedStyle(one.closest('section')).color") == "rgb(0, 0, 0)"
    stretched = canvas.evaluate("one => one.clientWidth / one.clientHeight / (one.width / one.height)")
    assert stretched == pytest.approx(1, rel=0.02)


def test_a_phone(show: Show, log: Log) -> None:
    """At 390 pixels nothing is wider than the screen, and canvases are drawn."""
    shown = show(log, width=390)
    assert shown.page.evaluate("document.documentElement.scrollWidth") <= 390
    assert shown.page.locator("#heat canvas").first.evaluate(SHADES) > 8


def test_two_logs_side_by_side(show: Show, log: Log, tmp_path: Path) -> None:
    """Figures of both stand beside each other on one axis; the first decision that differs is told."""
    path = tmp_path / "other.arrows"
    keys = KEYS | ASYNCHRONOUS["window"] | {"horizon": 400, "time_unit": "day", "currency": "EUR"}
    simulate(Scenario(**keys), "uniform", log=path)
    other = read_log(path)
    one, two = (log.frame(["arm"], kinds=[0])["arm"] for log in (log, other))
    shown = show(log, other)
    boxes = [canvas.bounding_box() for canvas in shown.page.locator("#allocation canvas").all()]
    assert len(boxes) == 2
    assert boxes[0]["y"] == boxes[1]["y"]
    assert boxes[0]["x"] < boxes[1]["x"]
    parting = int((one != two).argmax()) + 1
    assert f"“uniform” first decides otherwise than “tp-ucb-fr” in pull {parting}." in shown.text("#regret p")


def test_looks_are_marked(show: Show, tmp_path: Path) -> None:
    """Lines at the looks and decisions, in the figures that have the time as their axis; words in header and table."""
    simulate(Scenario(**KEYS), "uniform", log=tmp_path / "run.arrows")
    run = read_log(tmp_path / "run.arrows")
    closed = {0: (Reason.INFERIORITY, False), 1: (Reason.INFERIORITY, False), 2: (Reason.SUPERIORITY, True)}
    shown = show(written(tmp_path / "looks.jsonl", with_looks(run.join(), (20, 35, closed)), run.header))
    words = "at round 35, after look 1, the trial stopped with “high” (superiority)"
    assert words in shown.text("#about")
    assert words in str(shown.page.locator("#allocation canvas").get_attribute("aria-label"))
    for section in ("reward", "allocation", "belief"):  # the line of the stop is the only thing in this colour
        places = shown.page.locator(f"#{section} canvas").first.evaluate(LATE)
        assert len(places) == 1, section
        assert 0.5 < places[0] / 1168 < 0.65
    details = shown.page.locator("#allocation details").nth(1)
    details.locator("summary").click()
    details.locator("tbody td").first.wait_for()
    assert details.locator("tbody td").all_inner_texts() == ["1", "20", "10", "0", "20", "0.25", "30", "0.5", words]


def test_a_picture_can_be_saved(show: Show, log: Log, tmp_path: Path) -> None:
    """The buttons give a PNG and an SVG file; the SVG has the titles as text, and shows the same when it is opened."""
    shown = show(log)
    for form in ("png", "svg"):
        with shown.page.expect_download() as download:
            shown.page.locator("#heat").get_by_role("button", name=f"save {form.upper()}").click()
        download.value.save_as(tmp_path / f"heat.{form}")
    assert (tmp_path / "heat.png").read_bytes()[:4] == b"\x89PNG"
    drawing = ET.parse(tmp_path / "heat.svg").getroot()  # noqa: S314 (our own page wrote it)
    texts = [str(node.text) for node in drawing.iter("{http://www.w3.org/2000/svg}text")]
    assert texts[0].startswith("When the parts of a pull arrive: ")
    assert "Age at arrival, in days, over the time of the pull" in texts
    assert (drawing.get("width"), drawing.get("height")) == ("900", "602")


def test_logs_with_little_in_them(show: Show, tmp_path: Path) -> None:
    """An empty log, one of pulls only, one of a pull: a page each, which says what is missing."""
    assert "There is no event" in show(written(tmp_path / "empty.jsonl")).text("main")
    path = tmp_path / "pulls.arrows"
    simulate(Scenario(**KEYS), "tp-ucb-fr", log=path, log_detail="pulls")
    assert "holds only the pulls" in show(read_log(path)).text("#heat")
    source = tmp_path / "source.jsonl"
    simulate(Scenario(**KEYS), "uniform", log=source)
    one = written(tmp_path / "one.jsonl", read_log(source).join().cut(0, 1), read_log(source).header)
    assert "Pull 1, made at" in show(one).text("#story")


def test_any_logs_together(show: Show, log: Log, tmp_path: Path) -> None:
    """Other worlds, pulls only and nothing at all side by side: with all tables open, each arm is chosen in turn."""
    other = Scenario.load("setting-1").with_(horizon=30)
    details: dict[str, Any] = {"ucb1": "all", "uniform": "probabilities", "tp-ucb-fr": "pulls"}
    for policy, detail in details.items():
        simulate(other, policy, log=tmp_path / f"{policy}.arrows", log_detail=detail)
    logs = [read_log(tmp_path / f"{policy}.arrows") for policy in details]
    shown = show(log, *logs, written(tmp_path / "empty.jsonl"))
    for details in shown.page.locator("details").all():
        details.locator("summary").click()
    for button in shown.page.locator("#arms button").all():
        button.click()
        shown.page.keyboard.press("+")
        shown.page.wait_for_timeout(40)
    assert "only" in shown.text("#range")
    assert "uniform: Probability with which each arm was chosen" in shown.text("#allocation")


def test_ten_million_events(show: Show, tmp_path: Path) -> None:
    """Setting 1 over 100,000 rounds: a page of at most 1.5 MB, open in 2 s, with less than 300 MB in it."""
    path = tmp_path / "large.arrows"
    simulate(Scenario.load("setting-1").with_(horizon=100_000), "tp-ucb-ew", log=path)
    shown = show(read_log(path))
    assert (tmp_path / "page-0.html").stat().st_size <= 1.5e6
    session = shown.page.context.new_cdp_session(shown.page)
    start = time.perf_counter()
    shown.page.reload()
    shown.page.wait_for_selector("html[data-ready]")
    assert time.perf_counter() - start < 2
    session.send("HeapProfiler.collectGarbage")
    assert session.send("Runtime.getHeapUsage")["usedSize"] < 300e6
    assert shown.page.evaluate("performance.memory.usedJSHeapSize") < 300e6
    shown.requests.pop()  # that of the reload
