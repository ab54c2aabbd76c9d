"""Numbers of published trial designs beside ours: `tpstream paper trials`, and its report.

Each table of the literature is a function that gives a row for each of its numbers. Two numbers agree if they are not
further apart than 4 combined Monte Carlo errors, theirs and ours, plus what the published one was rounded by.
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from tpstream.experiment.compare import Expecting
from tpstream.paper.published import NEAR, Effort, Number, Table
from tpstream.paper.trials_brar import brar, brar_delayed
from tpstream.paper.trials_looks import adaptr, rartrials
from tpstream.paper.trials_rpact import rpact
from tpstream.paper.trials_villar import villar_four, villar_two

TABLES: Mapping[str, Table] = {
    "rpact": rpact,
    "villar-two": villar_two,
    "villar-four": villar_four,
    "brar": brar,
    "brar-delayed": brar_delayed,
    "adaptr": adaptr,
    "rartrials": rartrials,
}
"""The tables by the names by which they are asked for."""


def trial_agreement(effort: Effort, names: Sequence[str] = ()) -> pd.DataFrame:
    """All numbers of these tables, of all if none is named.

    Returns
    -------
    DataFrame
        `table`, `what`, `ours` with its `error`, `published` with `published_error` and `rounding`, `errors` (how many
        combined errors they are apart beyond the rounding) and `agrees`.
    """
    chosen = list(names) or list(TABLES)
    if isinstance(effort.progress, Expecting):
        effort.progress.expect(len(chosen))
    numbers: list[Number] = []
    for name in chosen:
        numbers += TABLES[name](effort)
        if effort.progress is not None:
            effort.progress(1)
    return pd.DataFrame(numbers).assign(errors=[one.errors for one in numbers], agrees=[one.agrees for one in numbers])


def shown(number: float, error: float = 0.0) -> str:
    """A number with its error in brackets, to the digits that the error allows."""
    if error > 0:
        digits = max(0, 1 - math.floor(math.log10(error)))
        return f"{number:,.{digits}f} ({error:,.{digits}f})"
    return f"{number:.8g}"


def write_validation(found: pd.DataFrame, trials: int, path: Path) -> Path:
    """Write the report, a Markdown page: every number, ours and theirs."""
    lines = [TITLE.format(trials=f"{trials:,}", agree=int(found["agrees"].sum()), all=len(found), near=NEAR)]
    for table, rows in found.groupby("table", sort=False):
        lines += [f"## {table}", "", HEAD]
        for row in rows.to_dict("records"):
            theirs = shown(row["published"], row["published_error"])
            apart = "" if row["error"] == row["published_error"] == 0 else f"{row['errors']:+.1f}"
            verdict = "yes" if row["agrees"] else "**no**"
            lines.append(f"| {row['what']} | {shown(row['ours'], row['error'])} | {theirs} | {apart} | {verdict} |")
        lines.append("")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


HEAD = """| what | ours (error) | published (error) | errors apart | agrees |
|---|---:|---:|---:|---|"""
TITLE = """# Trial designs, checked against published numbers

<!-- made by `tpstream paper trials` -->

Made by `tpstream paper trials` with {trials} simulated trials of each design: **{agree} of {all} numbers agree**.
In brackets is one Monte Carlo standard error; for published numbers it follows from the number of trials behind
them. Numbers agree within {near:g} combined errors plus the rounding of the published number.

Not compared is one number: the bias of the current-belief rule with two arms, given as .095. With ties to the control,
as the rule is stated, it is .082 here (200,000 trials), which disagrees; with random ties it is .093. Alpha and power
of the rules that are tested with a simulated cut-off (current belief, Gittins) count the error of that cut-off, too.
"""
