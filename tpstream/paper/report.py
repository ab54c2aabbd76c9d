"""The page that `tpstream paper` writes: `report_template.md` with the numbers and tables of a reproduction."""

import math
import os
import re
from collections.abc import Collection, Iterable, Mapping
from importlib.resources import files
from pathlib import Path
from string import Template

import pandas as pd

from tpstream.paper.agreement import (
    POINTS,
    family_agreement,
    percentage_agreement,
    spotify_agreement,
    spotify_ucb1_halfway,
)
from tpstream.paper.bound_checks import lower_checks, overtakings, upper_checks
from tpstream.paper.claims import NO, claims
from tpstream.paper.figures import draw_all
from tpstream.paper.published import RUNS
from tpstream.paper.reproduction import Reproduction, costs, time_shares
from tpstream.paper.settings import DELAYED, EW, FAMILY, FR, NAMES, ROUND_ROBIN, UCB1, family_scenario

TOLERANCES = {FR: "1.5 %", EW: "1.5 %", DELAYED: "3 % (4 % in one cell)", UCB1: "2.5 %"}
APPLIES = {True: "yes", False: "no: other groups or dependent songs"}
NEAREST = 5
"""How many of the cases that come nearest to a bound are listed."""
CHANCE = 0.05
"""The share of equal means that differ by more than 1.96 standard errors."""
FAR = 3.3
"""The largest of 64 differences of equal means exceeds this number of standard errors in 6 % of all cases."""


def write_report(found: Reproduction, path: Path) -> list[Path]:
    """Write the page and its figures (in `images` beside it); returns all files."""
    images = path.parent / "images"
    names = draw_all(found, images)
    template = files(__package__).joinpath("report_template.md").read_text(encoding="utf-8")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(fill_template(template, report_values(found), names), encoding="utf-8")
    return [path, *(images / name for name in names)]


def fill_template(template: str, values: Mapping[str, str], images: Collection[str]) -> str:
    """The template with its values; the text under a heading is left out if one of its values or figures is missing."""
    parts = [Template(part) for part in re.split(r"(?m)^(?=##+ )", template)]
    kept = [
        part.substitute(values)
        for part in parts
        if set(part.get_identifiers()) <= values.keys()
        and set(re.findall(r"\(images/(.*?)\)", part.template)) <= set(images)
    ]
    return "".join(kept).rstrip() + "\n"


def report_values(found: Reproduction) -> dict[str, str]:
    """The values of the template; published numbers are compared only at the paper's horizons."""
    values = {
        "settings": ", ".join(setting.name for setting in found.settings),
        "runs": str(found.runs),
        "rounds": "the paper's horizons" if found.full else f"{found.horizon:,} rounds instead of the paper's",
        "promises": markdown_table(pd.DataFrame(promises(found), columns=["promise", "found", "kept"])),
        **{f"about_{setting.name}": setting.about for setting in found.settings},
        **_bound_values(found),
        **_cost_values(found),
    }
    if found.full:
        values |= _claim_values(found)
        values |= {**_family_values(found), **_difference_values(found)} if found.has(*FAMILY) else {}
        values |= {**_percentage_values(found), **_start_values(found)} if found.has("2") else {}
        values |= _spotify_values(found) if found.has("spotify") else {}
    return values


def promises(found: Reproduction) -> list[list[str]]:
    """The summary, a row for each promise of the reproduction: the promise, what was found, and whether it is kept."""
    rows = []
    if found.full:
        cells = family_agreement(found)
        for policy, tolerance in TOLERANCES.items():
            name = f"{NAMES[policy]}{', random start' if policy == DELAYED else ''}"
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


def _family_values(found: Reproduction) -> dict[str, str]:
    cells = family_agreement(found)
    return {"cells": markdown_table(_comparison(cells, ("setting", "span", "groups")).assign(within=cells["within"]))}


