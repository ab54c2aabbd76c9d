"""The numbers that the paper prints, read from the files in `published_tables`.

Source: G. Romano, A. Agostini, F. Trovò, N. Gatti, M. Restelli, "Multi-Armed Bandit Problem with Temporally-Partitioned
Rewards: When Partial Feedback Counts", IJCAI 2022, with its appendix. The README.md beside the files names the table of
the paper behind each file. Intervals (`ci95`) are half-widths: 1.96 standard errors of the mean over 50 runs.
"""

from importlib.resources import files
from io import StringIO

import pandas as pd

from tpstream.paper.settings import NAMES

Z95 = 1.96
"""The factor between a published half-width and its standard error."""
RUNS = 50
"""The runs behind every published number."""


def setting2_regret() -> pd.DataFrame:
    """Regret at T = 10^5 in Settings 2, 2.1, 2.2 and 2.3: setting, span, groups, policy, regret, ci95."""
    return _read("setting2_regret.csv")


def setting2_percent() -> pd.DataFrame:
    """Regret in percent of Delayed-UCB1's in Setting 2: span, groups, policy, percent, ci95."""
    return _read("setting2_percent_of_delayed.csv")


def spotify_regret() -> pd.DataFrame:
    """Regret in the Spotify setting: policy, regret, ci95."""
    return _read("spotify_regret.csv")


def setting4_parameters() -> dict[int, tuple[list[int], list[int]]]:
    """The Beta parameters a and b of the ten scenarios of Setting 4, by the scenario's number."""
    rows = _read("setting4_parameters.csv").itertuples(index=False, name=None)
    return {number: ([int(one) for one in a.split(",")], [int(one) for one in b.split(",")]) for number, a, b in rows}


def _read(name: str) -> pd.DataFrame:
    """The file with our words: span for tau_max, groups for alpha, and our names of policies."""
    text = files(__package__).joinpath("published_tables", name).read_text(encoding="utf-8")
    table = pd.read_csv(StringIO(text), dtype={"setting": str})
    table = table.rename(columns={"tau_max": "span", "alpha": "groups"})
    policies = {printed: policy for policy, printed in NAMES.items()}
    return table.assign(policy=table["policy"].map(policies)) if "policy" in table else table
