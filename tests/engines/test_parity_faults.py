"""Parity can fail: faults planted in the engines are found by the same search that finds none in them as they are.

The tests that plant a fault run only with the JIT off, in the second pass of `make test` (NUMBA_DISABLE_JIT=1). With it
each of them would compile every loop anew, and a fault is the same in plain Python.
"""

import importlib.util
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numba
import numpy as np
import pytest
from heard import HANDLERS, policy_with
from hypothesis import Phase, given, seed, settings
from parity import Case, cases, different_call, first_difference, lab_worlds, long_worlds, losing_worlds, real_worlds

from tpstream.engines import (
    compiled_engine,
    compiled_general,
    compiled_general_loop,
    compiled_plain_loop,
    compiled_real,
    compiled_real_loop,
    compiled_real_next,
    compiled_real_pulls,
)
from tpstream.model.world import Purpose, open_stream
from tpstream.policies import POLICIES, handlers, loader, runner
from tpstream.policies.base import SharedPolicy

INTERPRETED = bool(numba.config.DISABLE_JIT)
FEW = 100
SEARCH = settings(phases=[Phase.generate], database=None, deadline=None)
PLACES = {
    compiled_plain_loop: [(compiled_engine, "compiled_plain_loop")],
    compiled_general_loop: [(compiled_general, "loop")],
    compiled_real_loop: [(compiled_real, "loop")],
    compiled_real_pulls: [(compiled_real, "loop")],
    handlers: [(runner, "handlers"), (loader, "handlers")],
}
"""The modules that are loaded for each policy, and the names by which other modules know them."""
FAULTS = {
    "parts delivered in reverse, without a log": (
        compiled_plain_loop,
        "all",
        "    for part in range(min(span, round), 0, -1):\n",
        "    for part in range(1, min(span, round) + 1):\n        slot = place_of(newest, part - 1, span)\n",
    ),
    "groups delivered in reverse, without a log": (
        compiled_plain_loop,
        "groups",
        """    slot = place_of(newest, groups * subscriptions.width - 1, span)
    for group in range(groups - 1, -1, -1):
        on_group(state, memory.arms[slot], slot, group, memory.groups[slot, group])
        slot += subscriptions.width
        if slot >= span:
            slot -= span
""",
        """    for group in range(groups):
        slot = place_of(newest, (group + 1) * subscriptions.width - 1, span)
        on_group(state, memory.arms[slot], slot, group, memory.groups[slot, group])
""",
    ),
    "everything delivered in reverse, with a log": (
        compiled_general_loop,
        "uniform",
        "    if memory.length[place] == 0:\n",
        "    memory.node_next[node] = memory.head[place] if memory.length[place] > 0 else -1\n    if True:\n",
    ),
    "groups complete a part too early, without a log": (
        compiled_plain_loop,
        "tp-ucb-ew",
        "else round // subscriptions.width",
        "else (round + 1) // subscriptions.width",
    ),
    "groups complete a part too early, in SimPy": (
        handlers,
        "tp-ucb-ew",
        "subscriptions.filled[slot, group] == subscriptions.width",
        "subscriptions.filled[slot, group] == max(1, subscriptions.width - 1)",
    ),
    "the first group is taken for the second": (
        handlers,
        "tp-ucb-ew",
        "(part - 1) // subscriptions.width",
        "part // (subscriptions.width + 1)",
    ),
    "parts paid a round late, without a log": (
        compiled_plain_loop,
        "tp-ucb-fr",
        "memory.due[arm, slot + part] += memory.pool[arm, row, part]",
        "memory.due[arm, (slot + part + 1) % span] += memory.pool[arm, row, part]",
    ),
    "pulls closed before their last part": (
        compiled_plain_loop,
        "delayed-ucb1",
        "if round >= span:",
        "if round + 1 >= span:",
    ),
    "the total of the pull before": (
        compiled_general_loop,
        "ucb1",
        "shown = memory.totals[arm, row]",
        "shown = memory.totals[arm, max(row - 1, 0)]",
    ),
    "nothing drained": (
        compiled_general_loop,
        "oracle",
        "if due > memory.horizon and not memory.drain:",
        "if due > memory.horizon:",
    ),
    "the last pull of a block left out": (
        compiled_plain_loop,
        "long tp-ucb-fr",
        "memory.used[arm] == memory.totals.shape[1]",
        "memory.used[arm] == memory.totals.shape[1] - 1",
    ),
    "the parts of a round in reverse, in a log": (
        compiled_plain_loop,
        "uniform",
        "memory.logged[here, np.uint64(round - pull) - place]",
        "memory.logged[here, place]",
    ),
    "all parts of a round from one arm, in a log": (
        compiled_plain_loop,
        "uniform",
        "= memory.arms[here]",
        "= memory.arms[slot]",
    ),
    "decisions after the horizon, in a log": (
        compiled_plain_loop,
        "uniform",
        "    decided = min(round, memory.horizon)",
        "    decided = round",
    ),
    "a closing a round late, in a log": (
        compiled_plain_loop,
        "uniform",
        "    if pull == round - span + 1:",
        "    if pull == round - span:",
    ),
    "a lost part told twice": (
        handlers,
        "losses",
        "    if subscriptions.lost:\n        on_lost(",
        "    for _ in range(2):\n        on_lost(",
    ),
    "a lost part not told, with a log": (
        compiled_general_loop,
        "losses",
        "        notify(state, subscriptions, kind,",
        "        if kind != DROPPED:\n            notify(state, subscriptions, kind,",
    ),
    "a late part told as lost": (handlers, "losses", "kind == DROPPED", "kind in (DROPPED, DROPPED - 1)"),
    "the slot of a closed pull": (handlers, "losses", "slot if subscriptions.owners[slot] == pull else -1", "slot"),
    "the clock of the event before": (
        handlers,
        "all",
        "set_clock(state, time[event])",
        "set_clock(state, time[max(event - 1, 0)])",
    ),
    "the clock of the round before, with a log": (
        compiled_general_loop,
        "all",
        "set_clock(state, round)",
        "set_clock(state, round - 1)",
    ),
    "the clock of the round before, without a log": (
        compiled_plain_loop,
        "all",
        "set_clock(state, round)",
        "set_clock(state, round - 1)",
    ),
    "what was received told at the time after": (
        handlers,
        "all",
        "            notify_received(state, subscriptions)\n    return -1\n",
        """            set_clock(state, time[min(event + 1, kind.size - 1)])
            notify_received(state, subscriptions)
    return -1
""",
    ),
    "the slot of another pull told with a group": (
        compiled_plain_loop,
        "groups",
        "            on_group(state, memory.arms[slot], slot, groups - 1,",
        "            on_group(state, memory.arms[slot], newest, groups - 1,",
    ),
    "real times: the clock of what was told before": (
        compiled_real_loop,
        "real all",
        "            memory.clock[0] = time\n        set_clock(state, time)\n",
        "            set_clock(state, memory.clock[0])\n            memory.clock[0] = time\n",
    ),
    "real times: what was received told with the next decision": (
        compiled_real_loop,
        "real all",
        "        if time != memory.clock[0]:\n            notify_received(state, subscriptions)\n",
        "        if time != memory.clock[0]:\n",
    ),
    "real times: a decision after what is due at its time": (
        compiled_real_loop,
        "real uniform",
        "answer = advance(memory, columns, cursor, until)",
        "answer = advance(memory, columns, cursor, np.nextafter(until, np.inf))",
    ),
    "real times: the end before the last deliveries": (
        compiled_real_pulls,
        "real uniform",
        "        if not is_before(memory, cursor, until):\n",
        "        if not is_before(memory, cursor, until) or look(memory, cursor)[0] == memory.times[-1]:\n",
    ),
    "real times: parts join a queue before others leave it": (
        compiled_real_next,
        "real uniform",
        "LEAVES, JOINS, DELIVERED = 0, 2**56, 2**57",
        "LEAVES, JOINS, DELIVERED = 2**55, 0, 2**57",
    ),
    "real times: what is due between two decisions by pull, not by time": (
        compiled_real_next,
        "real uniform",
        "    while place > 0 and comes_later(memory, place - 1, time, entry):\n",
        "    while place > 0 and place < 0:\n",
    ),
    "real times: at one time parts join a queue between others that are delivered": (
        compiled_real_next,
        "lab uniform",
        "    if memory.resources.size == 0:\n        return False\n",
        "    if memory.resources.size >= 0:\n        return False\n",
    ),
    "real times: what comes out of a queue before what was known at the pull": (
        compiled_real_next,
        "real uniform",
        "    return comes_before(memory.heap.time[0], memory.heap.rank[0], agenda.moment[numbers[NEXT]], rank)\n",
        "    return memory.heap.time[0] <= agenda.moment[numbers[NEXT]]\n",
    ),
    "real times: the last who waits is served first": (
        compiled_real_pulls,
        "real uniform",
        "    if memory.first[resource] < 0:\n",
        "    memory.behind[slot, part] = memory.first[resource]\n    if True:\n",
    ),
    "real times: the service times of the part before": (
        compiled_real_pulls,
        "real uniform",
        "time + memory.services[slot, queue, part]",
        "time + memory.services[slot, queue, max(part - 1, 0)]",
    ),
    "real times: service times of a lone queue for lost parts, too": (
        compiled_real_pulls,
        "lab uniform",
        "        if not memory.lost[slot, part]:\n            memory.services",
        "        if True:\n            memory.services",
    ),
    "real times: service times of a lone queue by part, though some overtake others": (
        compiled_real_pulls,
        "lab uniform",
        "    return bool(due < other_due or (due == other_due and part < other))\n",
        "    return part < other\n",
    ),
    "real times: a loss is known without the calendars after a queue": (
        compiled_real_pulls,
        "lab uniform",
        "        elif not memory.lost[slot, part]:\n            break\n",
        "        elif not memory.lost[slot, part]:\n            break\n        else:\n            stage = 99\n",
    ),
    "real times: a part due at the end of the window is late": (
        compiled_real_pulls,
        "lab uniform",
        "kind, value = LATE if memory.closed[slot] else PARTIAL",
        "kind, value = LATE if time >= memory.pulled[slot] + memory.window else PARTIAL",
    ),
    "real times: the default after the part that comes with the closing": (
        compiled_real_pulls,
        "lab uniform",
        "and (is_lost or not is_here)",
        "and not is_here",
    ),
    "real times: nothing drained": (
        compiled_real_pulls,
        "real uniform",
        "        if not is_before(memory, cursor, until):\n",
        "        if not is_before(memory, cursor, min(until, memory.times[-1])):\n",
    ),
    "hidden feedback: all events are told": (
        compiled_real_loop,
        "hidden all",
        "if memory.reveal != ALL and not columns.shown[event]:",
        "if memory.reveal != ALL and memory.reveal == ALL:",
    ),
    "hidden feedback: a complete pull is closed at once": (
        compiled_real_pulls,
        "hidden uniform",
        "complete = memory.left[slot] == 0 and memory.reveal == ALL",
        "complete = memory.left[slot] == 0",
    ),
    "hidden feedback: parts are repeated where only closings are shown": (
        compiled_real_pulls,
        "hidden uniform",
        "repeats = closing == 1 and memory.reveal == POSITIVE",
        "repeats = closing == 1 and memory.reveal != ALL",
    ),
    "hidden feedback: payments are repeated, too": (
        compiled_real_pulls,
        "hidden uniform",
        "            if not is_shown(memory.reveal, PARTIAL, value):\n",
        "            if True:\n",
    ),
    "hidden feedback: a default is repeated as the part would have paid": (
        compiled_real_pulls,
        "hidden uniform",
        "value = memory.default if is_imputed else memory.rewards[slot, part - 1]\n            if not",
        "value = memory.rewards[slot, part - 1]\n            if not",
    ),
    "hidden feedback: what is repeated is credited again": (
        compiled_real_pulls,
        "hidden uniform",
        "                columns.shown[cursor[WRITTEN] - 1] = True\n",
        "                columns.shown[cursor[WRITTEN] - 1] = True\n                memory.credited[slot] += value\n",
    ),
    "real times: the wrong free server": (
        compiled_real_pulls,
        "real uniform",
        "        memory.free[resource] += 1\n",
        "        memory.free[0] += 1\n",
    ),
}
"""Where the fault is, for which policy, what stands there, and what the fault puts in its place."""
WRITING = {
    "all": policy_with(*HANDLERS),
    "groups": policy_with("on_pull", "on_received", "on_group", "on_closed"),
    "losses": policy_with("on_pull", "on_lost"),
}


