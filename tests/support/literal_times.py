"""A slow simulation at real-valued times without an engine: a list of what is to come, of which the least is taken."""

import math
from collections import defaultdict
from typing import Any, NamedTuple

from tpstream.engines.draws import Draws, DrawsReader, Pull
from tpstream.model.events import Events
from tpstream.model.world import World
from tpstream.timing.pipeline import due_decisions

DECIDE, LEAVE, JOIN, DELIVER = range(-1, 3)
"""What may happen at one time, in this order; then by pull, then by place (the part, or span + 1: the window ends)."""
Next = tuple[float, int, int, int]
"""A time, what happens, the pull and the place."""


class LiteralEvent(NamedTuple):
    """An event: its value is None where there is none."""

    time: float
    kind: str
    round: int
    pull: int
    arm: int
    part: int
    value: float | None
    shown: bool


def literal_events(events: Events) -> list[LiteralEvent]:
    """The events of an engine, to be compared with those of a literal simulation."""
    return [
        LiteralEvent(one.time, one.kind, one.round, one.pull, one.arm, one.part, one.value, one.shown is not False)
        for one in events
    ]


class OpenPull:
    """A pull: what it pays and what was drawn for it, what is known of its parts, and what it was credited with."""

    def __init__(self, arm: int, time: float, drawn: Pull) -> None:
        self.arm = arm
        self.time = time
        self.rewards = drawn.rewards.tolist()
        self.lost = set() if drawn.lost is None else {part for part, lost in enumerate(drawn.lost, 1) if lost}
        self.lags = [] if drawn.later is None else drawn.later.lags.tolist()
        self.limits = [] if drawn.later is None else drawn.later.limits.tolist()
        self.services = [] if drawn.later is None else drawn.later.services.tolist()
        self.stage: dict[int, int] = {}
        self.settled: set[int] = set()
        self.credited: set[int] = set()
        self.closed = False
        self.total = 0.0


