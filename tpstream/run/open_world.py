"""A world that is driven from outside, one decision after another: `open_world`, and what it returns."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

import numpy as np

from tpstream.analysis.regret import pseudo_regret
from tpstream.engines.engine import EngineName
from tpstream.engines.stepping import Stepping, open_stepping
from tpstream.model.errors import EngineError, PolicyError, did_you_mean
from tpstream.model.events import Events
from tpstream.model.interfaces import Subscriber
from tpstream.model.world import Problem
from tpstream.policies.base import Parameters, PythonPolicy
from tpstream.run.loop import RunStopped, attach, make_header
from tpstream.run.options import run_options
from tpstream.scenario.policy_choice import PolicyChoice
from tpstream.scenario.scenario import Scenario


def _no_policy(*_: object) -> Any:
    raise PolicyError("these decisions were made outside of tpstream; name another policy")


OUTSIDE = PolicyChoice("your-loop", PythonPolicy("your-loop", Parameters, _no_policy), Parameters())
"""What the header of a log says instead of a policy."""

CLOSED = "the world is closed; open another one"


def refuse_trial(scenario: Scenario, what: str) -> None:
    """Refuse a scenario with a trial, whose looks are no decisions of whoever drives the world."""
    if scenario.trial is not None:
        raise EngineError(
            f"{scenario.name}: a trial holds its looks itself and cannot be {what}; "
            "leave out [trial], as in scenario.with_(trial=None), or use simulate"
        )


class OpenWorld:
    """A world whose next decision is due, as `open_world` returns it; use it as a context manager.

    Attributes
    ----------
    scenario, seed, run
        What is run: the scenario, the seed and the number of the run.
    problem
        What a policy is told before the first round: names and maxima of the arms, span, horizon and more.
    """

    def __init__(
        self, scenario: Scenario, seed: int, run: int, stepping: Stepping, stack: ExitStack, log: Path | None
    ) -> None:
        self.scenario, self.seed, self.run = scenario, seed, run
        self.problem: Problem = scenario.problem().without_means()
        self._stepping = stepping
        self._stack = stack
        self._log = log
        self._numbers = {name: number for number, name in enumerate(self.problem.names)}
        self._counts = [0] * self.problem.arms
        self._closed: str | None = None

    @property
    def engine(self) -> Literal["compiled", "simpy"]:
        """Which engine serves."""
        return self._stepping.engine

    @property
    def arms(self) -> tuple[str, ...]:
        """The names of the arms, in the order of their numbers."""
        return self.problem.names

    @property
    def round(self) -> int:
        """The round whose decision is due, from 1; the horizon + 1 when the last one was made."""
        return self._stepping.round

    @property
    def done(self) -> bool:
        """Whether the last decision was made."""
        return self._stepping.round > self.problem.horizon

    @property
    def time(self) -> float:
        """When the decision is due that is to be made now; infinite when the last one was made."""
        return self._stepping.time

    @property
    def regret(self) -> float:
        """The cumulative pseudo-regret of the decisions so far: what they lose against the best arm, in expectation."""
        return float(pseudo_regret(np.array(self._counts), self.scenario.means))

    @property
    def log(self) -> Path | None:
        """The file that holds the events, if one was asked for."""
        return self._log

    def pull(self, arm: int | str) -> Events:
        """Make the decision that is due.

        Parameters
        ----------
        arm
            The arm, by its number from 0 or by its name.

        Returns
        -------
        Events
            What a policy would be told before the next decision: this pull, and all that was delivered since, as
            arrays. After the last decision it is all that is still to come, if the world is drained. The arrays cannot
            be written to, and stay as they are.

        Raises
        ------
        TpstreamError
            If there is no such arm, no decision is due, or the world fails.
        """
        if self._closed is not None:
            raise PolicyError(self._closed)
        number = self._number(arm)
        try:
            events = self._stepping.pull(number)
            self._counts[number] += 1
            if self.done:
                self._leave(f"the last of {self.problem.horizon} decisions was made; open another world")
        except BaseException as error:
            if self._closed is None:
                self._leave(f"the world failed in round {self.round}; open another one", error)
            raise
        return events

    def close(self) -> None:
        """End the run; if decisions are still due, its log has no end mark, like that of a run that was stopped.

        After the last decision there is nothing to do: then the world has closed itself. Closing twice is an error.
        """
        if self._closed == CLOSED:
            raise PolicyError("the world is closed already; close it once, or use it in a with statement")
        self.__exit__(None, None, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._closed is None:
            stopped = RunStopped([], np.zeros(0, dtype=np.int64)) if error is None else error
            self._leave(CLOSED, stopped)

    def __repr__(self) -> str:
        state = "done" if self.done else f"closed in round {self.round}" if self._closed else f"round {self.round}"
        return f"<OpenWorld of {self.scenario.name}: {state} of {self.problem.horizon}, engine {self.engine}>"

    def _number(self, arm: object) -> int:
        """The number of an arm."""
        if type(arm) is int and 0 <= arm < self.problem.arms:
            return arm
        arms = self.problem.arms
        if isinstance(arm, str):
            if arm not in self._numbers:
                known = ", ".join(self.arms)
                raise PolicyError(f"there is no arm {arm!r}{did_you_mean(arm, self.arms)}; use one of {known}")
            return self._numbers[arm]
        if isinstance(arm, bool) or not isinstance(arm, int | np.integer):
            raise PolicyError(f"arm {arm!r} in round {self.round} is neither a number nor a name; give one of them")
        if not 0 <= arm < arms:
            raise PolicyError(f"there is no arm {arm} in round {self.round}; arms are 0 to {arms - 1}")
        return int(arm)

    def _leave(self, why: str, error: BaseException | None = None) -> None:
        """Hand what has happened to the log and the sinks, and close them; with an error, as of a run that failed."""
        self._closed = why
        try:
            self._stepping.publish()
        except BaseException as failure:
            self._stack.__exit__(type(failure), failure, failure.__traceback__)
            raise
        self._stack.__exit__(None if error is None else type(error), error, None)


def open_world(
    scenario: Scenario | str | Path | Mapping[str, Any],
    *,
    seed: int | None = None,
    run: int = 0,
    engine: EngineName = "auto",
    log: str | Path | None = None,
    log_format: str | None = None,
    force: bool = False,
    sinks: Sequence[str | Subscriber] = (),
) -> OpenWorld:
    """Open a world to make its decisions in a loop of your own.

    The events are those that `simulate` makes for the same scenario, seed, run and decisions, to the bit.

    Parameters
    ----------
    scenario
        The world: a `Scenario`, a scenario file, the name of one that ships, or a dictionary of its keys.
    seed
        Where all random numbers come from; by default the scenario's seed.
    run
        The number of the run: runs of one seed have different random numbers.
    engine
        "compiled", "simpy", or "auto" (the default): compiled where that is possible; `engine` of the world says which
        one serves.
    log
        The file that records every event: JSON lines (`.jsonl`) or compressed columns (`.arrows`).
    log_format
        The format of the log if its ending does not tell: "jsonl" or "arrow".
    force
        Overwrite a log that is there already.
    sinks
        Who else hears every event: objects with a method `hear`, or names of plug-ins as in "lines:to=stdout". They are
        handed events in batches, with the first step after a quarter of a second, or when there are thousands.

    Returns
    -------
    OpenWorld
        The world before its first decision.

    Raises
    ------
    TpstreamError
        If the scenario has a trial, the engine cannot serve it, or the log cannot be written.

    Examples
    --------
    >>> from tpstream import open_world
    >>> with open_world("setting-1", seed=7) as world:
    ...     while world.round <= 3:
    ...         events = world.pull(world.round % len(world.arms))
    >>> world.engine, len(events), events.kind.tolist()
    ('compiled', 4, [0, 1, 1, 1])
    """
    scenario = Scenario.load(scenario)
    refuse_trial(scenario, "driven step by step")
    options = run_options(log, engine=engine, log_format=log_format, force=force, sinks=sinks)
    seed = scenario.seed if seed is None else seed
    stepping = open_stepping(scenario.build_world(seed, run), engine)
    path = None if options.log is None else options.log.place
    with ExitStack() as stack:
        attach(stepping.bus, make_header(scenario, OUTSIDE, seed, run), options, path, stack)
        return OpenWorld(scenario, seed, run, stepping, stack.pop_all(), path)
