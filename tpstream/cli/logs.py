"""Commands about logs: replay checks them, regret and diagnose say what they show, convert changes their format."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tpstream.analysis.printed import describe_printed, in_currency, show_row
from tpstream.cli.app import command
from tpstream.cli.options import (
    Figure,
    Force,
    LogX,
    OutputFlags,
    Plugins,
    Quiet,
    Theory,
    flag,
    load_plugins,
    option,
)
from tpstream.cli.output import (
    TABLE_ENDINGS,
    money_json,
    pick,
    print_json,
    print_money,
    print_table,
    records,
    write_table,
)
from tpstream.cli.start import say

if TYPE_CHECKING:
    from tpstream.analysis.diagnose import Diagnosis
    from tpstream.analysis.log_regret import LogRegret
    from tpstream.log.reader import Log
    from tpstream.model.arrays import Floats
    from tpstream.replay.replay import Replay
    from tpstream.replay.what_if import WhatIf

DIVERGED = 1
"""The exit code of a replay that found another decision; a log that cannot be used is an error, 2."""
LogPath = Annotated[Path, typer.Argument(metavar="LOG", help="A log, in any format.")]
LogPaths = Annotated[list[Path], typer.Argument(metavar="LOG...", help="Logs, or folders of logs, of one world.")]


def check_ending(path: Path | None) -> Path | None:
    """The path of a table, if its ending says how to write it."""
    if path is not None and path.suffix not in TABLE_ENDINGS:
        raise typer.BadParameter(f"{path}: a table ends in {', '.join(TABLE_ENDINGS)}")
    return path


def table_option(usage: str, what: str) -> Any:
    """The option that says where a table goes."""
    return option(usage, f"Write {what}: CSV, Parquet or JSON by its ending.", default="none", check=check_ending)


@command("Look at it", example="replay logs/first/tp-ucb-fr.run-000.jsonl -p tp-ucb-ew")
def replay(
    log: LogPath,
    *,
    policy: Annotated[
        str | None,
        option(
            "--policy -p NAME",
            "Another policy, e.g. tp-ucb-ew or tp-ucb-fr:groups=50: what if it had decided?",
            default="the log's own",
        ),
    ] = None,
    check: Annotated[
        bool, flag("--check", "Give another policy the log's own events, and compare its decisions.")
    ] = False,
    redraw: Annotated[
        bool, flag("--redraw/--no-redraw", "Draw the rewards of the log's scenario and seed again, and compare them.")
    ] = True,
    folder: Annotated[
        Path, option("--folder FOLDER", "The folder in which files named by the log's scenario are looked for.")
    ] = Path(),
    plugin: Plugins = None,
    output: OutputFlags,
) -> None:
    """Replay a log: feed its events to its policy and compare every decision.

    Exit code 0: all equal; 1: a decision differs, the first one is shown; 2: the log cannot be used, with the
    reason. With another policy, the log's world is run again under that one, on the same random numbers, and both are
    compared.
    """
    from tpstream.log.reader import read_log
    from tpstream.replay.replay import is_own, replay as replay_log
    from tpstream.replay.what_if import what_if

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
        shown = pick(result, "log", "policy", "equal", "rounds", "looks", "complete", "notes")
        print_json({**shown, "divergence": divergence})
        return
    if found is None:
        looks = f"; looks computed again and equal: {result.looks:,}" if result.looks else ""
        say(f"equal: {result.policy} takes the same {result.rounds:,} decisions{looks}")
    else:
        say(
            f"diverged: in round {found.round} (event {found.seq}) the log has arm {arms[found.logged]!r}, "
            f"{result.policy} decides for {arms[found.decided]!r}"
        )
        logged = as_numbers(found.logged_indices) or ["not logged"] * len(arms)
        rows = [
            {"arm": name, "index in the log": str(one), f"index of {result.policy}": str(other)}
            for name, one, other in zip(arms, logged, found.indices, strict=True)
        ]
        print_table(rows)
    output.add("note", *result.notes)


def show_what_if(log: "Log", result: "WhatIf", output: OutputFlags) -> None:
    """Print how the other policy did."""
    if output.as_json:
        regrets = {"regret": float(result.regret[-1]), "other_regret": float(result.other_regret[-1])}
        rest = pick(result, "difference", "parting", "common", "notes")
        print_json({**pick(result, "log", "policy", "other", "rounds"), **regrets, **rest})
        return
    rows = [
        {"policy": result.policy, "regret": f"{result.regret[-1]:,.1f}", "difference": "in the log"},
        {
            "policy": result.other,
            "regret": f"{result.other_regret[-1]:,.1f}",
            "difference": f"{result.difference:+,.1f}",
        },
    ]
    title = f"what if: regret after {result.rounds:,} rounds (seed {log.header.seed}, run {log.header.run})"
    print_table(rows, title=title)
    parting = "never part" if result.parting is None else f"part in round {result.parting}"
    say(f"they {parting} and decide alike in {result.common:.1%} of the rounds")
    output.add("note", *result.notes)


def as_numbers(indices: "Floats | None") -> list[float | str] | None:
    """Indices for JSON, which has no infinite numbers: "inf" and "nan" as text."""
    if indices is None:
        return None
    return [index if abs(index) < float("inf") else str(index) for index in indices.tolist()]


@command(
    "Look at it", example="regret logs/first --figure regret.png --curves curves.csv", more=describe_printed("regret")
)
def regret(
    logs: LogPaths,
    *,
    pulls: Annotated[bool, flag("--pulls", "Read pulls only: pseudo-regret, much faster.")] = False,
    figure: Figure = None,
    log_x: LogX = False,
    theory: Theory = False,
    out: Annotated[Path | None, table_option("--out -o FILE", "the table")] = None,
    curves: Annotated[Path | None, table_option("--curves FILE", "all curves")] = None,
    output: OutputFlags,
) -> None:
    """Compute regret from logs alone, what was delivered, and what is still outstanding after the last round.

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
        shown = {"scenario": result.name, "policies": records(table), "no_best_arm": result.no_best_arm}
        print_json({**shown, **money_json(result), "notes": result.notes})
        return
    _show_regret(result, records(table))
    output.add("note", *result.notes)
    for what, path in (("figure", figure), ("table", out), ("curves", curves)):
        output.add(what, path)


