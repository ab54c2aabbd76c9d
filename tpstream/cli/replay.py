"""The command that replays a log, and asks what another policy would have done."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tpstream.cli.app import command
from tpstream.cli.options import LogPath, OutputFlags, Plugins, flag, load_plugins
from tpstream.cli.output import pick, print_json, print_table

if TYPE_CHECKING:
    from tpstream.log.reader import Log
    from tpstream.model.arrays import Floats
    from tpstream.replay.replay import Replay, WhatIf

DIVERGED = 1
"""The exit code of a replay that found another decision; a log that cannot be used is an error, 2."""


@command("Logs", example="replay logs/first/tp-ucb-fr.run-000.jsonl -p tp-ucb-ew")
def replay(
    log: LogPath,
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
        bool, flag("--check", help="Compare the decisions of another policy on the log's own events instead.")
    ] = False,
    redraw: Annotated[
        bool, flag("--redraw/--no-redraw", help="Draw the rewards again from the log's scenario and seed.")
    ] = True,
    folder: Annotated[
        Path, typer.Option("--folder", metavar="FOLDER", help="Where relative file names in the log's scenario start.")
    ] = Path(),
    plugin: Plugins = None,
    output: OutputFlags,
) -> None:
    """Replay a log: feed its events to its policy and compare every decision.

    Exit code 0: all equal; 1: a decision differs, the first one is shown; 2: the log cannot be used, and why. With
    another policy the log's world is run again under that one, on the same random numbers, and both are compared.
    """
    from tpstream.log.reader import read_log
    from tpstream.replay.replay import is_own, replay as replay_log, what_if

    load_plugins(plugin)
    opened = read_log(log)
    if policy is not None and not check and not is_own(opened, policy):
        show_what_if(opened, what_if(opened, policy, folder=folder), output)
        return
    result = replay_log(opened, policy, folder=folder, redraw=redraw)
    show_replay(opened, result, output)
    if not result.equal:
        raise typer.Exit(DIVERGED)


def show_replay(log: "Log", result: "Replay", output: OutputFlags) -> None:
    """Print what a replay found."""
    found, arms = result.divergence, log.header.arms
    if output.as_json:
        divergence = None
        if found is not None:
            indices = {name: as_numbers(getattr(found, name)) for name in ("logged_indices", "indices")}
            divergence = {**pick(found, "round", "seq", "logged", "decided"), **indices}
        shown = pick(result, "log", "policy", "equal", "rounds", "complete", "notes")
        print_json({**shown, "divergence": divergence})
        return
    if found is None:
        typer.echo(f"equal: {result.policy} takes the same {result.rounds:,} decisions")
    else:
        typer.echo(
            f"diverged: in round {found.round} (event {found.seq}) the log has arm {arms[found.logged]!r}, "
            f"{result.policy} decides for {arms[found.decided]!r}"
        )
        logged = as_numbers(found.logged_indices) or ["not logged"] * len(arms)
        rows = [[name, str(one), str(other)] for name, one, other in zip(arms, logged, found.indices, strict=True)]
        print_table(["arm", "index in the log", f"index of {result.policy}"], rows)
    output.add("note", *result.notes)


def show_what_if(log: "Log", result: "WhatIf", output: OutputFlags) -> None:
    """Print how the other policy did."""
    if output.as_json:
        regrets = {"regret": float(result.regret[-1]), "other_regret": float(result.other_regret[-1])}
        rest = pick(result, "difference", "parting", "common", "notes")
        print_json({**pick(result, "log", "policy", "other", "rounds"), **regrets, **rest})
        return
    rows = [
        [result.policy, f"{result.regret[-1]:,.1f}", "in the log"],
        [result.other, f"{result.other_regret[-1]:,.1f}", f"{result.difference:+,.1f}"],
    ]
    title = f"what if: regret after {result.rounds:,} rounds (seed {log.header.seed}, run {log.header.run})"
    print_table(["policy", "regret", "difference"], rows, title=title)
    parting = "never part" if result.parting is None else f"part in round {result.parting}"
    typer.echo(f"they {parting} and decide alike in {result.common:.1%} of the rounds")
    output.add("note", *result.notes)


def as_numbers(indices: "Floats | None") -> list[float | str] | None:
    """Indices for JSON, which has no infinite numbers: "inf" and "nan" as text."""
    if indices is None:
        return None
    return [index if abs(index) < float("inf") else str(index) for index in indices.tolist()]
