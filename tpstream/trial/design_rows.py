"""The tables of designs with looks as people read them, in commands and reports: rows of texts by title."""

from collections.abc import Iterator, Sequence

import numpy as np

from tpstream.analysis.columns import TABLES, Column
from tpstream.analysis.printed import show_value
from tpstream.model.display import number_text
from tpstream.model.units import plural
from tpstream.trial.decisions import CONCLUSIONS, SimulatedTrials
from tpstream.trial.designs import OperatingCharacteristics
from tpstream.trial.monte_carlo import Estimate, share_of

MEASURES = {column.name: column for column in TABLES["measures"]}
DECISIONS = ("type1", "power", *CONCLUSIONS.values())
SIZES = ("patients", "duration", "overrun")
BENEFITS = ("share_on_best", "lost", "idp", "best_selected")
INCOMPLETE = ("wrong_incomplete", "wrong_stop", "missed_stop", "reversed", "final_type1", "final_power")
ARMS = ("patients", "selected", "type1", "power", "inferiority", "futility")
QUALITIES = ("bias", "rmse", "coverage")
ESTIMATES = (*QUALITIES, "selected_bias")
ALL_ESTIMATES = (*QUALITIES, *(f"selected_{name}" for name in QUALITIES))
"""Those of a report, which has more room than a terminal."""
ALWAYS = {"superiority", "maximum"}
"""Conclusions that are shown even if no trial came to them."""
PERCENT = 100.0
TRUE_GAP = "true difference"


def cell(estimate: Estimate, column: Column, *, intervals: bool = True) -> str:
    """An estimate with its 95 % interval in brackets."""
    if np.isnan(estimate.value):
        return ""
    texts = [_text(value, column) for value in (estimate.value, estimate.low, estimate.high)]
    return texts[0] if not intervals or np.isnan(estimate.low) else _bracketed(texts)


def _bracketed(texts: Sequence[str]) -> str:
    """A value and its interval; the sign of a percentage stands behind the value only."""
    low, high = (text.removesuffix("%") for text in texts[1:])
    return f"{texts[0]} ({low} to {high})"


def _text(value: float, column: Column) -> str:
    if column.show == "percent":
        return f"{value:.2%}" if abs(value) < 0.1 else f"{value:.1%}"  # noqa: PLR2004 (small probabilities: two digits)
    return show_value(value, column.show)


def title_of(name: str, time_unit: str | None) -> str:
    """The title of a measure's column, with the unit of time if it is one."""
    column = MEASURES[name]
    title = column.title or name.replace("_", " ")
    return f"{title} ({plural(time_unit)})" if column.show == "time" and time_unit else title


def _rows(found: OperatingCharacteristics, measures: Sequence[str], *, intervals: bool = True) -> list[dict[str, str]]:
    """A row for each design and truth with these measures of the whole trial; empty columns are left out."""
    rows = []
    for trials in found.trials:
        row = _key(found, trials)
        for name in measures:
            estimate = found.value(name, design=trials.design, truth=trials.truth)
            row[title_of(name, found.time_unit)] = cell(estimate, MEASURES[name], intervals=intervals)
        rows.append(row)
    return without_empty(rows)


def _key(found: OperatingCharacteristics, trials: SimulatedTrials) -> dict[str, str]:
    design = {"design": trials.design} if len(found.designs) > 1 else {}
    return {**design, "truth": trials.truth}


