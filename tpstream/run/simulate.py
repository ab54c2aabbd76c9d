"""One run: a scenario, a policy and a seed."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pandas as pd

from tpstream.analysis.regret import regret_by_round
from tpstream.engines.draws import Draws
from tpstream.engines.engine import Bus, Engine, EngineName, open_engine, select
from tpstream.log.schema import Detail, Header, package_versions
from tpstream.log.sinks import MemorySink
from tpstream.log.writer import Sink
from tpstream.model.arrays import Floats, Ints
from tpstream.model.errors import LogError
from tpstream.model.interfaces import Subscriber
from tpstream.model.notes import logger
from tpstream.model.world import World
from tpstream.policies.base import PolicyForm
from tpstream.run.loop import tell_pulls
from tpstream.run.sinks import SinkChoice, choose_sink, subscribe_all
from tpstream.scenario.scenario import PolicyChoice, Scenario


@dataclass(frozen=True)
class LogPlace:
    """Where a run leaves its log, in which form (None: what the suffix says), how much of it, and over what."""

    path: Path
    form: str | None
    detail: Detail
    force: bool

    def __post_init__(self) -> None:
        if self.detail not in get_args(Detail):
            raise LogError(f"unknown detail {self.detail!r} of a log; use one of {', '.join(get_args(Detail))}")


@dataclass(frozen=True, eq=False)
class Run:
    """What one run did: the arm of every round, and what follows from it."""

    scenario: Scenario
    choice: PolicyChoice
    seed: int
    run: int
    arms: Ints
    seconds: float
    log: Path | None

    @cached_property
    def regret(self) -> Floats:
        """The cumulative pseudo-regret after every round."""
        means = self.scenario.problem().means
        assert means is not None  # noqa: S101 (a scenario knows its means)
        return regret_by_round(self.arms, means)

    def events(self) -> pd.DataFrame:
        """Every event of the run as a table; the run is repeated for it, which gives the same events."""
        sink = MemorySink()
        engine = open_run(self.scenario, self.choice, self.seed, self.run)
        engine.bus.subscribe("memory", sink)
        for _ in engine.round_batches():
            pass
        return sink.frame()


def simulate(
    scenario: Scenario,
    policy: str | PolicyForm | PolicyChoice,
    *,
    seed: int | None = None,
    run: int = 0,
    engine: EngineName = "auto",
    log: str | Path | None = None,
    log_format: str | None = None,
    log_detail: Detail = "all",
    force: bool = False,
    sinks: Sequence[str | Subscriber] = (),
    progress: Callable[[int], None] | None = None,
) -> Run:
    """Run a scenario once under a policy; `log` is the file that records every event.

    `seed` defaults to the scenario's, `log_format` (jsonl or arrow) to what the log's suffix says. `log_detail` is
    "all", "indices" (the policy's index of every arm, too, at each pull) or "pulls": nothing but the decisions, which
    is enough for regret and not for a replay. `force` overwrites a log, `progress` is told from time to time how many
    rounds were done since. `engine` is "compiled", "simpy" or "auto": compiled where that can serve. `sinks` hear
    every event, too: objects with `hear`, entered and left if they are context managers, or names of plug-ins.
    """
    choice = policy if isinstance(policy, PolicyChoice) else scenario.policy(policy)
    seed = scenario.seed if seed is None else seed
    told = logger(scenario=scenario.name, policy=choice.label, seed=seed, run=run)
    told.debug("run started", horizon=scenario.horizon, engine=select(engine, choice.form, scenario.timing()))
    began = time.perf_counter()
    place = None if log is None else LogPlace(Path(log), log_format, log_detail, force)
    stretches = []
    chosen = [choose_sink(sink) if isinstance(sink, str) else sink for sink in sinks]
    with ExitStack() as stack:
        for arms in start_run(Draws(make_world(scenario, seed, run)), scenario, choice, engine, place, chosen, stack):
            stretches.append(arms)
            if progress is not None:
                progress(len(arms))
    seconds = time.perf_counter() - began
    told.debug("run ended", seconds=round(seconds, 3), log=None if place is None else str(place.path))
    return Run(scenario, choice, seed, run, np.concatenate(stretches), seconds, None if place is None else place.path)


def start_run(
    draws: Draws,
    scenario: Scenario,
    choice: PolicyChoice,
    engine: str,
    place: LogPlace | None,
    sinks: Sequence[SinkChoice | Subscriber],
    stack: ExitStack,
) -> Iterator[Ints]:
    """A run, ready to go, as the arms of its rounds; policies of one run may share their draws.

    Whoever hears it is entered here and left with the stack.
    """
    world = draws.world
    detail: Detail = "all" if place is None else place.detail
    indices = detail == "indices"
    running = open_run(scenario, choice, world.seed, world.run, engine=engine, indices=indices, draws=draws)
    if place is None and not sinks:
        return running.round_batches()
    header = make_header(scenario, choice, world.seed, world.run, detail)
    decisions = Bus()
    if place is not None:
        sink = stack.enter_context(Sink(place.path, header, form=place.form, force=place.force))
        hears = decisions if detail == "pulls" else running.bus
        hears.subscribe(f"log {place.path}", sink)
    subscribe_all(running.bus, sinks, header, stack)
    return tell_pulls(world, running.round_batches(), decisions) if decisions.names else running.round_batches()


def make_header(scenario: Scenario, choice: PolicyChoice, seed: int, run: int, detail: Detail = "all") -> Header:
    """The header of this run's log."""
    problem = scenario.problem()
    assert problem.means is not None  # noqa: S101 (a scenario knows its means)
    parameters: dict[str, Any] = choice.parameters.model_dump(mode="json")
    return Header(
        scenario=scenario.resolved(),
        policy=choice.label,
        kind=choice.form.name,
        parameters=parameters,
        seed=seed,
        run=run,
        arms=list(problem.names),
        means=problem.means.tolist(),
        maxima=problem.maxima.tolist(),
        span=problem.span,
        horizon=problem.horizon,
        groups=problem.groups,
        clairvoyant=choice.form.clairvoyant,
        detail=detail,
        versions=package_versions(),
    )


def open_run(
    scenario: Scenario,
    choice: PolicyChoice,
    seed: int,
    run: int,
    *,
    engine: str = "auto",
    indices: bool = False,
    draws: Draws | None = None,
) -> Engine:
    """The engine of this run; policies of one run may share their draws."""
    world = draws.world if draws else make_world(scenario, seed, run)
    return open_engine(engine, world, choice.form, choice.parameters, choice.label, draws=draws, indices=indices)


def make_world(scenario: Scenario, seed: int, run: int) -> World:
    """The world of this run."""
    return World(
        scenario.problem(), scenario.build_rewards(), seed=seed, run=run, drain=scenario.drain, timing=scenario.timing()
    )
