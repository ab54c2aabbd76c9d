"""The command that makes a page of logs for a browser: view."""

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from tpstream.cli.app import command
from tpstream.cli.live import print_address
from tpstream.cli.options import OutputFlags, check_page, flag, option
from tpstream.cli.output import print_json

SEVERAL = "view.html"
"""The name of the page of several logs, unless another is given."""


@command("Look at it", example="view logs/first/tp-ucb-fr.run-000.jsonl --open")
def view(
    logs: Annotated[
        list[Path], typer.Argument(metavar="LOG...", help="Logs, or folders of logs; several are shown side by side.")
    ],
    *,
    out: Annotated[
        Path | None,
        option(
            "--out -o FILE",
            "Where to write the page. A page that is there is replaced.",
            default="beside the first log",
            check=check_page,
        ),
    ] = None,
    pull: Annotated[
        list[int] | None,
        option("--pull N", "A pull whose parts the page must hold; repeat for more.", default="a sample"),
    ] = None,
    browser: Annotated[bool, flag("--open", "Open the page in the browser.")] = False,
    follow: Annotated[
        bool,
        flag("--follow", "Show logs that are being written, on a page of this machine whose address is printed."),
    ] = False,
    port: Annotated[
        int | None, option("--port N", "The port of that page (--follow).", default="any free one", least=1)
    ] = None,
    output: OutputFlags,
) -> None:
    """Make a page of logs: one HTML file that needs no network and can be mailed.

    It shows reward, allocation, when parts arrive, the policy's indices, and any pull's life. Its size depends on what
    can be seen, not on the number of events. With --follow nothing is written: the page grows with the logs, until they
    are complete.
    """
    if port is not None and not follow:
        raise typer.BadParameter(f"--port {port} is about a page that follows a log; ask for it with --follow")
    if follow:
        if out is not None or pull:
            raise typer.BadParameter("--follow writes no page: leave out --out and --pull, or --follow")
        follow_logs(logs, port or 0, browser=browser)
        return
    from tpstream.log.reader import read_logs
    from tpstream.view.explorer import view as make_page

    found = [log for path in logs for log in read_logs(path)]
    page = make_page(found, pull or ())
    first = found[0].path
    path = page.write(out or (first.with_suffix(".html") if len(found) == 1 else first.with_name(SEVERAL)))
    if output.as_json:
        print_json({"page": str(path), "bytes": path.stat().st_size, "logs": [str(log.path) for log in found]})
    else:
        output.add("page", f"{path} ({path.stat().st_size / 1e6:,.2f} MB)")
        output.add("note", *(f"{log.path}: {log.truncated}" for log in found if log.truncated))
    if browser:
        webbrowser.open(path.resolve().as_uri())


def follow_logs(paths: list[Path], port: int, *, browser: bool) -> None:
    """Show logs on a live page until they are complete and someone has seen that."""
    from tpstream.log.reader import read_logs
    from tpstream.view.follow import FollowedLog, show_logs
    from tpstream.view.live import LivePage

    logs = [FollowedLog(log.path) for path in paths for log in read_logs(path)]
    with LivePage(", ".join(log.path.name for log in logs), port, follows=True) as page:
        print_address(page.url)
        if browser:
            webbrowser.open(page.url)
        show_logs(logs, page.state)
