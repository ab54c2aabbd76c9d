"""The command that replays a log, and asks what another policy would have done."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tpstream.cli.app import app
from tpstream.cli.options import AsJson, Plugins, Quiet, load_plugins
from tpstream.cli.output import print_table

if TYPE_CHECKING:
    from tpstream.log.reader import Log
    from tpstream.model.arrays import Floats
    from tpstream.replay.replay import Replay, WhatIf

DIVERGED = 1
"""The exit code of a replay that found another decision; a log that cannot be used is an error, 2."""


@app.command(rich_help_panel="Logs", epilog="Example: tpstream replay logs/first/tp-ucb-fr.run-000.jsonl -p tp-ucb-ew")
def replay(
    log: Annotated[Path, typer.Argument(metavar="LOG", help="A log, in any form.", show_default=False)],
    *,
    policy: Annotated[
        str | None,
        typer.Option(
            "--policy",
            "-p",
            metavar="NAME",
            show_default="the log's own",
            help="Another policy, e.g. tp-ucb-ew or tp-ucb-fr:groups=50: what if it had decided?",
        ),
    ] = None,
    check: Annotated[
        bool,
        typer.Option(
            "--check", metavar="", help="Compare the decisions of another policy on the log's own events instead."
        ),
    ] = False,
    redraw: Annotated[
        bool,
        typer.Option(
            "--redraw/--no-redraw", metavar="", help="Draw the rewards again from the log's scenario and seed."
        ),
    ] = True,
    folder: Annotated[
        Path, typer.Option("--folder", metavar="FOLDER", help="Where relative file names in the log's scenario start.")
    ] = Path(),
    plugin: Plugins = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Replay a log: feed its events to its policy and compare every decision.

    Exit code 0: all equal; 1: a decision differs, the first one is shown; 2: the log cannot be used, and why. With
    another policy the log's world is run again under that one, on the same random numbers, and both are compared.
    """
    from tpstream.log.reader import read_log
    from tpstream.replay.replay import is_own, what_if
    from tpstream.replay.replay import replay as replay_log

    load_plugins(plugin)
    opened = read_log(log)
    if policy is not None and not check and not is_own(opened, policy):
        show_what_if(opened, what_if(opened, policy, folder=folder), as_json=as_json, quiet=quiet)
        return
    result = replay_log(opened, policy, folder=folder, redraw=redraw)
    show_replay(opened, result, as_json=as_json, quiet=quiet)
    if not result.equal:
        raise typer.Exit(DIVERGED)


def show_replay(log: "Log", result: "Replay", *, as_json: bool, quiet: bool) -> None:
    """Print what a replay found."""
    found, arms = result.divergence, log.header.arms
    if as_json:
        echo_json(
            {
                "log": result.log,
                "policy": result.policy,
                "equal": result.equal,
                "rounds": result.rounds,
                "complete": result.complete,
                "notes": list(result.notes),
                "divergence": found
                and {
                    "round": found.round,
                    "seq": found.seq,
                    "logged": found.logged,
                    "decided": found.decided,
                    "logged_indices": column_values(found.logged_indices),
                    "indices": column_values(found.indices),
                },
            }
        )
        return
    if found is None:
        typer.echo(f"equal: {result.policy} takes the same {result.rounds:,} decisions")
    else:
        typer.echo(
            f"diverged: in round {found.round} (event {found.seq}) the log has arm {arms[found.logged]!r}, "
            f"{result.policy} decides for {arms[found.decided]!r}"
        )
        logged = column_values(found.logged_indices) or ["not logged"] * len(arms)
        rows = [[name, str(one), str(other)] for name, one, other in zip(arms, logged, found.indices, strict=True)]
        print_table(["arm", "index in the log", f"index of {result.policy}"], rows)
    echo_notes(result.notes, quiet=quiet)


def show_what_if(log: "Log", result: "WhatIf", *, as_json: bool, quiet: bool) -> None:
    """Print how the other policy did."""
    if as_json:
        echo_json(
            {
                "log": result.log,
                "policy": result.policy,
                "other": result.other,
                "rounds": result.rounds,
                "regret": float(result.regret[-1]),
                "other_regret": float(result.other_regret[-1]),
                "difference": result.difference,
                "parting": result.parting,
                "common": result.common,
                "notes": list(result.notes),
            }
        )
        return
    rows = [
        [result.policy, f"{result.regret[-1]:,.1f}", "in the log"],
        [result.other, f"{result.other_regret[-1]:,.1f}", f"{result.difference:+,.1f}"],
    ]
    title = f"what if: regret after {result.rounds:,} rounds (seed {log.header.seed}, run {log.header.run})"
    print_table(["policy", "regret", "difference"], rows, title=title)
    parting = "never part" if result.parting is None else f"part in round {result.parting}"
    typer.echo(f"they {parting} and decide alike in {result.common:.1%} of the rounds")
    echo_notes(result.notes, quiet=quiet)


def echo_notes(notes: tuple[str, ...], *, quiet: bool) -> None:
    """Print what one should know of a result."""
    for note in () if quiet else notes:
        typer.echo(f"note: {note}")


def echo_json(found: dict[str, Any]) -> None:
    """Print a result as JSON."""
    typer.echo(json.dumps(found, indent=2, allow_nan=False))


def column_values(indices: "Floats | None") -> list[float | str] | None:
    """Indices as JSON can carry them: words for those that are not finite."""
    if indices is None:
        return None
    return [index if abs(index) < float("inf") else str(index) for index in indices.tolist()]
