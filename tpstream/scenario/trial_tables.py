"""The tables of a trial's design, `[trial]` and those inside it: what each key may be, and what it is for.

Whether they fit together and to the rest of the scenario is checked in trial_checks.py.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, NonNegativeFloat, PositiveFloat, PositiveInt, Tag, model_validator

from tpstream.looks.design import (
    Adjust,
    Against,
    AnalysisName,
    Dropouts,
    Family,
    LookAt,
    Method,
    RuleKind,
    SpendingName,
)
from tpstream.model.settings import Table
from tpstream.policies.base import WORDS, ControlShare, Power, Probability, Variance
from tpstream.scenario.messages import wrong

DECIDERS = {"fixed": "permuted-blocks", "best-probability": "best-probability"}
"""The policy of each kind of allocation that brings its own."""

Spending = Annotated[
    Annotated[SpendingName, Tag("(word)")] | Annotated[tuple[NonNegativeFloat, ...], Tag("(number)")], WORDS
]
When = Annotated[Annotated[PositiveInt, Tag("(number)")] | Annotated[Literal["patient", "look"], Tag("(word)")], WORDS]
Share = Annotated[float, Field(gt=0, lt=1)]


class LooksTable(Table):
    """`[trial.looks]`: when the trial is looked at while it goes on, and on whose data."""

    at: LookAt = Field(
        "known",
        description="what values count: patients whose endpoint is due, patients randomised, times, or fractions of "
        "the horizon whose endpoint is due",
    )
    values: tuple[PositiveFloat, ...] = Field(min_length=1, description="when each look is, rising")
    analysis: AnalysisName = Field(
        "complete",
        description="who counts: patients whose endpoint is due and known, all parts that are due and known, or all "
        "patients with missing parts predicted",
    )
    cleaning: float = Field(0.0, ge=0, allow_inf_nan=False, description="time between a cut of the data and a decision")
    recruiting: bool = Field(default=True, description="whether patients are enrolled in that time")
    information: tuple[float, ...] | None = Field(
        None, description="planned fraction of the information at each look; default: values / horizon"
    )


class AllocationTable(Table):
    """`[trial.allocation]`: how patients are given arms."""

    kind: Literal["fixed", "best-probability", "policy"] = Field(
        "policy",
        description="fixed ratios in permuted blocks, by the probability of being best, or the scenario's policies",
    )
    ratio: tuple[PositiveInt, ...] | None = Field(None, description="fixed: patients of each arm; default: equal")
    block: PositiveInt | None = Field(None, description="fixed: patients of a block; default: twice the sum of ratio")
    power: Power | None = Field(None, description="of the probability of being best: a number, or i/(2n)")
    burn_in: int | None = Field(
        None, ge=0, description="patients at the beginning who are given each arm equally likely"
    )
    minimum: Probability | None = Field(None, description="least probability of an arm")
    maximum: Probability | None = Field(None, description="largest probability of an arm")
    limit: Literal["lift", "clip"] | None = Field(
        None, description="how the limits are kept: others stay in proportion, or cut and scaled"
    )
    control_share: ControlShare | None = Field(None, description="of the control: a number, match, sqrt or none")
    update: When | None = Field(
        None, description="when probabilities are computed anew: for each patient, at looks, or every so many patients"
    )
    family: Family | None = Field(None, description="the posteriors of the arms' means; default: beta")
    prior: tuple[float, float] | None = Field(
        None, description="a and b of the Beta prior, or a mean and how many patients it counts as"
    )
    variance: Variance | None = Field(None, description="normal: of a patient; a number, or pooled over all arms")

    @model_validator(mode="after")
    def _check(self) -> "AllocationTable":
        if self.minimum is not None and self.maximum is not None and self.minimum > self.maximum:
            message = f"{self.minimum:g} is above the maximum {self.maximum:g}; lower it"
            raise wrong(("minimum",), message, self.minimum)
        return self

    def decider(self, control: str | None) -> dict[str, Any] | None:
        """The policy that this allocation brings, as the keys of a `[[policies]]` table; None if it brings none."""
        if self.kind not in DECIDERS:
            return None
        given = self.model_dump(mode="json", exclude_none=True, exclude={"kind"})
        if given.get("update") == "patient":
            given["update"] = 1
        if given.get("control_share", "none") != "none":
            given["control"] = control
        return {"kind": DECIDERS[self.kind], **given}


class RuleTable(Table):
    """One of `[[trial.rules]]`: what is concluded, by which method, and from which value on."""

    kind: RuleKind = Field(description="what is concluded of an arm: inferiority, superiority, equivalence or futility")
    method: Method = Field("posterior", description="a posterior probability, or a test: z, fisher, logrank or rmst")
    against: Against | None = Field(
        None, description="the control, the best arm, or all arms (equivalence); default: the control if there is one"
    )
    threshold: float | None = Field(
        None, allow_inf_nan=False, description="a probability (posterior), a p value (fisher) or a value of z"
    )
    margin: float = Field(0.0, allow_inf_nan=False, description="difference that counts, in the direction of benefit")
    model: Family = Field("beta", description="of posteriors: beta for counts of successes, or normal")
    prior: tuple[float, PositiveFloat] | None = Field(
        None, description="a and b of the Beta prior (default: 1, 1), or mean and deviation of the normal one"
    )
    alpha: Share | None = Field(None, description="one-sided error that is spent over the analyses")
    beta: Share | None = Field(None, description="futility: error of the second kind that is spent over the looks")
    spending: Spending | None = Field(
        None, description="how alpha or beta is spent: a function, or what is spent up to each analysis"
    )
    gamma: float | None = Field(None, allow_inf_nan=False, description="of hwang-shih-decani spending; default: -4")
    binding: bool = Field(default=True, description="futility: whether alpha may count on the stop")
    delayed_response: bool = Field(
        default=False, description="whether a stop is decided when the pipeline is known (Hampson and Jennison)"
    )
    pooled: bool = Field(default=False, description="z: whether both arms have one variance")
    when: Literal["looks", "end"] = Field("looks", description="looks: at all of them and at the end; end: only there")


class TrialTable(Table):
    """`[trial]`: the design of a trial."""

    control: str | None = Field(None, description="the name of the arm with which others are compared")
    direction: Literal["higher", "lower"] = Field("higher", description="which values of the endpoint are good")
    endpoint: Literal["sum", "last"] | None = Field(None, description="sum of all parts (default), or the last one")
    weights: tuple[float, ...] | None = Field(None, description="instead of endpoint: a weight for each part")
    adjust: Adjust = Field("none", description="of alpha over comparisons with the control")
    dropouts: Dropouts = Field(
        "exclude", description="patients who lost a part of the endpoint: left out, or counted with its worst value"
    )
    looks: LooksTable | None = Field(None, description="when the trial is looked at; none: only at the end")
    allocation: AllocationTable = Field(AllocationTable(), description="how patients are given arms")
    rules: tuple[RuleTable, ...] = Field((), description="what is concluded, and from which value on")

    @model_validator(mode="after")
    def _check(self) -> "TrialTable":
        share = self.allocation.control_share
        if share not in (None, "none") and self.control is None:
            raise wrong(("allocation", "control_share"), "there is no control; set trial.control", share)
        return self

    def against(self, rule: RuleTable) -> Against:
        """With what a rule compares: what it says, else the control, else the other arms."""
        without: Against = "all" if rule.kind == "equivalence" else "best"
        default: Against = "control" if self.control is not None else without
        return rule.against or default

    def decider(self) -> dict[str, Any] | None:
        """The policy of the allocation, if it brings one."""
        return self.allocation.decider(self.control)


def fields_of_trial(location: tuple[int | str, ...]) -> Mapping[str, Any]:
    """The known keys of the table at that place of a scenario, as in ("trial", "rules", 0)."""
    match location:
        case ("trial",):
            return TrialTable.model_fields
        case ("trial", "looks"):
            return LooksTable.model_fields
        case ("trial", "allocation"):
            return AllocationTable.model_fields
        case ("trial", "rules", int()):
            return RuleTable.model_fields
        case _:
            return {}
