"""The header of a log: everything besides the events that is needed to read, replay and judge a run."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import msgspec
import numpy as np

from tpstream.model.arrays import Floats
from tpstream.model.errors import LogError
from tpstream.model.events import OUTSIDE_COLUMNS, Detail
from tpstream.model.limits import LARGEST, LONGEST_SPAN, LONGEST_TEXT, MOST_ARMS, MOST_ROUNDS
from tpstream.model.units import MICROSECONDS
from tpstream.model.world import Endpoint, Problem, Reveal

SCHEMA = 1
"""The version of the log's schema; it grows when a reader of the old version could go wrong."""


Text = Annotated[str, msgspec.Meta(max_length=LONGEST_TEXT)]
Number = Annotated[float, msgspec.Meta(ge=-LARGEST, le=LARGEST)]
Positive = Annotated[float, msgspec.Meta(gt=0, le=LARGEST)]
Counted = Annotated[int, msgspec.Meta(ge=0)]
Span = Annotated[int, msgspec.Meta(ge=1, le=LONGEST_SPAN)]
ArmNames = Annotated[list[Text], msgspec.Meta(min_length=1, max_length=MOST_ARMS)]


class HeardEndpoint(msgspec.Struct, frozen=True, kw_only=True):
    """The endpoint of a trial, if policies hear another value than what a part paid, or not of all closed pulls.

    Instead of what a part paid they hear scale times it plus shift.
    """

    scale: list[Number]
    shift: list[Number]
    maxima: list[Number | None]
    """The largest sum that can be heard of a pull of each arm; None where there is none."""
    means: list[Number | None]
    """The expectation of that sum; None where it is not known."""
    signed: bool = False
    complete: bool = False
    """Whether pulls that lost a part that counts are not told as closed."""


class Looks(msgspec.Struct, frozen=True):
    """What is read of the looks in the scenario of a header."""

    cleaning: Number = 0.0


class LoggedTrial(msgspec.Struct, frozen=True):
    """What is read of the trial in the scenario of a header."""

    control: Text | None = None
    direction: Text | None = None
    endpoint: Text | None = None
    weights: list[Number] | None = None
    dropouts: Text | None = None
    looks: Looks | None = None


class LoggedRewards(msgspec.Struct, frozen=True):
    """What is read of the rewards in the scenario of a header."""

    kind: Text = ""


class LoggedScenario(msgspec.Struct, frozen=True):
    """What is read of the scenario in a header without building its world, each key as it must be.

    Whoever builds the world reads the whole scenario anew, by the rules of scenario files.
    """

    name: Text = ""
    currency: Text | None = None
    rewards: LoggedRewards = LoggedRewards()
    trial: LoggedTrial | None = None
    delays: list[dict[str, Any]] = []
    policies: list[dict[str, Any]] = []
    visits: Annotated[list[Number], msgspec.Meta(min_length=1, max_length=LONGEST_SPAN)] | None = None
    visit_spread: Number = 0.0
    window: Positive | None = None
    default_reward: Number | None = None
    drain: bool = False
    reveal: Reveal = "all"
    start: Text | None = None


class LoggedMap(msgspec.Struct, frozen=True):
    """What is read of the map by which tables were imported; see log/imports/column_map.py."""

    decisions: dict[str, Any] = {}
    payments: dict[str, Any] = {}
    options: dict[str, Any] = {}


class LoggedImport(msgspec.Struct, frozen=True):
    """What is read of how a log was imported."""

    map: LoggedMap | None = None
    tables: list[dict[str, Any]] = []


class DeciderSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How decisions are made for real, step by step: what a `Decider` was opened with, besides its policy."""

    identity: Text
    """Random digits that tell the tokens of this log from those of others."""
    clock: Literal["server", "caller"]
    """Whose clock gives times."""
    silence: Literal["zero", "wait"]
    """What a part counts of which nothing was heard: 0 when its period is over, or nothing: it is waited for."""
    unit_seconds: Positive | None = None
    """How long a unit of time is, where that is known."""
    tolerance: Annotated[float, msgspec.Meta(ge=0, le=LARGEST)] = 0.0
    """How long before its decision, or before the last event, something may have happened."""
    minimum_probability: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.0
    """The probability that every open arm has at least."""
    random_share: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.0
    """The share of decisions that are made by chance alone, all open arms alike."""


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """What a run was: its scenario with all defaults filled in, its policy, its random seed, and the arms' true means.

    Examples
    --------
    >>> from tpstream.log.schema import Header
    >>> header = Header(
    ...     scenario={}, policy="by hand", kind="uniform", parameters={}, seed=0, run=0, arms=["a", "b"],
    ...     means=[1.5, 0.9], maxima=[3.0, 3.0], span=3, horizon=50, groups=None, clairvoyant=False, versions={},
    ... )
    >>> header.problem().arms
    2
    """

    schema: int = SCHEMA
    scenario: dict[str, Any]
    """Empty for a world that is not described by a scenario of tpstream."""
    policy: Text
    """The policy's label in the study."""
    kind: Text
    """The policy's registered name."""
    parameters: dict[str, Any]
    """The policy's parameters."""
    seed: Counted
    run: Annotated[int, msgspec.Meta(ge=0, le=int(LARGEST))]
    arms: ArmNames
    """The names of the arms."""
    means: list[Number | None]
    """The expected cumulative reward of each arm; None where it is not known, as in imported logs."""
    maxima: list[Number | None]
    """The largest cumulative reward of each arm; None for an arm that has none."""
    span: Span
    horizon: Annotated[int, msgspec.Meta(ge=1, le=MOST_ROUNDS)]
    groups: Span | None
    clairvoyant: bool
    """Whether the policy was shown the total of a pull when it was made."""
    signed: bool = False
    """Whether parts may be negative."""
    detail: Detail | list[Detail] = "all"
    """What the log holds: "all" events, only the "pulls", or all events and one or several optional columns."""
    sparse: bool = False
    """Whether parts that paid nothing have no event; reading puts one in."""
    payments: bool = False
    """Whether the parts are periods of age, each one unit of time long, in which any number of payments may come."""
    window: Positive | None = None
    """The age at which a pull is closed at the latest, of a log of payments or of decisions that are made for real.

    It is in units of time; of payments, the last period may be shorter.
    """
    until: Number | None = None
    """The time up to which a sparse log knows of payments, if that is later than its last event."""
    origin: Text | None = None
    """The date and time at time 0, in the ISO format; None: times are numbers."""
    imported: dict[str, Any] | None = None
    """Of an imported log: what became of every row of the tables, and which columns were used."""
    time_unit: Text | None = None
    """What one unit of time is, e.g. "day"; None: a round, or not said."""
    currency: Text | None = None
    """What rewards are paid in, e.g. "EUR"; None: as the scenario says, or not said."""
    sites: Annotated[list[Text], msgspec.Meta(max_length=MOST_ARMS)] = []
    """The names of the sites at which decisions are due; empty if there are none."""
    endpoint: HeardEndpoint | None = None
    """What the policy heard in a trial instead of the rewards; None: the rewards."""
    decider: DeciderSettings | None = None
    """Of decisions that are made for real: how; such a log may go on at any time. None: of a run, or imported."""
    versions: dict[str, str]
    """The versions of tpstream and of packages that numbers depend on."""

    def known_means(self) -> Floats:
        """The expected cumulative reward of each arm; NaN where it is not known."""
        return np.array([np.nan if mean is None else mean for mean in self.means])

    @property
    def calendar(self) -> tuple[datetime, int] | None:
        """The date and time at time 0, and the microseconds of a unit of time; None: times are no dates."""
        length = MICROSECONDS.get(self.time_unit or "", 0)
        if not length and self.decider is not None and self.decider.unit_seconds is not None:
            length = round(MICROSECONDS["second"] * self.decider.unit_seconds)
        return None if self.origin is None or not length else (datetime.fromisoformat(self.origin), length)

    def assumed_groups(self) -> int | None:
        """The number of groups that the policy assumes, by its parameters; None if it is none that the span has."""
        groups = self.parameters.get("groups")
        if isinstance(groups, int) and 1 <= groups <= self.span and self.span % groups == 0:
            return groups
        return None

    def problem(self) -> Problem:
        """The problem that the policy was told, and the means."""
        return Problem(
            names=tuple(self.arms),
            maxima=np.array([np.nan if maximum is None else maximum for maximum in self.maxima]),
            span=self.span,
            horizon=self.horizon,
            groups=self.groups,
            means=None if None in self.means else self.known_means(),
            signed=self.signed,
            reveal=self.reveal,
            endpoint=None if self.endpoint is None else self._heard(self.endpoint),
        )

    @staticmethod
    def _heard(endpoint: HeardEndpoint) -> Endpoint:
        """The endpoint with arrays."""
        scale, shift = np.array(endpoint.scale), np.array(endpoint.shift)
        maxima, means = (
            np.array([np.nan if number is None else number for number in numbers])
            for numbers in (endpoint.maxima, endpoint.means)
        )
        return Endpoint(scale, shift, maxima, means, endpoint.signed, endpoint.complete)

    @property
    def reveal(self) -> Reveal:
        """What of the feedback the policy was shown, as the scenario says; all of it if that says nothing."""
        return cast("Reveal", self.scenario.get("reveal", "all"))

    @property
    def cleaning(self) -> float:
        """The time between the cut of the data for a look of a trial and its decision, as the scenario says."""
        looks = (self.scenario.get("trial") or {}).get("looks") or {}
        return float(looks.get("cleaning", 0.0))

    @property
    def world_columns(self) -> tuple[str, ...]:
        """The optional columns that events of this world have; in a log of only the pulls all are shown."""
        hidden = self.reveal != "all" and self.detail != "pulls"
        outside = OUTSIDE_COLUMNS if self.decider is not None else ()
        return (*(["shown"] if hidden else []), *(["site"] if self.sites else []), *outside)


