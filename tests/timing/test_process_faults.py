"""A process delay that goes wrong: the error names it, the pull and the part; the log up to there is readable."""

import math
import re
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import simpy
from bad_plugins import Kind
from plugged import forgetful
from studies import small

from tpstream import read_log, simulate
from tpstream.model.errors import DelayError
from tpstream.scenario.plugins import REGISTRIES

__all__ = ["forgetful"]
pytestmark = pytest.mark.usefixtures("forgetful")

Run = Callable[[Any], Any]
PULL = 20
"""The pull that goes wrong."""


class Process:
    """Delivers each part when it arrives; what it does besides in one pull is wrong."""

    def __init__(self, wrong: Run) -> None:
        self.wrong = wrong

    def run(self, context: Any) -> Any:
        """Deliver the parts, or in one pull do what is wrong."""
        return self.wrong(context) if context.pull == PULL else right(context)


def right(context: Any) -> Generator[simpy.Event, Any, None]:
    """Deliver each part when it arrives, as a process should."""
    for time, part in context.arrivals:
        yield context.wait_until(time)
        context.deliver(part)


def yields(what: Callable[[Any], Any]) -> Run:
    """A process that yields this after its second part, and then goes on."""

    def run(context: Any) -> Generator[Any, Any, None]:
        for time, part in context.arrivals:
            yield context.wait_until(time)
            context.deliver(part)
            if part == 2:
                yield what(context)

    return run


def in_its_own(what: Callable[[Any], Any]) -> Run:
    """A process with another one for each part, in the second of which something goes wrong."""

    def bring(context: Any, time: float, part: int) -> Generator[Any, Any, None]:
        yield context.wait_until(time)
        if part == 2:
            yield what(context)
        context.deliver(part)

    def run(context: Any) -> Generator[Any, Any, None]:
        for time, part in context.arrivals:
            context.env.process(bring(context, time, part))
        yield context.env.timeout(20)

    return run


def in_a_callback(what: Callable[[Any], Any]) -> Run:
    """A process in whose callback something goes wrong."""

    def run(context: Any) -> Generator[Any, Any, None]:
        context.wait_until(context.env.now + 1).callbacks.append(lambda _: what(context))
        yield from right(context)

    return run


def stop_the_clock(context: Any) -> Generator[Any, Any, None]:
    """A process that breaks the clock by force."""
    yield context.wait_until(context.arrivals[1][0])
    context.env._now = math.nan
    context.deliver(2)


def _raise(_: Any) -> Any:
    raise KeyError("lost")


BAD, EVENT = r"^delays\[0\] \(bad\)", r"give an event of context\.env, as in context\.env\.timeout\(1\)$"
DELAY = r"in pull 20: a delay of {}; give a finite one of at least 0$"
FAULTS: dict[str, tuple[Run, str]] = {
    "timeout nan": (yields(lambda context: context.env.timeout(math.nan)), f"raised ValueError {DELAY.format('nan')}"),
    "timeout inf": (yields(lambda context: context.env.timeout(math.inf)), f"raised ValueError {DELAY.format('inf')}"),
    "timeout of an array": (yields(lambda context: context.env.timeout(np.ones(2))), r"raised ValueError in pull 20: "),
    "timeout below 0": (
        yields(lambda context: context.env.timeout(-1)),
        "raised ValueError in pull 20: Negative delay -1",
    ),
    "timeout of SimPy": (
        yields(lambda context: simpy.Timeout(context.env, math.nan)),
        f"raised ValueError {DELAY.format('nan')}",
    ),
    "schedule before now": (
        yields(lambda context: context.env.schedule(context.env.event(), delay=-2)),
        f"raised ValueError {DELAY.format('-2')}",
    ),
    "wait until nan": (
        yields(lambda context: context.wait_until(math.nan)),
        r"waits until nan in pull 20 at time 21\.0; give a finite time$",
    ),
    "wait until inf": (yields(lambda context: context.wait_until(math.inf)), "waits until inf in pull 20 at time 21"),
    "wait until a text": (yields(lambda context: context.wait_until("soon")), "raised ValueError in pull 20: .*'soon'"),
    "yields a number": (yields(lambda _: 5), f"yields 5 in pull 20; {EVENT}"),
    "yields nothing": (yields(lambda _: None), f"yields None in pull 20; {EVENT}"),
    "event of another world": (
        yields(lambda _: simpy.Environment().timeout(1)),
        rf"yields <Timeout\(1\) .*> in pull 20; {EVENT}",
    ),
    "event fails": (
        yields(lambda context: context.env.event().fail(KeyError("lost"))),
        "raised KeyError in pull 20: 'lost'$",
    ),
    "no generator": (
        lambda _: None,
        "run must be a generator, got NoneType for pull 20; yield events$",
    ),
    "raises at once": (_raise, "raised KeyError for pull 20: 'lost'$"),
    "raises": (yields(_raise), "raised KeyError in pull 20: 'lost'$"),
    "own process: nan": (
        in_its_own(lambda context: context.env.timeout(math.nan)),
        f"raised ValueError {DELAY.format('nan')}",
    ),
    "own process: a number": (in_its_own(lambda _: 5), f"yields 5 in pull 20; {EVENT}"),
    "own process: raises": (in_its_own(_raise), "raised KeyError in pull 20: 'lost'$"),
    "callback: nan": (
        in_a_callback(lambda context: context.env.timeout(math.nan)),
        r"raised ValueError in a callback at time 21\.0: a delay of nan; ",
    ),
    "callback: too early": (
        in_a_callback(lambda context: context.deliver(5)),
        r"delivered part 5 of pull 20 at time 21\.0, before it arrives at 24\.0",
    ),
    "broken clock": (stop_the_clock, "settled part 2 of pull 20 at time nan; leave the clock to SimPy$"),
}


