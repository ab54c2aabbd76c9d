"""Delays, calendars and windows of any length: both engines make the same events, or the same error."""

from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from studies import small

from tpstream import Scenario, simulate
from tpstream.log.sinks import MemorySink
from tpstream.model.errors import TpstreamError

POWERS = st.integers(0, 15).map(lambda power: float(10**power))
DELAYS = st.one_of(
    st.builds(lambda every: {"kind": "reporting", "every": every}, POWERS),
    st.builds(lambda first, every: {"kind": "reporting", "first": first, "every": every}, POWERS, POWERS),
    st.builds(lambda lag: {"kind": "constant", "lag": lag}, POWERS),
    st.builds(lambda mean: {"kind": "poisson", "mean": mean}, POWERS.filter(lambda one: one <= 1e12)),
)


def outcome(world: dict[str, Any], engine: Any) -> str:
    """The events of a run, or its error."""
    sink = MemorySink()
    try:
        simulate(Scenario(**world), "tp-ucb-fr", engine=engine, sinks=[sink])
    except TpstreamError as error:
        return f"{type(error).__name__}: {error}"
    return sink.frame().to_csv()


@settings(max_examples=40)
@given(
    delays=st.lists(DELAYS, max_size=2),
    window=st.none() | POWERS,
    drain=st.booleans(),
    last=POWERS.map(lambda one: one + 5),
)
def test_both_engines_agree(delays: list[dict[str, Any]], window: float | None, drain: bool, last: float) -> None:  # noqa: FBT001
    """Whatever the powers of ten are."""
    world = small().resolved() | {"delays": delays, "drain": drain, "visits": [0.0, 1.0, 2.0, 3.0, 4.0, last]}
    world |= {} if window is None else {"window": window}
    assert outcome(world, "compiled") == outcome(world, "simpy")


@pytest.mark.parametrize("delay", [{"kind": "reporting", "every": 1e9}, {"kind": "constant", "lag": 1e9}])
@pytest.mark.parametrize("engine", ["compiled", "simpy"])
def test_a_limit_for_both(delay: dict[str, Any], engine: str) -> None:
    """What would come after billions of rounds is refused where a run is drained, and never comes where it is not."""
    world = small().resolved() | {"delays": [delay]}
    told = "DelayError: a part comes "
    assert outcome(world | {"drain": True}, engine).startswith(told)
    assert "pull" in outcome(world | {"drain": False}, engine)
