"""The command `trial`: the operating characteristics of a trial, of policies or of designs with looks."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tpstream.analysis.printed import describe_printed, in_currency, show_row, trial_rows
from tpstream.cli.app import command
from tpstream.cli.designs import TruthFlags, show_designs, show_told
from tpstream.cli.options import (
    Debug,
    Figure,
    FolderFlags,
    Force,
    LimitFlags,
    LiveFlags,
    LogFolder,
    OutputFlags,
    Report,
    SettingStudyFlags,
    option,
)
from tpstream.cli.output import (
    money_json,
    print_json,
    print_money,
    print_paired_money,
    print_table,
    records,
    report_failures,
)
from tpstream.cli.start import say
from tpstream.cli.study import CODES, prepared, show_places

if TYPE_CHECKING:
    from tpstream.scenario.scenario import Scenario
    from tpstream.trial.characteristics import Trial

DESIGNED = (
    "A scenario with a table `trial` is judged by its operating characteristics: type I error, power, sizes, bias and "
    "coverage, with Monte Carlo errors. `tpstream columns measures` says what each is."
)
NOTES = f"{CODES}\n\n{DESIGNED}\n\nFor a scenario without one: {describe_printed('trial')}"


@dataclass(frozen=True)
class TrialFlags(SettingStudyFlags):
    """Which designs are simulated, and how often."""

    others: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="OTHER",
            help="Further designs, which are compared with the first one trial by trial.",
            show_default=False,
        ),
    ] = None

    def load_all(self) -> "list[Scenario]":
        """The scenarios, each with the values that are set."""
        return [replace(self, scenario=name).load() for name in (self.scenario, *(self.others or ()))]


Tell = Annotated[
    int | None,
    option(
        "--tell SEED",
        "Simulate one trial with this seed and tell it event by event in plain words, instead of many.",
        default="none",
        least=0,
    ),
]


@command(
    "Trials",
    example="trial medical-trial --runs 20 --figure trial.png",
    more=NOTES,
)
def trial(
    *,
    study: TrialFlags,
    truth: TruthFlags,
    tell: Tell = None,
    folder: FolderFlags,
    log: LogFolder = None,
    figure: Figure = None,
    force: Force = False,
    debug: Debug = False,
    report: Report = None,
    limits: LimitFlags,
    live: LiveFlags,
    output: OutputFlags,
) -> None:
    """Judge designs of a trial by simulating it many times: operating characteristics with 95 % intervals.

    A scenario with a table `trial` has looks, rules and an allocation of its own, and is told with error rates, power,
    sizes, bias and coverage; several of them are compared. For one without, policies are compared with fixed
    randomisation: every run goes on to the last read-out; then the arm whose parts paid most on average is chosen.
    """
    from tpstream.trial import trial as trial_module
    from tpstream.trial.characteristics import Trial

    scenarios = study.load_all()
    if tell is not None:
        show_told(scenarios, study.policies, truth, tell, output)
        return
    with prepared(", ".join(one.name for one in scenarios), folder, output, live) as keywords:
        drained = [one if one.drain else one.with_(drain=True) for one in scenarios]
        warnings = list(dict.fromkeys(text for one in drained for text in one.warnings(study.policies)))
        output.warn(warnings)
        result = trial_module.trial(
            scenarios if len(scenarios) > 1 else scenarios[0],
            study.policies,
            logs=log,
            force=force,
            debug=debug,
            truths=truth.truths(),
            **study.keywords(),
            **limits.keywords(),
            **keywords,
        )
    if figure is not None:
        result.plot(figure)
    if report is not None:
        result.report(report)
    show = show_trial if isinstance(result, Trial) else show_designs
    show(result, output, warnings, figure=figure, report=report, out=folder.out)  # type: ignore[arg-type]
    report_failures(result.failures)


def show_trial(
    result: "Trial",
    output: OutputFlags,
    warnings: Sequence[str] = (),
    *,
    figure: Path | None = None,
    report: Path | None = None,
    out: Path | None = None,
) -> None:
    """Print the operating characteristics."""
    from tpstream.analysis.regret import all_equal
    from tpstream.trial.characteristics import FIXED

    if output.as_json:
        shown = {
            "scenario": result.name,
            "patients": result.horizon,
            "time_unit": result.time_unit,
            "policies": records(result.table()),
            **money_json(result),
        }
        notes = {"no_best_arm": result.no_best_arm, "notes": result.notes, "arms": records(result.choices())}
        places = {"figure": figure, "report": report, "out": out}
        print_json({**shown, **notes, "failures": records(result.failed()), "warnings": list(warnings), **places})
        return
    benefit = f", benefit{in_currency(result.currency)}" if result.currency else ""
    title = f"{result.name}: {result.horizon:,} patients{benefit} (brackets: 95 % intervals)"
    if result.no_best_arm is not None:
        arms = f"{result.name}: patients of each arm (of {result.horizon:,}), and how often it was chosen in the end"
        print_table([show_row("choices", row) for row in result.choices().to_dict("records")], title=arms)
    tied = all_equal(result.means)
    rows = trial_rows(result.table(), FIXED, result.time_unit, tied=tied)
    print_table(rows, title="runs of each policy" if tied else title)
    _print_money(result, output)
    for note in result.notes:
        say(f"note: {note}")
    show_places(output, figure, out, report)


def _print_money(result: "Trial", output: OutputFlags) -> None:
    """Where rewards are money: what was earned by the time of the last decision, and more or less than fixed."""
    from tpstream.trial.characteristics import FIXED

    print_money(result, f"money after {result.horizon:,} decisions (later read-outs are not in it)")
    if not output.quiet and len(result.outcomes.get(FIXED, ())) > 1:
        print_paired_money(result, FIXED)
