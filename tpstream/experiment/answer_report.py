"""What `tpstream answer` prints and reports of a log: rows of texts, sentences, and the page."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tpstream.analysis.answer import Answer
from tpstream.analysis.leads import has_times
from tpstream.experiment.report import COLUMNS, FOUND, RESULTS, WORLD, command_section
from tpstream.model.display import counted, number_text
from tpstream.model.units import count_of
from tpstream.view.pages import Page
from tpstream.view.report import Facts, Picture, Section, Sentences, Table, make_report
from tpstream.view.words import header_facts

MEANINGS = (
    ("closed", "decisions that nothing is paid for any more"),
    ("open", "decisions that may still be paid for"),
    ("paid so far", "what all decisions of the arm were paid, up to the end of the log"),
    ("per decision", "the same divided by the number of decisions: too low while decisions are open"),
    ("in the end", "what a decision pays in the end, each age judged by the decisions that have reached it"),
    ("outstanding", "what the open decisions are expected to be paid yet"),
    ("best", "the probability that the arm pays most in the end"),
)


def arm_rows(found: Answer) -> list[dict[str, str]]:
    """The table of the arms."""
    rows = []
    for one in found.frame().to_dict("records"):
        row = {key: None if isinstance(value, float) and np.isnan(value) else value for key, value in one.items()}
        best = row["best_probability"]
        rows.append(
            {
                "arm": str(row["arm"]),
                "decisions": f"{row['decisions']:,}",
                "closed": f"{row['closed']:,}",
                "open": f"{row['open']:,}",
                "paid so far": _text(row, "paid"),
                "per decision": _text(row, "naive"),
                "in the end": _text(row, "value", "low", "high"),
                "outstanding": _text(row, "outstanding", "outstanding_low", "outstanding_high"),
                "best": "" if best is None else f"{best:.1%}",
            }
        )
    return rows


def difference_rows(found: Answer) -> list[list[dict[str, str]]]:
    """The tables of differences: to the leader, and to the arm that was asked for."""
    tables = [
        [
            {"arm": str(row["arm"]), f"minus {row['against']}": _text(row, "difference", "low", "high")}
            for row in table.to_dict("records")
        ]
        for table in found.comparisons()
    ]
    return [rows for rows in tables if rows]


def verdict(found: Answer) -> str:
    """Which arm leads, and since when that is clear, or why it is not."""
    if found.clear_since is not None:
        return f"{found.leader} leads; clear since {_date_text(found.clear_since)}"
    more = "" if found.needed is None else f"; some {found.needed:,} more decisions would be needed"
    return f"{found.leader or 'no arm'} leads, but {found.clear_reason}{more}"


def plan(found: Answer) -> list[str]:
    """Up to when looks are planned, and with which chance of a wrong lead; nothing if decisions have no times."""
    if not has_times(found.table.header):
        return []
    until = _date_text(found.plan_until)
    return [f"plan: looks up to {until}; a lead is called without reason with a chance of {found.alpha:g}"]


def _date_text(time: str | float) -> str:
    """A date, or a number where times are numbers."""
    return time if isinstance(time, str) else f"{time:g}"


def remarks(found: Answer) -> list[str]:
    """What is withheld or doubtful."""
    weighted = any(one.weighted is not None for one in found.arms)
    notes = ["note: values allow for how decisions were assigned (AIPW with two-point weights)"] if weighted else []
    if 0 < found.ages < found.table.periods:
        whole = count_of(found.table.periods, found.unit)
        notes.append(f"note: the window is {whole}; fewer than 50 decisions of an arm are older than shown")
    reasons = ((one.arm, one.columns()["reason"]) for one in found.arms)
    withheld = [f"withheld for {arm}: {reason}" for arm, reason in reasons if reason is not None]
    notes += [f"note: {note}" for note in found.notes]
    return [*notes, *withheld, *(f"warning: {warning}" for warning in found.warnings)]


def answer_report(found: Answer) -> Page:
    """The report of an answer."""
    header, name = found.table.header, Path(found.log).name
    currency = f", in {header.currency}" if header.currency else ""
    within = f"What a decision pays within {count_of(found.ages, found.unit)}" if found.ages else "What was paid so far"
    decisions = sum(one.decisions for one in found.arms)
    facts = [
        *header_facts(header),
        ("decisions", f"{decisions:,}, {sum(one.open for one in found.arms):,} of them open"),
    ]
    tables = [
        Table(arm_rows(found), f"{within}{currency}; brackets are 95 % intervals"),
        *(Table(rows, "Differences of what a decision pays in the end") for rows in difference_rows(found)),
    ]
    drawn = "What is paid by age, the values as they were known over time, and what is outstanding (hatched)."
    return make_report(
        f"Which arm pays most: {name}",
        f"Which of {counted(len(found.arms), 'arm')} of {name} pays most in the end, by how much, since when is that "
        "clear, and what is outstanding?",
        [
            Section(FOUND, [Sentences(_findings(found), points=True)]),
            Section(RESULTS, [*tables, Picture(found.plot(), drawn)]),
            Section(WORLD, [Facts(facts)]),
            command_section([("log", found.log)]),
            Section(COLUMNS, [Facts(MEANINGS)]),
        ],
    )


def _findings(found: Answer) -> list[str]:
    """What was found, in sentences."""
    said = [verdict(found), *plan(found)]
    rows = [row for table in found.comparisons() for row in table.to_dict("records")]
    for row in rows:
        first, second, size = row["arm"], row["against"], abs(row["difference"])
        if row["low"] is None or np.isnan(row["low"]):
            said.append(
                f"a decision for {first} pays {number_text(row['difference'])} more than one for {second}; "
                "how sure that is cannot be said"
            )
        elif row["low"] > 0 or row["high"] < 0:
            more = "more" if row["difference"] > 0 else "less"
            said.append(
                f"a decision for {first} pays {number_text(size)} {more} than one for {second}, "
                "and the interval does not include 0"
            )
        else:
            said.append(f"{first} and {second} differ by {number_text(size)}, which may be chance")
    known = [one.estimate.outstanding for one in found.arms if one.estimate is not None]
    if len(known) == len(found.arms):
        said.append(f"some {number_text(float(sum(known)))} are outstanding in all")
    return [f"{text[:1].upper()}{text[1:]}." for text in [*said, *remarks(found)]]


def _text(row: Mapping[Any, Any], value: str, low: str = "", high: str = "") -> str:
    """A number with its interval in brackets; empty if it is withheld."""
    number, *ends = (None if one is None or np.isnan(one) else float(one) for one in map(row.get, (value, low, high)))
    if number is None:
        return ""
    known = [number_text(end) for end in ends if end is not None]
    return f"{number_text(number)} ({known[0]} to {known[1]})" if len(known) == len(ends) else number_text(number)
