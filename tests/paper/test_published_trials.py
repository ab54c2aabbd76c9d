"""Tables of published trials: what is measured of simulated trials, by hand, and that a few trials come near."""

from pathlib import Path

import numpy as np
import pytest

from tpstream import Scenario, read_log, simulate
from tpstream.model.arrays import Floats
from tpstream.paper import delayed_outcomes
from tpstream.paper.immediate_trials import Trials, simulate_trials
from tpstream.paper.published import SEED, Effort
from tpstream.paper.trial_numbers import TABLES
from tpstream.paper.trials_brar import CELLS, measure
from tpstream.paper.trials_villar import BELIEF, BETTER, CONTROL, RANDOM_BELIEF, TWO, cut_off, p_values


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


def test_finished_trials_are_kept(tmp_path: Path) -> None:
    """More trials in the same folder go on after those that are there, which are not simulated again."""
    told: list[int] = []
    few = simulate_trials(Effort(2, folder=tmp_path), "uniform", (0.3, 0.6), 40)
    more = simulate_trials(Effort(3, folder=tmp_path, progress=told.append), "uniform", (0.3, 0.6), 40)
    assert told[0] == 2 * 40  # at once, since they are there
    assert sum(told) == 3 * 40
    assert more.successes[:2].tolist() == few.successes.tolist()
    assert len(list(tmp_path.iterdir())) == 1
    simulate_trials(Effort(2, folder=tmp_path), "uniform", (0.3, 0.6), 40, later=5)
    assert len(list(tmp_path.iterdir())) == 2


def literal_belief(trials: int, seed: int, *, random: bool) -> Trials:
    """The current-belief rule in 148 patients, step by step, all trials at once."""
    stream, rates = np.random.default_rng(seed), np.array([CONTROL, BETTER])
    patients, successes = np.zeros((trials, 2)), np.zeros((trials, 2))
    for _ in range(148):
        beliefs = (successes[:, ::-1] + 1) * (patients + 2)  # those of the other arm, over a common denominator
        tied = beliefs[:, 0] == beliefs[:, 1]
        arm = np.where(tied, random & (stream.random(trials) < 0.5), beliefs[:, 0] > beliefs[:, 1]).astype(np.int64)
        patients[np.arange(trials), arm] += 1
        successes[np.arange(trials), arm] += stream.random(trials) < rates[arm]
    return Trials(patients, successes)


def mean_and_error(values: Floats) -> Floats:
    """The mean of those that are known, and its standard error."""
    known = values[~np.isnan(values)]
    return np.array([known.mean(), known.std() / np.sqrt(known.size)])


@pytest.mark.verify
@pytest.mark.parametrize(("policy", "random"), [(BELIEF, False), (RANDOM_BELIEF, True)])
def test_the_bias_of_the_current_belief_rule_is_that_of_a_literal_version(policy: str, random: bool) -> None:  # noqa: FBT001
    """The stated EPS is that with ties to the control and the stated bias is not: it is nearer that of random ties."""
    literal, ours = literal_belief(200_000, 1, random=random), simulate_trials(Effort(20_000), policy, (0.3, 0.5), 148)
    for one, other in (
        (literal.patients[:, 1] / 148, ours.patients[:, 1] / 148),
        (literal.estimates[:, 1] - literal.estimates[:, 0], ours.estimates[:, 1] - ours.estimates[:, 0]),
    ):
        (mean, error), (our_mean, our_error) = mean_and_error(one), mean_and_error(other)
        assert abs(mean - our_mean) < 4 * np.hypot(error, our_error)
    share, bias = (
        literal.patients[:, 1].mean() / 148,
        np.nanmean(literal.estimates[:, 1] - literal.estimates[:, 0]) - 0.2,
    )
    assert (share, bias) == pytest.approx((0.811, 0.093) if random else (0.790, 0.081), abs=0.002)
    stated = TWO["current belief"]
    assert (abs(share - stated.on_better) < 0.002, abs(bias - stated.bias) < 0.004) == (not random, random)


@pytest.mark.slow
def test_every_table_has_its_rows() -> None:
    """All published numbers are compared, each with its error; progress is told of all patients that were expected."""
    rows = {"villar-two": 32, "villar-four": 12, "brar": 42, "brar-delayed": 12}
    for name, number in rows.items():
        told: list[int] = []
        numbers = TABLES[name].compare(Effort(2, progress=told.append))
        assert (name, len(numbers), sum(told)) == (name, number, 2 * TABLES[name].patients)
        assert all(one.published_error >= 0 and one.error >= 0 for one in numbers)
        chance = "current belief with random ties"
        known = ["current belief: bias", f"{chance}: EPS", f"{chance}: ENS"] if name == "villar-two" else []
        assert [one.what for one in numbers if one.known] == known


def test_the_page_on_delays(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A table for each design, with a row for each delay."""
    monkeypatch.setattr(delayed_outcomes, "CELLS", CELLS[:1])
    lines = delayed_outcomes.write_delayed_outcomes(Effort(2), tmp_path / "new.md").read_text().splitlines()
    assert "2 trials of each, with the same random numbers" in "".join(lines)
    assert "## 200 patients, 2 arms, rate 0.25, power 1, burn-in 0, no difference" in lines
    rows = [line.split("|")[1].strip() for line in lines if line.startswith("|")]
    assert rows == ["patients later", "---:", "0", "20", "50", "100"]
    assert str(delayed_outcomes.Mean.of(np.array([0.0, 1.0, 0.0, 1.0]))) == "0.5000 (0.2500)"


def test_what_delay_does_is_told_from_the_numbers() -> None:
    """A change counts from 3 combined errors on: errors 0.03 and 0.04 make 0.05, so that 0.16 is clear and 0.14 not."""

    def table(change: float) -> delayed_outcomes.Table:
        rows = {0: delayed_outcomes.Mean(0.8, 0.03), 100: delayed_outcomes.Mean(0.8 + change, 0.04)}
        return {later: dict.fromkeys(delayed_outcomes.SHOWN, row) for later, row in rows.items()}

    lines = list(delayed_outcomes.findings([table(0.16), table(-0.16), table(-0.3), table(0.14)]))
    assert "100 patients later instead of 0, in the 4 designs with a difference" in lines[0]
    assert lines[1] == "*coverage*: larger in 1, smaller in 2, not to be told apart in 1"
    assert len(lines) == 1 + len(delayed_outcomes.SHOWN)
