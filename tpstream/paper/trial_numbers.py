"""Numbers of published trial designs beside ours: `tpstream paper trials`, and its report.

Each table of the literature is a function that gives a row for each of its numbers. Two numbers agree if they are not
further apart than 4 combined Monte Carlo errors, theirs and ours, plus what the published one was rounded by.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from tpstream.experiment.compare import Expecting
from tpstream.looks.boundaries import spending_boundaries
from tpstream.looks.delayed_response import decision_after_stop
from tpstream.looks.spending import spent
from tpstream.model.arrays import Floats
from tpstream.run.options import Progress

NEAR = 4.0
"""Combined Monte Carlo errors within which numbers agree."""
SEED = 20150401
TRIALS = 10_000
BOUNDARY_TOLERANCE = 1e-6
REVERSAL_TOLERANCE = 1e-4


class Number(NamedTuple):
    """A published number and ours."""

    table: str
    what: str
    ours: float
    error: float
    """The Monte Carlo error of ours, one standard error; 0 if it is computed."""
    published: float
    published_error: float = 0.0
    rounding: float = 0.0
    """How far the published number may be from the one that was found there."""

    @property
    def errors(self) -> float:
        """The difference in combined errors, after the rounding is taken off; 0 within the rounding."""
        beyond = max(abs(self.ours - self.published) - self.rounding, 0.0)
        combined = math.hypot(self.error, self.published_error)
        if beyond == 0:
            return 0.0
        return math.copysign(beyond / combined if combined > 0 else math.inf, self.ours - self.published)

    @property
    def agrees(self) -> bool:
        """Whether both are near enough."""
        return abs(self.errors) <= NEAR


@dataclass(frozen=True)
class Effort:
    """How much is simulated, and where."""

    trials: int
    seed: int = SEED
    jobs: int = 1
    progress: Progress | None = None


Table = Callable[[Effort], Sequence[Number]]


def share(table: str, what: str, ours: Floats, published: float, trials: int, rounding: float = 0.0005) -> Number:
    """A probability: ours from one truth value for each trial, theirs from so many trials."""
    probability = float(np.mean(ours))
    return Number(
        table,
        what,
        probability,
        math.sqrt(probability * (1 - probability) / len(ours)),
        published,
        math.sqrt(published * (1 - published) / trials),
        rounding,
    )


def mean(
    table: str, what: str, ours: Floats, published: float, deviation: float, trials: int, rounding: float
) -> Number:
    """A mean over trials: ours from one number for each trial, theirs with this deviation between so many trials."""
    error = float(np.std(ours, ddof=1)) / math.sqrt(len(ours))
    return Number(table, what, float(np.mean(ours)), error, published, deviation / math.sqrt(trials), rounding)


def rpact(_: Effort) -> list[Number]:
    """Boundaries of a group-sequential design with delayed responses, as in the tests of rpact; nothing is simulated.

    Spending of O'Brien and Fleming's kind for both errors, 5 % and 10 %, binding futility, information 0.4, 0.65, 1.
    """
    rates, title = np.array([0.4, 0.65, 1.0]), "rpact: delayed response"
    found = spending_boundaries(rates, spent("obrien-fleming", 0.05, rates), spent("obrien-fleming", 0.1, rates))
    delayed = [decision_after_stop(found, look, information) for look, information in enumerate((0.1, 0.2))]
    exact: dict[str, tuple[Sequence[float] | Floats, tuple[float, ...]]] = {
        "critical value": (found.efficacy, (2.8874465, 2.1853011, 1.6575593)),
        "futility bound": (found.futility[:2], (-0.46043472, 0.64445014)),
        "decision value": ([one.critical for one in delayed], (1.3388855, 1.5378695)),
    }
    numbers = [
        Number(title, f"{what}, look {look}", float(ours), 0.0, theirs, rounding=BOUNDARY_TOLERANCE)
        for what, (several, published) in exact.items()
        for look, (ours, theirs) in enumerate(zip(several, published, strict=True), start=1)
    ]
    reversals = zip(delayed, (1.7563e-6, 0.0014674026), strict=True)
    numbers += [
        Number(title, f"reversal, look {look}", one.reversal, 0.0, theirs, rounding=REVERSAL_TOLERANCE * theirs)
        for look, (one, theirs) in enumerate(reversals, start=1)
    ]
    return numbers


TABLES: Mapping[str, Table] = {"rpact": rpact}
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
"""
