"""Calendars and arrivals that go wrong in a run: the error names them, and the pull and part or the time or round."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bad_plugins import HORIZON, Kind, fail, failure
from plugged import forgetful
from studies import small

from tpstream import simulate
from tpstream.engines.engine import EngineName
from tpstream.model.arrays import Floats
from tpstream.model.errors import DelayError, EngineError
from tpstream.scenario.plugins import REGISTRIES

__all__ = ["forgetful"]
pytestmark = pytest.mark.usefixtures("forgetful")


class Calendar:
    """Hands out everything a round later, or wrongly what arrives from time 500 on."""

    whole = True

    def __init__(self, wrong: Callable[[Floats], Any]) -> None:
        self.wrong = wrong

    def reported(self, times: Floats) -> Any:
        """When it is handed out."""
        return self.wrong(times + 1) if times.max() >= 500 else times + 1


def _late(value: float) -> Callable[[Floats], Floats]:
    """That value for what arrives from time 500 on."""
    return lambda right: np.where(right > 500, value, right)


TIME = r"(part 6 of pull 495, which arrives at time 500\.0,|what arrives at time 500\.0)"
CALENDAR_FAULTS: dict[str, tuple[Callable[[Floats], Any], str]] = {
    "raises": (fail, r" raised KeyError for (pull 495|times 0\.0 to \d+\.0): 'lost'$"),
    "shape": (
        lambda right: right[:2],
        r": reported times( of pull 495)? must be float64 of shape \(\d+,\), got .*\(2,\)$",
    ),
    "not a number": (_late(np.nan), f": {TIME} is handed out at nan; give a finite time"),
    "never": (_late(np.inf), f": {TIME} is handed out at inf; give a finite time"),
    "early": (_late(1.0), rf": {TIME} is handed out at 1\.0; give a finite time that is not earlier$"),
}


@pytest.mark.parametrize("engine", ["simpy", "compiled"])
@pytest.mark.parametrize("fault", CALENDAR_FAULTS)
def test_a_calendar_goes_wrong(tmp_path: Path, fault: str, engine: EngineName) -> None:
    """The calendar is named; SimPy tells the pull and the part, the compiled engine, which asks ahead, the time."""
    wrong, message = CALENDAR_FAULTS[fault]
    REGISTRIES["delays"].added["bad"] = Kind(lambda *_: Calendar(wrong))
    told = failure(tmp_path, small(horizon=HORIZON, delays=[{"kind": "bad"}]), "uniform", engine)
    assert re.search(rf"^delays\[0\] \(bad\){message}", told), told
    assert (engine == "simpy") == ("pull 495" in told)


class Arrivals:
    """Decisions at wrong times."""

    regular = False

    def __init__(self, wrong: Callable[[Floats], Any]) -> None:
        self.wrong = wrong

    def times(self, stream: np.random.Generator, horizon: int) -> Any:  # noqa: ARG002
        """When decisions are due."""
        return self.wrong(np.arange(1.0, horizon + 1))


ARRIVAL_FAULTS: dict[str, tuple[Callable[[Floats], Any], str]] = {
    "raises": (fail, "raised KeyError for 60 rounds: 'lost'"),
    "shape": (lambda right: right[:2], "times must be float64 of shape (60,), got float64 (2,)"),
    "not a number": (
        lambda right: np.where(right == 7, np.nan, right),
        "the time of round 7 is nan; give a finite time",
    ),
    "early": (lambda right: np.where(right == 7, 1.5, right), "round 7 at time 1.5 is before round 6; sort the times"),
}


@pytest.mark.parametrize("fault", ARRIVAL_FAULTS)
def test_arrivals_go_wrong(tmp_path: Path, fault: str) -> None:
    """The arrival process is named, and the round; that is before the first round, so there is no log."""
    wrong, message = ARRIVAL_FAULTS[fault]
    REGISTRIES["arrivals"].added["bad"] = Kind(lambda *_: Arrivals(wrong))
    with pytest.raises(DelayError) as caught:
        simulate(small(arrivals={"kind": "bad"}), "uniform", log=tmp_path / "run.jsonl")
    assert re.fullmatch(rf"arrivals \(bad\):? {re.escape(message)}", str(caught.value)), caught.value
    assert not list(tmp_path.iterdir())


def test_a_calendar_that_is_not_whole_after_all() -> None:
    """The compiled engine does not cut times to whole rounds, and says what to do."""
    REGISTRIES["delays"].added["bad"] = Kind(lambda *_: Calendar(lambda right: right + 0.5))
    scenario = small(delays=[{"kind": "bad"}], horizon=600)
    with pytest.raises(EngineError, match="says that it keeps times whole, and does not; use the SimPy engine"):
        simulate(scenario, "uniform", engine="compiled")
    assert len(simulate(scenario, "uniform", engine="simpy").arms) == 600
