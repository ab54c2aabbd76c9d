"""The report that `tpstream paper` writes: `report_template.md` with the numbers and tables of a reproduction."""

import math
import os
import re
from collections.abc import Collection, Mapping
from importlib.resources import files
from pathlib import Path
from string import Template

import pandas as pd

from tpstream.paper.agreement import POINTS, RUNS, family_agreement, percentage_agreement, spotify_agreement
from tpstream.paper.bound_checks import lower_checks, overtakings, upper_checks
from tpstream.paper.claims import NO, claims
from tpstream.paper.figures import figures_of
from tpstream.paper.reproduction import Reproduction, costs, time_shares
from tpstream.paper.settings import DELAYED, EW, FAMILY, FR, NAMES, ROUND_ROBIN, UCB1, family_scenario

TOLERANCES = {FR: "1.5 %", EW: "1.5 %", DELAYED: "3 % (4 % in one cell)", UCB1: "2.5 %"}
STARTS = {DELAYED: "Delayed-UCB1, random start", ROUND_ROBIN: "Delayed-UCB1, round-robin start"}
APPLIES = {True: "yes", False: "no: other groups or dependent songs"}
NEAREST = 5
"""How many of the cases that come nearest to a bound are listed."""
CHANCE = 0.05
"""The share of equal means that differ by more than 1.96 standard errors."""
FAR = 3.3
"""The largest of 64 differences of equal means exceeds this number of standard errors in 6 % of all cases."""
ROW = re.compile(r"(?m)^\$(\w+): (\|.*\|)$")
"""A line of the template that stands for all rows of a table: `$name: | {column} | {column:.2f} |`."""
Values = Mapping[str, str | pd.DataFrame]
"""What the template names: text, and tables whose rows it formats."""


