"""The protocols that users implement: rewards, delays, arrivals, policies and subscribers."""

from tpstream.model.interfaces.context import BuildContext
from tpstream.model.interfaces.rewards import ArmRewards, FilledRewards, Recorded, RewardKind, Rewards
from tpstream.model.interfaces.subscribers import Borrower, Policy, Subscriber, TimedPolicy
from tpstream.model.interfaces.timing import (
    ArrivalKind,
    ArrivalProcess,
    CalendarDelay,
    DelayKind,
    DelayProcess,
    DrawnDelay,
    Moves,
    ProcessDelay,
    PullContext,
    QueueDelay,
    Schedule,
    SiteArrivals,
)

__all__ = [
    "ArmRewards",
    "ArrivalKind",
    "ArrivalProcess",
    "Borrower",
    "BuildContext",
    "CalendarDelay",
    "DelayKind",
    "DelayProcess",
    "DrawnDelay",
    "FilledRewards",
    "Moves",
    "Policy",
    "ProcessDelay",
    "PullContext",
    "QueueDelay",
    "Recorded",
    "RewardKind",
    "Rewards",
    "Schedule",
    "SiteArrivals",
    "Subscriber",
    "TimedPolicy",
]
