"""Replay: a log gives its policy's decisions again, and a log that was changed is caught at the right place."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from families import REPLAYED, SOME, every, up_to
from hypothesis import given, settings, strategies as st
from strategies import scenarios
from studies import ASYNCHRONOUS, read_lines, small
from tampering import Line, place_of, swap, tamper, write_lines

from tpstream import Scenario, read_log, replay, simulate, what_if
from tpstream.log.writer import convert
from tpstream.model.arrays import Floats
from tpstream.model.errors import LogError, PolicyError
from tpstream.model.events import Events
from tpstream.model.world import Problem
from tpstream.policies import POLICIES
from tpstream.policies.base import Parameters, PythonPolicy
from tpstream.replay.replay import is_own

POLICY_NAMES = sorted(POLICIES.builtin)
DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A log of tp-ucb-ew with indices, in the readable format."""
    return write_log(tmp_path / "run.jsonl")


def write_log(path: Path, policy: str = "tp-ucb-ew", **changes: Any) -> Path:
    """A log of the small scenario."""
    simulate(small(**changes), policy, seed=5, run=2, log=path, log_detail="indices")
    return path


@pytest.mark.parametrize("format", ["jsonl", "arrow"])
@pytest.mark.parametrize("policy", every(POLICY_NAMES, REPLAYED))
def test_a_log_replays(tmp_path: Path, policy: str, format: str) -> None:
    """The policy of a log decides the same on its events, whatever the format; and its values are drawn again."""
    result = replay(write_log(tmp_path / f"run.{format}", policy))
    assert (result.equal, result.rounds, result.complete, result.notes) == (True, 60, True, ())


@settings(max_examples=up_to(40))
@given(scenario=scenarios(), policy=st.sampled_from(SOME), data=st.data())
def test_any_prefix_of_any_log_replays(
    tmp_path_factory: pytest.TempPathFactory, scenario: Scenario, policy: str, data: st.DataObject
) -> None:
    """A log that is torn anywhere replays up to the tear, and says that it is torn."""
    path = tmp_path_factory.mktemp("logs") / "run.jsonl"
    simulate(scenario, policy, log=path)
    header, *events, _ = read_lines(path)
    kept = data.draw(st.integers(0, len(events)))
    result = replay(write_lines(path, [header, *events[:kept]]))
    rounds = sum(event["kind"] == "pull" for event in events[:kept])
    told = f"cut after round {rounds} of {scenario.horizon} (seq {kept - 1})"
    told = told if kept else f"cut before the first of {scenario.horizon} rounds"
    assert (result.equal, result.rounds, result.complete, result.notes) == (True, rounds, False, (told,))


@pytest.mark.parametrize("policy", every(POLICY_NAMES, REPLAYED))
@pytest.mark.parametrize("name", ASYNCHRONOUS)
def test_a_log_of_an_asynchronous_world_replays(tmp_path: Path, name: str, policy: str) -> None:
    """Also where times are real, parts come late or never, and pulls are closed early."""
    result = replay(write_log(tmp_path / "run.arrows", policy, **ASYNCHRONOUS[name]))
    assert (result.equal, result.rounds, result.notes) == (True, 60, ())


def test_batches_do_not_matter(log: Path) -> None:
    """However the events are cut into batches, a replay is the same; also for a policy that is a Python object."""
    opened = read_log(log)
    events = opened.join()
    for size in (1, 7, 50):
        pieces = [events.cut(first, min(first + size, len(events))) for first in range(0, len(events), size)]
        object.__setattr__(opened, "batches", lambda pieces=pieces: iter(pieces))
        assert replay(opened).equal
        assert not replay(opened, in_turn()).equal


def change_decision(events: list[Line]) -> int:
    """Another arm in the pull of round 20."""
    place = place_of(events, "pull", round=20)
    events[place]["arm"] = (events[place]["arm"] + 1) % 3
    return place


