"""Decisions at several sites: each begins when it opens, at a rate of its own."""

from typing import Any

import numpy as np
import pytest
from parity import case_of, first_difference
from studies import small

from tpstream import Scenario, simulate
from tpstream.model.errors import ScenarioError
from tpstream.model.interfaces import BuildContext
from tpstream.timing.pipeline import due_decisions
from tpstream.timing.sites import Site, Sites

BERN: dict[str, Any] = {"name": "Bern", "rate": 2.0}
BASEL: dict[str, Any] = {"name": "Basel", "opens": 40.0, "rate": [[0.0, 1.0], [20.0, 5.0]]}
GENF: dict[str, Any] = {"name": "Genf", "rate": 3.0, "open": {"weekdays": ["Mon", "Tue"]}, "weekdays": {"Tue": 2.0}}


def at(*sites: dict[str, Any], **changes: Any) -> Scenario:
    """A scenario with these sites."""
    return small(arrivals={"kind": "sites", "sites": list(sites)}, **changes)


def test_rates_are_those_of_each_site() -> None:
    """Counts of decisions in stated periods are within five standard deviations of the integrals of the rates."""
    scenario = at(BERN, BASEL, GENF, horizon=5000, time_unit="day", start="2024-01-01")
    times, sites = due_decisions(scenario.build_world(1, 0))
    assert sites is not None
    assert (np.diff(times) >= 0).all()
    end = 7 * (times[-1] // 7)
    weeks = end / 7
    days = times[(sites == 2) & (times <= end)] % 7
    for found, expected in (
        (np.count_nonzero((sites == 0) & (times <= end)), 2.0 * end),
        (np.count_nonzero((sites == 1) & (times <= 60)), (1.0 + 5.0) / 2 * 20),  # linear from the opening on
        (np.count_nonzero((sites == 1) & (times > 60) & (times <= end)), 5.0 * (end - 60)),
        (np.count_nonzero(days < 1), 3.0 * weeks),
        (np.count_nonzero((days >= 1) & (days < 2)), 6.0 * weeks),
        (np.count_nonzero(days >= 2), 0.0),
    ):
        assert abs(found - expected) <= 5 * np.sqrt(expected)
    assert times[sites == 1].min() > 40


def test_one_site_from_the_start_is_a_poisson_process() -> None:
    """Gaps of a single site have the mean and the deviation of an exponential distribution."""
    times, _ = due_decisions(at(BERN, horizon=4000).build_world(3, 0))
    gaps = np.diff(times, prepend=0.0)
    assert gaps.mean() == pytest.approx(0.5, rel=0.08)
    assert gaps.std() == pytest.approx(0.5, rel=0.1)


def test_a_site_that_is_added_changes_nothing_at_the_others() -> None:
    """The first sites have the same decisions, in time, with and without one more at the end of the list."""
    times, sites = due_decisions(at(BERN, BASEL, horizon=300).build_world(1, 0))
    more, numbers = due_decisions(at(BERN, BASEL, {"name": "Chur", "rate": 1.0}, horizon=300).build_world(1, 0))
    assert sites is not None
    assert numbers is not None
    for site in (0, 1):
        kept = more[numbers == site]
        assert kept.tolist() == times[sites == site][: len(kept)].tolist()


def test_at_one_time_the_site_that_is_listed_first_comes_first() -> None:
    """Sites with the same draws tie at every decision, and take turns in the order of the list."""

    class Same:
        """A stream that draws the same for everybody."""

        @staticmethod
        def exponential(scale: float, size: int) -> Any:
            return np.full(size, scale)

    sites = [Site(name=name, rate=1.0) for name in "ab"]
    process = Sites(sites=sites).build(BuildContext(["one"], 1, None))  # type: ignore[arg-type]
    times, numbers = process.at_sites(Same(), 6)  # type: ignore[arg-type]
    assert (times.tolist(), numbers.tolist()) == ([1.0, 1.0, 2.0, 2.0, 3.0, 3.0], [0, 1, 0, 1, 0, 1])


def test_engines_agree_at_sites() -> None:
    """Both engines give the same events and the same column `site`, which every pull and no other event has."""
    scenario = at(BERN, BASEL, delays=[{"kind": "lognormal", "median": 2.0, "sigma": 0.5}])
    assert first_difference(case_of(scenario.build_world(1, 0), "tp-ucb-fr", groups=2)) is None
    frames = [simulate(scenario, "tp-ucb-fr", engine=engine).events() for engine in ("simpy", "compiled")]  # type: ignore[arg-type]
    assert frames[0].equals(frames[1])
    assert (frames[0]["site"].notna() == (frames[0]["kind"] == "pull")).all()


@pytest.mark.parametrize(
    ("sites", "message"),
    [
        ([BERN, BERN], r"sites: 'Bern' is the name of two; give them different names"),
        ([{**BERN, "rate": 0.0}], r"arrivals\.sites\[0\]\.rate: must be greater than 0, got 0\.0$"),
        ([{**BERN, "rate": [[0, 1.0], [5, 0.0]]}], r"sites\[0\]: rate: the last rate holds for ever"),
        ([{**BERN, "opens": -1.0}], r"arrivals\.sites\[0\]\.opens: must be at least 0"),
        ([{**BERN, "weekdays": {"Sun": 0.0}}], r"arrivals\.sites\[0\]\.hours: set time_unit of the scenario"),
        ([], r"arrivals\.sites: "),
    ],
)
def test_impossible_sites_are_refused(sites: list[dict[str, Any]], message: str) -> None:
    """Names that are not unique, rates that are none and calendars without days are errors with their place."""
    with pytest.raises(ScenarioError, match=message):
        at(*sites)


def test_batches_come_at_random_times() -> None:
    """A Poisson process with a size: equal times in batches of it, exponential gaps between them."""
    times, sites = due_decisions(
        small(arrivals={"kind": "poisson", "rate": 0.5, "size": 4}, horizon=2000).build_world(1, 0)
    )
    assert sites is None
    batches = times.reshape(-1, 4)
    assert (batches == batches[:, :1]).all()
    assert np.diff(batches[:, 0], prepend=0.0).mean() == pytest.approx(2.0, rel=0.15)
