"""The folder of a study: what it is about, readable by people, and the refusal to mix it with another one.

`study.json` tells which commands were given, which versions did the work, and what is needed to make the tables again
from the stored runs. `code/` gets a copy of every file of users' code that the runs depend on, to be read by people.

Result files: tables of a study, the same to the last byte however the study was done.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from tpstream.experiment.plan import Plan
from tpstream.experiment.store import SCHEMA, code_modules, hash_of, identify_world, policy_code
from tpstream.model.errors import StudyError, TpstreamError
from tpstream.model.names import csv_text
from tpstream.model.notes import package_versions, typed_command
from tpstream.model.whole_files import read_whole, write_whole
from tpstream.scenario.description import Description, describe_scenario
from tpstream.scenario.messages import quote
from tpstream.scenario.overrides import Labelled
from tpstream.scenario.source_code import file_hash, source_files

if TYPE_CHECKING:
    import pandas as pd  # slow to load: imported where a table is made

NAME, LEAGUE = "study.json", "league.json"
"""The descriptions of a study and of a league; the latter has a folder with a study for each world."""
CODE = "code"
"""The folder with the copies of users' code."""
COMPARISON = "comparison"
"""The kind of a study, or of each cell of a sweep, whose runs report no more than every run does."""
FIRST = ("table.csv", "results.csv", "results.parquet")
"""The result files that are named first."""
GROWS = ("policies", "sweep", "runs", "logs", "log_format", "commands", "shown", "hash")
"""What may differ in a later command: policies, values of a sweep and runs can be added."""


class _Named(msgspec.Struct):
    """What has a name, whatever else it has."""

    name: str


class _Policy(msgspec.Struct):
    """What study.json says of a policy."""

    kind: str
    given: dict[str, Any]
    code: dict[str, str] | None


class _About(msgspec.Struct):
    """The values of study.json that are read again, by their types."""

    kind: str
    scenario: _Named
    code: dict[str, dict[str, str]]
    seed: int
    rounds: list[int]
    versions: dict[str, str]
    sweep: dict[str, list[Any]]
    policies: dict[str, _Policy]
    runs: int
    logs: str | None
    log_format: str | None
    commands: list[str]
    hash: str


@dataclass(frozen=True, eq=False)
class Origin:
    """How a study was made."""

    about: Mapping[str, Any]
    """What study.json says: scenario, seed, versions, policies, commands, ..."""
    world: Description | None
    """The study's world in words; None if pulls cannot be drawn from it, or an older tpstream made the folder."""
    unfinished: str | None = None
    """That runs are missing, in words; None if all that were asked for are there."""

    @property
    def code(self) -> list[str]:
        """The files and packages of users' code that the runs depend on."""
        found = {file for one in self.about["policies"].values() for file in one["code"] or {}}
        return sorted(found | {file for files in self.about["code"].values() for file in files})


def origin_of(plan: Plan) -> Origin:
    """How the study of this plan is made."""
    return Origin(describe_study(plan), describe_world(plan))


def open_folder(folder: Path, plan: Plan, cells: Sequence[Mapping[str, Any]]) -> Plan:
    """Make the folder a study's, or go on with the study that it holds; raises if that is another one.

    `cells` are the summaries of the plan's cells, from which the tables can be made again. Returns the plan; in a study
    that goes on, logs that were begun may be overwritten.
    """
    if folder.exists() and not folder.is_dir():
        raise StudyError(f"{folder}: is a file; give a folder for the study")
    if (folder / LEAGUE).exists():
        raise StudyError(f"{folder}: holds a league; choose another folder for the study")
    shown = {"runs": _ends(plan.runs), "cells": list(cells), "world": msgspec.to_builtins(describe_world(plan))}
    place, wanted = folder / NAME, describe_study(plan) | {"shown": shown}
    if place.exists():
        kept = read_description(folder)
        _refuse_another(folder, kept, wanted)
        if plan.options.log is not None and kept["logs"] == wanted["logs"]:
            options = replace(plan.options, log=replace(plan.options.log, force=True))
            plan = replace(plan, options=options)
        wanted = _grown(kept, wanted)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(place, (json.dumps(wanted, indent=2) + "\n").encode())
        _keep_code(folder, plan, wanted)
    except OSError as error:
        raise StudyError(f"{folder}: cannot be written ({error.strerror}); choose another folder") from None
    return plan


def describe_study(plan: Plan) -> dict[str, Any]:
    """What the study is about, as plain values."""
    world = identify_world(plan.scenario)
    scenario = {key: value for key, value in plan.scenario.resolved().items() if key not in {"seed", "policies"}}
    about = {
        "schema": SCHEMA,
        "kind": COMPARISON if plan.options.measurer is None else plan.options.measurer.name,
        "scenario": scenario,
        "files": world["files"],
        "code": world["code"],
        "seed": plan.seed,
        "rounds": list(plan.rounds),
        "versions": package_versions(),
        "sweep": {
            path: [one._asdict() if isinstance(one, Labelled) else one for one in values]
            for path, values in plan.sets.items()
        },
        "policies": {
            one.label: {"kind": one.form.name, "given": dict(one.given), "code": policy_code(one.form)}
            for one in plan.requests
        },
        "runs": plan.runs.stop,
        "logs": None if plan.options.log is None else str(plan.options.log.place.resolve()),
        "log_format": None if plan.options.log is None else plan.options.log.format,
        "commands": [typed_command()],
    }
    return {**about, "hash": hash_of({key: value for key, value in about.items() if key not in GROWS})}


