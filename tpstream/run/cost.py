"""What runs take, estimated before anything is allocated, and whether this machine has it.

An estimate is rough: it is there to stop what cannot end well, such as a span of a million parts for a thousand arms,
and not to count bytes. Whoever knows better says so (`--yes`). Small work is not estimated at all (`is_small` in
run/options.py).
"""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, inf
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tpstream.analysis.regret import checkpoints
from tpstream.model.errors import StudyError, TpstreamError
from tpstream.model.memory import available_memory, size_text
from tpstream.model.world import BLOCK, Purpose, Timing, open_stream
from tpstream.policies.base import SharedPolicy
from tpstream.run.options import RunOptions
from tpstream.scenario.policy_choice import PolicyChoice
from tpstream.scenario.scenario import Scenario
from tpstream.timing.pipeline import arrival_times

FLOAT = 8
"""Bytes of a number."""
PROCESS = 300e6
"""Bytes that a process takes before its first run."""
OPEN = 40
"""Bytes of a part of an open pull besides what was drawn of it: when it is due, its stage, its place in a queue."""
FIRST = 10_000
"""Decisions whose times tell how many come within a while, where they are not regular."""
PER_RUN = 1_000
"""Bytes for the bookkeeping of one run of one policy."""
PER_EVENT = {"jsonl": 115, "arrow": 8}
"""Bytes of an event in a log."""
PER_NUMBER = {"jsonl": 20, "arrow": 8}
"""Bytes of an index or a probability of one arm in a log."""
SECONDS_PER_EVENT = {True: 5e-9, False: 2.5e-6}
"""Seconds that an event takes, compiled or not."""
MOST_SECONDS = 60 * 86_400.0
"""The longest time that a study may take by its estimate: 60 days."""
SMALLER = "ask for fewer runs, policies or arms, a smaller horizon or span"
GO_ON = "or go on all the same with --yes (in Python yes=True)"


class Work(NamedTuple):
    """Runs of some policies in one world."""

    scenario: Scenario
    choices: Sequence[PolicyChoice]
    rounds: int
    """How many checkpoints are kept beside those of every curve."""


@dataclass(frozen=True)
class Cost:
    """What a study takes: bytes of memory at a time, events, bytes of logs, and seconds."""

    memory: float
    events: float
    disk: float
    seconds: float


def estimate(work: Sequence[Work], runs: int, workers: int, options: RunOptions, *, compiled: bool) -> Cost:
    """What so many runs of each of these take, on so many workers at a time."""
    events = float(sum(runs * len(one.choices) * _events(one.scenario) for one in work))
    results = sum(runs * len(one.choices) * (_result_bytes(one) + PER_RUN) for one in work)
    largest = max(_run_bytes(one, options) for one in work)
    processes = workers * PROCESS if workers > 1 else 0
    disk = float(sum(runs * len(one.choices) * _log_bytes(one.scenario, options) for one in work))
    seconds = events * SECONDS_PER_EVENT[compiled] / max(workers, 1)
    return Cost(workers * largest + processes + results, events, disk, seconds)


def _events(scenario: Scenario) -> int:
    """The events of one run: a pull, its parts and its closing."""
    return scenario.horizon * (scenario.span + 2)


def _result_bytes(work: Work) -> int:
    """What is kept of one run of one policy: the pulls of every arm up to each checkpoint."""
    kept = len(checkpoints(work.scenario.horizon)) + work.rounds
    return kept * len(work.scenario.arms) * FLOAT


def _run_bytes(work: Work, options: RunOptions) -> int:
    """What a run takes in which these policies take turns: blocks of rewards, parts of open pulls, times."""
    scenario, timing = work.scenario, work.scenario.timing()
    arms, span, policies = len(scenario.arms), scenario.span, len(work.choices)
    blocks = arms * BLOCK * span * timing.bytes_per_part
    events = options.log is not None or bool(options.sinks) or options.measurer is not None
    hearing = [one for one in work.choices if events or not timing.plain or _hears_parts(one)]
    opened = _open_pulls(scenario, timing) * span * (FLOAT if timing.plain else OPEN + timing.bytes_per_part)
    times = 0 if timing.arrivals.regular else scenario.horizon * FLOAT * 3 * policies
    kept = policies > 1  # draws are kept until the last policy took them
    return blocks * (policies + kept) + opened * len(hearing) + times


def _open_pulls(scenario: Scenario, timing: Timing) -> int:
    """How many pulls are open at a time: as many as are made until the last visit, or until the window ends."""
    reach = max(float(timing.nominal(scenario.span)[-1]) + 1, scenario.window or 0.0)
    if timing.arrivals.regular:
        return min(scenario.horizon, ceil(reach))
    stream, first = open_stream(scenario.seed, 0, Purpose.ARRIVALS), min(scenario.horizon, FIRST)
    try:
        times = arrival_times(timing.arrivals, stream, first, timing.arrivals_name)
    except TpstreamError:  # runs will tell it
        return scenario.horizon
    together = int((np.searchsorted(times, times + reach) - np.arange(first)).max())
    return min(scenario.horizon, max(together, ceil(first * min(reach / float(times[-1]), scenario.horizon))))


def _hears_parts(choice: PolicyChoice) -> bool:
    return not isinstance(choice.form, SharedPolicy) or choice.form.on_partial is not None


def _log_bytes(scenario: Scenario, options: RunOptions) -> int:
    """The size of one run's log."""
    if options.log is None:
        return 0
    form, details = options.log.format or "jsonl", options.log.details
    events = scenario.horizon if "pulls" in details else _events(scenario)
    vectors = sum(detail in details for detail in ("indices", "probabilities"))
    return events * PER_EVENT[form] + vectors * scenario.horizon * len(scenario.arms) * PER_NUMBER[form]


def free_space(folder: Path) -> float:
    """Bytes that are free where a folder is, or is going to be."""
    there = next((one for one in (folder, *folder.resolve().parents) if one.exists()), None)
    return inf if there is None else float(shutil.disk_usage(there).free)


def check_cost(cost: Cost, options: RunOptions) -> None:
    """Raise unless the machine has what is needed, or the user said to go on all the same."""
    if options.yes:
        return
    told = f"{size_text(cost.memory)} of memory for {cost.events:,.0f} events"
    if cost.memory > (free := available_memory()):
        raise StudyError(f"this takes some {told}, and {size_text(free)} are available; {SMALLER}, {GO_ON}")
    if options.log is not None and cost.disk > (free := free_space(options.log.place)):
        raise StudyError(
            f"the logs of {cost.events:,.0f} events take some {size_text(cost.disk)}, and {size_text(free)} are free "
            f"in {options.log.place}; write less (--log-format arrow, --log-detail pulls), {SMALLER}, {GO_ON}"
        )
    if cost.seconds > MOST_SECONDS:
        raise StudyError(
            f"{cost.events:,.0f} events take some {cost.seconds / 86_400:,.0f} days; {SMALLER}, use more cores, {GO_ON}"
        )
