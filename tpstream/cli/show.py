"""The command that shows a study again from its folder: show."""

import shlex
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tpstream.cli.app import command
from tpstream.cli.designs import show_designs
from tpstream.cli.league import show_league
from tpstream.cli.options import Figure, LogX, LogY, OutputFlags, Report, Theory
from tpstream.cli.output import NO_PROOF, report_failures
from tpstream.cli.start import say
from tpstream.cli.study import Against, ValueFlags, show_places, show_study
from tpstream.cli.sweep import show_sweep
from tpstream.cli.trial import show_trial

if TYPE_CHECKING:
    from tpstream.experiment.league import League
    from tpstream.experiment.league_folder import StoredLeague
    from tpstream.experiment.reading import StoredStudy
    from tpstream.experiment.result import Study
    from tpstream.experiment.sweep import Sweep
    from tpstream.trial.characteristics import Trial
    from tpstream.trial.designs import OperatingCharacteristics


@command("Look at it", example="show logs/first --figure regret.png")
def show(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="The folder that a study was given with --out.", show_default=False)
    ],
    *,
    figure: Figure = None,
    log_x: LogX = False,
    log_y: LogY = False,
    theory: Theory = False,
    worth: ValueFlags,
    against: Against = None,
    report: Report = None,
    output: OutputFlags,
) -> None:
    """Show a study again from its folder alone: the tables of `compare`, `sweep`, `league` or `trial`, and a figure.

    Nothing is run, and the scenario's file, data and plug-ins are not needed. An interrupted study is shown as far as
    it came. Unless --against says otherwise, the policies are compared with that of the study's last command.
    """
    from tpstream.experiment.reading import StoredStudy
    from tpstream.experiment.result import Study
    from tpstream.trial.stored import read_stored, result_of

    stored = read_stored(folder)
    result = result_of(stored)
    _refuse_what_does_not_fit(result, folder, {"--value": worth.value, "--against": against, "--theory": theory})
    drawn: dict[str, Any] = {}
    told: dict[str, Any] = {}
    if isinstance(stored, StoredStudy):
        drawn = _drawn(stored, result, theory=theory and not (figure is report is None), log_x=log_x, log_y=log_y)
    if isinstance(stored, StoredStudy) and isinstance(result, Study):
        recovered = result.value(*_baselines(stored, result, worth)) if worth.value else None
        told = {"against": against or _recorded(stored, result, "--against"), "value": recovered}
    if figure is not None:
        result.plot(figure, **drawn)
    if report is not None:
        result.report(report, **drawn, **told)
    warnings = _missing_runs(stored, output)
    places: dict[str, Any] = {"figure": figure, "report": report}
    places["out"] = folder if output.as_json else None  # else it is told below, with what made it
    _show_result(result, output, warnings, {**places, **told})
    if theory and isinstance(stored, StoredStudy) and not stored.cells[0].plain:
        say(NO_PROOF, err=True)
    if not output.as_json:
        show_places(output, None, folder, finished=not warnings)
        _show_origin(stored, folder, output)
    report_failures(result.failures)


def _show_result(
    result: "Study | Sweep | Trial | League | OperatingCharacteristics",
    output: OutputFlags,
    warnings: list[str],
    keywords: dict[str, Any],
) -> None:
    """Print the tables of this kind of result."""
    from tpstream.experiment.league import League
    from tpstream.experiment.result import Study
    from tpstream.experiment.sweep import Sweep
    from tpstream.trial.designs import OperatingCharacteristics

    if isinstance(result, Study):
        show_study(result, output, warnings, **keywords)
    elif isinstance(result, Sweep):
        show_sweep(result, output, warnings, **keywords)
    elif isinstance(result, League):
        show_league(result, output, warnings, **keywords)
    elif isinstance(result, OperatingCharacteristics):
        show_designs(result, output, warnings, **keywords)
    else:
        show_trial(result, output, warnings, **keywords)


def _refuse_what_does_not_fit(
    result: "Study | Sweep | Trial | League | OperatingCharacteristics",
    folder: Path,
    asked: "dict[str, bool | str | None]",
) -> None:
    """Raise if an option is about another kind of study, or --against about a policy that is not in it."""
    from tpstream.experiment.result import Study
    from tpstream.model.errors import StudyError, UnknownNameError

    against = asked["--against"]
    if isinstance(result, Study):
        if against is not None and against not in result.records:
            raise UnknownNameError("policy of this study (--against)", str(against), result.records)
        return
    for name, value in asked.items():
        if value:
            raise StudyError(f"{name} is about a comparison, and {folder} holds another study; leave it out")


def _missing_runs(stored: "StoredStudy | StoredLeague", output: OutputFlags) -> list[str]:
    """That runs are missing, if any are; unless it goes into JSON, it is printed."""
    if stored.unfinished is None:
        return []
    if not output.as_json:
        say(f"note: {stored.unfinished}")
    return [stored.unfinished]


def _drawn(
    stored: "StoredStudy",
    result: "Study | Sweep | Trial | League | OperatingCharacteristics",
    *,
    theory: bool,
    log_x: bool,
    log_y: bool,
) -> dict[str, Any]:
    """How the figure is drawn, as keywords of `plot` of this kind of result."""
    from tpstream.experiment.result import Study
    from tpstream.experiment.sweep import Sweep

    if isinstance(result, Study):
        return {"log_rounds": log_x, "bounds": stored.bounds() if theory else ()}
    return {"log_values": log_x or None, "log_y": log_y} if isinstance(result, Sweep) else {}


def _recorded(stored: "StoredStudy", study: "Study", option: str) -> str | None:
    """The policy that the study's last command named with this option; None if it named none."""
    words = shlex.split(stored.about["commands"][-1]) if stored.about["commands"] else []
    named = [after for word, after in pairwise(words) if word == option]
    named += [word.removeprefix(f"{option}=") for word in words if word.startswith(f"{option}=")]
    return named[-1] if named and named[-1] in study.records else None


def _baselines(stored: "StoredStudy", study: "Study", worth: ValueFlags) -> tuple[str, str]:
    """The labels of the clairvoyant and of the waiting policy: those named, or those of the study's last command."""
    labels = {one.kind: label for label, one in reversed(stored.cells[0].policies.items())}
    clairvoyant, waiting = worth.ends()
    if worth.clairvoyant is None:
        clairvoyant = _recorded(stored, study, "--clairvoyant") or labels.get(clairvoyant, clairvoyant)
    if worth.waiting is None:
        waiting = _recorded(stored, study, "--waiting") or labels.get(waiting, waiting)
    return clairvoyant, waiting


def _show_origin(stored: "StoredStudy | StoredLeague", folder: Path, output: OutputFlags) -> None:
    """How the study was made: commands, versions and users' code."""
    from tpstream.experiment.folder import CODE

    about = stored.about
    output.add("command", *about["commands"])
    output.add("versions", ", ".join(f"{name} {version}" for name, version in about["versions"].items()))
    code = set(stored.code)
    kept = {name for name in code if any(place.joinpath(name).is_file() for place in folder.glob(f"**/{CODE}"))}
    output.add(f"plug-in code kept in {CODE}/", ", ".join(sorted(kept)) or None)
    output.add("packages and other files that it uses", ", ".join(sorted(code - kept)) or None)
