"""The keys of a scenario file: what each may be, and what it is for."""

from datetime import date
from typing import Annotated, Any, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from tpstream.model.limits import LONGEST_SPAN, MOST_ROUNDS
from tpstream.model.units import check_time_unit
from tpstream.model.world import Reveal
from tpstream.rewards.base import RewardTable
from tpstream.scenario.tables import SECTIONS, ArmTable, PolicyTable, read, read_key
from tpstream.scenario.trial_tables import TrialTable
from tpstream.timing.calendars import OpenHours
from tpstream.timing.kinds import ArrivalTable, DelayTable

REGULAR = {"kind": "regular"}
"""The arrivals of a scenario that says nothing about them."""


class ScenarioKeys(BaseModel):
    """Every key with its type, default and description; what does not depend on other keys is checked here."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    name: str = Field(min_length=1, pattern=r"^[^/\\]+$", description="what the scenario is called in results")
    horizon: int = Field(ge=1, le=MOST_ROUNDS, description="rounds, i.e. decisions")
    span: int = Field(ge=1, le=LONGEST_SPAN, description="rounds over which a pull pays; a trace implies it")
    seed: int = Field(0, ge=0, description="of all random streams")
    drain: bool = Field(default=False, description="let open pulls pay to their end after the horizon")
    currency: str | None = Field(
        None, pattern=r"^\S{1,8}$", description='what rewards are paid in, e.g. "EUR": tables then show what was earned'
    )
    rewards: RewardTable = Field(description="how a pull pays: a kind and its settings")
    arms: tuple[ArmTable, ...] = Field(description="the options, each with the settings of the rewards' kind")
    trial: TrialTable | None = Field(None, description="the design of a trial: endpoint, looks, allocation and rules")
    policies: tuple[PolicyTable, ...] = Field(
        (), validate_default=True, description="who decides; none listed: the four of the paper"
    )
    delays: tuple[DelayTable, ...] = Field((), description="when parts arrive, applied in order; none: when due")
    arrivals: ArrivalTable = Field(
        cast("ArrivalTable", REGULAR),
        validate_default=True,
        description="when decisions are due: a kind and its settings",
    )
    resources: dict[str, Annotated[int, Field(ge=1)]] = Field({}, description="capacities of what delays share")
    opening_hours: dict[str, OpenHours] = Field({}, description="when resources serve; those not named always do")
    time_unit: str | None = Field(None, description="what one unit of time is, in the singular, such as day or week")
    start: date | None = Field(None, strict=False, description="the day that begins at time 0, for calendars")
    visits: list[float] | None = Field(
        None, min_length=1, description="when the parts are due after the pull; none: 0, 1, ..., span - 1"
    )
    visit_spread: float = Field(0.0, ge=0, description="by how much a part is due earlier or later, at random")
    window: float | None = Field(None, gt=0, allow_inf_nan=False, description="how long a pull is waited for")
    default_reward: float | None = Field(
        None, ge=0, allow_inf_nan=False, description="what a part counts as that is missing when its pull is closed"
    )
    reveal: Reveal = Field(
        "all",
        description="what of the feedback is shown: all; positive parts at once, others at the closing; closed pulls",
    )

    @field_validator("time_unit")
    @classmethod
    def _check_time_unit(cls, value: str | None) -> str | None:
        return None if value is None else check_time_unit(value)

    @field_validator(*SECTIONS, mode="plain")
    @classmethod
    def _read_key(cls, value: object, info: ValidationInfo) -> Any:
        return read_key(str(info.field_name), value, info.data)

    @field_validator("opening_hours", mode="before")
    @classmethod
    def _read_opening_hours(cls, value: object) -> Any:
        return read(dict[str, OpenHours], value)

    @field_validator("trial", mode="before")
    @classmethod
    def _read_trial(cls, value: object) -> Any:
        return read(TrialTable | None, value)
