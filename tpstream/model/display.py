"""How results show themselves: a few lines of text at a prompt, a small table with curves in a notebook."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import chain
from textwrap import wrap
from typing import TYPE_CHECKING

import numpy as np

from tpstream.model.arrays import Floats, Ints
from tpstream.model.names import shorten

if TYPE_CHECKING:
    import pandas as pd  # only for types: a scenario does not need it

MOST_CHARACTERS = 580
"""The longest text of a result; a screen shows it without scrolling."""
MOST_WIDE = 96
"""The longest line of it."""
MOST_ROWS = 20
"""Rows of a table in a notebook; further ones are counted."""
MOST_POINTS = 120
"""Points of a curve in a notebook, which is 300 pixels wide."""
BLUE = "#4477AA"
"""The colour of a curve that is of no policy."""
WIDTH, HEIGHT, MARGIN = 300, 96, 16
"""The size of the drawing of curves, in pixels, and the room for a line of text above and below."""


@dataclass(frozen=True, eq=False)
class Curve:
    """A line of a small drawing, from left to right; rows and columns of the table with its name get its colour."""

    x: Floats | Ints
    y: Floats
    colour: str = BLUE


@dataclass(frozen=True, eq=False)
class Summary:
    """What a result says about itself: plain text, which is escaped where it becomes HTML."""

    title: str
    facts: Sequence[str] = ()
    """Short statements, such as "seed 7"."""
    rows: Sequence[Mapping[str, str]] = ()
    """The rows of a table, all with the same columns."""
    notes: Sequence[str] = ()
    """Sentences that a reader should not miss."""
    curves: Mapping[str, Curve] = field(default_factory=dict)
    axes: tuple[str, str] = ("", "")
    """What the curves are drawn over, and what they show."""

    def text(self) -> str:
        """The summary in at most MOST_CHARACTERS characters; rows that do not fit are counted."""
        told = "; ".join(shorten(fact, MOST_WIDE) for fact in self.facts)
        facts = wrap(told, MOST_WIDE, initial_indent="  ", subsequent_indent="  ", max_lines=2, placeholder=" ...")
        notes = [shorten(f"  note: {note}", MOST_WIDE) for note in self.notes[:1]]
        lines = [shorten(self.title, MOST_WIDE), *facts]
        room = MOST_CHARACTERS - sum(len(line) + 1 for line in (*lines, *notes, "  and 1,000,000 more"))
        table = [shorten(line, MOST_WIDE) for line in aligned(self.rows)]
        shown = int(np.searchsorted(np.cumsum([len(line) + 1 for line in table]), room, side="right"))
        hidden = len(table) - shown
        lines += table[:shown] if shown > 1 else []  # the titles of the columns alone say nothing
        lines += [f"  and {hidden:,} more"] if hidden and shown > 1 else []
        return "\n".join([*lines, *notes])

    def html(self) -> str:
        """The summary as HTML that needs nothing from outside and takes the colours of the page."""
        facts = f'<div style="opacity:.75">{escape("; ".join(self.facts))}</div>' if self.facts else ""
        notes = "".join(f"<div>note: {escape(note)}</div>" for note in self.notes)
        style = "display:flex;flex-wrap:wrap;gap:24px;align-items:flex-start;margin-top:4px"
        inner = f'<div style="{style}">{self._html_table()}{draw_curves(self.curves, *self.axes)}</div>'
        return f"<div><div><strong>{escape(self.title)}</strong></div>{facts}{inner}{notes}</div>"

    def _html_table(self) -> str:
        if not self.rows:
            return ""
        columns = list(self.rows[0])
        align = [f"text-align:{'right' if is_number_column(self.rows, column) else 'left'}" for column in columns]
        titles = [self._mark(column) + escape(column) for column in columns]
        cells = [f'<th style="{side}">{title}</th>' for title, side in zip(titles, align, strict=True)]
        lines = [f"<thead><tr>{''.join(cells)}</tr></thead>"]
        for row in self.rows[:MOST_ROWS]:
            first = row[columns[0]]
            texts = [self._mark(first) + escape(first), *(escape(row[column]) for column in columns[1:])]
            cells = [f'<td style="{side}">{text}</td>' for text, side in zip(texts, align, strict=True)]
            lines.append(f"<tr>{''.join(cells)}</tr>")
        if len(self.rows) > MOST_ROWS:
            hidden = len(self.rows) - MOST_ROWS
            lines.append(f'<tr><td colspan="{len(columns)}">and {hidden:,} more</td></tr>')
        return f'<table style="margin:0">{"".join(lines)}</table>'

    def _mark(self, name: str) -> str:
        """A square in the colour of the curve of that name, if there is one."""
        curve = self.curves.get(name)
        return f'<span style="color:{escape(curve.colour)}">&#9632;</span> ' if curve else ""


class Displayed:
    """A result that shows itself at a prompt and in a notebook; it says how in `_summary`."""

    def _summary(self) -> Summary:
        raise NotImplementedError

    def __repr__(self) -> str:
        return self._summary().text()

    def _repr_html_(self) -> str:
        return self._summary().html()


class PolicyTables(Displayed):
    """A result about policies, with several tables: `table` has a row for each policy."""

    def table(self) -> "pd.DataFrame":
        """A row for each policy."""
        raise NotImplementedError

    def frame(self) -> "pd.DataFrame":
        """The result as a DataFrame: its `table`, as commands print it."""
        return self.table()


def listed(names: Sequence[object], most: int = 6) -> str:
    """Names with commas, only the first ones if there are many: "a, b and 7 more"."""
    shown = [shorten(str(name)) for name in names[:most]]
    rest = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(shown) + rest


def counted(number: int, what: str) -> str:
    """A number with its noun: "1 run", "2,000 runs"."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def number_text(value: float) -> str:
    """A number in a summary: four digits, never a power of ten; "none" for NaN."""
    if math.isnan(value):
        return "none"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"  # noqa: PLR2004 (four digits before the point)


