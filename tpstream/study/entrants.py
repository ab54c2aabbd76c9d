"""Entrants and sites: a policy and a world as they travel to whoever does the work."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from tpstream.log.header import package_versions
from tpstream.model.errors import StudyError
from tpstream.policies import POLICIES
from tpstream.policies.form import PolicyForm
from tpstream.study.choices import PolicyChoice
from tpstream.study.identity import hash_of, identify_world
from tpstream.study.plugins import Plugin, load_elsewhere, loaded_plugins
from tpstream.study.scenario import Scenario
from tpstream.study.tables import find_policy


@dataclass(frozen=True)
class Entrant:
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
) -> Entrant:
    load_elsewhere(plugins)
    form = find_policy(known) if isinstance(known, str) else known
    return Entrant(entry, PolicyChoice(label, form, form.parameters(**parameters)))


@dataclass(frozen=True)
class Site:
    """A world: a scenario, and the hash of all that its numbers depend on."""

    scenario: Scenario
    identity: str

    def __reduce__(self) -> tuple[Any, ...]:
        """Other processes build it once and keep it: a recording may be large."""
        scenario = self.scenario
        sealed = Sealed(self.identity, scenario.resolved(), scenario.folder, scenario.source)
        return _build, (loaded_plugins(), sealed, package_versions())


@dataclass(frozen=True)
class Sealed:
    """What a site is made of; the same if its identity is."""

    identity: str
    keys: Mapping[str, Any] = field(compare=False)
    folder: Path = field(compare=False)
    source: str | None = field(compare=False)


def _build(plugins: tuple[Plugin, ...], sealed: Sealed, versions: Mapping[str, str]) -> Site:
    load_elsewhere(plugins)
    here = package_versions()
    others = [f"{name} {here[name]} instead of {versions[name]}" for name in versions if here[name] != versions[name]]
    if others:
        raise StudyError(f"a worker has {', '.join(others)}; install the same versions everywhere")
    return _build_once(sealed)


@lru_cache(maxsize=8)
def _build_once(sealed: Sealed) -> Site:
    scenario = Scenario.parse(sealed.keys, sealed.folder, source=sealed.source)
    if hash_of(identify_world(scenario)) != sealed.identity:
        raise StudyError(f"{scenario.name}: a file or a plug-in is another one on a worker; copy it there")
    return Site(scenario, sealed.identity)