class LiteralWorld:
    """A world in which decisions for given arms are made."""

    def __init__(self, world: World) -> None:
        self.world, self.timing, self.span = world, world.timing, world.problem.span
        calendars = () if self.timing.calendar is None else self.timing.calendar.delays
        self.stages: list[tuple[str, Any, int]] = [("reported", delay, 0) for delay in calendars]
        self.stages += [(stage.form, stage.delay, stage.index) for stage in self.timing.later]
        self.free = dict(self.timing.resources)
        self.queues: dict[str, list[tuple[int, int]]] = defaultdict(list)
        self.pulls: dict[int, OpenPull] = {}
        self.events: list[LiteralEvent] = []
        self.round = 0
        self.next: list[Next] = []

    def run(self, arms: list[int]) -> list[LiteralEvent]:
        """All events of decisions for these arms, in their order."""
        reader = DrawsReader(Draws(self.world))
        times = due_decisions(self.world)[0].tolist()
        self.next = [(time, DECIDE, round, 0) for round, time in enumerate(times, 1)]
        while self.next:
            time, what, pull, place = min(self.next)
            if time > times[-1] and not self.world.drain:
                break
            self.next.remove((time, what, pull, place))
            if what == DECIDE:
                self.decide(time, pull, reader.next_pull(arms[pull - 1]), arms[pull - 1])
            elif what == JOIN:
                self.join(time, pull, place)
            elif what == LEAVE:
                self.leave(time, pull, place)
            else:
                self.deliver(time, pull, place)
        return self.events

    def decide(self, time: float, pull: int, drawn: Pull, arm: int) -> None:
        """Make a pull, and find out how far each of its parts gets by itself."""
        self.round = pull
        one = self.pulls[pull] = OpenPull(arm, time, drawn)
        self.events.append(LiteralEvent(time, "pull", pull, pull, arm, 0, None, shown=True))
        offsets = self.timing.nominal(self.span) if drawn.offsets is None else drawn.offsets
        moves = [self.go_on(pull, part, 0, time + float(offsets[part - 1])) for part in range(1, self.span + 1)]
        if self.timing.lone_queue:
            served = sorted((due, part) for due, what, _, part in moves if what == JOIN)
            in_order = list(one.services[0])
            for number, (_, part) in enumerate(served):
                one.services[0][part - 1] = in_order[number]
        self.next += moves
        if self.timing.window is not None:
            self.next.append((time + self.timing.window, DELIVER, pull, self.span + 1))

    def go_on(self, pull: int, part: int, first: int, time: float) -> Next:
        """What happens next to a part that reaches this stage: a lost one passes queues."""
        one = self.pulls[pull]
        for number in range(first, len(self.stages)):
            form, delay, index = self.stages[number]
            if form == "moves":
                if time - one.time > one.limits[index][part - 1]:
                    one.lost.add(part)
                factor = float(delay.factor(one.time)) if hasattr(delay, "factor") else 1.0
                time = time + one.lags[index][part - 1] * factor
            elif form == "reported":
                time = literal_report(delay, time)
            elif part not in one.lost:
                one.stage[part] = number
                return time, JOIN, pull, part
        return time, DELIVER, pull, part

    def join(self, time: float, pull: int, part: int) -> None:
        """Let a part be served, or wait."""
        name = self.stages[self.pulls[pull].stage[part]][1].resource
        if self.free[name] == 0:
            self.queues[name].append((pull, part))
            return
        self.free[name] -= 1
        self.serve(time, pull, part)

    def serve(self, time: float, pull: int, part: int) -> None:
        """Serve a part as soon as the resource is open."""
        _, queue, index = self.stages[self.pulls[pull].stage[part]]
        if queue.resource in self.timing.opening:
            time = literal_report(self.timing.opening[queue.resource], time)
        self.next.append((time + self.pulls[pull].services[index][part - 1], LEAVE, pull, part))

    def leave(self, time: float, pull: int, part: int) -> None:
        """Let a part leave its queue, and the one that waited longest be served."""
        number = self.pulls[pull].stage[part]
        name = self.stages[number][1].resource
        if self.queues[name]:
            self.serve(time, *self.queues[name].pop(0))
        else:
            self.free[name] += 1
        self.next.append(self.go_on(pull, part, number + 1, time))

    def deliver(self, time: float, pull: int, place: int) -> None:
        """Deliver all parts of a pull that are due at this time, part by part, and close it if it is time."""
        one, hidden = self.pulls[pull], self.timing.reveal != "all"
        same = [entry for entry in self.next if entry[:3] == (time, DELIVER, pull)]
        for entry in same:
            self.next.remove(entry)
        places = {place, *(entry[3] for entry in same)}
        due = {part for part in places if part <= self.span}
        one.settled |= due
        complete = not hidden and len(one.settled) == self.span
        closing = not one.closed and (complete or self.span + 1 in places)
        for part in range(1, self.span + 1):
            self.deliver_part(time, pull, part, is_due=part in due, closing=closing)
        if closing:
            one.closed = True
            self.write(time, "closed", pull, 0, one.total, shown=True)

    def deliver_part(self, time: float, pull: int, part: int, *, is_due: bool, closing: bool) -> None:
        """The events of one part: the default reward in its place, what becomes of it, and what was withheld of it."""
        one, default, reward = self.pulls[pull], self.timing.default, self.pulls[pull].rewards[part - 1]
        arrives = is_due and part not in one.lost and not one.closed
        imputed = closing and default is not None and part not in one.credited and not arrives
        if imputed:
            assert default is not None
            one.total += default
            self.write(time, "partial", pull, part, default, shown=self.is_shown(default))
        if is_due and part in one.lost:
            self.write(time, "dropped", pull, part, None, shown=self.timing.reveal == "all")
        elif is_due:
            self.write(time, "partial" if arrives else "late", pull, part, reward, shown=self.is_shown(reward))
        if arrives:
            one.credited.add(part)
            one.total += reward
        if closing and self.timing.reveal == "positive" and (imputed or part in one.credited):
            value = default if imputed else reward
            assert value is not None
            if not value > 0:
                self.write(time, "partial", pull, part, value, shown=True)

    def is_shown(self, value: float) -> bool:
        """Whether a part that pays this is shown when it arrives."""
        return self.timing.reveal == "all" or (self.timing.reveal == "positive" and value > 0)

    def write(self, time: float, kind: str, pull: int, part: int, value: float | None, *, shown: bool) -> None:
        """Write an event."""
        arm = self.pulls[pull].arm
        self.events.append(LiteralEvent(time, kind, self.round, pull, arm, part, value, shown))


def literal_report(calendar: Any, time: float) -> float:
    """The first time, not before this one, at which a calendar hands something out: looked for one by one."""
    table = calendar.table()
    first, every, hours, opens, closes = table.numbers[0].tolist()
    if every > 0:
        number = max(math.floor((time - first) / every) - 2, 0)
        while first + number * every < time:
            number += 1
        return float(first + number * every)
    if time > 2.0**50:
        return time
    waits, closed = table.waits.tolist(), set(table.closed.tolist())
    day = math.ceil(time * hours / 24)
    while True:
        is_open = waits[(day - 1) % len(waits)] == 0 and day not in closed
        if is_open and time <= ((day - 1) * 24 + closes) / hours:
            return float(max(time, ((day - 1) * 24 + opens) / hours))
        day += 1
