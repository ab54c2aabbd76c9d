"""The report's plain words about cells that differ by more than their intervals allow."""

import numpy as np

from tpstream.analysis.agreement import ALLOWED
from tpstream.study.paper.cells import Cell, family_cells
from tpstream.study.paper.claims import NAMES
from tpstream.study.paper.markdown import Lines, paragraph
from tpstream.study.paper.reproduction import Reproduction
from tpstream.study.paper.settings import DELAYED, EW, FR, UCB1, family_scenario

CHANCE = 0.05
"""The share of cells that differ by chance although they agree."""
MANY = 2
"""Up to so many of 16 cells may differ by chance: more do in 4 % of all cases."""


def differences(found: Reproduction) -> Lines:
    """What differs, and what is known about why."""
    cells = family_cells(found) if found.full else []
    if not cells:
        return []
    lines = ["## What differs, and what is known about why", ""]
    for policy in (FR, EW, DELAYED):
        lines += _about(policy, [cell for cell in cells if cell.policy == policy])
    return [*lines, *_about_ucb1(found, [cell for cell in cells if cell.policy == UCB1])]


def _about(policy: str, cells: list[Cell]) -> Lines:
    off = [cell for cell in cells if not cell.agreement.agrees]
    places = f" ({', '.join(_place(cell) for cell in off)})" if off else ""
    worst = max((abs(cell.agreement.percent) for cell in cells), default=0.0)
    return paragraph(
        f"**{NAMES[policy]}**: {len(off)} of {len(cells)} cells differ by more than {ALLOWED} standard errors{places};",
        f"{CHANCE * len(cells):.1f} are expected by chance. In percent, the largest difference of all is {worst:.2f}.",
        *_why(policy, off),
    )


def _why(policy: str, off: list[Cell]) -> Lines:
    """What is known about the cells that are off."""
    if len(off) <= MANY:
        return ["No difference is left to explain."] if off else []
    if policy == DELAYED:
        return [
            "Its first rounds are drawn at random and decide much of a run's regret: runs vary more than the other",
            "policies', their distribution is skewed, and an interval from 50 runs is a rough one.",
        ]
    return ["Index, ties and time order are the paper's; no choice that it leaves open is known to move these cells."]


def _about_ucb1(found: Reproduction, cells: list[Cell]) -> Lines:
    surplus = [cell.agreement.percent for cell in cells]
    off = [cell for cell in cells if not cell.agreement.agrees]
    pulls = [(cell.agreement.ours - cell.agreement.published) / _one_pull_each(found, cell) for cell in cells]
    return paragraph(
        f"**UCB1**: {len(off)} of {len(cells)} cells differ by more than {ALLOWED} standard errors, by",
        f"{min(surplus):+.2f} to",
        f"{max(surplus):+.2f} % (mean {np.mean(surplus):+.2f} %). That is {min(pulls):.1f} to {max(pulls):.1f}",
        "times what one",
        f"pull of every arm costs, {np.mean(pulls):.1f} times on average. Why is not known. Our UCB1 has the",
        "printed index",
        "and is tested against a literal version of it; a change that fits these numbers would be a guess, and",
        "none was",
        "made.",
    )


def _one_pull_each(found: Reproduction, cell: Cell) -> float:
    """What is lost if every arm is pulled once."""
    means = found.scenarios[family_scenario(cell.setting, cell.span, cell.groups)].problem().means
    assert means is not None  # noqa: S101 (a scenario knows its means)
    return float((means.max() - means).sum())


def _place(cell: Cell) -> str:
    return f"{cell.setting} {cell.span}/{cell.groups}: {cell.agreement.errors:+.1f}"
