"""The command that decides for real, over HTTP: serve."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tpstream.cli.app import command
from tpstream.cli.options import LiveFlags, OutputFlags, RunFlags, ServiceFlags, flag
from tpstream.cli.output import print_json, show_progress
from tpstream.cli.start import say
from tpstream.model.errors import ServiceError

if TYPE_CHECKING:
    from tpstream.cli.study import SingleFlags

NOTE = "Exit codes: 0 after SIGTERM or Ctrl-C, when all that was taken is on the disk; 2 if it cannot start."


@command("Decide for real", example="serve shop.toml", more=NOTE)
def serve(
    config: Annotated[
        Path, typer.Argument(metavar="CONFIG.toml", help="Where to listen, and the experiments (see docs/serve.md).")
    ],
    *,
    check: Annotated[bool, flag("--check", "Say what is configured, and leave.")] = False,
    output: OutputFlags,
) -> None:
    """Serve decisions over HTTP: a policy for each experiment, with a log that every answer is written to first.

    Programs ask for decisions and deliver what they paid, as JSON; a browser shows the live page. The address is
    printed first; messages go to standard error.
    """
    from tpstream.serve.config import ServiceConfig

    found = ServiceConfig.load(config)
    if check:
        rows = [
            {"experiment": one.name, "policy": one.policy, "log": f"{found.logs[one.name]}.jsonl", "token": one.token}
            for one in found.keys.experiments
        ]
        if output.as_json:
            print_json({"host": found.keys.host, "port": found.keys.port, "experiments": rows})
        else:
            say(f"{config}: fine; {found.keys.host}:{found.keys.port}, {', '.join(found.logs)}")
        return
    try:
        from tpstream.serve.server import Server
    except ModuleNotFoundError as error:
        raise ServiceError(f"{error.name} is not installed; install it with: pip install 'tpstream[serve]'") from None
    server = Server(found)
    with server.signals():
        server.run(lambda: _print_address(server.url, output))


def _print_address(url: str, output: OutputFlags) -> None:
    """Say where requests are answered, at once."""
    if output.as_json:
        print_json({"url": url})
    elif not output.quiet:
        say(f"listening at {url}")
    sys.stdout.flush()


def rehearse_against(
    study: "SingleFlags", options: RunFlags, live: LiveFlags, service: ServiceFlags, output: OutputFlags
) -> None:
    """Let a service decide for a scenario, and print whether it decides as the simulation does."""
    from tpstream.serve.client import Client
    from tpstream.serve.rehearsal import rehearse

    scenario = study.load()
    policies = study.policies or [policy.name for policy in scenario.policies]
    if len(policies) != 1 or study.runs != 1:
        raise typer.BadParameter("--against is about one policy and one run; name the policy with -p")
    if options != RunFlags() or live.live:
        raise typer.BadParameter(
            "--against goes without --engine, --log, --sink, --debug and --live: the service has a log"
        )
    with (
        Client(str(service.against), token_file=service.token_file) as client,
        show_progress(scenario.name, show=output.progress) as progress,
    ):
        if progress is not None:
            progress.expect(scenario.horizon)
        result = rehearse(scenario, policies[0], client, seed=study.seed, progress=progress)
    if output.as_json:
        print_json(result.as_dict())
    else:
        for line in result.lines():
            say(line)
    if not result.equal:
        raise typer.Exit(1)
