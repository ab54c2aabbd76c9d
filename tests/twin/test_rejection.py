"""Replay with rejection: compiled as slowly, and what is kept is the policy at work on a share of the traffic."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from logged_worlds import CUSTOMERS, SHARES, LoggedWorld

from tpstream import PythonPolicy, import_log, read_log
from tpstream.log.reader import Log
from tpstream.model.events import Events
from tpstream.policies.base import Parameters
from tpstream.policies.runner import Runner, start_policy
from tpstream.scenario.policy_choice import PolicyChoice, request_policy
from tpstream.twin.propensities import read_propensities
from tpstream.twin.rejection import Rejection, keep_slowly, told_events, wanted_rows

WORLD = LoggedWorld("customers", CUSTOMERS, 0.3, decisions=300, span=8)


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Log:
    """A log with unequal probabilities and open decisions."""
    path = tmp_path_factory.mktemp("logs") / "log.arrows"
    for made in WORLD.logs(1, seed=3):
        path.write_bytes(made.read_bytes())
    return read_log(path)


class Copied:
    """A compiled policy of which copies can be made, as of an ordinary object."""

    def __init__(self, runner: Runner) -> None:
        self.runner = runner

    def __deepcopy__(self, memo: dict[int, Any]) -> "Copied":
        other = object.__new__(Runner)
        for name, value in vars(self.runner).items():
            setattr(other, name, deepcopy(value, memo) if name in {"state", "_subscriptions", "_ring"} else value)
        other._clock = getattr(other.state, "clock", None)
        return Copied(other)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.runner, name)


@pytest.mark.parametrize("name", ["permuted-blocks:block=6", "delayed-ucb1:groups=auto,start=random"])
def test_the_compiled_loop_is_the_slow_one(log: Log, name: str) -> None:
    """Both keep the same decisions; the first policy changes its state when it decides, the second keeps open rows."""
    known = read_propensities(log, assume_random=False)
    problem, events = log.header.problem(), told_events(log, known.decisions)
    choice = request_policy(name, ()).choose(problem)
    rejection = Rejection(choice, problem, events)
    kept = 0
    for seed in (1, 2):
        wanted = wanted_rows(known.chance, known.smallest, np.random.default_rng(seed))
        fast = rejection.keep(wanted, np.random.default_rng(seed))
        stream = np.random.default_rng(seed)
        runner = start_policy(choice.form, problem, choice.parameters, stream)
        slow = keep_slowly(Copied(runner), stream, events, wanted, problem.horizon)  # type: ignore[arg-type]
        assert fast.numbers.tolist() == slow.numbers.tolist()
        assert fast.decided.tolist() == slow.decided.tolist()
        kept += int(fast.rows.sum())
    assert 60 < kept < 180  # 0.2 of 2 x 300


def test_blocks_hold_among_kept_decisions(log: Log) -> None:
    """A policy that is not kept is as if it had not been asked: every block of the kept decisions is whole."""
    known = read_propensities(log, assume_random=False)
    problem = log.header.problem()
    choice = request_policy("permuted-blocks:block=6", ()).choose(problem)
    rejection = Rejection(choice, problem, told_events(log, known.decisions))
    found = rejection.keep(known.chance > 0, np.random.default_rng(1))
    arms = known.decisions.arm[found.rows]
    for start in range(0, len(arms) - 5, 6):
        assert np.bincount(arms[start : start + 6], minlength=3).tolist() == [2, 2, 2]


class InTurn:
    """Takes the arms in turn, and writes down in a list, of which no copies are made, what it hears."""

    def __init__(self, heard: "Heard") -> None:
        self.heard = heard

    def hear(self, events: Events) -> None:
        """Write down every event."""
        self.heard.rows += [(e.seq, e.time, e.kind, e.round, e.pull, e.arm, e.part, e.value) for e in events]

    def decide(self, round: int) -> int:
        """The next arm."""
        return (round - 1) % 3

    def indices(self) -> Any:
        """None."""
        return np.full(3, np.nan)


class Heard:
    """Rows that stay the same object in a copy."""

    def __init__(self) -> None:
        self.rows: list[tuple[Any, ...]] = []

    def __deepcopy__(self, memo: dict[int, Any]) -> "Heard":
        return self


def test_a_policy_hears_of_its_own_decisions_alone(log: Log) -> None:
    """It is told the events of what it kept, numbered anew, at the times and with the values of the log."""
    known, heard = read_propensities(log, assume_random=False), Heard()
    form = PythonPolicy("in-turn", Parameters, lambda *_: InTurn(heard))
    events = told_events(log, known.decisions)
    rejection = Rejection(PolicyChoice("in-turn", form, Parameters()), log.header.problem(), events)
    found = rejection.keep(known.chance > 0, np.random.default_rng(0))
    expected, made = [], 0
    for e in events:
        number = int(found.numbers[e.pull - 1])
        if number:
            made = max(made, number)
            expected.append((len(expected), e.time, e.kind, made, number, e.arm, e.part, e.value))
    assert len(expected) > 300
    assert heard.rows == expected
    assert (known.decisions.arm[found.rows] == np.arange(found.rows.sum()) % 3).all()


def test_payments_are_told_by_part(tmp_path: Path) -> None:
    """Of a log of payments, each part is told once, with all that it paid, when its period is over; refunds, too."""
    offers = pd.DataFrame({"id": [1, 2], "day": [0.0, 0.5], "arm": ["a", "b"], "probability": [0.5, 0.5]})
    payments = pd.DataFrame({"id": [1, 1, 1, 2], "day": [0.2, 0.9, 2.5, 2.9], "amount": [5.0, -2.0, 4.0, 7.0]})
    log = import_log(offers, payments, out=tmp_path / "a.arrows", unit="day", window=3, until=3)
    events = told_events(log, read_propensities(log, assume_random=False).decisions)
    found = [(e.time, e.kind, e.pull, e.part, e.value) for e in events]
    assert found == [
        (0.0, "pull", 1, 0, None),
        (0.5, "pull", 2, 0, None),
        (1.0, "partial", 1, 1, 3.0),
        (1.5, "partial", 2, 1, 0.0),
        (2.0, "partial", 1, 2, 0.0),
        (2.5, "partial", 2, 2, 0.0),
        (3.0, "partial", 1, 3, 4.0),
        (3.0, "closed", 1, 0, 7.0),
    ]


def test_every_arm_is_kept_as_often() -> None:
    """Whatever the arm, a decision that the policy takes is kept with probability c."""
    random = np.random.default_rng(5)
    count = 200_000
    arm, decided = random.choice(3, count, p=SHARES), random.choice(3, count, p=(0.1, 0.2, 0.7))
    kept = wanted_rows(np.array(SHARES)[arm], min(SHARES), random) & (arm == decided)
    for one in range(3):
        assert kept[decided == one].mean() == pytest.approx(0.2, abs=0.01)
