"""The two forms in which a policy can be written, and the parameters that many policies share."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Discriminator, Field, PositiveFloat, PositiveInt, Tag

from tpstream.model.errors import PolicyError
from tpstream.model.interfaces import Policy
from tpstream.model.world import Problem

NO_ARM = -1
"""The decision if an index is NaN; engines end the run with an error."""
AutoGroups = Annotated[
    Annotated[int, Field(ge=1), Tag("(number)")] | Annotated[Literal["auto"], Tag("(word)")],
    Discriminator(lambda value: "(word)" if value == "auto" else "(number)"),
]
"""A number of groups, or "auto": chosen from what was seen. By the tags an error is about one form only."""


def _word_or_number(value: object) -> str:
    return "(word)" if isinstance(value, str) else "(number)"


WORDS = Discriminator(_word_or_number)
"""Tells words from other values, so that an error is about one form only."""
Probability = Annotated[float, Field(ge=0, le=1)]
Power = Annotated[Annotated[float, Field(ge=0), Tag("(number)")] | Annotated[Literal["i/(2n)"], Tag("(word)")], WORDS]
"""Of the probability of being best: a number, or one that grows with patient i of n."""
ControlShare = Annotated[
    Annotated[float, Field(gt=0, lt=1), Tag("(number)")] | Annotated[Literal["none", "match", "sqrt"], Tag("(word)")],
    WORDS,
]
Update = Annotated[Annotated[PositiveInt, Tag("(number)")] | Annotated[Literal["look"], Tag("(word)")], WORDS]
"""After how many patients, or at looks, probabilities are computed anew."""
Variance = Annotated[Annotated[PositiveFloat, Tag("(number)")] | Annotated[Literal["pooled"], Tag("(word)")], WORDS]


class Parameters(BaseModel):
    """The base class of a policy's parameters; a policy without any uses it as it is.

    Raises
    ------
    pydantic.ValidationError
        If a value is not allowed or a name is unknown.

    Examples
    --------
    >>> class GreedyParameters(Parameters):
    ...     explore: float = Field(0.1, ge=0, le=1, description="the share of rounds with a random arm")
    >>> GreedyParameters(explore=0.2).explore
    0.2
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    def resolved(self, folder: Path) -> "Parameters":  # noqa: ARG002 (for parameters that name files)
        """The same with the content of files in place of their names, which start in this folder."""
        return self


class IndexParameters(Parameters):
    """Parameters of a policy that pulls an arm of the largest index."""

    ties: Literal["random", "first"] = Field("random", description="among equal indices: a random arm, or the first")


class GroupParameters(IndexParameters):
    """Parameters of a policy that assumes independent groups of parts."""

    groups: int | None = Field(None, ge=1, description="groups the policy assumes; default: the environment's")

    @property
    def unequal(self) -> bool:
        """Whether the policy is told how much each group pays at most, so that groups need not pay alike."""
        return False

    def assumed_groups(self, problem: Problem) -> int:
        """The number of groups in this world; raises if they are taken to pay alike and do not."""
        groups = problem.assumed_groups(self.groups)
        if groups > 1 and not self.unequal and problem.endpoint is not None and not problem.endpoint.even:
            caps = "give it caps, or " if "caps" in type(self).model_fields else ""
            raise PolicyError(
                f"groups = {groups} are taken to pay alike, and parts count unequally in the endpoint of this trial; "
                f"{caps}set groups = 1"
            )
        return groups


def groups_of(parameters: BaseModel, problem: Problem) -> int:
    """The number of groups that parameters, be they those of a plug-in, mean in this world."""
    if isinstance(parameters, GroupParameters):
        return parameters.assumed_groups(problem)
    return problem.assumed_groups(getattr(parameters, "groups", None))


