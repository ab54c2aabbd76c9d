"""Random worlds through both engines: the same events or the same error.

Worlds are those of the tests of parity, of which numbers are then changed to what nobody expects.
"""

import os
from typing import Any

import numpy as np
from children import RAISED
from families import FAMILIES
from hypothesis import strategies as st
from kept_children import try_files
from mutations import changed_tree, donors_of
from parity import BUILTIN, case_of, first_difference, make_runner
from samples import worlds
from strategies import arrival_tables, delay_tables, grid_arrivals, scenario_keys, site_tables, stage_tables

from tpstream import Scenario
from tpstream.model.errors import TpstreamError

Case = dict[str, Any]
DIFFERENT = 3
"""The exit code of a child in which the engines differ."""
POLICIES = FAMILIES if os.environ.get("HYPOTHESIS_PROFILE") == "search" else BUILTIN
"""Policies whose loops are compiled, which takes half a minute each: many of them only in a full campaign."""
MOST = {"horizon": 60, "span": 60}
"""Larger numbers are cut: a long run is no difference between the engines."""
WIDE = {"horizon": 4, "span": 10_000}
"""The same for one world in twenty; a larger span takes more memory than a case has."""


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """A world as a table, a policy and the number of a run."""
    keys = draw(scenario_keys())
    names = [f"arm {number}" for number in range(len(keys["arms"]))]
    for arm, name in zip(keys["arms"], names, strict=True):
        arm["name"] = name
    how = draw(st.sampled_from(["plain", "delayed", "stages", "stages", "shipped"]))
    if how == "delayed":
        keys |= {"delays": draw(delay_tables(keys["span"], names)), "arrivals": draw(arrival_tables())}
    elif how == "stages":
        keys |= {
            "delays": draw(stage_tables(keys["span"], names)),
            "arrivals": draw(grid_arrivals() | site_tables()),
            "resources": {"lab": draw(st.integers(1, 3)), "desk": 1},
            "time_unit": draw(st.sampled_from(["day", "hour"])),
            "start": "2024-01-03",
        }
    elif how == "shipped":
        keys = draw(st.sampled_from(list(worlds().values())))
    if draw(st.booleans()):
        keys = keys | {"window": draw(st.floats(0.5, 20) | st.integers(1, 12))}
    if draw(st.integers(0, 3)):
        keys = draw(changed_tree(keys, donors_of(list(worlds().values())), (1, 2)))
    for key, most in (MOST if draw(st.integers(0, 19)) else WIDE).items():
        if isinstance(keys.get(key), int | float) and keys[key] > most:
            keys[key] = most
    return {"scenario": keys, "policy": draw(st.sampled_from(POLICIES)), "run": draw(st.integers(0, 3))}


def check(case: Case) -> str | None:
    """What differs between the engines."""
    ended = try_files({}, compare, case)
    if ended.code == DIFFERENT:
        return f"different: {_short(ended.printed)}"
    return ended.fault


def compare(case: Case) -> int:
    """Run both engines, unless the world is refused for both."""
    np.seterr(all="ignore")
    try:
        scenario = Scenario(**case["scenario"])
        one = case_of(scenario.build_world(scenario.seed, case["run"]), case["policy"])
        make_runner(one)  # some policies are refused
    except TypeError as error:
        if "keyword" in str(error):  # a table is spread out here, which no file is
            return 0
        raise
    except TpstreamError as error:
        print(error)  # noqa: T201 (as a command does)
        return 2
    found = first_difference(one)
    print(found or "")  # noqa: T201 (the parent reads it)
    return DIFFERENT if found else 0


def _short(found: str) -> str:
    """A difference without its numbers, so that the same fault has the same words."""
    return "".join(letter for letter in found.strip()[:160] if not letter.isdigit())


assert RAISED != DIFFERENT
