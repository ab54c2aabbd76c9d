"""The report of designs with looks: what regulators ask to see, on one page.

Rules in words; error rates over all truths; sizes; bias and coverage; single trials told event by event; how many
trials were simulated, with which seed, versions and scenario.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from tpstream.experiment.findings import failure_findings
from tpstream.experiment.report import FOUND, repeat_section, world_section
from tpstream.figures.style import policy_colours
from tpstream.model.display import counted
from tpstream.model.errors import TpstreamError
from tpstream.trial import design_rows as rows
from tpstream.trial.decisions import CONCLUSIONS, SimulatedTrials
from tpstream.trial.designs import OperatingCharacteristics
from tpstream.trial.monte_carlo import Estimate
from tpstream.view.pages import Page
from tpstream.view.report import Block, Code, Facts, Picture, Section, Sentences, Table, definitions, make_report

EXAMPLES = 3
"""Trials that are told, with different decisions if there are some."""
ERRORS = (
    "In brackets are 95 % intervals of the simulation (Monte Carlo errors): Wilson's for probabilities, Student's for "
    "means, order statistics for medians. They say how exact the simulation is, not how sure the trial would be."
)


PLAIN = (
    "Estimates are plain means and differences with everything known. Nothing in them corrects for stopping at a look, "
    "for an allocation that follows the outcomes, or for the choice of the best arm; the bias says what that does, "
    "over all trials and in those that selected the arm."
)


def design_report(found: OperatingCharacteristics) -> Page:
    """The report of designs; see `OperatingCharacteristics.report`."""
    many, designs = max(len(one) for one in found.trials), found.designs
    origins = [
        None if description.origin is None else description.origin() for description in found.descriptions.values()
    ]
    first = found.trials[0]
    what = designs[0] if len(designs) == 1 else counted(len(designs), "design")
    question = (
        f"How does {what} behave as the design of a trial on {counted(len(first.comparison.arms), 'arm')} "
        f"({', '.join(first.comparison.arms)})? Error rates, power, sizes, bias and coverage from "
        f"{counted(many, 'simulated trial')} under each of {counted(len(found.truths), 'truth')}."
    )
    missing = [f"Not finished: {one.unfinished}." for one in origins if one is not None and one.unfinished is not None]
    sentences = [*missing, *findings(found), *failure_findings(len(found.failures))]
    facts = [("simulated trials", f"{many:,} of each design under each truth"), ("seed", str(found.seed))]
    call = f"trial(scenario, runs={many}, seed={found.seed})"
    results = [
        Section("Conclusions", _conclusions(found)),
        Section("Sizes", [Table(rows.size_rows(found), "Patients, duration and overrun of a trial")]),
        Section("Patients and estimates", _arms(found)),
        *_compared(found),
    ]
    return make_report(
        f"{what}: operating characteristics",
        question,
        [
            Section(FOUND, [Sentences(sentences, points=True), Sentences([ERRORS], quiet=True)]),
            *_rules(found),
            *results,
            *_examples(found),
            world_section(origins[0], first.comparison.arms, list(first.comparison.truths)),
            repeat_section(origins, facts, call),
            Section("What the columns mean", [_definitions(results)]),
        ],
    )


def findings(found: OperatingCharacteristics) -> list[str]:
    """The main results in sentences, of each design under each truth."""
    return [text for trials in found.trials if len(trials) for text in _findings(found, trials)]


def _findings(found: OperatingCharacteristics, trials: SimulatedTrials) -> Iterator[str]:
    def value(measure: str) -> Estimate:
        return found.value(measure, design=trials.design, truth=trials.truth)

    where = f"{trials.design}, {trials.truth}" if len(found.designs) > 1 else trials.truth
    parts = []
    error, power = value("type1"), value("power")
    if not np.isnan(error.value):
        parts.append(f"an arm that is not better is claimed to be superior in {percent(error)} of the trials")
    if not np.isnan(power.value):
        parts.append(f"an arm that is better is found in {percent(power)}")
    size, wrong = value("patients"), value("wrong_incomplete")
    parts.append(f"a trial needs {size.value:,.0f} patients on average")
    if wrong.value > 0:
        parts.append(f"incomplete data mislead a look in {percent(wrong)}")
    text = "; ".join(parts)
    yield f"{where}: {text}."


def percent(estimate: Estimate) -> str:
    """A probability with its interval."""
    return rows.cell(estimate, rows.MEASURES["power"]).replace("%", " %", 1)


def _rules(found: OperatingCharacteristics) -> Iterator[Section]:
    """The rules as they were fixed before the simulation, of each design."""
    several = len(found.descriptions) > 1
    if several:
        yield Section("The designs", [Sentences(["The rules of each design, fixed before any trial was simulated:"])])
    for design, description in found.descriptions.items():
        told = any(rule.startswith("Patients are allocated") for rule in description.rules)
        allocation = (
            [] if told or not description.policy else [f"Patients are allocated by the policy {description.policy}."]
        )
        block = Sentences([*description.rules, *allocation], points=True)
        yield Section(design if several else "The design", [block], inner=several)


def _conclusions(found: OperatingCharacteristics) -> list[Block]:
    caption = (
        "On the left the share of trials that came to each conclusion up to each time, in the middle how many patients "
        "trials have, on the right how patients are allocated in the order of their enrolment."
    )
    looks = {
        "How often a rule ends the trial, and at which look": rows.stop_rows(found),
        "What incomplete data do, and errors with everything known": rows.incomplete_rows(found),
    }
    return [
        Table(rows.decision_rows(found), "Type I error, power, and the probability of each conclusion, by truth"),
        Picture(found.plot(), caption),
        *(Table(table, caption) for caption, table in looks.items() if table),
        Table(rows.benefit_rows(found), "What the patients get"),
    ]


def _arms(found: OperatingCharacteristics) -> list[Block]:
    return [
        Table(rows.arm_rows(found), "Patients on each arm, and what is concluded of it"),
        Sentences([PLAIN], quiet=True),
        Table(rows.estimate_rows(found, rows.ALL_ESTIMATES), "Estimates of each arm's endpoint, with everything known"),
        Table(
            rows.difference_rows(found, rows.ALL_ESTIMATES),
            "Estimates of differences to the control, with everything known",
        ),
    ]


def _compared(found: OperatingCharacteristics) -> Iterator[Section]:
    if len(found.designs) > 1:
        caption = f"Difference to {found.designs[0]}, trial by trial; of probabilities in percentage points"
        yield Section("Designs compared", [Table(rows.contrast_rows(found), caption, policy_colours(found.designs))])


def examples(trials: SimulatedTrials) -> dict[int, str]:
    """The first trial of each decision that occurs, the most frequent decision first."""
    codes, firsts, counts = np.unique(trials.decision, return_index=True, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:EXAMPLES]
    return {int(trials.runs[firsts[place]]): CONCLUSIONS[int(codes[place])] for place in order}


def _examples(found: OperatingCharacteristics) -> Iterator[Section]:
    """A few trials of the first design and truth, told event by event."""
    trials = found.trials[0]
    description = found.descriptions[trials.design]
    if trials.truth not in description.scenarios:
        return
    blocks: list[Block] = []
    for run, word in examples(trials).items():
        try:
            told = found.tell(run, design=trials.design, truth=trials.truth)
        except TpstreamError:  # what cannot be run again, as without a plug-in, is not told
            return
        blocks.append(Code("\n".join(told), folded=f"Trial {run}: {word}"))
    yield Section("Single trials, told event by event", blocks)


def _definitions(sections: Sequence[Section]) -> Facts:
    """What the measures mean that stand in the tables of these sections."""
    return definitions([block for section in sections for block in section.blocks], "measures")
