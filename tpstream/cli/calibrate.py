"""The command that finds the threshold of a rule by simulation: calibrate."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tpstream.cli.app import command
from tpstream.cli.designs import TruthFlags, read_numbers
from tpstream.cli.options import FolderFlags, LimitFlags, OutputFlags, Report, SettingStudyFlags, option
from tpstream.cli.output import print_json, print_table
from tpstream.cli.start import say
from tpstream.cli.study import prepared

if TYPE_CHECKING:
    from tpstream.trial.calibrate import Calibration


@dataclass(frozen=True)
class CalibrateFlags(SettingStudyFlags):
    """The flags of a search, which needs many trials."""

    runs: Annotated[int, option("--runs -n N", "Simulated trials of the search.", least=1)] = 10_000


@command(
    "Trials",
    example="calibrate my-design.toml --target type1=0.025 --key trial.superiority --runs 10000",
    more="The threshold is looked for on common random numbers and confirmed by as many fresh trials.",
)
def calibrate(
    *,
    study: CalibrateFlags,
    target: Annotated[
        str, option("--target MEASURE=VALUE", "What is wanted, e.g. type1=0.025, power=0.9 or futility=0.5.")
    ],
    key: Annotated[
        list[str] | None,
        option(
            "--key PATH",
            "The threshold that is changed, e.g. trial.superiority or trial.rules[0].threshold; of several, those that "
            "begin with 1- get one minus the value.",
            default="trial.superiority",
        ),
    ] = None,
    truth: TruthFlags,
    confirm: Annotated[
        int | None, option("--confirm N", "Fresh trials of the confirmation.", default="as many as --runs", least=1)
    ] = None,
    between: Annotated[
        str | None, option("--between A,B", "Where a bisection looks for it.", default="by the kind of rule")
    ] = None,
    folder: FolderFlags,
    report: Report = None,
    limits: LimitFlags,
    output: OutputFlags,
) -> None:
    """Find the threshold at which a design has the error rate that is wanted, by simulation.

    Type I errors are those under the null (all arms as the control) unless a truth is given; power is that of what the
    scenario says, or of --effect.
    """
    from tpstream.model.errors import StudyError
    from tpstream.trial import calibrate as module

    scenario, ends, truths = study.load(), read_numbers("--between", between), truth.truths()
    if between is not None and not (len(ends) == 2 and ends[0] < ends[1]):  # noqa: PLR2004 (two ends)
        raise StudyError(f"--between {between}: give a lower and an upper end, as in 0.9,0.999")
    with prepared(scenario.name, folder, output) as keywords:
        found = module.calibrate(
            scenario,
            target,
            key or "trial.superiority",
            study.policies,
            confirm=confirm,
            truths=None if truths.plain else replace(truths, given=False),
            between=(ends[0], ends[1]) if ends else None,
            **study.keywords(),
            **keywords,
            **limits.keywords(),
        )
    if report is not None:
        from tpstream.trial.calibration_report import calibration_report

        calibration_report(found, scenario, scenario.seed if study.seed is None else study.seed).write(report)
    _show_calibration(found, output, report)


def _show_calibration(found: "Calibration", output: OutputFlags, report: Path | None) -> None:
    from tpstream.trial.calibration_report import rate_rows, threshold

    if output.as_json:
        rates = {name: getattr(found, name)._asdict() for name in ("found", "confirmed")}
        plain = {name: value for name, value in vars(found).items() if name not in rates}
        print_json({**plain, **rates})
        return
    say(threshold(found))
    print_table(rate_rows(found), title=f"wanted: {found.target} = {found.wanted:g}")
    output.add("found", f"by {found.method}; {found.trials:,} trials were simulated in all")
    output.add("report", report)
