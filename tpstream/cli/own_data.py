"""Commands for data of one's own: import makes a log of tables, check looks at its rules, answer says what it shows."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from tpstream.cli.app import command
from tpstream.cli.logs import LogPath
from tpstream.cli.options import Figure, Force, OutputFlags, Report, option
from tpstream.cli.output import pick, print_json, print_table, records
from tpstream.cli.start import say

if TYPE_CHECKING:
    from tpstream.analysis.answer import Answer
    from tpstream.log.imports.importing import Tables

FAULTY = 1
"""The exit code of a check that found faults; a file that is no log is an error, 2."""


@dataclass(frozen=True)
class ImportFlags:
    """What the tables do not say themselves; the names are those of the map's `[options]`."""

    unit: Annotated[
        str | None, option("--unit WORD", "The unit of time, and the length of a part: hour, day, week.", default="day")
    ] = None
    window: Annotated[
        str | None,
        option("--window DURATION", "How long a decision pays: 60d, 8w, 12h, or a number of units.", default="guessed"),
    ] = None
    until: Annotated[
        str | None,
        option(
            "--until TIME",
            "The last day, or the time, up to which payments are known; what is open then is open in the log.",
            default="the last time in the tables",
        ),
    ] = None
    timezone: Annotated[
        str | None, option("--timezone ZONE", "The zone of times that have none, e.g. Europe/Berlin.", default="none")
    ] = None
    tolerance: Annotated[
        str | None,
        option(
            "--tolerance DURATION",
            "How long before its decision a payment may be; it then counts at the decision.",
            default="5min, a day for dates",
        ),
    ] = None
    time_format: Annotated[
        str | None, option("--time-format FORMAT", "The format of times, e.g. %m/%d/%Y.", default="recognised")
    ] = None
    separator: Annotated[
        str | None, option("--separator CHARACTER", "Between the columns of CSV files.", default="recognised")
    ] = None
    decimal: Annotated[
        Literal[".", ","] | None, option("--decimal MARK", "The decimal mark.", default="recognised")
    ] = None
    encoding: Annotated[str | None, option("--encoding NAME", "The encoding of CSV files.", default="recognised")] = (
        None
    )
    name: Annotated[str | None, option("--name TEXT", "What the data are called in tables.", default="none")] = None
    currency: Annotated[str | None, option("--currency WORD", "What is paid, e.g. EUR.", default="none")] = None


@command(
    "Your own data",
    name="import",
    example="import offers.csv payments.csv --window 60d --out shop.arrows",
)
def import_tables(
    decisions: Annotated[
        Path, typer.Argument(metavar="DECISIONS", help="CSV or Parquet: a row for each decision; or the only table.")
    ],
    payments: Annotated[
        Path | None, typer.Argument(metavar="[PAYMENTS]", help="The same: a row for each payment.", show_default=False)
    ] = None,
    *,
    out: Annotated[
        Path, option("--out -o LOG", "The log to write; its ending gives the format: .arrows, .jsonl, .parquet.")
    ],
    map: Annotated[
        Path | None,
        option("--map MAP.toml", "Which columns mean what; written beside LOG if guessed.", default="guessed"),
    ] = None,
    flags: ImportFlags,
    force: Force = False,
    output: OutputFlags,
) -> None:
    """Import tables of decisions and payments as a log, and say what became of every row.

    Two tables, one for decisions and one for payments; or one long table (a row for each payment or visit); or one wide
    table (a row for each decision, with columns x1, x2, ...). Columns are guessed by name and type unless a map says
    which they are; the guess is printed and written as LOG's name with the ending .map.toml, to be corrected.
    """
    from tpstream.log.imports.importing import import_tables as write_log, open_tables
    from tpstream.log.imports.report import report_lines
    from tpstream.model.units import count_of

    tables = open_tables(decisions, payments, map, vars(flags))
    guessed = None if map is not None else _write_guess(tables, out, force=force)
    if guessed is not None and output.progress:
        _show_guess(tables)
    log = write_log(tables, out, force=force)
    imported: dict[str, Any] = log.header.imported or {}
    if output.as_json:
        print_json(
            {"log": out, "map_file": guessed, **imported, **pick(log.header, "span", "window", "until", "origin")}
        )
        return
    print_table(report_lines(imported))
    header = log.header
    unit = header.time_unit or "unit"
    window = "" if imported["window"] else " (the largest age of a payment; name it with --window)"
    assert header.window is not None  # noqa: S101 (imported logs have one)
    output.add("window", f"{count_of(header.window, unit)}{window}")
    output.add("log", out)
    output.add("map", guessed)


def _write_guess(tables: "Tables", out: Path, *, force: bool) -> Path:
    """Write the guessed map beside the log."""
    from tpstream.model.errors import DataError
    from tpstream.model.whole_files import write_whole

    path = out.with_name(f"{out.stem}.map.toml")
    if path.exists() and not force and not _is_guess(tables, path):
        raise DataError(f"{path}: there is a map already; use it with --map, or write it anew with --force")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, tables.columns.text().encode())
    except OSError as error:
        raise DataError(f"{path}: cannot write the map: {error.strerror}; choose another place") from error
    return path