@dataclass(frozen=True)
class SharedPolicy:
    """A policy as a state of arrays and compiled functions, which every engine and replay can run.

    All functions but `init` are decorated with `tpstream.model.numba_support.compiled`. The engine calls the handlers
    (`on_pull`, `on_partial`, ...) when something happens, and `decide` when a decision is due. A handler that is left
    out is never called, which is faster: a policy that needs only sums takes `on_received` or `on_group` instead of
    `on_partial`. `slot` is the row of an open pull in the state fields named by `per_pull`; engines enlarge these
    arrays when more pulls are open. When a pull is closed, its row may be given to another pull.

    The state is a NamedTuple. Give its class a name that no other state has, since Numba tells states apart by it.
    These fields have a meaning:

    - `indices`, required: one float for each arm, set by `decide`; NaN for a policy without indices.
    - `clock`, optional: `np.zeros(1)`. Before each call of a handler or of `decide`, the engine writes to it the time
      of the event or decision. For `on_received` it is the time of the payments.
    - `probabilities`, optional: one float for each arm, the probability with which `decide` chooses it; `decide` sets
      it.
    - `open_arms`, optional: `np.ones(problem.arms, dtype=np.bool_)`. The engine writes False for an arm that a trial
      has dropped, and `decide` leaves it out. A trial that may drop arms takes only policies that have this field.

    Random numbers are drawn in `decide` only, never in a handler: engines and replay call handlers at different
    moments. A handler that needs a random number stores in the state what it is for. `decide` first draws for what
    handlers stored, in the order in which they did, then once for each arm, for all arms and in their order.
    What waits for a draw is bounded by the open pulls: the fields named by `queues` have as many rows as those of
    `per_pull`, and engines enlarge them, too.

    A run may end before its horizon, so a policy must not rely on reaching it.

    Parameters
    ----------
    name : str
        The name under which it is registered.
    parameters : type of Parameters
        Its parameters, as in a `[[policies]]` table of a scenario.
    init : callable
        `(problem, parameters) -> state`, ordinary Python. Fields named by `per_pull` have one row at first.
    decide : callable
        `(state, round, stream) -> arm`.
    on_pull : callable, optional
        `(state, arm, slot, total)`: a pull was made. The total is NaN unless the policy is clairvoyant.
    on_partial : callable, optional
        `(state, arm, slot, part, value)`: a part was delivered.
    on_received : callable, optional
        `(state, arm, amount)`: what an arm's pulls paid at one time, added by pull, then part; not told if it is 0.
    on_group : callable, optional
        `(state, arm, slot, group, amount)`: all parts of a group of one pull were delivered. The groups, from 0, are
        those of the policy's parameter `groups`.
    on_lost : callable, optional
        `(state, arm, slot, part)`: it is known that this part never arrives. `slot` is -1 if the pull is closed by
        then. A late part is not lost.
    on_closed : callable, optional
        `(state, arm, slot, credited)`: a pull is closed, and was credited with this much. In a trial that excludes
        drop-outs, it is not called for a pull that lost a part of the endpoint, unless the policy has `per_pull`: one
        that keeps rows for open pulls hears of every closing.
    on_look : callable, optional
        `(state, stage)`: a trial looks at its results. At stage 0 the data are cut: all that was delivered up to now,
        this instant included, counts. At stage 1 it is decided, and `open_arms` says what goes on.
    show_probabilities : callable, optional
        `(state)`: fill the state's `probabilities` with those of the decision that was just made, where this takes so
        long that it is done only for a log that asks for them.
    per_pull : tuple of str
        State fields with a row for each open pull.
    queues : tuple of str
        State fields with as many rows, one row at first, of which rows keep their places: for what waits for a draw.
    clairvoyant : bool
        Whether the policy is shown a pull's cumulative reward at the pull.
    knows_means : bool
        Whether the policy is told the arms' true means.
    lost_as_zero : bool
        Whether the policy counts a lost or late part as a reward of 0; users are warned where parts are missing.
    needs_maxima : bool
        Whether it needs the arms' maxima; it is refused where an arm has none.
    needs_positive : bool
        Whether it needs parts that are at least 0; it is refused where rewards are signed.
    variant : callable, optional
        `(parameters) -> SharedPolicy`: the policy that these parameters mean, for one whose parameters decide which
        handlers it has. It has the same name.
    measures : callable, optional
        `(state) -> mapping`: numbers by name that the policy reports at the end of a run.
    weighs : bool
        Whether the policy takes the weights of a trial's endpoint from `problem.endpoint` itself, and hears parts as
        they were paid. Others hear weighted parts.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> from tpstream import Scenario, simulate
    >>> from tpstream.model.numba_support import compiled
    >>> class InTurnState(NamedTuple):
    ...     indices: np.ndarray
    >>> def init(problem, parameters):
    ...     return InTurnState(np.full(problem.arms, np.nan))
    >>> @compiled
    ... def decide(state, round, stream):
    ...     return (round - 1) % state.indices.size
    >>> policy = SharedPolicy("in-turn", Parameters, init, decide)
    >>> scenario = Scenario.load("setting-1").with_(horizon=12)
    >>> simulate(scenario, policy, engine="simpy").arms.tolist()
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1]
    """

    name: str
    parameters: type[Parameters]
    init: Callable[[Problem, Any], Any]
    decide: Callable[[Any, int, np.random.Generator], int]
    on_pull: Callable[[Any, int, int, float], None] | None = None
    on_partial: Callable[[Any, int, int, int, float], None] | None = None
    on_received: Callable[[Any, int, float], None] | None = None
    on_group: Callable[[Any, int, int, int, float], None] | None = None
    on_closed: Callable[[Any, int, int, float], None] | None = None
    per_pull: tuple[str, ...] = ()
    clairvoyant: bool = False
    knows_means: bool = False
    on_lost: Callable[[Any, int, int, int], None] | None = None
    lost_as_zero: bool = False
    show_probabilities: Callable[[Any], None] | None = None
    queues: tuple[str, ...] = ()
    needs_maxima: bool = False
    needs_positive: bool = False
    variant: "Callable[[Any], SharedPolicy] | None" = None
    measures: Callable[[Any], Mapping[str, float]] | None = None
    on_look: Callable[[Any, int], None] | None = None
    weighs: bool = False

    @property
    def needs_parts(self) -> bool:
        """Whether it learns from parts or groups, and not only from what closed pulls paid."""
        return any((self.on_partial, self.on_received, self.on_group))

    @property
    def excludes(self) -> bool:
        """Whether it is not told of the closings of drop-outs, in a trial that excludes them."""
        return self.on_closed is not None and not self.per_pull

    def for_parameters(self, parameters: Parameters) -> "SharedPolicy":
        """The policy that these parameters mean: this one, unless it has variants."""
        return self if self.variant is None else self.variant(parameters)


