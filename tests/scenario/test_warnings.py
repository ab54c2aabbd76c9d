"""Warnings: what is possible but probably not meant, found by drawing pulls, with figures."""

import json
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import Command, tpstream
from studies import TOML, small

from tpstream import Scenario
from tpstream.scenario.files import shipped
from tpstream.scenario.warnings import Decisions
from tpstream.timing.pipeline import decision_times

__all__ = ["tpstream"]  # the fixture

LAG = {"kind": "constant", "lag": 50}

CASES: dict[str, tuple[dict[str, Any], str]] = {
    # what is noticed: (keys of the scenario, how the warning begins)
    "window": (
        {"span": 24, "window": 3},
        "20 of 24 parts are never credited in 768 drawn pulls: 100% arrive after the",
    ),
    "window 1": ({"span": 24, "window": 0.5}, "23 of 24 parts are never credited in"),
    "window and lag": (
        {"window": 3, "delays": [LAG]},
        "6 of 6 parts are never credited in 768 drawn pulls: 100% arrive",
    ),
    "all lost": (
        {"delays": [{"kind": "missing", "p": 1.0}]},
        "6 of 6 parts are never credited in 768 drawn pulls: 100% are lost; lower what the delays lose",
    ),
    "everyone drops out": (
        {"delays": [{"kind": "constant", "lag": 1}, {"kind": "dropout", "rate": 100.0}]},
        "6 of 6 parts are never credited in 768 drawn pulls: 100% are lost; lower what the delays lose",
    ),
    "nearly all lost": ({"delays": [{"kind": "missing", "p": 0.9}]}, "90% of the parts of 768 drawn pulls are not"),
    "no pull complete": (
        {"span": 60, "delays": [{"kind": "missing", "p": 0.3}]},
        "no pull is complete: each of 768 drawn pulls misses parts: 30% are lost",
    ),
    "reports after the end": (
        {"drain": False, "delays": [{"kind": "constant", "lag": 200}]},
        "6 of 6 parts are never credited in 768 drawn pulls: 100% arrive after the last decision (round 60); set drain",
    ),
    "span beyond the horizon": (
        {"drain": False, "span": 90},
        "30 of 90 parts are never credited in 768 drawn pulls: 100% arrive after the last decision (round 60); set dra",
    ),
    "default reward": (
        {"window": 3, "default_reward": 0.5},
        "2 of 6 parts are never credited in 768 drawn pulls: 100% arrive after the window of 3 (a missing part count",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_parts_that_are_missing_are_counted(case: str) -> None:
    """Parts that are never credited, nearly all lost or never complete are told with figures and the remedy."""
    keys, expected = CASES[case]
    (warning,) = small(**keys).warnings(["tp-ucb-ew"])
    assert warning.startswith(expected)


def test_what_is_usual_is_no_warning() -> None:
    """The paper's settings and the world of the tests have nothing to warn of."""
    assert small().warnings() == []
    assert [name for name in shipped() if name.startswith("setting") and Scenario.load(name).warnings()] == []


def test_policies_that_count_lost_parts_as_zero_are_named() -> None:
    """FR and Delayed count lost and late parts as zero: they are named where parts are lost, and only there."""
    losing = small(delays=[{"kind": "missing", "p": 0.25}])
    (warning,) = losing.warnings()
    assert warning.startswith("delayed-ucb1 and tp-ucb-fr count lost and late parts as zero, and 2")
    assert warning.endswith(
        "% of the parts are missing: arms that lose more look worse than they are; use tp-ucb-ew, or set default_reward"
    )
    assert losing.warnings(["tp-ucb-ew", "ucb1"]) == []
    assert losing.with_(default_reward=0.1).warnings() == []


def test_commands_warn_once(tpstream: Command) -> None:
    """`validate`, `run`, `compare` and `trial` show each warning once on standard error, and in JSON as `warnings`."""
    Path("short.toml").write_text(TOML.replace("span = 6", "span = 6\nwindow = 3"))
    for words in (("validate",), ("run", "-j", 1), ("compare", "-n", 2, "-j", 1), ("trial", "-n", 2, "-j", 1)):
        shown = tpstream(words[0], "short.toml", "-p", "tp-ucb-ew", *words[1:])
        assert (shown.code, shown.err.count("warning: 2 of 6 parts are never credited")) == (0, 1)
        if words[0] != "validate":
            (warning,) = json.loads(tpstream(words[0], "short.toml", "-p", "tp-ucb-ew", *words[1:], "--json").out)[
                "warnings"
            ]
            assert warning.startswith("2 of 6 parts are never credited")


def test_a_long_horizon_needs_no_memory() -> None:
    """Where round t is at time t, the times of decisions are not all made; those that are, are the same."""
    world = small(horizon=50).build_world(0, 0)
    decisions, literal = Decisions(world), decision_times(world)
    assert decisions.times(np.arange(50)).tolist() == literal.tolist()
    assert decisions.last == literal[-1]
    moments = np.array([0.0, 0.5, 1.0, 1.5, 49.0, 49.9, 50.0, 51.0, np.inf])
    assert decisions.until(moments).tolist() == np.searchsorted(literal, moments, side="right").tolist()
    tracemalloc.start()
    assert small(horizon=10**9).warnings(["ucb1"]) == []
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50e6
