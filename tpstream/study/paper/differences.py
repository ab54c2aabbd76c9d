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
FAR = 3.3
"""No cell differs by so many standard errors by chance: one of 64 does in 6 % of all cases."""


def differences(found: Reproduction) -> Lines:
    """What differs, and what is known about why."""
    if not found.full:
        return []
    cells = family_cells(found)
    lines = ["## What differs, and what is known about why", ""]
    if cells:
        lines += paragraph(
            "All worlds have the same seed, so cells are not independent: what differs by chance differs in company."
        )
        for policy in (FR, EW, DELAYED):
            lines += _about(policy, [cell for cell in cells if cell.policy == policy])
        lines += [*_about_ucb1(found, [cell for cell in cells if cell.policy == UCB1]), *_about_worlds(cells)]
    if found.has("spotify"):
        lines += paragraph(
            "**Spotify**: the published UCB1 fits half of the rounds, which may be what was run. The stand-in has",
            "the real",
            "sessions' moments and not their course, so that where curves cross may differ from the paper's figure.",
        )
    return lines if cells or found.has("spotify") else []


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
    if not off:
        return []
    if len(off) <= MANY and all(abs(cell.agreement.errors) < FAR for cell in off):
        return ["That is no more than chance."]
    if policy == DELAYED:
        return [
            "Its first rounds are drawn at random and decide much of a run's regret: runs vary more than the other",
            "policies', their distribution is skewed, and an interval from 50 runs is a rough one.",
        ]
    spread = {
        FR: "and the published numbers cannot tell the choices apart.",
        EW: "but cannot matter to this policy.",
    }
    return [
        "Index, ties and time order are the paper's.",
        f"How a group's reward is spread over its parts is not printed, {spread[policy]}",
    ]


def _about_worlds(cells: list[Cell]) -> Lines:
    """Worlds in which all policies differ in the same direction, one of them by far."""
    lines: Lines = []
    for world in dict.fromkeys((cell.setting, cell.span, cell.groups) for cell in cells):
        own = [cell for cell in cells if (cell.setting, cell.span, cell.groups) == world]
        signs = {cell.agreement.errors > 0 for cell in own}
        far = [cell for cell in own if cell.policy != UCB1 and abs(cell.agreement.errors) > FAR]
        if len(signs) == 1 and far:
            listed = ", ".join(
                f"{NAMES[cell.policy]} {cell.agreement.percent:+.2f} % ({cell.agreement.errors:+.1f})" for cell in own
            )
            lines += paragraph(
                f"**Setting {world[0]}, span {world[1]}, {world[2]} groups**: all policies differ in the same",
                "direction:",
                f"{listed}. That points to the world and not to a policy: Beta vectors that are not quite the",
                "printed ones",
                "could do it; this is a guess.",
            )
    return lines


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
