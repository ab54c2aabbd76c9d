"""What became of every row of imported tables: each row is counted in one line, and the lines add up to all rows."""

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Any

import numpy as np

from tpstream.model.arrays import Bytes

FEW = 100
"""An arm with fewer decisions is named in the report."""


class Fate(IntEnum):
    """What became of a row; a row gets the first fate that applies, in this order."""

    INCOMPLETE = 0
    DUPLICATE = 1
    CONFLICTING = 2
    WITHOUT_DECISION = 3
    AFTER_CUT = 4
    BEFORE_DECISION = 5
    LATE = 6
    TAKEN = 7


TEXTS: Mapping[str, Mapping[Fate, str]] = {
    "decisions": {
        Fate.TAKEN: "taken",
        Fate.DUPLICATE: "duplicates of a row, taken once",
        Fate.CONFLICTING: "left out: their id has another row with other values, which was taken",
        Fate.AFTER_CUT: "left out: after the data cut",
        Fate.INCOMPLETE: "left out: without id, time or arm",
    },
    "payments": {
        Fate.TAKEN: "taken",
        Fate.LATE: "late: after the window of their decision; in the log, never credited",
        Fate.DUPLICATE: "duplicates, taken once",
        Fate.CONFLICTING: "left out: their id has another row with other values, which was taken",
        Fate.WITHOUT_DECISION: "left out: no decision has this id",
        Fate.BEFORE_DECISION: "left out: before their decision",
        Fate.AFTER_CUT: "left out: after the data cut, or of a decision after it",
        Fate.INCOMPLETE: "left out: without decision, time or amount",
    },
}
"""The lines of the report, in order."""
AMONG: Mapping[str, str] = {
    "without_payment": "decisions without any payment",
    "open": "decisions still open at the cut",
    "moved": "payments shortly before their decision, counted at it",
    "negative": "negative amounts (refunds)",
    "missing_probabilities": "decisions without a probability",
}
"""Lines about what was taken; they add up to nothing."""


def count_fates(table: str, fates: Bytes) -> dict[str, int]:
    """The number of rows, and how many of them had each fate that rows of this table can have."""
    counts = np.bincount(fates, minlength=len(Fate))
    return {"rows": len(fates)} | {fate.name.lower(): int(counts[fate]) for fate in TEXTS[table]}


def left_out(table: str, fates: Bytes) -> str:
    """What became of rows none of which was taken, as in "2 after the data cut"."""
    counts = count_fates(table, fates)
    texts = ((text.removeprefix("left out: "), counts[fate.name.lower()]) for fate, text in TEXTS[table].items())
    return ", ".join(f"{count:,} {text}" for text, count in texts if count)


def few_decisions(arms: Sequence[str], counts: Sequence[int]) -> dict[str, int]:
    """The arms that have few decisions, and how many."""
    return {arm: count for arm, count in zip(arms, counts, strict=True) if count < FEW}


def report_lines(imported: Mapping[str, Any]) -> list[dict[str, str]]:
    """The report as rows of a table: what, how many."""
    rows = []
    for table, texts in TEXTS.items():
        counts = imported[table]
        rows.append({"rows": f"{table}: rows read", "number": f"{counts['rows']:,}"})
        rows += [
            {"rows": f"  {text}", "number": f"{counts[fate.name.lower()]:,}"}
            for fate, text in texts.items()
            if counts[fate.name.lower()] or fate is Fate.TAKEN
        ]
    rows.append({"rows": "of what was taken:", "number": ""})
    rows += [{"rows": f"  {text}", "number": f"{imported['among'][key]:,}"} for key, text in AMONG.items()]
    few = imported["few"]
    rows += [{"rows": f"  arm {arm!r} has few decisions", "number": f"{count:,}"} for arm, count in few.items()]
    return rows
