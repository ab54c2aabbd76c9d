"""The command that reproduces the paper."""

from pathlib import Path
from typing import Annotated

import typer

from tpstream.cli.app import command
from tpstream.cli.options import Jobs, Quiet, Runs, Seed, cores, flag, option
from tpstream.cli.output import print_table, show_progress


@command("Reproduce", example="paper --setting 2 --setting 2.3 --runs 10")
def paper(
    *,
    setting: Annotated[
        list[str] | None,
        option("--setting NAME", "1, 2, 2.1, 2.2, 2.3, 4, 5 or spotify; repeat for more.", default="all"),
    ] = None,
    runs: Runs = 50,
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
    report: Annotated[
        Path, option("--report FILE", "Where the report goes; its figures go to `images` beside it.")
    ] = Path("docs/reproduction.md"),
    theory: Annotated[bool, flag("--theory", "Draw every scenario between its bounds, too.")] = False,
    quiet: Quiet = False,
) -> None:
    """Run the paper's settings again and write what agrees with its numbers and what does not."""
    from tpstream.paper.report import promises, write_report
    from tpstream.paper.reproduction import reproduce
    from tpstream.paper.settings import find_settings

    found = reproduce(
        find_settings(setting),
        runs=runs,
        seed=seed,
        jobs=cores(jobs),
        horizon=horizon,
        folder=out,
        progress=lambda name: show_progress(name, show=not quiet),
    )
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
        typer.echo(f"report: {files[0]} ({len(files) - 1} figures beside it)")
