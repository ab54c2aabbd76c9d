"""A design in plain words, as a protocol states it: endpoint, looks, and the rules in the order in which they apply."""

from collections.abc import Iterator

import numpy as np

from tpstream.looks.design import Design, Reason, Rule
from tpstream.model.display import counted
from tpstream.model.units import count_of

SPENDING = {
    "obrien-fleming": "the spending function of the O'Brien-Fleming kind",
    "pocock": "the spending function of the Pocock kind",
    "hwang-shih-decani": "the spending function of Hwang, Shih and DeCani",
}
TESTS = {
    "z": "the z statistic",
    "fisher": "the p value of Fisher's exact test",
    "logrank": "the log-rank statistic",
    "rmst": "the z statistic of restricted mean survival",
}
COUNTED = {
    "complete": "Counted are the patients whose endpoint is due by the cut, never those who happen to be known early.",
    "available": "Counted is every part of the endpoint that is due and known by the cut.",
    "imputed": "Counted are all patients enrolled by the cut; what is missing is predicted from earlier visits.",
}


def design_sentences(design: Design, time_unit: str | None = None) -> list[str]:
    """What the design says, a sentence or two for each part of it."""
    return [
        _arms(design),
        _endpoint(design, time_unit),
        *_looks(design, time_unit),
        *_rules(design),
    ]


def _arms(design: Design) -> str:
    names = ", ".join(design.names)
    control = f"; {design.names[design.control]} is the control" if design.control >= 0 else "; there is no control"
    return (
        f"At most {counted(design.horizon, 'patient')} are enrolled on {counted(design.arms, 'arm')}: {names}{control}."
    )


def _endpoint(design: Design, unit: str | None) -> str:
    weights, parts = design.weights, len(design.weights)
    places = np.flatnonzero(weights)
    if parts == 1:
        what = "the outcome"
    elif (weights == 1).all():
        what = f"the sum of {parts} visits"
    elif len(places) == 1 and weights[places[0]] == 1:
        what = "the last visit" if places[0] == parts - 1 else f"visit {places[0] + 1}"
    else:
        what = "a weighted sum of visits (weights " + ", ".join(f"{weight:g}" for weight in weights) + ")"
    better = "smaller" if design.lower else "larger"
    due = "" if design.due == 0 else f", due {count_of(design.due, unit)} after randomisation"
    lost = {
        "exclude": "are left out of analyses",
        "failure": "are counted with the worst value of what is missing",
    }[design.dropouts]
    return f"The endpoint is {what}{due}; {better} values are better. Patients who are lost to follow-up {lost}."


def _looks(design: Design, unit: str | None) -> Iterator[str]:
    looks = design.looks
    if not len(looks):
        yield "There is no look at the data before the final analysis, which is made when everything is known."
        return
    values = ", ".join(f"{value:g}" for value in looks.values)
    when = {
        "known": f"when the endpoint is due of {values} patients",
        "randomised": f"when {values} patients are randomised",
        "time": f"at {'time' if unit is None else unit} {values}",
        "information": f"at the fractions {values} of the information",
    }[looks.at]
    yield f"{counted(len(looks), 'look')}: the data are cut {when}. {COUNTED[looks.analysis]}"
    if looks.cleaning:
        meanwhile = (
            "meanwhile recruitment goes on with the allocation as it was"
            if looks.recruiting
            else "meanwhile nobody is enrolled"
        )
        yield f"What a look decides is in force {count_of(looks.cleaning, unit)} after its cut; {meanwhile}."
    yield "After a stop nobody is enrolled; those who are enrolled are followed to their last visit (the overrun)."


def _rules(design: Design) -> Iterator[str]:
    for number in sorted(range(len(design.rules)), key=lambda one: design.rules[one].reason):
        yield rule_sentence(design.rules[number]) + _boundary(design, number)
    if any(rule.alpha is not None for rule in design.rules) and design.arms - (design.control >= 0) > 1:
        yield {
            "none": "The alpha of a rule is that of each comparison.",
            "bonferroni": "The alpha of a rule is that of all comparisons together, shared by Bonferroni's correction.",
            "dunnett": "The alpha of a rule is that of all comparisons together, by Dunnett's correction.",
        }[design.adjust]


