"""What a page holds of one log: words and numbers for the page's script, and the arrays that it draws."""

from collections.abc import Callable
from datetime import UTC
from typing import Any

import numpy as np

from tpstream.figures.style import COLOURS, OTHERS
from tpstream.log.schema import Header
from tpstream.model.arrays import Ints
from tpstream.model.events import CLOSED, DROPPED, LATE, PARTIAL, PULL
from tpstream.view.aggregate import MOST_LAYERS, PER_ARM, Aggregate, Heat
from tpstream.view.changes import described_changes
from tpstream.view.looks import Looks
from tpstream.view.packing import Block
from tpstream.view.pulls import PullParts
from tpstream.view.words import Units, clean, is_simulated, scenario_name

ARM_COLOURS = (*COLOURS[:7], OTHERS[2], OTHERS[6], OTHERS[8])
"""Of the colours of the figures, ten that are far from each other; black is left out, since a page may be dark."""
BY_PROBABILITY = ("best-probability",)
"""Policies whose index is a probability; that of the others is what a pull of the arm is taken to pay."""
FAST = 1
"""The compression of pictures of a run that goes on."""
SHADES = 255
"""Levels of reward in a heat map: each is the same share above the one before, so that small sums are told apart."""
FAINTEST = 1e-5
"""The reward of the lowest level, as a share of the largest; neighbouring levels are 4.6 % apart."""


def live_text(aggregate: Aggregate, parts: PullParts, **about: Any) -> str:
    """A run that goes on, as the script of its page unpacks it; `about` adds to what is said of it, or replaces it."""
    block = Block()
    add_arrays(block, "0", aggregate, np.zeros(0, dtype=np.int64), parts)
    shown = {**describe(aggregate), "sampled": False, "step": 1, "divergence": None, **about}
    return block.text({"logs": [shown], "colours": list(ARM_COLOURS)}, level=FAST)


def shown_arms(aggregate: Aggregate) -> tuple[Ints, int]:
    """The arms that get a line of their own, and how many are taken together as one more, at the end."""
    arms = len(aggregate.header.arms)
    if arms <= MOST_LAYERS:
        return np.arange(arms), 0
    pulls = aggregate.counts[..., PULL].sum(axis=0)
    return np.sort(np.argsort(-pulls, kind="stable")[: MOST_LAYERS - 1]), arms - MOST_LAYERS + 1


def describe(aggregate: Aggregate) -> dict[str, Any]:
    """What the page says of a log besides its facts and notes."""
    header, units, time = aggregate.header, Units.of(aggregate.header), aggregate.time
    own, others = shown_arms(aggregate)
    names = [clean(header.arms[arm]) or f"arm {arm}" for arm in own]
    return {
        "title": f"{scenario_name(header)}: {clean(header.policy)}",
        "scenario": scenario_name(header),
        "policy": clean(header.policy),
        "arms": [*names, *([f"{others} other arms"] if others else [])],
        "means": [header.means[arm] for arm in own] + ([None] if others else []),
        "means_known": None not in header.means,
        "unit": units.time,
        "calendar": _calendar(header),
        "reward": units.reward,
        "index_unit": "probability" if header.kind in BY_PROBABILITY else f"{units.reward} per pull",
        "span": header.span,
        "clairvoyant": header.clairvoyant,
        "simulated": is_simulated(header),
        "only_pulls": header.detail == "pulls",
        "pulls": aggregate.pulls.count,
        "events": aggregate.events,
        "time": {"origin": time.origin, "width": time.width, "bins": time.used},
        "heats": {name: _heat_axes(heat) for name, heat in _heats(aggregate).items()},
        **{name: bool(aggregate.arm_counts[name].any()) for name in PER_ARM},
        "due": aggregate.due.tolist(),
        "looks": Looks(aggregate).described(),
        "changes": described_changes(aggregate),
        "look_arms": [clean(name) or f"arm {arm}" for arm, name in enumerate(header.arms[:MOST_LAYERS])],
    }


def _calendar(header: Header) -> dict[str, float] | None:
    """Milliseconds from 1970 to time 0, by the clock of the log's own zone, and of a unit of time."""
    if header.calendar is None:
        return None
    origin, length = header.calendar
    return {"start": origin.replace(tzinfo=UTC).timestamp() * 1000, "unit": length / 1000}


def _heats(aggregate: Aggregate) -> dict[str, Heat]:
    """The heat maps that show something: delays only if there are any, and if it is known when parts were due."""
    found = {"age": aggregate.ages} if aggregate.ages.age.used else {}
    delayed = aggregate.delays.age.used > 1 and is_simulated(aggregate.header)
    return found | ({"delay": aggregate.delays} if delayed else {})


def _heat_axes(heat: Heat) -> dict[str, float]:
    layers = heat.counts.shape[2]
    return {
        "origin": heat.time.origin,
        "width": heat.time.width,
        "columns": heat.time.used,
        "rows": heat.age.used,
        "height": heat.age.width,
        "layers": layers,
        "most": float(heat.sums.max(initial=0.0)),
        "least": FAINTEST * float(heat.sums.max(initial=0.0)),
        "refunds": bool((heat.sums < 0).any()),
    }


