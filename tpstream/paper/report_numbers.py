"""The report's tables of numbers: ours beside the published ones.

The report's plain words about cells that differ by more than their intervals allow.
"""

import math

import numpy as np

from tpstream.paper.cells import (
    ALLOWED,
    POINTS,
    Cell,
    Percentage,
    family_cells,
    percentages,
    spotify_cells,
    spotify_ucb1_at_half,
)
from tpstream.paper.claims import NAMES
from tpstream.paper.markdown import Lines, mark, paragraph, table, whole
from tpstream.paper.published import RUNS
from tpstream.paper.reproduction import Reproduction
from tpstream.paper.settings import DELAYED, EW, FR, ROUND_ROBIN, UCB1, family_scenario

READING = paragraph(
    "*Difference* is ours minus the published value, in percent of it and in standard errors of the difference. A cell",
    "*agrees* if it is at most 1.96 of them, which one cell in twenty misses by chance. *Within* compares with",
    "the tolerance",
    "for an exact implementation: 1.5 % for TP-UCB-FR and TP-UCB-EW, 2.5 % for UCB1, 3 % for Delayed-UCB1 (4 % in",
    "2.3 with",
    "span 100 and 50 groups). Delayed-UCB1 has the random start.",
)


def family_section(found: Reproduction) -> Lines:
    """The main text's percentages and the appendix's 64 cells."""
    lines: Lines = []
    shares = percentages(found)
    if shares:
        lines += ["### Regret in percent of Delayed-UCB1's (Setting 2, the table in the main text)", ""]
        lines += paragraph(
            "The printed interval is the policy's own; here Delayed-UCB1's is included, for both.",
            f"*Within* means within {POINTS} points.",
        )
        lines += table(
            ["span", "groups", "policy", "ours", "published", "points", "standard errors", "within"],
            [_share_row(one) for one in shares],
        )
    lines += ["### Regret, all cells", "", *READING]
    columns = ["setting", "span", "groups", "policy", "ours", "published", "%", "standard errors", "agrees", "within"]
    return lines + table(columns, [_cell_row(cell) for cell in family_cells(found)])


def _share_row(one: Percentage) -> list[str]:
    return [
        str(one.span),
        str(one.groups),
        NAMES[one.policy],
        f"{one.ours:.2f} ± {one.half:.2f}",
        f"{one.published:.2f} ± {one.true_half:.2f}",
        f"{one.points:+.2f}",
        f"{one.errors:+.1f}",
        mark(one.within),
    ]


def _cell_row(cell: Cell) -> list[str]:
    compared = cell.agreement
    return [
        cell.setting,
        str(cell.span),
        str(cell.groups),
        NAMES[cell.policy],
        whole(compared.ours, compared.half),
        whole(compared.published, compared.published_half),
        f"{compared.percent:+.2f}",
        f"{compared.errors:+.1f}",
        mark(compared.agrees),
        mark(cell.within),
    ]


def starts_section(found: Reproduction) -> Lines:
    """Delayed-UCB1 with both starts beside the published numbers, with the runs' standard deviations."""
    random, robin = (
        [cell for cell in family_cells(found, start) if cell.policy == start] for start in (DELAYED, ROUND_ROBIN)
    )
    rows = [
        [
            one.setting,
            str(one.span),
            str(one.groups),
            whole(one.agreement.ours, one.agreement.half),
            whole(other.agreement.ours, other.agreement.half),
            whole(one.agreement.published, one.agreement.published_half),
            f"{one.agreement.errors:+.1f}",
            f"{other.agreement.errors:+.1f}",
        ]
        for one, other in zip(random, robin, strict=True)
    ]
    return [
        *starts_verdict(random, robin, found.runs),
        *table(
            [
                "setting",
                "span",
                "groups",
                "random start",
                "round-robin start",
                "published",
                "random: errors",
                "robin: errors",
            ],
            rows,
        ),
    ]


def starts_verdict(random: list[Cell], robin: list[Cell], runs: int) -> Lines:
    """Which start fits the published means and interval widths better."""
    misfit = [np.mean([cell.agreement.errors**2 for cell in cells]) for cells in (random, robin)]
    widths = [
        math.sqrt(runs / RUNS) * np.mean([cell.agreement.half / cell.agreement.published_half for cell in cells])
        for cells in (random, robin)
    ]
    return paragraph(
        "The algorithm box goes through the arms in turn for a whole span; the other way is each arm once, then a",
        "random one",
        "of those about which nothing is known yet. Mean squared difference from the published means, in standard",
        "errors (1",
        f"is expected of the right one): {misfit[0]:.1f} with the random start, {misfit[1]:.1f} with round-robin.",
        "Our runs",
        f"vary on average {widths[0]:.2f} and {widths[1]:.2f} times as much as the published ones.",
    )


def spotify_section(found: Reproduction) -> Lines:
    """The stand-in beside the published table."""
    rows = []
    for cell in spotify_cells(found):
        start = {DELAYED: ", random start", ROUND_ROBIN: ", round-robin start"}.get(cell.policy, "")
        name = NAMES.get(cell.policy, "Delayed-UCB1")
        one = cell.agreement
        rows.append(
            [
                f"{name}{start}",
                whole(one.ours, one.half),
                whole(one.published, one.published_half),
                f"{one.percent:+.1f}",
                f"{one.errors:+.1f}",
                mark(one.agrees),
            ]
        )
    half = spotify_ucb1_at_half(found)
    return [
        *paragraph(
            "The real sessions cannot be shipped; `tpstream data spotify` prepares them for those who have the",
            "data set. The",
            "stand-in has their means, standard deviations and correlation of songs, nothing more, so agreement",
            "is welcome",
            "but not promised.",
        ),
        *table(["policy", "ours", "published", "%", "standard errors", "agrees"], rows),
        *paragraph(
            f"UCB1's published number fits half of the rounds: after 50,000 ours is {whole(half.ours, half.half)}",
            f"({half.errors:+.1f} standard errors).",
        ),
    ]


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
