"""The live page of commands that simulate: its address, its share of the progress, and how it ends."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tpstream.cli.options import LiveFlags
from tpstream.cli.start import complain

if TYPE_CHECKING:
    from tpstream.cli.output import Bar
    from tpstream.view.live import PageState


class SharedProgress:
    """Tells the bar in the terminal, if there is one, and the page how far the runs are."""

    def __init__(self, bar: "Bar | None", state: "PageState") -> None:
        self._bar, self._state = bar, state

    def expect(self, rounds: int) -> None:
        """Set the total number of rounds."""
        self._state.expect(rounds)
        if self._bar is not None:
            self._bar.expect(rounds)

    def __call__(self, rounds: int) -> None:
        """Add the rounds that were done since the last call."""
        self._state(rounds)
        if self._bar is not None:
            self._bar(rounds)

    def say(self, text: str) -> None:
        """Show this, such as an estimate so far, in the terminal."""
        if self._bar is not None:
            self._bar.say(text)


@contextmanager
def shown_live(title: str, flags: LiveFlags, progress: "Bar | None") -> Iterator[dict[str, Any]]:
    """Keywords of a study that is shown on a live page: its progress, and the way to the page."""
    from tpstream.run.watch import open_link
    from tpstream.view.live import LivePage

    with LivePage(title, flags.port or 0) as page:
        print_address(page.url)
        link = open_link(page.port, page.token)
        yield {"progress": SharedProgress(progress, page.state), "live": link}
        link.send(picture=True)
    if page.state.stop:
        complain("stopped from the page; the results are those of what was done until then")


def print_address(url: str) -> None:
    """Print the address of a live page on standard error, at once."""
    sys.stderr.write(f"live page: {url}\n")
    sys.stderr.flush()
