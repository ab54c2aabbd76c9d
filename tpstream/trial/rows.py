"""The tables of a trial as people read them, in commands and in reports: rows of texts by title."""

from tpstream.analysis.printed import show_row
from tpstream.analysis.regret import all_equal
from tpstream.trial.characteristics import FIXED, Trial

ABOUT_THE_BEST = ["on_best", "best_chosen", "lost", "against_fixed"]
"""Printed columns that compare with the best arm: without value where all arms are equally good."""


def trial_rows(trial: Trial) -> list[dict[str, str]]:
    """The operating characteristics: a row for each policy."""
    table = trial.table()
    rows = []
    for row in (table.drop(columns=ABOUT_THE_BEST) if all_equal(trial.means) else table).to_dict("records"):
        if not row["runs"]:
            rows.append({"policy": str(row["policy"]), "runs": "0 (all failed)"})
            continue
        cells = show_row("trial", row, time_unit=trial.time_unit)
        if row["policy"] == FIXED and "against fixed" in cells:
            cells["against fixed"] = ""
        rows.append(cells)
    return rows


def choice_rows(trial: Trial) -> list[dict[str, str]]:
    """How many patients each arm got, and how often it was chosen: a row for each policy and arm."""
    return [show_row("choices", row) for row in trial.choices().to_dict("records")]
