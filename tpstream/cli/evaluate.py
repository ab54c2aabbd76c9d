"""The command evaluate: what another policy would have earned on a log."""

import re
from typing import Annotated

import typer

from tpstream.cli.app import command
from tpstream.cli.logs import LogPath
from tpstream.cli.options import Figure, OutputFlags, Plugins, Report, flag, load_plugins, option
from tpstream.cli.output import pick, print_json, print_table, records


@command("Your own data", example="evaluate shop.arrows --allocation A=0.2,B=0.8")
def evaluate(
    log: LogPath,
    *,
    policy: Annotated[
        str | None,
        option("--policy -p NAME", "The other policy, e.g. epsilon-greedy:groups=1 or uniform.", default="none"),
    ] = None,
    allocation: Annotated[
        list[str] | None,
        option(
            "--allocation ARM=SHARE",
            "Instead of a policy: fixed probabilities of the arms, e.g. A=0.2,B=0.8; may be repeated.",
            default="none",
        ),
    ] = None,
    assume_random: Annotated[
        bool,
        flag(
            "--assume-random",
            "Without probabilities: chance alone decided, so estimate them by the arms' shares over time.",
        ),
    ] = False,
    seed: Annotated[int, option("--seed -s N", "The seed of a learning policy's random numbers.", least=0)] = 0,
    replays: Annotated[
        int, option("--replays N", "How often a learning policy is asked anew; results are averaged.", least=1)
    ] = 50,
    no_twin: Annotated[
        bool, flag("--no-twin", "Without the answer of the log's twin, which takes some seconds.")
    ] = False,
    figure: Figure = None,
    report: Report = None,
    plugin: Plugins = None,
    output: OutputFlags,
) -> None:
    """Estimate what another policy would have earned on a log, with its open decisions corrected for.

    The log must have the probability of every decision. A fixed allocation is estimated by weights, in three ways; a
    policy that learns decides on the log's decisions, and keeps those on which it agrees, at random. Beside each
    estimate stands the one that takes open decisions as finished, which is too low; below them what the policy earns in
    the twin of the log (see fit).
    """
    from tpstream.model.units import count_of
    from tpstream.twin.evaluate import evaluate as evaluate_log

    load_plugins(plugin)
    shares = None if allocation is None else read_shares(allocation)
    found = evaluate_log(
        log, policy, allocation=shares, assume_random=assume_random, seed=seed, replays=replays, twin=not no_twin
    )
    if figure is not None:
        found.plot(figure)
    if report is not None:
        found.report(report)
    if output.as_json:
        names = ("log", "policy", "allocation", "estimand", "decisions", "open", "kept", "thinning", "ages", "unit")
        twin = None if found.twin is None else vars(found.twin)
        head = pick(found, *names, "currency", "reason", "notes")
        print_json({**head, "twin": twin, "estimates": records(found.frame())})
        return
    money = f" in {found.currency}" if found.currency else ""
    within = f"within {count_of(found.ages, found.unit)}{money}"
    print_table(found.rows(), title=f"{found.policy}: value per decision {within} (brackets: 95 % intervals)")
    open_share = found.open / found.decisions
    typer.echo(f"estimated from {found.decisions:,} decisions, {open_share:.0%} of them open")
    typer.echo(f"{found.estimand}.")
    if found.reason is not None:
        typer.echo(found.reason)
    output.add("note", *found.notes)
    output.add("figure", figure)
    output.add("report", report)


def read_shares(texts: list[str]) -> dict[str, float]:
    """The probabilities of "A=0.2,B=0.8", or of several such texts."""
    from tpstream.model.errors import DataError

    shares: dict[str, float] = {}
    for text in (one for part in texts for one in re.split(r",(?=[^,]*=)", part)):
        arm, equals, number = (word.strip() for word in text.rpartition("="))
        try:
            share = float(number)
        except ValueError:
            share = None
        if not (arm and equals) or share is None:
            raise DataError(f"--allocation {text}: write the arm and its probability, as in A=0.2")
        if arm in shares:
            raise DataError(f"--allocation: arm {arm!r} is given twice; keep one")
        shares[arm] = share
    return shares
