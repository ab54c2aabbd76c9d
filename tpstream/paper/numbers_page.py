"""Reports on published numbers and ours: Markdown, or the page that is made of it."""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from tpstream.experiment.report import FOUND, command_section
from tpstream.figures import style
from tpstream.paper.page import read_sections
from tpstream.view.pages import Page
from tpstream.view.report import Picture, Section, Sentences, make_report

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MARKDOWN = ".md"
FARTHEST = 8.0
"""Errors apart that are drawn; what is further away is drawn at the edge."""


def numbers_page(
    title: str,
    question: str,
    findings: Sequence[str],
    text: str,
    facts: Sequence[tuple[str, str]],
    figure: "Figure | None" = None,
) -> Page:
    """The page with the sections of the Markdown, a figure of how far numbers are apart, and the command."""
    drawn = "Every number: how many standard errors ours is above (right) or below (left) the published one."
    shown = [] if figure is None else [Section("How far numbers are apart", [Picture(figure, drawn)])]
    return make_report(
        title,
        question,
        [
            Section(FOUND, [Sentences(findings, points=True)]),
            *shown,
            *read_sections(text, {}),
            command_section(facts),
        ],
    )


def write_numbers(path: Path, text: str, make: Callable[[], Page]) -> Path:
    """Write the Markdown, or the page, by the ending of the file."""
    if path.suffix.lower() != MARKDOWN:
        return make().write(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def apart_figure(errors: Mapping[str, Sequence[float]], near: float) -> "Figure":
    """Draw how many errors our numbers and the published ones are apart, a row for each name."""
    with style.new_figure(None, 8, 1.4 + 0.3 * len(errors)) as figure:
        axes = figure.subplots()
        axes.axvspan(-near, near, color=style.COLOURS[6], alpha=0.3, linewidth=0)
        for place, values in enumerate(reversed(list(errors.values()))):
            known = np.clip([value for value in values if not math.isnan(value)], -FARTHEST, FARTHEST)
            axes.plot(known, np.full(len(known), place), "o", color=style.COLOURS[0], markersize=5, alpha=0.6)
        axes.set_yticks(range(len(errors)), [style.figure_text(name) for name in reversed(list(errors))])
        axes.set_ylim(-0.6, len(errors) - 0.4)
        axes.set_xlim(-FARTHEST - 0.5, FARTHEST + 0.5)
        axes.set(xlabel=f"standard errors apart; shaded: numbers that agree, within {near:g}")
        style.draw_grid(axes)
    return figure


def agreement_rows(table: pd.DataFrame, digits: int) -> list[dict[str, str]]:
    """The table of a comparison, as it is printed."""
    return [
        {
            "what": row["what"],
            "ours": f"{row['ours']:,.{digits}f} ± {row['half']:,.{digits}f}",
            "published": f"{row['published']:,.{digits}f}"
            + ("" if math.isnan(row["published_half"]) else f" ± {row['published_half']:,.{digits}f}"),
            "standard errors apart": f"{row['errors']:+.1f}",
            "agrees": "yes" if row["agrees"] else "no",
        }
        for row in table.to_dict("records")
    ]


def write_agreement(
    path: Path, title: str, question: str, table: pd.DataFrame, *, digits: int, near: float, seed: int
) -> Path:
    """Write the report of a comparison."""
    rows = agreement_rows(table, digits)
    lines = [f"| {' | '.join(row.values())} |" for row in rows]
    head = f"| {' | '.join(rows[0])} |\n|---|---:|---:|---:|---|"
    remark = f"Numbers agree within {near:g} combined standard errors; behind ± is the half of a 95 % interval."
    text = "\n".join([f"# {title}\n\n{question} {remark}\n\n## All numbers\n", head, *lines, ""])
    agree = int(table["agrees"].sum())
    apart = [
        f"{row['what']}: {row['errors']:+.1f} standard errors." for row in table[~table["agrees"]].to_dict("records")
    ]
    findings = [f"{agree} of {len(table)} numbers agree within {near:g} combined standard errors.", *apart]
    errors = {row["what"]: [row["errors"]] for row in table.to_dict("records")}
    return write_numbers(
        path,
        text,
        lambda: numbers_page(title, question, findings, text, [("seed", str(seed))], apart_figure(errors, near)),
    )
