"""Arms that a trial drops: no policy gives them to anybody any more, and the others share what they had."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from families import every
from parity import case_of
from pausing import Plan, Step, run_both
from worlds import PlainArm, world_of

from tpstream.looks.posteriors import Quadrature
from tpstream.model.arrays import Bools, Floats
from tpstream.model.events import Events, Kind
from tpstream.model.world import Problem
from tpstream.policies import POLICIES
from tpstream.policies.best_arm import fill_best, quadrature_fields
from tpstream.policies.index import in_turn, nth_open
from tpstream.policies.runner import Runner, start_policy

WORLD = world_of([PlainArm(1.0, 2)] * 3, span=2, horizon=60, groups=2)
KEEPING = {"oracle"}
"""Policies that cannot leave out an arm."""
KNOWN = {
    "delayed-thompson": [{}, {"family": "gauss"}],
    "group-thompson": [{}],
    "part-thompson": [{"prior": "none"}],
    "progressive-thompson": [{}],
    "epsilon-greedy": [{}],
    "explore-then-commit": [{}],
    "best-probability": [{}, {"burn_in": 99}, {"update": "look", "power": 0.5}],
    "uniform": [{}],
    "permuted-blocks": [{}],
}
"""Policies that know the probabilities of their decisions."""
SOME = np.array([True, False, True])


def start(name: str, keys: dict[str, Any], problem: Problem, seed: int = 1) -> Runner:
    """A policy before its first round."""
    form = POLICIES.find(name)
    parameters = form.parameters(**keys)
    found = start_policy(form.for_parameters(parameters), problem, parameters, np.random.default_rng(seed))
    assert isinstance(found, Runner)
    return found


def tell(policy: Runner, pull: int, arm: int, values: Floats) -> None:
    """A pull that pays all its parts and is closed, at once."""
    shown = float(values.sum())  # only the clairvoyant policy looks at it
    rows = [(Kind.PULL, 0, shown), *((Kind.PARTIAL, j + 1, x) for j, x in enumerate(values))]
    rows.append((Kind.CLOSED, 0, shown))
    size, kinds = len(rows), np.array([row[0] for row in rows], dtype=np.int8)
    columns = {"pull": pull, "arm": arm, "round": pull}
    policy.hear(
        Events(
            seq=np.arange(size),
            time=np.full(size, float(pull)),
            kind=kinds,
            part=np.array([row[1] for row in rows]),
            value=np.array([row[2] for row in rows]),
            **{name: np.full(size, number) for name, number in columns.items()},
        )
    )


def play(policy: Runner, rounds: range, stream: np.random.Generator) -> list[int]:
    """The arms of these rounds, each of which pays at once."""
    arms = []
    for round in rounds:
        arms.append(policy.decide(round))
        tell(policy, round, arms[-1], stream.random(2) * (0.2 + 0.15 * arms[-1]))
    return arms


@pytest.mark.parametrize("name", every([name for name in POLICIES.builtin if name not in KEEPING]))
@pytest.mark.parametrize("left", [SOME, np.array([False, True, False])], ids=["two", "one"])
def test_a_dropped_arm_is_never_pulled(name: str, left: Bools) -> None:
    """Nobody is given an arm after it was dropped, in the first rounds or later; before, nothing is different."""
    for dropped in (0, 1, 30):
        policy, other = (start(name, {}, WORLD.problem) for _ in range(2))
        before = play(policy, range(1, dropped + 1), np.random.default_rng(5))
        assert before == play(other, range(1, dropped + 1), np.random.default_rng(5))
        policy.set_open_arms(left)
        assert left[play(policy, range(dropped + 1, 61), np.random.default_rng(6))].all()


def test_who_cannot_leave_out_arms() -> None:
    """Only the oracle lacks the field."""
    problem, quick = replace(WORLD.problem, means=np.ones(3)), {"gittins": {"discount": 0.5}}
    assert {name for name in POLICIES.builtin if not start(name, quick.get(name, {}), problem).drops_arms} == KEEPING


@pytest.mark.parametrize(("name", "keys"), [(name, keys) for name, several in KNOWN.items() for keys in several])
def test_probabilities_of_the_others(name: str, keys: dict[str, Any]) -> None:
    """A dropped arm has the probability 0, and the others add up to 1."""
    policy = start(name, keys, WORLD.problem)
    play(policy, range(1, 31), np.random.default_rng(5))
    policy.set_open_arms(SOME)
    policy.decide(31)
    found = policy.probabilities()
    assert found[1] == 0
    assert found.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("beta", [True, False])
def test_the_best_of_the_others(beta: bool) -> None:  # noqa: FBT001
    """The probability of being best among the open arms is that of a comparison without the dropped one."""
    firsts, seconds = np.array([3.0, 9.0, 4.0]), np.array([2.0, 2.0, 2.5])
    found = []
    for arms in ([0, 1, 2], [0, 2]):
        work = Quadrature(**quadrature_fields(np.ones(len(arms))))
        work.open_arms[:] = SOME[arms]
        fill_best(work, beta, firsts[arms], seconds[arms])
        found.append(work.probabilities)
    np.testing.assert_allclose(found[0], [found[1][0], 0.0, found[1][1]], rtol=1e-9)


def test_turns() -> None:
    """Open arms take turns; all of them are counted from the first on."""
    assert [in_turn(SOME, round) for round in range(1, 6)] == [0, 2, 0, 2, 0]
    assert [nth_open(np.array([False, True, True, False]), place) for place in (0, 1)] == [1, 2]


@pytest.mark.verify
@pytest.mark.parametrize("name", every([name for name in POLICIES.builtin if name not in KEEPING]))
def test_engines_agree_where_arms_are_dropped(name: str) -> None:
    """Both engines decide the same before and after an arm is dropped and a look is told, and leave it out."""
    plan = Plan(np.array([20.0, 25.0]), (Step(stages=(0,)), Step(stages=(1,), open_arms=SOME)))
    first, second = run_both(case_of(replace(WORLD, drain=True), name), plan)
    assert first.arms.tolist() == second.arms.tolist()
    assert 1 not in first.arms[25:]
