"""Commands that prepare data sets: spotify and actg175 for simulation, cdnow and rossi to be imported."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from tpstream.cli.app import Command, app, help_text
from tpstream.cli.options import Force, Quiet, option
from tpstream.cli.output import print_table
from tpstream.cli.start import say

data = typer.Typer(
    name="data",
    help="Turn a data set that tpstream may not distribute into a trace and a scenario, or into tables to import.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)
app.add_typer(data, rich_help_panel="Your own data")


def dataset(example: str) -> Callable[[Command], Command]:
    """Add a function as a command for one data set, with an example below its help."""

    def add(function: Command) -> Command:
        data.command(help=help_text(function), epilog=f"Example: tpstream data {example}")(function)
        return function

    return add


@dataset("spotify mssd/training_set --out data/spotify.parquet")
def spotify(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER", help="The session logs (log_*.csv) of the data set, unpacked.", show_default=False
        ),
    ],
    *,
    out: Annotated[
        Path, option("--out -o FILE", "The trace, CSV or Parquet by its ending; its scenario goes beside it.")
    ] = Path("spotify.parquet"),
    playlists: Annotated[int, option("--playlists N", "How many playlists become arms.", least=1)] = 6,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Turn the Music Streaming Sessions Dataset into a trace and a scenario, by the paper's preprocessing.

    Kept are sessions of 20 different songs from one editorial playlist. Sessions with the same set of songs count as
    one playlist; the most played ones that share no song become the arms.
    """
    from rich.console import Console
    from rich.progress import Progress

    from tpstream.datasets.spotify import prepare

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=quiet or not console.is_terminal) as bar:
        task = bar.add_task("files", total=None)
        done = prepare(
            folder,
            out,
            arms=playlists,
            force=force,
            progress=lambda number, of: bar.update(task, completed=number, total=of),
        )
    rows = [
        {
            "arm": f"playlist-{number}",
            "sessions": f"{len(totals):,}",
            "mean": f"{totals.mean():.2f}",
            "standard deviation": f"{totals.std():.2f}",
        }
        for number, totals in enumerate(done.totals, start=1)
    ]
    print_table(rows)
    if quiet:
        return
    dropped = ", ".join(f"{count:,} {reason}" for reason, count in done.counts.dropped.items())
    say(f"sessions: {done.counts.read:,} read, {done.counts.kept:,} kept; dropped: {dropped}")
    say(f"trace:    {done.trace}")
    say(f"scenario: {done.scenario}")


@dataset("actg175 --out data && tpstream trial data/actg175.toml")
def actg175(
    *,
    out: Annotated[Path, option("--out -o FOLDER", "Where the trace and its scenario go.")] = Path(),
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Turn the HIV trial ACTG 175, as it is in the package lifelines, into a trace and a scenario.

    What a patient who left early would have had later is taken from a patient of the same treatment who was still
    observed at that time, drawn at random with a fixed seed.
    """
    from tpstream.datasets.actg175 import ARMS, BLOCKS, prepare

    done = prepare(out, force=force)
    rows = []
    for number, name in enumerate(ARMS):
        here = done.arm == number
        rows.append(
            {
                "arm": name,
                "patients": f"{here.sum():,}",
                "completed": f"{done.completed[here].sum():,}",
                "mean of free blocks": f"{done.blocks[here].mean():.2f}",
                "free to the end": f"{(done.blocks[here] == BLOCKS).mean():.1%}",
            }
        )
    print_table(rows)
    if not quiet:
        say(f"trace:    {done.trace}")
        say(f"scenario: {done.scenario}")


@dataset(
    "cdnow --out data && tpstream import data/customers.csv data/purchases.csv --map data/cdnow.map.toml --window 36w "
    "--until 1997-09-27 --out cdnow.arrows"
)
def cdnow(
    *,
    out: Annotated[Path, option("--out -o FOLDER", "Where the two tables and their map go.")] = Path(),
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Turn the purchases of CDNOW's customers, as they are in the package lifetimes, into two tables to import.

    A decision is a customer's first purchase, with one, two or more CDs; it is paid by later purchases, in dollars.
    """
    from tpstream.datasets.cdnow import ARMS, prepare

    done = prepare(out, force=force)
    paid = done.purchases.merge(done.customers[["customer", "first_purchase"]], on="customer")
    rows = []
    for name in ARMS:
        own = done.customers["first_purchase"] == name
        spent = paid.loc[paid["first_purchase"] == name, "dollars"]
        rows.append(
            {
                "arm": name,
                "customers": f"{own.sum():,}",
                "purchases": f"{len(spent):,}",
                "dollars": f"{spent.sum():,.0f}",
            }
        )
    print_table(rows)
    if not quiet:
        say(f"customers: {done.customers_file}")
        say(f"purchases: {done.purchases_file}")
        say(f"map:       {done.map_file}")


@dataset(
    "rossi --out data && tpstream import data/rossi.csv --map data/rossi.map.toml --out rossi.arrows && "
    "tpstream answer rossi.arrows"
)
def rossi(
    *,
    out: Annotated[Path, option("--out -o FOLDER", "Where the table and its map go.")] = Path(),
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Turn Rossi's experiment with released prisoners, as it is in the package lifelines, into a table to import.

    Half of them got financial aid, by chance. A row is a visit at the end of a week: 1 if there was no arrest yet.
    """
    from tpstream.datasets.rossi import ARMS, prepare

    done = prepare(out, force=force)
    totals = done.visits.groupby(["aid", "person"])["free"].sum()
    rows = [
        {"arm": name, "persons": f"{len(totals[name]):,}", "weeks without arrest": f"{totals[name].mean():.2f}"}
        for name in ARMS
    ]
    print_table(rows)
    if not quiet:
        say(f"visits: {done.visits_file}")
        say(f"map:    {done.map_file}")
