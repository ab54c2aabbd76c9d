"""A policy that decides for real: what it is told of a log, the chance that is added to it, and changes by its owners.

Chance is drawn from a stream of its own, so that the policy's random numbers are those of a simulation. With share r
of chance alone and at least probability m for each of K open arms, an arm that the policy takes with probability p is
pulled with probability r / K + (1 - r) (m + (1 - K m) p).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from tpstream.engines.simpy_engine import probabilities_of
from tpstream.log.changes import Change
from tpstream.log.periods import PeriodTeller, is_told_by_period
from tpstream.log.schema import DeciderSettings, Header
from tpstream.model.arrays import Bools, Floats
from tpstream.model.errors import USER_RAISES, DeciderError, PolicyError
from tpstream.model.events import Events, Kind, Told
from tpstream.model.interfaces import TimedPolicy
from tpstream.model.notes import logger
from tpstream.model.world import Problem, Purpose, open_stream
from tpstream.policies.runner import drops_arms, start_policy, tell_open_arms
from tpstream.scenario.policy_choice import PolicyChoice, PolicySpec, request_policy


def choose_policy(spec: PolicySpec, problem: Problem) -> PolicyChoice:
    """The policy that is meant, for decisions that are made for real; refused if it knows what nobody can."""
    choice = request_policy(spec, ()).choose(problem)
    for name in ("clairvoyant", "knows_means"):
        if getattr(choice.form, name):
            raise DeciderError(
                f"{choice.label}: {name.replace('_', ' ')}, which nobody is for real; use another policy"
            )
    return choice


@dataclass(frozen=True, eq=False)
class Chosen:
    """A decision: the arm, the probability of every arm (NaN where not known), and the policy's indices."""

    arm: int
    probabilities: Floats
    indices: Floats