def _is_guess(tables: "Tables", path: Path) -> bool:
    """Whether a map is the guess of an earlier import of these tables, which nobody has corrected."""
    from tpstream.log.imports.column_map import read_map
    from tpstream.model.errors import DataError

    try:
        there = read_map(path)
        guess = tables.columns.model_copy(update={"options": there.options})
        return path.read_text(encoding="utf-8") == guess.text()
    except (OSError, DataError):
        return False


def _show_guess(tables: "Tables") -> None:
    """Print which columns were taken for what."""
    columns = tables.columns
    rows = [
        {"meaning": f"{what}: {key}", "column": value if isinstance(value, str) else ", ".join(value)}
        for what, of_table in (("decisions", columns.decisions), ("payments", columns.payments))
        for key, value in of_table.model_dump(exclude_none=True).items()
        if value
    ]
    print_table(rows, title=f"guessed: {columns.layout}" + (" tables" if columns.layout == "two" else " table"))


@command("Your own data", example="check shop.arrows")
def check(log: LogPath, *, output: OutputFlags) -> None:
    """Check that a log keeps every rule of the schema, whoever wrote it; no policy is needed.

    Checked are order, sums, windows, probabilities and the parts that a sparse log leaves out. Exit code 0: all rules
    are kept; 1: faults, all of which are listed with their line; 2: the file is no log.
    """
    from tpstream.log.check import check_log

    found = check_log(log)
    if output.as_json:
        faults = [pick(fault, "event", "line", "text") for fault in found.faults]
        print_json({**pick(found, "log", "sound", "events", "rounds", "notes"), "faults": faults})
    elif found.sound:
        say(f"{log}: keeps every rule: {found.events:,} events of {found.rounds:,} decisions")
    else:
        for fault in found.faults:
            say(f"{log}: {fault}")
        say(f"{log}: {len(found.faults):,} faults")
    if not output.as_json:
        output.add("note", *found.notes)
    if not found.sound:
        raise typer.Exit(FAULTY)


@command("Your own data", example="answer shop.arrows --plan-until 2024-12-31 --figure shop.png")
def answer(
    log: LogPath,
    *,
    against: Annotated[
        str | None, option("--against ARM", "Compare every arm with this one, too.", default="the leader alone")
    ] = None,
    plan_until: Annotated[
        str | None,
        option(
            "--plan-until DATE",
            "The last day on which you would look, fixed beforehand; looking on every day up to it is allowed for.",
            default="the end of the data",
        ),
    ] = None,
    alpha: Annotated[
        float, option("--alpha SHARE", "The chance that a lead is called clear on some day although there is none.")
    ] = 0.05,
    assignment: Annotated[
        Literal["auto", "fixed", "adaptive"],
        option("--assignment", "Whether how arms were assigned depended on outcomes (adaptive) or not (fixed)."),
    ] = "auto",
    figure: Figure = None,
    report: Report = None,
    output: OutputFlags,
) -> None:
    """Say which arm pays most in the end, by how much, since when that is clear, and what is outstanding.

    Open decisions are corrected for: each age is judged by the decisions that have reached it. Beside the value stands
    what was paid so far per decision, which is too low. What cannot be trusted is withheld, with the reason.
    """
    from tpstream.analysis.answer import answer as answer_log
    from tpstream.model.errors import DataError

    if not 0 < alpha < 1:
        raise DataError(f"alpha: must be between 0 and 1, got {alpha:g}")
    found = answer_log(log, against=against, plan_until=plan_until, alpha=alpha, assignment=assignment)
    if figure is not None:
        found.plot(figure)
    if report is not None:
        from tpstream.experiment.answer_report import answer_report

        answer_report(found).write(report)
    if output.as_json:
        names = ("log", "leader", "clear_since", "clear_reason", "needed", "plan_until", "alpha", "ages", "unit")
        differences = [row for table in found.comparisons() for row in records(table)]
        print_json(
            {**pick(found, *names, "warnings", "notes"), "arms": records(found.frame()), "differences": differences}
        )
        return
    _show_answer(found)
    output.add("figure", figure)
    output.add("report", report)


def _show_answer(found: "Answer") -> None:
    """Print the table of arms, the differences, since when the lead is clear, and what is withheld or doubtful."""
    from tpstream.experiment.answer_report import arm_rows, difference_rows, plan, remarks, verdict
    from tpstream.model.units import count_of

    currency = found.table.header.currency
    money = f" in {currency}" if currency else ""
    within = f"value within {count_of(found.ages, found.unit)}{money} (brackets: 95 % intervals)"
    print_table(arm_rows(found), title=within if found.ages else f"what was paid so far{money}")
    for rows in difference_rows(found):
        print_table(rows)
    for text in (verdict(found), *plan(found), *remarks(found)):
        say(text)
