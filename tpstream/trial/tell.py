"""One simulated trial told event by event in plain words, as a protocol's appendix shows it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tpstream.analysis.log_dates import as_date
from tpstream.log.sinks import MemorySink
from tpstream.looks.design import Design, Reason
from tpstream.looks.words import look_needs, needed
from tpstream.model.arrays import Bools
from tpstream.model.display import counted, number_text
from tpstream.model.errors import ScenarioError, StudyError, UnknownNameError
from tpstream.model.events import Columns, Events, Kind
from tpstream.model.units import count_of
from tpstream.run.loop import counted_rounds, run_policies
from tpstream.run.options import RunOptions
from tpstream.scenario.policy_choice import PolicySpec, request_policies
from tpstream.scenario.scenario import Scenario

if TYPE_CHECKING:
    from tpstream.trial.designs import OperatingCharacteristics

FOUND = {
    Reason.INFERIORITY: "inferior",
    Reason.SUPERIORITY: "superior",
    Reason.EQUIVALENCE: "equivalent",
    Reason.FUTILITY: "futile",
}
"""What a rule says of an arm."""


@dataclass(frozen=True, eq=False)
class ToldTrial:
    """One simulated trial: its design, its events and its measures, and how its times are written."""

    scenario: Scenario
    design: Design
    events: Columns
    measures: Mapping[str, NDArray[Any]]

    def when(self, time: float) -> str:
        """A time as a date, if the scenario has a start; else in its unit of time."""
        start, unit = self.scenario.start, self.scenario.time_unit
        date = as_date(None if start is None else start.isoformat(), unit, time)
        if isinstance(date, str):
            return date[:10]
        return f"time {number_text(time)}" if unit is None else f"{unit} {number_text(time)}"

    def rows(self, kind: Kind, after: float = -np.inf, until: float = np.inf) -> Bools:
        """Which events are of this kind and happened in this time, its end included."""
        time = self.events["time"]
        return np.asarray((self.events["kind"] == kind) & (time > after) & (time <= until))

    def by_arm(self, numbers: Sequence[float], form: str = "{}") -> str:
        """A number for each arm: "34 on standard, 33 on new"; arms without one are left out."""
        pairs = zip(self.design.names, numbers, strict=True)
        return ", ".join(
            form.format(number_text(float(number)), name) for name, number in pairs if not np.isnan(number)
        )


def tell_trial(
    scenario: Scenario, policy: PolicySpec | None = None, *, seed: int | None = None, run: int = 0
) -> list[str]:
    """Simulate one trial of a design and tell it, a sentence or two for each event.

    Parameters
    ----------
    scenario
        A scenario with a table `[trial]`.
    policy
        Who allocates patients; by default the design's own allocation, or the first policy of the scenario.
    seed, run
        Which trial: as in `simulate`.

    Returns
    -------
    list of str
        Lines of text in the order of time, each with a date if the scenario has a `start`.

    Examples
    --------
    >>> from tpstream import Scenario, tell_trial
    >>> scenario = Scenario(
    ...     name="responses", horizon=60, span=1, drain=True, rewards={"kind": "binary"},
    ...     policies=[{"kind": "uniform"}],
    ...     arms=[{"name": "standard", "probability": 0.3}, {"name": "new", "probability": 0.6}],
    ...     trial={"control": "standard", "rules": [{"kind": "superiority", "threshold": 0.98}]},
    ... )
    >>> print(tell_trial(scenario, seed=1)[0])
    A simulated trial of responses (seed 1, run 0; patients are allocated by uniform).
    """
    design = scenario.design()
    if design is None:
        raise ScenarioError(f"{scenario.name}: there is no design to tell of; add a table [trial]")
    request = request_policies(scenario.policies, None if policy is None else [policy])[0]
    choice, sink = request.choose(scenario.problem(), scenario.folder), MemorySink()
    rounds, seed = counted_rounds(scenario.horizon, ()), scenario.seed if seed is None else seed
    (result,) = run_policies(scenario, [choice], seed, run, rounds, RunOptions(sinks=(sink,)))
    if result.failure is not None:
        raise StudyError(f"{scenario.name}: the trial with seed {seed}, run {run} failed: {result.failure}")
    told = ToldTrial(scenario, design, Events.join(sink.batches).columns(), result.measures)
    header = f"A simulated trial of {scenario.name} (seed {seed}, run {run}; patients are allocated by {choice.label})"
    return [f"{header}.", *_told(told)]


def tell_again(found: "OperatingCharacteristics", run: int, design: str, truth: str) -> list[str]:
    """Tell one of the trials of a result."""
    if design not in found.designs:
        raise UnknownNameError("design of this trial", design, found.designs)
    if truth not in found.truths:
        raise UnknownNameError("truth of this trial", truth, found.truths)
    description = found.descriptions[design]
    if truth not in description.scenarios:
        raise StudyError(f"{design}: its scenario cannot be read again from the folder; simulate it in this session")
    return tell_trial(description.scenarios[truth], description.policy, seed=found.seed, run=run)


def _told(trial: ToldTrial) -> list[str]:
    """The sentences in the order of time."""
    pulls = trial.rows(Kind.PULL)
    times = trial.events["time"][pulls]
    if not len(times):
        return ["Nobody was enrolled."]
    first = trial.design.names[int(trial.events["arm"][pulls][0])]
    entries = [(float(times[0]), f"{trial.when(times[0])}: the first patient is randomised, to {first}.")]
    before = -np.inf
    for look in np.flatnonzero(~np.isnan(trial.measures["look_cut"])).tolist():
        cut = float(trial.measures["look_cut"][look])
        entries += [(cut, line) for line in _look(trial, look, before)]
        entries.append(_decision(trial, look, cut))
        before = cut
    shares = trial.by_arm(trial.measures["patients"].tolist(), "{} on {}")
    last = f"{trial.when(times[-1])}: the last of {counted(len(times), 'patient')} is randomised"
    entries.append((float(times[-1]), f"{last} ({shares} in all)."))
    ordered = [line for _, line in sorted(entries, key=lambda entry: entry[0])]
    return [*ordered, *_end(trial)]


def _look(trial: ToldTrial, look: int, before: float) -> Iterator[str]:
    """The cut of the data, and what was seen."""
    measures, design = trial.measures, trial.design
    cut = float(measures["look_cut"][look])
    fresh = trial.rows(Kind.PULL, before, cut)
    since = "So far" if np.isneginf(before) else "Since the look before"
    arms = np.bincount(trial.events["arm"][fresh], minlength=design.arms)
    lost = int(trial.rows(Kind.DROPPED, before, cut).sum())
    visits = int(trial.rows(Kind.PARTIAL, before, cut).sum())
    spread = trial.by_arm(arms.tolist(), "{} on {}")
    yield (
        f"{trial.when(cut)}: look {look + 1}, the data are cut. {since} {counted(int(fresh.sum()), 'patient')} came "
        f"({spread}), {counted(visits, 'visit')} were reported and {lost:,} were lost; "
        f"{int(measures['look_enrolled'][look]):,} patients are enrolled."
    )
    counts, estimates = (
        trial.by_arm(measures[name][look].tolist(), "{} on {}") for name in ("look_counted", "look_estimate")
    )
    yield f"Counted are {counts}; the estimates are {estimates}."
    for number, rule in enumerate(design.rules):
        seen = trial.by_arm(measures["look_statistic"][look, number].tolist(), "{} for {}")
        if seen:
            yield f"{rule.kind.capitalize()}: {seen}; {look_needs(design, number, look)}."


def _decision(trial: ToldTrial, look: int, cut: float) -> tuple[float, str]:
    """When the decision of a look is in force, and what it is."""
    measures, design = trial.measures, trial.design
    stopped = int(measures["stop_look"]) == look + 1
    time = float(measures["stop_time"]) if stopped else cut + design.looks.cleaning
    verdicts = measures["look_verdict"][look]
    said = [
        f"{name} is {FOUND[Reason(int(code))]}" for name, code in zip(design.names, verdicts, strict=True) if int(code)
    ]
    if not said and not stopped:
        return time, f"{trial.when(time)}: no rule holds; the trial goes on."
    dropped = [
        name
        for name, number in zip(design.names, measures["arm_look"], strict=True)
        if int(number) == look + 1 and not stopped
    ]
    text = f"{trial.when(time)}: {'; '.join(said) or 'no arm is left to go on with'}."
    if not stopped:
        text += f" {', '.join(dropped)}: no more patients." if dropped else ""
        return time, f"{text} The trial goes on."
    if design.delayed_response:
        found = [(Reason(int(code)), name) for code, name in zip(verdicts, design.names, strict=True) if int(code)]
        crossed = "; ".join(f"{reason.name.lower()} of {name}" for reason, name in found)
        return time, (
            f"{trial.when(time)}: a boundary is crossed ({crossed}). Recruitment ends; the trial is decided when the "
            "outcomes in the pipeline are known."
        )
    selected = int(measures["selected"])
    chosen = f", and {design.names[selected]} is selected" if selected >= 0 else ""
    return time, f"{text} The trial is stopped for {Reason(int(measures['conclusion'])).name.lower()}{chosen}."


def _end(trial: ToldTrial) -> Iterator[str]:
    """The overrun, the final analysis, and what the trial came to."""
    measures = trial.measures
    stopped = int(measures["conclusion"]) != Reason.MAXIMUM
    if stopped:
        yield (
            f"When it was stopped, {counted(int(measures['overrun']), 'patient')} were enrolled and not counted (the "
            "overrun); they are followed to the end."
        )
    else:
        yield "The largest number of patients is reached."
    yield from _final(trial)
    final, selected = int(measures["final_conclusion"]), int(measures["final_selected"])
    if stopped:
        same = (final, selected) == (int(measures["conclusion"]), int(measures["selected"]))
        yield f"The overrun {'confirms' if same else 'changes'} the conclusion at the stop."
    successes = trial.by_arm(measures["outcome_sum"].tolist(), "{} on {}")
    took = count_of(float(measures["duration"]), trial.scenario.time_unit)
    yield f"The endpoints of all patients add up to {successes}; the trial took {took}."


def _final(trial: ToldTrial) -> Iterator[str]:
    """The last read-out, and the final analysis."""
    measures, design = trial.measures, trial.design
    counts, estimates = (
        trial.by_arm(measures[name].tolist(), "{} on {}") for name in ("final_counted", "final_estimate")
    )
    yield (
        f"{trial.when(float(measures['duration']))}: the last visit is reported. Final analysis with everything known: "
        f"counted are {counts}; the estimates are {estimates}."
    )
    for number, rule in enumerate(design.rules):
        statistics, critical = measures["final_statistic"][number], measures["final_critical"][number]
        for value in np.unique(critical[~np.isnan(statistics)]):  # of arms, which may differ after a stop
            own = np.isclose(critical, value, rtol=0.0, equal_nan=True)
            seen = trial.by_arm(np.where(own, statistics, np.nan).tolist(), "{} for {}")
            yield f"{rule.kind.capitalize()}: {seen}; {needed(rule, float(value))}."
    final = Reason(int(measures["final_conclusion"]))
    selected = int(measures["final_selected"])
    chosen = f" of {design.names[selected]}" if selected >= 0 else ""
    verdict = "no rule holds" if final == Reason.MAXIMUM else f"{final.name.lower()}{chosen}"
    yield f"Conclusion with everything known: {verdict}."
