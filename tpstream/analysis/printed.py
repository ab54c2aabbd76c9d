"""How tables are written for people, by what `columns` says: texts by title, and intervals in brackets."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tpstream.analysis.columns import TABLES, Column, Show
from tpstream.model.units import plural

if TYPE_CHECKING:
    import pandas as pd  # slow to load, and help texts need this module

NUMBER = re.compile(r"(\S{1,8} )?[+-]?[\d.,]*\d[%x]?")
"""What stands at the right of its column: a number, with a currency or without."""
LARGE = 10_000
"""From here on a number is shown without decimals."""
LOSES_MORE = "loses more in"
"""The title of the share of runs in which a policy loses more than the one that it is compared with."""
ABOUT_THE_BEST = ["on_best", "best_chosen", "lost", "against_fixed"]
"""Columns of a trial that compare with the best arm: without value where all arms are equally good."""
Rows = list[dict[str, str]]
"""A table as it is printed: texts by title."""


def amount(value: float, form: str = ",.1f", large: float = LARGE) -> str:
    """A number in this format, without decimals if it is large."""
    return f"{value:,.0f}" if abs(value) >= large else f"{value:{form}}"


def interval(low: float, high: float) -> str:
    """An interval as it stands in tables."""
    return f"{amount(low)} to {amount(high)}"


def in_currency(currency: str | None) -> str:
    """What a title says about the unit of money; nothing where no currency is known."""
    return f" in {currency}" if currency else ""


def show_value(value: float | str | None, show: Show, currency: str = "") -> str:
    """A value of a table as people read it; "none" where there is none."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "" if show == "factor" else "none"
    if isinstance(value, str):
        return value
    if show == "seconds":
        return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2g}"  # noqa: PLR2004
    forms = {"text": "", "count": ",.0f", "difference": "+,.0f", "share": ".0%", "percent": ".1%"}
    forms |= {"time": ",.1f", "number": ".3g"}
    if show == "money":
        return f"{currency} {amount(value, ',.2f', large=1000)}".lstrip()
    if show == "factor":
        return f"{value:,.1f}x" if math.isfinite(value) else ""
    return amount(value) if show == "amount" else f"{value:{forms[show]}}"


def show_row(table: str, row: Mapping[Any, Any], currency: str = "", time_unit: str | None = None) -> dict[str, str]:
    """A row of a table as it is printed: texts by title, intervals in brackets.

    The unit of time, if there is one, is added to the titles of columns that are times.
    """
    cells = {}
    for column in TABLES[table]:
        if not column.title or column.name not in row:
            continue
        cells[column.title] = show_value(row[column.name], column.show, currency)
        if column.interval is None:
            continue
        low, high = (show_value(row[end], column.show) for end in column.interval)
        known = row.get("runs", 2) > 1 and "none" not in (low, high)
        if column.name in column.interval:
            cells[column.title] = f"{low} to {high}" if known else "needs 2 runs"
        elif known:
            cells[column.title] += f" ({low} to {high})"
    if time_unit is None:
        return cells
    times = {column.title for column in TABLES[table] if column.show == "time"}
    return {f"{title} ({plural(time_unit)})" if title in times else title: cell for title, cell in cells.items()}


def regret_rows(table: Sequence[Mapping[str, Any]], leave_out: Sequence[str] = ()) -> Rows:
    """The rows of the table `table` as they are printed, without columns of these names."""
    return [
        show_row("table", {name: value for name, value in row.items() if name not in leave_out})
        if row["runs"]
        else {"policy": row["policy"], "runs": "0", "regret": "all failed"}
        for row in table
    ]


def arm_rows(pulls: "pd.DataFrame") -> Rows:
    """How often each policy pulled each arm: of the table `pulls`, with a column for each arm."""
    rows: dict[str, dict[str, str]] = {}
    for one in pulls.to_dict("records"):
        rows.setdefault(one["policy"], {"policy": one["policy"]})[str(one["arm"])] = f"{one['share']:.1%}"
    return list(rows.values())


def round_rows(curves: "pd.DataFrame") -> Rows:
    """The regrets of the table `curves`, with a column for each round."""
    rows: dict[str, dict[str, str]] = {}
    for one in curves.to_dict("records"):
        around = "" if math.isnan(one["low"]) else f" ({interval(one['low'], one['high'])})"
        row = rows.setdefault(one["policy"], {"policy": one["policy"]})
        row[f"round {one['round']:,}"] = amount(one["regret"]) + around
    return list(rows.values())


def contrast_rows(contrasts: Sequence[Mapping[str, Any]]) -> Rows:
    """The rows of the table `contrasts` as they are printed."""
    return [show_row("contrasts", one) | {LOSES_MORE: f"{1 - one['wins']:.0%}"} for one in contrasts]


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


def trial_rows(table: "pd.DataFrame", fixed: str, time_unit: str | None, *, tied: bool) -> Rows:
    """The rows of the table `trial` as they are printed.

    `fixed` is the policy of fixed randomisation, which is not compared with itself; `tied` tells that all arms are
    equally good, so that nothing is compared with the best one.
    """
    rows = []
    for row in (table.drop(columns=ABOUT_THE_BEST) if tied else table).to_dict("records"):
        if not row["runs"]:
            rows.append({"policy": str(row["policy"]), "runs": "0 (all failed)"})
            continue
        cells = show_row("trial", row, time_unit=time_unit)
        if row["policy"] == fixed and "against fixed" in cells:
            cells["against fixed"] = ""
        rows.append(cells)
    return rows


def last_money(money: "pd.DataFrame", cells: Sequence[str] = ()) -> "pd.DataFrame":
    """The rows of the table `money` for the last round; `cells` are the paths of a sweep."""
    return money.drop_duplicates([*cells, "policy"], keep="last")


def money_rows(money: "pd.DataFrame", currency: str, cells: Sequence[str] = ()) -> list[dict[str, str]]:
    """The rows of the table `money` for the last round as they are printed; without late and lost where nothing is."""
    table = last_money(money, cells)
    hidden = [name for name in ("late", "lost_parts") if not table[name].any()]
    found = table.drop(columns=hidden).to_dict("records")
    return [{path: str(row[path]) for path in cells} | show_row("money", row, currency) for row in found]


def paired_money_rows(contrasts: "pd.DataFrame", currency: str) -> list[dict[str, str]]:
    """The rows of the table `money_contrasts` as they are printed."""
    return [show_row("money_contrasts", row, currency) for row in contrasts.to_dict("records")]


def printed_meaning(column: Column) -> str:
    """What is printed under a column's title: of an interval, both ends stand under the title of its lower one."""
    both = column.interval is not None and column.interval[0] == column.name
    return column.meaning.removeprefix("lower end of ") if both else column.meaning


def describe_printed(table: str) -> str:
    """The columns that commands print of this table, in words and each on a line of its own, for their help."""
    printed = [f"- {one.title}: {printed_meaning(one)}." for one in TABLES[table] if one.title]
    return "\n\n".join(["The columns:", *printed])
