"""What it costs that outcomes are known later: the designs of brar with delays, a result of our own.

Nothing of this is published but three numbers of one design, with which `trials_brar` compares.
"""

import math
from collections.abc import Iterator

import numpy as np

from tpstream.model.arrays import Floats
from tpstream.paper.immediate_trials import simulate_trials
from tpstream.paper.published import Effort
from tpstream.paper.trials_brar import CELLS, CONTROL, DELAYED, measure

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
TITLE = """## What delay does to these designs (a result of our own)

The designs of brar above, with each outcome known so many patients later; {trials} trials of each, on the same random
numbers, one Monte Carlo standard error in brackets. *Coverage* and *rejections* are those of the 95 % Wald interval of
treatment 1 less the control (rejections are the power, or without a difference the type I error), *successes* and
*on treatment 1* shares of all patients. Treatment 1 is the best arm unless it is said that there is no difference.
"""


def delayed_outcomes(effort: Effort) -> Iterator[str]:
    """The lines of the section of the report: a table for each design, a row for each delay."""
    yield TITLE.format(trials=f"{effort.trials:,}")
    for cell in CELLS:
        yield f"**brar: {cell.words}{', no difference' if cell.rate == CONTROL else ''}**\n"
        yield f"| patients later | {' | '.join(SHOWN.values())} |\n|---:|{'---:|' * len(SHOWN)}"
        for later in DELAYED:
            trials = simulate_trials(effort, cell.policy, cell.rates, cell.patients, later=later)
            found = measure(cell, trials)._asdict()
            yield f"| {later} | {' | '.join(with_error(found[name]) for name in SHOWN)} |"
        yield ""


def with_error(values: Floats) -> str:
    """A mean over trials to four digits, with its Monte Carlo error in brackets."""
    return f"{np.mean(values):.4f} ({np.std(values) / math.sqrt(len(values)):.4f})"
