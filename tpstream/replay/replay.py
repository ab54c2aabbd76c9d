"""Replay: a policy is told the events of a log again, and each of its decisions is compared with the logged one.

The log is opened, its policy found, the world that its header describes is built, and its events are audited on the
way.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from tpstream.log.reader import Log, read_log
from tpstream.log.schema import Header
from tpstream.model.arrays import Floats
from tpstream.model.display import Displayed, Summary, counted, number_text
from tpstream.model.errors import LogError, ScenarioError, TpstreamError, UnknownNameError
from tpstream.model.events import Events, Kind, Told, about_looks
from tpstream.model.interfaces import Policy, TimedPolicy
from tpstream.model.world import Purpose, open_stream
from tpstream.policies.runner import Runner, start_policy
from tpstream.replay.audit import audited
from tpstream.replay.looks import LookAudit, ToldLooks
from tpstream.scenario.policy_choice import PolicyChoice, PolicyRequest, PolicySpec, request_policy
from tpstream.scenario.scenario import Scenario
from tpstream.scenario.tables import PolicyTable, find_policy, read_policies


@dataclass(frozen=True, eq=False)
class Divergence:
    """The first decision that is not the logged one, with the policy's state at that moment."""

    round: int
    seq: int
    """The number of the event in the log."""
    logged: int
    """The arm in the log."""
    decided: int
    """The arm that the policy decides for."""
    logged_indices: Floats | None
    """The index of every arm in the log, if it has them."""
    indices: Floats
    """The index of every arm that the policy computes."""
    state: Any
    """The arrays of a policy in the shared form; None for another one."""

    def rows(self) -> list[dict[str, str]]:
        """Both decisions as rows of a table."""
        arms = {"log": self.logged, "replay": self.decided}
        return [
            {"decision": who, "arm": str(arm), "index in the replay": number_text(float(self.indices[arm]))}
            for who, arm in arms.items()
        ]


@dataclass(frozen=True, eq=False, repr=False)
class Replay(Displayed):
    """What a replay found: all decisions are equal, or the first one that is not.

    Get one from `replay`, which has an example.

    Parameters
    ----------
    log, policy
        The log's file and the label of the policy that was told its events.
    rounds
        The number of decisions that were compared; the last one is the divergence, if there is one.
    divergence
        The first decision that is not the logged one; None if all are equal.
    complete
        Whether the log is of a run that came to its end.
    notes
        What a reader of the result should know: where the log is torn, why its values were not drawn again.
    looks
        The looks of a trial that were computed again; all are equal.
    """

    log: str
    policy: str
    rounds: int
    divergence: Divergence | None
    complete: bool
    notes: tuple[str, ...]
    looks: int = 0

    @property
    def equal(self) -> bool:
        """Whether every decision is the logged one."""
        return self.divergence is None

    def _summary(self) -> Summary:
        facts = [f"log {self.log}", *([] if self.complete else ["the run did not come to its end"])]
        facts += [f"{counted(self.looks, 'look')} computed again, all equal"] if self.looks else []
        title = f"Replay under {self.policy}"
        found = self.divergence
        if found is None:
            return Summary(f"{title}: {counted(self.rounds, 'decision')}, all equal", facts, notes=self.notes)
        return Summary(
            f"{title}: differs in round {found.round:,}",
            [f"{counted(self.rounds - 1, 'decision')} before it are equal", *facts],
            found.rows(),
            self.notes,
        )


