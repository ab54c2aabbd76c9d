"""Looks into a trial as a page shows them: when they were, what they found, which arms they closed, and why."""

from math import isnan
from typing import Any

from tpstream.looks.design import Reason
from tpstream.model.display import counted, listed, number_text
from tpstream.model.events import LOOK, STOPPED
from tpstream.view.aggregate import MOST_LAYERS, Aggregate
from tpstream.view.words import Units, clean

COUNTED, ESTIMATE = 0, 1
"""What the rows of a look are about, by the column `part`; the others are statistics of rules."""


class Looks:
    """The looks of a run, from its events about them.

    Parameters
    ----------
    aggregate
        What was added up of the run.
    """

    def __init__(self, aggregate: Aggregate) -> None:
        header = aggregate.header
        self._names = [clean(name) or f"arm {arm}" for arm, name in enumerate(header.arms)]
        self._unit = Units.of(header).time or "time"
        self._rows = aggregate.looks

    def described(self) -> list[dict[str, Any]]:
        """The looks in order: number, time, patients counted and estimate of each arm, and what was decided, when."""
        found: dict[int, dict[str, Any]] = {}
        still_open = set(range(len(self._names)))
        for time, kind, number, arm, part, value in self._rows:
            look = found.setdefault(number, self._look(number, time))
            if kind == STOPPED:
                still_open.discard(arm)
                closed = {"arm": self._names[arm], "reason": Reason(part).name.lower(), "selected": value == 1}
                look["closed"].append(closed)
                look |= {"decided": time, "ends": not still_open}
            elif kind == LOOK and part in (COUNTED, ESTIMATE) and arm < MOST_LAYERS:
                look["counted" if part == COUNTED else "estimate"][arm] = None if isnan(value) else value
        for look in found.values():
            look["label"], look["text"] = self._label(look), self._text(look)
        return list(found.values())

    def facts(self) -> list[tuple[str, str]]:
        """All looks in a line, as a word and what it is; nothing if there was none."""
        looks = self.described()
        decisions = [one["text"] for one in looks if one["closed"]] or ["no arm was closed"]
        return [("looks", f"{counted(len(looks), 'look')}; {'; '.join(decisions)}")] if looks else []

    def _look(self, number: int, time: float) -> dict[str, Any]:
        unknown = [None] * min(len(self._names), MOST_LAYERS)
        values = {"counted": list(unknown), "estimate": list(unknown)}
        return {"number": number, "time": time, **values, "decided": None, "ends": False, "closed": []}

    def _label(self, look: dict[str, Any]) -> str:
        """A decision in a few letters, for a mark."""
        selected = [one["arm"] for one in look["closed"] if one["selected"]]
        if look["ends"]:
            return f"stop: {selected[0] if selected else listed(sorted({one['reason'] for one in look['closed']}))}"
        return listed([f"{one['arm']} closed" for one in look["closed"]])

    def _text(self, look: dict[str, Any]) -> str:
        """A decision in words."""
        if not look["closed"]:
            return "no arm was closed"
        when = f"at {self._unit} {number_text(look['decided'])}, after look {look['number']}"
        selected = [f"“{one['arm']}”" for one in look["closed"] if one["selected"]]
        if look["ends"] and selected:
            reason = next(one["reason"] for one in look["closed"] if one["selected"])
            return f"{when}, the trial stopped with {listed(selected)} ({reason})"
        arms = listed([f"“{one['arm']}” ({one['reason']})" for one in look["closed"]])
        verb = "was" if len(look["closed"]) == 1 else "were"
        return f"{when}, the trial stopped: {arms}" if look["ends"] else f"{when}, {arms} {verb} closed"
