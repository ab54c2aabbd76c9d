"""Simulated trials that are made up, as the runs of a design report them: no engine and no rule is needed."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tpstream.analysis.regret import checkpoints
from tpstream.looks.comparison import Comparison
from tpstream.trial.decisions import SimulatedTrials
from tpstream.trial.designs import DesignDescription, OperatingCharacteristics

ARMS = ("control", "low", "high")


def made_up_run(
    stream: np.random.Generator, truths: tuple[float, ...], control: int | None, *, delayed: bool
) -> dict[str, NDArray[Any]]:
    """The measures of one made-up trial with two looks and 300 patients at most; whatever a trial can come to."""
    arms = len(truths)
    conclusion = int(stream.choice([1, 2, 3, 4, 5], p=[0.05, 0.3, 0.15, 0.2, 0.3]))
    final = int(stream.choice([conclusion, 2, 5]))
    claimable = [arm for arm in range(arms) if arm != control]
    selected = int(stream.choice(claimable)) if conclusion == 2 else int(stream.choice([-1, 0]))
    final_selected = int(stream.choice(claimable)) if final == 2 else -1
    stopped = conclusion != 5
    patients = stream.multinomial(int(stream.integers(100, 250)) if stopped else 300, np.full(arms, 1 / arms))
    patients[-1] *= stream.random() < 0.97  # an arm may have no patient
    sums = stream.binomial(patients, truths)
    with np.errstate(invalid="ignore"):
        estimate = sums / patients
    variance = estimate * (1 - estimate) / np.maximum(patients, 1)
    stop_look = int(stream.integers(1, 3)) if stopped else 0
    verdicts = stream.choice([0, 1, 4], (2, arms))
    verdicts[stop_look or 2 :] = 0
    final_verdict = stream.choice([0, 1, 2], arms) if final == 2 else np.zeros(arms, dtype=np.int64)
    if conclusion == 2:
        verdicts[:, selected] = 0
        verdicts[stop_look - 1, selected] = 2
    if final == 2:
        final_verdict[final_selected] = 2
    rounds = checkpoints(300)
    pulls = np.minimum(np.outer(rounds, np.full(arms, 1 / arms)), patients).astype(np.int64)
    pulls[-1] = patients
    statistics = stream.random((2, 1, arms))
    known = stream.choice([0, 2, 4], 2).astype(np.float64)
    known[stop_look or 2 :] = np.nan  # looks after the stop are not held
    return {
        "conclusion": np.array(conclusion),
        "selected": np.array(selected),
        "stop_look": np.array(stop_look),
        "stop_delayed": np.array(stopped and delayed),
        "stop_time": np.array(float(stream.uniform(50, 200)) if stopped else np.nan),
        "final_conclusion": np.array(final),
        "final_selected": np.array(final_selected),
        "known_conclusion": np.array(int(stream.choice([conclusion, 5], p=[0.9, 0.1]))),
        "known_selected": np.array(selected),
        "look_verdict": verdicts,
        "final_verdict": final_verdict,
        "look_known": known,
        "look_wrong": np.where(np.isnan(known), 0.0, stream.choice([0.0, 1.0], 2)),
        "look_statistic": statistics,
        "final_statistic": stream.random((1, arms)),
        "patients": patients,
        "overrun": np.array(int(stream.integers(0, 30)) if stopped else 0),
        "duration": np.array(float(stream.uniform(200, 400))),
        "outcome_sum": sums.astype(np.float64),
        "stop_estimate": estimate + 0.01,
        "stop_variance": 1.1 * variance,
        "final_estimate": estimate,
        "final_variance": variance,
        "pulls": pulls,
    }


def made_up(
    trials: int,
    truths: tuple[float, ...] = (0.3, 0.3, 0.5),
    control: int | None = 0,
    *,
    higher: bool = True,
    delayed: bool = False,
    seed: int = 1,
) -> tuple[SimulatedTrials, list[dict[str, NDArray[Any]]]]:
    """Made-up trials of three arms, and the measures of each."""
    stream = np.random.default_rng(seed)
    runs = [made_up_run(stream, truths, control, delayed=delayed) for _ in range(trials)]
    stacked = {name: np.stack([run[name] for run in runs]) for name in runs[0]}
    comparison = Comparison(ARMS[: len(truths)], truths, control, higher)
    return SimulatedTrials("made up", "as given", comparison, 300, np.arange(trials), stacked), runs


def made_up_designs(trials: int) -> OperatingCharacteristics:
    """Two designs under two truths."""
    found = []
    for seed, design in enumerate(("one", "other")):
        for truth, truths in (("as given", (0.3, 0.3, 0.5)), ("null", (0.3, 0.3, 0.3))):
            own, _ = made_up(trials, truths, seed=seed)
            found.append(replace(own, design=design, truth=truth))
    descriptions = {one: DesignDescription(300, [f"The rules of {one}."], "week") for one in ("one", "other")}
    return OperatingCharacteristics(found, descriptions, 1)
