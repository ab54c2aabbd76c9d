"""The unit of work: some runs of a world under several policies, which share the random numbers they are paid by.

Entrants and sites: a policy and a world as they travel to whoever does the work."""

import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from tpstream.analysis.regret import Tally
from tpstream.engines.draws import Draws
from tpstream.experiment.identity import hash_of, identify_world
from tpstream.experiment.store import RunResult, pack
from tpstream.log.schema import Detail, package_versions
from tpstream.model.arrays import Ints
from tpstream.model.errors import LogError, StudyError, TpstreamError
from tpstream.model.notes import logger
from tpstream.policies import POLICIES
from tpstream.policies.base import PolicyForm
from tpstream.run.simulate import LogPlace, make_world, start_run
from tpstream.run.sinks import SinkChoice
from tpstream.scenario.plugins import Plugin, load_elsewhere, loaded_plugins
from tpstream.scenario.policy_choice import PolicyChoice
from tpstream.scenario.scenario import Scenario
from tpstream.scenario.tables import find_policy


@dataclass(frozen=True)
class StudyPolicy:
    """A policy in a world, under the entry by which its results are kept."""

    entry: str
    choice: PolicyChoice

    @property
    def named(self) -> bool:
        """Whether the policy is found by its name, in every process."""
        name = self.choice.form.name
        return name in POLICIES.names() and find_policy(name) is self.choice.form

    def __reduce__(self) -> tuple[Any, ...]:
        """A policy that has a name travels by it: compiled code stays where it is."""
        known: str | PolicyForm = self.choice.form.name if self.named else self.choice.form
        parameters = self.choice.parameters.model_dump(mode="json")
        return _enter, (loaded_plugins(), self.entry, self.choice.label, known, parameters)


def _enter(
    plugins: tuple[Plugin, ...], entry: str, label: str, known: str | PolicyForm, parameters: Mapping[str, Any]
) -> StudyPolicy:
    load_elsewhere(plugins)
    form = find_policy(known) if isinstance(known, str) else known
    return StudyPolicy(entry, PolicyChoice(label, form, form.parameters(**parameters)))


@dataclass(frozen=True)
class StudyWorld:
    """A world: a scenario, and the hash of all that its numbers depend on."""

    scenario: Scenario
    identity: str

    def __reduce__(self) -> tuple[Any, ...]:
        """Other processes build it once and keep it: a recording may be large."""
        scenario = self.scenario
        sealed = WorldRecipe(self.identity, scenario.resolved(), scenario.folder, scenario.source)
        return _build, (loaded_plugins(), sealed, package_versions())


@dataclass(frozen=True)
class WorldRecipe:
    """What a site is made of; the same if its identity is."""

    identity: str
    keys: Mapping[str, Any] = field(compare=False)
    folder: Path = field(compare=False)
    source: str | None = field(compare=False)


def _build(plugins: tuple[Plugin, ...], sealed: WorldRecipe, versions: Mapping[str, str]) -> StudyWorld:
    load_elsewhere(plugins)
    here = package_versions()
    others = [f"{name} {here[name]} instead of {versions[name]}" for name in versions if here[name] != versions[name]]
    if others:
        raise StudyError(f"a worker has {', '.join(others)}; install the same versions everywhere")
    return _build_once(sealed)


@lru_cache(maxsize=8)
def _build_once(sealed: WorldRecipe) -> StudyWorld:
    scenario = Scenario.parse(sealed.keys, sealed.folder, source=sealed.source)
    if hash_of(identify_world(scenario)) != sealed.identity:
        raise StudyError(f"{scenario.name}: a file or a plug-in is another one on a worker; copy it there")
    return StudyWorld(scenario, sealed.identity)


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
class Chunk:
    """Some runs of some policies in one world; pulls are counted up to each of the `rounds`."""

    site: StudyWorld
    entrants: tuple[StudyPolicy, ...]
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

    outcomes: list[RunResult]
    seconds: float


class ProgressMeter:
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


def run_chunk(piece: Chunk, progress: Progress | None = None) -> Finished:
    """Do all runs of a piece, here or in another process; a policy that fails in a run leaves the others alone."""
    began = time.perf_counter()
    found: list[RunResult] = []
    for run in piece.runs:
        meter = ProgressMeter(progress, piece.length // len(piece.runs))
        found += _do_run(piece, run, meter)
        meter.fill()
    return Finished(found, time.perf_counter() - began)


def _do_run(piece: Chunk, run: int, meter: ProgressMeter) -> list[RunResult]:
    """One run. If a policy fails the others start anew: what they share may have been left in the middle of a draw."""
    entrants = list(piece.entrants)
    failed: list[RunResult] = []
    while entrants:
        try:
            return failed + _run_policies_in_turn(piece, entrants, run, meter, again=bool(failed))
        except Failure as failure:
            failed.append(RunResult(failure.entrant.entry, run, b"", 0.0, failure.text))
            entrants.remove(failure.entrant)
    return failed


def _run_policies_in_turn(
    piece: Chunk, entrants: list[StudyPolicy], run: int, meter: ProgressMeter, *, again: bool
) -> list[RunResult]:
    """The policies take turns, so that shared draws need not be kept for long."""
    scenario = piece.site.scenario
    told = logger(scenario=scenario.name, seed=piece.seed, run=run)
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
                meter.add(len(arms))
    told.debug("run ended", seconds=round(float(seconds.sum()), 3))
    return [
        RunResult(entrant.entry, run, pack(tally.counts()), float(spent))
        for entrant, tally, spent in zip(entrants, tallies, seconds, strict=True)
    ]


class Failure(Exception):  # noqa: N818 (a fact that is passed on, not an error that is shown)
    """A policy failed in a run."""

    def __init__(self, entrant: StudyPolicy, text: str) -> None:
        super().__init__(text)
        self.entrant = entrant
        self.text = text


@contextmanager
def _blamed(entrant: StudyPolicy) -> Iterator[None]:
    """What is raised inside is the failure of this entrant, unless a log could not be written."""
    try:
        yield
    except LogError:
        raise
    except Exception as error:
        raise Failure(entrant, error_line(error)) from error


def error_line(error: Exception) -> str:
    """One line about an error, with the place of one that is not ours."""
    ours = isinstance(error, TpstreamError)
    text = " ".join((str(error) if ours else f"{type(error).__name__}: {error}").split())
    origin = error.__cause__ if ours else error
    frames = traceback.extract_tb(origin.__traceback__) if origin and not isinstance(origin, TpstreamError) else []
    return f"{text} ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else text
