"""Probabilities of decisions: exact, in the log, summing to 1, and equal in both engines."""

import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from families import every
from scipy import stats
from studies import small

from tpstream import compare, read_log, replay, simulate
from tpstream.model.arrays import Bools, Floats
from tpstream.model.errors import LogError
from tpstream.model.events import Kind
from tpstream.policies.best_arm import fill_best, log_gamma, quadrature_fields

BOTH = {"indices", "probabilities"}
KNOWN = [
    "uniform",
    "permuted-blocks:block=30",
    "epsilon-greedy",
    "epsilon-greedy:hears=closed,decay=10.0,ties=first",
    "explore-then-commit:tries=2",
    "delayed-thompson",
    "delayed-thompson:family=gauss",
    "group-thompson",
    "group-thompson:variance=empirical,prior=none",
    "part-thompson",
    "progressive-thompson",
]
NOT_KNOWN = ["tp-ucb-fr", "group-thompson:family=beta"]
COMPILED = ("uniform", "permuted-blocks:block=30", "epsilon-greedy", "delayed-thompson", "group-thompson", "tp-ucb-fr")
"""Fixed, known at once, and by quadrature over Beta and normal posteriors; the others are compiled in `make verify`."""


class Work(NamedTuple):
    """What the quadrature needs of a state."""

    probabilities: Floats
    open_arms: Bools
    units: Floats
    nodes: Floats
    weights: Floats
    integrals: Floats
    cuts: Floats
    panel: Floats


def best(family: str, firsts: list[float], seconds: list[float], units: list[float] | None = None) -> Floats:
    """The probability that each arm's value is the largest."""
    work = Work(**quadrature_fields(np.array(units or [1.0] * len(firsts))))
    fill_best(work, family == "beta", np.array(firsts, dtype=float), np.array(seconds, dtype=float))
    return work.probabilities


def test_three_arms_on_paper() -> None:
    """Beta(30, 30), Beta(41, 20) and Beta(35, 27)."""
    found = best("beta", [30, 41, 35], [30, 20, 27])
    np.testing.assert_allclose(found, [0.01796526, 0.8788907, 0.1031441], atol=5e-8)


@pytest.mark.parametrize(
    ("means", "deviations"), [((0.3, 1.0), (1.0, 2.0)), ((5.0, 5.1), (1e-4, 3.0)), ((0, 0), (1, 1))]
)
def test_two_normal_arms(means: tuple[float, float], deviations: tuple[float, float]) -> None:
    """P(X > Y) of two normal values is Phi of the difference of means over the deviation of the difference."""
    exact = stats.norm.cdf((means[0] - means[1]) / np.hypot(*deviations))
    np.testing.assert_allclose(best("gauss", [*means], [*deviations]), [exact, 1 - exact], atol=1e-10)


def test_arms_of_different_maxima() -> None:
    """Scaled Beta values, against a million draws; each share is within 5 standard errors."""
    stream, size = np.random.default_rng(1), 10**6
    draws = [3 * stream.beta(4, 9, size), 2 * stream.beta(2, 2, size), stream.beta(5, 1, size)]
    shares = np.bincount(np.argmax(draws, axis=0)) / size
    found = best("beta", [4, 2, 5], [9, 2, 1], [3.0, 2.0, 1.0])
    assert (np.abs(found - shares) < 5 * np.sqrt(shares / size)).all()


def test_log_gamma() -> None:
    """It is ln Gamma to 13 digits, and has the same bits compiled and not."""
    numbers = 10.0 ** np.linspace(-3, 6, 500)
    found = [log_gamma(number) for number in numbers]
    np.testing.assert_allclose(found, [math.lgamma(number) for number in numbers], rtol=1e-13, atol=5e-14)
    assert found == [getattr(log_gamma, "py_func", log_gamma)(number) for number in numbers]


@pytest.mark.parametrize("policy", every(KNOWN, COMPILED))
def test_known_probabilities(policy: str, tmp_path: Path) -> None:
    """Every pull has them, they sum to 1, the chosen arm's is among them, and engines and formats agree."""
    columns = []
    for engine, ending in (("simpy", "jsonl"), ("compiled", "arrows")):
        log = tmp_path / f"{engine}.{ending}"
        simulate(small(), policy, engine=engine, log=log, log_detail=BOTH)  # type: ignore[arg-type]
        found = read_log(log).columns(["arm", "kind", "probability", "probabilities", "indices"])
        columns.append(found)
        arms = found["arm"][found["kind"] == Kind.PULL]
        np.testing.assert_allclose(found["probabilities"].sum(axis=1), 1.0, atol=1e-9)
        assert (found["probability"] == found["probabilities"][np.arange(len(arms)), arms]).all()
        assert (found["probability"] > 0).all()
        assert replay(log).equal
    for name in ("probability", "probabilities", "indices"):
        np.testing.assert_array_equal(columns[0][name], columns[1][name])


@pytest.mark.parametrize("policy", every(NOT_KNOWN, COMPILED))
@pytest.mark.parametrize(("engine", "ending"), [("simpy", "jsonl"), ("compiled", "arrows")])
def test_unknown_probabilities(policy: str, engine: Any, ending: str, tmp_path: Path) -> None:
    """For a policy that does not know them they are null, and the log is read and replayed as ever."""
    log = tmp_path / f"log.{ending}"
    simulate(small(), policy, engine=engine, log=log, log_detail="probabilities")
    frame = read_log(log).frame()
    pulls = frame[frame["kind"] == "pull"]
    assert "probability" not in pulls or pulls["probability"].isna().all()
    assert replay(log).equal


def test_details_of_a_log(tmp_path: Path) -> None:
    """A log of only the pulls has no indices; a detail that is not known is refused."""
    with pytest.raises(LogError, match="a log of only the pulls has no indices; leave out one of them"):
        simulate(small(), "uniform", log=tmp_path / "a.jsonl", log_detail={"pulls", "indices"})
    with pytest.raises(LogError, match=r"unknown detail 'probability' of a log \(did you mean 'probabilities'\?\)"):
        simulate(small(), "uniform", log=tmp_path / "a.jsonl", log_detail=["probability"])  # type: ignore[list-item]


def test_details_of_a_study(tmp_path: Path) -> None:
    """A study's logs have what was asked for, and the header says it."""
    compare(small(), ["uniform"], runs=1, logs=tmp_path, log_detail=BOTH)
    (log,) = tmp_path.glob("*.jsonl")
    assert read_log(log).header.detail == ["indices", "probabilities"]
