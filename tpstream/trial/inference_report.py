"""The report of `tpstream inference`: what the log of an adaptive trial says about its arms."""

from pathlib import Path
from typing import TYPE_CHECKING

from tpstream.analysis.adaptive import AdaptiveEstimates, Estimate
from tpstream.analysis.adaptive_weights import Weights
from tpstream.experiment.report import COLUMNS, FOUND, RESULTS, WORLD, command_section
from tpstream.figures import style
from tpstream.log.reader import read_log
from tpstream.model.display import counted, listed, number_text
from tpstream.replay.randomisation import RandomisationTest
from tpstream.view.pages import Page
from tpstream.view.report import Block, Facts, Picture, Section, Sentences, Table, make_report
from tpstream.view.words import header_facts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAIVE, WEIGHTED = "naive", "aipw"
MEANINGS = (
    ("patients, known", "those who are counted, and those of them whose endpoint is known"),
    ("naive", "the mean of the known endpoints, which is biased where the assignment depended on outcomes"),
    ("AIPW", "augmented inverse probability weighting: it allows for the probabilities of the assignments"),
    ("p", "how often patients who are assigned again, by the same rule, differ at least as much"),
    ("p, adjusted for all arms", "the same for the most extreme difference of all arms"),
)


def inference_figure(path: str | Path | None, found: AdaptiveEstimates, weights: Weights) -> "Figure":
    """Draw the mean of each arm with its interval: naive, and allowing for the assignment, where that is available."""
    with style.new_figure(path, 8, 1.4 + 0.7 * len(found.arms)) as figure:
        axes = figure.subplots()
        for place, arm in enumerate(reversed(found.arms)):
            for kind, shift, colour in ((NAIVE, -0.14, style.GREY), (WEIGHTED, 0.14, style.COLOURS[0])):
                one = found.find(arm, kind, weights)
                if one.value is None:
                    continue
                if one.low is not None and one.high is not None:
                    axes.plot(
                        [one.low, one.high], [place + shift] * 2, color=colour, linewidth=2, solid_capstyle="butt"
                    )
                axes.plot(one.value, place + shift, "o", color=colour, markersize=6)
        axes.set_yticks(range(len(found.arms)), [style.figure_text(arm) for arm in reversed(found.arms)])
        axes.set_ylim(-0.6, len(found.arms) - 0.4)
        axes.set(xlabel=f"mean endpoint, 95 % intervals; dark: naive, blue: AIPW, {weights}")
        style.draw_grid(axes)
    return figure


def inference_report(
    found: AdaptiveEstimates, weights: Weights, test: RandomisationTest | None = None, reason: str | None = None
) -> Page:
    """The report of estimates, and of the randomisation test or the reason why there is none."""
    name, total = Path(found.log).name, counted(sum(found.counted), "patient")
    results: list[Block] = [
        Table(found.rows(weights), "The mean endpoint of each arm, and differences; brackets are 95 % intervals"),
        Picture(inference_figure(None, found, weights), "The mean endpoint of each arm with its 95 % interval."),
    ]
    facts = [*header_facts(read_log(found.log).header), ("counted", found.rule)]
    if test is not None:
        title = f"Randomisation test, {test.alternative}, {test.replications:,} replications"
        results.append(Table(test.rows(), title))
        facts.append(("randomisation test", f"{test.replications:,} replications, seed {test.seed}"))
    notes = [*found.notes, *((reason,) if reason is not None else ()), *(() if test is None else test.notes)]
    return make_report(
        f"What {name} says about its arms",
        f"Do {listed(found.arms)} differ, and by how much, if it is allowed for how {total} were assigned?",
        [
            Section(FOUND, [Sentences(_findings(found, weights, test), points=True)]),
            Section(RESULTS, results),
            Section("What to know", [Sentences([f"{note[:1].upper()}{note[1:]}." for note in notes], points=True)]),
            Section(WORLD, [Facts(facts)]),
            command_section([("log", found.log)]),
            Section(COLUMNS, [Facts(MEANINGS)]),
        ],
    )


def _findings(found: AdaptiveEstimates, weights: Weights, test: RandomisationTest | None) -> list[str]:
    """What was found, in sentences."""
    said = []
    for arm in found.arms:
        if arm != found.control:
            best = found.find(arm, WEIGHTED, weights, against=found.control)
            naive = best.value is None
            one = found.find(arm, NAIVE, weights, against=found.control) if naive else best
            said.append(_compared(one, "the naive estimate, which may be biased" if naive else f"AIPW, {weights}"))
    if test is not None:
        verdict = "are not explained by chance" if test.p_value < 0.05 else "may be chance"  # noqa: PLR2004 (5 %)
        said.append(
            f"By the randomisation test the differences {verdict}: p = {test.p_value:.4f}, for all arms together."
        )
    return said


def _compared(one: Estimate, by: str) -> str:
    """An arm beside the control, by an estimate."""
    if one.value is None:
        return f"How {one.arm} and {one.against} differ cannot be said: {one.reason}."
    size, more = number_text(abs(one.value)), "above" if one.value > 0 else "below"
    if one.low is None or one.high is None:
        return f"The mean of {one.arm} is {size} {more} that of {one.against} ({by}); how sure that is cannot be said."
    ends = f"95 % interval of the difference {number_text(one.low)} to {number_text(one.high)}"
    if one.low > 0 or one.high < 0:
        return f"The mean of {one.arm} is {size} {more} that of {one.against} ({by}; {ends})."
    return f"{one.arm} and {one.against} cannot be told apart ({by}; {ends})."