def failure(wrong: Run, log: Path | None = None, **keys: Any) -> str:
    """The error with which a run under that process ends."""
    REGISTRIES["delays"].added["bad"] = Kind(lambda *_: Process(wrong))
    with pytest.raises(DelayError) as caught:
        simulate(small(delays=[{"kind": "bad"}], **keys), "uniform", log=log)
    return str(caught.value)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_process_goes_wrong(tmp_path: Path, fault: str) -> None:
    """The delay is named with its place in the scenario and the pull, with a log and without."""
    wrong, message = FAULTS[fault]
    told = failure(wrong)
    assert re.search(rf"{BAD}:? {message}", told), told
    assert failure(wrong, tmp_path / "run.jsonl").split(" object at ")[0] == told.split(" object at ")[0]
    log = read_log(tmp_path / "run.jsonl")
    frame = log.frame()
    parts = (frame["kind"] == "partial") & (frame["pull"] == 15)
    assert (log.complete, int(parts.sum())) == (False, 6)


@pytest.mark.parametrize("fault", ["timeout nan", "yields a number", "own process: raises", "callback: nan"])
def test_a_process_goes_wrong_after_the_last_round(fault: str) -> None:
    """While the last pulls are waited for, faults are told just the same."""
    wrong, message = FAULTS[fault]
    told = failure(wrong, horizon=PULL)
    assert re.search(rf"{BAD} {message}", told), told


def test_a_process_may_handle_what_its_own_processes_raise() -> None:
    """An exception goes to the process that waits for it, as it is; so do what a process returns and interrupts."""

    def fall(context: Any) -> Generator[Any, Any, None]:
        yield context.env.timeout(0.5)
        raise KeyError("lost")

    def sleep(context: Any) -> Generator[Any, Any, str]:
        try:
            yield context.env.timeout(99)
        except simpy.Interrupt as interrupt:
            return str(interrupt.cause)
        return "slept"

    def run(context: Any) -> Generator[Any, Any, None]:
        with pytest.raises(KeyError, match="lost"):
            yield context.env.process(fall(context))
        sleeper = context.env.process(sleep(context))
        yield context.env.timeout(0.25)
        sleeper.interrupt("ring")
        assert (yield sleeper) == "ring"
        for time, part in context.arrivals:
            yield context.wait_until(time)
            context.deliver(part)

    REGISTRIES["delays"].added["bad"] = Kind(lambda *_: Process(run))
    assert len(simulate(small(delays=[{"kind": "bad"}]), "uniform").arms) == 60


def test_a_time_that_is_past_is_not_waited_for() -> None:
    """`wait_until` a time that is past goes on at once, at the present time, and is no error."""
    passed = []

    def run(context: Any) -> Generator[Any, Any, None]:
        for time, part in context.arrivals:
            yield context.wait_until(time)
            yield context.wait_until(time - 3)
            passed.append(context.env.now - time)
            context.deliver(part)

    REGISTRIES["delays"].added["bad"] = Kind(lambda *_: Process(run))
    assert len(simulate(small(delays=[{"kind": "bad"}]), "uniform").arms) == 60
    assert passed == [0.0] * 6