def levels(sums: Any) -> Any:
    """The level of each sum, from 1 for `FAINTEST` of the largest to `SHADES` for the largest; 0 if it is not above 0.

    Examples
    --------
    >>> import numpy as np
    >>> levels(np.array([-1.0, 0.0, 1e-9, 0.01, 20.0])).tolist()
    [0.0, 0.0, 1.0, 87.0, 255.0]
    """
    some = sums > 0
    share = np.divide(sums, sums.max(initial=0.0), out=np.full(sums.shape, FAINTEST), where=some)
    found = 1 + (SHADES - 1) * (1 - np.log(np.maximum(share, FAINTEST)) / np.log(FAINTEST))
    return np.where(some, np.round(found), 0.0)


def add_arrays(block: Block, prefix: str, aggregate: Aggregate, rows: Ints, parts: PullParts) -> None:
    """Add the arrays of a log to the block; their names begin with the prefix."""
    own, others = shown_arms(aggregate)
    used, pulls = aggregate.time.used, aggregate.pulls
    number = "u4" if aggregate.counts.dtype.kind == "i" else "f8"

    def fold(bins: Any) -> Any:
        """Bins of time with the arms in the order of the page, in the second axis."""
        kept = bins[:used][:, own]
        if not others:
            return kept
        rest = bins[:used].sum(axis=1, keepdims=True) - kept.sum(axis=1, keepdims=True)
        return np.concatenate([kept, rest], axis=1)

    for kind, name in ((PULL, "pulls"), (PARTIAL, "parts"), (CLOSED, "closed"), (LATE, "late"), (DROPPED, "lost")):
        block.add(f"{prefix}.count.{name}", fold(aggregate.counts[..., kind]).T, number)
        if kind not in (DROPPED, CLOSED) and aggregate.sums[..., kind].any():
            block.add(f"{prefix}.sum.{name}", fold(aggregate.sums[..., kind]).T, "f8")
    _add_expected(block, prefix, aggregate, fold)
    groups = np.full(len(aggregate.header.arms), len(own))
    groups[own] = np.arange(len(own))
    means, reaches = aggregate.closed.means(aggregate.counts[:used, :, CLOSED], groups, pulls.average_weight())
    block.add(f"{prefix}.closed.mean", means.T, "f8")
    block.add(f"{prefix}.closed.reach", reaches.T, "f4")
    for name in PER_ARM:
        if aggregate.arm_counts[name].any():
            block.add(f"{prefix}.{name}", aggregate.average(name)[:used, own].T, "f4")
    for name, heat in _heats(aggregate).items():
        counts, sums = (cells[: heat.time.used, : heat.age.used].T for cells in (heat.counts, heat.sums))
        block.add(f"{prefix}.{name}.counts", counts, number)
        layer = pulls.arm[: pulls.count] if heat.counts.shape[2] > 1 else np.zeros(pulls.count, dtype=np.int64)
        made = np.zeros((heat.counts.shape[2], heat.time.used))
        np.add.at(made, (layer, heat.time.places(pulls.time[: pulls.count])), pulls.weight[: pulls.count])
        block.add(f"{prefix}.{name}.pulls", made, number)
        block.add(f"{prefix}.{name}.sums", levels(sums), "u1")
    block.add(f"{prefix}.pull.time", pulls.time[rows], "f8")
    block.add(f"{prefix}.pull.arm", groups[pulls.arm[rows]], "u1")
    for name, stored in (("paid", "f4"), ("last", "f4"), ("parts", "u2"), ("late", "u2")):
        block.add(f"{prefix}.pull.{name}", getattr(pulls, name)[rows], stored)
    _add_parts(block, f"{prefix}.parts", aggregate, parts, groups, own)


def _add_expected(block: Block, prefix: str, aggregate: Aggregate, fold: Callable[[Any], Any]) -> None:
    """Add what follows from the arms' means, if they are known: what is outstanding, and the regret."""
    if None in aggregate.header.means:
        return
    block.add(f"{prefix}.outstanding", fold(aggregate.outstanding()).T, "f8")
    if aggregate.pulls.count:
        block.add(f"{prefix}.regret", aggregate.regret()[: aggregate.time.used], "f8")


def _add_parts(block: Block, prefix: str, aggregate: Aggregate, parts: PullParts, places: Ints, own: Ints) -> None:
    """Add the pulls whose parts the page has: their summaries too, which need not be among the others."""
    rows, pulls = parts.rows, aggregate.pulls
    block.add(f"{prefix}.pull", parts.pulls, "u4")
    block.add(f"{prefix}.pulled", pulls.time[rows], "f8")
    block.add(f"{prefix}.arm", places[pulls.arm[rows]], "u1")
    if parts.open is not None:
        block.add(f"{prefix}.open", parts.open, "u4")
    block.add(f"{prefix}.start", parts.starts, "u4")
    block.add(f"{prefix}.kind", parts.kind, "u1")
    block.add(f"{prefix}.part", parts.part, "u2")
    counts = np.diff(parts.starts)
    block.add(f"{prefix}.age", parts.time - np.repeat(pulls.time[rows], counts), "f4")
    block.add(f"{prefix}.value", np.nan_to_num(parts.value), "f4")
    if parts.indices is not None:
        block.add(f"{prefix}.indices", parts.indices[:, own], "f4")