def test_a_flipped_decision_is_a_divergence(log: Path) -> None:
    """Another arm in a pull event is found as the first divergence, with both arms and both index vectors."""
    places: list[int] = []
    changed = tamper(log, lambda events: places.append(change_decision(events)))
    events = read_lines(log)[1:-1]
    result = replay(changed)
    assert result.divergence is not None
    true = events[places[0]]
    assert (result.equal, result.rounds) == (False, 20)
    assert (result.divergence.round, result.divergence.seq) == (20, places[0])
    assert (result.divergence.logged, result.divergence.decided) == ((true["arm"] + 1) % 3, true["arm"])
    assert result.divergence.logged_indices is not None
    assert result.divergence.indices.tolist() == result.divergence.logged_indices.tolist() == floats(true["indices"])


def floats(values: list[Any]) -> list[float]:
    """Numbers, or words for them."""
    return [float(value) for value in values]


def test_a_decision_flipped_in_all_its_events_is_a_divergence(log: Path) -> None:
    """It helps nothing to change the arm of the pull's parts as well."""

    def change(events: list[Line]) -> None:
        for event in events:
            if event["pull"] == 30:
                event["arm"] = (event["arm"] + 1) % 3

    divergence = replay(tamper(log, change)).divergence
    assert divergence is not None
    assert divergence.round == 30


def test_a_divergence_has_the_state(log: Path) -> None:
    """The state of the policy at the divergence is there to look at."""
    divergence = replay(tamper(log, change_decision)).divergence
    assert divergence is not None
    assert divergence.state.indices.tolist() == divergence.indices.tolist()


def change_value(events: list[Line], number: int = 40) -> int:
    """A value that differs in its last bit."""
    place = place_of(events, "partial", number)
    events[place]["value"] = np.nextafter(events[place]["value"], 100.0)
    return place


def remove_part(events: list[Line]) -> int:
    """A lost part."""
    place = place_of(events, "partial", 40)
    del events[place]
    return place


def swap_events(events: list[Line]) -> int:
    """A part and the event after it, exchanged."""
    place = place_of(events, "partial", 40)
    swap(events, place)
    return place


def repeat_part(events: list[Line]) -> int:
    """A part twice."""
    place = place_of(events, "partial", 40)
    events.insert(place + 1, dict(events[place]))
    return place + 1


CHANGES = {
    "value": (change_value, "is .*, but the scenario and the seed of the header give"),
    "missing": (remove_part, "where part 5 of pull 6 at time 10 is due"),
    "swapped": (swap_events, "where part 5 of pull 6 at time 10 is due"),
    "repeated": (repeat_part, "part 5 of pull 6 came before"),
}


@pytest.mark.parametrize("renumber", [False, True])
@pytest.mark.parametrize("name", CHANGES)
def test_a_changed_log_is_rejected(log: Path, name: str, *, renumber: bool) -> None:
    """One changed value (by its last bit), a missing part, two swapped events, a repeated part: the event is named."""
    change, text = CHANGES[name]
    places: list[int] = []
    changed = tamper(log, lambda events: places.append(change(events)), renumber=renumber)
    first = read_lines(changed)[1:-1][places[0]]["seq"]
    text = text if renumber or name == "value" else r"seq \d+ where \d+ should be"
    with pytest.raises(LogError, match=f"changed-run.jsonl: event {first}: .*{text}"):
        replay(changed)


def test_a_changed_value_is_found_without_the_scenario(log: Path) -> None:
    """If rewards cannot be drawn again, a changed part is found when its pull is closed with another sum."""

    def change(events: list[Line]) -> None:
        change_value(events)

    changed = tamper(log, change)
    pull = read_lines(log)[1:-1][place_of(read_lines(log)[1:-1], "partial", 40)]["pull"]
    with pytest.raises(LogError, match=rf"pull {pull} is closed with .*, but its parts add up to"):
        replay(changed, redraw=False)


def test_a_changed_total_is_found(tmp_path: Path) -> None:
    """The total that a clairvoyant policy was shown is drawn again too."""

    def change(events: list[Line]) -> None:
        events[place_of(events, "pull", 5)]["value"] += 1.0

    changed = tamper(write_log(tmp_path / "run.jsonl", "ucb1"), change)
    with pytest.raises(LogError, match="the total shown at pull 6 is"):
        replay(changed)


def test_a_change_after_the_divergence_is_not_reached(log: Path) -> None:
    """Whatever is wrong first in the order of the log is reported."""

    def change(events: list[Line]) -> None:
        change_decision(events)
        change_value(events, -1)

    assert not replay(tamper(log, change)).equal


