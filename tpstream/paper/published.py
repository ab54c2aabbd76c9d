"""What did the paper print? Its numbers as files, and the settings, spans and policies they belong to.

Source: G. Romano, A. Agostini, F. Trovò, N. Gatti, M. Restelli, "Multi-Armed Bandit Problem with Temporally-Partitioned
Rewards: When Partial Feedback Counts", IJCAI 2022, with its appendix. README.md in this folder names the table of each
file. Intervals (`ci95`) are half-widths, 1.96 standard deviations of the mean over 50 runs.
"""

from importlib.resources import files
from io import StringIO

import pandas as pd

KINDS = {
    "UCB1": "ucb1",
    "Delayed-UCB1": "delayed-ucb1",
    "TP-UCB-FR": "tp-ucb-fr",
    "TP-UCB-EW": "tp-ucb-ew",
}
"""The paper's names of the policies, and ours."""
Z95 = 1.96
"""The factor between a published interval and its standard error."""
RUNS = 50
"""The runs behind every published number."""


def setting2_regret() -> pd.DataFrame:
    """Regret at T = 10^5 in Settings 2, 2.1, 2.2 and 2.3: setting, span, groups, kind, regret, ci95."""
    return _read("setting2_regret.csv")


def setting2_percent() -> pd.DataFrame:
    """Regret in percent of Delayed-UCB1's in Setting 2: span, groups, kind, percent, ci95."""
    return _read("setting2_percent_of_delayed.csv")


def spotify_regret() -> pd.DataFrame:
    """Regret in the Spotify setting: kind, regret, ci95."""
    return _read("spotify_regret.csv")


def setting4_parameters() -> dict[int, tuple[list[int], list[int]]]:
    """The Beta parameters a and b of the ten scenarios of Setting 4, by the scenario's number."""
    table = _read("setting4_parameters.csv")
    shapes = zip(table["scenario"].tolist(), map(_numbers, table["a"]), map(_numbers, table["b"]), strict=True)
    return {number: (a, b) for number, a, b in shapes}


def _numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",")]


def _read(name: str) -> pd.DataFrame:
    """The file with our words: span for tau_max, groups for alpha, kinds for policies."""
    text = files(__package__).joinpath("published_tables", name).read_text(encoding="utf-8")
    table = pd.read_csv(StringIO(text), dtype={"setting": str})
    table = table.rename(columns={"tau_max": "span", "alpha": "groups", "policy": "kind"})
    return table.assign(kind=table["kind"].map(KINDS)) if "kind" in table else table
