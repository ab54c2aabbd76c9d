"""The check of sinks: `check_sink`."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from tpstream.log import SINKS
from tpstream.log.schema import Header
from tpstream.log.sinks import SinkKind
from tpstream.model.events import Events
from tpstream.run.loop import make_header
from tpstream.testing.runs import difference, run_simpy, small_scenario
from tpstream.testing.subject import Subject, subject_of


class Interruption(Exception):  # noqa: N818 (it stands for any error that ends a run)
    """Ends a run while its sink is open."""


def check_sink(kind: SinkKind | str, settings: Mapping[str, Any] | None = None, *, name: str | None = None) -> None:
    """Check that a sink keeps what sinks promise.

    It hears a whole run and does not change it, it can be opened several times at once, and if a run ends by an error
    the sink can be closed and does not hide that error.

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
    subject = subject_of(SINKS, kind, name)
    with subject.watched():
        given = subject.settings(subject.definition.settings, settings)
        scenario = small_scenario()
        choice = scenario.policy("tp-ucb-fr")
        world, header = scenario.build_world(scenario.seed, 0), make_header(scenario, choice, scenario.seed, 0)
        alone = run_simpy(world, choice.form, choice.parameters)
        with subject.definition.open(given, header) as sink, subject.definition.open(given, header) as second:
            for one in (sink, second):
                if not hasattr(one, "hear"):
                    subject.fail(f"open must give what has hear(events), got a {type(one).__name__}")
            fault = difference(alone, run_simpy(world, choice.form, choice.parameters, sink=sink))
            if fault:
                subject.fail(f"changes what others hear: {fault}")
            second.hear(_copy(alone.events))
        _check_interrupted(subject, given, header, alone.events)


def _check_interrupted(subject: Subject, given: Any, header: Header, events: Events) -> None:
    """Check that an error that ends a run passes through the sink."""
    try:
        with subject.definition.open(given, header) as sink:
            sink.hear(_copy(events))
            _interrupt()
    except Interruption:
        return
    subject.fail("hides the error that ended a run; its __exit__ must return None")


def _interrupt() -> None:
    raise Interruption


def _copy(events: Events) -> Events:
    return events.take(np.arange(len(events)))
