"""The monitor of a run: what it says at looks, in the end, and what it measures."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from lifelines import KaplanMeierFitter
from lifelines.statistics import logrank_test
from lifelines.utils import restricted_mean_survival_time

from tests.support.histories import History, random_history
from tpstream.looks.boundaries import spending_boundaries
from tpstream.looks.delayed_response import decision_after_stop
from tpstream.looks.design import Design, Looks, Reason, Rule
from tpstream.looks.monitor import MEASURES, Monitor
from tpstream.looks.spending import spent

INF = np.inf
SUPERIORITY = Rule("superiority", "z", "control", threshold=1.5)
FUTILITY = Rule("futility", "z", "control", threshold=-1.0)
DESIGN = Design(
    ("control", "new"),
    12,
    np.array([2.0]),
    np.ones(1),
    control=0,
    looks=Looks("known", (6.0, 10.0)),
    information=(0.5, 10 / 12, 1.0),
    rules=(SUPERIORITY, FUTILITY),
    counts=True,
    caps=np.ones((2, 1)),
)


def trial_of(outcomes: list[list[float]], known: list[float] | None = None) -> History:
    """Patients who come at times 1, 2, ..., in turn on both arms; outcomes of each arm, after 2 or as given."""
    values = np.array(outcomes, dtype=np.float64).T.reshape(-1, 1)
    count = len(values)
    entered = np.arange(1.0, count + 1)
    at = entered + 2 if known is None else np.array(known)
    shape = count, 1
    return History(np.arange(count) % 2, entered, values, at.reshape(shape), np.full(shape, INF))


def watch(design: Design, history: History, cuts: list[float]) -> Monitor:
    """A monitor that holds looks until one stops the trial, after it heard everything."""
    monitor = Monitor(design, np.array(cuts), np.array(cuts) + 0.5)
    monitor.hear(history.events())
    for look in range(len(cuts)):
        if monitor.analyse(look).verdict.stop:
            break
    return monitor


def test_a_stop_and_what_comes_after_it() -> None:
    """After 6 patients, 1 of 3 and 3 of 3 responded: superior. With all 12 it is 4 and 3 of 6: not any more."""
    history = trial_of([[1, 0, 0, 1, 1, 1], [1, 1, 1, 0, 0, 0]])
    found = watch(DESIGN, history, [8.0, 12.0]).values()
    assert set(found) == set(MEASURES)
    assert (found["conclusion"], found["selected"], found["stop_look"], found["stop_time"]) == (2, 1, 1, 8.5)
    assert found["look_statistic"][0, 0, 1] == pytest.approx((2 / 3) / math.sqrt(2 / 9 / 3))
    assert (found["final_conclusion"], found["final_selected"]) == (Reason.MAXIMUM, -1)
    assert found["look_counted"][0].tolist() == [3, 3]
    assert np.isnan(found["look_counted"][1]).all()
    assert (found["look_enrolled"].tolist(), found["overrun"]) == ([8, 0], 6)
    assert found["final_estimate"] == pytest.approx([4 / 6, 3 / 6])
    assert found["stop_estimate"] == pytest.approx([1 / 3, 1])
    assert found["outcome_sum"].tolist() == [4, 3]
    assert found["arm_reason"].tolist() == [2, 2]
    assert found["duration"] == 14.0
    # Of the 8 patients enrolled at the cut 2 of 4 and 3 of 4 responded in the end: no reason to stop.
    assert (found["known_conclusion"], found["known_selected"]) == (5, -1)
    assert found["look_known"][0] == 0
    assert np.isnan(found["look_known"][1])
    assert found["look_wrong"].tolist() == [1, 0]
    assert found["final_critical"].tolist() == [[1.5, 1.5], [-1.0, -1.0]]


def test_a_look_that_would_have_stopped_with_complete_data() -> None:
    """Of the 6 who are known 0 of 3 and 1 of 3 responded; with the 2 who are not it is 0 of 4 and 2 of 4: superior."""
    history = trial_of([[0, 0, 0, 0, 1, 0], [1, 0, 0, 1, 0, 0]])
    found = watch(DESIGN, history, [8.0, 12.0]).values()
    assert (found["conclusion"], found["known_conclusion"]) == (Reason.MAXIMUM, Reason.MAXIMUM)
    assert found["look_known"].tolist() == [Reason.SUPERIORITY, 0]
    assert found["look_wrong"].tolist() == [1, 0]


def test_a_trial_that_goes_on() -> None:
    """No look stops it: it reaches its maximum, and the final analysis has its own conclusion."""
    history = trial_of([[0, 1, 0, 1, 0, 0], [0, 1, 0, 1, 1, 1]])
    found = watch(replace(DESIGN, rules=(replace(SUPERIORITY, threshold=1.2), FUTILITY)), history, [8.0, 10.0]).values()
    assert (found["conclusion"], found["stop_look"], found["stop_time"]) == (5, 0, 12.0)
    assert (found["final_conclusion"], found["final_selected"], found["overrun"]) == (2, 1, 0)
    assert found["final_verdict"].tolist() == [0, 2]
    assert found["final_z"][1] == pytest.approx((2 / 6) / math.sqrt(2 * 2 / 9 / 6))
    assert math.isnan(found["final_z"][0])


def test_nobody_is_counted_early_or_before_known() -> None:
    """Who is known before he is due counts when he is due, and one whose outcome is late counts then."""
    known = [1.5, 2.5, 5.0, 6.0, 9.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0]
    history = trial_of([[1, 0, 0, 1, 1, 1], [1, 1, 1, 0, 0, 0]], known)
    monitor = Monitor(DESIGN, np.array([3.5, 8.0]), np.array([3.5, 8.0]))
    monitor.hear(history.events())
    assert monitor.analyse(0).moments.counted.tolist() == [1, 0]  # the second is due at 4
    assert monitor.analyse(1).moments.counted.tolist() == [2, 3]  # the fifth is due at 7 and known at 9


def test_arms_closed_before_keep_their_reason() -> None:
    """An arm that is futile at the first look is closed; the trial goes on with the other, which is judged alone."""
    rules = (SUPERIORITY, replace(FUTILITY, threshold=-0.9))
    design = replace(DESIGN, names=("control", "one", "two"), caps=np.ones((3, 1)), rules=rules)
    values = np.array([1, 0, 1, 1, 0, 1, 0, 0, 1, 0, 1, 1.0]).reshape(-1, 1)
    entered = np.arange(1.0, 13)
    known = (entered + 2).reshape(-1, 1)
    history = History(np.array([0, 1, 2] * 4), entered, values, known, np.full((12, 1), INF))
    found = watch(design, history, [8.0, 13.0]).values()
    assert found["arm_reason"].tolist()[1] == Reason.FUTILITY
    assert found["arm_look"].tolist()[1] == 1
    assert math.isnan(found["look_statistic"][1, 0, 1])
    assert found["final_verdict"][1] == Reason.FUTILITY


SURVIVAL = Design(
    ("control", "new"),
    40,
    np.array([1.0, 2.5, 4.0]),
    np.ones(3),
    control=0,
    looks=Looks("time", (6.0,), analysis="available"),
    rules=(
        Rule("superiority", "logrank", "control", threshold=9.0),
        Rule("superiority", "rmst", "control", threshold=9.0),
    ),
    survival=True,
    caps=np.tile([1.0, 1.5, 1.5], (2, 1)),
)


@pytest.mark.parametrize(("cut", "lower"), [(6.0, False), (9.0, True)])
def test_survival_counts_follow_up_so_far(cut: float, lower: bool) -> None:  # noqa: FBT001
    """Deaths between visits are known at the visit, and who is alive is followed up to the last visit that is known."""
    random = np.random.default_rng(3)
    count, visits = 40, SURVIVAL.visits
    entered, death = np.sort(random.uniform(0.5, 6, count)), random.exponential(3, count)
    due = entered[:, np.newaxis] + visits
    values = np.diff(np.minimum(death[:, np.newaxis], visits), axis=1, prepend=0.0)
    history = History(np.arange(count) % 2, entered, values, due, np.full((count, 3), INF))
    monitor = Monitor(replace(SURVIVAL, lower=lower), np.array([cut]), np.array([cut]))
    monitor.hear(history.events())
    found = monitor.analyse(0).verdict.statistic[:, 1]
    times, died, arm = [], [], []
    for row in range(count):
        seen = [part for part in range(3) if due[row, part] <= cut]
        if seen:
            times.append(min(death[row], visits[seen[-1]]))
            died.append(death[row] < visits[seen[-1]])
            arm.append(history.arm[row])
    new, (t, d) = np.array(arm) == 1, (np.array(times), np.array(died))
    sign = -1 if lower else 1
    chi = logrank_test(t[new], t[~new], d[new], d[~new]).test_statistic
    assert found[0] ** 2 == pytest.approx(chi)
    areas = [restricted_mean_survival_time(KaplanMeierFitter().fit(t[own], d[own]), 4.0) for own in (new, ~new)]
    assert np.sign(found[1]) == sign * np.sign(areas[0] - areas[1])


def test_survival_is_claimed_before_anybody_reaches_the_last_visit() -> None:
    """At a look at 3, of patients enrolled from time 0 on, the log-rank test stops the trial; the means are not known.

    The trial has an error of its own for claims at such looks: none of them is lost.
    """
    entered, arm = np.linspace(0.0, 0.4, 40), np.arange(40) % 2
    death = np.where(arm == 0, 0.9, 9.0)
    values = np.diff(np.minimum(death[:, np.newaxis], SURVIVAL.visits), axis=1, prepend=0.0)
    history = History(arm, entered, values, entered[:, np.newaxis] + SURVIVAL.visits, np.full((40, 3), INF))
    rules = tuple(replace(rule, threshold=2.0) for rule in SURVIVAL.rules)
    found = watch(replace(SURVIVAL, rules=rules), history, [3.0]).values()
    assert (found["conclusion"], found["selected"], found["stop_look"]) == (Reason.SUPERIORITY, 1, 1)
    assert np.isnan(found["stop_estimate"]).all()
    assert math.isnan(found["look_statistic"][0, 1, 1])


def test_any_batches_and_any_later_events_give_the_same_values() -> None:
    """All measures are equal to the last bit whether events come at once or up to each cut and in pieces."""
    design = replace(DESIGN, horizon=30)
    history = random_history(5, np.array([2.0]), 2, 30, binary=True)
    events = history.events()
    whole = Monitor(design, np.array([12.0, 20.0]), np.array([12.0, 20.0]))
    parted = Monitor(design, np.array([12.0, 20.0]), np.array([12.0, 20.0]))
    whole.hear(events)
    for look, cut in enumerate((12.0, 20.0)):
        whole.analyse(look)
        upto = int(np.searchsorted(events.time, cut, side="right"))
        before = 0 if look == 0 else int(np.searchsorted(events.time, 12.0, side="right"))
        for first in range(before, upto, 7):
            parted.hear(events.cut(first, min(first + 7, upto)))
        parted.analyse(look)
    parted.hear(events.cut(int(np.searchsorted(events.time, 20.0, side="right")), len(events)))
    one, other = whole.values(), parted.values()
    assert {name: value.tobytes() for name, value in one.items()} == {
        name: value.tobytes() for name, value in other.items()
    }


def test_shapes_of_measures() -> None:
    """Looks, rules and arms each have their axis, and every measure is a number."""
    found: dict[str, Any] = watch(DESIGN, trial_of([[1, 0, 0, 1, 1, 1], [1, 1, 1, 0, 0, 0]]), [8.0, 12.0]).values()
    shapes = {name: value.shape for name, value in found.items()}
    assert shapes["look_statistic"] == (2, 2, 2)
    assert all(shapes[name] == (2, 2) for name in ("look_counted", "look_estimate", "look_verdict"))
    assert all(shapes[name] == () for name in ("conclusion", "selected", "overrun", "duration", "known_selected"))
    assert all(value.dtype == np.float64 for value in found.values())


def test_delayed_decisions_are_at_the_pipeline_that_is_there() -> None:
    """The final z is compared with the decision value at the information that really came, in unbalanced trials.

    Patients come at random to both arms, some drop out, and every trial has another pipeline; literally, with the n of
    the treatment and of the control at the stop and in the end, the information grows as 1 / (1 / n + 1 / n).
    """
    planned, due, count = np.array([0.4, 0.65, 1.0]), 15.0, 100
    rules = (
        Rule("superiority", "z", "control", alpha=0.2, delayed_response=True),
        Rule("futility", "z", "control", beta=0.3),
    )
    looks = Looks("known", (40.0, 65.0))
    design = Design(
        ("control", "new"),
        count,
        np.array([due]),
        np.ones(1),
        control=0,
        looks=looks,
        information=(0.4, 0.65, 1.0),
        rules=rules,
    )
    spent_of = [spent("obrien-fleming", error, planned) for error in (0.2, 0.3)]
    boundaries = spending_boundaries(planned, *spent_of)
    pipelines, conclusions, moved = set(), set(), 0
    for seed in range(60):
        random = np.random.default_rng(seed)
        arm, entered = (random.random(count) < 0.6).astype(np.int64), np.arange(1.0, count + 1)
        values, gone = (random.normal(size=count) + 0.2 * arm).reshape(-1, 1), random.random((count, 1)) < 0.2
        ends = (entered + due).reshape(-1, 1)
        history = History(arm, entered, values, np.where(gone, INF, ends), np.where(gone, ends, INF))
        cuts = [40.0 + due, 65.0 + due]
        monitor = watch(design, history, cuts)
        if not monitor.stopped:
            continue
        look = len(monitor.looks) - 1
        final = monitor.values()
        information = []
        for known in (cuts[look], INF):
            number = [np.count_nonzero((arm == one) & ~gone[:, 0] & (ends[:, 0] <= known)) for one in (0, 1)]
            information.append(1 / (1 / number[0] + 1 / number[1]))
        delayed = planned[look] * (information[1] / information[0] - 1)
        critical = decision_after_stop(boundaries, look, delayed).critical
        as_planned = decision_after_stop(boundaries, look, planned[look] * (count / (40.0, 65.0)[look] - 1)).critical
        z = float(final["final_z"][1])
        if abs(z - critical) > 1e-3:  # decisions are interpolated
            assert final["final_conclusion"] == (Reason.SUPERIORITY if z >= critical else Reason.FUTILITY)
        pipelines.add(round(delayed, 3))
        conclusions.add(float(final["final_conclusion"]))
        moved += abs(critical - as_planned) > 0.01
    assert conclusions == {Reason.SUPERIORITY, Reason.FUTILITY}
    assert len(pipelines) > 20
    assert moved > 5, "what was planned would give other decision values"
