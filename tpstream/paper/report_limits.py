"""The report's section on theory: bounds that must hold, and what they predict."""

import math

from tpstream.paper.limits import Ceiling, Floor, ceilings, floors, forecasts
from tpstream.paper.markdown import Lines, counted, paragraph, table
from tpstream.paper.reproduction import Reproduction

SHOWN = 5
"""So many of the tightest cases are listed."""


def limits_section(found: Reproduction, figure: Lines) -> Lines:
    """Upper bounds, lower slopes, and the predicted overtaking."""
    return ["## Theory", "", *figure, *_ceilings(found), *_floors(found), *_forecasts(found)]


def _ceilings(found: Reproduction) -> Lines:
    checks = sorted(ceilings(found), key=lambda one: -one.share)
    return [
        "### No regret exceeds its upper bound",
        "",
        *paragraph(
            f"{counted([one.share <= 1 for one in checks])} pairs of world and policy stay below their bound in",
            "every single",
            "run and at every checkpoint (the theorems promise it of the mean only). The ones that come nearest:",
        ),
        *table(
            ["world", "policy", "largest share of the bound", "theorem applies"],
            [[one.scenario, f"`{one.policy}`", f"{one.share:.1%}", _covers(one)] for one in checks[:SHOWN]],
        ),
    ]


def _covers(one: Ceiling | Floor) -> str:
    return "yes" if one.covered else "no: other groups or dependent songs"


def _floors(found: Reproduction) -> Lines:
    checks = sorted(floors(found), key=lambda one: one.slope / one.least)
    covered = [one for one in checks if one.covered]
    return [
        "### No regret grows more slowly than the lower bound",
        "",
        *paragraph(
            "The test: the mean slope of the regret in ln T from T/10 to T, with its 95 % interval over runs,",
            "against the",
            "lower bound's coefficient (Theorem 2 for smooth rewards, Theorem 1 for the Spotify-like ones). The",
            "bound is",
            f"undercut if the whole interval is below it. {counted([not one.undercut for one in covered])} pairs",
            "to which the",
            f"theorem applies pass, and {counted([not one.undercut for one in checks])} of all. The ones that come",
            "nearest:",
        ),
        *table(
            ["world", "policy", "slope per ln T", "lower bound", "theorem applies", "undercut"],
            [
                [
                    one.scenario,
                    f"`{one.policy}`",
                    f"{one.slope:,.0f} ({one.low:,.0f} to {one.high:,.0f})",
                    f"{one.least:,.0f}",
                    _covers(one),
                    "**yes**" if one.undercut else "no",
                ]
                for one in checks[:SHOWN]
            ],
        ),
        *_warning([one for one in checks if one.undercut and not one.covered]),
    ]


def _warning(undercut: list[Floor]) -> Lines:
    """What it means if a policy undercuts a bound that does not speak about it."""
    if not undercut:
        return []
    names = ", ".join(f"`{one.policy}` in {one.scenario}" for one in undercut)
    return paragraph(
        f"That {names} undercuts it contradicts nothing: the bound is about policies that are safe in every world",
        "of its",
        "kind, and this one relies on independent groups, which are not there. It is a warning that it explores",
        "less than is",
        "safe in all of them.",
    )


def _forecasts(found: Reproduction) -> Lines:
    rows = [
        [
            one.scenario,
            "never" if one.predicted is None else f"{one.predicted:,}",
            "not up to the end" if math.isinf(one.measured) else f"{one.measured:,.0f}",
        ]
        for one in forecasts(found)
    ]
    return [
        "### When TP-UCB-FR overtakes TP-UCB-EW",
        "",
        *paragraph(
            "The bounds put TP-UCB-FR ahead almost at once, the runs thousands of rounds later: TP-UCB-EW's bound",
            "is by far",
            "the looser one. That FR's bound is the smaller says that it wins in the long run, and nothing about when.",
        ),
        *table(["world", "by the bounds, from round", "in the runs, from round"], rows, right=2),
    ]
