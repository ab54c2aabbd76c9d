"""The report: tables, claims, limits and figures of a reproduction; what agrees with the paper and what does not.

The report's summary: every promise of the reproduction, and whether it is kept.
"""

import os
from collections.abc import Callable
from pathlib import Path

from tpstream.paper.cells import POINTS, family_cells, percentages
from tpstream.paper.claims import NAMES, NO, claims
from tpstream.paper.figures import CAPTIONS, draw_all
from tpstream.paper.limits import ceilings, floors
from tpstream.paper.markdown import Lines, counted, mark, paragraph, table
from tpstream.paper.report_limits import limits_section
from tpstream.paper.report_numbers import differences, family_section, spotify_section, starts_section
from tpstream.paper.reproduction import PAPER_HOURS, Reproduction, costs, shares_by_kind
from tpstream.paper.settings import DELAYED, EW, FAMILY, FR, SETTINGS, UCB1, Setting

TOLERANCES = {FR: "1.5 %", EW: "1.5 %", DELAYED: "3 % (4 % in one cell)", UCB1: "2.5 %"}


def summary(found: Reproduction) -> Lines:
    """The promises as a section."""
    return ["## In short", "", *table(["promise", "found", "kept"], promises(found))]


def promises(found: Reproduction) -> list[list[str]]:
    """What was promised, what was found, and whether it is kept."""
    return [*(_published(found) if found.full else []), *_limits(found)]


def _published(found: Reproduction) -> list[list[str]]:
    rows = []
    cells = family_cells(found)
    for policy, tolerance in TOLERANCES.items():
        own = [cell for cell in cells if cell.policy == policy]
        if own:
            largest = max((cell.agreement.percent for cell in own), key=abs)
            kept = [bool(cell.within) for cell in own]
            start = ", random start" if policy == DELAYED else ""
            promise = f"{NAMES[policy]}{start}: published regret within {tolerance}"
            rows.append([promise, f"{counted(kept)} cells; largest {largest:+.2f} %", mark(all(kept))])
    shares = percentages(found)
    if shares:
        largest = max((one.points for one in shares), key=abs)
        kept = [one.within for one in shares]
        promise = f"percentages of the main text within {POINTS} points"
        rows.append([promise, f"{counted(kept)}; largest {largest:+.2f}", mark(all(kept))])
    checked = claims(found)
    if checked:
        kept = [one.holds != NO for one in checked]
        missed = "".join(f"; not: {one.says} (Setting {one.setting})" for one in checked if one.holds == NO)
        rows.append(["claims in words hold, or are within noise", f"{counted(kept)}{missed}", mark(all(kept))])
    return rows


def _limits(found: Reproduction) -> list[list[str]]:
    highest = max(ceilings(found), key=lambda one: one.share)
    undercut = [one for one in floors(found) if one.covered and one.undercut]
    return [
        [
            "no run exceeds its upper bound, at any time",
            f"at most {highest.share:.0%} of it (`{highest.policy}`, {highest.scenario})",
            mark(highest.share <= 1),
        ],
        [
            "no slope in ln T undercuts the lower bound by more than noise",
            f"{len(undercut)} undercut",
            mark(not undercut),
        ],
    ]


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
