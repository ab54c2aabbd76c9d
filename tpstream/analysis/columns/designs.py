"""The columns of the tables of designs with looks, and what their operating characteristics are."""

from collections.abc import Iterator

from tpstream.analysis.columns.column import REWARD, Column, Columns, Show

DESIGN = Column("design", "the scenario's name, with that of the policy if there are several", title="design")
TRUTH = Column("truth", "what is true of the arms: as the scenario says, or made by the tool", title="truth")
ENDS = (
    Column("error", "its Monte Carlo standard error"),
    Column("low", "lower end of its 95 % interval over the simulated trials"),
    Column("high", "its upper end"),
    Column("trials", "the simulated trials that it comes from", "trials"),
)
CONCLUSIONS = {
    "superiority": "that an arm is superior",
    "equivalence": "that the arms are equivalent",
    "futility": "that going on is futile",
    "inferiority": "that only inferior arms were left",
    "maximum": "nothing: the maximum was reached and no rule held in the final analysis",
}
ARM_REASONS = {
    "superiority": "superior",
    "equivalence": "equivalent",
    "futility": "futile",
    "inferiority": "inferior",
}
QUANTITIES: dict[str, tuple[str, str, Show]] = {
    "patients": ("patients enrolled", "patients", "amount"),
    "duration": ("time of the last read-out", "time", "time"),
    "overrun": (
        "patients who were enrolled but not counted when the trial was stopped, 0 if it was not",
        "patients",
        "amount",
    ),
    "successes": ("the sum of the endpoints of all patients, where high values are good", REWARD, "amount"),
    "events": ("the sum of the endpoints of all patients, where low values are good", REWARD, "amount"),
}
SPREADS = {
    "sd": "standard deviation of",
    "min": "smallest value seen of",
    "q25": "first quartile of",
    "median": "median of",
    "q75": "third quartile of",
    "max": "largest value seen of",
}
QUALITIES: dict[str, tuple[str, Show]] = {
    "bias": ("mean of the estimate minus the truth", "number"),
    "rmse": ("root of the mean square of the estimate minus the truth", "number"),
    "coverage": (
        "share of trials whose 95 % interval (normal, from the estimate's variance) holds the truth",
        "percent",
    ),
}
PATIENTS = "patients"


def _decisions() -> Iterator[Column]:
    for word, meaning in CONCLUSIONS.items():
        own = f"; of an arm: that it is found {ARM_REASONS[word]}" if word in ARM_REASONS else ""
        yield Column(word, f"probability that the trial concludes {meaning}{own}", "share", word, "percent")
    for word, meaning in CONCLUSIONS.items():
        yield Column(f"final_{word}", f"the same with everything known, the overrun included: {meaning}", "share")
    known = "with everything known, the overrun included"
    yield Column(
        "type1",
        "type I error: probability that an arm which is not better is claimed to be superior (of the trial: any such "
        "arm, the family-wise error; of an arm: its own comparison), by the decision of the trial: at its stop, or in "
        "the final analysis, as always with delayed response",
        "share",
        "type I error",
        "percent",
    )
    yield Column("final_type1", f"type I error {known}", "share", "type I error, final", "percent")
    yield Column(
        "power",
        "probability that an arm which is better is claimed to be superior (of the trial: any such arm)",
        "share",
        "power",
        "percent",
    )
    yield Column("final_power", f"power {known}", "share", "power, final", "percent")
    yield Column("best_selected", "probability that a best arm is selected", "share", "best selected", "percent")
    yield Column("none_selected", "probability that no arm is selected", "share", "none selected", "percent")
    yield Column("stopped", "probability that a rule ends the trial before its maximum", "share", "stopped", "percent")
    yield Column(
        "wrong_incomplete",
        "probability that a look (any that was held) would have decided something else about the trial or an arm, had "
        "every endpoint of the patients enrolled by then been known",
        "share",
        "wrong, incomplete data",
        "percent",
    )
    yield Column(
        "wrong_stop",
        "probability that a look ends the trial that would have gone on, or concluded something else, with these "
        "endpoints known",
        "share",
        "wrong stop",
        "percent",
    )
    yield Column(
        "missed_stop",
        "probability that a look goes on that would have ended the trial with these endpoints known",
        "share",
        "missed stop",
        "percent",
    )
    yield Column(
        "reversed",
        "of the trials that were stopped: share whose conclusion the overrun changes",
        "share",
        "reversed by overrun",
        "percent",
    )