@pytest.mark.parametrize(
    ("key", "value"), [("maxima", [10.0, 20.0, 31.0]), ("means", [5.0, 10.0, 16.0]), ("horizon", 61), ("groups", 2)]
)
def test_a_header_that_contradicts_its_scenario_is_rejected(log: Path, key: str, value: object) -> None:
    """What the header says about the world must be what its scenario gives."""
    header, *rest = read_lines(log)
    with pytest.raises(LogError, match=f"header: {key}"):
        replay(write_lines(log, [header | {key: value}, *rest]))


def test_versions_are_named_where_a_value_differs(log: Path) -> None:
    """Another version of NumPy may draw other numbers: the error says so."""
    header, *rest = read_lines(log)
    versions = header["versions"] | {"numpy": "1.0"}
    changed = tamper(write_lines(log, [header | {"versions": versions}, *rest]), change_value)
    with pytest.raises(LogError, match=r"written with numpy 1\.0 \(here "):
        replay(changed)


def test_a_converted_log_replays(tmp_path: Path, log: Path) -> None:
    """The formats are equal to a replay."""
    assert all(replay(convert(read_log(log), tmp_path / f"copy.{format}")).equal for format in ("arrow", "parquet"))


class InTurn:
    """A policy as a Python object: the arms in turn, if it has heard of all pulls before."""

    def __init__(self, problem: Problem) -> None:
        self.arms = problem.arms
        self.heard = 0

    def hear(self, events: Events) -> None:
        """Count the pulls."""
        self.heard += int(np.count_nonzero(events.kind == 0))

    def decide(self, round: int) -> int:
        """The next arm."""
        return self.heard % self.arms if self.heard == round - 1 else -1

    def indices(self) -> Floats:
        """None."""
        return np.full(self.arms, np.nan)


def in_turn() -> PythonPolicy:
    """The same as a form."""
    return PythonPolicy("in-turn", Parameters, lambda problem, _, __: InTurn(problem))


def test_a_python_policy_replays(tmp_path: Path) -> None:
    """A policy that is not in the shared form replays too; it is given since no registry knows it."""
    simulate(small(), in_turn(), log=tmp_path / "run.jsonl", log_detail="indices")
    assert replay(tmp_path / "run.jsonl", in_turn()).equal
    with pytest.raises(LogError, match=r"unknown policy 'in-turn'.*--policy"):
        replay(tmp_path / "run.jsonl")


def test_another_policy_is_compared_on_the_same_events(log: Path) -> None:
    """`replay` with another policy asks what that one decides on the events of the log; they soon part."""
    result = replay(log, "tp-ucb-fr")
    assert result.divergence is not None
    assert result.divergence.round > 3


def test_totals_are_hidden_from_a_policy_that_is_not_clairvoyant(tmp_path: Path) -> None:
    """In the log of a clairvoyant policy another one sees what it would see in a run."""
    seen = []

    class Spy(InTurn):
        def hear(self, events: Events) -> None:
            seen.extend(events.value[events.kind == 0].tolist())
            super().hear(events)

    replay(
        write_log(tmp_path / "run.jsonl", "ucb1"),
        PythonPolicy("spy", Parameters, lambda problem, _, __: Spy(problem)),
    )
    assert seen
    assert np.isnan(seen).all()


def test_a_clairvoyant_policy_needs_totals(log: Path) -> None:
    """A log without totals cannot be replayed with a policy that is shown them."""
    with pytest.raises(LogError, match="ucb1 is shown totals at the pull, and this log has none"):
        replay(log, "ucb1")


def test_unknown_and_wrong_policies_are_errors(log: Path) -> None:
    """A policy that does not exist or does not fit is an error of ours."""
    with pytest.raises(PolicyError, match="groups = 4 does not divide the span 6"):
        replay(log, "tp-ucb-fr:groups=4")


