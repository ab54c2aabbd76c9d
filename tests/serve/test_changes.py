"""Changes while decisions are made: another policy, fewer arms, a switch, and chance that is added for safety."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from deciders import shop

from tpstream import Decider, DeciderError, Parameters, PythonPolicy, check_log, evaluate, read_log, replay
from tpstream.log.changes import decode_change
from tpstream.model.events import Kind
from tpstream.policies import POLICIES

pytestmark = pytest.mark.usefixtures("no_flush")
LEARNER = "delayed-ucb1"
BOUNDED = {"policy": LEARNER, "maxima": 10.0, "groups": 1}


class Stubborn:
    """A policy that is an ordinary Python object."""

    def __init__(self, problem: Any, _: Any, __: Any) -> None:
        self._arms = problem.arms

    def hear(self, events: Any) -> None:
        """Listen to nothing."""

    def decide(self, _: int) -> int:
        """The last arm."""
        return int(self._arms - 1)

    def indices(self) -> Any:
        """None."""
        return np.full(self._arms, np.nan)


class Failing(Stubborn):
    """One that draws, and fails from some decision on, when it is asked or when it is told what came."""

    def __init__(self, problem: Any, parameters: Any, stream: Any) -> None:
        super().__init__(problem, parameters, stream)
        self._parameters, self._stream, self._asked = parameters, stream, 0

    def hear(self, events: Any) -> None:
        """Fail at a payment of 7."""
        if (events.value == 7.0).any():
            raise ValueError("seven")

    def decide(self, _: int) -> int:
        """Any arm; fail after some decisions, for a while."""
        self._asked += 1
        arm = int(self._stream.integers(self._arms))
        if 10 <= self._asked < 20:
            raise ValueError("ten")
        return arm


FAILING = PythonPolicy("failing", Parameters, Failing)


def busy(decider: Decider, first: int, last: int) -> list[int]:
    """Decisions at times first to last, each of which pays twice; the arms."""
    arms = []
    for number in range(first, last):
        decision = decider.decide(f"offer-{number}", at=float(number))
        arms.append(decision.arm)
        for place, amount in ((0.25, 1.0), (0.5, float(decision.arm))):
            decider.deliver(decision.token, amount=amount, key=f"{number}+{place}", at=number + place)
    return arms


def changes(decider: Decider) -> list[str]:
    """The reasons of the changes in a log."""
    keys = read_log(decider.path).columns(["key"], [Kind.CHANGED])["key"]
    return [decode_change("the log", key).reason for key in keys]


def test_another_policy_is_told_the_whole_log(tmp_path: Path) -> None:
    """It decides as if it had heard all from the beginning, old pulls go on paying, and the log replays."""
    with shop(tmp_path, policy="uniform", maxima=10.0) as decider:
        old = decider.decide("old", at=0.0)
        busy(decider, 1, 40)
        late = decider.decide("open", at=40.0)
        decider.change(policy=LEARNER, reason="it has learned enough")
        first = decider.decide("first", at=41.0)
        busy(decider, 42, 60)
        assert decider.deliver(late.token, amount=1.0, key="x", at=60.0).status == "late"
        assert old.token
        assert changes(decider) == ["it has learned enough"]
        assert decider.state()["policy"] == LEARNER
        assert first.indices is not None
        assert None not in first.indices  # that of an arm which was never tried would be infinite
        assert replay(decider.path).equal
        assert check_log(decider.path).sound
    with Decider.open(decider.path, policy=LEARNER, snapshot_every=None) as again:
        assert again.recovery.rounds == 60
        assert again.state()["policy"] == LEARNER


def test_a_restart_after_changes_decides_as_without_it(tmp_path: Path) -> None:
    """With a snapshot, without one, and in one go: the same decisions."""
    found = []
    for name, every in (("whole", None), ("told", None), ("snapshot", 1_000)):
        options = BOUNDED | {"random_share": 0.2, "snapshot_every": every}
        decider = shop(tmp_path / name, **options)
        arms = busy(decider, 0, 20)
        for action in (
            lambda one: one.switch("new", reason="a fault"),
            lambda one: one.switch(None, reason="it is mended"),
            lambda one: one.change(arms=["new"], reason="the other one is sold out"),
            lambda one: one.change(arms=["old", "new"], reason="both again"),
        ):
            action(decider)
            arms += busy(decider, len(arms), len(arms) + 10)
            if name != "whole":
                decider.close()
                decider = Decider.open(decider.path, snapshot_every=every)
                assert (decider.recovery.from_snapshot > 0) == (name == "snapshot")
        decider.close()
        assert arms[20:30] == [1] * 10
        assert arms[40:50] == [1] * 10
        assert replay(decider.path).equal
        found.append(arms)
    assert found[0] == found[1] == found[2]


def test_chance_has_the_probabilities_that_are_logged(tmp_path: Path) -> None:
    """Arms are pulled as often as their logged probabilities say, each has the minimum, and evaluation takes them."""
    options = {"policy": {"kind": "epsilon-greedy", "epsilon": 0.0}, "minimum_probability": 0.1, "random_share": 0.2}
    with shop(tmp_path, **options) as decider:
        busy(decider, 0, 400)
        log = read_log(decider.path)
        chances = log.columns(["kind", "probabilities"])["probabilities"]
        assert np.allclose(chances.sum(axis=1), 1)
        assert chances.min() == pytest.approx(0.2 / 2 + 0.8 * 0.1)
        arms = log.columns(["arm"], [Kind.PULL])["arm"]
        expected = chances.sum(axis=0)
        spread = np.sqrt((chances[:, 0] * chances[:, 1]).sum())
        assert np.abs(np.bincount(arms, minlength=2) - expected).max() < 4 * spread
        assert replay(decider.path).equal
        assert evaluate(decider.path, allocation={"new": 1.0}).estimates


def test_chance_does_not_touch_the_policys_stream(tmp_path: Path) -> None:
    """Where chance takes no part, the same decisions are made with the safety on as without."""
    with (
        shop(tmp_path / "a", policy="uniform") as plain,
        shop(tmp_path / "b", policy="uniform", random_share=1e-12) as safe,
    ):
        assert busy(plain, 0, 100) == busy(safe, 0, 100)


def test_what_cannot_be_changed_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    """Unknown arms, none, and a policy that cannot leave out arms or needs what is not known."""
    with shop(tmp_path, policy=PythonPolicy("stubborn", Parameters, Stubborn)) as decider:
        before = decider.state()["events"]
        with pytest.raises(DeciderError, match="no arm 'x'"):
            decider.switch("x", reason="?")
        with pytest.raises(DeciderError, match="'x'"):
            decider.change(arms=["x"], reason="?")
        with pytest.raises(DeciderError, match="none"):
            decider.change(arms=[], reason="?")
        with pytest.raises(DeciderError, match="means"):
            decider.change(policy="oracle", reason="?")
        with pytest.raises(DeciderError, match="plug-in"):
            decider.change(policy=PythonPolicy("other", Parameters, Stubborn), reason="?")
        with pytest.raises(DeciderError, match="cannot leave out arms"):
            decider.change(arms=["old"], reason="?")
        assert decider.state()["events"] == before


def test_a_policy_of_ones_own_goes_on_without_snapshots(tmp_path: Path) -> None:
    """An ordinary Python object is told the log again; it is named when the log is opened."""
    policy = PythonPolicy("stubborn", Parameters, Stubborn)
    with shop(tmp_path, policy=policy) as decider:
        assert busy(decider, 0, 5) == [1] * 5
        assert "ordinary Python object" in str(decider.snapshot())
    with Decider.open(decider.path, policy=policy) as decider:
        assert decider.recovery.rounds == 5
    assert replay(decider.path, policy).equal


def test_the_switch_saves_from_a_policy_that_fails(tmp_path: Path) -> None:
    """Asked or told, it may fail while an arm is switched to; it draws as it would, and the log replays and goes on."""
    with shop(tmp_path / "fine", policy=FAILING) as decider:
        arms = busy(decider, 0, 9)
    with shop(tmp_path, policy=FAILING, random_share=0.2) as decider:
        busy(decider, 0, 9)
        for _ in range(2):
            with pytest.raises(ValueError, match="ten"):
                decider.decide("ten", at=9.0)
        decider.switch("old", reason="it fails")
        assert busy(decider, 9, 25) == [0] * 16
        assert decider.state()["decisions"] == 25
        seven = decider.decide("seven", at=25.0)
        decider.deliver(seven.token, amount=7.0, key="seven", at=25.5)
        assert busy(decider, 26, 30) == [0] * 4
        assert (seven.arm, seven.probability) == (0, 1.0)
        decider.switch(None, reason="it is well again")
        more = busy(decider, 30, 40)
        assert set(more) == {0, 1}
        assert check_log(decider.path).sound
    assert replay(decider.path, FAILING).equal
    with Decider.open(decider.path, policy=FAILING) as again:
        assert again.recovery.rounds == 40
        assert again.decide("offer-39").repeated
    assert len(arms) == 9


def test_a_policy_that_fails_at_what_came_can_be_left(tmp_path: Path) -> None:
    """The switch and another policy are taken although it cannot be told what came last; a restart finds the same."""
    for name, leave in (
        ("switch", lambda decider: decider.switch("old", reason="seven")),
        ("change", lambda decider: decider.change(policy="uniform", reason="seven")),
    ):
        with shop(tmp_path / name, policy=FAILING, silence="wait") as decider:
            tokens = [decider.decide(f"{number}", at=float(number)).token for number in range(4)]
            decider.deliver(tokens[3], amount=7.0, key="seven", at=3.5)
            with pytest.raises(ValueError, match="seven"):
                decider.decide("next", at=4.0)
            leave(decider)
            arms = [decider.decide(f"offer-{number}", at=float(number)).arm for number in range(4, 9)]
        assert replay(decider.path, FAILING).equal
        with Decider.open(decider.path, policy=FAILING) as again:
            assert again.recovery.rounds == 9
            assert [again.decide(f"offer-{number}").arm for number in range(4, 9)] == arms


def test_a_policy_that_cannot_be_told_the_log_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the change is logged, and decisions go on."""
    monkeypatch.setitem(POLICIES.added, "failing", FAILING)
    with shop(tmp_path) as decider:
        token = decider.decide("offer", at=0.0).token
        decider.deliver(token, amount=7.0, key="seven", at=0.5)
        busy(decider, 1, 3)
        events = decider.state()["events"]
        with pytest.raises(ValueError, match="seven"):
            decider.change(policy="failing", reason="it looks good")
        assert decider.state()["events"] == events
        busy(decider, 3, 5)
    with Decider.open(decider.path) as again:
        assert again.recovery.rounds == 5
