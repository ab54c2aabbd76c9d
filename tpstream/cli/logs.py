"""Commands about logs: regret and diagnose say what they show, convert writes them in another format."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tpstream.cli.app import command
from tpstream.cli.options import Force, LogPath, LogX, OutputFlags, Quiet, Theory, figure_option, flag
from tpstream.cli.output import TABLE_ENDINGS, amount, pick, print_json, print_table, records, write_table

if TYPE_CHECKING:
    from tpstream.analysis.diagnose import Diagnosis
    from tpstream.analysis.log_regret import LogRegret

LogPaths = Annotated[
    list[Path], typer.Argument(metavar="LOG...", help="Logs, or folders of logs, of one world.", show_default=False)
]
Figure = Annotated[Path | None, figure_option("none")]


def check_ending(path: Path | None) -> Path | None:
    """The path of a table, if its ending says how to write it."""
    if path is not None and path.suffix not in TABLE_ENDINGS:
        raise typer.BadParameter(f"{path}: a table ends in {', '.join(TABLE_ENDINGS)}")
    return path


def table_option(name: str, *short: str, what: str) -> Any:
    """The option that says where a table goes."""
    help = f"Write {what}: CSV, Parquet or JSON by its ending."
    return typer.Option(name, *short, metavar="FILE", callback=check_ending, show_default="none", help=help)


@command("Logs", example="regret logs/first --figure regret.png --curves curves.csv")
def regret(
    logs: LogPaths,
    *,
    pulls: Annotated[bool, flag("--pulls", help="Read pulls only: pseudo-regret, much faster.")] = False,
    figure: Figure = None,
    log_x: LogX = False,
    theory: Theory = False,
    out: Annotated[Path | None, table_option("--out", "-o", what="the table")] = None,
    curves: Annotated[Path | None, table_option("--curves", what="all curves")] = None,
    output: OutputFlags,
) -> None:
    """Compute regret from logs alone: at the pull, of what was delivered, and what is outstanding at the horizon.

    Pseudo-regret is the best arm's mean minus that of the pulled arm, summed over rounds. The shortfall is the best
    arm's mean for every round minus all that was delivered. Outstanding is what open pulls are expected to pay yet.
    """
    from tpstream.analysis.log_regret import log_regret

    result = log_regret(logs, only_pulls=pulls)
    table = result.table()
    if figure is not None:
        from tpstream.figures.logs import log_regret_figure

        log_regret_figure(figure, result, log_rounds=log_x, bounds=result.bounds if theory else ())
    if out is not None:
        write_table(out, table)
    if curves is not None:
        write_table(curves, result.curves())
    if output.as_json:
        print_json({"scenario": result.name, "policies": records(table), "notes": result.notes})
        return
    _show_regret(result, records(table))
    output.add("note", *result.notes)
    for what, path in (("figure", figure), ("table", out), ("curves", curves)):
        output.add(what, path)


def _show_regret(result: "LogRegret", found: list[dict[str, Any]]) -> None:
    keys = [key for key in ("pseudo_regret", "shortfall", "outstanding") if key in found[0]]
    columns = ["policy", "runs", *(key.replace("_", "-") for key in keys)]
    rows = [[row["policy"], str(row["runs"]), *(_with_half_width(row, key) for key in keys)] for row in found]
    if "open_pulls" in found[0]:
        columns.append("open")
        rows = [[*cells, f"{row['open_pulls']:,.4g}"] for cells, row in zip(rows, found, strict=True)]
        if all(row["paid_later"] is not None for row in found):
            columns.append("paid later")
            rows = [[*cells, _amount(row["paid_later"])] for cells, row in zip(rows, found, strict=True)]
    several = any(row["runs"] > 1 for row in found)
    title = f"{result.name}: after {int(result.rounds[-1]):,} rounds" + (" (± 95 %)" if several else "")
    print_table(columns, rows, title=title)


def _with_half_width(row: dict[str, Any], key: str) -> str:
    high = row[f"{key}_high"]
    return _amount(row[key]) + ("" if high is None else f" ± {_amount(high - row[key])}")


def _amount(value: float) -> str:
    return amount(value, ".4g", large=1000)


@command("Logs", example="diagnose logs/first --figure diagnosis.png")
def diagnose(logs: LogPaths, *, figure: Figure = None, output: OutputFlags) -> None:
    """Ask logs which numbers of groups their rewards are compatible with, and whether the policy assumes another.

    Two things are asked of every number that divides the span: whether no group paid more than maximum / groups, and
    whether the groups of a pull are independent (a permutation test at the level 1 %).
    """
    from tpstream.analysis.diagnose import diagnose as diagnose_logs

    found = diagnose_logs(logs)
    if figure is not None:
        from tpstream.figures.logs import diagnosis_figure

        diagnosis_figure(figure, found)
    if output.as_json:
        print_json({"policies": [_diagnosis_as_json(one) for one in found]})
        return
    for one in found:
        _show_diagnosis(one)
    output.add("figure", figure)


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
        **pick(diagnosis, "assumed", "compatible", "warnings"),
        "groups": records(diagnosis.table()),
    }


@command("Logs", example="convert logs/first/tp-ucb-fr.run-000.jsonl run.parquet")
def convert(
    log: LogPath,
    target: Annotated[
        Path,
        typer.Argument(
            metavar="TARGET",
            help="The copy; its ending gives the format: .jsonl, .arrow, .parquet.",
            show_default=False,
        ),
    ],
    *,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Write a log in another format, without loss."""
    from tpstream.log.reader import read_log
    from tpstream.log.writer import convert as write_again

    source = read_log(log)
    copy = write_again(source, target, force=force)
    if quiet:
        return
    torn = f", {copy.truncated}" if copy.truncated else ""
    before, after = (path.stat().st_size / 1e6 for path in (log, target))
    typer.echo(f"{target}: {source.format} to {copy.format}, {before:,.2f} MB to {after:,.2f} MB{torn}")
