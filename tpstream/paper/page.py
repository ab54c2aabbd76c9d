"""The report of `tpstream paper` as one HTML file: the sections of the Markdown report, with its figures inside."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from tpstream.experiment.report import FOUND, repeat_section
from tpstream.paper.figures import figures_of
from tpstream.paper.report import promises, report_text
from tpstream.paper.reproduction import Reproduction
from tpstream.view.pages import Page
from tpstream.view.report import Block, Picture, Section, Sentences, Table, make_report

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HEADING = re.compile(r"(#+) (.*)")
IMAGE = re.compile(r"!\[(.*)\]\(images/(.*)\)")
LINK = re.compile(r"\[([^]]+)\]\([^)]+\)")
COMMENT = "<!--"
MARKS = re.compile(r"[*`]+")
"""Emphasis and code in our Markdown, which the page leaves out."""
QUESTION = (
    "Do the numbers and the claims of Romano et al., Multi-Armed Bandit Problem with Temporally-Partitioned Rewards "
    "(IJCAI 2022), come out again if its settings are run by tpstream?"
)


def paper_page(found: Reproduction) -> Page:
    """The report of a reproduction as a page."""
    figures = {name: draw(found, None) for name, draw in figures_of(found).items()}
    sections = read_sections(report_text(found, figures), figures)
    studies = list(found.studies.values())
    origins = [None if study.origin is None else study.origin() for study in studies[:1]]
    facts = [
        ("runs", f"{found.runs:,} of every policy"),
        ("seed", ", ".join(sorted({str(one.seed) for one in studies}))),
    ]
    call = f"tpstream paper --runs {found.runs}"
    return make_report(
        "The paper, reproduced",
        QUESTION,
        [
            Section(FOUND, [Sentences(_findings(found), points=True)]),
            *sections,
            repeat_section(origins, facts, call, scenarios=False),
        ],
    )


def _findings(found: Reproduction) -> list[str]:
    """How many promises of the reproduction are kept, and which are not; the table below has all of them."""
    rows = [[MARKS.sub("", text) for text in row] for row in promises(found)]
    kept = sum(verdict == "yes" for _, _, verdict in rows)
    told = [f"Not kept: {promise} ({what})." for promise, what, verdict in rows if verdict != "yes"]
    compared = "" if found.full else " The paper's numbers are not compared, since these runs are shorter than its own."
    return [f"{kept} of {len(rows)} promises of the reproduction are kept.{compared}", *told]


def read_sections(text: str, figures: Mapping[str, "Figure"]) -> list[Section]:
    """The sections of our Markdown: headings, paragraphs, tables, and the figures by their file names."""
    sections = []
    for part in re.split(r"(?m)^(?=#+ )", text)[1:]:
        heading, *rest = part.strip().split("\n\n")
        marks, title = HEADING.fullmatch(heading).groups()  # type: ignore[union-attr] # (the parts begin with headings)
        blocks = [_read_block(one.strip(), figures) for one in rest if not one.startswith(COMMENT)]
        sections.append(Section("About this report" if marks == "#" else title, blocks, inner=len(marks) > 2))  # noqa: PLR2004
    return sections


def _read_block(text: str, figures: Mapping[str, "Figure"]) -> Block:
    image = IMAGE.fullmatch(text)
    if image is not None:
        return Picture(figures[image[2]], image[1])
    if not text.startswith("|"):
        return Sentences([MARKS.sub("", LINK.sub(r"\1", " ".join(text.split("\n"))))])
    titles, _, *rows = (
        [MARKS.sub("", cell.strip()) for cell in line.strip("|").split(" | ")] for line in text.split("\n")
    )
    return Table([dict(zip(titles, row, strict=True)) for row in rows])
