"""The loop of one run: several policies take turns in one world and share the random numbers that they are paid by.

What a run reports are its measures: numbers and arrays by name, gathered batch by batch while the run goes on. A new
measure is added here, in `RunMeasures`, or, if only some studies need it, by a `Measurer` that hears the events of the
run. It then travels by its name through the store to `Study.measure`, and one that is a single number gets its columns
in the tables of results.
"""

import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from tpstream.analysis.regret import PullCounts, checkpoints
from tpstream.engines.draws import Draws, DrawsReader
from tpstream.engines.engine import Bus, Engine, open_engine
from tpstream.log.schema import Header, write_endpoint
from tpstream.log.writer import LogWriter
from tpstream.model.arrays import Floats, Ints
from tpstream.model.errors import OURS, LogError, StudyError, SubscriberError, TpstreamError, user_code
from tpstream.model.events import DETAIL_COLUMNS, Detail, Events, Kind
from tpstream.model.interfaces import Subscriber
from tpstream.model.notes import logger, package_versions
from tpstream.model.numba_support import compiler_clock
from tpstream.model.world import Problem, World
from tpstream.run.options import Measurer, Measures, Progress, RunOptions, SinkChoice
from tpstream.scenario.policy_choice import PolicyChoice
from tpstream.scenario.scenario import Scenario
from tpstream.timing.calendars import HOURS_IN
from tpstream.timing.pipeline import due_decisions

if TYPE_CHECKING:
    from tpstream.run.looks import TrialRun  # loaded only for trials
    from tpstream.run.watch import WatchedRun  # loaded only for runs that are watched


class MoneyAccount(Protocol):
    """Follows the money of one policy's run; see run/money.py."""

    @property
    def subscriber(self) -> Subscriber | None:
        """Has to hear the events of the run; None if the pulls are enough."""

    def add(self, arms: Ints) -> None:
        """Take the arms that were pulled in the next rounds."""

    def values(self) -> Measures:
        """The measures about money."""


class RunMeasures:
    """Gathers the measures of one run under one policy; an account follows the money, where rewards are money."""

    def __init__(
        self, problem: Problem, rounds: Ints, account: MoneyAccount | None = None, measurer: Measurer | None = None
    ) -> None:
        self._pulls = PullCounts(problem.arms, rounds)
        self._account = account
        self._measurer = measurer

    @property
    def rounds_done(self) -> int:
        """How many rounds were taken."""
        return self._pulls.done

    @property
    def subscribers(self) -> Iterator[tuple[str, Subscriber]]:
        """Who has to hear the events of the run, by names for errors."""
        if self._account is not None and self._account.subscriber is not None:
            yield "money", self._account.subscriber
        if self._measurer is not None:
            yield f"measures of a {self._measurer.name}", self._measurer

    def add(self, arms: Ints) -> None:
        """Take the arms that were pulled in the next rounds."""
        self._pulls.add(arms)
        if self._account is not None:
            self._account.add(arms)

    def values(self) -> Measures:
        """All measures; `pulls` is how often each arm was pulled up to each checkpoint, of shape (rounds, arms)."""
        money = {} if self._account is None else self._account.values()
        further = {} if self._measurer is None else self._measurer.values()
        return {"pulls": self._pulls.counts(), **money, **further}


def counted_rounds(horizon: int, rounds: Sequence[int]) -> Ints:
    """The rounds up to which pulls are counted: those of every curve, and those that were asked for."""
    for one in rounds:
        if not 1 <= one <= horizon:
            raise StudyError(f"rounds: {one} is not from 1 to the horizon {horizon}; leave it out")
    return np.unique(np.concatenate([checkpoints(horizon), np.array(rounds, dtype=np.int64)]))


@dataclass(frozen=True, eq=False)
class PolicyResult:
    """What one policy did in a run: its measures and the seconds that it took without compiling, or why it failed."""

    measures: Measures = field(default_factory=dict)
    seconds: float = 0.0
    failure: str | None = None


