"""Takes the pictures of docs/view.md and docs/reports.md: python docs/screenshots.py (Chromium, Playwright).

With a folder, `python docs/screenshots.py FOLDER`, it also puts there the pages of four logs, and a picture of each
whole page, to be looked at: the paper's Setting 1, the medical trial, the weekly shop, and a log that another program
wrote, which is the shop of docs/replay.md with more customers.
"""

import hashlib
import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import sync_playwright

from tpstream import Scenario, compare, read_log, simulate

IMAGES = Path(__file__).parent / "images"
LOGS = {
    "setting-1": ("setting-1", "tp-ucb-fr", 5_000),
    "medical-trial": ("medical-trial", "tp-ucb-ew", None),
    "weekly-shop": ("e-commerce-weekly", "tp-ucb-ew", None),
}
"""For each log: scenario, policy and horizon."""
FOREIGN = "foreign-log"
PICTURES = {"view-setting-1": ("setting-1", None), "view-lab-queue": ("medical-trial", "#heat")}
"""For each picture of the docs: the log, and the part of its page; None: the top of it."""
CHANCES, PRICES, WEEKS = (0.6, 0.45), (5, 8), 3
"""Of the shop of docs/replay.md: how likely a customer pays in a week at each price, and in how many weeks."""


def write_foreign(path: Path, customers: int = 2_000) -> None:
    """Write the log of docs/replay.md for more customers: two prices, at random, each paid in three weeks or not."""
    chance = np.random.default_rng(1)
    arms = chance.integers(0, 2, customers).tolist()
    paid = [[PRICES[arm] * int(chance.random() < CHANCES[arm]) for _ in range(WEEKS)] for arm in arms]
    header = {
        "schema": 1,
        "scenario": {},
        "policy": "our shop",
        "kind": "delayed-ucb1",
        "parameters": {},
        "seed": 0,
        "run": 0,
        "arms": ["low", "high"],
        "means": [WEEKS * price * share for price, share in zip(PRICES, CHANCES, strict=True)],
        "maxima": [float(WEEKS * price) for price in PRICES],
        "span": WEEKS,
        "horizon": customers,
        "groups": None,
        "clairvoyant": False,
        "versions": {},
    }
    events: list[dict[str, Any]] = []

    def tell(kind: str, week: int, pull: int, part: int = 0, value: float | None = None) -> None:
        told = {"seq": len(events), "time": float(week), "kind": kind, "round": min(week, customers), "pull": pull}
        events.append(told | {"arm": arms[pull - 1], "part": part, "value": value})

    for week in range(1, customers + WEEKS):
        if week <= customers:
            tell("pull", week, week)
        for pull in range(max(1, week - WEEKS + 1), min(week, customers) + 1):
            part = week - pull + 1
            tell("partial", week, pull, part, paid[pull - 1][part - 1])
            if part == WEEKS:
                tell("closed", week, pull, 0, sum(paid[pull - 1]))
    zeros = "0" * 64  # in the place of the SHA-256, while it is computed
    text = "".join(f"{json.dumps(line)}\n" for line in [header, *events, {"end": len(events), "sha256": zeros}])
    path.write_text(text.replace(zeros, hashlib.sha256(text.encode()).hexdigest()), encoding="utf-8")


def write_pages(folder: Path) -> dict[str, Path]:
    """Write the logs and their pages."""
    pages = {}
    for name, (scenario, policy, horizon) in LOGS.items():
        world, path = Scenario.load(scenario), folder / f"{name}.arrows"
        simulate(world.with_(horizon=horizon or world.horizon), policy, log=path, log_detail="indices", force=True)
        pages[name] = read_log(path).view().write(path.with_suffix(".html"))
    path = folder / f"{FOREIGN}.jsonl"
    write_foreign(path)
    pages[FOREIGN] = read_log(path).view().write(path.with_suffix(".html"))
    return pages


def main() -> None:
    """Run the scenarios, make their pages and take the pictures."""
    with tempfile.TemporaryDirectory() as temporary, sync_playwright() as playwright:
        folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        found = shutil.which("chromium-headless-shell") or shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1000, "height": 1005})
        pages = write_pages(folder)
        for name, address in pages.items():
            page.goto(address.as_uri())
            page.wait_for_selector("html[data-ready]")
            page.screenshot(path=folder / f"{name}.png", full_page=True)
        for name, (log, part) in PICTURES.items():
            page.goto(pages[log].as_uri())
            page.wait_for_selector("html[data-ready]")
            place = IMAGES / f"{name}.png"
            if part is None:
                page.screenshot(path=place)
            else:
                page.locator(part).screenshot(path=place)
        study = compare(Scenario.load("setting-1").with_(horizon=5_000), runs=10)
        page.goto(study.report().write(Path(temporary) / "report.html").as_uri())
        page.screenshot(path=IMAGES / "report-compare.png")
        browser.close()


if __name__ == "__main__":
    main()
