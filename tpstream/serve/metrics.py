"""What a service counts, and these numbers as Prometheus reads them."""

import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
"""Bounds of the histograms of durations."""
SIZES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
"""Bounds of the histogram of requests that were written together."""
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Histogram:
    """Counts values by upper bounds."""

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def add(self, value: float) -> None:
        """Count a value."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.sum += value

    def lines(self, name: str, label: str) -> Iterable[str]:
        """The histogram as Prometheus reads it."""
        total = 0
        for bound, count in zip((*self.bounds, "+Inf"), self.counts, strict=True):
            total += count
            yield f'{name}_bucket{{{label},le="{bound}"}} {total}'
        yield f"{name}_sum{{{label}}} {self.sum:.9g}"
        yield f"{name}_count{{{label}}} {total}"


class Metrics:
    """The numbers of one experiment; `answered` is called in the event loop, `handled` in the decider's thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.answers: Counter[tuple[str, int]] = Counter()
        """How many requests of a path had an answer of that status."""
        self.seconds = Histogram(SECONDS)
        self.writing = Histogram(SECONDS)
        self.sizes = Histogram(SIZES)

    def answered(self, path: str, status: int, seconds: float | None) -> None:
        """Count an answer, and how long it took from the request's headers on; None for one without an end."""
        self.answers[path, status] += 1
        if seconds is not None:
            self.seconds.add(seconds)

    def handled(self, requests: int, seconds: float) -> None:
        """Count requests that were handled and written together."""
        with self._lock:
            self.writing.add(seconds)
            self.sizes.add(requests)


STATE = ("events", "decisions", "open", "bytes", "keys")
"""Numbers of a decider's state."""
HELP = {
    "tpstream_requests_total": ("counter", "HTTP requests by path and status"),
    "tpstream_request_seconds": ("histogram", "from a request's headers to its answer"),
    "tpstream_write_seconds": ("histogram", "for handling requests together, with their flush to the disk"),
    "tpstream_written_together": ("histogram", "decisions and deliveries that shared a flush"),
    "tpstream_waiting": ("gauge", "decisions and deliveries that wait"),
    "tpstream_count": ("gauge", "numbers of the experiment: of events, of each kind, of what was refused or late"),
    "tpstream_decisions": ("counter", "decisions for each arm"),
    "tpstream_credited": ("gauge", "what was credited to each arm"),
}
"""Type and meaning of every metric."""


def exposition(rows: Mapping[str, tuple[Metrics, int, Mapping[str, Any]]]) -> str:
    """All metrics as text: those of each experiment, how many requests wait there, and its state."""
    found: dict[str, list[str]] = {name: [] for name in HELP}
    for name, (metrics, waiting, state) in rows.items():
        label = f'experiment="{name}"'
        for (path, status), count in sorted(metrics.answers.items()):
            found["tpstream_requests_total"].append(
                f'tpstream_requests_total{{{label},path="{path}",status="{status}"}} {count}'
            )
        histograms = {
            "tpstream_request_seconds": metrics.seconds,
            "tpstream_write_seconds": metrics.writing,
            "tpstream_written_together": metrics.sizes,
        }
        for metric, histogram in histograms.items():
            found[metric].extend(histogram.lines(metric, label))
        found["tpstream_waiting"].append(f"tpstream_waiting{{{label}}} {waiting}")
        numbers = {key: state[key] for key in STATE} | state["kinds"] | state["counts"]
        for key, value in numbers.items():
            found["tpstream_count"].append(f'tpstream_count{{{label},of="{_escaped(key)}"}} {value}')
        for arm in state["arms"]:
            of_arm = f'{label},arm="{_escaped(arm["name"])}"'
            found["tpstream_decisions"].append(f"tpstream_decisions{{{of_arm}}} {arm['decisions']}")
            found["tpstream_credited"].append(f"tpstream_credited{{{of_arm}}} {arm['credited']}")
    lines: list[str] = []
    for metric, (kind, meaning) in HELP.items():
        if found[metric]:
            lines += [f"# HELP {metric} {meaning}", f"# TYPE {metric} {kind}", *found[metric]]
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    """The value of a label."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