class ProgressMeter:
    """Reports as many rounds as a run has, also if some of them are repeated or the run fails."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress = progress
        self._left = total

    def add(self, rounds: int) -> None:
        """Report rounds that were done; those beyond the total are repetitions and are not reported."""
        fresh = min(rounds, self._left)
        self._left -= fresh
        if self._progress is not None:
            self._progress(fresh)

    def finish(self) -> None:
        """Report what is left: the run is over, if not by its last round."""
        self.add(self._left)


class RunStopped(Exception):  # noqa: N818 (no error: the user stopped the run)
    """A run was stopped before its end; what it reported up to there is `results`, at the rounds `rounds`."""

    def __init__(self, results: "list[PolicyResult]", rounds: Ints) -> None:
        super().__init__("the run was stopped")
        self.results, self.rounds = results, rounds


def run_policies(
    scenario: Scenario, choices: Sequence[PolicyChoice], seed: int, run: int, rounds: Ints, options: RunOptions
) -> list[PolicyResult]:
    """Run every policy once on the same random numbers; pulls are counted up to each of the `rounds`.

    A policy that fails is left out and the others start again: what they share may have been left in the middle of a
    draw. Only a log that cannot be written is an error, and RunStopped is raised if the run is stopped from its page.
    """
    meter = ProgressMeter(options.progress, scenario.horizon * len(choices))
    results: dict[int, PolicyResult] = {}
    remaining = list(range(len(choices)))
    while remaining:
        left = [choices[number] for number in remaining]
        try:
            found = _run_policies_in_turn(scenario, left, seed, run, rounds, options, meter)
            results |= dict(zip(remaining, found, strict=True))
            break
        except PolicyFailure as failure:
            number, reason = failure.args
            results[remaining.pop(number)] = PolicyResult(failure=reason)
            if options.log is not None:  # the logs of the others were begun
                options = replace(options, log=replace(options.log, force=True))
    meter.finish()
    return [results[number] for number in range(len(choices))]


def _run_policies_in_turn(
    scenario: Scenario,
    choices: Sequence[PolicyChoice],
    seed: int,
    run: int,
    rounds: Ints,
    options: RunOptions,
    meter: ProgressMeter,
) -> list[PolicyResult]:
    """Let the policies take turns, a batch of rounds each, so that shared draws need not be kept for long."""
    log = logger(scenario=scenario.name, seed=seed, run=run)
    log.debug("run started", policies=[choice.label for choice in choices], horizon=scenario.horizon)
    draws, accounts = _open_draws(scenario, scenario.build_world(seed, run), len(choices), rounds)
    measurers = [None if options.measurer is None else options.measurer.of_world(draws.world) for _ in choices]
    measures = [RunMeasures(draws.world.problem, rounds, *both) for both in zip(accounts, measurers, strict=True)]
    seconds = np.zeros(len(choices))
    with ExitStack() as stack:
        running: dict[int, StartedRun] = {}
        reported: dict[int, Measures] = {}
        for number, choice in enumerate(choices):
            with _failure_of(number), _turn(options, choice, run, 0.0):
                path = None if options.log is None else options.log.path(choice.label, run)
                running[number] = start_run(draws, scenario, choice, options, path, stack, measures[number])
        while running:
            if options.live is not None and options.live.stopped():
                raise _stopped(measures, seconds, rounds)
            for number in list(running):
                began = time.perf_counter()
                turn = _turn(options, choices[number], run, float(seconds[number]))
                with _failure_of(number), compiler_clock() as compiling, turn:
                    arms = next(running[number].batches, None)
                seconds[number] += time.perf_counter() - began - sum(compiling)
                watched = running[number].watched
                if arms is None:
                    if watched is not None:
                        watched.finish()
                    reported[number] = running.pop(number).measures()
                    continue
                measures[number].add(arms)
                if watched is not None:
                    watched.add(arms)
                meter.add(len(arms))
    log.debug("run ended", seconds=round(float(seconds.sum()), 3))
    return [
        PolicyResult({**one.values(), **reported[number]}, float(seconds[number]))
        for number, one in enumerate(measures)
    ]


def _turn(options: RunOptions, choice: PolicyChoice, run: int, spent: float) -> AbstractContextManager[None]:
    """Notes whose turn it is, where a study limits the time of its runs."""
    return nullcontext() if options.turns is None else options.turns.turn(choice.label, run, spent)


def _stopped(measures: "Sequence[RunMeasures]", seconds: Floats, rounds: Ints) -> RunStopped:
    """What is known up to the last checkpoint that all policies reached."""
    reached = int(np.searchsorted(rounds, min(one.rounds_done for one in measures), side="right"))
    cut = [
        {name: value[:reached] for name, value in one.values().items() if value.shape[:1] == rounds.shape}
        for one in measures
    ]
    results = [PolicyResult(one, float(spent)) for one, spent in zip(cut, seconds, strict=True)]
    return RunStopped(results, rounds[:reached])


class StartedRun(NamedTuple):
    """A run that is prepared: its batches, which run it when they are asked for, and what the policy reports then."""

    batches: Iterator[Ints]
    """The arms of the rounds."""
    measures: Callable[[], Measures]
    """Measures of the policy's own and of a trial's monitor, by name, at the end."""
    watched: "WatchedRun | None" = None
    """Takes the arms of every batch, for a page that shows the run."""


def _open_draws(
    scenario: Scenario, world: World, policies: int, rounds: Ints
) -> tuple[Draws, Sequence[MoneyAccount | None]]:
    """The draws that policies of one run share, and where rewards are money, the account of each policy."""
    if scenario.money is None:
        return Draws(world, readers=policies), [None] * policies
    from tpstream.run.money import open_accounts  # noqa: PLC0415 (most worlds do not need it)

    return open_accounts(world, policies, rounds, from_events=scenario.trial is not None)


def start_run(
    draws: Draws,
    scenario: Scenario,
    choice: PolicyChoice,
    options: RunOptions,
    path: Path | None,
    stack: ExitStack,
    measures: RunMeasures | None = None,
) -> StartedRun:
    """Prepare one policy's run.

    Policies of one run share their draws, and each has models of its own for everything else. The log, if `path` names
    one, and the sinks are entered here and left with the stack. Those of the `measures` that need the events hear them.
    """
    world = replace(draws.world, timing=scenario.build_timing())
    trial = _open_trial(scenario, world)
    world = world if trial is None else trial.world
    watched, reader = None, DrawsReader(draws)
    if options.live is not None:
        from tpstream.run.watch import RecentBlocks  # noqa: PLC0415 (only for runs that are watched)

        describe = partial(make_header, scenario, choice, world.seed, world.run)
        watched = options.live.watch(choice.label, world, describe)
        reader = DrawsReader(draws) if watched is None else RecentBlocks(draws)
    details: tuple[Detail, ...] = ("all",) if options.log is None else options.log.details
    if trial is not None and options.log is not None and details != ("pulls",):
        details = ("indices", "probabilities") if "indices" in details else ("probabilities",)
    optional = tuple(column for detail in details for column in DETAIL_COLUMNS.get(detail, ()))
    engine = open_engine(
        options.engine,
        world,
        choice.form,
        choice.parameters,
        choice.label,
        draws=reader,
        optional=optional,
        debug=options.debug,
        pauses=None if trial is None else trial.pauses,
    )
    reported = partial(_reported, engine, trial)
    for name, subscriber in measures.subscribers if measures is not None else ():
        engine.bus.subscribe(name, subscriber)
    if path is None and not options.sinks:
        _let_watch(watched, engine, reader, trial)
        return StartedRun(_batches(engine, trial, choice), reported, watched)
    header = make_header(scenario, choice, world.seed, world.run, details)
    pulls_only = Bus()
    attach(engine.bus, header, options, path, stack, log_bus=pulls_only if "pulls" in details else None)
    _let_watch(watched, engine, reader, trial)
    batches = _batches(engine, trial, choice)
    if not pulls_only.names:
        return StartedRun(batches, reported, watched)
    # The engine has asked the arrival process of its world already, and a user-written one may have changed by that.
    fresh = world if trial is not None else replace(world, timing=scenario.build_timing())
    return StartedRun(_publish_pulls(fresh, batches, pulls_only), reported, watched)


def attach(
    bus: Bus, header: Header, options: RunOptions, path: Path | None, stack: ExitStack, log_bus: Bus | None = None
) -> None:
    """Subscribe the log, if `path` names one, to its own bus or this one, and the sinks; the stack closes them."""
    if path is not None and options.log is not None:
        writer = stack.enter_context(LogWriter(path, header, format=options.log.format, force=options.log.force))
        (bus if log_bus is None else log_bus).subscribe(f"log {path}", writer)
    for sink in options.sinks:
        stack.enter_context(_subscribed(sink, bus, header))


def _open_trial(scenario: Scenario, world: World) -> "TrialRun | None":
    """The looks of a run, if the scenario is a trial's."""
    design = scenario.design()
    if design is None:
        return None
    from tpstream.run.looks import TrialRun  # noqa: PLC0415 (most worlds do not need it)

    return TrialRun(design, world)