@pytest.mark.skipif(not INTERPRETED, reason="run with the JIT off by make test")
@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_are_found(fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The search for a difference finds the fault."""
    source, who, old, new = FAULTS[fault]
    search = searcher(who)
    assert search(5) is None  # and all loops are loaded as they are
    monkeypatch.setenv("TPSTREAM_CACHE", str(tmp_path))  # faulty code stays out of the user's cache
    faulty = plant(source, old, new, tmp_path)
    if source is compiled_real_next:
        monkeypatch.setitem(sys.modules, source.__name__, faulty)
        source, faulty = compiled_real_pulls, plant(compiled_real_pulls, "", "", tmp_path)
    if source is compiled_real_pulls:
        shared, faulty = faulty, plant(compiled_real_loop, "", "", tmp_path)
        monkeypatch.setattr(faulty, "SHARED", shared)
    for module, name in PLACES[source]:
        monkeypatch.setattr(module, name, faulty)
    assert search(FEW) is not None


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["uniform", "tp-ucb-fr", "tp-ucb-ew", "delayed-ucb1"])
def test_ties_broken_by_another_stream_are_found(policy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A policy that draws from a stream that is not its own decides otherwise."""

    def other(seed: int, run: int, purpose: Purpose) -> np.random.Generator:
        return open_stream(seed, run, purpose, arm=1)

    monkeypatch.setattr(compiled_engine, "open_stream", other)
    assert searcher(policy)(FEW) is not None


def searcher(who: str) -> Callable[[int], str | None]:
    """A search among so many random cases of a policy; it tells the difference that it finds."""
    special: dict[str, Callable[[], Any]] = {"long": long_worlds, "real": real_worlds, "lab": lab_worlds}
    special |= {"losses": losing_worlds, "hidden": partial(real_worlds, ("positive", "closed"))}
    worlds = special[who.split(maxsplit=1)[0]]() if who.split(maxsplit=1)[0] in special else None
    who = who.split(maxsplit=1)[-1]
    form: SharedPolicy = WRITING[who] if who in WRITING else POLICIES.find(who)
    compare = different_call if who in WRITING else first_difference
    chosen = cases(form, worlds)

    def search(examples: int) -> str | None:
        @seed(1)
        @settings(SEARCH, max_examples=examples)
        @given(chosen)
        def look(case: Case) -> None:
            difference = compare(case)
            if difference is not None:
                raise DifferenceFoundError(difference)  # no further cases are made then

        try:
            look()
        except DifferenceFoundError as found:
            return str(found)
        return None

    return search


class DifferenceFoundError(Exception):
    """The engines do not do the same."""


def plant(source: ModuleType, old: str, new: str, folder: Path) -> ModuleType:
    """A copy of a module in which something else stands in one place."""
    assert source.__file__ is not None
    text = Path(source.__file__).read_text()
    assert old == new or text.count(old) == 1, f"the fault does not fit {source.__name__} any more"
    path = folder / Path(source.__file__).name
    path.write_text(text.replace(old, new))
    spec = importlib.util.spec_from_file_location(f"faulty_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module
    spec.loader.exec_module(module)
    return module
