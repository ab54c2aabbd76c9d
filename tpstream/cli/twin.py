"""The command that makes a twin of a log."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tpstream.cli.app import command
from tpstream.cli.logs import LogPath
from tpstream.cli.options import Figure, Force, OutputFlags, Report, option
from tpstream.cli.output import pick, print_json, print_table, records

if TYPE_CHECKING:
    from tpstream.twin.fit import Twin


@command("Your own data", example="fit shop.arrows --out shop.toml --figure shop.png")
def fit(
    log: LogPath,
    *,
    out: Annotated[Path, option("--out -o SCENARIO.toml", "The scenario to write; its traces are written beside it.")],
    method: Annotated[
        Literal["resampled", "parametric"],
        option("--method", "How decisions pay: recorded payments drawn anew (resampled), or a few parameters."),
    ] = "resampled",
    seed: Annotated[int, option("--seed -s N", "The seed of all random numbers.", least=0)] = 0,
    figure: Figure = None,
    report: Report = None,
    force: Force = False,
    output: OutputFlags,
) -> None:
    """Make a world of a log: a scenario that can be run, compared and changed; and say how much it is like the log.

    Open decisions are completed by similar ones of which all is known. The world is simulated and compared with the
    log, and a world that is fitted to an earlier part of the log with what came later.
    """
    from tpstream.twin.fit import fit as fit_log

    twin = fit_log(log, method=method, seed=seed)
    files = twin.write(out, force=force)
    if figure is not None:
        twin.plot(figure)
    if report is not None:
        twin.report(report)
    if output.as_json:
        print_json(
            {**pick(twin, "log", "method", "seed", "verdict", "notes"), "files": files, "check": records(twin.check)}
        )
        return
    _show(twin)
    output.add("scenario", out)
    output.add("traces", *files[1:])
    output.add("figure", figure)
    output.add("report", report)


def _show(twin: "Twin") -> None:
    """Print the table of distances, the verdict and what is assumed."""
    from tpstream.twin.report import check_rows

    print_table(
        check_rows(twin), title="the log beside simulated ones (by chance: one simulated log in twenty is further)"
    )
    typer.echo(f"The twin is {twin.verdict}.")
    for note in twin.notes:
        typer.echo(f"note: {note}")
