"""What a page of a log costs, against reading the same log once.

Usage: python benchmarks/view.py [ROUNDS]. Writes an Arrow log of Setting 1 (a hundred events a round), makes its page
with the command in a process of its own, and opens it in Chromium if that is installed. Prints seconds, the size of the
page, the peak of memory, and the ratio of the time of the page to that of reading all columns of the log.
"""

import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tpstream import Scenario, read_log, simulate

COMMAND = """
from tpstream.cli.app import main
try:
    main()
finally:
    print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""
"""The command line, which ends with its peak of memory in kB; the one that `resource` tells may be the parent's."""


def timed_reading(path: Path) -> tuple[float, int]:
    """How long it takes to read all columns of a log, and the number of its events."""
    began = time.perf_counter()
    events = sum(len(batch) for batch in read_log(path).batches())
    return time.perf_counter() - began, events


def open_in_browser(page: Path) -> None:
    """Print how long Chromium takes to show the page, and the memory of its script."""
    found = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if found is None:
        print("Chromium is not installed, so the page was not opened")
        return
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 (only here)

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
        shown = browser.new_page()
        began = time.perf_counter()
        shown.goto(page.as_uri())
        shown.wait_for_selector("html[data-ready]")
        seconds = time.perf_counter() - began
        used = shown.context.new_cdp_session(shown).send("Runtime.getHeapUsage")
        memory = used["usedSize"] + used.get("backingStorageSize", 0)
        print(f"opened in {seconds:.2f} s, {memory / 1e6:.0f} MB in the page")
        browser.close()


def main() -> None:
    """Make the log, the page, and print."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    with tempfile.TemporaryDirectory() as folder:
        log, page = Path(folder) / "run.arrows", Path(folder) / "page.html"
        simulate(Scenario.load("setting-1").with_(horizon=rounds), "tp-ucb-ew", log=log)
        reading, events = timed_reading(log)
        began = time.perf_counter()
        words = [sys.executable, "-c", COMMAND, "view", log, "--out", page, "--quiet"]
        memory = int(subprocess.run(words, check=True, capture_output=True, text=True).stdout) / 1e3
        seconds = time.perf_counter() - began
        size = page.stat().st_size / 1e6
        print(f"{events:,} events: page of {size:.2f} MB in {seconds:.2f} s, peak of memory {memory:.0f} MB")
        print(f"reading all columns once: {reading:.2f} s, ratio {seconds / reading:.1f}")
        open_in_browser(page)


if __name__ == "__main__":
    main()
