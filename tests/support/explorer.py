"""What a page holds, unpacked as the page's script does it; logs and scenarios for pages; the browser."""

import base64
import json
import re
import shutil
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from log_samples import make_header
from studies import KEYS

from tpstream.log.reader import Log, read_log
from tpstream.log.schema import Header
from tpstream.log.writer import LogWriter
from tpstream.looks.design import Reason
from tpstream.model.events import Events, Kind

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--enable-precise-memory-info",
)
"""With which Chromium is started."""
HOSTILE = ["</script><script>alert(1)</script>", "\"'<img src=x onerror=alert(1)>", "\u202egnp.exe\u0000", "n" * 10_000]
"""Names that would be markup, turn the text around them, or fill a page."""
SIZES = {"u1": 1, "u2": 2, "u4": 4, "f4": 4, "f8": 8}


def unpack(text: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The description of a page and its arrays by name."""
    found = re.search(r'id="data">([^<]*)<', text)
    assert found is not None
    return unpack_text(found[1])


def unpack_text(data: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The same from the compressed block alone."""
    raw = zlib.decompress(base64.b64decode(data))
    length = int.from_bytes(raw[:4], "little")
    about = json.loads(raw[4 : 4 + length])
    arrays = {}
    for name, (kind, place, count) in about["arrays"].items():
        start, size = 4 + length + place, SIZES[kind]
        stored = np.frombuffer(raw[start : start + count * size], dtype=np.uint8).reshape(size, count)
        arrays[name] = np.ascontiguousarray(stored.T).view("<" + kind).reshape(-1)
    return about, arrays


def written(path: Path, events: Events | None = None, header: Header | None = None) -> Log:
    """A log with these events, which may be none."""
    header = make_header() if header is None else header
    with LogWriter(path, header) as writer:
        if events is not None:
            writer.hear(events)
    return read_log(path)


def with_looks(events: Events, *stops: tuple[float, float, dict[int, tuple[Reason, bool]]]) -> Events:
    """These events and looks among them: the time of each, that of its decision, and why arms were closed by it.

    At each look arm n has counted 10 (n + 1) patients, with an estimate of n / 4.
    """
    arms, rows = int(events.arm.max()) + 1, []
    for number, (time, decided, closed) in enumerate(stops, 1):
        for arm in range(arms):
            rows += [(time, Kind.LOOK, number, arm, 0, 10.0 * (arm + 1)), (time, Kind.LOOK, number, arm, 1, arm / 4)]
        for arm, (reason, selected) in closed.items():
            rows.append((decided, Kind.STOPPED, number, arm, reason, float(selected)))
    names = ("time", "kind", "pull", "arm", "part", "value")
    added = {name: np.array(values) for name, values in zip(names, zip(*rows, strict=True), strict=True)}
    columns = {name: np.concatenate([getattr(events, name), added[name]]) for name in names}
    order = np.argsort(columns["time"], kind="stable")
    columns = {name: column[order].astype(getattr(events, name).dtype) for name, column in columns.items()}
    rounds = np.cumsum(columns["kind"] == Kind.PULL)
    return Events(seq=np.arange(len(order)), round=rounds, **columns)


def chromium() -> str | None:
    """Where Chromium is, or None."""
    return shutil.which("chromium-headless-shell") or shutil.which("chromium")


def hostile_keys() -> dict[str, Any]:
    """A scenario with names that would be markup, formulas, templates, or invisible."""
    names = [HOSTILE[0], HOSTILE[1], "$x_{$", HOSTILE[2], HOSTILE[3]]
    return KEYS | {
        "name": "{{ 7 * 7 }}<b>" + HOSTILE[1],
        "currency": "<b>&<b>",
        "arms": [{"name": name, "maximum": 10.0 + place} for place, name in enumerate(names)],
        "policies": [{"kind": "uniform"}, {"kind": "tp-ucb-ew", "name": HOSTILE[1]}, {"kind": "ucb1", "name": "$x_{$"}],
    }
