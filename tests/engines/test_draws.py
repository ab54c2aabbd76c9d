"""Draws: every arm's pulls come from that arm's own stream, whoever asks, and are checked."""

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from families import SOME, every
from hypothesis import given, settings, strategies as st
from worlds import PlainArm, Run, run_world, table_of, table_world, table_worlds, world_of

from tpstream.engines import draws as draws_module
from tpstream.engines.draws import Draws, DrawsReader
from tpstream.model.arrays import Floats
from tpstream.model.errors import RewardError
from tpstream.model.world import BLOCK, Purpose, World, open_stream
from tpstream.policies import POLICIES

SPAN = 3
PURPOSES = {"rewards": 0, "delays": 1, "arrivals": 2, "policy": 3}


def uniform_world(arms: int = 3, horizon: int = 40, **rest: Any) -> World:
    """Arms that pay uniform parts."""
    return world_of([PlainArm(1.0 + arm, SPAN) for arm in range(arms)], span=SPAN, horizon=horizon, **rest)


def literal_stream(seed: int, run: int, purpose: str, arm: int) -> np.random.Generator:
    """The stream of the design, written out."""
    sequence = np.random.SeedSequence(seed, spawn_key=(run, PURPOSES[purpose], arm))
    return np.random.Generator(np.random.PCG64(sequence))


def paid(run: Run) -> dict[int, list[list[float]]]:
    """What the n-th pull of each arm paid in a drained run."""
    pulls: dict[int, list[float]] = defaultdict(list)
    for event in run.of_kind("partial"):
        pulls[event.pull].append(event.value)
    rows: dict[int, list[list[float]]] = defaultdict(list)
    for pull, arm in enumerate(run.arms.tolist(), start=1):
        rows[arm].append(pulls[pull])
    return rows


@given(st.integers(0, 2**64), st.integers(0, 1000), st.sampled_from(sorted(PURPOSES)), st.integers(0, 50))
def test_streams_are_keyed_as_designed(seed: int, run: int, purpose: str, arm: int) -> None:
    """A stream is SeedSequence(seed, spawn_key=(run, purpose, arm)), with purposes numbered in the design's order."""
    stream = open_stream(seed, run, Purpose[purpose.upper()], arm)
    assert stream.random(4).tolist() == literal_stream(seed, run, purpose, arm).random(4).tolist()


def test_only_streams_that_are_used_are_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    """An arm that is not pulled, and delays that the world does not have, cost no stream."""
    opened: list[tuple[Purpose, int]] = []

    def spy(seed: int, run: int, purpose: Purpose, arm: int = 0) -> np.random.Generator:
        opened.append((purpose, arm))
        return open_stream(seed, run, purpose, arm)

    monkeypatch.setattr(draws_module, "open_stream", spy)
    reader = DrawsReader(Draws(uniform_world()))
    for arm in (2, 0, 2):
        reader.next_block(arm)
    assert opened == [(Purpose.REWARDS, 2), (Purpose.REWARDS, 0)]


@settings(max_examples=15)
@given(st.integers(0, 2**32), st.integers(0, 99))
def test_pulls_of_an_arm_come_from_its_stream(seed: int, run: int) -> None:
    """The n-th pull of an arm is the n-th row that its stream draws, in whatever order arms are asked."""
    draws = DrawsReader(Draws(uniform_world(seed=seed, run=run)))
    asked = np.random.default_rng(seed).permutation(np.repeat([0, 1, 2], [BLOCK + 9, 5, 2 * BLOCK + 1]))
    rows: dict[int, list[list[float]]] = defaultdict(list)
    for arm in asked.tolist():
        rows[arm].append(draws.next_pull(arm).rewards.tolist())
    expected = {arm: literal_rows(seed, run, arm)[: len(rows[arm])] for arm in rows}
    assert rows == expected


def literal_rows(seed: int, run: int, arm: int) -> list[list[float]]:
    """Three blocks of 256 pulls of an arm of `uniform_world`."""
    stream = literal_stream(seed, run, "rewards", arm)
    blocks = [stream.random((256, SPAN)) * ((1.0 + arm) / SPAN) for _ in range(3)]
    return np.concatenate(blocks).tolist()


@settings(max_examples=20)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.sampled_from([1, 200, 300])), max_size=12))
def test_readers_share_draws_without_noticing(turns: list[tuple[int, int, int]]) -> None:
    """Three readers of the same draws, each at its own pace, all read every arm's stream from its beginning."""
    draws = Draws(uniform_world(seed=8, run=9), readers=3)
    readers = [DrawsReader(draws) for _ in range(3)]
    rows: dict[tuple[int, int], list[list[float]]] = defaultdict(list)
    for reader, arm, pulls in turns:
        left = min(pulls, 3 * BLOCK - len(rows[reader, arm]))
        rows[reader, arm] += [readers[reader].next_pull(arm).rewards.tolist() for _ in range(left)]
    assert rows == {(reader, arm): literal_rows(8, 9, arm)[: len(read)] for (reader, arm), read in rows.items()}


def test_block_size_is_part_of_the_contract() -> None:
    """Pulls are drawn 256 at a time."""
    assert BLOCK == 256


@pytest.mark.parametrize("name", every(POLICIES.builtin))
def test_the_nth_pull_pays_the_same_under_every_policy(name: str) -> None:
    """What an arm's pulls pay is its stream's first rows, whichever policy pulls it."""
    world = uniform_world(horizon=300, seed=3, run=4, drain=True)
    rows = paid(run_world(world, name))
    assert rows == {arm: literal_rows(3, 4, arm)[: len(rows[arm])] for arm in rows}


