"""Commands that say what logs show: regret and diagnose.

The command that writes logs again: convert.
"""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tpstream.cli.app import app
from tpstream.cli.options import AsJson, Force, LogX, Quiet, Theory
from tpstream.cli.output import print_table

if TYPE_CHECKING:
    import pandas as pd

    from tpstream.analysis.diagnose import Diagnosis
    from tpstream.analysis.log_regret import LogRegret

LogPaths = Annotated[
    list[Path], typer.Argument(metavar="LOG...", help="Logs, or folders of logs, of one world.", show_default=False)
]
Figure = Annotated[
    Path | None,
    typer.Option(
        "--figure",
        "-f",
        metavar="FILE",
        show_default="none",
        help="Draw a figure: PNG, SVG or PDF by its ending. One that is there already is drawn anew.",
    ),
]
ENDINGS = (".csv", ".parquet", ".json")
MANY = 1000
"""From here on a number is shown without decimals."""


def check_ending(path: Path | None) -> Path | None:
    """The path of a table, if its ending says how to write it."""
    if path is not None and path.suffix not in ENDINGS:
        raise typer.BadParameter(f"{path}: a table ends in {', '.join(ENDINGS)}")
    return path


@app.command(
    rich_help_panel="Logs", epilog="Example: tpstream regret logs/first --figure regret.png --curves curves.csv"
)
def regret(
    logs: LogPaths,
    *,
    pulls: Annotated[
        bool, typer.Option("--pulls", metavar="", help="Read pulls only: pseudo-regret, much faster.")
    ] = False,
    figure: Figure = None,
    log_x: LogX = False,
    theory: Theory = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            callback=check_ending,
            show_default="none",
            help="Write the table: CSV, Parquet or JSON by its ending.",
        ),
    ] = None,
    curves: Annotated[
        Path | None,
        typer.Option(
            "--curves",
            metavar="FILE",
            callback=check_ending,
            show_default="none",
            help="Write all curves: CSV, Parquet or JSON by its ending.",
        ),
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Compute regret from logs alone: at the pull, of what was delivered, and what is outstanding at the horizon.

    Pseudo-regret is the best arm's mean minus that of the pulled arm, summed over rounds. The shortfall is the best
    arm's mean for every round minus all that was delivered. Outstanding is what open pulls are expected to pay yet.
    """
    from tpstream.analysis.log_regret import log_regret
    from tpstream.figures.style import prepare_figure

    if figure is not None:
        prepare_figure(figure)
    result = log_regret(logs, only_pulls=pulls)
    if figure is not None:
        from tpstream.figures.logs import log_regret_figure

        log_regret_figure(figure, result, log_rounds=log_x, bounds=result.bounds if theory else ())
    for path, table in ((out, result.table()), (curves, result.curves())):
        if path is not None:
            write_table(path, table)
    if as_json:
        found = {"scenario": result.name, "policies": records(result.table()), "notes": list(result.notes)}
        typer.echo(json.dumps(found, indent=2))
        return
    _show_regret(result)
    if not quiet:
        for note in result.notes:
            typer.echo(f"note: {note}")
        for what, path in (("figure", figure), ("table", out), ("curves", curves)):
            if path is not None:
                typer.echo(f"{what}: {path}")


def _show_regret(result: "LogRegret") -> None:
    found = records(result.table())
    keys = [key for key in ("pseudo_regret", "shortfall", "outstanding") if key in found[0]]
    drained = all(row.get("paid_later") is not None for row in found)
    rows = []
    for row in found:
        cells = [row["policy"], str(row["runs"])]
        cells += [_with_half_width(row, key) for key in keys]
        if "open_pulls" in row:
            cells += [f"{row['open_pulls']:,.4g}", *([_amount(row["paid_later"])] if drained else [])]
        rows.append(cells)
    columns = ["policy", "runs", *(key.replace("_", "-") for key in keys)]
    if "open_pulls" in found[0]:
        columns += ["open", *(["paid later"] if drained else [])]
    several = any(row["runs"] > 1 for row in found)
    title = f"{result.name}: after {int(result.rounds[-1]):,} rounds" + (" (± 95 %)" if several else "")
    print_table(columns, rows, title=title)


def _with_half_width(row: dict[str, Any], key: str) -> str:
    half = row[f"{key}_high"]
    return _amount(row[key]) + ("" if half is None else f" ± {_amount(half - row[key])}")


def _amount(value: float) -> str:
    """A number with as many digits as matter."""
    return f"{value:,.0f}" if abs(value) >= MANY else f"{value:.4g}"


@app.command(rich_help_panel="Logs", epilog="Example: tpstream diagnose logs/first --figure diagnosis.png")
def diagnose(logs: LogPaths, *, figure: Figure = None, as_json: AsJson = False, quiet: Quiet = False) -> None:
    """Ask logs which numbers of groups their rewards are compatible with, and whether the policy assumes another.

    Two things are asked of every number that divides the span: whether no group paid more than maximum / groups, and
    whether the groups of a pull are independent (a permutation test at the level 1 %).
    """
    from tpstream.analysis.diagnose import diagnose as diagnose_logs
    from tpstream.figures.style import prepare_figure

    if figure is not None:
        prepare_figure(figure)
    found = diagnose_logs(logs)
    if figure is not None:
        from tpstream.figures.logs import diagnosis_figure

        diagnosis_figure(figure, found)
    if as_json:
        typer.echo(json.dumps({"policies": [_diagnosis_as_json(one) for one in found]}, indent=2))
        return
    for one in found:
        _show_diagnosis(one)
    if figure is not None and not quiet:
        typer.echo(f"figure: {figure}")


def _show_diagnosis(diagnosis: "Diagnosis") -> None:
    rows = [
        [
            f"{row['groups']}{' (assumed)' if row['assumed'] else ''}",
            f"{row['largest']:.1%}",
            "yes" if row["fits"] else "no",
            f"{row['correlation']:.3f}",
            "too few pulls" if row["p_value"] is None else f"{row['p_value']:.3f}",
            "not tested" if row["p_value"] is None else "yes" if row["independent"] else "no",
        ]
        for row in records(diagnosis.table())
    ]
    columns = ["groups", "largest / bound", "fits", "correlation", "p", "independent"]
    print_table(columns, rows, title=f"{diagnosis.policy}: {int(diagnosis.pulls.sum()):,} complete pulls")
    typer.echo(f"compatible with groups = {', '.join(map(str, diagnosis.compatible)) or 'none'}")
    for warning in diagnosis.warnings:
        typer.echo(f"warning: {warning}")


def _diagnosis_as_json(diagnosis: "Diagnosis") -> dict[str, Any]:
    return {
        "policy": diagnosis.policy,
        "complete_pulls": diagnosis.pulls.tolist(),
        "assumed": diagnosis.assumed,
        "compatible": diagnosis.compatible,
        "warnings": diagnosis.warnings,
        "groups": records(diagnosis.table()),
    }


def records(table: "pd.DataFrame") -> list[dict[str, Any]]:
    """The rows of a table as plain JSON values; null where a number is missing."""
    rows: list[dict[str, Any]] = json.loads(table.to_json(orient="records", double_precision=15))
    return rows


def write_table(path: Path, table: "pd.DataFrame") -> None:
    """Write a table in the form that the ending says."""
    from tpstream.model.errors import LogError

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".csv":
            table.to_csv(path, index=False)
        elif path.suffix == ".parquet":
            table.to_parquet(path, index=False)
        else:
            path.write_text(json.dumps(records(table), indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise LogError(f"{path}: cannot write the table: {error.strerror}; choose another place") from error


@app.command(rich_help_panel="Logs", epilog="Example: tpstream convert logs/first/tp-ucb-fr.run-000.jsonl run.parquet")
def convert(
    log: Annotated[Path, typer.Argument(metavar="LOG", help="A log, in any form.", show_default=False)],
    target: Annotated[
        Path,
        typer.Argument(
            metavar="TARGET", help="The copy; its ending says the form: .jsonl, .arrow or .parquet.", show_default=False
        ),
    ],
    *,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Write a log in another form, without loss."""
    from tpstream.log.reader import read_log
    from tpstream.log.writer import convert as write_again

    source = read_log(log)
    copy = write_again(source, target, force=force)
    if quiet:
        return
    torn = f", {copy.truncated}" if copy.truncated else ""
    before, after = (path.stat().st_size / 1e6 for path in (log, target))
    typer.echo(f"{target}: {source.form} to {copy.form}, {before:,.2f} MB to {after:,.2f} MB{torn}")
