"""Takes the pictures of docs/view.md and docs/reports.md: python docs/screenshots.py (Chromium, Playwright)."""

import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from tpstream import Scenario, compare, read_log, simulate

IMAGES = Path(__file__).parent / "images"
PICTURES = {
    "view-setting-1": ("setting-1", "tp-ucb-fr", 5_000, None),
    "view-lab-queue": ("medical-trial", "tp-ucb-ew", None, "#heat"),
}
"""For each picture: scenario, policy, horizon, and the part of the page; None: the top of it."""


def main() -> None:
    """Run the scenarios, make their pages and take the pictures."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        found = shutil.which("chromium-headless-shell") or shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1000, "height": 1005})
        for name, (scenario, policy, horizon, part) in PICTURES.items():
            path = Path(folder) / f"{policy}.arrows"
            world = Scenario.load(scenario)
            simulate(world.with_(horizon=horizon or world.horizon), policy, log=path, log_detail="indices")
            page.goto(read_log(path).view().write(path.with_suffix(".html")).as_uri())
            page.wait_for_selector("html[data-ready]")
            place = IMAGES / f"{name}.png"
            if part is None:
                page.screenshot(path=place)
            else:
                page.locator(part).screenshot(path=place)
        study = compare(Scenario.load("setting-1").with_(horizon=5_000), runs=10)
        page.goto(study.report().write(Path(folder) / "report.html").as_uri())
        page.screenshot(path=IMAGES / "report-compare.png")
        browser.close()


if __name__ == "__main__":
    main()
