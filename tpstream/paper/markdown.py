"""Markdown: tables and marks of the report."""

from collections.abc import Iterable, Sequence
from textwrap import wrap

Lines = list[str]
WIDTH = 120
"""Of lines of prose."""


def paragraph(*sentences: str) -> Lines:
    """Sentences as lines of prose."""
    return [*wrap(" ".join(sentences), WIDTH, break_long_words=False, break_on_hyphens=False), ""]


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], right: int = 0) -> Lines:
    """A table whose last so many columns are aligned to the right."""
    left = len(columns) - right
    marks = ["---"] * left + ["---:"] * right
    return [_row(columns), _row(marks), *map(_row, rows), ""]


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def whole(value: float, half: float) -> str:
    """A regret with half of its interval."""
    return f"{value:,.0f} ± {half:,.0f}"


def mark(verdict: bool | None, yes: str = "yes", no: str = "**no**") -> str:  # noqa: FBT001 (it is what is marked)
    """A verdict in a table."""
    return "" if verdict is None else yes if verdict else no


def counted(items: Sequence[bool]) -> str:
    """How many of how many."""
    return f"{sum(items)} of {len(items)}"
