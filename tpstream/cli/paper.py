"""The command that reproduces the paper."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tpstream.cli.app import app
from tpstream.cli.options import Jobs, Quiet, Runs, Seed, at_least
from tpstream.cli.output import print_table, show_progress

if TYPE_CHECKING:
    from tpstream.paper.reproduction import Reproduction


@app.command(rich_help_panel="Simulate", epilog="Example: tpstream paper --setting 2 --setting 2.3 --runs 10")
def paper(
    *,
    setting: Annotated[
        list[str] | None,
        typer.Option(
            "--setting",
            metavar="NAME",
            show_default="all",
            help="1, 2, 2.1, 2.2, 2.3, 4, 5 or spotify; repeat for more.",
        ),
    ] = None,
    runs: Runs = 50,
    seed: Seed = None,
    jobs: Jobs = None,
    horizon: Annotated[
        int | None,
        typer.Option(
            "--horizon",
            "-t",
            metavar="ROUNDS",
            callback=at_least(10),
            show_default="the paper's",
            help="Fewer rounds for a quick look; the published numbers are then not compared with.",
        ),
    ] = None,
    out: Annotated[
        Path,
        typer.Option(
            "--out", "-o", metavar="FOLDER", help="Where finished runs are kept: the same command goes on where it was."
        ),
    ] = Path("logs/paper"),
    report: Annotated[
        Path, typer.Option("--report", metavar="FILE", help="The page; its figures go to `images` beside it.")
    ] = Path("docs/reproduction.md"),
    theory: Annotated[
        bool, typer.Option("--theory", metavar="", help="Draw every scenario between its bounds, too.")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Run the paper's settings again and write what agrees with its numbers and what does not."""
    from tpstream.experiment.executors import default_jobs
    from tpstream.paper.report import write_report
    from tpstream.paper.reproduction import reproduce
    from tpstream.paper.settings import find_settings

    found = reproduce(
        find_settings(setting),
        runs=runs,
        seed=seed,
        jobs=jobs or default_jobs(),
        horizon=horizon,
        folder=out,
        progress=lambda name: show_progress(name, show=not quiet),
    )
    files = write_report(found, report)
    if theory:
        from tpstream.paper.figures import draw_all_bounds

        files += draw_all_bounds(found, report.parent / "images")
    _show(found)
    if not quiet:
        typer.echo(f"report: {files[0]} ({len(files) - 1} figures beside it)")


def _show(found: "Reproduction") -> None:
    """The summary of the report."""
    from tpstream.paper.report import promises

    rows = [[text.replace("`", "").replace("**", "") for text in row] for row in promises(found)]
    print_table(["promise", "found", "kept"], rows, title=f"{found.runs} runs in {sum(found.seconds.values()):,.0f} s")