def without_empty(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    """The rows without columns in which no row has a text."""
    kept = [title for title in rows[0] if any(row[title] for row in rows)] if rows else []
    return [{title: row[title] for title in kept} for row in rows]


def decision_rows(found: OperatingCharacteristics, *, intervals: bool = True) -> list[dict[str, str]]:
    """Type I error, power and the probability of each conclusion."""
    seen = {
        name
        for name in CONCLUSIONS.values()
        if name in ALWAYS
        or any(found.value(name, design=one.design, truth=one.truth).value > 0 for one in found.trials)
    }
    measures = [name for name in DECISIONS if name not in CONCLUSIONS.values() or name in seen]
    rows = _rows(found, measures, intervals=intervals)
    for row, trials in zip(rows, found.trials, strict=True):
        row["trials"] = f"{len(trials):,}"
    return rows


def size_rows(found: OperatingCharacteristics) -> list[dict[str, str]]:
    """Sizes, durations and overruns: mean, standard deviation, quartiles and range; a row for each."""
    rows = []
    for trials in found.trials:
        for name in SIZES:
            column = MEASURES[name]
            values = {
                word: found.value(f"{name}{word}", design=trials.design, truth=trials.truth)
                for word in ("", "_sd", "_min", "_q25", "_median", "_q75", "_max")
            }
            plain = {word: number_text(one.value) for word, one in values.items()}
            rows.append(
                {
                    **_key(found, trials),
                    "": title_of(name, found.time_unit),
                    "mean": cell(values[""], column),
                    "sd": cell(values["_sd"], column),
                    "median": cell(values["_median"], column),
                    "quartiles": f"{plain['_q25']} to {plain['_q75']}",
                    "range": f"{plain['_min']} to {plain['_max']}",
                }
            )
    return rows


def stop_rows(found: OperatingCharacteristics, *, intervals: bool = True) -> list[dict[str, str]]:
    """How often trials stop at a look, and at each of them; there are no rows without looks."""
    looks = max(_looks(trials) for trials in found.trials)
    rows = _rows(found, ("stopped",), intervals=intervals) if looks else []
    for row, trials in zip(rows, found.trials, strict=bool(looks)):
        for look in range(1, looks + 1):
            share = cell(share_of(trials.measures["stop_look"] == look), MEASURES["stopped"], intervals=intervals)
            row[f"at look {look}"] = share if look <= _looks(trials) else ""
    return rows


def _looks(trials: SimulatedTrials) -> int:
    """How many looks a design has."""
    return int(trials.measures["look_known"].shape[1])


def incomplete_rows(found: OperatingCharacteristics) -> list[dict[str, str]]:
    """How often incomplete data mislead looks, and errors with everything known; there are no rows without looks."""
    return _rows(found, INCOMPLETE) if any(_looks(trials) for trials in found.trials) else []


def benefit_rows(found: OperatingCharacteristics) -> list[dict[str, str]]:
    """What the patients get."""
    return _rows(found, ("successes", "success_rate", "events", "event_rate", *BENEFITS))


def arm_rows(found: OperatingCharacteristics, measures: Sequence[str] = ARMS) -> list[dict[str, str]]:
    """Patients, selection, errors and estimates of each arm; conclusions that no trial came to are left out."""
    table = found.table().query("arm != '' and value > 0")
    seen = set(CONCLUSIONS.values()) & set(table["measure"])
    kept = [name for name in measures if name not in CONCLUSIONS.values() or name in seen]
    return without_empty(list(_arm_rows(found, kept)))


def estimate_rows(found: OperatingCharacteristics, measures: Sequence[str] = ESTIMATES) -> list[dict[str, str]]:
    """Bias, root mean square error and coverage of each arm's estimate."""
    return arm_rows(found, measures)


def difference_rows(found: OperatingCharacteristics, measures: Sequence[str] = ESTIMATES) -> list[dict[str, str]]:
    """The same of each arm's difference to the control."""
    chosen = "selected_"
    gaps = [f"{chosen * name.startswith(chosen)}difference_{name.removeprefix(chosen)}" for name in measures]
    return without_empty([row for row in _arm_rows(found, gaps, gaps=True) if row[TRUE_GAP]])


def _arm_rows(
    found: OperatingCharacteristics, measures: Sequence[str], *, gaps: bool = False
) -> Iterator[dict[str, str]]:
    for trials in found.trials:
        of = trials.comparison
        for arm, truth in zip(of.arms, of.truths, strict=True):
            row = {**_key(found, trials), "arm": arm}
            if gaps:
                none = of.control is None or arm == of.arms[of.control]
                row[TRUE_GAP] = "" if none else f"{truth - of.truths[of.control or 0]:+.4g}"
            else:
                row["true value"] = number_text(truth)
            for name in measures:
                estimate = found.value(name, arm=arm, design=trials.design, truth=trials.truth)
                row[title_of(name, found.time_unit)] = cell(estimate, MEASURES[name])
            yield row


def contrast_rows(found: OperatingCharacteristics) -> list[dict[str, str]]:
    """The other designs against the first one, paired trial by trial: a row for each truth and design."""
    table = found.contrasts()
    shown = [*DECISIONS, *SIZES, "share_on_best", "successes", "events", "lost", "wrong_incomplete"]
    rows = []
    for (truth, design), group in table.groupby(["truth", "first"], sort=False):
        row = {"design": str(design), "truth": str(truth)}
        by_measure = {one["measure"]: one for one in group.to_dict("records")}
        for name in shown:
            text = ""
            if name in by_measure:
                value, low, high = (float(by_measure[name][end]) for end in ("difference", "low", "high"))
                text = _signed(value, low, high, MEASURES[name]) if np.isfinite(value) else ""
            row[title_of(name, found.time_unit)] = text
        rows.append(row)
    return without_empty(rows)


def _signed(value: float, low: float, high: float, column: Column) -> str:
    """A difference; of probabilities in percentage points."""
    if column.show == "percent":
        texts = [f"{PERCENT * one:+.2f}" for one in (value, low, high)]
    else:
        texts = [
            f"+{text}" if one > 0 else text for one, text in ((one, _text(one, column)) for one in (value, low, high))
        ]
    return texts[0] if np.isnan(low) else f"{texts[0]} ({texts[1]} to {texts[2]})"
