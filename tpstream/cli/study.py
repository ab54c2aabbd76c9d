"""Commands that simulate a scenario: run and compare, and the tables that they print."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tpstream.analysis.printed import (
    arm_rows,
    contrast_rows,
    describe_printed,
    in_currency,
    regret_rows,
    round_rows,
    value_rows,
)
from tpstream.cli.app import command
from tpstream.cli.live import shown_live
from tpstream.cli.options import (
    Figure,
    FolderFlags,
    LimitFlags,
    LiveFlags,
    LogX,
    OutputFlags,
    Report,
    RoundFlags,
    RunFlags,
    Runs,
    ServiceFlags,
    SettingStudyFlags,
    Theory,
    flag,
    option,
)
from tpstream.cli.output import (
    NO_PROOF,
    money_json,
    print_json,
    print_money,
    print_paired_money,
    print_table,
    records,
    report_failures,
    show_progress,
    write_table,
)
from tpstream.cli.start import complain, say

if TYPE_CHECKING:
    import pandas as pd

    from tpstream.cli.output import Bar
    from tpstream.experiment.result import Study

CODES = "Exit codes: 0 all runs are done, 1 some failed, 2 nothing was done, 130 interrupted."
COLUMNS = describe_printed("table")
NOTES = f"{CODES}\n\n{COLUMNS}"
MOST_FILES = 3
"""Result files that are named; the others are beside them."""


@dataclass(frozen=True)
class ValueFlags:
    """Whether the value of partial information is asked for, and between which policies."""

    value: Annotated[
        bool,
        flag(
            "--value",
            "Say which fraction of the delay's cost (regret of the waiting policy minus that of the clairvoyant one) "
            "each policy recovers.",
        ),
    ] = False
    clairvoyant: Annotated[
        str | None,
        option("--clairvoyant POLICY", "For --value: the policy that is told at once what pulls pay.", default="ucb1"),
    ] = None
    waiting: Annotated[
        str | None,
        option("--waiting POLICY", "For --value: the policy that waits for a pull's end.", default="delayed-ucb1"),
    ] = None

    def __post_init__(self) -> None:
        if not self.value and (self.clairvoyant or self.waiting):
            raise typer.BadParameter("--clairvoyant and --waiting say what --value is measured between; add --value")

    def ends(self) -> tuple[str, str]:
        """The clairvoyant and the waiting policy."""
        from tpstream.analysis.intervals import CLAIRVOYANT, WAITING

        return self.clairvoyant or CLAIRVOYANT, self.waiting or WAITING


Against = Annotated[
    str | None,
    option(
        "--against POLICY",
        "The policy, by its label in the table, that the others are compared with, run by run.",
        default="the one with the smallest regret, but not oracle or ucb1",
    ),
]


@dataclass(frozen=True)
class SingleFlags(SettingStudyFlags):
    """The flags of a study that has one run unless more are asked for."""

    runs: Runs = 1
    first: Annotated[int, option("--run K", "The number of the first run: repeats one run of a study.", least=0)] = 0


@command("Simulate", example="run setting-1 -t 2000 -p tp-ucb-fr --log logs/first", more=COLUMNS)
def run(
    *,
    study: SingleFlags,
    options: RunFlags,
    limits: LimitFlags,
    live: LiveFlags,
    service: ServiceFlags,
    output: OutputFlags,
) -> None:
    """Run a scenario once (or --runs times) under each of its policies and print the final regrets.

    With --against, a running service (`tpstream serve`) decides instead, in accelerated time, and its decisions are
    compared with the simulation: exit code 0 if they are equal, 1 if not.
    """
    if service.against is not None:
        from tpstream.cli.serve import rehearse_against

        rehearse_against(study, options, live, service, output)
        return
    from tpstream.experiment import compare as study_module

    scenario = study.load()
    with (
        show_progress(scenario.name, show=output.progress) as progress,
        progress_of(scenario.name, live, progress) as keywords,
    ):
        warnings = scenario.warnings(study.policies)
        output.warn(warnings)
        result = study_module.compare(
            scenario,
            study.policies,
            first=study.first,
            **study.keywords(),
            **options.keywords(),
            **limits.keywords(),
            **keywords,
        )
    show_study(result, output, warnings)
    report_failures(result.failures)


@command("Simulate", example="compare setting-1 -t 20000 -n 10 -f regret.svg", more=NOTES)
def compare(
    *,
    study: SettingStudyFlags,
    folder: RoundFlags,
    options: RunFlags,
    limits: LimitFlags,
    live: LiveFlags,
    figure: Figure = None,
    log_x: LogX = False,
    theory: Theory = False,
    worth: ValueFlags,
    against: Against = None,
    report: Report = None,
    output: OutputFlags,
) -> None:
    """Compare policies over many runs: a table with 95 % intervals, and a figure of regret over time."""
    from tpstream.experiment import compare as study_module
    from tpstream.model.errors import UnknownNameError
    from tpstream.scenario.bounds import scenario_bounds
    from tpstream.scenario.policy_choice import label_of, request_policies

    scenario, policies = study.load(), study.policies
    ends = [label_of(scenario.policies, policies, end) for end in worth.ends()] if worth.value else []
    if against is not None:
        known = [*(choice.label for choice in request_policies(scenario.policies, policies)), *ends]
        if against not in known:
            raise UnknownNameError("policy of this study (--against)", against, known)
    rounds = folder.chosen_rounds()
    with prepared(scenario.name, folder, output, live) as keywords:
        warnings = scenario.warnings(policies)
        output.warn(warnings)
        bounds = scenario_bounds(scenario, policies) if theory else ()
        result = study_module.compare(
            scenario,
            policies,
            rounds=rounds,
            baselines=ends,
            **study.keywords(),
            **options.keywords(),
            **limits.keywords(),
            **keywords,
        )
    if figure is not None:
        result.plot(figure, log_rounds=log_x, bounds=bounds)
    recovered = None
    if worth.value:
        recovered = result.value(*ends)
        if folder.out is not None:
            write_table(folder.out / "value.csv", recovered)
    if theory and not scenario.timing().plain:
        say(NO_PROOF, err=True)
    if report is not None:
        result.report(report, against=against, value=recovered, log_rounds=log_x, bounds=bounds)
    show_study(result, output, warnings, figure=figure, report=report, out=folder.out, value=recovered, against=against)
    report_failures(result.failures)


def progress_of(title: str, live: LiveFlags | None, progress: "Bar | None") -> AbstractContextManager[dict[str, Any]]:
    """Keywords of a study: its progress, and the way to a live page if one is asked for."""
    if live is None or not live.live:
        return nullcontext({"progress": progress})
    return shown_live(title, live, progress)


@contextmanager
def prepared(
    title: str, folder: FolderFlags, output: OutputFlags, live: LiveFlags | None = None
) -> Iterator[dict[str, Any]]:
    """Keywords of a study: folder, cluster, progress and live page; tells a user who interrupts it how to continue."""
    from tpstream.experiment.executors import dask_executor

    try:
        with (
            dask_executor(folder.dask) if folder.dask is not None else nullcontext() as executor,
            show_progress(title, show=output.progress) as progress,
            progress_of(title, live, progress) as shown,
        ):
            yield {"folder": folder.out, "executor": executor, **shown}
    except KeyboardInterrupt:
        if folder.out is not None:
            from tpstream.experiment.reading import count_runs

            kept = f"{count_runs(folder.out)} are finished and kept in {folder.out}"
            complain(f"{kept}; the same command goes on from there")
        raise


def show_study(
    study: "Study",
    output: OutputFlags,
    warnings: Sequence[str] = (),
    *,
    figure: Path | None = None,
    report: Path | None = None,
    out: Path | None = None,
    value: "pd.DataFrame | None" = None,
    against: str | None = None,
) -> None:
    """Print the result of a comparison, and the value of partial information if it was asked for."""
    if output.as_json:
        shown = {
            "scenario": study.name,
            "seed": study.seed,
            "rounds": int(study.rounds[-1]),
            "no_best_arm": study.no_best_arm,
            "policies": records(study.table()),
            "curves": records(study.curves(study.chosen)),
            **money_json(study),
            "contrasts": records(study.contrasts()),
            "pulls": records(study.pulls()),
            "failures": records(study.failed()),
            "warnings": list(warnings),
            "logs": study.logs,
            "figure": figure,
            "report": report,
            "out": out,
        }
        print_json(shown if value is None else {**shown, "value": records(value)})
        return
    after = f"after {int(study.rounds[-1]):,} rounds"
    print_table(
        regret_rows(study.rows), title=f"{study.name}: regret {after}{in_currency(study.currency)} (seed {study.seed})"
    )
    print_money(study, f"money {after}")
    if study.no_best_arm is not None:
        print_table(arm_rows(study.pulls()), title="share of the pulls that each arm got")
        say(f"note: {study.no_best_arm}")
    if len(study.chosen) > 1:
        print_table(round_rows(study.curves(study.chosen)), title="regret on the way")
    if value is not None:
        _show_value(value)
    if not output.quiet:
        _show_contrasts(study, against or study.yardstick)
    paths = [path for of_policy in study.logs.values() for path in of_policy]
    if paths:
        size = sum(path.stat().st_size for path in paths) / 1e6
        output.add("logs", f"{paths[0].parent} ({len(paths)} files, {size:,.1f} MB)")
    show_places(output, figure, out, report)


def _show_contrasts(study: "Study", against: str | None) -> None:
    """The other policies against one of them, paired by run."""
    found = contrast_rows(study.contrasts_with(against))
    if found and against is not None:
        print_table(found, title=f"against {against}, run by run on the same random numbers")
        print_paired_money(study, against)


def _show_value(value: "pd.DataFrame") -> None:
    """Which fraction of the delay's cost each policy recovers."""
    title, rows = value_rows(value)
    print_table(rows, title=title)


def show_places(
    output: OutputFlags, figure: Path | None, out: Path | None, report: Path | None = None, *, finished: bool = True
) -> None:
    """Say where results, figure and report are; the files of an unfinished study are those of an earlier command."""
    if out is not None:
        from tpstream.experiment.folder import result_files

        files = result_files(out)
        named = ", ".join(files[:MOST_FILES]) + (", ..." if len(files) > MOST_FILES else "")
        if not finished:
            named = f"files of an earlier command: {named}" if files else "result files are written at the end"
        output.add("out", f"{out} ({named})")
    output.add("figure", figure)
    output.add("report", report)