def is_number_column(rows: Sequence[Mapping[str, str]], column: str) -> bool:
    """Whether every text of a column is a number, a share or empty."""
    texts = (row[column].translate(str.maketrans("", "", ",.+-% ")) for row in rows)
    return all(text.isdigit() or text in {"", "none", "inf"} for text in texts)


def aligned(rows: Sequence[Mapping[str, str]]) -> list[str]:
    """A table as lines of text, the titles of its columns first; numbers go to the right."""
    if not rows:
        return []
    columns = []
    for column in rows[0]:
        cells = [shorten(text) for text in (column, *(row[column] for row in rows))]
        width = max(map(len, cells))
        right = is_number_column(rows, column)
        columns.append([cell.rjust(width) if right else cell.ljust(width) for cell in cells])
    return [("  " + "  ".join(cells)).rstrip() for cells in zip(*columns, strict=True)]


def draw_curves(curves: Mapping[str, Curve], across: str, up: str) -> str:
    """The curves as an SVG drawing with the range of both axes in words; empty if there is nothing to draw."""
    known = {name: np.isfinite(curve.y) for name, curve in curves.items()}
    thin = {name: _thin(curves[name].x[keep], curves[name].y[keep]) for name, keep in known.items() if keep.sum() > 1}
    if not thin:
        return ""
    x = np.concatenate([points[0] for points in thin.values()])
    y = np.concatenate([points[1] for points in thin.values()])
    left, right, low, high = float(x.min()), float(x.max()), min(float(y.min()), 0.0), float(y.max())
    wide, tall = (right - left) or 1.0, (high - low) or 1.0
    lines = []
    for name, (across_at, up_at) in thin.items():
        at_x = (WIDTH - 2) * (across_at - left) / wide + 1
        at_y = MARGIN + HEIGHT - HEIGHT * (up_at - low) / tall
        points = " ".join(f"{px:.1f},{py:.1f}" for px, py in zip(at_x, at_y, strict=True))
        lines.append(
            f'<polyline points="{points}" fill="none" stroke="{escape(curves[name].colour)}" stroke-width="1.8">'
            f"<title>{escape(name)}</title></polyline>"
        )
    bottom = MARGIN + HEIGHT
    texts = [
        f'<text x="1" y="11">{escape(up)}, {number_text(low)} to {number_text(high)}</text>',
        f'<text x="1" y="{bottom + 13}">{escape(across)}, {number_text(left)} to {number_text(right)}</text>',
        f'<line x1="0" y1="{bottom}" x2="{WIDTH}" y2="{bottom}" stroke="currentColor" stroke-opacity=".4"/>',
    ]
    size = f'width="{WIDTH}" height="{bottom + MARGIN + 2}"'
    opening = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-size="11" fill="currentColor" role="img">'
    return "".join(chain([opening], texts, lines, ["</svg>"]))


def _thin(x: Floats | Ints, y: Floats) -> tuple[Floats, Floats]:
    """At most MOST_POINTS of the points, both ends among them."""
    chosen = np.unique(np.linspace(0, len(x) - 1, min(len(x), MOST_POINTS)).round().astype(np.int64))
    return np.asarray(x, dtype=np.float64)[chosen], y[chosen]