def _boundary(design: Design, number: int) -> str:
    """The critical values of a rule that spends an error, at each analysis; nothing for one with a threshold."""
    if design.rules[number].threshold is not None:
        return ""
    from tpstream.looks.critical_values import critical_values  # noqa: PLC0415 (needs SciPy)

    found = critical_values(design)
    values = [found.value(number, analysis) for analysis in range(found.analyses)]
    if design.rules[number].end_only:
        values = values[-1:]
    shown = ", ".join(f"{value:.4g}" for value in values if not np.isnan(value))
    return f" Critical values, as planned: {shown}."


def rule_sentence(rule: Rule) -> str:
    """One rule as a sentence."""
    rivals = {"control": "the control", "best": "the best other arm", "all": "all other arms"}[rule.against]
    margin = f" by more than {rule.margin:g}" if rule.margin else ""
    claims = {
        Reason.INFERIORITY: f"An arm is dropped as inferior to {rivals}",
        Reason.SUPERIORITY: f"An arm is superior to {rivals}",
        Reason.EQUIVALENCE: "Arms are equivalent" if rule.against == "all" else f"An arm is equivalent to {rivals}",
        Reason.FUTILITY: f"An arm is futile against {rivals}",
    }
    return f"{claims[rule.reason]} if {_condition(rule, margin)}{_when(rule)}."


def _condition(rule: Rule, margin: str) -> str:
    if rule.method == "posterior":
        prior = "" if rule.prior is None else f"({rule.prior[0]:g}, {rule.prior[1]:g}) "
        model = f"{'Beta' if rule.model == 'beta' else 'normal'}{prior or ' '}".rstrip()
        event = f"it is better{margin}" if rule.against == "control" else "it is the best arm"
        if rule.reason == Reason.EQUIVALENCE:
            event = f"the difference is within {rule.margin:g}"
        below = rule.reason in (Reason.INFERIORITY, Reason.FUTILITY)
        return (
            f"the posterior probability that {event} ({model} prior) is {'below' if below else 'above'} "
            f"{rule.threshold:g}"
        )
    test = TESTS[rule.method]
    if rule.threshold is not None:
        below = (rule.reason in (Reason.INFERIORITY, Reason.FUTILITY)) != (rule.method == "fisher")
        return f"{test}{margin and f' (margin {rule.margin:g})'} is {'below' if below else 'above'} {rule.threshold:g}"
    error, word = (rule.beta, "beta") if rule.alpha is None else (rule.alpha, "one-sided alpha")
    spent = (
        SPENDING[rule.spent]
        if isinstance(rule.spent, str)
        else "the amounts " + ", ".join(f"{one:g}" for one in rule.spent)
    )
    how = "" if rule.end_only else f", spent by {spent}"
    delayed = (
        "; the decision is made when the pipeline is known (Hampson and Jennison)" if rule.delayed_response else ""
    )
    binding = "" if rule.kind != "futility" or rule.binding else "; the boundary is not binding"
    return f"{test} crosses the boundary of {word} = {error:g}{how}{delayed}{binding}"


def _when(rule: Rule) -> str:
    return ", at the final analysis only" if rule.end_only else ""


def look_needs(design: Design, number: int, analysis: int) -> str:
    """What a rule needs of its statistic at an analysis, in a few words: "above 0.98 is needed"."""
    from tpstream.looks.critical_values import critical_values  # noqa: PLC0415 (needs SciPy)

    return needed(design.rules[number], critical_values(design).value(number, analysis))


def needed(rule: Rule, value: float) -> str:
    """What a rule with this critical value needs of its statistic."""
    if np.isnan(value):
        return "nothing is needed"
    if np.isinf(value):  # after a stop with delayed response
        return "who is not superior is futile"
    below = (rule.reason in (Reason.INFERIORITY, Reason.FUTILITY)) != (rule.method == "fisher")
    return f"{'below' if below else 'above'} {value:.4g} is needed"
