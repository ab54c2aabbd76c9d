"""Numbers of published trial designs beside ours: `tpstream paper trials`, and its report.

Each table of the literature is a function that gives a row for each of its numbers. Two numbers agree if they are not
further apart than 4 combined Monte Carlo errors, theirs and ours, plus what the published one was rounded by.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from tpstream.paper.numbers_page import apart_figure, numbers_page, write_numbers
from tpstream.paper.published import NEAR, SEED, Effort, Table
from tpstream.paper.trials_brar import CELLS, DELAYED, brar, brar_delayed
from tpstream.paper.trials_looks import FEWER, adaptr, best_arms, rartrials
from tpstream.paper.trials_rpact import rpact
from tpstream.paper.trials_villar import gittins_indices, villar_four, villar_two
from tpstream.view.pages import Page

TABLES: Mapping[str, Table] = {
    "rpact": Table(rpact),
    "gittins": Table(gittins_indices),
    "best-arm": Table(best_arms),
    "villar-two": Table(villar_two, 148 * 13),
    "villar-four": Table(villar_four, 423 * 6),
    "brar": Table(brar, sum(cell.patients for cell in CELLS)),
    "brar-delayed": Table(brar_delayed, CELLS[1].patients * len(DELAYED)),
    "adaptr": Table(adaptr, 2000 / FEWER),
    "rartrials": Table(rartrials, 2 * 250 / FEWER),
}
"""The tables by the names by which they are asked for."""


@dataclass(frozen=True)
class Validation:
    """What `tpstream paper trials` found."""

    trials: int
    numbers: pd.DataFrame
    """`table`, `what`, `ours` with its `error`, `published` with `published_error` and `rounding`, `known` (to
    disagree), `errors` (how many combined errors they are apart beyond the rounding) and `agrees`."""

    seed: int = SEED

    @property
    def surprises(self) -> bool:
        """Whether a number disagrees that is not known to."""
        return not bool((self.numbers["agrees"] | self.numbers["known"]).all())


def validate_trials(effort: Effort, names: Sequence[str] = ()) -> Validation:
    """All numbers of these tables, of all if none is named."""
    chosen = list(names) or list(TABLES)
    effort = effort.expecting(sum(TABLES[name].patients for name in chosen))
    numbers = [one for name in chosen for one in TABLES[name].compare(effort)]
    found = pd.DataFrame(numbers).assign(errors=[one.errors for one in numbers], agrees=[one.agrees for one in numbers])
    return Validation(effort.trials, found, effort.seed)


def shown(number: float, error: float = 0.0) -> str:
    """A number with its error in brackets, to the digits that the error allows."""
    if error > 0:
        digits = max(0, 1 - math.floor(math.log10(error)))
        return f"{number:,.{digits}f} ({error:,.{digits}f})"
    return f"{number:.8g}"


def write_validation(validation: Validation, path: Path) -> Path:
    """Write the report, Markdown or a page by its ending: every number, ours and theirs."""
    found, text = validation.numbers, validation_text(validation)
    errors = {str(table): part["errors"].tolist() for table, part in found.groupby("table", sort=False)}
    trials = f"{validation.trials:,} of each design, {max(validation.trials // FEWER, 2):,} of adaptr's and RARtrials'"
    facts = [("trials", trials), ("seed", str(validation.seed))]

    def page() -> Page:
        title = "Trial designs, checked"
        return numbers_page(title, QUESTION, _findings(validation), text, facts, apart_figure(errors, NEAR))

    return write_numbers(path, text, page)


def _findings(validation: Validation) -> list[str]:
    """How many numbers agree, and which do not."""
    found = validation.numbers
    said = [f"{int(found['agrees'].sum())} of {len(found)} numbers agree within {NEAR:g} combined errors."]
    for row in found[~found["agrees"]].to_dict("records"):
        known = ", which is known" if row["known"] else ""
        ours, theirs = shown(row["ours"], row["error"]), shown(row["published"], row["published_error"])
        said.append(f"Apart{known}: {row['what']} ({row['table']}), ours {ours}, published {theirs}.")
    return said


def validation_text(validation: Validation) -> str:
    """The report as Markdown."""
    found, trials = validation.numbers, validation.trials
    counts = {"agree": int(found["agrees"].sum()), "all": len(found)}
    lines = [TITLE.format(trials=f"{trials:,}", fewer=f"{max(trials // FEWER, 2):,}", near=NEAR, **counts)]
    if found["known"].any():
        ours = {row["what"]: shown(row["ours"], row["error"]) for row in found.to_dict("records")}
        lines.append(KNOWN.format(**{key: ours.get(what, "not in this table") for key, what in KNOWN_OURS.items()}))
    for table, rows in found.groupby("table", sort=False):
        lines += [f"## {table}", "", HEAD]
        for row in rows.to_dict("records"):
            theirs = shown(row["published"], row["published_error"])
            apart = "" if row["error"] == row["published_error"] == 0 else f"{row['errors']:+.1f}"
            verdict = "yes" if row["agrees"] else "**no**, see above" if row["known"] else "**no**"
            lines.append(f"| {row['what']} | {shown(row['ours'], row['error'])} | {theirs} | {apart} | {verdict} |")
        lines.append("")
    return "\n".join(lines)


HEAD = """| what | ours (error) | published (error) | errors apart | agrees |
|---|---:|---:|---:|---|"""
QUESTION = (
    "Do the error rates, sizes, estimates and boundaries that were published for designs of trials come out again if "
    "tpstream simulates these designs?"
)
TITLE = """# Trial designs, checked against published numbers

<!-- made by `tpstream paper trials` -->

Made by `tpstream paper trials` with {trials} simulated trials of each design, {fewer} of adaptr's and RARtrials':
**{agree} of {all} numbers agree**. In brackets is one Monte Carlo standard error; for published numbers it follows from
the number of trials behind them. Numbers agree within {near:g} combined errors plus the rounding of the published
number. Alpha and power of the rules that are tested with a simulated cut-off (current belief, Gittins) count the error
of that cut-off, too.
"""
KNOWN_OURS = {
    "bias": "current belief: bias",
    "chance_bias": "current belief with random ties: bias",
    "chance_better": "current belief with random ties: EPS",
    "chance_successes": "current belief with random ties: ENS",
}
"""The numbers of a run of which the next paragraph tells."""
KNOWN = """The row of the current-belief rule with two arms is known not to be that of one rule. It is stated with ties
going to the control, and the stated EPS and ENS are those of that rule; but then the bias is {bias}, as a literal
version in the tests finds, too, and not .095. With random ties the bias is {chance_bias}, but EPS and ENS are
{chance_better} and {chance_successes}. So the stated bias seems to be that of another rule than the rest of its row.
Both are in the table; with few trials they may agree by their large errors.
"""
