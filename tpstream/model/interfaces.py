"""The protocols that users implement: rewards, delays, arrivals, policies and subscribers."""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from pydantic import BaseModel

from tpstream.model.arrays import Bools, Floats, Ints
from tpstream.model.events import Events

if TYPE_CHECKING:
    from concurrent.futures import Future

    import simpy  # only for types: reading a scenario does not need SimPy


class ArmRewards(Protocol):
    """How the pulls of one arm pay: exact mean and maximum of the cumulative reward, and a sampler."""

    @property
    def mean(self) -> float:
        """The expectation of a pull's cumulative reward."""

    @property
    def maximum(self) -> float | None:
        """The largest cumulative reward that a pull can pay; None if there is none."""

    def sample(self, stream: np.random.Generator, pulls: int) -> Floats:
        """The partial rewards of the next pulls, of shape (pulls, span)."""


class FilledRewards(ArmRewards, Protocol):
    """Rewards of an arm that compiled code can also write to memory, which is faster and leaves Python's lock."""

    def fill(self, held: Any, out: Floats) -> None:
        """Write what `sample(stream, len(out))` would return, from the same draws; `held` is `hold_stream(stream)`."""


@runtime_checkable
class Recorded(Protocol):
    """Rewards of an arm that are read in order from a record, which can run out, instead of being drawn."""

    def recorded(self, first: int, pulls: int) -> Floats:
        """The rows of pulls first, first + 1, ... (from 0) of this arm; fewer than asked for at the end."""


@dataclass(frozen=True)
class Rewards:
    """The rewards of all arms.

    Parameters
    ----------
    arms : sequence of ArmRewards
        The model of each arm.
    groups : int or None
        The smoothness that the model promises: a pull's parts form this many equal groups, none of which pays more
        than maximum / groups; None if it promises nothing.
    name : str
        What errors call the model; a scenario gives its own.
    signed : bool
        Whether parts may be negative, such as refunds; only policies that can learn from such parts are allowed then.
    warnings : tuple of str
        What a user should know about the settings although they are possible, with figures and the remedy.

    Examples
    --------
    >>> class Coin:
    ...     mean, maximum = 0.5, 1.0
    ...     def sample(self, stream, pulls):
    ...         return stream.integers(0, 2, (pulls, 1)).astype(float)
    >>> Rewards([Coin(), Coin()], groups=1).name
    'rewards'
    """

    arms: Sequence[ArmRewards]
    groups: int | None
    name: str = "rewards"
    warnings: tuple[str, ...] = ()
    signed: bool = False


@dataclass(frozen=True)
class BuildContext:
    """What a model is told about its scenario when it is built.

    Parameters
    ----------
    names : sequence of str
        The names of the arms.
    span : int
        How many parts a pull pays.
    folder : Path
        Where relative file names start.
    horizon : int or None
        The number of rounds, where it is known.
    resources : mapping of str to int
        The capacities of the resources that the scenario declares.
    visits : sequence of float
        The nominal times of the parts after the pull; empty: 0, 1, ..., span - 1.
    time_unit : str or None
        What a unit of time is, such as "day".
    start : date or None
        The day that begins at time 0.
    maxima : sequence of float
        The largest cumulative reward of each arm, for delays that depend on rewards; empty: not known.

    Examples
    --------
    >>> BuildContext(["low", "high"], span=6, folder=Path("."), resources={"nurse": 2}).resources["nurse"]
    2
    """

    names: Sequence[str]
    span: int
    folder: Path
    horizon: int | None = None
    resources: Mapping[str, int] = field(default_factory=dict)
    visits: Sequence[float] = ()
    time_unit: str | None = None
    start: date | None = None
    maxima: Sequence[float] = ()

    @property
    def nominal(self) -> Floats:
        """When the parts are due after the pull."""
        return np.array(self.visits or range(self.span), dtype=np.float64)


