"""Hypothesis strategies that several tests share."""

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from tpstream.scenario.scenario import Scenario

SPREADS = ("even", "first", "last", "single", "random")

maxima = st.one_of(st.integers(1, 1000), st.integers(1, 1000).map(float), st.floats(0.001, 1e6))


@st.composite
def scenario_keys(draw: st.DrawFn) -> dict[str, Any]:
    """The keys of a small smooth-beta scenario, with and without those that have defaults."""
    arms, span = draw(st.integers(1, 5)), draw(st.integers(1, 12))
    groups = draw(groups_of(span))
    return {
        "name": draw(st.sampled_from(["small", "two words", "snow ☃"])),
        "horizon": draw(st.integers(arms, 40)),
        "span": span,
        "rewards": {
            "kind": "smooth-beta",
            "groups": groups,
            **draw(shapes(groups)),
            **draw(st.fixed_dictionaries({}, optional={"spread": st.sampled_from(SPREADS)})),
        },
        "arms": [{"maximum": draw(maxima), **draw(shapes(groups))} for _ in range(arms)],
        **draw(
            st.fixed_dictionaries(
                {}, optional={"seed": st.integers(0, 2**64), "drain": st.booleans(), "policies": policy_tables(span)}
            )
        ),
    }


def scenarios() -> st.SearchStrategy[Scenario]:
    """Small smooth-beta scenarios: 1 to 5 arms, span 1 to 12, any groups that divide it, up to 40 rounds."""
    return scenario_keys().map(lambda keys: Scenario(**keys))


def groups_of(span: int) -> st.SearchStrategy[int]:
    """A number of groups that divides the span."""
    return st.sampled_from([groups for groups in range(1, span + 1) if span % groups == 0])


def shapes(groups: int) -> st.SearchStrategy[dict[str, Any]]:
    """Beta parameters, one per group, or none."""
    shape = st.lists(st.one_of(st.integers(1, 10), st.floats(0.5, 10)), min_size=groups, max_size=groups)
    return st.one_of(st.just({}), st.fixed_dictionaries({"a": shape, "b": shape}))


def policy_tables(span: int) -> st.SearchStrategy[list[dict[str, Any]]]:
    """Tables of policies without two of the same kind."""
    ties: dict[Any, st.SearchStrategy[Any]] = {"ties": st.sampled_from(["random", "first"])}
    groups = {"groups": groups_of(span)}
    start = {"start": st.sampled_from(["round-robin", "random"])}
    return st.lists(
        st.one_of(
            st.fixed_dictionaries({"kind": st.just("ucb1")}, optional=ties),
            st.fixed_dictionaries({"kind": st.just("delayed-ucb1")}, optional=ties | start),
            st.fixed_dictionaries({"kind": st.sampled_from(["tp-ucb-fr", "tp-ucb-ew"])}, optional=ties | groups),
            st.fixed_dictionaries({"kind": st.sampled_from(["uniform", "oracle"])}),
        ),
        max_size=4,
        unique_by=lambda table: table["kind"],
    )


numbers = st.one_of(st.integers(1, 5), st.floats(0.1, 5.0))
sigmas = st.one_of(st.integers(1, 2), st.floats(0.1, 2.5))
"""Of lags without bound, only laws that hardly ever exceed the millions of rounds that the compiled loop can drain."""
probabilities = st.sampled_from([0.0, 0.1, 0.5, 1.0])


