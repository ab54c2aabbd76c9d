"""The looks of one run of a trial: between the batches of its engine, the monitor analyses and the engine is told.

When each look is follows from the times at which patients come, which are drawn before the run. So the engine pauses at
every cut of the data and at every decision. At a cut all that was delivered up to then, that instant included, is
analysed; what is decided on it holds for patients who come later than the decision.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import get_type_hints

import numpy as np

from tpstream.engines.engine import Engine, LookEngine
from tpstream.looks.design import Design
from tpstream.looks.monitor import Analysis, Monitor
from tpstream.looks.schedule import look_times
from tpstream.model.arrays import Floats, Ints
from tpstream.model.errors import PolicyError
from tpstream.model.events import Kind
from tpstream.model.world import Problem, Purpose, World, open_stream
from tpstream.policies import POLICIES
from tpstream.policies.base import SharedPolicy, told_problem
from tpstream.policies.loader import init_state
from tpstream.policies.runner import drops_arms, start_policy
from tpstream.scenario.policy_choice import PolicyChoice
from tpstream.timing.pipeline import due_decisions

CUT, DECISION = 0, 1
"""The stages of a look: the data are cut, and it is decided on them."""


@dataclass(frozen=True, eq=False)
class GivenArrivals:
    """Decisions at times that were drawn before the run: those of the patients who are enrolled."""

    given: Floats
    regular = False

    def times(self, stream: np.random.Generator, horizon: int) -> Floats:  # noqa: ARG002 (they are drawn)
        """The times."""
        return self.given[:horizon]


@dataclass(frozen=True, eq=False)
class GivenSites(GivenArrivals):
    """The same, with the site of each decision."""

    names: tuple[str, ...]
    sites: Ints

    def at_sites(self, stream: np.random.Generator, horizon: int) -> tuple[Floats, Ints]:  # noqa: ARG002
        """The times and the sites."""
        return self.given[:horizon], self.sites[:horizon]


class TrialRun:
    """The looks of one run: when the run pauses, and what is done then."""

    def __init__(self, design: Design, world: World) -> None:
        times, sites, cuts, decisions = enrolment(design, world)
        arrivals = GivenArrivals(times) if sites is None else GivenSites(times, world.timing.sites, sites)
        self.world = replace(world, timing=replace(world.timing, arrivals=arrivals))
        """The world to run in: patients who come while recruiting pauses are left out."""
        self.monitor = Monitor(design, cuts, decisions)
        stages = ((cuts, CUT), (decisions, DECISION))
        steps = [(float(time), look, stage) for times, stage in stages for look, time in enumerate(times)]
        self._steps = sorted(step for step in steps if np.isfinite(step[0]))
        self.pauses: Floats = np.unique([time for time, _, _ in self._steps])
        """When the engine pauses."""
        self._analysis: Analysis | None = None
        """The last look that was held."""

    def start(self, engine: Engine, label: str) -> Iterator[Ints]:
        """The batches of the engine, with looks between them; refuses a policy that cannot leave out dropped arms."""
        if self.monitor.design.drops_arms and not engine.drops_arms:
            raise _cannot_drop(label)
        engine.bus.subscribe("the trial's monitor", self.monitor)
        return self._batches(engine)

    def _batches(self, engine: Engine) -> Iterator[Ints]:
        for arms in engine.round_batches():
            if engine.passed:
                self.hold(engine, float(self.pauses[engine.passed - 1]))
            if len(arms):
                yield arms

    def hold(self, engine: LookEngine, until: float) -> None:
        """Do all that is due up to and including this time; the monitor has heard all events up to then."""
        while self._steps and self._steps[0][0] <= until:
            _, look, stage = self._steps.pop(0)
            if stage == CUT and not self.monitor.stopped:
                self._cut(engine, look)
            elif stage == DECISION and look == len(self.monitor.looks) - 1:
                self._decide(engine, look)

    def _cut(self, engine: LookEngine, look: int) -> None:
        """Analyse what is known now, and write the numbers to the log."""
        self._analysis = self.monitor.analyse(look)
        engine.announce(Kind.LOOK, look + 1, *look_rows(self._analysis))
        engine.tell_look(CUT)

    def _decide(self, engine: LookEngine, look: int) -> None:
        """Close arms, and stop the trial if that was found."""
        assert self._analysis is not None  # noqa: S101 (there is no decision without a cut)
        verdict = self._analysis.verdict
        arms = np.flatnonzero(verdict.closed)
        if len(arms):
            engine.set_open_arms(self.monitor.is_open)
        engine.tell_look(DECISION)
        if len(arms):
            engine.announce(Kind.STOPPED, look + 1, arms, verdict.closed[arms], arms == verdict.selected)
        if verdict.stop:
            engine.end_recruitment()


def enrolment(design: Design, world: World) -> tuple[Floats, Ints | None, Floats, Floats]:
    """When patients are enrolled, and at which sites, and when the looks cut the data and are decided."""
    horizon = asked = world.problem.horizon
    while True:
        times, sites = due_decisions(replace(world, problem=replace(world.problem, horizon=asked)))
        found = look_times(design, times)
        if np.count_nonzero(found.enrolled) == horizon:
            chosen = None if sites is None else sites[found.enrolled]
            return times[found.enrolled], chosen, found.cuts, found.decisions
        asked *= 2


def refuse_fixed_arms(design: Design | None, problem: Problem, choices: Iterable[PolicyChoice]) -> None:
    """Refuse policies that cannot leave out arms, where the design may close some, before anything is run."""
    for choice in choices if design is not None and design.drops_arms else ():
        form, label = choice.form, choice.label
        if isinstance(form, SharedPolicy):
            told = told_problem(form, problem)
            can = hasattr(init_state(form, told, choice.parameters, label), "open_arms")
        else:  # its methods are known when it is created; it draws nothing then
            can = drops_arms(start_policy(form, problem, choice.parameters, open_stream(0, 0, Purpose.POLICY)))
        if not can:
            raise _cannot_drop(label)


def _cannot_drop(label: str) -> PolicyError:
    known = ", ".join(name for name in POLICIES.builtin if _drops_arms(name))
    what = f"policy {label!r} cannot leave out arms that this trial may close"
    return PolicyError(f"{what}; use one of {known}" if known else what)


def _drops_arms(name: str) -> bool:
    """Whether the state of a policy in the shared form has a field for open arms, as its `init` declares."""
    init = getattr(POLICIES.find(name), "init", None)
    return "open_arms" in getattr(get_type_hints(init).get("return"), "_fields", ()) if init else False


def look_rows(analysis: Analysis) -> tuple[Ints, Ints, Floats]:
    """The arms, parts and values of the events of a look; a number that is infinite is missing, as logs have it."""
    moments = analysis.moments
    values = np.vstack([moments.counted, moments.estimate, analysis.verdict.statistic]).T
    arm, part = (places.ravel() for places in np.indices(values.shape))
    return arm, part, np.where(np.isinf(values), np.nan, values).ravel()