def write_endpoint(endpoint: Endpoint) -> HeardEndpoint:
    """The endpoint as a header has it."""
    maxima, means = (
        [None if np.isnan(number) else number for number in numbers.tolist()]
        for numbers in (endpoint.maxima, endpoint.means)
    )
    scale, shift = endpoint.scale.tolist(), endpoint.shift.tolist()
    return HeardEndpoint(
        scale=scale, shift=shift, maxima=maxima, means=means, signed=endpoint.signed, complete=endpoint.complete
    )


class _Version(msgspec.Struct):
    """The part of a header that is read first."""

    schema: int = SCHEMA


def decode_header(path: Path, text: bytes) -> Header:
    """The header from JSON, every value in its range; a schema of another version is an error that says so."""
    try:
        schema = msgspec.json.decode(text, type=_Version).schema
        if schema != SCHEMA:
            raise LogError(
                f"{path}: the log has schema {schema} and this version of tpstream reads {SCHEMA}; upgrade it"
            )
        header = msgspec.json.decode(text, type=Header)
        msgspec.convert({"scenario": header.scenario, "imported": header.imported}, type=_OpenParts)
    except msgspec.ValidationError as error:
        raise LogError(f"{path}: header: {error}; correct it, or take another copy of the log") from error
    except RecursionError:
        raise LogError(f"{path}: header: is nested too deep; there is no log to read") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise LogError(f"{path}: the header is broken or torn: {error}; there is no log to read") from error
    for name, count, needed in _lengths(header):
        if count != needed:
            of = "arms" if needed == len(header.arms) else "parts"
            raise LogError(f"{path}: header: there are {count} {name} for {needed} {of}; correct it")
    for name, date in (("origin", header.origin), ("scenario.start", header.scenario.get("start"))):
        try:
            datetime.fromisoformat(date or "2000-01-01")
        except ValueError:
            raise LogError(f"{path}: header: {name}: {date!r} is no date such as 2024-12-31; correct it") from None
    if header.groups is not None and header.span % header.groups:
        raise LogError(f"{path}: header: the span {header.span} is no multiple of {header.groups} groups; correct it")
    return header


class _OpenParts(msgspec.Struct):
    """What a header has as open dictionaries; together, so that errors name the place in the header."""

    scenario: LoggedScenario
    imported: LoggedImport | None


def _lengths(header: Header) -> Iterator[tuple[str, int, int]]:
    """What lists are called, how long they are, and how long they must be."""
    arms, endpoint = len(header.arms), header.endpoint
    yield "means", len(header.means), arms
    yield "maxima", len(header.maxima), arms
    if endpoint is not None:
        yield "means of the endpoint", len(endpoint.means), arms
        yield "maxima of the endpoint", len(endpoint.maxima), arms
        yield "scales of the endpoint", len(endpoint.scale), header.span
        yield "shifts of the endpoint", len(endpoint.shift), header.span
