"""The configuration of a service: where it listens, its limits, and its experiments, each with a log and a token."""

import ipaddress
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, Tag, ValidationError, field_validator, model_validator

from tpstream.model.errors import ServiceError
from tpstream.model.limits import LONGEST_SPAN, MOST_ARMS, MOST_ROUNDS
from tpstream.model.whole_files import read_whole
from tpstream.policies.base import WORDS
from tpstream.scenario.files import read_toml
from tpstream.scenario.messages import Fields, Location, describe_error
from tpstream.scenario.tables import plain, read

SHORTEST_TOKEN = 16
"""Characters of a token: a shorter one could be guessed."""
TOKEN = re.compile(r"[\x21-\x7e]+")
"""What a header can carry and no terminal changes."""
RESERVED = ("decide", "deliver", "state", "switch", "events", "healthz", "metrics", "docs", "openapi.json")
"""Names that paths of the service begin with."""
NAME = r"^[a-z0-9][a-z0-9-]{0,63}$"
MOST_EXPERIMENTS = 1_000
Duration = Annotated[
    Annotated[float, Field(gt=0, allow_inf_nan=False), Tag("(number)")] | Annotated[str, Tag("(word)")], WORDS
]
"""A number of units, or a text such as "60d"."""


class _Keys(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Limits(_Keys):
    """What callers may ask for; beyond it they are refused, and everything else goes on."""

    body: int = Field(1_000_000, ge=1_000, le=100_000_000, description="bytes of a request's body")
    items: int = Field(1_000, ge=1, le=100_000, description="deliveries in one request")
    rate: float = Field(20_000, gt=0, allow_inf_nan=False, description="decisions and deliveries per second")
    waiting: int = Field(10_000, ge=1, le=1_000_000, description="decisions and deliveries that wait at one time")
    connections: int = Field(2_000, ge=1, le=100_000, description="connections at one time")
    seconds: float = Field(10.0, gt=0, le=3600, description="seconds in which a request must have arrived")
    idle: float = Field(75.0, gt=0, le=86_400, description="seconds for which an unused connection is kept")


class Experiment(_Keys):
    """One of `[[experiments]]`: what `Decider.open` takes, the folder of its log, and where its token is."""

    name: str = Field(pattern=NAME, description="what paths begin with, e.g. shop")
    log: str = Field("", description="the folder of its log; default: logs/NAME beside this file")
    policy: str = Field(min_length=1, description='the policy, e.g. "group-thompson" or "tp-ucb-fr:groups=5"')
    arms: tuple[str, ...] = Field(description="the names of the options")
    span: int = Field(ge=1, le=LONGEST_SPAN, description="parts in which a decision pays")
    window: Duration | None = Field(None, description='how long a decision is waited for, e.g. 60 or "60d"')
    unit: Duration | None = Field(None, description='how long a unit of time is: seconds, or e.g. "1d" or "day"')
    groups: int | None = Field(None, ge=1, description="groups of parts that pay alike")
    maxima: tuple[float, ...] | None = Field(None, description="the most that a decision can pay, for each arm")
    signed: bool = Field(default=False, description="whether amounts may be negative, such as refunds")
    currency: str | None = Field(None, pattern=r"^\S{1,8}$", description='what amounts are paid in, e.g. "EUR"')
    horizon: int | None = Field(None, ge=1, le=MOST_ROUNDS, description="how many decisions there are at most")
    seed: int = Field(0, ge=0, description="of all random numbers")
    run: int = Field(0, ge=0, description="the number of the run: another one has other random numbers")
    clock: Literal["server", "caller"] = Field("server", description="who says what time it is")
    silence: Literal["zero", "wait"] = Field("zero", description="whether a part that nobody told of has paid 0")
    tolerance: float = Field(0.0, ge=0, allow_inf_nan=False, description="how far times of events may be ahead")
    minimum_probability: float = Field(0.0, ge=0, le=1, description="of every arm")
    random_share: float = Field(0.0, ge=0, le=1, description="decisions at random, as a share")
    snapshot_every: int | None = Field(None, ge=1, description="events after which a snapshot is taken")
    token_file: str | None = Field(None, min_length=1, description="the file that holds the token")
    token_environment: str | None = Field(None, min_length=1, description="the environment variable that holds it")

    @field_validator("arms")
    @classmethod
    def _check_arms(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if not 1 <= len(value) <= MOST_ARMS:
            raise ValueError(f"must be 1 to {MOST_ARMS:,} names, got {len(value)}")
        return value

    @field_validator("name")
    @classmethod
    def _check_name(cls, value: str) -> str:
        if value in RESERVED:
            raise ValueError(f"{value!r} is a path of every service; choose another name")
        return value

    @model_validator(mode="after")
    def _check_token(self) -> "Experiment":
        if self.token_file is not None and self.token_environment is not None:
            raise ValueError("token_file and token_environment both name the token; leave out one")
        return self

    @property
    def token(self) -> str:
        """Where the token is, in words."""
        if self.token_file is not None:
            return f"in {self.token_file}"
        return "none" if self.token_environment is None else f"in the environment variable {self.token_environment}"

    @property
    def keywords(self) -> dict[str, Any]:
        """How the decider is opened, besides its place; what is not configured is left to it."""
        given = self.model_dump(exclude={"name", "log", "token_file", "token_environment"}, exclude_unset=True)
        return {key: list(value) if isinstance(value, tuple) else value for key, value in given.items()}


class ServiceKeys(_Keys):
    """Every key of a configuration."""

    host: str = Field("127.0.0.1", min_length=1, description="the address to listen at")
    port: int = Field(8787, ge=0, le=65_535, description="the port to listen at; 0: any free one")
    hosts: tuple[str, ...] = Field((), description="names under which others reach the service")
    limits: Limits = Field(Limits(), description="what callers may ask for")
    experiments: tuple[Experiment, ...] = Field(description="what is decided")

    @model_validator(mode="after")
    def _check_experiments(self) -> "ServiceKeys":
        if not 1 <= len(self.experiments) <= MOST_EXPERIMENTS:
            raise ValueError(f"experiments: must be 1 to {MOST_EXPERIMENTS:,}; write [[experiments]]")
        for what in ("name", "log"):
            seen: dict[str, int] = {}
            for number, one in enumerate(self.experiments):
                value = getattr(one, what)
                if value and value in seen:
                    raise ValueError(
                        f"experiments[{number}].{what}: {value!r} is also that of experiments[{seen[value]}]; "
                        "choose another"
                    )
                seen[value] = number
        return self


@dataclass(frozen=True, repr=False)
class ServiceConfig:
    """A configuration that was read: the keys, the place of every log, and the tokens.

    Its text does not show the tokens.
    """

    keys: ServiceKeys
    logs: Mapping[str, Path]
    """The place of the log of every experiment, without its ending, by the name of the experiment."""
    tokens: Mapping[str, str | None]

    def __repr__(self) -> str:
        return f"ServiceConfig of {', '.join(self.logs)}"

    @staticmethod
    def load(path: str | Path) -> "ServiceConfig":
        """The configuration of that TOML file; whatever is wrong is an error with a line for each mistake."""
        file = Path(path)
        return ServiceConfig.parse(read_toml(file, "configuration"), file.parent, source=str(file))

    @staticmethod
    def parse(keys: Mapping[str, Any], folder: Path, *, source: str = "configuration") -> "ServiceConfig":
        """The configuration of these keys; files that it names start in this folder."""
        try:
            found: ServiceKeys = read(ServiceKeys, plain(keys))
        except ValidationError as error:
            raise ServiceError(f"{source}: {describe_error(error, _fields_at)}") from None
        logs = {one.name: folder / (one.log or f"logs/{one.name}") / one.name for one in found.experiments}
        tokens = {one.name: _token(one, folder, source) for one in found.experiments}
        open_to_all = [name for name, token in tokens.items() if token is None]
        if open_to_all and not is_loopback(found.host):
            raise ServiceError(
                f"{source}: host: {found.host} can be reached from other machines, and {', '.join(open_to_all)} "
                "has no token; add token_file or token_environment, or listen at 127.0.0.1"
            )
        return ServiceConfig(found, logs, tokens)


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches that address.

    Examples
    --------
    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def read_token(file: Path) -> str:
    """The token that a file holds."""
    try:
        return check_token(read_whole(file).decode("utf-8").strip(), str(file))
    except OSError as error:
        raise ServiceError(f"{file}: cannot read the token: {error.strerror}; check its place") from None
    except UnicodeDecodeError:
        raise ServiceError(f"{file}: the token is not text; write letters and digits") from None


def check_token(token: str, where: str) -> str:
    """The token, if it can be one; it is not shown if not."""
    if len(token) < SHORTEST_TOKEN or not TOKEN.fullmatch(token):
        raise ServiceError(
            f"{where}: a token has at least {SHORTEST_TOKEN} letters, digits and signs without spaces; make one with "
            "`openssl rand -hex 24`"
        )
    return token


def _token(experiment: Experiment, folder: Path, source: str) -> str | None:
    """The token of an experiment, if it has one."""
    if experiment.token_file is not None:
        return read_token(folder / experiment.token_file)
    if experiment.token_environment is None:
        return None
    name = experiment.token_environment
    if name not in os.environ:
        raise ServiceError(f"{source}: token_environment: the environment variable {name} is not set; set it")
    return check_token(os.environ[name], f"the environment variable {name}")


def _fields_at(location: Location) -> Fields:
    """The known keys of the table at that place."""
    match location:
        case ():
            return ServiceKeys.model_fields
        case ("limits",):
            return Limits.model_fields
        case ("experiments", int()):
            return Experiment.model_fields
    return {}