@given(table_worlds(longest=30), st.sampled_from(SOME))
def test_the_nth_pull_pays_the_nth_recorded_row(case: tuple[World, int], name: str) -> None:
    """From a table, too, the n-th pull of an arm takes its n-th row."""
    problem, table = case[0].problem, table_of(case[0])
    world = table_world(table, problem.horizon, maxima=problem.maxima.tolist(), groups=problem.groups, drain=True)
    rows = paid(run_world(world, name))
    assert rows == {arm: table[arm][: len(rows[arm])] for arm in rows}


@pytest.mark.parametrize("change", [{"seed": 1}, {"run": 1}])
def test_another_seed_or_run_draws_other_rewards(change: dict[str, int]) -> None:
    """Neither two seeds nor two runs share rewards."""
    rows = [DrawsReader(Draws(uniform_world(**rest))).next_pull(0).rewards.tolist() for rest in ({}, change)]
    assert rows[0] != rows[1]


def test_ties_use_the_policys_own_stream() -> None:
    """The uniform policy's decisions follow from the policy stream of the design alone."""
    world = uniform_world(seed=5, run=6)
    again = world_of([PlainArm(9.0, SPAN) for _ in range(3)], span=SPAN, horizon=40, seed=5, run=6)
    assert run_world(world, "uniform").arms.tolist() == run_world(again, "uniform").arms.tolist()


@dataclass
class BadArm:
    """An arm whose second block of pulls is spoiled."""

    spoil: Any
    maximum: float = 3.0
    mean: float = 1.0
    blocks: int = 0

    def sample(self, stream: np.random.Generator, pulls: int) -> Any:  # noqa: ARG002
        """Ones, then something bad."""
        self.blocks += 1
        block = np.ones((pulls, SPAN))
        return block if self.blocks == 1 else self.spoil(block)


def put(row: int, column: int, value: float) -> Any:
    """Spoil one part."""

    def spoil(block: Floats) -> Floats:
        block[row, column] = value
        return block

    return spoil


BAD = {
    "NaN": (put(6, 1, np.nan), r"pull 263 of the arm has part 2 = nan"),
    "negative": (put(0, 2, -0.5), r"pull 257 of the arm has part 3 = -0\.5"),
    "hardly negative": (put(255, 0, -1e-300), r"pull 512 of the arm has part 1 = -1e-300"),
    "over the maximum": (put(3, 0, 1.001), r"pull 260 of the arm has a total of 3\.00.*at most 3\.0"),
    "infinite": (put(3, 0, np.inf), r"pull 260 of the arm has part 1 = inf"),
    "too few pulls": (lambda block: block[1:], r"shape \(256, 3\), got float64 \(255, 3\)"),
    "too many parts": (lambda block: np.hstack([block, block]), r"shape \(256, 3\), got float64 \(256, 6\)"),
    "one row": (lambda block: block[0], r"shape \(256, 3\), got float64 \(3,\)"),
    "float32": (lambda block: block.astype(np.float32), r"got float32 \(256, 3\)"),
    "integers": (lambda block: block.astype(np.int64), r"got int64 \(256, 3\)"),
    "a list": (lambda block: block.tolist(), r"got list"),
    "nothing": (lambda _: None, r"got NoneType"),
}


@pytest.mark.parametrize("fault", BAD)
def test_bad_rewards_are_refused(fault: str) -> None:
    """A reward model that pays something impossible is an error with the arm, the pull and what was paid."""
    spoil, text = BAD[fault]
    draws = DrawsReader(Draws(world_of([PlainArm(1.0, SPAN), BadArm(spoil)], span=SPAN, horizon=300)))
    for _ in range(BLOCK):
        draws.next_pull(1)
    with pytest.raises(RewardError, match=rf"'arm-1'.*{text}"):
        draws.next_pull(1)


def test_rounding_is_not_a_fault() -> None:
    """Parts whose sum exceeds the maximum by rounding only are taken as they are."""
    arm = BadArm(put(0, 0, 1.0 + 1e-12), blocks=1)
    draws = DrawsReader(Draws(world_of([arm], span=SPAN, horizon=300)))
    assert draws.next_pull(0).rewards.tolist() == [1.0 + 1e-12, 1.0, 1.0]


def test_bad_rewards_stop_the_run() -> None:
    """An engine's run ends with the error of the draw."""
    world = world_of([BadArm(put(0, 0, np.nan), blocks=1)], span=SPAN, horizon=5)
    with pytest.raises(RewardError, match="pull 1 of the arm has part 1 = nan"):
        run_world(world, "uniform")


def test_records_that_run_out_are_an_error() -> None:
    """A recorded arm that is pulled once too often is named, with the missing pull and a remedy."""
    world = table_world(np.ones((1, 4, SPAN)), horizon=5)
    with pytest.raises(RewardError, match=r"'arm-0' has no recorded pull 5,.*draw = \"resample\""):
        run_world(world, "uniform")


def test_records_may_be_used_up() -> None:
    """A record of as many pulls as rounds suffices, also when it is longer than one block."""
    run = run_world(table_world(np.ones((1, BLOCK + 3, SPAN)), horizon=BLOCK + 3), "uniform")
    assert len(run.arms) == BLOCK + 3