def _percentage_values(found: Reproduction) -> dict[str, str]:
    shares = percentage_agreement(found)
    table = pd.DataFrame(
        {
            **shares[["span", "groups"]],
            "policy": shares["policy"].map(NAMES),
            "ours": _with_half(shares["ours"], shares["half"], ".2f"),
            "published": _with_half(shares["published"], shares["published_half"], ".2f"),
            "points": shares["difference"].map("{:+.2f}".format),
            "standard errors": shares["errors"].map("{:+.1f}".format),
            "within": shares["within"],
        }
    )
    return {"percentages": markdown_table(table)}


def _start_values(found: Reproduction) -> dict[str, str]:
    """Delayed-UCB1 with both starts: which one fits the published means and their variation better."""
    random, robin = (
        family_agreement(found, start).query("policy == @start").reset_index() for start in (DELAYED, ROUND_ROBIN)
    )
    values: dict[str, str] = {}
    for name, cells in (("random", random), ("robin", robin)):
        spread = math.sqrt(found.runs / RUNS) * (cells["half"] / cells["published_half"]).mean()
        values |= {f"misfit_{name}": f"{(cells['errors'] ** 2).mean():.1f}", f"spread_{name}": f"{spread:.2f}"}
    table = pd.DataFrame(
        {
            **random[["setting", "span", "groups"]],
            "random start": _with_half(random["ours"], random["half"]),
            "round-robin start": _with_half(robin["ours"], robin["half"]),
            "published": _with_half(random["published"], random["published_half"]),
            "random: errors": random["errors"].map("{:+.1f}".format),
            "robin: errors": robin["errors"].map("{:+.1f}".format),
        }
    )
    return {**values, "starts": markdown_table(table)}


def _spotify_values(found: Reproduction) -> dict[str, str]:
    cells, half = spotify_agreement(found), spotify_ucb1_halfway(found)
    return {
        "spotify": markdown_table(_comparison(cells, (), digits=1)),
        "halfway": f"{half['ours']:,.0f} ± {half['half']:,.0f} ({half['errors']:+.1f} standard errors)",
    }


def _comparison(cells: pd.DataFrame, keys: Iterable[str], digits: int = 2) -> pd.DataFrame:
    """Our regrets beside the published ones."""
    names = NAMES
    if ROUND_ROBIN in set(cells["policy"]):
        names = NAMES | {DELAYED: "Delayed-UCB1, random start", ROUND_ROBIN: "Delayed-UCB1, round-robin start"}
    return pd.DataFrame(
        {
            **cells[[*keys]],
            "policy": cells["policy"].map(names),
            "ours": _with_half(cells["ours"], cells["half"]),
            "published": _with_half(cells["published"], cells["published_half"]),
            "%": cells["percent"].map(f"{{:+.{digits}f}}".format),
            "standard errors": cells["errors"].map("{:+.1f}".format),
            "agrees": cells["agrees"],
        }
    )


def _claim_values(found: Reproduction) -> dict[str, str]:
    rows = [(claim.setting, claim.says, claim.found, claim.holds) for claim in claims(found)]
    table = pd.DataFrame(rows, columns=["setting", "the paper says", "we find", "holds"])
    return {"claims": markdown_table(table)} if rows else {}


def _bound_values(found: Reproduction) -> dict[str, str]:
    upper, lower, overtaken = upper_checks(found), lower_checks(found), overtakings(found)
    lower = lower.iloc[(lower["slope"] / lower["least"]).argsort(kind="stable")]
    highest, lowest = upper.nlargest(NEAREST, "share"), lower.head(NEAREST)
    slopes = lowest[["slope", "low", "high"]].itertuples(index=False, name=None)
    upper_table = pd.DataFrame(
        {
            "world": highest["scenario"],
            "policy": highest["policy"].map("`{}`".format),
            "largest share of the bound": highest["share"].map("{:.1%}".format),
            "theorem applies": highest["applies"].map(APPLIES),
        }
    )
    lower_table = pd.DataFrame(
        {
            "world": lowest["scenario"],
            "policy": lowest["policy"].map("`{}`".format),
            "slope per ln T": [f"{slope:,.0f} ({low:,.0f} to {high:,.0f})" for slope, low, high in slopes],
            "lower bound": lowest["least"].map("{:,.0f}".format),
            "theorem applies": lowest["applies"].map(APPLIES),
            "undercut": lowest["undercut"].map({True: "**yes**", False: "no"}),
        }
    )
    rounds = pd.DataFrame(
        {
            "world": overtaken["scenario"],
            "by the bounds, from round": overtaken["predicted"].map("{:,.0f}".format).replace("inf", "never"),
            "in the runs, from round": overtaken["measured"].map("{:,.0f}".format).replace("inf", "not up to the end"),
        }
    )
    return {
        "below_upper": _count(upper["share"] <= 1),
        "upper_bounds": markdown_table(upper_table),
        "above_lower": _count(~lower[lower["applies"]]["undercut"]),
        "above_lower_all": _count(~lower["undercut"]),
        "lower_bounds": markdown_table(lower_table),
        "overtakings": markdown_table(rounds, right=2),
    }