def describe_world(plan: Plan) -> Description | None:
    """The study's world in words; None if pulls cannot be drawn from it, which the runs will tell."""
    try:
        choices = [one.choose(plan.scenario.problem(), plan.scenario.folder) for one in plan.requests]
        return describe_scenario(plan.scenario, choices)
    except TpstreamError:
        return None


def read_description(folder: Path) -> dict[str, Any]:
    """What the folder says about its study."""
    place = folder / NAME
    try:
        kept = json.loads(read_whole(place))
        if kept["schema"] != SCHEMA:
            raise StudyError(f"{place}: has schema {kept['schema']}, this tpstream knows {SCHEMA}")
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise StudyError(f"{place}: cannot be read; choose another folder, or remove this one") from None
    about: dict[str, Any] = {"kind": COMPARISON, "commands": [], **kept}
    try:
        msgspec.convert(about, _About)
    except msgspec.ValidationError as error:
        raise StudyError(f"{place}: is damaged ({error}); choose another folder, or remove this one") from None
    return about


def _ends(runs: range) -> list[int]:
    return [runs.start, runs.stop]


def _keep_code(folder: Path, plan: Plan, about: Mapping[str, Any]) -> None:
    """Copy the files of users' code into the folder, as they are identified in its description."""
    identities: dict[str, str] = {}
    for code in (*about["code"].values(), *(one["code"] or {} for one in about["policies"].values())):
        identities |= code
    forms = [request.form for request in plan.requests]
    for label, file in source_files(code_modules([cell.world.scenario for cell in plan.cells], forms)).items():
        # A file that was edited after it was loaded is not what runs.
        if file_hash(file) in identities.get(label, ""):
            target = folder / CODE / label
            target.parent.mkdir(parents=True, exist_ok=True)
            write_whole(target, file.read_bytes())


def _refuse_another(folder: Path, kept: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    """Raise at the first thing that differs and must not."""
    pairs = [(key, kept.get(key), wanted[key]) for key in wanted if key not in GROWS]
    pairs += [
        (f"policies.{label}", kept["policies"][label], policy)
        for label, policy in wanted["policies"].items()
        if label in kept["policies"]
    ]
    for name, there, here in [*pairs, ("sweep", list(kept["sweep"]), list(wanted["sweep"]))]:
        found = first_difference(there, here, name)
        if found:
            path, old, new = found
            edited = _edited(folder, path)
            if edited is not None and None not in (old, new):
                raise StudyError(
                    f"{folder}: holds another study: {edited} was edited since it began; put the old file back, a copy "
                    f"is {folder / CODE / edited}, or choose another folder"
                )
            raise StudyError(
                f"{folder}: holds another study: {path.removeprefix('scenario.')} is {quote(old)} there and "
                f"{quote(new)} here; choose another folder"
            )


def _edited(folder: Path, path: str) -> str | None:
    """The file of users' code of which the folder has a copy and which a path to a difference names; None if none."""
    files = (file.relative_to(folder / CODE).as_posix() for file in (folder / CODE).rglob("*") if file.is_file())
    return max((file for file in files if path.endswith(f".{file}")), key=len, default=None)


def first_difference(one: Any, other: Any, path: str) -> tuple[str, Any, Any] | None:
    """Where two plain values differ, and what is there in each."""
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        one, other = dict(enumerate(one)), dict(enumerate(other))
    if not (isinstance(one, dict) and isinstance(other, dict)):
        return None if one == other else (path, one, other)
    for key in {**one, **other}:
        step = f"{path}[{key}]" if isinstance(key, int) else f"{path}.{key}"
        found = first_difference(one.get(key), other.get(key), step)
        if found:
            return found
    return None


def _grown(kept: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    """The description of all that was asked of this folder so far."""
    sweep = {
        path: [*kept["sweep"][path], *(one for one in values if one not in kept["sweep"][path])]
        for path, values in wanted["sweep"].items()
    }
    policies = {**kept["policies"], **wanted["policies"]}
    earlier = [one for one in kept["commands"] if one not in wanted["commands"]]
    commands = [*earlier, *wanted["commands"]]  # the last one is that whose result is shown
    grown = {"sweep": sweep, "policies": policies, "runs": max(kept["runs"], wanted["runs"]), "commands": commands}
    return {**wanted, **grown}


def result_files(folder: Path) -> list[str]:
    """The names of the result files that a folder holds, those that people look for first."""
    found = {one.name for one in folder.iterdir() if one.suffix in {".csv", ".parquet", ".json"}} - {NAME, LEAGUE}
    return [*(one for one in FIRST if one in found), *sorted(found.difference(FIRST))]


def export(folder: Path, tables: "Mapping[str, pd.DataFrame]") -> None:
    """Write a study's tables into its folder, each file in whole.

    The results of the runs are written in three formats. Times are in a table of their own, since no two studies take
    equally long, and all other files of a repeated study are equal to the last byte.
    """
    results, without_times = tables["results"], tables["table"].drop(columns="seconds_per_run", errors="ignore")
    files = {f"{name}.csv": csv_text(table).encode() for name, table in {**tables, "table": without_times}.items()}
    files["results.parquet"] = results.to_parquet(index=False)
    files["results.json"] = (results.to_json(orient="records", double_precision=15) + "\n").encode()
    try:
        for name, content in files.items():
            write_whole(folder / name, content)
    except OSError as error:
        raise StudyError(
            f"{folder}: the results cannot be written ({error.strerror}); make room, then repeat"
        ) from None
