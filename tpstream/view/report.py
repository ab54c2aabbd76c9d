"""Reports: what was asked, what was found and how to repeat it, as one page that can be mailed and printed.

Each kind of result says in blocks what its report holds: sentences, tables, figures, commands, definitions. How these
look is in `page/report.html` and `page/report.css`.

A report of a new kind of result is a list of sections, as in

>>> page = make_report("Coins", "Which coin is fair?", [Section("What was found", [Sentences(["None is."])])])
>>> "None is." in page.text
True
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TYPE_CHECKING, Any, ClassVar

from markupsafe import Markup

from tpstream.analysis.columns import TABLES
from tpstream.analysis.printed import NUMBER, printed_meaning
from tpstream.model.names import visible
from tpstream.view.pages import Page, make_page
from tpstream.view.svg import ink, svg_of
from tpstream.view.words import LONGEST, clean

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDE = 9.0
"""A figure that is wider than this, in inches, is given more room on a narrow screen, where it is scrolled."""
ENDLESS = re.compile(rf"\S{{{LONGEST},}}")
UNIT = re.compile(r" \([^()]+\)$")
"""The unit of time behind the title of a column."""
BRACKETED = re.compile(r"(.*\S) (\([^()]+ to [^()]+\))")
"""A value and its interval in brackets: a line may end between them."""


@dataclass(frozen=True)
class Sentences:
    """What is said in words: a list of points, or paragraphs."""

    kind: ClassVar[str] = "sentences"
    texts: Sequence[str]
    points: bool = False
    """Whether each text is a point of a list."""
    quiet: bool = False
    """Whether this is a remark, in smaller letters."""


@dataclass(frozen=True)
class Table:
    """Rows of texts by the titles of their columns; a name in the first column that has a colour gets a mark of it."""

    kind: ClassVar[str] = "table"
    rows: Sequence[Mapping[str, str]]
    caption: str = ""
    colours: Mapping[str, str] = field(default_factory=dict)

    @property
    def marks(self) -> dict[str, str]:
        """The colours as the page has them."""
        return {name: ink(colour) for name, colour in self.colours.items()}

    @property
    def columns(self) -> list[str]:
        """The titles of the columns, of all rows."""
        return list(dict.fromkeys(title for row in self.rows for title in row))

    @property
    def numeric(self) -> set[str]:
        """The columns that hold numbers, with intervals or without: they stand at the right."""
        texts = {
            title: [row[title] for row in self.rows if row.get(title, "") not in {"", "none"}] for title in self.columns
        }
        return {title for title, found in texts.items() if found and all(map(_is_number, found))}


@dataclass(frozen=True, eq=False)
class Picture:
    """A figure, and what it shows in a sentence."""

    kind: ClassVar[str] = "picture"
    figure: "Figure"
    caption: str

    @property
    def wide(self) -> bool:
        """Whether it has several panels side by side."""
        return float(self.figure.get_size_inches()[0]) > WIDE


@dataclass(frozen=True)
class Facts:
    """Short facts, each with a word for what it is."""

    kind: ClassVar[str] = "facts"
    pairs: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Code:
    """Text to be copied: commands, or a scenario; what is long is folded away under a title."""

    kind: ClassVar[str] = "code"
    text: str
    folded: str = ""


Block = Sentences | Table | Picture | Facts | Code


@dataclass(frozen=True)
class Section:
    """A heading and what stands below it."""

    title: str
    blocks: Sequence[Block]
    inner: bool = False
    """Whether it belongs to the section before."""


def make_report(title: str, question: str, sections: Sequence[Section]) -> Page:
    """The page of a report; sections without a block are left out."""
    kept = [replace(section, blocks=[one for one in section.blocks if _holds(one)]) for section in sections]
    shown, numbers = [section for section in kept if section.blocks], count(1)

    def draw(picture: Picture) -> Markup:
        return Markup(svg_of(picture.figure, f"f{next(numbers)}-"))  # noqa: S704 (svg_of escapes what it takes over)

    tools: dict[str, Any] = {"draw": draw, "split": _split, "clean": clean, "wording": _wording, "visible": visible}
    return make_page("report.html", styles=["report.css"], title=title, question=question, sections=shown, **tools)


def definitions(blocks: Sequence[Block], *tables: str) -> Facts:
    """What the columns of these blocks mean, each title once, as the definitions of these tables say."""
    shown = {UNIT.sub("", title) for block in blocks if isinstance(block, Table) for title in block.columns}
    found: dict[str, str] = {}
    for column in (column for table in tables for column in TABLES[table]):
        if column.title and column.title in shown:
            found.setdefault(column.title, printed_meaning(column))
    return Facts(list(found.items()))


def _holds(block: Block) -> bool:
    """Whether a block holds anything."""
    content = {"sentences": "texts", "table": "rows", "facts": "pairs", "code": "text"}.get(block.kind)
    return content is None or bool(getattr(block, content))


def _wording(text: str) -> str:
    """A sentence in which nothing is invisible and no word, as the name of a scenario may be, is longer than a line."""
    return ENDLESS.sub(lambda found: clean(found[0]), visible(text))


def _is_number(cell: str) -> bool:
    """Whether a cell holds a number or an interval, or a number and its interval."""
    value, _ = _split(cell)
    return all(map(NUMBER.fullmatch, re.split(" to | ± ", value)))


def _split(cell: str) -> tuple[str, str]:
    """A cell as its value and the interval in brackets, if there is one."""
    found = BRACKETED.fullmatch(cell)
    return (found[1], found[2]) if found else (cell, "")