@dataclass(frozen=True)
class PythonPolicy:
    """A policy as an ordinary Python object, for the SimPy engine and replay only.

    Parameters
    ----------
    name : str
        The name under which it is registered.
    parameters : type of Parameters
        Its parameters, as in a `[[policies]]` table of a scenario.
    create : callable
        `(problem, parameters, stream) -> policy`, an object as in `tpstream.model.interfaces.Policy`. It draws from
        `stream`, in `decide` only. For trials with looks it may have the methods `on_look(stage)` and
        `set_open_arms(open_arms)`, which do what `on_look` and the field `open_arms` do for a `SharedPolicy`.
    clairvoyant : bool
        Whether the policy is shown a pull's cumulative reward at the pull.
    knows_means : bool
        Whether the policy is told the arms' true means.
    lost_as_zero : bool
        Whether the policy counts a lost or late part as a reward of 0; users are warned where parts are missing.
    needs_maxima : bool
        Whether it needs the arms' maxima; it is refused where an arm has none.
    needs_positive : bool
        Whether it needs parts that are at least 0; it is refused where rewards are signed.

    Examples
    --------
    >>> from tpstream import Scenario, simulate
    >>> class Stubborn:
    ...     def __init__(self, problem, parameters, stream):
    ...         self.arms = problem.arms
    ...     def hear(self, events):
    ...         pass
    ...     def decide(self, round):
    ...         return self.arms - 1
    ...     def indices(self):
    ...         return np.full(self.arms, np.nan)
    >>> policy = PythonPolicy("stubborn", Parameters, Stubborn)
    >>> scenario = Scenario.load("setting-1").with_(horizon=10)
    >>> simulate(scenario, policy, engine="simpy").arms.tolist()
    [9, 9, 9, 9, 9, 9, 9, 9, 9, 9]
    """

    name: str
    parameters: type[Parameters]
    create: Callable[[Problem, Any, np.random.Generator], Policy]
    clairvoyant: bool = False
    knows_means: bool = False
    lost_as_zero: bool = False
    needs_maxima: bool = False
    needs_positive: bool = False

    @property
    def excludes(self) -> bool:
        """As a SharedPolicy has it: it hears closings of complete pulls only, in a trial that excludes drop-outs."""
        return True

    def for_parameters(self, parameters: Parameters) -> "PythonPolicy":  # noqa: ARG002 (as a SharedPolicy has it)
        """The same policy, whatever its parameters."""
        return self


PolicyForm = SharedPolicy | PythonPolicy


def told_problem(form: PolicyForm, problem: Problem) -> Problem:
    """What a policy is told about the world: of a trial its endpoint, and the arms' means only if it may know them."""
    if problem.endpoint is not None and not problem.endpoint.plain and form.clairvoyant:
        why = "is shown the whole reward of a pull, which is not the endpoint of this trial"
        raise PolicyError(f"policy {form.name!r} {why}; use another")
    heard = problem if isinstance(form, SharedPolicy) and form.weighs else problem.heard()
    return heard if form.knows_means else heard.without_means()


def check_arm(arm: object, problem: Problem, round: int, label: str) -> int:
    """The decided arm, if there is such an arm."""
    if not isinstance(arm, (int, np.integer)):
        raise PolicyError(f"policy {label!r} decided for {arm!r} in round {round}; give an arm's number")
    if not 0 <= arm < problem.arms:
        raise PolicyError(f"policy {label!r} decided for arm {arm} in round {round}; arms are 0 to {problem.arms - 1}")
    return int(arm)
