"""What a live page costs the runs that it shows, with a browser (here: a reader of its stream) that looks all the time.

Usage: python benchmarks/live.py [SCALE]. Runs the same work without and with a live page, in turns, and prints the
ratio of the processor's time, and of the wall clock's, for the median of the pairs. SCALE multiplies the horizons.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from tpstream import Scenario, compare
from tpstream.run.watch import LiveLink
from tpstream.view.live import LivePage

READER = "import sys, urllib.request as web\nfor _ in web.urlopen(sys.argv[1]): pass"
"""A browser in a process of its own, which reads everything."""
PAIRS = 5


@contextmanager
def looked_at() -> Iterator[LiveLink]:
    """A live page that someone looks at."""
    with LivePage("benchmark") as page:
        address = page.url.replace("/?", "/events?")
        with subprocess.Popen([sys.executable, "-c", READER, address], stderr=subprocess.DEVNULL) as reader:
            while not page.state.viewers:
                time.sleep(0.01)
            yield LiveLink(page.port, page.token)
            reader.kill()


def timed(work: Callable[..., Any], **keywords: Any) -> tuple[float, float]:
    """The seconds of the processor and of the clock that the work takes."""
    used, began = time.process_time(), time.perf_counter()
    work(**keywords)
    return time.process_time() - used, time.perf_counter() - began


def main() -> None:
    """Run everything, and print."""
    scale = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0

    def world(name: str, horizon: int) -> Scenario:
        return Scenario.load(name).with_(horizon=int(horizon * scale))

    with tempfile.TemporaryDirectory() as folder:
        logs = {"logs": Path(folder), "log_format": "arrow", "force": True}
        cases: dict[str, Callable[..., Any]] = {
            "compiled, no events": partial(compare, world("setting-1", 3_000_000), ["tp-ucb-fr"], runs=1),
            "compiled, with a log": partial(compare, world("setting-1", 300_000), ["tp-ucb-fr"], runs=1, **logs),
            "compiled, delays": partial(compare, world("medical-trial", 60_000), ["tp-ucb-ew"], runs=1),
            "a study of short runs": partial(compare, world("setting-1", 20_000), ["ucb1", "tp-ucb-fr"], runs=200),
            "SimPy": partial(compare, world("setting-1", 30_000), ["tp-ucb-fr"], runs=1, engine="simpy"),
        }
        for name, work in cases.items():
            work()  # loads compiled code
            pairs = []
            for _ in range(PAIRS):
                without = timed(work)
                with looked_at() as link:
                    pairs.append((without, timed(work, live=link)))
            used, clock = (median(after[place] / before[place] for before, after in pairs) for place in (0, 1))
            seconds = median(before[1] for before, _ in pairs)
            print(
                f"{name}: {seconds:.1f} s; with a live page {used:.3f} times the processor's, {clock:.3f} the clock's"
            )


if __name__ == "__main__":
    main()
