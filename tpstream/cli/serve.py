"""The command that decides for real, over HTTP: serve."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from tpstream.cli.app import command
from tpstream.cli.options import OutputFlags, flag
from tpstream.cli.output import print_json
from tpstream.cli.terminal import say
from tpstream.model.errors import ServiceError

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
