"""Numbers as text: which decimal mark they have, and which mark only stands between thousands."""

from typing import Any

import pyarrow.compute as pc

from tpstream.model.recorded_files import row_fault

WRITTEN = {
    ",": r"^[+-]?(\d+|\d{1,3}(\.\d{3})+)(,\d*)?([eE][+-]?\d+)?$",
    ".": r"^[+-]?(\d+|\d{1,3}(,\d{3})+)(\.\d*)?([eE][+-]?\d+)?$",
}
"""How numbers are written with each decimal mark, the other mark between thousands."""


def decimal_mark(column: Any) -> str | None:
    """The decimal mark of numbers in text, if some have marks between thousands, too, as 1.234,50; else None."""
    if not pc.any(pc.match_substring_regex(column, r"\..*,|,.*\.")).as_py():
        return None
    fitting = [mark for mark, form in WRITTEN.items() if pc.all(pc.match_substring_regex(column, form)).as_py()]
    return fitting[0] if len(fitting) == 1 else None


def with_plain_points(where: str, column: Any, title: str, mark: str) -> Any:
    """Text with this decimal mark as text with a point; the other mark may only stand between thousands."""
    other = "." if mark == "," else ","
    wrong = pc.and_(pc.match_substring(column, other), pc.invert(pc.match_substring_regex(column, WRITTEN[mark])))
    if pc.any(wrong).as_py():
        row = pc.index(pc.fill_null(wrong, fill_value=False), value=True).as_py()
        fault = f"{column[row].as_py()!r} has a {other!r} that is not between thousands; the decimal mark is {mark!r}"
        raise row_fault(where, row + 1, f"{fault}; correct it, or name the other mark with --decimal", title)
    return pc.replace_substring(pc.replace_substring(column, other, ""), mark, ".")
