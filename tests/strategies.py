"""Hypothesis strategies that several tests share."""

from typing import Any

from hypothesis import strategies as st

from tpstream.study.scenario import Scenario

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