class RewardKind(Protocol):
    """A reward model as a plug-in defines it: the keys that it reads from a scenario, and how it is built from them.

    Examples
    --------
    >>> from tpstream.model.settings import Settings
    >>> class CoinSettings(Settings):
    ...     "A coin that pays 1 or nothing."
    >>> class CoinArmSettings(Settings):
    ...     chance: float
    >>> class CoinArm:
    ...     maximum = 1.0
    ...     def __init__(self, chance):
    ...         self.mean = chance
    ...     def sample(self, stream, pulls):
    ...         return (stream.random((pulls, 1)) < self.mean).astype(float)
    >>> class Coin:
    ...     settings, arm_settings = CoinSettings, CoinArmSettings
    ...     def build(self, settings, arms, context):
    ...         return Rewards([CoinArm(arm.chance) for arm in arms], groups=1)
    >>> from tpstream.testing import check_rewards
    >>> check_rewards(Coin(), {}, [{"chance": 0.2}, {"chance": 0.6}], span=1)
    """

    settings: type[BaseModel]
    """Keys of the `[rewards]` table besides `kind`."""
    arm_settings: type[BaseModel]
    """Keys of an `[[arms]]` table besides `name`."""

    def build(self, settings: Any, arms: Sequence[Any], context: "BuildContext") -> Rewards:
        """The model for these settings; raises ScenarioError with a key as in "rewards.groups: ..."."""


@dataclass(frozen=True, eq=False)
class Schedule:
    """When the parts of some pulls of one arm arrive.

    Parameters
    ----------
    offsets : array of float, of shape (pulls, span)
        The time from the pull to the arrival of each part; for a lost one, to the time at which its loss is known.
    lost : array of bool, of shape (pulls, span)
        Whether a part never arrives.

    Examples
    --------
    >>> schedule = Schedule(np.array([[0.0, 1.0]]), np.array([[False, True]]))
    >>> Schedule(schedule.offsets + 2.0, schedule.lost).offsets.tolist()
    [[2.0, 3.0]]
    """

    offsets: Floats
    lost: Bools


class DelayProcess(Protocol):
    """A delay that is drawn: it moves parts to later times, or loses them, whatever the time of the pull."""

    @property
    def whole(self) -> bool:
        """Whether whole offsets stay whole, so that the compiled engine can serve."""

    def apply(self, schedule: Schedule, rewards: Floats, arm: int, stream: np.random.Generator) -> Schedule:
        """The schedule after this delay, for pulls of one arm that pay these rewards (pulls, span)."""


@dataclass(frozen=True, eq=False)
class Moves:
    """What a delay does to the parts of some pulls, drawn before it is known when they get there.

    Parameters
    ----------
    lags : array of float or None
        By how much each part comes later, of shape (pulls, span) or (pulls, 1); None: not at all.
    limits : array of float or None
        A part that gets there later than this after its pull is lost; -inf: it is lost in any case. None: none is lost.

    Examples
    --------
    >>> moves = Moves(lags=np.array([[2.0, 3.0]]), limits=None)
    >>> moves.applied(Schedule(np.array([[0.0, 1.0]]), np.array([[False, False]]))).offsets.tolist()
    [[2.0, 4.0]]
    """

    lags: Floats | None = None
    limits: Floats | None = None

    def applied(self, schedule: Schedule) -> Schedule:
        """The schedule after the delay."""
        offsets = schedule.offsets if self.lags is None else schedule.offsets + self.lags
        lost = schedule.lost if self.limits is None else schedule.lost | (schedule.offsets > self.limits)
        return Schedule(offsets, lost)


class DrawnDelay(DelayProcess, Protocol):
    """A sampled delay whose draws do not depend on when parts get there, so that it may stand anywhere."""

    def moves(self, rewards: Floats, arm: int, stream: np.random.Generator) -> Moves:
        """What happens to the parts of pulls of one arm that pay these rewards (pulls, span)."""


class QueueDelay(Protocol):
    """A queue for a resource, first come, first served."""

    resource: str

    def service_times(self, stream: np.random.Generator, parts: int) -> Floats:
        """How long serving each of the next parts takes."""


class CalendarDelay(Protocol):
    """A delay that depends on the time and not on chance: parts are handed out at certain times only."""

    @property
    def whole(self) -> bool:
        """Whether whole times stay whole."""

    def reported(self, times: Floats) -> Floats:
        """When what arrives at these times (from the start of the run) is handed out; never earlier."""


class PullContext(Protocol):
    """What the process of one pull is given: SimPy's environment, the shared resources, and the pull's parts."""

    pull: int
    arm: int
    env: "simpy.Environment"
    resources: "Mapping[str, simpy.Resource]"
    stream: np.random.Generator
    """The random stream for service times and the like, shared by all pulls of an arm."""
    arrivals: Sequence[tuple[float, int]]
    """When each part that is not lost arrives at this process, and its number; by time, then part."""

    def wait_until(self, time: float) -> "simpy.Event":
        """An event at exactly this time, or now if that is past."""

    def deliver(self, part: int) -> None:
        """Hand the part out now."""

    def lose(self, part: int) -> None:
        """Declare that the part never arrives, which is known from now on."""