def _batches(engine: Engine, trial: "TrialRun | None", choice: PolicyChoice) -> Iterator[Ints]:
    return engine.round_batches() if trial is None else trial.start(engine, choice.label)


def _let_watch(watched: "WatchedRun | None", engine: Engine, reader: DrawsReader, trial: "TrialRun | None") -> None:
    """Let a page watch the run, if there is one; after all others, since they decide whether there are events."""
    if watched is not None:
        watched.attach(engine, reader, looks=trial is not None)


def _reported(engine: Engine, trial: "TrialRun | None") -> Measures:
    """What is reported at the end: by the monitor of a trial, and by the policy."""
    found = {} if trial is None else trial.monitor.values()
    return found | {name: np.array(number) for name, number in engine.policy_measures().items()}


def make_header(
    scenario: Scenario, choice: PolicyChoice, seed: int, run: int, details: Sequence[Detail] = ("all",)
) -> Header:
    """The header of this run's log."""
    problem = scenario.problem()
    return Header(
        scenario=scenario.resolved(),
        policy=choice.label,
        kind=choice.form.name,
        parameters=choice.parameters.model_dump(mode="json"),
        seed=seed,
        run=run,
        arms=list(problem.names),
        means=scenario.means.tolist(),
        maxima=[None if np.isnan(maximum) else maximum for maximum in problem.maxima.tolist()],
        signed=problem.signed,
        span=problem.span,
        horizon=problem.horizon,
        groups=problem.groups,
        clairvoyant=choice.form.clairvoyant,
        detail=details[0] if len(details) == 1 else list(details),
        time_unit=scenario.time_unit,
        currency=scenario.currency,
        origin=None if scenario.start is None or scenario.time_unit not in HOURS_IN else f"{scenario.start}T00:00:00",
        sites=list(scenario.timing().sites),
        endpoint=None if problem.endpoint is None else write_endpoint(problem.endpoint),
        versions=package_versions(),
    )


