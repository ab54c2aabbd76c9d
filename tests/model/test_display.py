"""Summaries of results: short text, escaped HTML, small curves."""

import re
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from hypothesis import given, strategies as st

from tpstream.model.display import MOST_ROWS, Curve, Summary, draw_curves, listed, number_text
from tpstream.model.names import shorten

words = st.text(max_size=300)
rows = st.integers(1, 3).flatmap(
    lambda columns: st.lists(st.lists(words, min_size=columns, max_size=columns), max_size=60)
)


def make(
    rows: list[list[str]], title: str = "t", facts: list[str] | None = None, notes: tuple[str, ...] = ()
) -> Summary:
    """A summary with columns a, b, c."""
    return Summary(title, facts or [], [dict(zip("abc", row, strict=False)) for row in rows], notes)


@given(words, st.lists(words, max_size=9), rows, st.lists(words, max_size=3))
def test_the_text_is_short(title: str, facts: list[str], rows: list[list[str]], notes: list[str]) -> None:
    """Whatever is summarised, the text has fewer than 600 characters."""
    assert len(make(rows, title, facts, tuple(notes)).text()) < 600


def test_rows_that_do_not_fit_are_counted() -> None:
    """The first rows are shown, and the others are counted."""
    lines = make([[f"arm-{number}", "1"] for number in range(1000)]).text().splitlines()
    shown = len(lines) - 3
    assert (lines[0], lines[1].split(), lines[2].split()) == ("t", ["a", "b"], ["arm-0", "1"])
    assert lines[-1] == f"  and {1000 - shown:,} more"
    assert shown > 10


def test_numbers_go_to_the_right() -> None:
    """Columns of numbers are aligned to the right, others to the left."""
    assert make([["x", "1,000"], ["long", "7 %"]]).text() == "t\n  a         b\n  x     1,000\n  long    7 %"


@given(st.sampled_from(["<script>x</script>", 'a" onload="x', "a & b", "<b>"]))
def test_html_is_escaped(text: str) -> None:
    """No text of a result becomes markup, wherever it stands."""
    curve = {text: Curve(np.arange(3), np.arange(3.0))}
    html = Summary(text, [text], [{text: text}], [text], curve, (text, text)).html()
    assert text not in html
    root = ET.fromstring(html)  # noqa: S314 (our own)
    tags = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert not tags & {"b", "script"}
    assert not any(name.startswith("on") for element in root.iter() for name in element.attrib)


def test_a_long_table_is_cut_in_a_notebook() -> None:
    """A notebook shows the first rows and counts the others."""
    html = make([[str(number)] for number in range(MOST_ROWS + 5)]).html()
    assert html.count("<tr>") == MOST_ROWS + 2
    assert "and 5 more" in html


def test_curves_keep_their_ends_and_stay_inside() -> None:
    """A curve of any length is thinned, begins at the left and ends at the right, within the drawing."""
    x = np.arange(1, 100_001)
    svg = draw_curves({"one": Curve(x, np.sqrt(x)), "two": Curve(x, -np.ones(len(x)))}, "round", "regret")
    root = ET.fromstring(svg)  # noqa: S314 (our own)
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    lines = root.findall("{http://www.w3.org/2000/svg}polyline")
    assert len(lines) == 2
    for line in lines:
        points = np.array([pair.split(",") for pair in line.attrib["points"].split()], dtype=np.float64)
        assert len(points) <= 120
        assert (points[0, 0], points[-1, 0]) == (1.0, width - 1)
        assert ((points >= 0) & (points <= [width, height])).all()
    assert "regret, -1 to 316.2" in svg
    assert "round, 1 to 100,000" in svg


def test_a_curve_without_numbers_is_not_drawn() -> None:
    """Neither NaN nor a single point is a curve."""
    nothing = {"nan": Curve(np.arange(3), np.full(3, np.nan)), "point": Curve(np.arange(1), np.zeros(1))}
    assert draw_curves(nothing, "x", "y") == ""
    assert draw_curves({}, "x", "y") == ""


def test_a_constant_curve_is_drawn() -> None:
    """A curve that is 0 everywhere, such as the regret of the best policy, is a line at the bottom."""
    points = re.findall(r'points="([^"]*)"', draw_curves({"zero": Curve(np.arange(3), np.zeros(3))}, "x", "y"))
    assert len({pair.split(",")[1] for pair in points[0].split()}) == 1


@pytest.mark.parametrize(
    ("value", "text"),
    [(10_040.4, "10,040"), (-16_500.0, "-16,500"), (0.12345, "0.1235"), (50.0, "50"), (np.nan, "none")],
)
def test_numbers_are_written_for_people(value: float, text: str) -> None:
    """Counts as counts, four digits, and no powers of ten."""
    assert number_text(value) == text


def test_lists_and_long_words_are_cut() -> None:
    """The first names are shown and the others counted; a long word ends in dots."""
    assert listed(list("abcdefgh"), 2) == "a, b and 6 more"
    assert shorten("a\nb" * 30, 10) == "a ba ba..."