def _difference_values(found: Reproduction) -> dict[str, str]:
    """Which cells differ by more than their intervals allow."""
    cells = family_agreement(found)
    worlds = cells["setting"] + " " + cells["span"].astype(str) + "/" + cells["groups"].astype(str)
    rows = []
    for policy in (FR, EW, DELAYED, UCB1):
        own = cells[cells["policy"] == policy]
        off = own[~own["agrees"]]
        which = ", ".join(
            f"{world}: {errors:+.1f}" for world, errors in zip(worlds[off.index], off["errors"], strict=True)
        )
        largest = max(own["percent"], key=abs)
        rows.append((NAMES[policy], f"{len(off)} of {len(own)}", f"{CHANCE * len(own):.1f}", f"{largest:+.2f}", which))
    titles = ["policy", "cells that differ", "expected by chance", "largest, %", "which, in standard errors"]
    ucb1 = cells[cells["policy"] == UCB1]
    scenarios = map(family_scenario, ucb1["setting"], ucb1["span"], ucb1["groups"])
    pulls = ucb1["difference"] / [
        (means.max() - means).sum() for means in (found.studies[one].means for one in scenarios)
    ]
    same_sign = (cells["errors"] > 0).groupby(worlds).transform("mean").isin([0, 1])
    far = (cells["errors"].abs() > FAR) & (cells["policy"] != UCB1)
    return {
        "differences": markdown_table(pd.DataFrame(rows, columns=titles)),
        "ucb1_percent": _range(ucb1["percent"], "+.2f", " %"),
        "ucb1_pulls": _range(pulls, ".1f", " times"),
        "worlds": ", ".join(dict.fromkeys(worlds[same_sign & far])) or "none",
    }


def _cost_values(found: Reproduction) -> dict[str, str]:
    table = costs(found)
    seconds = table.map("{:,.0f}".format).rename(columns="{}, s".format).rename_axis("setting").reset_index()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "minutes": f"{table['clock'].iloc[-1] / 60:.1f}",
        "jobs": str(found.jobs),
        "cores": str(cores),
        "costs": markdown_table(seconds, right=3),
        "time_shares": ", ".join(f"{kind} {share:.0%}" for kind, share in time_shares(found).items()),
    }


def markdown_table(table: pd.DataFrame, right: int = 0) -> str:
    """The table in Markdown; the last `right` columns are aligned to the right, truth values are yes or a bold no."""
    marks = ["---"] * (table.shape[1] - right) + ["---:"] * right
    rows = [list(table.columns), marks, *table.itertuples(index=False, name=None)]
    return "\n".join(f"| {' | '.join(_cell(cell) for cell in row)} |" for row in rows)


def _cell(value: object) -> str:
    return _verdict(value) if isinstance(value, bool) else str(value)


def _verdict(holds: object) -> str:
    return "yes" if holds else "**no**"


def _count(holds: "pd.Series[bool]") -> str:
    return f"{holds.sum()} of {len(holds)}"


def _range(values: "pd.Series[float]", form: str, unit: str) -> str:
    return f"{values.min():{form}} to {values.max():{form}}{unit} (mean {values.mean():{form}})"


def _with_half(values: Iterable[float], halves: Iterable[float], form: str = ",.0f") -> list[str]:
    """Numbers with the half-widths of their intervals."""
    return [f"{value:{form}} ± {half:{form}}" for value, half in zip(values, halves, strict=True)]
