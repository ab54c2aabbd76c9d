"""The protocols of time: delays of several kinds, arrivals of decisions, and how plug-ins define them."""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from pydantic import BaseModel

from tpstream.model.arrays import Bools, Floats, Ints
from tpstream.model.interfaces.context import BuildContext

if TYPE_CHECKING:
    import simpy  # only for types: reading a scenario does not need SimPy


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
