"""The audit of a log: its events keep the contract of order, and pay what its scenario and seed give."""

from tpstream.engines.redraw import Redraw
from tpstream.log.check import BrokenRule, Checker
from tpstream.log.header import Header
from tpstream.model.events import Events
from tpstream.model.world import World


class Audit:
    """Audits the consecutive batches of one log; values are drawn again where the world is known."""

    def __init__(self, header: Header, world: World | None) -> None:
        self._checker = Checker(header)
        self._redraw = None if world is None else Redraw(world)

    def sound(self, events: Events) -> tuple[Events, BrokenRule | None]:
        """The next events up to the first that cannot be trusted, and what is wrong with that one."""
        broken = self._checker.first_broken(events)
        if broken is not None:
            events = events.cut(0, broken.place)
        wrong = None if self._redraw is None else self._redraw.first_broken(events)
        return (events, broken) if wrong is None else (events.cut(0, wrong.place), wrong)

    def at_end(self, *, complete: bool) -> BrokenRule | None:
        """What is missing at the end of a log that claims to be complete."""
        return self._checker.at_end(complete=complete)