def a_delay(kind: str, *, per: bool = False, **keys: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Tables of that kind; with `per`, also with lags for whole pulls."""
    optional: dict[Any, Any] = {"per": st.sampled_from(["part", "pull"])} if per else {}
    return st.fixed_dictionaries({"kind": st.just(kind), **keys}, optional=optional)


def sampled_delays(span: int, *, whole: bool) -> st.SearchStrategy[dict[str, Any]]:
    """A table of a delay that is drawn; with `whole` only those that keep whole times whole."""
    rounded = {"whole": st.just(value=True) if whole else st.booleans()}
    lag = st.integers(0, 4) if whole else st.floats(0, 4)
    bounds = {"low": st.integers(0, 2), "high": st.integers(3, 6)}
    late = st.integers(span - 1, span + 5) if whole else st.floats(span - 1, span + 5)
    return st.one_of(
        st.just({"kind": "none"}),
        st.just({"kind": "lump"}),
        a_delay("constant", lag=lag),
        a_delay("geometric", per=True, p=st.sampled_from([0.2, 0.5, 1.0])),
        a_delay("poisson", per=True, mean=numbers),
        a_delay("uniform", per=True, **bounds, **rounded),
        a_delay("lognormal", per=True, median=numbers, sigma=sigmas, **rounded),
        a_delay("lognormal", per=True, mu=st.floats(-1, 1), sigma=sigmas, **rounded),
        a_delay("weibull", per=True, shape=st.floats(0.4, 5.0), scale=numbers, **rounded),
        a_delay("pareto", per=True, shape=st.floats(1.5, 5.0), scale=numbers, **rounded),
        a_delay("empirical", per=True, lags=st.lists(lag, min_size=1, max_size=4)),
        a_delay("lump", at=late),
        a_delay("missing", p=probabilities),
        a_delay("dropout", rate=numbers),
        a_delay("dropout", mean=st.floats(0.5, 20)),
    )


def inner_delays(names: Sequence[str], span: int, *, whole: bool) -> st.SearchStrategy[dict[str, Any]]:
    """A table of a delay made of others."""
    inside = sampled_delays(span, whole=whole)
    return st.one_of(
        a_delay("by-arm", arms=st.dictionaries(st.sampled_from(names), inside, min_size=1)),
        a_delay("by-arm", arms=st.just({}), others=inside),
        a_delay("reward-dependent", per=True, threshold=numbers, below=inside),
        a_delay("reward-dependent", per=True, threshold=st.floats(0, 1), below=inside, above=inside),
    )


def reporting_tables(*, whole: bool) -> st.SearchStrategy[dict[str, Any]]:
    """A table of a delay by the calendar."""
    period = st.integers(1, 9) if whole else st.floats(0.3, 9)
    first = st.integers(0, 9) if whole else st.floats(0, 9)
    return st.one_of(
        a_delay("reporting", every=period),
        a_delay("reporting", every=period, first=first),
        a_delay("reporting", days=st.lists(st.integers(1, 7), min_size=1)),
        a_delay("reporting", days=st.lists(st.integers(1, 3), min_size=1), week=st.integers(3, 5)),
    )


@st.composite
def delay_tables(draw: st.DrawFn, span: int, names: Sequence[str] = (), *, whole: bool = False) -> list[dict[str, Any]]:
    """`[[delays]]` for a span and arms of these names, without process delays; `whole`: for the compiled engine.

    No names: no delays made of others.
    """
    kinds = [sampled_delays(span, whole=whole)] + ([inner_delays(names, span, whole=whole)] if names else [])
    sampled = draw(st.lists(st.one_of(kinds), max_size=3))
    return sampled + draw(st.lists(reporting_tables(whole=whole), max_size=1))


def arrival_tables() -> st.SearchStrategy[dict[str, Any]]:
    """`[arrivals]` without files."""
    return st.one_of(
        a_delay("regular"),
        a_delay("regular", every=numbers),
        a_delay("poisson", rate=numbers),
        a_delay("batches", size=st.integers(1, 5), every=numbers),
        a_delay("ramp", start=st.floats(0, 5), end=numbers, duration=numbers),
    )


LEAVING = st.sampled_from([[[1.0, 0.1], [2.0, 0.1], [9.0, 0.6]], [[1.0, 0.5], [3.0, 1.0]]])
"""Curves of drop-outs: some stay for ever, or all have left before the last parts."""
GRID = st.sampled_from([0.0, 0.25, 0.5, 1.0, 2.0])
"""Times with which sums are exact, so that many things happen at the same time."""


def grid_delays(span: int) -> st.SearchStrategy[dict[str, Any]]:
    """A table of a sampled delay that may stand anywhere, most of them with times on the grid."""
    lags = st.lists(GRID, min_size=1, max_size=3)
    return st.one_of(
        a_delay("constant", lag=GRID),
        a_delay("empirical", per=True, lags=lags),
        a_delay("geometric", per=True, p=st.sampled_from([0.3, 0.7])),
        a_delay("lognormal", per=True, median=numbers, sigma=sigmas, whole=st.booleans()),
        a_delay("missing", p=st.sampled_from([0.1, 0.4])),
        a_delay("dropout", mean=st.floats(1.0, 2.0 * span)),
        a_delay("dropout", probability=st.just(0.3), by=st.floats(1.0, 9.0), informative=st.floats(-1, 2)),
        a_delay("dropout", curve=LEAVING, unit=st.just(0.5), informative=st.sampled_from([0, 1])),
    )


CURVES = st.sampled_from([[[0.0, 1.0], [8.0, 3.0]], [[2.0, 0.0], [4.0, 2.0], [9.0, 0.5]]])
OPEN_HOURS = {
    "weekdays": st.sampled_from([["Mon", "Tue", "Wed", "Thu", "Fri"], ["Wed"], ["Sat", "Sun"]]),
    "hours": st.sampled_from([[0, 24], [6, 18], [12, 12]]),
    "holidays": st.sampled_from([[], ["2024-01-03", 8], [1, 2, 3]]),
}


def open_hours(*, lasting: bool = False) -> st.SearchStrategy[dict[str, Any]]:
    """The keys of a calendar by date, for scenarios that begin on a day of January 2024.

    `lasting`: not only at one hour of the day, at which nobody could come.
    """
    seasons = {"seasons": st.sampled_from([[["01-02", "01-20"]], [["12-20", "01-06"], ["02-10", "12-01"]]])}
    hours = {"hours": st.sampled_from([[0, 24], [6, 18]])} if lasting else {}
    return st.fixed_dictionaries({}, optional=OPEN_HOURS | seasons | hours)


def seasonal_tables(inside: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    """A table of a delay that depends on the time of the pull."""
    return a_delay("seasonal", delay=inside, curve=CURVES) | a_delay(
        "seasonal", delay=inside, curve=CURVES, period=st.just(10.0)
    )


def queue_tables() -> st.SearchStrategy[dict[str, Any]]:
    """A table of a queue for one of two resources, of which several queues may share one."""
    where = {"resource": st.sampled_from(["lab", "desk"])}
    return st.one_of(
        a_delay("lab-queue", **where, mean=st.sampled_from([0.25, 0.5, 1.0]), service=st.just("constant")),
        a_delay("lab-queue", **where, mean=st.floats(0.05, 1.5)),
    )


@st.composite
def stage_tables(draw: st.DrawFn, span: int, names: Sequence[str]) -> list[dict[str, Any]]:
    """`[[delays]]` in any order: sampled delays, calendars and queues."""
    first = draw(delay_tables(span, names)) if draw(st.booleans()) else []
    inside = grid_delays(span)
    made_of_others = a_delay("reward-dependent", per=True, threshold=st.floats(0, 1), below=inside, above=inside)
    by_arm = a_delay("by-arm", arms=st.dictionaries(st.sampled_from(names), inside, min_size=1))
    calendars = reporting_tables(whole=True) | reporting_tables(whole=False)
    calendars |= open_hours().map(lambda keys: {"kind": "calendar", **keys})
    others = draw(st.lists(inside | made_of_others | by_arm | calendars | seasonal_tables(inside), max_size=3))
    queues = [draw(queue_tables()) for _ in range(draw(st.sampled_from([1, 2, 0])))]
    return first + draw(st.permutations(others + queues))


def site_tables() -> st.SearchStrategy[dict[str, Any]]:
    """`[arrivals]` at one or several sites that open at different times."""
    rates = st.fixed_dictionaries(
        {"rate": numbers | CURVES, "opens": st.sampled_from([0.0, 3.5, 9.0])},
        optional={"open": open_hours(lasting=True)},
    )
    sites = st.lists(rates, min_size=1, max_size=3)
    named = sites.map(lambda found: [{"name": f"site {number}"} | site for number, site in enumerate(found)])
    return a_delay("sites", sites=named)


def grid_arrivals() -> st.SearchStrategy[dict[str, Any]]:
    """`[arrivals]` at times on the grid, or at random ones."""
    every = st.sampled_from([0.25, 0.5, 1.0])
    return st.one_of(
        a_delay("regular", every=every),
        a_delay("batches", size=st.integers(1, 5), every=every),
        a_delay("poisson", rate=numbers, size=st.integers(1, 3)),
        a_delay(
            "varying",
            curve=CURVES,
            size=st.integers(1, 3),
            open=open_hours(lasting=True),
            weekdays=st.just({"Mon": 2.0, "Sun": 0.0}),
        ),
    )
