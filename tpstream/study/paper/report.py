"""The report: tables, claims, limits and figures of a reproduction; what agrees with the paper and what does not."""

import os
from collections.abc import Callable
from pathlib import Path

from tpstream.study.paper.claims_by_setting import claims
from tpstream.study.paper.cost import PAPER_HOURS, costs, shares_by_kind
from tpstream.study.paper.differences import differences
from tpstream.study.paper.figures import CAPTIONS, draw_all
from tpstream.study.paper.markdown import Lines, paragraph, table
from tpstream.study.paper.report_limits import limits_section
from tpstream.study.paper.report_tables import family_section, spotify_section, starts_section
from tpstream.study.paper.reproduction import Reproduction
from tpstream.study.paper.settings import FAMILY, SETTINGS, Setting
from tpstream.study.paper.summary import summary

COMMAND = "tpstream paper"


def write_report(found: Reproduction, path: Path) -> list[Path]:
    """Write the page and its figures (in `images` beside it); returns all files."""
    images = path.parent / "images"
    names = draw_all(found, images)
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = page(found, names)
    path.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
    return [path, *(images / name for name in names)]


def page(found: Reproduction, images: list[str]) -> Lines:
    """All sections, each only if its settings were run."""
    sections: list[Callable[[Reproduction, list[str]], Lines]] = [
        _opening,
        _first,
        _family,
        _starts,
        _fourth,
        _fifth,
        _spotify,
        _claims,
        lambda found, images: limits_section(found, figure("theory.png", images)),
        lambda found, _: differences(found),
        _cost,
    ]
    return [line for section in sections for line in section(found, images)]


def figure(name: str, images: list[str]) -> Lines:
    """A figure with what it shows, if it was drawn."""
    return [f"![{CAPTIONS[name]}](images/{name})", ""] if name in images else []


def _opening(found: Reproduction, _: list[str]) -> Lines:
    names = ", ".join(setting.name for setting in found.settings)
    rounds = "the paper's horizons" if found.full else f"{found.horizon:,} rounds instead of the paper's"
    return [
        "# The paper, reproduced",
        "",
        *paragraph(
            f"Written by `{COMMAND}`. Settings {names}; {found.runs} runs of every policy; {rounds}. Intervals are",
            "95 %,",
            "of the mean over runs. The published numbers are in `tpstream/analysis/published`, with their",
            "source: Romano,",
            "Agostini, Trovò, Gatti and Restelli, *Multi-Armed Bandit Problem with Temporally-Partitioned",
            "Rewards: When",
            "Partial Feedback Counts*, IJCAI 2022, and its appendix.",
        ),
        *summary(found),
    ]


def _heading(setting: Setting) -> Lines:
    title = "Spotify-like" if setting.name == "spotify" else f"Setting {setting.name}"
    return [f"## {title}", "", f"{setting.about[0].upper()}{setting.about[1:]}.", ""]


def _first(found: Reproduction, images: list[str]) -> Lines:
    return [*_heading(SETTINGS["1"]), *figure("setting-1.png", images)] if found.has("1") else []


def _family(found: Reproduction, images: list[str]) -> Lines:
    if not any(found.has(name) for name in FAMILY):
        return []
    opening = ["## Settings 2, 2.1, 2.2 and 2.3", "", *figure("setting-2.png", images)]
    return [*opening, *(family_section(found) if found.full else [])]


def _starts(found: Reproduction, images: list[str]) -> Lines:
    if not found.has("2"):
        return []
    opening = ["## Delayed-UCB1: which start did the paper use?", "", *figure("delayed-starts.png", images)]
    return [*opening, *(starts_section(found) if found.full else [])]


def _fourth(found: Reproduction, images: list[str]) -> Lines:
    return [*_heading(SETTINGS["4"]), *figure("setting-4.png", images)] if found.has("4") else []


def _fifth(found: Reproduction, images: list[str]) -> Lines:
    return [*_heading(SETTINGS["5"]), *figure("setting-5.png", images)] if found.has("5") else []


def _spotify(found: Reproduction, images: list[str]) -> Lines:
    if not found.has("spotify"):
        return []
    opening = [*_heading(SETTINGS["spotify"]), *figure("spotify-like.png", images)]
    return [*opening, *(spotify_section(found) if found.full else [])]


def _claims(found: Reproduction, _: list[str]) -> Lines:
    checked = claims(found) if found.full else []
    if not checked:
        return []
    return [
        "## What the paper says in words",
        "",
        *paragraph(
            "Rounds of crossings are those of the mean curves, with bootstrap intervals over runs. A number read",
            "off a figure",
            "counts as confirmed within 20 %. *Within noise*: the estimate says no, its interval allows yes.",
        ),
        *table(
            ["setting", "the paper says", "we find", "holds"],
            [[one.setting, one.says, one.found, one.holds] for one in checked],
        ),
    ]


def _cost(found: Reproduction, _: list[str]) -> Lines:
    spent = costs(found)
    columns = ("clock", "recorded", "draws")
    rows = [[one.setting, *(f"{getattr(one, column):,.0f}" for column in columns)] for one in spent]
    total = {column: sum(getattr(one, column) for one in spent) for column in columns}
    shares = ", ".join(f"{kind} {share:.0%}" for kind, share in shares_by_kind(found).items())
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return [
        "## What it costs",
        "",
        *paragraph(
            f"The paper's experiments took {PAPER_HOURS} hours. This call took {total['clock'] / 60:.1f} minutes",
            f"by the clock, with {found.jobs} jobs on {cores} cores. Runs that were",
            "there already are not done again; *recorded* is what all runs took, each by the clock of its time.",
            "*Draws* is what",
            "sampling the rewards takes, in seconds of processors, timed alone: policies of one run share them.",
        ),
        *table(
            ["setting", "clock, s", "recorded, s", "draws, s"],
            [*rows, ["all", *(f"{total[column]:,.0f}" for column in columns)]],
            right=3,
        ),
        *paragraph(f"By policy (UCB1 comes first and draws for the others): {shares} of the recorded time."),
    ]
