"""One run: a scenario, a policy and a seed."""

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from tpstream.analysis.regret import regret_by_round
from tpstream.engines.simpy_engine import SimpyEngine
from tpstream.log.header import Header, package_versions
from tpstream.log.jsonl import JsonLinesSink
from tpstream.log.memory import MemorySink
from tpstream.model.arrays import Floats, Ints
from tpstream.model.errors import EngineError
from tpstream.model.protocols import Subscriber
from tpstream.model.story import story
from tpstream.model.streams import Purpose, open_stream
from tpstream.model.world import World
from tpstream.policies.form import PolicyForm
from tpstream.policies.runner import start_policy
from tpstream.study.scenario import PolicyChoice, Scenario

EngineName = Literal["auto", "simpy"]


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
        _execute(self.scenario, self.choice, self.seed, self.run, [("memory", sink)])
        return sink.frame()


def simulate(
    scenario: Scenario,
    policy: str | PolicyForm | PolicyChoice,
    *,
    seed: int | None = None,
    run: int = 0,
    engine: EngineName = "auto",
    log: str | Path | None = None,
    indices: bool = False,
    force: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Run:
    """Run a scenario once under a policy; `log` is the file that records every event.

    `seed` defaults to the scenario's. `indices` adds the policy's index of every arm to the log's pull events, `force`
    overwrites a log, `progress` is called with the number of the round from time to time.
    """
    if engine not in {"auto", "simpy"}:
        raise EngineError(f'unknown engine {engine!r}; use "auto" or "simpy"')
    choice = policy if isinstance(policy, PolicyChoice) else scenario.policy(policy)
    seed = scenario.seed if seed is None else seed
    told = story(scenario=scenario.name, policy=choice.label, seed=seed, run=run)
    told.debug("run started", horizon=scenario.horizon, engine="simpy")
    began = time.perf_counter()
    path = None if log is None else Path(log)
    with ExitStack() as stack:
        sinks: list[tuple[str, Subscriber]] = []
        if path is not None:
            header = make_header(scenario, choice, seed, run)
            sinks.append((f"log {path}", stack.enter_context(JsonLinesSink(path, header, force=force))))
        arms = _execute(scenario, choice, seed, run, sinks, indices=indices, progress=progress)
    seconds = time.perf_counter() - began
    told.debug("run ended", seconds=round(seconds, 3), log=None if path is None else str(path))
    return Run(scenario, choice, seed, run, arms, seconds, path)


def make_header(scenario: Scenario, choice: PolicyChoice, seed: int, run: int) -> Header:
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
        versions=package_versions(),
    )


def _execute(
    scenario: Scenario,
    choice: PolicyChoice,
    seed: int,
    run: int,
    sinks: list[tuple[str, Subscriber]],
    *,
    indices: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Ints:
    """Let an engine run the world; returns the arm of every round."""
    problem = scenario.problem()
    world = World(problem=problem, rewards=scenario.build_rewards(), seed=seed, run=run, drain=scenario.drain)
    policy = start_policy(choice.form, problem, choice.parameters, open_stream(seed, run, Purpose.POLICY))
    engine = SimpyEngine(world, policy, choice.label, clairvoyant=choice.form.clairvoyant, indices=indices)
    for name, sink in sinks:
        engine.bus.subscribe(name, sink)
    return engine.run(progress)
