"""Results of studies read again from their folders, whichever command made them."""

from pathlib import Path

from tpstream.experiment.folder import LEAGUE
from tpstream.experiment.league import League, Refusal
from tpstream.experiment.league_folder import StoredLeague, read_league
from tpstream.experiment.reading import StoredStudy, read_folder
from tpstream.experiment.result import Study
from tpstream.experiment.sweep import Sweep
from tpstream.model.errors import TpstreamError
from tpstream.model.notes import logger
from tpstream.scenario.scenario import Scenario
from tpstream.trial.characteristics import Trial
from tpstream.trial.designs import OperatingCharacteristics
from tpstream.trial.from_runs import trial_of
from tpstream.trial.outcomes import OutcomeMeasures
from tpstream.trial.simulated import DesignMeasures, gather, joined


def read_study(folder: str | Path) -> Study | Sweep | Trial | League | OperatingCharacteristics:
    """Read the result of a study again from its folder alone.

    Neither the scenario's file nor data files or plug-ins are needed, nothing is run, and no code in the folder is
    executed. The result has the policies, runs and values of the last command that was given for this folder.

    Parameters
    ----------
    folder
        The folder of `compare`, `sweep`, `league` or `trial` (their keyword `folder`, `--out` on the command line);
        that of a study which was interrupted has the runs that were finished.

    Returns
    -------
    Study, Sweep, League, Trial or OperatingCharacteristics
        What the function returned that did the study.

    Raises
    ------
    StudyError
        If the folder holds no study or no finished run, or another process is at work on it.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from tpstream import Scenario, compare, read_study
    >>> with TemporaryDirectory() as folder:
    ...     study = compare(Scenario.load("setting-1").with_(horizon=300), ["ucb1"], runs=3, folder=folder)
    ...     read_study(folder).table().equals(study.table())
    True
    """
    stored = read_stored(Path(folder))
    if stored.unfinished is not None:
        logger(folder=str(folder)).warning("the study is not finished", finished=stored.unfinished)
    return result_of(stored)


def read_stored(folder: Path) -> StoredStudy | StoredLeague:
    """Read the folder of a study or of a league."""
    return read_league(folder) if (folder / LEAGUE).is_file() else read_folder(folder)


def result_of(stored: StoredStudy | StoredLeague) -> Study | Sweep | Trial | League | OperatingCharacteristics:
    """The result in the form of the function that did the study."""
    if isinstance(stored, StoredLeague):
        first = next(iter(stored.worlds.values()))
        if first.kind == DesignMeasures.name:
            return joined([gather(one.cells, one.studies, _scenarios(one)) for one in stored.worlds.values()])
        studies = {name: world.studies[0] for name, world in stored.worlds.items()}
        return League(studies, tuple(Refusal(**one) for one in stored.refusals))
    if stored.kind == DesignMeasures.name:
        return gather(stored.cells, stored.studies, _scenarios(stored))
    if stored.kind != OutcomeMeasures.name:
        return stored.result
    return trial_of(stored.studies[0], stored.about["scenario"].get("time_unit"))


def _scenarios(stored: StoredStudy) -> list[Scenario]:
    """The scenario of each truth of a design, so that single trials can be told; none if plug-ins or files lack."""
    about, keys = stored.about, dict(stored.about["scenario"])
    try:
        arms = {one["label"]: one["value"] for one in about["sweep"].get("arms", ())}
        if keys["trial"]["allocation"]["kind"] == "policy":
            listed = about["policies"].items()
            keys["policies"] = [{"kind": one["kind"], "name": label, **one["given"]} for label, one in listed]
        return [
            Scenario.parse({**keys, **({"arms": arms[cell.settings["arms"]]} if arms else {})}) for cell in stored.cells
        ]
    except (TpstreamError, LookupError, TypeError):  # the latter if the scenario was changed by hand
        return []
