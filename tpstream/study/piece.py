"""The unit of work: some runs of a world under several policies, which share the random numbers they are paid by."""

import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tpstream.analysis.regret import Tally
from tpstream.engines.draws import Draws
from tpstream.log.header import Detail
from tpstream.model.arrays import Ints
from tpstream.model.errors import LogError, TpstreamError
from tpstream.model.story import story
from tpstream.study.entrants import Entrant, Site
from tpstream.study.records import Outcome, pack
from tpstream.study.run import LogPlace, make_world, start_run
from tpstream.study.sinks import SinkChoice

Progress = Callable[[int], None]
"""Is told how many rounds were done since it was last called."""


@dataclass(frozen=True)
class Logs:
    """Where runs leave their logs, in which form, how much of them, and whether one that is there is overwritten."""

    folder: Path
    form: str
    detail: Detail
    force: bool

    def path(self, label: str, run: int) -> Path:
        """The log of a policy's run."""
        plain = "".join(letter if letter.isalnum() or letter in "-.=" else "-" for letter in label)
        return self.folder / f"{plain}.run-{run:03d}.{self.form}"

    def place(self, label: str, run: int, *, again: bool) -> LogPlace:
        """The same with all that is asked; the log of a run that starts again is overwritten."""
        return LogPlace(self.path(label, run), self.form, self.detail, self.force or again)


@dataclass(frozen=True, eq=False)
class Piece:
    """Some runs of some policies in one world; pulls are counted up to each of the `rounds`."""

    site: Site
    entrants: tuple[Entrant, ...]
    runs: tuple[int, ...]
    seed: int
    rounds: Ints
    engine: str
    logs: Logs | None = None
    sinks: tuple[SinkChoice, ...] = ()

    @property
    def length(self) -> int:
        """Rounds of all policies and runs."""
        return len(self.runs) * len(self.entrants) * self.site.scenario.horizon


@dataclass(frozen=True, eq=False)
class Finished:
    """What became of a piece, and the seconds that all of it took."""

    outcomes: list[Outcome]
    seconds: float


class Gauge:
    """Tells progress of as many rounds as a run has, also where some are done again or the run fails."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress = progress
        self._left = total

    def add(self, rounds: int) -> None:
        """So many rounds were done."""
        fresh = min(rounds, self._left)
        self._left -= fresh
        if self._progress is not None:
            self._progress(fresh)

    def fill(self) -> None:
        """The run is over, if not by its last round."""
        if self._left:
            self.add(self._left)


def do_piece(piece: Piece, progress: Progress | None = None) -> Finished:
    """Do all runs of a piece, here or in another process; a policy that fails in a run leaves the others alone."""
    began = time.perf_counter()
    found: list[Outcome] = []
    for run in piece.runs:
        gauge = Gauge(progress, piece.length // len(piece.runs))
        found += _do_run(piece, run, gauge)
        gauge.fill()
    return Finished(found, time.perf_counter() - began)


def _do_run(piece: Piece, run: int, gauge: Gauge) -> list[Outcome]:
    """One run. If a policy fails the others start anew: what they share may have been left in the middle of a draw."""
    entrants = list(piece.entrants)
    failed: list[Outcome] = []
    while entrants:
        try:
            return failed + _race(piece, entrants, run, gauge, again=bool(failed))
        except Failure as failure:
            failed.append(Outcome(failure.entrant.entry, run, b"", 0.0, failure.text))
            entrants.remove(failure.entrant)
    return failed


def _race(piece: Piece, entrants: list[Entrant], run: int, gauge: Gauge, *, again: bool) -> list[Outcome]:
    """The policies take turns, so that shared draws need not be kept for long."""
    scenario = piece.site.scenario
    told = story(scenario=scenario.name, seed=piece.seed, run=run)
    told.debug("run started", policies=[entrant.choice.label for entrant in entrants], horizon=scenario.horizon)
    draws = Draws(make_world(scenario, piece.seed, run), readers=len(entrants))
    tallies = [Tally(len(scenario.arms), piece.rounds) for _ in entrants]
    seconds = np.zeros(len(entrants))
    with ExitStack() as stack:
        turns: dict[int, Iterator[Ints]] = {}
        for number, entrant in enumerate(entrants):
            with _blamed(entrant):
                place = piece.logs.place(entrant.choice.label, run, again=again) if piece.logs else None
                turns[number] = start_run(draws, scenario, entrant.choice, piece.engine, place, piece.sinks, stack)
        while turns:
            for number in list(turns):
                began = time.perf_counter()
                with _blamed(entrants[number]):
                    arms = next(turns[number], None)
                seconds[number] += time.perf_counter() - began
                if arms is None:
                    del turns[number]
                    continue
                tallies[number].add(arms)
                gauge.add(len(arms))
    told.debug("run ended", seconds=round(float(seconds.sum()), 3))
    return [
        Outcome(entrant.entry, run, pack(tally.counts()), float(spent))
        for entrant, tally, spent in zip(entrants, tallies, seconds, strict=True)
    ]


class Failure(Exception):  # noqa: N818 (a fact that is passed on, not an error that is shown)
    """A policy failed in a run."""

    def __init__(self, entrant: Entrant, text: str) -> None:
        super().__init__(text)
        self.entrant = entrant
        self.text = text


@contextmanager
def _blamed(entrant: Entrant) -> Iterator[None]:
    """What is raised inside is the failure of this entrant, unless a log could not be written."""
    try:
        yield
    except LogError:
        raise
    except Exception as error:
        raise Failure(entrant, describe(error)) from error


def describe(error: Exception) -> str:
    """One line about an error, with the place of one that is not ours."""
    ours = isinstance(error, TpstreamError)
    text = " ".join((str(error) if ours else f"{type(error).__name__}: {error}").split())
    origin = error.__cause__ if ours else error
    frames = traceback.extract_tb(origin.__traceback__) if origin and not isinstance(origin, TpstreamError) else []
    return f"{text} ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else text
