"""Tables of published trials: what is measured of simulated trials, by hand, and that a few trials come near."""

from pathlib import Path

import numpy as np
import pytest

from tpstream import Scenario, read_log, simulate
from tpstream.paper.immediate_trials import Trials, simulate_trials
from tpstream.paper.published import SEED, Effort
from tpstream.paper.trials_brar import CELLS, brar, brar_delayed, measure
from tpstream.paper.trials_villar import cut_off, p_values, villar_four, villar_two

FEW = Effort(2)


def test_totals_are_those_of_the_logs(tmp_path: Path) -> None:
    """Patients and successes of every arm, counted from the log of the same run, with outcomes known later."""
    found = simulate_trials(Effort(2), "uniform", (0.3, 0.6), 40, later=5, first=3)
    arms = [{"probability": rate} for rate in (0.3, 0.6)]
    trial = Scenario(name="published trial", horizon=40, span=1, rewards={"kind": "binary"}, arms=arms, drain=True)
    for row, run in enumerate((3, 4)):
        path = tmp_path / f"{run}.jsonl"
        simulate(trial.with_(delays=[{"kind": "constant", "lag": 5}]), "uniform", seed=SEED, run=run, log=path)
        events = list(read_log(path).events())
        for arm in range(2):
            values = [event.value or 0.0 for event in events if event.kind == "closed" and event.arm == arm]
            assert (found.patients[row, arm], found.successes[row, arm]) == (len(values), sum(values))


def test_what_is_measured_of_a_trial() -> None:
    """Two trials by hand: 0.5 against 0.25 with 100 patients each, and one in which the treatment has 40 patients."""
    trials = Trials(np.array([[100.0, 100.0], [160.0, 40.0]]), np.array([[25.0, 50.0], [40.0, 10.0]]))
    found = measure(CELLS[1], trials)
    assert found.successes.tolist() == [0.375, 0.25]
    assert found.on_first.tolist() == [0.5, 0.2]
    assert found.error.tolist() == pytest.approx([0.15, -0.1])
    assert found.reject.tolist() == [1.0, 0.0]  # 0.25 less 1.96 times 0.0661
    assert found.coverage.tolist() == [0.0, 1.0]  # 0.15 is more than 1.96 times 0.0661, 0.1 less than 1.96 times 0.0766
    assert found.fewer.tolist() == [0.0, 1.0]


def test_a_trial_without_patients_on_an_arm_has_no_difference() -> None:
    """It counts for allocation and successes, and not for the difference."""
    found = measure(CELLS[1], Trials(np.array([[0.0, 200.0], [100.0, 100.0]]), np.array([[0.0, 70.0], [25.0, 35.0]])))
    assert (len(found.on_first), len(found.error)) == (2, 1)


def test_the_cut_off() -> None:
    """Of 40 trials without a better arm, the two with the smallest p values are called: 5 %."""
    successes = np.array([[10.0, 10.0 + extra] for extra in range(40)])
    values = p_values(Trials(np.full((40, 2), 60.0), successes))
    assert np.flatnonzero(values <= cut_off(values)).tolist() == [38, 39]
    assert np.flatnonzero(values <= cut_off(values, 0.025)).tolist() == [37, 38, 39]


@pytest.mark.slow
def test_every_table_has_its_rows() -> None:
    """All published numbers are compared, each with its error."""
    tables = {"two": villar_two(FEW), "brar": brar(FEW), "delayed": brar_delayed(FEW), "four": villar_four(FEW)}
    assert {name: len(rows) for name, rows in tables.items()} == {"two": 23, "brar": 42, "delayed": 12, "four": 12}
    assert all(one.published_error >= 0 and one.error >= 0 for rows in tables.values() for one in rows)
