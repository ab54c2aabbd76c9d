"""The check of reward models: `check_rewards`."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tpstream.engines.draws import TOLERANCE, check_block
from tpstream.model.arrays import Floats
from tpstream.model.interfaces import ArmRewards, BuildContext, Recorded, RewardKind, Rewards
from tpstream.model.numba_support import hold_stream
from tpstream.model.world import BLOCK, Problem, Purpose, World, open_stream
from tpstream.rewards import REWARDS
from tpstream.rewards.base import check_rewards as check_promises
from tpstream.testing.subject import Subject, check_arms, check_builds, check_mean, check_repeatable, watched

Keys = Mapping[str, Any]


def check_rewards(
    kind: RewardKind | str,
    settings: Keys | None = None,
    arms: Sequence[Keys] = ({}, {}),
    *,
    span: int = 12,
    folder: str | Path = ".",
    pulls: int = 80 * BLOCK,
    name: str | None = None,
) -> None:
    """Check that a reward model keeps what reward models promise.

    Shapes and types are right; parts are at least 0 and add up to at most the maximum; no group of parts pays more
    than its share of the maximum; the mean is the declared one, up to chance; equal streams give equal rewards, and no
    other randomness is used; `fill`, if there is one, gives what `sample` gives; what an arm pays depends neither on
    other runs nor on when other arms are drawn; nobody else can change what it keeps.

    Parameters
    ----------
    kind
        The reward model as it is registered, or its name once it is installed or loaded.
    settings
        Keys of the `[rewards]` table besides `kind`.
    arms
        For each arm the keys of its `[[arms]]` table besides `name`.
    span
        Rounds over which a pull pays.
    folder
        Where relative file names in the settings start.
    pulls
        How many pulls of each arm are drawn. The mean is compared with the declared one at an error rate of one in a
        million.
    name
        What a report of a fault calls the model, if it is given as an object.

    Raises
    ------
    AssertionError
        If the model breaks a promise; the text says which.

    Examples
    --------
    >>> from tpstream.testing import check_rewards
    >>> check_rewards("smooth-beta", {"groups": 3}, [{"maximum": 10.0}, {"maximum": 5.0}], span=12)
    """
    with watched(REWARDS, kind, name) as subject:
        build = partial(_build, subject, settings, arms, span, Path(folder))
        rewards = build()
        world = _make_world(rewards, span)
        drawn = []
        for arm, model in enumerate(rewards.arms):
            recorded = isinstance(model, Recorded)
            rows = _recorded(subject, model, pulls) if recorded else _sampled(subject, model, world, arm, pulls)
            check_block(rows, len(rows), world, arm, 0)
            _check_groups(subject, rewards, arm, rows)
            drawn.append(rows)
        _check_independence(subject, build, len(arms))
        for arm, (model, rows) in enumerate(zip(rewards.arms, drawn, strict=True)):
            if not isinstance(model, Recorded):
                _check_sampling(subject, model, arm, span)
                if model.maximum is not None and not rewards.signed:  # the check's bound needs both
                    check_mean(subject, f"arm {arm}", rows.sum(axis=1), float(model.mean), float(model.maximum))


def _build(subject: Subject, settings: Keys | None, arms: Sequence[Keys], span: int, folder: Path) -> Rewards:
    kind = subject.definition
    given = subject.settings(kind.settings, settings)
    of_arms = [subject.settings(kind.arm_settings, keys) for keys in arms]
    context = BuildContext([f"arm-{arm + 1}" for arm in range(len(arms))], span, folder, len(arms))
    rewards = kind.build(given, of_arms, context)
    if not isinstance(rewards, Rewards):
        subject.fail(f"build must return Rewards, got {type(rewards).__name__}")
    if len(rewards.arms) != len(arms):
        subject.fail(f"build must return one model for each of {len(arms)} arms, got {len(rewards.arms)}")
    check_promises(rewards, span)
    return rewards


def _make_world(rewards: Rewards, span: int) -> World:
    arms = rewards.arms
    problem = Problem(
        names=tuple(f"arm-{arm + 1}" for arm in range(len(arms))),
        maxima=np.array([np.nan if arm.maximum is None else arm.maximum for arm in arms], dtype=np.float64),
        span=span,
        horizon=len(arms),
        groups=rewards.groups,
        signed=rewards.signed,
    )
    return World(problem, Rewards(arms, rewards.groups, signed=rewards.signed), seed=0, run=0, drain=True)


def _sampled(subject: Subject, model: ArmRewards, world: World, arm: int, pulls: int) -> Floats:
    """Many pulls, drawn and checked in blocks as in a run."""
    stream = open_stream(0, 0, Purpose.REWARDS, arm)
    blocks = []
    for first in range(0, pulls, BLOCK):
        block = model.sample(stream, BLOCK)
        check_block(block, BLOCK, world, arm, first)
        blocks.append(block.copy())
        if not block.flags.writeable:
            subject.fail("sample returns an array that cannot be written to; return a new one")
    return np.concatenate(blocks)


def _recorded(subject: Subject, model: Any, pulls: int) -> Floats:
    """The rows of a record; they must be equal however they are read, and copies."""
    rows = [model.recorded(0, BLOCK).copy()]
    while len(rows[-1]) == BLOCK and sum(map(len, rows)) < pulls:
        rows.append(model.recorded(sum(map(len, rows)), BLOCK).copy())
    joined = np.concatenate(rows)
    if not len(joined):
        subject.fail("has no recorded pull")
    for first, count in ((0, 1), (1, 3), (0, BLOCK)):
        expected = joined[first : first + count]
        if not np.array_equal(model.recorded(first, count), expected):
            subject.fail(f"recorded({first}, {count}) is not the same as when it was read before")
        model.recorded(first, count)[:] = -1.0
    if not np.array_equal(model.recorded(0, BLOCK), rows[0]):
        subject.fail("recorded returns its own memory, so that others can change it; return a copy")
    return joined


def _check_groups(subject: Subject, rewards: Rewards, arm: int, rows: Floats) -> None:
    """Check that each group pays at most its share of the maximum."""
    maximum = rewards.arms[arm].maximum
    if rewards.groups is None or maximum is None:
        return
    share = maximum / rewards.groups
    sums = rows.reshape(len(rows), rewards.groups, -1).sum(axis=2)
    if sums.max() > share * (1 + TOLERANCE):
        pull, group = (int(place) for place in np.argwhere(sums > share * (1 + TOLERANCE))[0])
        subject.fail(
            f"promises {rewards.groups} groups, but group {group + 1} of pull {pull + 1} of arm {arm} pays "
            f"{sums[pull, group]:.6g}, more than maximum / groups = {share:.6g}; promise fewer"
        )


def _check_independence(subject: Subject, build: Callable[[], Rewards], arms: int) -> None:
    """Check that what an arm pays depends neither on other runs nor on when other arms are drawn."""

    def start(run: int = 0) -> Callable[[int, int], list[Floats]]:
        models = build().arms
        streams = [open_stream(0, run, Purpose.REWARDS, arm) for arm in range(arms)]

        def draw(arm: int, block: int) -> list[Floats]:
            model = models[arm]
            if isinstance(model, Recorded):
                return [model.recorded(block * BLOCK, BLOCK)]
            return [model.sample(streams[arm], BLOCK)]

        return draw

    check_builds(subject, "rewards", lambda run: [rows for arm in range(arms) for rows in start(run)(arm, 0)])
    check_arms(subject, "rewards", arms, start)


def _check_sampling(subject: Subject, model: ArmRewards, arm: int, span: int) -> None:
    """Check that equal streams give equal rewards, for any number of pulls, in new arrays."""

    def draw(seed: int, pulls: int = BLOCK) -> Floats:
        return model.sample(open_stream(seed, 0, Purpose.REWARDS, arm), pulls)

    check_repeatable(subject, f"sampling arm {arm}", lambda seed: [draw(seed)])
    if hasattr(model, "fill"):
        _check_filling(subject, model, arm, span)
    expected = draw(0).copy()
    draw(0)[:] = -1.0
    if not np.array_equal(draw(0), expected):
        subject.fail("sample returns its own memory, so that others can change it; return a new array")
    for pulls in (1, 7):
        shape = draw(0, pulls=pulls).shape
        if shape != (pulls, span):
            subject.fail(f"sample of {pulls} pulls must have the shape ({pulls}, {span}), got {shape}")


def _check_filling(subject: Subject, model: Any, arm: int, span: int) -> None:
    """Check that `fill` writes what `sample` returns, block after block: an arm's blocks come from one or the other."""
    sampling, filling = (open_stream(0, 0, Purpose.REWARDS, arm) for _ in range(2))
    held = hold_stream(filling)
    for block in range(3):
        expected, found = model.sample(sampling, BLOCK), np.full((BLOCK, span), np.nan)
        model.fill(held, found)
        if not np.array_equal(found, expected):
            pull, part = (int(place) for place in np.argwhere(found != expected)[0])
            subject.fail(
                f"fill writes {found[pull, part]} for part {part + 1} of pull {block * BLOCK + pull + 1} of arm {arm}, "
                f"where sample returns {expected[pull, part]}; draw and compute in the same order"
            )
