"""The check of sinks: `check_sink`."""

import gc
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from tpstream.log import SINKS
from tpstream.log.sinks import SinkKind
from tpstream.model.events import BorrowedEvents, Events
from tpstream.run.loop import make_header
from tpstream.testing.runs import Case, small_scenario
from tpstream.testing.subject import watched


def kept_arrays(sink: Any, events: Events) -> list[str]:
    """The names of the columns that a sink refers to after it has heard borrowed events."""
    buffers = {name: rows.copy() for name, rows in events.columns().items()}
    before = {name: sys.getrefcount(rows) for name, rows in buffers.items()}
    lent = BorrowedEvents(**{name: rows[:] for name, rows in buffers.items()})
    wait = sink.hear(lent)
    if wait is not None:
        wait.result()
    del lent, wait
    gc.collect()
    return [name for name, rows in buffers.items() if sys.getrefcount(rows) > before[name]]


class Interruption(Exception):  # noqa: N818 (it stands for any error that ends a run)
    """Ends a run while its sink is open."""


def check_sink(kind: SinkKind | str, settings: Mapping[str, Any] | None = None, *, name: str | None = None) -> None:
    """Check that a sink keeps what sinks promise.

    It hears a whole run and does not change it, it can be opened several times at once, and if a run ends by an error
    the sink can be closed and does not hide that error. One that declares `borrows = True` keeps none of the arrays
    that it is given.

    Parameters
    ----------
    kind
        The sink as it is registered, or its name once it is installed or loaded.
    settings
        Its settings, as after the colon of `--sink`; none: the defaults.
    name
        What a report of a fault calls the sink, if it is given as an object.

    Raises
    ------
    AssertionError
        If the sink breaks a promise; the text says which.

    Examples
    --------
    >>> from tpstream.testing import check_sink
    >>> check_sink("lines", {"to": "stderr"})
    """
    with watched(SINKS, kind, name) as subject:
        given = subject.settings(subject.definition.settings, settings)
        scenario = small_scenario()
        choice = scenario.policy("tp-ucb-fr")
        header = make_header(scenario, choice, scenario.seed, 0)
        case = Case(scenario.build_world(scenario.seed, 0), choice.form, choice.parameters, subject.fail)
        alone = case.run()
        events = alone.events.take(np.arange(len(alone.events)))  # a copy
        with subject.definition.open(given, header) as sink, subject.definition.open(given, header) as second:
            for one in (sink, second):
                if not hasattr(one, "hear"):
                    subject.fail(f"open must give what has hear(events), got a {type(one).__name__}")
            case.check_equal(alone, case.run(sink=sink), "changes what others hear")
            second.hear(events)
            kept = kept_arrays(second, events) if getattr(second, "borrows", False) else []
            if kept:
                subject.fail(
                    f"declares borrows = True and keeps the array of {kept[0]}, which will be overwritten; "
                    "copy what is kept, or leave borrows out"
                )
        with suppress(Interruption):
            with subject.definition.open(given, header) as sink:
                sink.hear(events)
                raise Interruption
            subject.fail("hides the error that ended a run; its __exit__ must return None")
