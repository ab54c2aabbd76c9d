"""Logs for tests: headers, events, a Hypothesis strategy for any log, and equality bit for bit."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import msgspec
import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from tpstream.log.reader import Log, read_log
from tpstream.log.schema import Header
from tpstream.log.writer import LogWriter
from tpstream.model.events import COLUMNS, Events, Kind
from tpstream.model.limits import LARGEST

FORMATS = ("jsonl", "arrow", "parquet")
LARGE = 2**33
"""A horizon that does not fit into 32 bits."""


def make_header(*, arms: int = 2, horizon: int = 100, policy: str = "ucb1", run: int = 0) -> Header:
    """The header of some run."""
    return Header(
        scenario={"name": "sample ☃", "horizon": horizon},
        policy=policy,
        kind="ucb1",
        parameters={"ties": "random"},
        seed=2**64,
        run=run,
        arms=[f"arm {arm}" for arm in range(arms)],
        means=[0.1 + arm for arm in range(arms)],
        maxima=[1.0 + arm for arm in range(arms)],
        span=3,
        horizon=horizon,
        groups=None,
        clairvoyant=False,
        versions={"tpstream": "0"},
    )


def make_events(count: int, *, indices: bool = False) -> Events:
    """Events with a pull in every fifth place and values that use all their bits."""
    random = np.random.default_rng(count)
    seq = np.arange(count)
    kind = np.where(seq % 5 == 0, Kind.PULL, Kind.PARTIAL).astype(np.int8)
    pulls = int(np.count_nonzero(kind == Kind.PULL))
    return Events(
        seq=seq,
        time=seq / 3,
        kind=kind,
        round=seq // 5 + 1,
        pull=seq // 5 + 1,
        arm=seq // 5 % 2,
        part=seq % 5,
        value=np.where(kind == Kind.PULL, np.nan, random.random(count)),
        indices=random.random((pulls, 2)) if indices else None,
    )


@st.composite
def logs(draw: st.DrawFn) -> tuple[Header, Events]:
    """Any log: the order of its events is nobody's business here."""
    arms, count = draw(st.integers(1, 4)), draw(st.integers(0, 30))
    horizon = draw(st.sampled_from([100, 2**31 - 1, LARGE]))
    whole = hnp.arrays(np.int64, count, elements=st.integers(-horizon, horizon))
    small = hnp.arrays(np.int64, count, elements=st.integers(0, 2**31 - 1))
    gaps = draw(hnp.arrays(np.int64, count, elements=st.sampled_from([1, 1, 1, 2, min(horizon, 10**15)])))
    kind = draw(hnp.arrays(np.int8, count, elements=st.sampled_from(Kind)))
    pulls = int(np.count_nonzero(kind == Kind.PULL))
    events = Events(
        seq=np.cumsum(gaps) - 1,
        time=draw(hnp.arrays(np.float64, count, elements=st.floats(-LARGEST, LARGEST))),
        kind=kind,
        round=draw(whole),
        pull=draw(whole),
        arm=draw(small),
        part=draw(small),
        value=draw(hnp.arrays(np.float64, count, elements=st.floats(allow_infinity=False))),
        shown=draw(st.none() | hnp.arrays(np.bool_, count)),
        site=draw(st.none() | hnp.arrays(np.int64, pulls, elements=st.integers(0, 2**31 - 1))),
        indices=draw(st.none() | hnp.arrays(np.float64, (pulls, arms), elements=st.floats())),
    )
    header = make_header(arms=arms, horizon=horizon)
    hidden = {} if events.shown is None else {"reveal": "positive"}
    sites = [] if events.site is None else ["Bern", "☃"]
    return msgspec.structs.replace(header, scenario=header.scenario | hidden, sites=sites), events


def write_log(path: Path, header: Header, batches: Sequence[Events], *, end: bool = True) -> Log:
    """Write a log and open it; Parquet, which no run writes, too."""
    with LogWriter(path, header, staged=True, patience=0.0) as writer:
        for batch in batches:
            writer.hear(batch)
        writer.finish(sum(map(len, batches)) if end else None)
    return read_log(path)


def split(events: Events, cuts: Sequence[int]) -> list[Events]:
    """The events in batches."""
    places = [0, *sorted(cuts), len(events)]
    return [events.cut(first, last) for first, last in pairwise(places)]


def bits(events: Events) -> dict[str, object]:
    """Everything that events are made of, bit for bit; only one NaN is as good as another."""
    columns = events.columns()
    for column in COLUMNS:  # an optional column without rows is as good as none
        if column.optional and not len(columns.get(column.name, ())):
            columns.pop(column.name, None)
    return {name: (str(rows.dtype), _bits(rows)) for name, rows in columns.items()}


def _bits(column: NDArray[np.generic]) -> bytes:
    return (np.where(np.isnan(column), np.nan, column) if column.dtype == np.float64 else column).tobytes()
