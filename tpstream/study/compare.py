"""Comparisons: several policies, many runs, the same random numbers for all."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from tpstream.analysis.regret import checkpoints, count_pulls
from tpstream.model.arrays import Ints
from tpstream.model.errors import StudyError
from tpstream.policies.form import PolicyForm
from tpstream.study.result import Study
from tpstream.study.run import simulate
from tpstream.study.scenario import PolicyChoice, Scenario

Progress = Callable[[int], None]
"""Is told how many rounds were done since it was last called."""


@dataclass(frozen=True)
class Piece:
    """One run of one policy: the unit of work."""

    scenario: Scenario
    policy: str | PolicyForm
    label: str
    seed: int
    run: int
    log: Path | None
    force: bool


@dataclass(frozen=True, eq=False)
class Done:
    """What a piece found."""

    label: str
    run: int
    counts: Ints
    seconds: float


def compare(
    scenario: Scenario,
    policies: Sequence[str | PolicyForm] | None = None,
    *,
    runs: int = 10,
    seed: int | None = None,
    jobs: int = 1,
    logs: str | Path | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> Study:
    """Run every policy (default: those of the scenario) `runs` times on common random numbers.

    `jobs` is the number of processes, `logs` the folder in which every run leaves its event log.
    """
    if runs < 1:
        raise StudyError(f"runs must be at least 1, got {runs}")
    if jobs < 1:
        raise StudyError(f"jobs must be at least 1, got {jobs}")
    asked: Sequence[str | PolicyForm] = [c.label for c in scenario.choices()] if policies is None else policies
    choices = [scenario.policy(policy) for policy in asked]
    _refuse_repeats(choices)
    seed = scenario.seed if seed is None else seed
    pieces = [
        Piece(scenario, policy, choice.label, seed, run, _log_path(logs, choice.label, run), force)
        for policy, choice in zip(asked, choices, strict=True)
        for run in range(runs)
    ]
    done = {(piece.label, piece.run): piece for piece in _work(pieces, jobs, progress)}
    problem = scenario.problem()
    assert problem.means is not None  # noqa: S101 (a scenario knows its means)
    labels = [choice.label for choice in choices]
    return Study(
        name=scenario.name,
        seed=seed,
        arms=problem.names,
        means=problem.means,
        rounds=checkpoints(scenario.horizon),
        counts={label: np.stack([done[label, run].counts for run in range(runs)]) for label in labels},
        seconds={label: np.array([done[label, run].seconds for run in range(runs)]) for label in labels},
        logs={label: [piece.log for piece in pieces if piece.label == label and piece.log] for label in labels},
    )


def do_piece(piece: Piece, progress: Progress | None = None) -> Done:
    """Run one piece, here or in another process."""
    told = 0

    def tell(round: int) -> None:
        nonlocal told
        if progress is not None:
            progress(round - told)
            told = round

    run = simulate(
        piece.scenario, piece.policy, seed=piece.seed, run=piece.run, log=piece.log, force=piece.force, progress=tell
    )
    tell(piece.scenario.horizon)
    counts = count_pulls(run.arms, len(piece.scenario.arms), checkpoints(piece.scenario.horizon))
    return Done(piece.label, piece.run, counts, run.seconds)


def _work(pieces: Sequence[Piece], jobs: int, progress: Progress | None) -> Iterator[Done]:
    """The pieces' results, as they come."""
    if jobs == 1 or len(pieces) == 1:
        for piece in pieces:
            yield do_piece(piece, progress)
        return
    with ProcessPoolExecutor(min(jobs, len(pieces)), mp_context=get_context("spawn")) as pool:
        futures = [pool.submit(do_piece, piece) for piece in pieces]
        try:
            for future in as_completed(futures):
                yield future.result()
                if progress is not None:
                    progress(pieces[0].scenario.horizon)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def default_jobs() -> int:
    """One job for each core that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _refuse_repeats(choices: Iterable[PolicyChoice]) -> None:
    seen: set[str] = set()
    for choice in choices:
        if choice.label in seen:
            raise StudyError(f"policy {choice.label!r} is asked for twice; give each a name or parameters of its own")
        seen.add(choice.label)


def _log_path(folder: str | Path | None, label: str, run: int) -> Path | None:
    if folder is None:
        return None
    plain = "".join(letter if letter.isalnum() or letter in "-.=" else "-" for letter in label)
    return Path(folder) / f"{plain}.run-{run:03d}.jsonl"
