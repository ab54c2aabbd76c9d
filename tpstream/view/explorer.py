"""The explorer: one HTML file that shows one or several logs, and loads nothing."""

from collections.abc import Iterable, Sequence

from tpstream.log.reader import Log
from tpstream.model.errors import LogError
from tpstream.view.aggregate import Aggregate
from tpstream.view.changes import change_facts
from tpstream.view.content import ARM_COLOURS, add_arrays, describe
from tpstream.view.looks import Looks
from tpstream.view.packing import Block
from tpstream.view.pages import Page, make_page
from tpstream.view.pulls import choose, read_batches, read_parts, summarised
from tpstream.view.words import divergence, facts, notes

SCRIPTS = ("data.js", "canvas.js", "curves.js", "heat.js", "pull.js", "save.js", "page.js")
"""The files of the page's script, in this order."""
MOST_LOGS = 8


def view(logs: Sequence[Log], pulls: Iterable[int] = ()) -> Page:
    """Make the page of some logs, side by side.

    Parameters
    ----------
    logs
        The logs, up to 8.
    pulls
        Numbers of pulls whose parts the page must hold, besides the sample.

    Returns
    -------
    Page
        The page, not yet written.

    Raises
    ------
    LogError
        If a log cannot be read, or a number in it cannot be.
    """
    if not 0 < len(logs) <= MOST_LOGS:
        raise LogError(f"a page shows 1 to {MOST_LOGS} logs, got {len(logs)}; name fewer")
    block, asked = Block(), list(pulls)
    aggregates = [_read(log) for log in logs]
    apart = divergence(aggregates)
    described = []
    for number, (log, aggregate) in enumerate(zip(logs, aggregates, strict=True)):
        try:
            parting = apart if number == 0 else apart[number : number + 1]
            chosen = choose(aggregate.pulls, len(logs), [*asked, *(one["pull"] for one in parting if one is not None)])
        except LogError as error:
            raise LogError(f"{log.path}: {error}") from error
        rows = summarised(aggregate.pulls, len(logs))
        parts = read_parts(log, chosen, aggregate.pulls.count)
        step = int(rows[1] - rows[0]) if len(rows) > 1 else 1
        add_arrays(block, str(number), aggregate, rows, parts)
        described.append(
            {
                **describe(aggregate),
                "facts": [*facts(log, aggregate), *Looks(aggregate).facts(), *change_facts(aggregate)],
                "step": step,
                "divergence": apart[number],
                "notes": notes(log, aggregate, len(rows), step, len(chosen)),
            }
        )
    colours = list(ARM_COLOURS)
    title, data = " and ".join(one["title"] for one in described), block.text({"logs": described, "colours": colours})
    return make_page("explorer.html", styles=["explorer.css"], scripts=SCRIPTS, title=title, data=data)


def _read(log: Log) -> Aggregate:
    aggregate = Aggregate(log.header, str(log.path))
    for columns in read_batches(log, aggregate.needed):
        aggregate.add(columns)
    return aggregate
