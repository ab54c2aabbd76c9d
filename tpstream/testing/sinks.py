"""The check of sinks: `check_sink`."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from tpstream.log import SINKS
from tpstream.log.sinks import SinkKind
from tpstream.run.loop import make_header
from tpstream.testing.runs import Case, small_scenario
from tpstream.testing.subject import watched


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
        with suppress(Interruption):
            with subject.definition.open(given, header) as sink:
                sink.hear(events)
                raise Interruption
            subject.fail("hides the error that ended a run; its __exit__ must return None")