class ProcessDelay(Protocol):
    """A delay as a SimPy process for each pull, which delivers its parts; for the SimPy engine only."""

    def run(self, context: PullContext) -> "Generator[simpy.Event, Any, None]":
        """The process of one pull; it must deliver or lose every part of `context.arrivals` once."""


class DelayKind(Protocol):
    """A delay as a plug-in defines it: the keys that it reads from a `[[delays]]` table, and how it is built from them.

    Examples
    --------
    >>> from tpstream.model.settings import Settings
    >>> class MailSettings(Settings):
    ...     days: float = 2.0
    >>> class Mail:
    ...     whole = True
    ...     def __init__(self, days):
    ...         self.days = days
    ...     def apply(self, schedule, rewards, arm, stream):
    ...         return Schedule(schedule.offsets + stream.poisson(self.days, rewards.shape), schedule.lost)
    >>> class MailKind:
    ...     settings = MailSettings
    ...     def build(self, settings, context):
    ...         return Mail(settings.days)
    >>> from tpstream.testing import check_delay
    >>> check_delay(MailKind(), {"days": 3.0})
    """

    settings: type[BaseModel]

    def build(self, settings: Any, context: BuildContext) -> DelayProcess | CalendarDelay | ProcessDelay:
        """The delay for these settings; raises ScenarioError with a key as in "p: ..."."""


class ArrivalProcess(Protocol):
    """Says when decisions are due."""

    @property
    def regular(self) -> bool:
        """Whether round t is at time t, as in the paper's world."""

    def times(self, stream: np.random.Generator, horizon: int) -> Floats:
        """The times of all decisions: `horizon` numbers above 0 that never fall."""


class SiteArrivals(ArrivalProcess, Protocol):
    """Says also at which of several sites each decision is due; logs then have a column `site`."""

    @property
    def names(self) -> Sequence[str]:
        """The names of the sites."""

    def at_sites(self, stream: np.random.Generator, horizon: int) -> tuple[Floats, Ints]:
        """The times of all decisions and the number of the site of each, from 0."""


class ArrivalKind(Protocol):
    """An arrival process as a plug-in defines it: the keys of its `[arrivals]` table, and how it is built from them.

    Examples
    --------
    >>> from tpstream.model.settings import Settings
    >>> class TideSettings(Settings):
    ...     period: float = 12.4
    >>> class Tides:
    ...     regular = False
    ...     def __init__(self, period):
    ...         self.period = period
    ...     def times(self, stream, horizon):
    ...         return self.period * np.arange(1.0, horizon + 1)
    >>> class TideKind:
    ...     settings = TideSettings
    ...     def build(self, settings, context):
    ...         return Tides(settings.period)
    >>> from tpstream.testing import check_arrivals
    >>> check_arrivals(TideKind(), {"period": 6.2})
    """

    settings: type[BaseModel]

    def build(self, settings: Any, context: BuildContext) -> ArrivalProcess:
        """The process for these settings."""


class Subscriber(Protocol):
    """Is handed every event, in order, a batch at a time; any object with a method `hear` is one.

    Examples
    --------
    >>> from tpstream import Scenario, simulate
    >>> class Counter:
    ...     count = 0
    ...     def hear(self, events):
    ...         self.count += len(events)
    >>> counter = Counter()
    >>> run = simulate(Scenario.load("setting-1").with_(horizon=20), "uniform", sinks=[counter])
    >>> counter.count == len(run.events())
    True
    """

    def hear(self, events: Events) -> None:
        """Take the next events, without changing them."""


class Borrower(Protocol):
    """A subscriber that takes events as views of buffers, which saves a copy.

    The views hold the events only until `hear` returns, or until the future that it returns is done: then the engine
    writes other events into the same memory. What is to be kept must be copied (`events.copy()`). Whole numbers may
    have 32 bits, as logs store them; a copy has the types of the schema.
    """

    borrows: bool
    """True; all other subscribers are given a copy that is theirs."""

    def hear(self, events: Events) -> "Future[None] | None":
        """Take the next events, without changing them or keeping their arrays."""


class Policy(Subscriber, Protocol):
    """Is handed all events that happened before each decision, and decides."""

    def decide(self, round: int) -> int:
        """The arm to pull in this round."""

    def indices(self) -> Floats:
        """The index of every arm at the last decision; NaN for a policy without indices."""


@runtime_checkable
class TimedPolicy(Policy, Protocol):
    """A policy that is also told the time of each decision, which events do not tell it."""

    def set_clock(self, time: float) -> None:
        """Take note of the time of the decision that is asked for next."""
