"""The figure and the report of an evaluation."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tpstream.analysis.printed import in_currency
from tpstream.experiment.report import COLUMNS, FOUND, RESULTS, command_section
from tpstream.figures import style
from tpstream.model.display import counted, number_text
from tpstream.model.units import count_of
from tpstream.twin.evaluation import LOGGED, TWIN, Evaluation
from tpstream.view.pages import Page
from tpstream.view.report import Block, Facts, Picture, Section, Sentences, Table, make_report

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MEANINGS = (
    ("per decision", "what a decision pays in the end, on average; in brackets the 95 % interval"),
    (f"minus {LOGGED}", "the same minus what the decisions of the log pay in the end"),
    ("effective decisions", "how many decisions of equal weight would say as much, among those of the last age"),
    ("open ones taken as finished", "the same estimate as if open decisions would pay nothing more: too low"),
    ("inverse propensity", "the mean of what was paid, times the probability of the arm now over that in the log"),
    ("self-normalised", "the same divided by the sum of these weights"),
    ("doubly robust", "the means of the arms by age, corrected by what decisions paid beyond them, weighted"),
    ("replay with rejection", "the policy was asked at every decision, and kept those on which it agreed, at random"),
    (TWIN, "the policy in a world fitted to the log, with all of its traffic: as good as that world is"),
)


def evaluation_figure(path: str | Path | None, found: Evaluation) -> "Figure":
    """Draw every estimate with its interval, hollow the one that takes open decisions as finished, and the twin's."""
    is_policy = found.allocation is None or found.policy == "uniform"
    colour = style.policy_colours([found.policy])[found.policy] if is_policy else style.COLOURS[0]
    modelled = None if found.twin is None else found.twin.value
    names = [one.estimator for one in reversed(found.estimates)]
    if modelled is not None:
        names = [TWIN, *names]
    with style.new_figure(path, 8, 1.6 + 0.6 * len(names)) as figure:
        axes = figure.subplots()
        if modelled is not None:
            axes.plot(modelled, 0, "D", color=colour, markersize=7)
        for place, one in enumerate(reversed(found.estimates), start=len(names) - len(found.estimates)):
            own = style.GREY if one.estimator == LOGGED else colour
            if one.low is not None and one.high is not None:
                axes.plot([one.low, one.high], [place, place], color=own, linewidth=2, solid_capstyle="butt")
            axes.plot(one.value, place, "o", color=own, markersize=7)
            axes.plot(one.naive, place, "o", color=own, markerfacecolor="white", markersize=7)
        axes.set_yticks(np.arange(len(names)), names)
        axes.set_ylim(-0.6, len(names) - 0.4)
        unit = in_currency(found.currency)
        axes.set(xlabel=f"per decision, within {count_of(found.ages, found.unit)}{unit}; hollow: open ones as finished")
        axes.set_title(style.figure_text(found.policy), loc="left", fontweight="bold", pad=12)
        style.draw_grid(axes)
    return figure


def findings(found: Evaluation) -> list[str]:
    """What was found, in sentences."""
    said = []
    for one in found.estimates:
        if one.difference is None:
            continue
        if one.difference_low is None or one.difference_high is None:
            verdict = f"{number_text(one.difference)} to what the log's decisions pay; how sure that is cannot be said"
        elif one.difference_low > 0 or one.difference_high < 0:
            more = "more" if one.difference > 0 else "less"
            verdict = f"{number_text(abs(one.difference))} {more} than the log's decisions, and not by chance"
        else:
            verdict = f"{number_text(one.difference)} to what the log's decisions pay, which may be chance"
        said.append(f"By {one.estimator}, a decision pays {number_text(one.value)}: {verdict}.")
    return said


def evaluation_report(found: Evaluation) -> Page:
    """The report of an evaluation; see `Evaluation.report`."""
    shares = found.allocation
    asked = shlex.join(
        ["-p", found.policy]
        if shares is None or found.policy == "uniform"
        else [word for arm, share in shares.items() if share for word in ("--allocation", f"{arm}={share:g}")]
    )
    facts = [
        ("log", found.log),
        ("decisions", f"{counted(found.decisions, 'decision')}, {found.open:,} of them open"),
        ("ages", f"within {count_of(found.ages, found.unit)}"),
    ]
    if found.kept is not None and found.thinning is not None:
        facts.append(("kept in a replay", f"{found.kept:,.0f} decisions, of a share of {found.thinning:.3g}"))
    rows = found.rows()
    shown = {title for row in rows for title in (*row, row["estimate"])}
    results: list[Block] = [
        Table(rows, "What a decision pays in the end; brackets are 95 % intervals"),
        Picture(
            found.plot(), "Estimates with 95 % intervals; hollow: open decisions taken as finished, which is too low."
        ),
    ]
    return make_report(
        f"{found.policy} on {Path(found.log).name}",
        f"What would {found.policy} have earned on the decisions of {Path(found.log).name}?",
        [
            Section(FOUND, [Sentences(findings(found), points=True)]),
            Section(RESULTS, results),
            Section(
                "What is estimated",
                [
                    Sentences([f"{found.estimand}."]),
                    Sentences(
                        [f"{note[:1].upper()}{note[1:]}." for note in (found.reason, *found.notes) if note], points=True
                    ),
                    Facts(facts),
                ],
            ),
            command_section([("log", found.log)], f"tpstream evaluate {shlex.quote(found.log)} {asked}"),
            Section(COLUMNS, [Facts([pair for pair in MEANINGS if pair[0] in shown])]),
        ],
    )