def replay(
    log: Log | str | Path, policy: PolicySpec | None = None, *, folder: str | Path = ".", redraw: bool = True
) -> Replay:
    """Tell a policy the events of a log and compare each of its decisions with the logged one.

    Parameters
    ----------
    log
        A log that holds every event: a file, or a log that is open already.
    policy
        The policy: a name, a dictionary or an object, as in `simulate`; by default the one that the header names,
        with its parameters.
    folder
        Where the file names in the header's scenario start.
    redraw
        Whether rewards are drawn again from the header's scenario and seed and compared with the logged ones; a log
        whose header has no scenario is replayed without that, and a note says so.

    Returns
    -------
    Replay
        Whether all decisions are equal, or the first one that is not.

    Raises
    ------
    LogError
        If the log cannot be read or holds only the pulls, or if an event breaks the rules of a log or pays something
        else than its scenario and seed give; the error names the first such event.
    PolicyError
        If the policy does not fit the world of the log.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from tpstream import Scenario, replay, simulate
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "run.jsonl"
    ...     run = simulate(Scenario.load("setting-1").with_(horizon=20), "uniform", log=path)
    ...     result = replay(path)
    >>> result.equal, result.rounds
    (True, 20)
    """
    log = open_log(log, "a replay")
    header, choice = log.header, find_policy_of(log, policy)
    if choice.form.clairvoyant and not header.clairvoyant:
        raise LogError(
            f"{log.path}: {choice.label} is shown totals at the pull, and this log has none; replay another policy"
        )
    if header.decider is not None:
        from tpstream.replay.decided import replay_decided  # noqa: PLC0415 (it builds on this module)

        return replay_decided(log, choice)
    scenario, reason = rebuild(log, folder) if redraw else (None, "as asked")
    world = scenario.build_world(header.seed, header.run) if scenario else None
    stream = open_stream(header.seed, header.run, Purpose.POLICY)
    started = start_policy(choice.form, header.problem(), choice.parameters, stream)
    batches, design = whole_rounds(audited(log, world)), scenario.design() if scenario else None
    audit = None
    if design is not None and world is not None:
        audit = LookAudit(design, world)
        batches = audit.checked(batches, str(log.path), complete=log.complete)
    rounds, divergence = follow(started, batches, clairvoyant=choice.form.clairvoyant, cleaning=header.cleaning)
    notes = tuple(filter(None, (log.truncated, None if world else f"values were not drawn again: {reason}")))
    looks = 0 if audit is None else audit.equal
    return Replay(str(log.path), choice.label, rounds, divergence, log.complete, notes, looks)


def is_own(log: Log, policy: PolicySpec) -> bool:
    """Whether that is the policy of the log's header, with the same parameters."""
    try:
        own = _own_policy(log)
    except LogError:
        return False
    asked = find_policy_of(log, policy)
    return (asked.form.name, asked.parameters) == (own.form.name, own.parameters)


def open_log(log: Log | str | Path, purpose: str) -> Log:
    """A log that holds every event and whose end marker counts the events that are there."""
    log = log if isinstance(log, Log) else read_log(log)
    log.require_all(purpose)
    log.require_run("there is no policy whose decisions could be repeated")
    last, end = log.reader.last, log.reader.end
    if last is not None and end is not None and end != last + 1:
        raise LogError(f"{log.path}: its end counts {end} events, but the last one has seq {last}")
    return log


def find_policy_of(log: Log, policy: PolicySpec | None) -> PolicyChoice:
    """The policy that is meant: the header's own by default or by its label, else as for the header's scenario."""
    header = log.header
    if policy is None or policy == header.policy:
        return _own_policy(log)
    if isinstance(policy, str | Mapping):
        return request_policy(policy, _listed_policies(header)).choose(header.problem())
    parameters = header.parameters if policy.name == header.kind else {}
    return PolicyRequest(policy.name, policy, parameters).choose(header.problem())


def _own_policy(log: Log) -> PolicyChoice:
    """The policy that the header names."""
    header = log.header
    try:
        form = find_policy(header.kind)
    except UnknownNameError as error:
        raise LogError(f"{log.path}: {error}; or name another policy (--policy)") from None
    return PolicyRequest(header.policy, form, header.parameters).choose(header.problem())


def _listed_policies(header: Header) -> tuple[PolicyTable, ...]:
    """The policies that the header's scenario lists, if it can be read."""
    try:
        return read_policies(header.scenario.get("policies", []))
    except (TpstreamError, ValidationError):
        return ()


