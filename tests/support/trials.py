"""Small trials with looks, in most of which arms are dropped or the trial stops."""

from dataclasses import replace
from typing import Any

import numpy as np
from heard import policy_with
from hypothesis import strategies as st

from tpstream import Scenario

WRITING = replace(
    policy_with("on_pull", "on_partial", "on_received", "on_lost", "on_closed", "on_look"), name="writing-in-trials"
)
"""Decides by all that it was told, looks included."""
SUPERIOR = {"kind": "superiority", "threshold": 0.9}
FUTILE = {"kind": "futility", "threshold": 0.3}


def trial_keys(**changes: Any) -> dict[str, Any]:
    """A small trial in which most runs stop, at whole times, with three arms of which some are dropped."""
    chances = [0.4, 0.8, 0.1]
    return {
        "name": "small",
        "horizon": 40,
        "visits": [1.0, 2.0],
        "drain": True,
        "rewards": {"kind": "binary"},
        "arms": [{"name": f"arm {arm}", "probability": chance} for arm, chance in enumerate(chances)],
        "delays": [{"kind": "empirical", "lags": [0.0, 1.0, 4.0]}, {"kind": "missing", "p": 0.1}],
        "trial": {
            "control": "arm 0",
            "endpoint": "last",
            "looks": {"at": "known", "values": [8, 16, 24], "cleaning": 2.0},
            "rules": [SUPERIOR, FUTILE],
        },
    } | changes


@st.composite
def trials(draw: st.DrawFn) -> Scenario:
    """Trials with any looks; many times are equal."""
    keys = trial_keys()
    at = draw(st.sampled_from(["known", "randomised", "time", "information"]))
    values = sorted(draw(st.sets(st.integers(2, 38), min_size=1, max_size=4)))
    looks = {
        "at": at,
        "values": [value / 40 for value in values] if at == "information" else values,
        "cleaning": draw(st.sampled_from([0.0, 0.0, 1.0, 3.0])),
        "recruiting": draw(st.booleans()),
    }
    looks["cleaning"] = min(looks["cleaning"], float(min(np.diff(values), default=99)))
    keys["arrivals"] = draw(st.sampled_from([{"kind": "regular"}, {"kind": "batches", "size": 2, "every": 2.0}]))
    if at == "time" or draw(st.booleans()):
        keys["arrivals"] = {"kind": "poisson", "rate": draw(st.sampled_from([0.5, 3.0]))}
    if draw(st.booleans()):
        keys |= {"window": draw(st.sampled_from([2.0, 4.0])), "reveal": draw(st.sampled_from(["all", "positive"]))}
    rules = draw(st.sampled_from([[SUPERIOR, FUTILE], [FUTILE], [SUPERIOR], []]))
    keys["trial"] = keys["trial"] | {"looks": looks, "rules": rules}
    return Scenario(**keys, seed=draw(st.integers(0, 99)))