class Steering:
    """A policy, and what is done about its decisions.

    Parameters
    ----------
    choice
        The policy and its parameters.
    header
        The header of the log; it says how decisions are made.
    """

    def __init__(self, choice: PolicyChoice, header: Header) -> None:
        settings = header.decider
        assert settings is not None  # noqa: S101 (callers have such a log)
        self._settings: DeciderSettings = settings
        self._header = header
        self.safety = open_stream(header.seed, header.run, Purpose.SAFETY)
        self.open_arms: Bools = np.ones(len(header.arms), dtype=np.bool_)
        self.switch: int | None = None
        self.begin(choice)

    def begin(self, choice: PolicyChoice) -> None:
        """Take a policy that was told nothing so far."""
        self.choice = choice
        self._failed = False
        self.stream = open_stream(self._header.seed, self._header.run, Purpose.POLICY)
        self.policy = start_policy(choice.form, self._header.problem(), choice.parameters, self.stream)
        self._set_clock = self.policy.set_clock if isinstance(self.policy, TimedPolicy) else None
        if not self.open_arms.all():
            self.set_open_arms(self.open_arms)

    def set_open_arms(self, open_arms: Bools) -> None:
        """Let only these arms be pulled from now on."""
        if not drops_arms(self.policy) and not open_arms.all():
            raise DeciderError(
                f"{self.choice.label} cannot leave out arms; take one that can, as delayed-ucb1, or switch to an arm"
            )
        self.open_arms = open_arms
        tell_open_arms(self.policy, open_arms)

    @property
    def plain(self) -> bool:
        """Whether every decision is the policy's own."""
        return self.switch is None and not (self._settings.minimum_probability or self._settings.random_share)

    def ask(self, round: int, time: float) -> int:
        """The policy's own decision."""
        if self._set_clock is not None:
            self._set_clock(time)
        arm = int(self.policy.decide(round))
        if not 0 <= arm < len(self.open_arms):
            raise PolicyError(f"{self.choice.label}: decided for {arm} in round {round}, which is no arm")
        return arm

    def decide(self, round: int, time: float, *, probabilities: bool = True) -> Chosen:
        """The next decision, and its probabilities if they are asked for.

        The policy is asked also when its arm is not taken, so that it draws as it would; if it fails then, it is not
        waited for.
        """
        unknown = np.full(len(self.open_arms), np.nan)
        try:
            arm = self.ask(round, time)
            indices = np.asarray(self.policy.indices(), dtype=np.float64)
            known = probabilities_of(self.policy) if probabilities else unknown
        except USER_RAISES as error:
            if self.switch is None:
                raise
            self._note_failure(error)
            arm, known, indices = self.switch, unknown, unknown
        return self._steer(arm, known, indices)

    def hear(self, events: Events, *, leaving: bool = False) -> None:
        """Tell the policy events; while decisions are not its own, or `leaving` it, it may fail."""
        try:
            self.policy.hear(events)
        except USER_RAISES as error:
            if self.switch is None and not leaving:
                raise
            self._note_failure(error)

    def _note_failure(self, error: BaseException) -> None:
        """Say once that the policy fails where nobody waits for it."""
        if not self._failed:
            self._failed = True
            reason = f"{type(error).__name__}: {error}"
            logger(policy=self.choice.label).warning("the policy fails, and decisions go on without it", reason=reason)

    def _steer(self, arm: int, known: Floats, indices: Floats) -> Chosen:
        """The arm that is pulled, after chance and the switch."""
        share, least = self._settings.random_share, self._settings.minimum_probability
        if share or least:
            arms = np.flatnonzero(self.open_arms)
            alone, mixed, which = self.safety.random(3).tolist()
            if alone < share or mixed < least * len(arms):
                arm = int(arms[int(which * len(arms))])
            own = (1 - share) * (1 - least * len(arms))
            known = np.where(self.open_arms, share / len(arms) + (1 - share) * least, 0.0) + own * known
        if self.switch is not None:
            arm = self.switch
            known = np.zeros(len(known))
            known[arm] = 1.0
        return Chosen(arm, known, indices)

    def follow(self, told: Events, *, steered: bool = True, leaving: bool = False) -> Iterator[tuple[int, int]]:
        """Tell recorded events, and decide at every pull; the place of each pull, and the arm.

        The pulls that are told are the recorded ones. The last event must come right before the next pull. With
        `steered` the arm is the one that would be pulled, else the policy's own. With `leaving` the policy may fail
        when it is told what came after the last pull.
        """
        pulls = np.flatnonzero(told.kind == Kind.PULL).tolist()
        before = pulls[0] if pulls else len(told)
        if before:
            self.hear(told.cut(0, before), leaving=leaving and not pulls)
        for place, following in pairwise([*pulls, len(told)]):
            round, time = int(told.round[place]), float(told.time[place])
            yield place, self.decide(round, time, probabilities=False).arm if steered else self.ask(round, time)
            self.hear(told.cut(place, following), leaving=leaving and following == len(told))


class Teller:
    """What a policy is told of the events of a log of decisions that are made for real, as they are written.

    Parameters
    ----------
    header
        The header of the log.
    """

    def __init__(self, header: Header) -> None:
        self._told = Told()
        self.periods = PeriodTeller(header) if is_told_by_period(header) else None

    @property
    def count(self) -> int:
        """The number of events that were told."""
        return self._told.count

    @count.setter
    def count(self, count: int) -> None:
        self._told.count = count

    def tell(self, events: Events, until: float = -np.inf) -> Events:
        """What is told of the next events, and of what is over after them and before the time `until`."""
        if self.periods is None:
            return self._told.of(events)
        return self.periods.tell(events, until)


def applied(change: Change, steering: Steering, header: Header, choice: PolicyChoice | None = None) -> bool:
    """Let decisions be made as a change says; whether the policy began anew, and has to be told the log.

    `choice` is the policy where it is known already; else it is found by its name.
    """
    steering.switch = None if change.switch is None else header.arms.index(change.switch)
    open_arms = np.isin(np.array(header.arms, dtype=object), change.arms)
    if change.fresh:
        if choice is None:
            spec = {"kind": change.kind, **change.parameters}
            choice = replace(choose_policy(spec, header.problem()), label=change.policy)
        steering.open_arms = open_arms
        steering.begin(choice)
        return True
    if (open_arms != steering.open_arms).any():
        steering.set_open_arms(open_arms)
    return False