def rebuild(log: Log, folder: str | Path) -> tuple[Scenario | None, str]:
    """The scenario of the header, or None and the reason; one that contradicts the rest of the header is an error."""
    header = log.header
    if not header.scenario:
        return None, "the header has no scenario"
    try:
        scenario = Scenario.parse(header.scenario, folder, source="the header's scenario")
    except (ScenarioError, UnknownNameError) as error:
        return None, str(error)
    problem = scenario.problem()
    maxima = [None if np.isnan(maximum) else maximum for maximum in problem.maxima.tolist()]
    facts: dict[str, Any] = {"arms": list(problem.names), "maxima": maxima}
    facts |= {key: getattr(problem, key) for key in ("span", "horizon", "groups", "signed")}
    for key, built in facts.items():
        if (claimed := getattr(header, key)) != built:
            raise LogError(f"{log.path}: header: {key} is {claimed}, but its scenario gives {built}")
    if not np.allclose(header.known_means(), problem.means, rtol=1e-9, atol=0.0):  # type: ignore[arg-type]
        raise LogError(f"{log.path}: header: means are {header.means}, but its scenario gives {problem.means}")
    return scenario, ""


def follow(
    policy: Policy, batches: Iterable[Events], *, clairvoyant: bool, cleaning: float = 0.0
) -> tuple[int, Divergence | None]:
    """Tell a policy consecutive events as the engine does: before each decision all that happened since the last one.

    The batches end right before a decision; `cleaning` is the time between cuts and decisions of a trial's looks.
    Returns the number of decisions that were compared, and the first one that is not the logged one. A LogError that
    the batches raise is raised unless a decision differs before.
    """
    rounds, shown = 0, Told()
    for events in _told_of_looks(policy, batches, cleaning):
        # What the policy sees in a run: nothing that is hidden, no indices, and totals only if it is clairvoyant.
        told = shown.of(events)
        value = told.value if clairvoyant else np.where(told.kind == Kind.PULL, np.nan, told.value)
        told = replace(told, value=value)
        found = policy.follow(told) if isinstance(policy, Runner) else _follow(policy, told)
        pulls = np.flatnonzero(events.kind == Kind.PULL)
        if found is None:
            rounds += len(pulls)
            continue
        number, decided = int(np.count_nonzero(told.kind[: found[0]] == Kind.PULL)), found[1]
        place = pulls[number]
        return rounds + number + 1, Divergence(
            round=int(events.round[place]),
            seq=int(events.seq[place]),
            logged=int(events.arm[place]),
            decided=decided,
            logged_indices=None if events.indices is None else events.indices[number],
            indices=policy.indices(),
            state=getattr(policy, "state", None),
        )
    return rounds, None


def _told_of_looks(policy: Policy, batches: Iterable[Events], cleaning: float) -> Iterator[Events]:
    """The same events, cut where the policy is told of a look; this is done between the pieces."""
    looks: ToldLooks | None = None
    for events in batches:
        if looks is None and about_looks(events.kind).any():
            looks = ToldLooks(policy, cleaning)
        yield from [events] if looks is None else looks.pieces(events)
    if looks is not None:
        looks.finish()


def whole_rounds(batches: Iterable[Events]) -> Iterator[Events]:
    """The same events in batches that end right before a decision; what follows the last decision comes at the end.

    When the batches raise a LogError, the events before it come first.
    """
    waiting: list[Events] = []
    failure = None
    try:
        for events in batches:
            pulls = np.flatnonzero(events.kind == Kind.PULL)
            if len(pulls):
                whole = Events.join([*waiting, events.cut(0, int(pulls[-1]))])
                if len(whole):  # else the log begins with this pull
                    yield whole
                waiting = [events.cut(int(pulls[-1]), len(events))]
            else:
                waiting.append(events)
    except LogError as error:
        failure = error
    if waiting:
        yield Events.join(waiting)
    if failure is not None:
        raise failure


def _follow(policy: Policy, events: Events) -> tuple[int, int] | None:
    """Do what `Runner.follow` does, for a policy that is an ordinary Python object."""
    pulls = np.flatnonzero(events.kind == Kind.PULL).tolist()
    before = pulls[0] if pulls else len(events)
    if before:
        policy.hear(events.cut(0, before))
    for place, following in pairwise([*pulls, len(events)]):
        if isinstance(policy, TimedPolicy):
            policy.set_clock(float(events.time[place]))
        decided = policy.decide(int(events.round[place]))
        if decided != events.arm[place]:
            return place, int(decided)
        policy.hear(events.cut(place, following))
    return None