def _publish_pulls(world: World, batches: Iterator[Ints], bus: Bus) -> Iterator[Ints]:
    """The same batches of arms; on the way the pulls of each are published as events, and nothing else.

    These events are numbered among themselves and have no totals that a policy was shown.
    """
    times, sites = (None, None) if world.timing.arrivals.regular else due_decisions(world)
    done = 0
    for arms in batches:
        rounds = np.arange(done + 1, done + len(arms) + 1)
        events = Events(
            seq=rounds - 1,
            time=rounds.astype(np.float64) if times is None else times[rounds - 1],
            kind=np.full(len(rounds), Kind.PULL, dtype=np.int8),
            round=rounds,
            pull=rounds,
            arm=arms,
            part=np.zeros(len(rounds), dtype=np.int64),
            value=np.full(len(rounds), np.nan),
            site=None if sites is None else sites[rounds - 1],
        )
        bus.publish(events)
        done += len(arms)
        yield arms


@contextmanager
def _subscribed(sink: SinkChoice | Subscriber, bus: Bus, header: Header) -> Iterator[None]:
    """Open a sink, subscribe it to the bus, and close it at the end.

    What it raises on being opened or closed becomes an error with its name.
    """
    name = f"sink {sink.kind if isinstance(sink, SinkChoice) else type(sink).__name__}"
    with ExitStack() as stack:
        with user_code(SubscriberError, name, "when it was opened"):
            opened: Any = sink.open(header) if isinstance(sink, SinkChoice) else sink
            needs_closing = isinstance(sink, SinkChoice) or hasattr(sink, "__exit__")
            bus.subscribe(name, stack.enter_context(opened) if needs_closing else opened)
        try:
            yield
        except BaseException as error:
            # The sink learns why the run ends, and cannot make it go on.
            with user_code(SubscriberError, name, "when it was closed"):
                stack.pop_all().__exit__(type(error), error, error.__traceback__)
            raise
        with user_code(SubscriberError, name, "when it was closed"):
            stack.close()


class PolicyFailure(Exception):  # noqa: N818 (caught by `run_policies`, never shown)
    """A policy failed in a run; its arguments are the policy's place among the policies, and why."""


@contextmanager
def _failure_of(number: int) -> Iterator[None]:
    """Take what is raised inside as the failure of this policy, unless a log could not be written."""
    try:
        yield
    except (LogError, *OURS):
        raise
    except BaseException as error:
        raise PolicyFailure(number, error_line(error)) from error


def error_line(error: BaseException) -> str:
    """One line about an error; one that is not an error of tpstream is told with its place in the source."""
    ours = isinstance(error, TpstreamError)
    text = " ".join((str(error) if ours else f"{type(error).__name__}: {error}").split())
    origin = error.__cause__ if ours else error
    frames = traceback.extract_tb(origin.__traceback__) if origin and not isinstance(origin, TpstreamError) else []
    return f"{text} ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else text
