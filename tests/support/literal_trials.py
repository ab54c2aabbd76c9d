"""Operating characteristics of made-up trials from loops over trials, as their definitions say it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median, stdev
from typing import Any

WORDS = {1: "inferiority", 2: "superiority", 3: "equivalence", 4: "futility", 5: "maximum"}
NORMAL = 1.959963984540054


@dataclass(frozen=True)
class Setting:
    """What is true: the expectation of each arm, which arm is the control, and whether a larger one is better."""

    truths: tuple[float, ...]
    control: int | None
    higher: bool

    @property
    def good(self) -> list[float]:
        """How good each arm is."""
        return [truth if self.higher else -truth for truth in self.truths]

    @property
    def claimable(self) -> list[int]:
        """The arms that can be claimed to be superior."""
        return [arm for arm in range(len(self.truths)) if arm != self.control]

    @property
    def false(self) -> list[int]:
        """The arms of which that is false."""
        good = self.good
        rivals = {
            arm: [good[self.control]] if self.control is not None else [*good[:arm], *good[arm + 1 :]]
            for arm in self.claimable
        }
        return [arm for arm in self.claimable if good[arm] <= max(rivals[arm])]

    @property
    def best(self) -> list[int]:
        """The arms that no other one is better than."""
        return [arm for arm in range(len(self.truths)) if self.good[arm] == max(self.good)]


@dataclass(frozen=True)
class Told:
    """One trial: whether it was stopped, its conclusions, the arm it chose, why arms were closed, and its claims."""

    run: dict[str, Any]
    stopped: bool
    at_stop: tuple[int, int]
    """What was concluded at the stop, or without one in the end, and of which arm."""
    decision: int
    chosen: int
    reasons: list[int]
    claims: list[int]
    final_claims: list[int]


def tell(run: dict[str, Any], setting: Setting) -> Told:
    """What a trial came to."""
    stopped = bool(run["conclusion"] != 5)
    early, late = ((int(run[f"{when}conclusion"]), int(run[f"{when}selected"])) for when in ("", "final_"))
    delayed = bool(run["stop_delayed"])
    decision, chosen = early if stopped and not delayed else late
    reasons = []
    for arm, final in enumerate(run["final_verdict"]):
        looks = run["look_verdict"][: int(run["stop_look"]) - 1] if delayed else run["look_verdict"]
        said = [int(look[arm]) for look in looks if look[arm]]
        reasons.append(said[0] if said else 0 if stopped and not delayed else int(final))
    claims = [arm for arm in setting.claimable if reasons[arm] == 2 or (chosen == arm and decision == 2)]
    final_claims = [
        arm
        for arm in setting.claimable
        if run["final_verdict"][arm] == 2 or (run["final_selected"] == arm and run["final_conclusion"] == 2)
    ]
    return Told(run, stopped, early if stopped else late, decision, chosen, reasons, claims, final_claims)


def literal(runs: list[dict[str, Any]], setting: Setting, arms: Sequence[str]) -> dict[tuple[str, str], float]:
    """Every characteristic, by arm (empty: of the trial) and measure; quartiles are left out."""
    told = [tell(run, setting) for run in runs]
    found = {("", name): value for name, value in {**decisions(told, setting), **amounts(runs, setting)}.items()}
    if len(setting.best) < len(arms):
        found |= {("", name): value for name, value in about_the_best(told, setting).items()}
    found |= {("", f"selected_{name}"): value for name, value in selected(told, setting).items()}
    for arm, name in enumerate(arms):
        own = {**of_arm(told, setting, arm), **estimates(told, setting, arm)}
        found |= {(name, measure): value for measure, value in own.items()}
    return found


def decisions(told: list[Told], setting: Setting) -> dict[str, float]:
    """Probabilities of what trials conclude."""
    found = {}
    for code, word in WORDS.items():
        found[word] = fmean(one.decision == code for one in told)
        found[f"final_{word}"] = fmean(one.run["final_conclusion"] == code for one in told)
    true = [arm for arm in setting.claimable if arm not in setting.false]
    for name, group in (("type1", setting.false), ("power", true)):
        if group:
            found[name] = fmean(any(arm in group for arm in one.claims) for one in told)
            found[f"final_{name}"] = fmean(any(arm in group for arm in one.final_claims) for one in told)
    found["none_selected"] = fmean(one.chosen == -1 for one in told)
    found["stopped"] = fmean(one.stopped for one in told)
    found["wrong_incomplete"] = fmean(any(wrong == 1 for wrong in one.run["look_wrong"]) for one in told)
    found["wrong_stop"] = fmean(differs(one, "known") for one in told)
    found["missed_stop"] = fmean(missed(one) for one in told)
    found["reversed"] = fmean(differs(one, "final") for one in told if one.stopped)
    return found


def missed(told: Told) -> bool:
    """Whether a look that did not stop the trial would have done so with complete data."""
    last = int(told.run["stop_look"])
    return any(why > 0 for look, why in enumerate(told.run["look_known"], 1) if look != last)


def differs(told: Told, other: str) -> bool:
    """Whether what a trial concluded at its stop is another than this conclusion."""
    run = told.run
    return told.at_stop != (int(run[f"{other}_conclusion"]), int(run[f"{other}_selected"]))


def amounts(runs: list[dict[str, Any]], setting: Setting) -> dict[str, float]:
    """Means and spreads of sizes, durations, overruns and successes, or events."""
    summed, rate = ("successes", "success_rate") if setting.higher else ("events", "event_rate")
    quantities = {
        "patients": [float(sum(run["patients"])) for run in runs],
        "duration": [float(run["duration"]) for run in runs],
        "overrun": [float(run["overrun"]) for run in runs],
        summed: [float(sum(run["outcome_sum"])) for run in runs],
    }
    found = {}
    for name, values in quantities.items():
        found |= {name: fmean(values), f"{name}_sd": stdev(values), f"{name}_median": median(values)}
        found |= {f"{name}_min": min(values), f"{name}_max": max(values)}
    pairs = zip(quantities[summed], quantities["patients"], strict=True)
    return {**found, rate: fmean(one / many for one, many in pairs)}


def about_the_best(told: list[Told], setting: Setting) -> dict[str, float]:
    """What is defined only where some arm is better than another."""
    good, patients = setting.good, [[int(many) for many in one.run["patients"]] for one in told]
    on_best = [sum(one[arm] for arm in setting.best) for one in patients]
    outcomes = [good[one.chosen] for one in told if one.chosen >= 0]
    return {
        "best_selected": fmean(one.chosen in setting.best for one in told),
        "on_best": fmean(on_best),
        "share_on_best": fmean(one / sum(all_of) for one, all_of in zip(on_best, patients, strict=True)),
        "lost": fmean(sum(many * (max(good) - good[arm]) for arm, many in enumerate(one)) for one in patients),
        "idp": fmean(100 * (outcome - min(good)) / (max(good) - min(good)) for outcome in outcomes),
    }


def of_arm(told: list[Told], setting: Setting, arm: int) -> dict[str, float]:
    """Probabilities and means of one arm."""
    found = {
        "selected": fmean(one.chosen == arm for one in told),
        "patients": fmean(float(one.run["patients"][arm]) for one in told),
        "share": fmean(float(one.run["patients"][arm]) / float(sum(one.run["patients"])) for one in told),
        "successes" if setting.higher else "events": fmean(float(one.run["outcome_sum"][arm]) for one in told),
    }
    found |= {word: fmean(one.reasons[arm] == code for one in told) for code, word in WORDS.items() if code != 5}
    if arm in setting.claimable:
        word = "type1" if arm in setting.false else "power"
        found[word] = fmean(arm in one.claims for one in told)
        found[f"final_{word}"] = fmean(arm in one.final_claims for one in told)
    return found


def estimates(told: list[Told], setting: Setting, arm: int) -> dict[str, float]:
    """How good the estimates of one arm are: at the stop and at the end, of all trials and of those that select it."""
    found = {}
    for when, before in (("final", ""), ("stop", "stop_")):
        for which in ("", "selected_"):
            kept = [(one.run, arm) for one in told if not which or one.chosen == arm]
            found |= quality(f"{before}{which}", kept, when, None, setting)
            if setting.control is not None and arm != setting.control:
                found |= quality(f"{before}{which}difference_", kept, when, setting.control, setting)
    return found


def selected(told: list[Told], setting: Setting) -> dict[str, float]:
    """How good the estimate of the selected arm is."""
    kept = [(one.run, one.chosen) for one in told if one.chosen >= 0]
    found = quality("", kept, "final", None, setting)
    if setting.control is None:
        return found
    others = [(run, arm) for run, arm in kept if arm != setting.control]
    return found | quality("difference_", others, "final", setting.control, setting)


def quality(
    before: str, kept: Sequence[tuple[dict[str, Any], int]], when: str, against: int | None, setting: Setting
) -> dict[str, float]:
    """Bias, root mean square error and coverage of the estimate of an arm, or of its difference to another one."""
    errors, covered = [], []
    for run, arm in kept:
        error = float(run[f"{when}_estimate"][arm]) - setting.truths[arm]
        variance = float(run[f"{when}_variance"][arm])
        if against is not None:
            error -= float(run[f"{when}_estimate"][against]) - setting.truths[against]
            variance += float(run[f"{when}_variance"][against])
        if math.isfinite(error):
            errors.append(error)
            covered.append(abs(error) <= NORMAL * math.sqrt(variance))
    names = [f"{before}{name}" for name in ("bias", "rmse", "coverage")]
    if not errors:
        return dict.fromkeys(names, math.nan)
    values = (fmean(errors), math.sqrt(fmean(error**2 for error in errors)), fmean(covered))
    return dict(zip(names, values, strict=True))