def write_report(found: Reproduction, path: Path) -> list[Path]:
    """Write the report as Markdown, and its figures (in `images` beside it); returns all files."""
    images, figures = path.parent / "images", figures_of(found)
    for name, draw in figures.items():
        draw(found, images / name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(report_text(found, figures), encoding="utf-8")
    return [path, *(images / name for name in figures)]


def report_text(found: Reproduction, images: Collection[str]) -> str:
    """The report as Markdown."""
    template = files(__package__).joinpath("report_template.md").read_text(encoding="utf-8")
    return fill_template(template, report_values(found), images)


def fill_template(template: str, values: Values, images: Collection[str]) -> str:
    """The template with its values; the text under a heading is left out if one of its values or figures is missing."""
    kept = [
        Template(ROW.sub(lambda row: table_rows(values[row[1]], row[2]), part)).substitute(values)
        for part in re.split(r"(?m)^(?=##+ )", template)
        if set(Template(part).get_identifiers()) <= values.keys()
        and set(re.findall(r"\(images/(.*?)\)", part)) <= set(images)
    ]
    return "".join(kept).rstrip() + "\n"


def table_rows(table: str | pd.DataFrame, form: str) -> str:
    """A line for each row of a table, by a format that names its columns; truth values are yes or a bold no."""
    assert isinstance(table, pd.DataFrame)  # noqa: S101 (the template formats rows of tables only)
    words = {str(name): column.map(_verdict) for name, column in table.select_dtypes(bool).items()}
    return "\n".join(form.format_map(row) for row in table.assign(**words).to_dict("records"))


def report_values(found: Reproduction) -> Values:
    """The values of the template; published numbers are compared only at the paper's horizons."""
    values = {
        "settings": ", ".join(setting.name for setting in found.settings),
        "runs": str(found.runs),
        "rounds": "the paper's horizons" if found.full else f"{found.horizon:,} rounds instead of the paper's",
        "promises": pd.DataFrame(promises(found), columns=["promise", "found", "kept"]),
        **{f"about_{setting.name}": setting.about for setting in found.settings},
        **_bound_values(found),
        **_cost_values(found),
    }
    if found.full and (checked := claims(found)):
        values["claims"] = pd.DataFrame(checked)
    if found.full and found.has(*FAMILY):
        cells = family_agreement(found)
        values |= {"cells": _with_names(cells), **_difference_values(found, cells)}
    if found.full and found.has("2"):
        values |= {"percentages": _with_names(percentage_agreement(found)), **_start_values(found)}
    if found.full and found.has("spotify"):
        half = spotify_agreement(found, share=0.5).set_index("policy").loc[UCB1]
        values["spotify"] = _with_names(spotify_agreement(found), NAMES | STARTS)
        values["halfway"] = "{ours:,.0f} ± {half:,.0f} ({errors:+.1f} standard errors)".format_map(half)
    return values


def promises(found: Reproduction) -> list[list[str]]:
    """The summary, a row for each promise of the reproduction: the promise, what was found, and whether it is kept."""
    rows = []
    if found.full:
        cells = family_agreement(found)
        for policy, tolerance in TOLERANCES.items():
            name = STARTS.get(policy, NAMES[policy])
            own = cells[cells["policy"] == policy]
            rows += _kept(f"{name}: published regret within {tolerance}", own["within"], own["percent"], " cells", " %")
        shares = percentage_agreement(found)
        promise = f"percentages of the main text within {POINTS} points"
        rows += _kept(promise, shares["within"], shares["difference"])
        checked = claims(found)
        missed = [claim for claim in checked if claim.holds == NO]
        if checked:
            text = "".join(f"; not: {claim.says} (Setting {claim.setting})" for claim in missed)
            text = f"{len(checked) - len(missed)} of {len(checked)}{text}"
            rows.append(["claims in words hold, or are within noise", text, _verdict(not missed)])
    highest = upper_checks(found).nlargest(1, "share").iloc[0]
    text = f"at most {highest['share']:.0%} of it (`{highest['policy']}`, {highest['scenario']})"
    rows.append(["no run exceeds its upper bound, at any time", text, _verdict(highest["share"] <= 1)])
    undercut = int(lower_checks(found).query("applies")["undercut"].sum())
    promise = "no slope in ln T undercuts the lower bound by more than noise"
    return [*rows, [promise, f"{undercut} undercut", _verdict(not undercut)]]


def _kept(
    promise: str, within: "pd.Series[bool]", differences: "pd.Series[float]", what: str = "", unit: str = ""
) -> list[list[str]]:
    """A row about numbers that are all promised to be within a tolerance; none if there are no numbers."""
    if within.empty:
        return []
    largest = max(differences, key=abs)
    return [[promise, f"{_count(within)}{what}; largest {largest:+.2f}{unit}", _verdict(within.all())]]


def _start_values(found: Reproduction) -> Values:
    """Delayed-UCB1 with both starts: which one fits the published means and their variation better."""
    random, robin = (family_agreement(found, start).query("policy == @start") for start in (DELAYED, ROUND_ROBIN))
    values: dict[str, str | pd.DataFrame] = {"starts": random.join(robin, rsuffix="_robin")}
    for name, cells in (("random", random), ("robin", robin)):
        spread = math.sqrt(found.runs / RUNS) * (cells["half"] / cells["published_half"]).mean()
        values |= {f"misfit_{name}": f"{(cells['errors'] ** 2).mean():.1f}", f"spread_{name}": f"{spread:.2f}"}
    return values


def _bound_values(found: Reproduction) -> Values:
    upper, lower, overtaken = upper_checks(found), lower_checks(found), overtakings(found)
    lower = lower.iloc[(lower["slope"] / lower["least"]).argsort(kind="stable")]
    highest, lowest = upper.nlargest(NEAREST, "share"), lower.head(NEAREST)
    bold = {True: "**yes**", False: "no"}
    return {
        "below_upper": _count(upper["share"] <= 1),
        "upper_bounds": highest.assign(applies=highest["applies"].map(APPLIES)),
        "above_lower": _count(~lower[lower["applies"]]["undercut"]),
        "above_lower_all": _count(~lower["undercut"]),
        "lower_bounds": lowest.assign(applies=lowest["applies"].map(APPLIES), undercut=lowest["undercut"].map(bold)),
        "overtakings": overtaken.assign(
            predicted=overtaken["predicted"].map("{:,.0f}".format).replace("inf", "never"),
            measured=overtaken["measured"].map("{:,.0f}".format).replace("inf", "not up to the end"),
        ),
    }


def _difference_values(found: Reproduction, cells: pd.DataFrame) -> Values:
    """Which cells differ by more than their intervals allow."""
    worlds = cells["setting"] + " " + cells["span"].astype(str) + "/" + cells["groups"].astype(str)
    rows = []
    for policy in TOLERANCES:
        own = cells[cells["policy"] == policy]
        off = own[~own["agrees"]]
        which = ", ".join(map("{}: {:+.1f}".format, worlds[off.index], off["errors"]))
        largest = max(own["percent"], key=abs)
        rows.append((NAMES[policy], len(off), len(own), CHANCE * len(own), largest, which))
    ucb1 = cells[cells["policy"] == UCB1]
    means = [found.studies[name].means for name in map(family_scenario, ucb1["setting"], ucb1["span"], ucb1["groups"])]
    pulls = ucb1["difference"] / [(one.max() - one).sum() for one in means]
    same_sign = (cells["errors"] > 0).groupby(worlds).transform("mean").isin([0, 1])
    far = (cells["errors"].abs() > FAR) & (cells["policy"] != UCB1)
    return {
        "differences": pd.DataFrame(rows, columns=["policy", "differ", "cells", "chance", "largest", "which"]),
        "ucb1_percent": _range(ucb1["percent"], "+.2f", " %"),
        "ucb1_pulls": _range(pulls, ".1f", " times"),
        "worlds": ", ".join(dict.fromkeys(worlds[same_sign & far])) or "none",
    }


def _cost_values(found: Reproduction) -> Values:
    table = costs(found)
    return {
        "minutes": f"{table['clock'].iloc[-1] / 60:.1f}",
        "jobs": str(found.jobs),
        "cores": str(os.cpu_count()),
        "costs": table.rename_axis("setting").reset_index(),
        "time_shares": ", ".join(f"{kind} {share:.0%}" for kind, share in time_shares(found).items()),
    }


def _with_names(table: pd.DataFrame, names: Mapping[str, str] = NAMES) -> pd.DataFrame:
    """The table with the names that the page has for policies."""
    return table.assign(policy=table["policy"].map(names))


def _verdict(holds: object) -> str:
    return "yes" if holds else "**no**"


def _count(holds: "pd.Series[bool]") -> str:
    return f"{holds.sum()} of {len(holds)}"


def _range(values: "pd.Series[float]", form: str, unit: str) -> str:
    return f"{values.min():{form}} to {values.max():{form}}{unit} (mean {values.mean():{form}})"
