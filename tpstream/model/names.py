"""Names are text: how those that users give, of arms, policies and scenarios, are shown where signs have a meaning.

One function for each medium: `visible` for a terminal, `spreadsheet_text` and `csv_text` for tables that spreadsheets
open, `file_names` for files. Figures have `figure_text` (figures/style.py), pages are escaped by their templates.
"""

import re
from collections.abc import Iterable
from hashlib import sha256
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd  # only for types: a scenario does not need it

HIDDEN = re.compile(
    "[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufffe\uffff\ud800-\udfff]"
)
"""Characters that cannot be seen, but for tabs and the ends of lines."""
FORMULA = re.compile(r"[=+\-@\t\r]")
"""How a cell begins that a spreadsheet takes for a formula."""
LONGEST_CELL = 32
"""Letters of a text in a cell of a table."""
LONGEST_FILE = 120
"""Letters of a name in the name of a file; systems allow some 250 in all."""


def visible(text: str) -> str:
    """The text without characters that show nothing themselves and could change how the text around them is shown.

    Examples
    --------
    >>> visible("left\u202eright")
    'leftright'
    """
    return HIDDEN.sub("", text)


def shorten(text: str, most: int = LONGEST_CELL) -> str:
    """The text in one line, its end replaced by "..." if it is longer than `most` characters."""
    line = text.replace("\n", " ")
    return line if len(line) <= most else line[: most - 3] + "..."


def spreadsheet_text(value: Any) -> Any:
    """A cell as a spreadsheet takes it for text: one that would be a formula gets a quote in front, numbers do not.

    Examples
    --------
    >>> [spreadsheet_text(cell) for cell in ("=1+1", "-a", "-1.5", "a=b", 7)]
    ["'=1+1", "'-a", '-1.5', 'a=b', 7]
    """
    if not isinstance(value, str) or not FORMULA.match(value):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value


def csv_text(table: "pd.DataFrame") -> str:
    """A table as CSV in which no name is a formula."""
    texts = table.rename(columns=spreadsheet_text)
    for place, kind in enumerate(texts.dtypes):
        if str(kind) in {"object", "string", "str", "category"}:
            texts.isetitem(place, [spreadsheet_text(cell) for cell in texts.iloc[:, place]])
    written: str = texts.to_csv(index=False, lineterminator="\n")
    return written


def is_file_name(name: str) -> bool:
    """Whether a name means something in a folder itself, and nothing outside of it.

    Examples
    --------
    >>> [is_file_name(name) for name in ("setting-1", "../outside", "/etc", "..", "")]
    [True, False, False, False, False]
    """
    return name not in {"", ".", ".."} and not set(name) & {"/", "\\", "\0"}


def file_names(names: Iterable[str]) -> dict[str, str]:
    """A name for the file of each: letters, digits and -.= as they are, others as hyphens.

    Names that would share a file, also on systems that do not tell capital letters apart, and very long ones get a part
    of their hash at the end.

    Examples
    --------
    >>> file_names(["tp-ucb-fr:groups=5", "uniform"])
    {'tp-ucb-fr:groups=5': 'tp-ucb-fr-groups=5', 'uniform': 'uniform'}
    >>> file_names(["a b", "a-b"])
    {'a b': 'a-b-c8687a08', 'a-b': 'a-b'}
    """
    plain = {name: "".join(one if one.isalnum() or one in "-.=" else "-" for one in name) for name in names}
    taken: set[str] = set()
    found = {}
    for name in sorted(plain, key=lambda one: plain[one] != one):  # those that need no change come first
        one = plain[name]
        if len(one) > LONGEST_FILE or one.casefold() in taken:
            one = f"{one[:LONGEST_FILE]}-{sha256(name.encode()).hexdigest()[:8]}"
        taken.add(one.casefold())
        found[name] = one
    return {name: found[name] for name in plain}