def _amounts() -> Iterator[Column]:
    for name, (meaning, unit, show) in QUANTITIES.items():
        yield Column(name, f"mean of: {meaning}", unit, name, show)
        for word, spread in SPREADS.items():
            yield Column(f"{name}_{word}", f"{spread}: {meaning}", unit)
    yield Column(
        "success_rate",
        "mean endpoint of a trial's patients, where high values are good",
        REWARD,
        "per patient",
        "number",
    )
    yield Column(
        "event_rate",
        "mean endpoint of a trial's patients, where low values are good",
        REWARD,
        "events per patient",
        "number",
    )
    yield Column("on_best", "mean number of patients on a best arm", PATIENTS, "on best arm", "amount")
    yield Column("share_on_best", "mean share of patients on a best arm", "share", "share on best", "percent")
    yield Column(
        "lost",
        "what the patients lose in expectation, compared with all on a best arm",
        REWARD,
        "benefit lost",
        "amount",
    )
    yield Column(
        "idp",
        "ideal design percentage: 100 (truth of the selected arm - worst) / (best - worst), if an arm is selected",
        "",
        "IDP",
        "amount",
    )


def _arms() -> Iterator[Column]:
    yield Column("selected", "of an arm: probability that it is selected", "share", "selected", "percent")
    yield Column("share", "of an arm: mean share of the patients", "share", "share of patients", "percent")


def _estimates() -> Iterator[Column]:
    for before, when in (("", "with everything known"), ("stop_", "at the stop")):
        for chosen, which in (("", "over all trials"), ("selected_", "over the trials that select the arm")):
            for gap, of in (("", "an arm's endpoint"), ("difference_", "its difference to the control")):
                for name, (meaning, show) in QUALITIES.items():
                    title = "" if before else f"{gap.replace('_', ' ')}{name}{' if selected' if chosen else ''}"
                    told = f"{meaning}; estimate of {of} {when}, {which}"
                    yield Column(
                        f"{before}{chosen}{gap}{name}",
                        told,
                        "share" if name == "coverage" else REWARD,
                        title,
                        show,
                    )


MEASURES: Columns = (*_decisions(), *_amounts(), *_arms(), *_estimates())
"""The operating characteristics."""
DESIGNS: dict[str, Columns] = {
    "characteristics": (
        DESIGN,
        TRUTH,
        Column("arm", "the arm that it is about; empty for the trial as a whole", title="arm"),
        Column("measure", "which operating characteristic: see the table `measures`"),
        Column("value", "how large it is"),
        *ENDS,
    ),
    "design_contrasts": (
        TRUTH,
        Column("first", "the design that is compared", title="design"),
        Column("second", "the design that it is compared with: the first one of the command"),
        Column("measure", "which operating characteristic: see the table `measures`"),
        Column("difference", "the first minus the second, trial by trial on the same random numbers"),
        *ENDS,
    ),
    "trials": (
        DESIGN,
        TRUTH,
        Column("run", "the number of the simulated trial, from 0"),
        Column("decision", "what it concluded: superiority, equivalence, futility, inferiority or maximum"),
        Column("selected", "the arm that it selected; no value if none"),
        Column("final_decision", "what it would conclude with everything known, the overrun included"),
        Column("stop_look", "the look at which a rule ended it; 0 if none did"),
        Column(
            "decided_at",
            "when it was decided: at the stop, or at the last read-out; always the latter with delayed response",
            "time",
        ),
        Column("patients", "patients enrolled", PATIENTS),
        Column("overrun", "patients who were enrolled but not counted at the stop", PATIENTS),
        Column("duration", "time of the last read-out", "time"),
        Column("successes", "the sum of the endpoints of all patients; no value where low ones are good", REWARD),
        Column("events", "the same where low values are good; no value where high ones are", REWARD),
        Column("lost", "what the patients lose in expectation; no value if all arms are equally good", REWARD),
    ),
    "measures": MEASURES,
}
