"""The command that reproduces the paper."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import typer

from tpstream.cli.app import command
from tpstream.cli.options import Jobs, Quiet, Seed, cores, flag, option
from tpstream.cli.output import print_table, show_progress
from tpstream.cli.start import say

MARKDOWN = ".md"


def check_report(path: Path | None) -> Path | None:
    """The path of the report, if one is given; an error, before anything runs, if it is no page and not Markdown."""
    from tpstream.view.pages import ENDINGS, prepare_page

    if path is None or path.suffix.lower() == MARKDOWN:
        return path
    if path.suffix.lower() not in ENDINGS:
        raise typer.BadParameter(f"{path}: a report ends in {MARKDOWN}, {' or '.join(ENDINGS)}")
    return prepare_page(path)


@command("Reproduce", example="paper --setting 2 --setting 2.3 --runs 10")
def paper(
    what: Annotated[
        Literal["settings", "policies", "impatient", "trials"],
        typer.Argument(
            help="The paper's settings; the regrets of all policies on Setting 1; the world of Impatient Bandits; or "
            "published designs of trials."
        ),
    ] = "settings",
    *,
    setting: Annotated[
        list[str] | None,
        option("--setting NAME", "1, 2, 2.1, 2.2, 2.3, 4, 5 or spotify; repeat for more.", default="all"),
    ] = None,
    runs: Annotated[
        int | None,
        option(
            "--runs -n N",
            "Runs of every policy; worlds of Impatient Bandits; simulated trials of each design.",
            default="50, 20, 20, 10,000",
            least=1,
        ),
    ] = None,
    seed: Seed = None,
    jobs: Jobs = None,
    horizon: Annotated[
        int | None,
        option(
            "--horizon -t ROUNDS",
            "Fewer rounds, for a quick look; results are then not compared with the published numbers.",
            default="the paper's",
            least=10,
        ),
    ] = None,
    out: Annotated[
        Path,
        option("--out -o FOLDER", "Where finished runs are kept; after an interruption, the same command continues."),
    ] = Path("logs/paper"),
    table: Annotated[
        list[str] | None,
        option(
            "--table NAME",
            "With `trials`: only this table of published numbers, or our own page delayed-outcomes; repeat for more.",
            default="all",
        ),
    ] = None,
    report: Annotated[
        Path | None,
        option(
            "--report -r FILE",
            "Where the report goes: one HTML file (.html), or Markdown, with its figures in `images` beside it.",
            default="docs/reproduction.md, with `trials` docs/trial-validation.md, else none",
            check=check_report,
        ),
    ] = None,
    theory: Annotated[bool, flag("--theory", "Draw every scenario between its bounds, too.")] = False,
    quiet: Quiet = False,
) -> None:
    """Run the paper's settings again and write what agrees with its numbers and what does not.

    With `policies`: run all policies on Setting 1 and compare their regrets with those of an independent simulator.
    With `impatient`: draw worlds as McDonald et al. (KDD 2023) did, fit the prior, and compare with their regrets.
    With `trials`: simulate published designs of trials, and compare with their error rates, sizes and boundaries.
    """
    if what == "trials":
        _compare_trials(table, runs, seed, cores(jobs), out, report or Path("docs/trial-validation.md"), quiet=quiet)
        return
    if what != "settings":
        _compare_others(what, runs, seed, cores(jobs), horizon, report, quiet=quiet)
        return
    _reproduce(
        setting,
        runs,
        seed,
        cores(jobs),
        horizon,
        out,
        report or Path("docs/reproduction.md"),
        theory=theory,
        quiet=quiet,
    )


def _reproduce(
    settings: list[str] | None,
    runs: int | None,
    seed: int | None,
    jobs: int,
    horizon: int | None,
    out: Path,
    report: Path,
    *,
    theory: bool,
    quiet: bool,
) -> None:
    """Run the paper's settings, write the report and print what the paper promises beside what was found."""
    from tpstream.paper.report import promises, write_report
    from tpstream.paper.reproduction import reproduce
    from tpstream.paper.settings import find_settings

    found = reproduce(
        find_settings(settings),
        runs=50 if runs is None else runs,
        seed=seed,
        jobs=jobs,
        horizon=horizon,
        folder=out,
        progress=lambda name: show_progress(name, show=not quiet),
    )
    if report.suffix.lower() != MARKDOWN:
        from tpstream.paper.page import paper_page

        files = [paper_page(found).write(report)]
    else:
        files = write_report(found, report)
    if theory:
        from tpstream.paper.figures import draw_all_bounds

        files += draw_all_bounds(found, report.parent / "images")
    rows = [[text.replace("`", "").replace("**", "") for text in row] for row in promises(found)]
    print_table(
        [dict(zip(("promise", "found", "kept"), row, strict=True)) for row in rows],
        title=f"{found.runs} runs in {sum(found.seconds.values()):,.0f} s",
    )
    if not quiet:
        beside = f" ({len(files) - 1} figures beside it)" if len(files) > 1 else ""
        say(f"report: {files[0]}{beside}")