def _show_regret(result: "LogRegret", found: list[dict[str, Any]]) -> None:
    later = all(row.get("paid_later") is not None for row in found)
    hidden = () if later else ("paid_later",)
    rows = [show_row("regret", {name: row[name] for name in row if name not in hidden}) for row in found]
    several = any(row["runs"] > 1 for row in found)
    after = f"after {int(result.rounds[-1]):,} rounds"
    around = " (brackets: 95 % intervals)" if several else ""
    print_table(rows, title=f"{result.name}: {after}{in_currency(result.currency)}{around}")
    print_money(result, f"money {after}")
    if result.no_best_arm is not None:
        shares = {policy: result.shares(policy)[-1].tolist() for policy in result.accounts}
        arms = [
            {"policy": policy, **{arm: f"{share:.1%}" for arm, share in zip(result.arms, found, strict=True)}}
            for policy, found in shares.items()
        ]
        print_table(arms, title="share of the pulls that each arm got")


@command("Look at it", example="diagnose logs/first --figure diagnosis.png")
def diagnose(logs: LogPaths, *, figure: Figure = None, output: OutputFlags) -> None:
    """Ask logs which numbers of groups their rewards are compatible with, and whether the policy assumes another.

    For every number of groups that divides the span, two things are checked: that no group paid more than maximum /
    groups, and that the groups of a pull are independent (a permutation test at the level 1 %).
    """
    from tpstream.analysis.diagnose import diagnose as diagnose_logs

    found = diagnose_logs(logs)
    if figure is not None:
        from tpstream.figures.logs import diagnosis_figure

        diagnosis_figure(figure, found)
    if output.as_json:
        shown = [
            {
                "policy": one.policy,
                "complete_pulls": one.pulls.tolist(),
                **pick(one, "assumed", "compatible", "warnings"),
                "groups": records(one.frame()),
            }
            for one in found
        ]
        print_json({"policies": shown})
        return
    for one in found:
        _show_diagnosis(one)
    output.add("figure", figure)


def _show_diagnosis(diagnosis: "Diagnosis") -> None:
    rows = [
        {
            "groups": f"{row['groups']}{' (assumed)' if row['assumed'] else ''}",
            "largest / bound": f"{row['largest']:.1%}",
            "fits": "yes" if row["fits"] else "no",
            "correlation": f"{row['correlation']:.3f}",
            "p": "too few pulls" if row["p_value"] is None else f"{row['p_value']:.3f}",
            "independent": "not tested" if row["p_value"] is None else "yes" if row["independent"] else "no",
        }
        for row in records(diagnosis.frame())
    ]
    print_table(rows, title=f"{diagnosis.policy}: {int(diagnosis.pulls.sum()):,} complete pulls")
    say(f"compatible with groups = {', '.join(map(str, diagnosis.compatible)) or 'none'}")
    for warning in diagnosis.warnings:
        say(f"warning: {warning}")


@command("Look at it", example="convert logs/first/tp-ucb-fr.run-000.jsonl run.parquet")
def convert(
    log: LogPath,
    target: Annotated[
        Path, typer.Argument(metavar="TARGET", help="The copy; its ending gives the format: .jsonl, .arrows, .parquet.")
    ],
    *,
    sparse: Annotated[
        bool | None,
        flag("--sparse/--dense", "Leave out the parts that paid nothing, or write all; else as in LOG."),
    ] = None,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Write a log in another format, without loss; --sparse leaves out the parts that paid nothing.

    Reading a sparse log puts these parts in again, so that all commands give the same for it.
    """
    from tpstream.log.reader import read_log
    from tpstream.log.writer import convert as write_again

    source = read_log(log)
    copy = write_again(source, target, force=force, sparse=sparse)
    if quiet:
        return
    torn = f", {copy.truncated}" if copy.truncated else ""
    before, after = (path.stat().st_size / 1e6 for path in (log, target))
    say(f"{target}: {source.format} to {copy.format}, {before:,.2f} MB to {after:,.2f} MB{torn}")
