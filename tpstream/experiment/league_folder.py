"""The folder of a league: that of a study for each world, and `league.json`, which joins them to the league again."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec

from tpstream.experiment.folder import LEAGUE, NAME
from tpstream.experiment.reading import StoredStudy, count_runs, onward, read_any
from tpstream.experiment.store import SCHEMA
from tpstream.model.errors import StudyError
from tpstream.model.limits import LONGEST_LIST
from tpstream.model.names import is_file_name
from tpstream.model.units import count_of
from tpstream.model.whole_files import read_whole, write_whole


@dataclass(frozen=True, eq=False)
class StoredLeague:
    """What a folder holds of the league of its last command: worlds, policies that were refused, what is missing."""

    worlds: Mapping[str, StoredStudy]
    """The worlds of which a run is finished, in the order of the command."""
    refusals: Sequence[Mapping[str, str]]
    """World, policy and reason of everyone that could not take part."""
    unfinished: str | None
    """That runs are missing, and the command that goes on, in words; None if every run is finished or failed."""

    @property
    def about(self) -> Mapping[str, Any]:
        """What study.json of the first world says; its commands and versions are those of the league."""
        return next(iter(self.worlds.values())).about

    @property
    def code(self) -> list[str]:
        """The files and packages of users' code that the runs depend on."""
        return sorted({file for world in self.worlds.values() for file in world.code})


class _Refusal(msgspec.Struct):
    world: str
    policy: str
    reason: str


class _About(msgspec.Struct):
    """The values of league.json that are read again, by their types."""

    worlds: Annotated[list[str], msgspec.Meta(max_length=LONGEST_LIST)]
    refusals: Annotated[list[_Refusal], msgspec.Meta(max_length=LONGEST_LIST)]


def _check_names(place: Path, names: Sequence[str]) -> None:
    """Refuse worlds whose folders would not be in that of the league."""
    for name in names:
        if not is_file_name(name):
            raise StudyError(f"{place}: no folder in it can be named after the world {name!r}; give it another name")


def note_league(folder: Path, worlds: Sequence[str], refusals: Sequence[Mapping[str, str]]) -> None:
    """Write what joins the folders of the worlds, before anything is run; a folder that holds a study is refused."""
    if (folder / NAME).exists():
        raise StudyError(f"{folder}: holds a study; choose another folder for the league")
    _check_names(folder, worlds)
    about = {"schema": SCHEMA, "worlds": list(worlds), "refusals": [dict(one) for one in refusals]}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / LEAGUE, (json.dumps(about, indent=2) + "\n").encode())
    except OSError as error:
        raise StudyError(f"{folder}: cannot be written ({error.strerror}); choose another folder") from None


def read_league(folder: Path) -> StoredLeague:
    """Read the folder of a league; as with that of a study, nothing in it is executed."""
    place = folder / LEAGUE
    try:
        about = msgspec.json.decode(read_whole(place), type=_About)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise StudyError(f"{place}: cannot be read; repeat the league's command") from None
    names, refusals = about.worlds, [msgspec.structs.asdict(one) for one in about.refusals]
    _check_names(place, names)
    begun = {name: read_any(folder / name) for name in names if (folder / name / NAME).is_file()}
    worlds = {name: world for name, world in begun.items() if world.finished}
    if not worlds:
        raise StudyError(f"{folder}: no run is finished yet; repeat the league's command")
    waiting = len(names) - len(begun)
    if not waiting and all(world.unfinished is None for world in begun.values()):
        return StoredLeague(worlds, refusals, None)
    more = f", {count_of(waiting, 'world')} not begun" if waiting else ""
    command = onward(next(iter(worlds.values())).about)
    return StoredLeague(worlds, refusals, f"{count_runs(folder)} are finished{more}; the same command goes on{command}")
