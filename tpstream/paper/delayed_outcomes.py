"""What it costs that outcomes are known later: the designs of brar with delays, a result of our own.

Nothing of this is published but three numbers of one design, with which `trials_brar` compares.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

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

In all designs with a difference, later outcomes mean fewer patients on the best arm and fewer successes. What adaptive
allocation does to estimates becomes smaller with it: where coverage was too low and the bias upwards, both come nearer
to those of fixed randomisation. Power does not suffer.
"""


class Delayed(NamedTuple):
    """What a design comes to, by how many patients later outcomes are known: each measure of every trial."""

    cell: Cell
    by_delay: Mapping[int, Mapping[str, Any]]


def measure_delays(effort: Effort) -> list[Delayed]:
    """What each design comes to with each delay, simulated."""
    effort = effort.expecting(PATIENTS)
    found = []
    for cell in CELLS:
        runs = {
            later: simulate_trials(effort, cell.policy, cell.rates, cell.patients, later=later) for later in DELAYED
        }
        found.append(Delayed(cell, {later: measure(cell, trials)._asdict() for later, trials in runs.items()}))
    return found


def delayed_outcomes(effort: Effort, found: Sequence[Delayed]) -> Iterator[str]:
    """The lines of the page: a table for each design, a row for each delay."""
    yield TITLE.format(trials=f"{effort.trials:,}", runs=effort.trials)
    for cell, by_delay in found:
        yield f"## {cell.words[0].upper()}{cell.words[1:]}{', no difference' if cell.rate == CONTROL else ''}\n"
        yield f"| patients later | {' | '.join(SHOWN.values())} |\n|---:|{'---:|' * len(SHOWN)}"
        for later, values in by_delay.items():
            yield f"| {later} | {' | '.join(with_error(values[name]) for name in SHOWN)} |"
        yield ""


def write_delayed_outcomes(effort: Effort, path: Path) -> Path:
    """Simulate, and write the report, Markdown or a page by its ending."""
    found = measure_delays(effort)
    text = "\n".join(delayed_outcomes(effort, found))
    facts = [("trials", f"{effort.trials:,} of each design with each delay"), ("seed", str(effort.seed))]
    return write_numbers(path, text, lambda: numbers_page("What delay does", QUESTION, findings(found), text, facts))


def findings(found: Sequence[Delayed]) -> list[str]:
    """What the longest delay does to each design in which the arms differ."""
    said = []
    for cell, by_delay in found:
        if cell.rate != CONTROL:
            first, last = (min(by_delay), max(by_delay))
            changes = [
                f"{SHOWN[name]} {np.mean(by_delay[last][name]):.3f} instead of {np.mean(by_delay[first][name]):.3f}"
                for name in ("on_first", "successes", "reject")
            ]
            words = f"{cell.words[0].upper()}{cell.words[1:]}"
            said.append(f"{words}: with outcomes {last} patients later, not {first}, {', '.join(changes)}.")
    return said


def with_error(values: Floats) -> str:
    """A mean over trials to four digits, with its Monte Carlo error in brackets."""
    return f"{np.mean(values):.4f} ({np.std(values) / math.sqrt(len(values)):.4f})"
