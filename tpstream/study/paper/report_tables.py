"""The report's tables of numbers: ours beside the published ones."""

import math

import numpy as np

from tpstream.analysis.published import RUNS
from tpstream.study.paper.cells import (
    POINTS,
    Cell,
    Percentage,
    family_cells,
    percentages,
    spotify_cells,
    spotify_ucb1_at_half,
)
from tpstream.study.paper.claims import NAMES
from tpstream.study.paper.markdown import Lines, mark, paragraph, table, whole
from tpstream.study.paper.reproduction import Reproduction
from tpstream.study.paper.settings import DELAYED, ROUND_ROBIN

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
