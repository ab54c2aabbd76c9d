"""The unit of work of a study, in the form in which it travels to other processes, and the function that does it."""

import json
import pickle
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from tpstream.experiment.store import RunResult, hash_of, identify_world, pack
from tpstream.log.schema import package_versions
from tpstream.model.arrays import Ints
from tpstream.model.errors import StudyError
from tpstream.policies.base import PolicyForm
from tpstream.run.loop import RunStopped, run_policies
from tpstream.run.options import Progress, RunOptions
from tpstream.scenario.plugins import Plugin, load_elsewhere, loaded_plugins
from tpstream.scenario.policy_choice import PolicyChoice
from tpstream.scenario.scenario import Scenario
from tpstream.scenario.tables import find_policy


@dataclass(frozen=True)
class StudyPolicy:
    """A policy in a world, with the key under which its results are kept."""

    result_key: str
    choice: PolicyChoice

    def __reduce__(self) -> tuple[Any, ...]:
        """A policy that has a name is sent by its name: compiled code stays where it is."""
        form: str | PolicyForm = self.choice.form.name if self.choice.named else self.choice.form
        parameters = self.choice.parameters.model_dump(mode="json")
        return _receive_policy, (loaded_plugins(), self.result_key, self.choice.label, form, parameters)


def _receive_policy(
    plugins: tuple[Plugin, ...], result_key: str, label: str, form: str | PolicyForm, parameters: Mapping[str, Any]
) -> StudyPolicy:
    load_elsewhere(plugins)
    form = find_policy(form) if isinstance(form, str) else form
    chosen = form.parameters(**parameters)
    return StudyPolicy(result_key, PolicyChoice(label, form.for_parameters(chosen), chosen))


@dataclass(frozen=True)
class StudyWorld:
    """A scenario, and the hash of all that its numbers depend on besides policy, seed and run."""

    scenario: Scenario
    identity: str

    def __reduce__(self) -> tuple[Any, ...]:
        """Send what the world is made of; other processes build it once and keep it, since a recording may be large."""
        scenario = self.scenario
        recipe = (self.identity, json.dumps(scenario.resolved()), scenario.folder, scenario.source)
        return _receive_world, (loaded_plugins(), package_versions(), *recipe)


def _receive_world(plugins: tuple[Plugin, ...], versions: Mapping[str, str], *recipe: Any) -> StudyWorld:
    load_elsewhere(plugins)
    here = package_versions()
    others = [f"{name} {here[name]} instead of {versions[name]}" for name in versions if here[name] != versions[name]]
    if others:
        raise StudyError(f"a worker has {', '.join(others)}; install the same versions everywhere")
    return _build_world(*recipe)


@lru_cache(maxsize=8)
def _build_world(identity: str, keys: str, folder: Path, source: str | None) -> StudyWorld:
    scenario = Scenario.parse(json.loads(keys), folder, source=source)
    if hash_of(identify_world(scenario)) != identity:
        raise StudyError(f"{scenario.name}: a file or a plug-in is another one on a worker; copy it there")
    return StudyWorld(scenario, identity)


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some runs of some policies in one world: what a worker does at a time."""

    world: StudyWorld
    policies: tuple[StudyPolicy, ...]
    runs: tuple[int, ...]
    seed: int
    rounds: Ints
    """The rounds up to which pulls are counted."""
    options: RunOptions

    @property
    def keys(self) -> tuple[str, ...]:
        """The result keys of its policies."""
        return tuple(policy.result_key for policy in self.policies)

    @property
    def total_rounds(self) -> int:
        """The rounds of all its runs and policies together."""
        return len(self.runs) * len(self.policies) * self.world.scenario.horizon


@dataclass(frozen=True, eq=False)
class PackedChunk:
    """A chunk that reaches another process as bytes, so that what is wrong with it is told there by `run_chunk`."""

    chunk: Chunk

    def __reduce__(self) -> tuple[type[bytes], tuple[bytes]]:
        """Send the packed chunk."""
        return bytes, (pickle.dumps(self.chunk),)


@dataclass(frozen=True, eq=False)
class FinishedChunk:
    """The results of a chunk, and the seconds that all of it took."""

    results: list[RunResult]
    seconds: float


def run_chunk(work: Chunk | PackedChunk | bytes, progress: Progress | None = None) -> FinishedChunk:
    """Do all runs of a chunk, in this process; a `PackedChunk` is bytes by now."""
    chunk: Chunk = pickle.loads(work) if isinstance(work, bytes) else work  # type: ignore[assignment] # noqa: S301 (ours)
    began = time.perf_counter()
    options = replace(chunk.options, progress=progress)
    choices = [policy.choice for policy in chunk.policies]
    results = []
    for run in chunk.runs:
        try:
            found = run_policies(chunk.world.scenario, choices, chunk.seed, run, chunk.rounds, options)
        except RunStopped:
            break  # what was finished is kept
        results += [
            RunResult(key, run, pack(one.measures), one.seconds, one.failure)
            for key, one in zip(chunk.keys, found, strict=True)
        ]
    return FinishedChunk(results, time.perf_counter() - began)