def _compare_others(
    what: str, runs: int | None, seed: int | None, jobs: int, horizon: int | None, report: Path | None, *, quiet: bool
) -> None:
    """Print our numbers beside published ones; the exit code is 1 if one of them disagrees."""
    from tpstream.paper.impatient import QUESTION as IMPATIENT, ROUNDS, WORLDS, impatient_agreement
    from tpstream.paper.numbers_page import agreement_rows, write_agreement
    from tpstream.paper.policies import NEAR, QUESTION as POLICIES, RUNS, SEED, policy_agreement

    seed = SEED if seed is None else seed
    if what == "policies":
        runs = RUNS if runs is None else runs
        title, digits = f"final regret on Setting 1, {runs} runs", 0
        with show_progress("Setting 1", show=not quiet) as progress:
            table = policy_agreement(runs=runs, seed=seed, jobs=jobs, horizon=horizon, progress=progress)
    else:
        runs = WORLDS if runs is None else runs
        title, digits = f"Impatient Bandits, {runs} worlds: sums of the prior, and average regret of a pull", 3
        rounds = ROUNDS if horizon is None else horizon
        with show_progress("Impatient Bandits", show=not quiet) as progress:
            table = impatient_agreement(worlds=runs, seed=seed, jobs=jobs, rounds=rounds, progress=progress)
    print_table(agreement_rows(table, digits), title=f"{title}; numbers agree within {NEAR:g} combined standard errors")
    if report is not None:
        question = POLICIES if what == "policies" else IMPATIENT
        write_agreement(report, f"{title[0].upper()}{title[1:]}", question, table, digits=digits, near=NEAR, seed=seed)
        if not quiet:
            say(f"report: {report}")
    if horizon is None and not table["agrees"].all():
        raise typer.Exit(1)


def _compare_trials(
    tables: list[str] | None, runs: int | None, seed: int | None, jobs: int, out: Path, report: Path, *, quiet: bool
) -> None:
    """Print which published numbers of trials agree, and write all; exit code 1 if others disagree than known ones."""
    from tpstream.model.errors import UnknownNameError
    from tpstream.paper.delayed_outcomes import NAME, write_delayed_outcomes
    from tpstream.paper.published import NEAR, SEED, TRIALS, Effort
    from tpstream.paper.trial_numbers import TABLES, validate_trials, write_validation

    for name in tables or ():
        if name not in (*TABLES, NAME):
            raise UnknownNameError("table of published designs", name, (*TABLES, NAME))
    published, trials = [name for name in tables or TABLES if name != NAME], TRIALS if runs is None else runs
    effort = Effort(trials, SEED if seed is None else seed, jobs, folder=out / "trials")
    if NAME in (tables or ()):
        with show_progress(NAME, show=not quiet) as progress:
            alone = not published and report.suffix.lower() != MARKDOWN
            place = report if alone else report.with_name(NAME + report.suffix)
            written = write_delayed_outcomes(replace(effort, progress=progress), place)
        if not quiet:
            say(f"report: {written}")
    if not published:
        return
    with show_progress("published designs", show=not quiet) as progress:
        found = validate_trials(replace(effort, progress=progress), published)
    rows = [
        {
            "table": str(name),
            "numbers": str(len(part)),
            "agree": str(int(part["agrees"].sum())),
            "furthest apart": f"{part['errors'].abs().max():.1f} errors",
        }
        for name, part in found.numbers.groupby("table", sort=False)
    ]
    print_table(rows, title=f"{trials:,} trials of each design; numbers agree within {NEAR:g} combined errors")
    written = write_validation(found, report)
    if not quiet:
        say(f"report: {written}")
    if found.surprises:
        raise typer.Exit(1)
