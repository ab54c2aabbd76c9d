"""What it costs that outcomes are known later: the designs of brar with delays, a result of our own.

Nothing of this is published but three numbers of one design, with which `trials_brar` compares.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np

from tpstream.model.arrays import Floats
from tpstream.paper.immediate_trials import simulate_trials
from tpstream.paper.numbers_page import numbers_page, write_numbers
from tpstream.paper.published import Effort
from tpstream.paper.trials_brar import CELLS, CONTROL, DELAYED, Cell, measure

PATIENTS = sum(cell.patients for cell in CELLS) * len(DELAYED)
"""Of one trial of each design with each delay."""
SHOWN = {
    "coverage": "coverage",
    "reject": "rejections",
    "error": "bias",
    "successes": "successes",
    "on_first": "on treatment 1",
}
"""What is shown of each trial, a mean over trials, by the name under which `measure` has it."""
CLEAR = 3.0
"""Combined Monte Carlo errors from which on a change is clear; they are independent, which the trials are not quite."""
QUESTION = (
    "Allocation by the probability of being the best arm learns from outcomes. How much of what it gains, and of what "
    "it does to estimates, is left if they are known later?"
)
NAME = "delayed-outcomes"
"""How it is asked for, and the name of its page."""
TITLE = """# What delay does to response-adaptive randomisation

<!-- made by `tpstream paper trials --table delayed-outcomes` -->

Allocation by the probability of being the best arm learns from outcomes. How much of what it gains, and of what it does
to estimates, is left if they are known later? The designs of brar (Pawel and Held 2025), of which
[trial-validation.md](trial-validation.md) has the published numbers, with each outcome known so many patients later: a
result of our own, made by `tpstream paper trials --table delayed-outcomes --runs {runs}`.

{trials} trials of each, with the same random numbers for all delays; in brackets is one Monte Carlo standard error.
*Coverage* and *rejections* are those of the 95 % Wald interval of treatment 1 less the control (rejections are the
power or, without a difference, the type I error, nominally 2.5 %), *bias* is that of this difference,
*successes* and *on treatment 1* are shares of all patients. Treatment 1 is the best arm, unless it is said that there
is no difference.

{findings}
"""


Table = Mapping[int, Mapping[str, "Mean"]]
"""What was found of a design: by how many patients later outcomes are known, and by the names of `SHOWN`."""


class Mean(NamedTuple):
    """A mean over trials, with its Monte Carlo error."""

    value: float
    error: float

    @classmethod
    def of(cls, values: Floats) -> Self:
        """That of one number for each trial."""
        return cls(float(np.mean(values)), float(np.std(values)) / math.sqrt(len(values)))

    def __str__(self) -> str:
        return f"{self.value:.4f} ({self.error:.4f})"


def delayed_outcomes(effort: Effort, tables: Mapping[Cell, Table], found: Sequence[str]) -> Iterator[str]:
    """The lines of the page: what was found, and a table for each design with a row for each delay."""
    first, *rest = found
    listed = "\n".join([f"{first}:\n", *(f"- {line}" for line in rest)])
    yield TITLE.format(trials=f"{effort.trials:,}", runs=effort.trials, findings=listed)
    for cell, table in tables.items():
        yield f"## {cell.words[0].upper()}{cell.words[1:]}{', no difference' if cell.rate == CONTROL else ''}\n"
        yield f"| patients later | {' | '.join(SHOWN.values())} |\n|---:|{'---:|' * len(SHOWN)}"
        yield from (f"| {later} | {' | '.join(str(row[name]) for name in SHOWN)} |" for later, row in table.items())
        yield ""


def _simulated(effort: Effort, cell: Cell) -> Table:
    """The table of a design."""
    found = {}
    for later in DELAYED:
        trials = simulate_trials(effort, cell.policy, cell.rates, cell.patients, later=later)
        values = measure(cell, trials)._asdict()
        found[later] = {name: Mean.of(values[name]) for name in SHOWN}
    return found


def findings(tables: Sequence[Table]) -> Iterator[str]:
    """What is compared, then a line for each measure: what the longest delay changes, as far as the errors tell."""
    first, *_, last = DELAYED
    yield (
        f"With outcomes that are known {last} patients later instead of {first}, in the {len(tables)} designs with a "
        f"difference (a change is counted if it is more than {CLEAR:g} combined errors)"
    )
    for name, title in SHOWN.items():
        changes = [(table[first][name], table[last][name]) for table in tables]
        clear = [
            other.value - one.value
            for one, other in changes
            if abs(other.value - one.value) > CLEAR * math.hypot(one.error, other.error)
        ]
        rises, falls = sum(change > 0 for change in clear), sum(change < 0 for change in clear)
        yield f"*{title}*: larger in {rises}, smaller in {falls}, not to be told apart in {len(changes) - len(clear)}"


def write_delayed_outcomes(effort: Effort, path: Path) -> Path:
    """Simulate, and write the report, Markdown or a page by its ending."""
    expecting = effort.expecting(PATIENTS)
    tables = {cell: _simulated(expecting, cell) for cell in CELLS}
    found = list(findings([table for cell, table in tables.items() if cell.rate != CONTROL]))
    text = "\n".join(delayed_outcomes(effort, tables, found))
    facts = [("trials", f"{effort.trials:,} of each design with each delay"), ("seed", str(effort.seed))]
    plain = [f"{line.replace('*', '')}." for line in found]
    return write_numbers(path, text, lambda: numbers_page("What delay does", QUESTION, plain, text, facts))