def test_what_is_the_logs_own_policy(log: Path) -> None:
    """The same kind with the same parameters is the log's own, however it is written."""
    opened = read_log(log)
    own = ["tp-ucb-ew", "tp-ucb-ew:groups=3", "tp-ucb-ew:ties=random", POLICIES.find("tp-ucb-ew")]
    others = ["tp-ucb-ew:groups=2", "tp-ucb-ew:ties=first", "tp-ucb-fr", POLICIES.find("tp-ucb-fr")]
    assert [is_own(opened, policy) for policy in (*own, *others)] == [True] * 4 + [False] * 4


def test_what_if_is_a_run_of_the_other_policy(log: Path) -> None:
    """What-if gives the decisions of the other policy on the log's random numbers, next to the logged ones."""
    result = what_if(log, "tp-ucb-fr")
    ew, fr = (simulate(small(), policy, seed=5, run=2) for policy in ("tp-ucb-ew", "tp-ucb-fr"))
    apart = np.flatnonzero(ew.arms != fr.arms)
    assert result.arms.tolist() == ew.arms.tolist()
    assert result.other_arms.tolist() == fr.arms.tolist()
    assert result.difference == pytest.approx(fr.regret[-1] - ew.regret[-1])
    assert (result.parting, result.common) == (apart[0] + 1, np.mean(ew.arms == fr.arms))
    assert result.frame()["difference"].tolist() == (result.other_regret - result.regret).tolist()


def test_what_if_of_the_same_policy_never_parts(log: Path) -> None:
    """The log's own policy would have done the same."""
    result = what_if(log, "tp-ucb-ew")
    assert (result.parting, result.common, result.difference) == (None, 1.0, 0.0)


def test_what_if_of_a_torn_log_ends_at_the_tear(log: Path) -> None:
    """Only rounds that are in the log are compared."""
    lines = read_lines(log)
    write_lines(log, lines[: place_of(lines[1:-1], "pull", round=25) + 1])
    result = what_if(log, "tp-ucb-fr")
    assert (result.rounds, len(result.frame()), bool(result.notes)) == (24, 24, True)


def test_what_if_checks_the_log(log: Path) -> None:
    """A log that cannot be trusted is no ground for a comparison."""
    with pytest.raises(LogError, match="but the scenario and the seed of the header give"):
        what_if(tamper(log, change_value), "tp-ucb-fr")
    header, *rest = read_lines(log)
    with pytest.raises(LogError, match="its world cannot be run again: the header has no scenario"):
        what_if(write_lines(log, [header | {"scenario": {}}, *rest]), "tp-ucb-fr")


def test_recorded_rewards_start_in_the_folder(tmp_path: Path) -> None:
    """Files of a scenario are found in the folder that is given; without it values are not drawn again, and so told."""
    data = tmp_path / "data"
    data.mkdir()
    (data / "sales.csv").write_text("arm,x1,x2\n" + "low,1,2\nhigh,2,2\n" * 20)
    keys = {"rewards": {"kind": "trace", "file": "sales.csv"}, "arms": [{"name": "low"}, {"name": "high"}]}
    scenario = Scenario.parse({"name": "sales", "horizon": 20, "span": 2, **keys}, data)
    simulate(scenario, "delayed-ucb1", log=tmp_path / "run.arrows")
    assert replay(tmp_path / "run.arrows", folder=data).notes == ()
    (note,) = replay(tmp_path / "run.arrows").notes
    assert note.startswith("values were not drawn again: the header's scenario: ")


def example(name: str) -> str:
    """The only Python block of a page."""
    text = (DOCS / name).read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(import hashlib.*?)```", text, re.DOTALL)
    return str(code)


def test_the_log_of_the_documentation_replays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page's few lines of plain Python write a log that replays; a flipped decision in it is found."""
    monkeypatch.chdir(tmp_path)
    exec(compile(example("replay.md"), "replay.md", "exec"), {})  # noqa: S102 (our own page)
    result = replay("shop.jsonl")
    assert (result.equal, result.rounds) == (True, 4)
    assert result.notes == ("values were not drawn again: the header has no scenario",)
    lines = [json.loads(line) for line in Path("shop.jsonl").read_text().splitlines()]
    lines[place_of(lines[1:-1], "pull", round=3) + 1]["arm"] = 1
    divergence = replay(write_lines(Path("shop.jsonl"), lines)).divergence
    assert divergence is not None
    assert divergence.round == 3
