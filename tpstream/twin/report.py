"""What the report of a twin holds, and its table of distances as commands print it."""

from typing import TYPE_CHECKING

from tpstream.experiment.report import FOUND, RESULTS, WORLD, command_section
from tpstream.model.display import counted, number_text
from tpstream.view.pages import Page
from tpstream.view.report import Code, Facts, Picture, Section, Sentences, Table, make_report

if TYPE_CHECKING:
    from tpstream.twin.fit import Twin

MEANINGS = (
    ("paid by age", "what a decision paid up to the last age; distance: the largest at any age, as a share of it"),
    ("share without payment", "decisions that have paid nothing up to the cut; distance: the difference"),
    ("decisions, paid over time, open decisions", "means over pieces of time; distance: the mean one, as a share"),
    ("by chance", "the distance that one simulated log in twenty has to the others"),
    ("close, apart", "further than chance allows; apart: more than 5 %, and 1.5 times what chance makes"),
    ("held out", "the later part of the log, predicted by a twin of the earlier part"),
)


def check_rows(twin: "Twin") -> list[dict[str, str]]:
    """The table of distances as texts."""
    return [
        {
            **{name: str(row[name]) for name in ("part", "measure", "arm")},
            **{name: number_text(row[name]) for name in ("recorded", "simulated")},
            **{name.replace("_", " "): f"{row[name]:.1%}" for name in ("distance", "by_chance")},
            "verdict": str(row["verdict"]),
        }
        for row in twin.check.to_dict("records")
    ]


def twin_report(twin: "Twin") -> Page:
    """The report; see `Twin.report`."""
    decisions = counted(len(twin.recorded.sequence), "decision")
    caption = (
        "Lines and dots are the log, bands are 95 % of the logs that the twin makes: what is paid by age, the share of "
        "decisions without payment, what is paid over time, and open decisions."
    )
    call = f'fit("{twin.log}", method="{twin.method}", seed={twin.seed})'
    return make_report(
        f"{twin.recorded.name}",
        f"How much is a world that was fitted to {decisions} of {twin.log} like the log?",
        [
            Section(
                FOUND,
                [Sentences([f"The twin is {twin.verdict}.", *(f"Note: {one}." for one in twin.notes)], points=True)],
            ),
            Section(RESULTS, [Table(check_rows(twin), "The log beside simulated ones"), Picture(twin.plot(), caption)]),
            Section("What the words mean", [Facts(MEANINGS)]),
            Section(WORLD, [Code(twin.world.text_for("twin"), folded="the scenario")]),
            command_section([("method", twin.method), ("seed", str(twin.seed))], call),
        ],
    )
