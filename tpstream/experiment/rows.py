"""The tables of a study as people read them, in commands and in reports: rows of texts by title."""

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from tpstream.analysis.intervals import is_informed
from tpstream.analysis.printed import amount, interval, show_row

if TYPE_CHECKING:
    import pandas as pd  # slow to load

    from tpstream.experiment.result import Study

LOSES_MORE = "loses more in"
"""The title of the share of runs in which a policy loses more than the one that it is compared with."""
Rows = list[dict[str, str]]


def regret_rows(study: "Study", leave_out: Sequence[str] = ()) -> Rows:
    """The table `table`: a row for each policy, without columns of these names."""
    return [
        show_row("table", {name: value for name, value in row.items() if name not in leave_out})
        if row["runs"]
        else {"policy": row["policy"], "runs": "0", "regret": "all failed"}
        for row in study.rows
    ]


def arm_rows(study: "Study") -> Rows:
    """How often each policy pulled each arm: a column for each arm."""
    rows: dict[str, dict[str, str]] = {}
    for one in study.pulls().to_dict("records"):
        rows.setdefault(one["policy"], {"policy": one["policy"]})[str(one["arm"])] = f"{one['share']:.1%}"
    return list(rows.values())


def round_rows(study: "Study") -> Rows:
    """The regrets at the rounds that were asked for: a column for each."""
    rows: dict[str, dict[str, str]] = {}
    for one in study.curves(study.chosen).to_dict("records"):
        around = "" if math.isnan(one["low"]) else f" ({interval(one['low'], one['high'])})"
        row = rows.setdefault(one["policy"], {"policy": one["policy"]})
        row[f"round {one['round']:,}"] = amount(one["regret"]) + around
    return list(rows.values())


def contrast_rows(study: "Study", against: str | None) -> Rows:
    """The other policies against one of them, run by run; none unless all have two runs, which an interval needs."""
    runs = [row["runs"] for row in study.rows]
    if against is None or len(runs) < 2 or min(runs) < 2:  # noqa: PLR2004 (two policies and two runs)
        return []
    others = [study.contrast(policy, against) for policy in study.records if policy != against]
    return [show_row("contrasts", asdict(one)) | {LOSES_MORE: f"{1 - one.wins:.0%}"} for one in others]


def value_rows(value: "pd.DataFrame") -> tuple[str, Rows]:
    """What the delay costs, in words, and which fraction of it each policy recovers; NaN where that is undefined."""
    rows = []
    for row in value.to_dict("records"):
        known = not math.isnan(row["fraction"])
        recovered = f"{row['fraction']:,.1%}" if known else "undefined"
        around = f"{row['low']:,.1%} to {row['high']:,.1%}" if known else ""
        rows.append({"policy": str(row["policy"]), "recovered": recovered, "95 % interval (Fieller)": around})
    cost = value.iloc[0]
    sure = interval(cost["cost_low"], cost["cost_high"]) if cost["runs"] > 1 else "needs 2 runs"
    return f"the delay costs {amount(cost['cost'])} ({sure}); of that each policy recovers", rows


def yardstick(rows: Sequence[dict[str, Any]]) -> str | None:
    """The policy with the smallest regret, without those that are told what cannot be known; None if none is left."""
    usable = [row for row in rows if row["runs"] and not is_informed(row["policy"])]
    return str(min(usable, key=lambda row: row["regret"])["policy"]) if usable else None
