"""The report's summary: every promise of the reproduction, and whether it is kept."""

from tpstream.study.paper.cells import POINTS, family_cells, percentages
from tpstream.study.paper.claims import NAMES, NO
from tpstream.study.paper.claims_by_setting import claims
from tpstream.study.paper.limits import ceilings, floors
from tpstream.study.paper.markdown import Lines, counted, mark, table
from tpstream.study.paper.reproduction import Reproduction
from tpstream.study.paper.settings import DELAYED, EW, FR, UCB1

TOLERANCES = {FR: "1.5 %", EW: "1.5 %", DELAYED: "3 % (4 % in one cell)", UCB1: "2.5 %"}


def summary(found: Reproduction) -> Lines:
    """The promises as a section."""
    return ["## In short", "", *table(["promise", "found", "kept"], promises(found))]


def promises(found: Reproduction) -> list[list[str]]:
    """What was promised, what was found, and whether it is kept."""
    return [*(_published(found) if found.full else []), *_limits(found)]


def _published(found: Reproduction) -> list[list[str]]:
    rows = []
    cells = family_cells(found)
    for policy, tolerance in TOLERANCES.items():
        own = [cell for cell in cells if cell.policy == policy]
        if own:
            largest = max((cell.agreement.percent for cell in own), key=abs)
            kept = [bool(cell.within) for cell in own]
            start = ", random start" if policy == DELAYED else ""
            promise = f"{NAMES[policy]}{start}: published regret within {tolerance}"
            rows.append([promise, f"{counted(kept)} cells; largest {largest:+.2f} %", mark(all(kept))])
    shares = percentages(found)
    if shares:
        largest = max((one.points for one in shares), key=abs)
        kept = [one.within for one in shares]
        promise = f"percentages of the main text within {POINTS} points"
        rows.append([promise, f"{counted(kept)}; largest {largest:+.2f}", mark(all(kept))])
    checked = claims(found)
    if checked:
        kept = [one.holds != NO for one in checked]
        missed = "".join(f"; not: {one.says} (Setting {one.setting})" for one in checked if one.holds == NO)
        rows.append(["claims in words hold, or are within noise", f"{counted(kept)}{missed}", mark(all(kept))])
    return rows


def _limits(found: Reproduction) -> list[list[str]]:
    highest = max(ceilings(found), key=lambda one: one.share)
    undercut = [one for one in floors(found) if one.covered and one.undercut]
    return [
        [
            "no run exceeds its upper bound, at any time",
            f"at most {highest.share:.0%} of it (`{highest.policy}`, {highest.scenario})",
            mark(highest.share <= 1),
        ],
        [
            "no slope in ln T undercuts the lower bound by more than noise",
            f"{len(undercut)} undercut",
            mark(not undercut),
        ],
    ]
