"""The numbers that the paper prints and ours beside them: how far apart they are, and whether that is near enough.

Source: G. Romano, A. Agostini, F. Trovò, N. Gatti, M. Restelli, "Multi-Armed Bandit Problem with Temporally-Partitioned
Rewards: When Partial Feedback Counts", IJCAI 2022, with its appendix.

The functions named `..._agreement` give tables with a row for each published number. `ours` and `published` have
half-widths of 95 % intervals, `half` and `published_half`; see `compare_numbers` for the other columns.
"""

import math
from importlib.resources import files

import numpy as np
import pandas as pd

from tpstream.model.arrays import Floats
from tpstream.paper.estimates import ratio
from tpstream.paper.reproduction import Reproduction
from tpstream.paper.settings import DELAYED, EW, FAMILY, FR, NAMES, ROUND_ROBIN, SETTINGS, UCB1, family_scenario

Z95 = 1.96
"""The factor between a published half-width and its standard error."""
RUNS = 50
"""The runs behind every published number."""
TOLERANCE = {UCB1: 2.5, DELAYED: 3.0, ROUND_ROBIN: 3.0, FR: 1.5, EW: 1.5}
"""How far our regret may be from the published one, in percent."""
WIDER_TOLERANCE = {("2.3", 100, 50, DELAYED): 4.0}
"""The same for the scenario (setting, span, groups) in which the runs of Delayed-UCB1 vary most."""
POINTS = 1.5
"""How far a percentage of Delayed-UCB1's regret may be from the published one, in percentage points."""
NUMBERS = ["ours", "half", "published", "published_half"]


def published(name: str) -> pd.DataFrame:
    """A file of the folder `published_tables`, whose README.md names the table of the paper behind each file.

    It comes with our words: span for tau_max, groups for alpha, and our names of policies. Intervals (`ci95`) are
    half-widths: 1.96 standard errors of the mean over 50 runs.
    """
    with files(__package__).joinpath("published_tables", f"{name}.csv").open(encoding="utf-8") as file:
        table = pd.read_csv(file, dtype={"setting": str}).rename(columns={"tau_max": "span", "alpha": "groups"})
    policies = {printed: policy for policy, printed in NAMES.items()}
    return table.replace({"policy": policies})


def mean_and_half(values: Floats) -> tuple[float, float]:
    """The mean over runs and the half-width of its interval as the paper computes it: 1.96 standard errors."""
    half = Z95 * float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    return float(np.mean(values)), half


def compare_numbers(rows: list[tuple[object, ...]], keys: list[str]) -> pd.DataFrame:
    """A table of rows (keys, ours, half, published, published half) with the differences.

    `difference` is absolute, `percent` in percent of the published number, `errors` in standard errors of the
    difference of two independent means. `agrees`: at most 1.96 of them, which equal means exceed in 5 % of comparisons.
    """
    table = pd.DataFrame(rows, columns=[*keys, *NUMBERS]).astype(dict.fromkeys(NUMBERS, float))
    difference = table["ours"] - table["published"]
    errors = difference / (np.hypot(table["half"], table["published_half"]) / Z95)
    return table.assign(
        difference=difference,
        percent=100 * difference / table["published"],
        errors=errors,
        agrees=errors.abs() <= Z95,
    )


def family_agreement(found: Reproduction, delayed: str = DELAYED) -> pd.DataFrame:
    """The final regrets in Settings 2, 2.1, 2.2 and 2.3; Delayed-UCB1 with this start.

    `within` says whether the difference is within the tolerance.
    """
    rows: list[tuple[object, ...]] = []
    tolerances = []
    for setting, span, groups, printed, *numbers in published("setting2_regret").itertuples(index=False):
        if found.has(setting):
            policy = delayed if printed == DELAYED else printed
            ours = mean_and_half(found.curves(family_scenario(setting, span, groups), policy).final)
            rows.append((setting, span, groups, policy, *ours, *numbers))
            tolerances.append(WIDER_TOLERANCE.get((setting, span, groups, printed), TOLERANCE[policy]))
    table = compare_numbers(rows, ["setting", "span", "groups", "policy"])
    table = table.assign(within=table["percent"].abs() <= tolerances)
    return table.sort_values("setting", key=lambda names: names.map(FAMILY.index), kind="stable")


def percentage_agreement(found: Reproduction) -> pd.DataFrame:
    """The main text's table: regrets in percent of Delayed-UCB1's, in Setting 2.

    The printed half-widths leave out the variation of Delayed-UCB1's regret; here it is included, in both. `within`
    means within 1.5 percentage points.
    """
    regrets = published("setting2_regret").query("setting == '2'").set_index(["span", "groups", "policy"])
    relative = regrets["ci95"] / regrets["regret"]
    printed = published("setting2_percent_of_delayed").itertuples(index=False)
    rows: list[tuple[object, ...]] = []
    for span, groups, policy, percent, _ in printed if found.has("2") else ():
        scenario = family_scenario("2", span, groups)
        ours = ratio(found.curves(scenario, policy).final, found.curves(scenario, DELAYED).final, scale=100)
        half = percent * math.hypot(relative[span, groups, policy], relative[span, groups, DELAYED])
        rows.append((span, groups, policy, ours.value, (ours.high - ours.low) / 2, percent, half))
    table = compare_numbers(rows, ["span", "groups", "policy"])
    return table.assign(within=table["difference"].abs() <= POINTS)


def spotify_agreement(found: Reproduction, share: float = 1.0) -> pd.DataFrame:
    """The Spotify table beside our runs with synthetic rewards; Delayed-UCB1 with both starts.

    The published numbers are final regrets, ours those after a share of the rounds.
    """
    (scenario,) = SETTINGS["spotify"].scenarios
    rows: list[tuple[object, ...]] = []
    for printed, *numbers in published("spotify_regret").itertuples(index=False):
        for policy in (DELAYED, ROUND_ROBIN) if printed == DELAYED else (printed,):
            curves = found.curves(scenario, policy)
            values = curves.regret[:, curves.nearest(share * curves.rounds[-1])]
            rows.append((policy, *mean_and_half(values), *numbers))
    return compare_numbers(rows, ["policy"])
