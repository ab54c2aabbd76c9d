"""The contract of order: events that keep it pass, and the first one that breaks it is named."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from contract_rows import (
    CLOSED,
    FIRST,
    GOOD,
    PULL,
    SECOND,
    Row,
    changed,
    check_rows,
    columns_of,
    first_broken,
    header_for_rows,
)
from families import up_to
from hypothesis import given, settings, strategies as st
from runs import open_run
from studies import ASYNCHRONOUS, small
from worlds import Recorder, run_world, table_worlds

from tpstream.log import rule_texts
from tpstream.log.contract import BrokenRule, Checker, is_regular
from tpstream.log.rule_texts import TEXTS
from tpstream.log.schema import Header
from tpstream.model import events
from tpstream.model.events import Event
from tpstream.model.world import World
from tpstream.run.loop import make_header

NOT_A_NUMBER = float("nan")


def header_of(world: World, **changes: Any) -> Header:
    """The header of a run in such a world; its scenario says no more than that the world is regular."""
    problem = world.problem
    facts: dict[str, Any] = {
        "scenario": {"name": "table", "drain": world.drain},
        "policy": "some",
        "kind": "some",
        "parameters": {},
        "seed": 0,
        "run": 0,
        "arms": list(problem.names),
        "means": [0.0] * problem.arms,
        "maxima": problem.maxima.tolist(),
        "span": problem.span,
        "horizon": problem.horizon,
        "groups": None,
        "clairvoyant": False,
        "versions": {},
    }
    return Header(**facts | changes)


@settings(max_examples=up_to(100))
@given(table_worlds(longest=30), st.sampled_from(["ucb1", "tp-ucb-fr", "uniform"]), st.integers(1, 40), st.booleans())
def test_what_the_engine_writes_passes(case: tuple[World, int], name: str, size: int, known: bool) -> None:  # noqa: FBT001
    """Every run keeps the contract, whether its world is known or not, however its events are cut into batches."""
    world = case[0]
    scenario = {"scenario": {"drain": world.drain} if known else {}}
    header = header_of(world, clairvoyant=name == "ucb1", **scenario)
    events = columns_of(run_world(world, name).events)
    assert first_broken(header, events, size=size) is None


@settings(max_examples=up_to(300))
@given(table_worlds(longest=12), st.data())
def test_any_lost_repeated_or_swapped_event_of_a_regular_world_is_caught(
    case: tuple[World, int], data: st.DataObject
) -> None:
    """With seq counted anew, an event that is lost, repeated or swapped is caught: there, or at the event after it."""
    world = case[0]
    events = run_world(world, "uniform").events
    place = data.draw(st.integers(0, len(events) - 2))
    what = data.draw(st.sampled_from(["lost", "repeated", "swapped"]))
    changed = list(events)
    if what == "lost":
        del changed[place]
    elif what == "repeated":
        changed.insert(place, changed[place])
    else:
        changed[place], changed[place + 1] = changed[place + 1], changed[place]
    broken = first_broken(header_of(world), columns_of([renumbered(e, seq) for seq, e in enumerate(changed)]))
    assert broken is not None
    assert broken.seq == broken.place == place + (what == "repeated")


def renumbered(event: Event, seq: int) -> Event:
    """The event with another seq."""
    return Event(seq, *(getattr(event, name) for name in Event.__struct_fields__[1:]))


@given(table_worlds(longest=12), st.data())
def test_every_prefix_passes_but_is_not_complete(case: tuple[World, int], data: st.DataObject) -> None:
    """A torn log keeps the contract; one that claims to be complete and is not is caught at its end."""
    world = case[0]
    events = run_world(world, "uniform").events
    kept = data.draw(st.integers(0, len(events) - 1))
    prefix = columns_of(events[:kept])
    broken = first_broken(header_of(world), prefix)
    assert first_broken(header_of(world), prefix, complete=False) is None
    assert broken is not None
    assert broken.text.startswith("the log ends before ")


def test_rows_by_hand_pass() -> None:
    """The rows that the cases below change are right."""
    assert check_rows(GOOD) is None


CHANGE: Row = (1.0, "changed", 1, 0, 0, 0, None)
"""Decisions are made in another way from now on."""
CASES: dict[str, tuple[list[Row], int, str]] = {
    "time goes back": ([PULL, changed(FIRST, time=0.5)], 1, "time 0.5 after time 1.0"),
    "time is a giant": ([changed(PULL, time=1e16)], 0, "time 1e+16 after time -inf"),
    "time is no number": ([changed(PULL, time=NOT_A_NUMBER)], 0, "time nan after time -inf"),
    "time is infinite": ([changed(PULL, time=np.inf)], 0, "time inf after"),
    "first pull is 2": ([changed(PULL, pull=2, round=2)], 0, "pull 2 where pull 1 is to be issued"),
    "round of a pull": ([changed(PULL, round=2)], 0, "round 2 after 0 decisions"),
    "round of a part": ([PULL, changed(FIRST, round=0)], 1, "round 0 after 1 decisions"),
    "no such arm": ([changed(PULL, arm=2)], 0, "arm 2 does not exist; there are 2 arms"),
    "negative arm": ([changed(PULL, arm=-1)], 0, "arm -1 does not exist"),
    "another arm": ([PULL, changed(FIRST, arm=1)], 1, "arm 1, but pull 1 is of arm 0"),
    "no such pull": ([PULL, changed(FIRST, pull=2)], 1, "partial of pull 2, which was not issued"),
    "pull 0": ([PULL, changed(FIRST, pull=0)], 1, "partial of pull 0, which was not issued"),
    "a change of a pull": ([PULL, changed(CHANGE, pull=1)], 1, "changed of pull 1, part 0"),
    "a change with a value": ([PULL, changed(CHANGE, value=1.0)], 1, "with value 1.0; a change is of no pull"),
    "a change in another round": ([PULL, changed(CHANGE, round=2)], 1, "round 2 after 1 decisions"),
    "a change after a part": ([PULL, FIRST, CHANGE], 2, "changed after deliveries of the same time"),
    "a pull with a part": ([changed(PULL, part=1)], 0, "pull with part 1"),
    "part 0": ([PULL, changed(FIRST, part=0)], 1, "partial with part 0; pull and closed have part 0, others 1 to 2"),
    "part beyond the span": ([PULL, changed(FIRST, part=3)], 1, "partial with part 3"),
    "closed with a part": ([PULL, FIRST, SECOND, changed(CLOSED, part=2)], 3, "closed with part 2"),
    "a part twice": ([PULL, FIRST, changed(FIRST, time=2.0)], 2, "part 1 of pull 1 came before"),
    "a part without value": ([PULL, changed(FIRST, value=None)], 1, "partial with value nan"),
    "an infinite part": ([PULL, changed(FIRST, value=np.inf)], 1, "partial with value inf"),
    "a shown total": ([changed(PULL, value=1.0)], 0, "only a clairvoyant policy is shown one"),
    "closed too early": ([PULL, FIRST, changed(CLOSED, value=0.25)], 2, "is closed, but only 1 of its 2 parts came"),
    "closed with another sum": (
        [PULL, FIRST, SECOND, changed(CLOSED, value=0.76)],
        3,
        "closed with 0.76, but its parts add up to 0.75",
    ),
    "closed twice": ([*GOOD, CLOSED], 4, "closed of pull 1, which was closed before"),
    "a part after closed": ([*GOOD, changed(FIRST, time=3.0)], 4, "part 1 of pull 1 came before"),
    "not closed": ([PULL, FIRST, SECOND, changed(PULL, time=3.0, round=2, pull=2)], 3, "nothing of pull 1 is missing"),
    "closed later": ([PULL, FIRST, SECOND, changed(CLOSED, time=3.0)], 3, "nothing of pull 1 is missing"),
    "the end before closed": ([PULL, FIRST, SECOND], 3, "the log ends before the closing of pull 1"),
    "parts out of order": (
        [PULL, changed(FIRST, part=2), changed(FIRST, part=1)],
        2,
        "partial of pull 1 is out of order",
    ),
    "pulls out of order": (
        [
            PULL,
            changed(PULL, pull=2, round=2),
            changed(FIRST, pull=2, round=2),
            changed(FIRST, round=2),
        ],
        3,
        "partial of pull 1 is out of order",
    ),
    "a pull after deliveries": ([PULL, FIRST, changed(PULL, pull=2, round=2)], 2, "decisions come first"),
    "late, but open": ([PULL, changed(FIRST, kind="late")], 1, "is late, but the pull is not closed"),
    "late part that came": ([*GOOD, (3.0, "late", 1, 1, 0, 1, 0.25)], 4, "part 1 of pull 1 came before"),
    "dropped with a value": ([PULL, changed(FIRST, kind="dropped")], 1, "dropped with value 0.25"),
    "dropped after it came": ([PULL, FIRST, (2.0, "dropped", 1, 1, 0, 1, None)], 2, "part 1 of pull 1 came before"),
}


@pytest.mark.parametrize("name", CASES)
def test_a_broken_rule_is_named(name: str) -> None:
    """Every rule, broken once, names its event and says what is wrong."""
    rows, seq, text = CASES[name]
    broken = check_rows(rows)
    assert broken is not None
    assert (broken.seq, text in broken.text) == (seq, True), broken.text


def test_a_change_may_come_between_decisions() -> None:
    """It comes before the deliveries of its time, and changes nothing for them."""
    assert check_rows([PULL, CHANGE, FIRST, SECOND, CLOSED]) is None


def test_an_unknown_kind_and_a_wrong_seq_are_named() -> None:
    """Kinds are those of the schema, and seq counts from 0."""
    good = columns_of([Event(0, *PULL), Event(1, *FIRST)])
    world = header_for_rows()
    strange = replace(good, kind=np.array([0, 8], dtype=np.int8))
    assert str(Checker(world).first_broken(strange)) == str(
        BrokenRule(1, 1, "kind 8 is not known; use pull, partial, closed, late, dropped, look, stopped or changed")
    )
    gap = Checker(world).first_broken(replace(good, seq=np.array([0, 2])))
    assert gap is not None
    assert (gap.seq, gap.text.startswith("seq 2 where 1 should be")) == (2, True)


def test_totals_that_were_shown_are_the_sums() -> None:
    """A clairvoyant policy is always shown a total, and it is what the pull is closed with."""
    assert check_rows([changed(PULL, value=0.75), *GOOD[1:]], clairvoyant=True) is None
    missing = check_rows(GOOD, clairvoyant=True)
    other = check_rows([changed(PULL, value=0.7), *GOOD[1:]], clairvoyant=True)
    assert missing is not None
    assert (missing.seq, "always" in missing.text) == (0, True)
    assert other is not None
    assert (other.seq, other.text) == (3, "pull 1 is closed with 0.75, but the policy was shown 0.7")


DROPPED: Row = (2.5, "dropped", 1, 1, 0, 2, None)


def test_dropped_parts_close_a_pull() -> None:
    """A pull is closed with what came, once it is known that the rest never comes."""
    assert check_rows([PULL, FIRST, DROPPED, changed(CLOSED, value=0.25)]) is None


def test_a_window_closes_a_pull_early() -> None:
    """In a world with a window a pull may be closed with parts missing; what comes then is late."""
    rows = [PULL, FIRST, (1.5, "closed", 1, 1, 0, 0, 0.25), changed(SECOND, kind="late")]
    assert check_rows(rows, window=0.5) is None
    again = check_rows([*rows, changed(SECOND, kind="late", time=3.0)], window=0.5)
    assert again is not None
    assert again.text == "part 2 of pull 1 came before"
    credited = check_rows([*rows[:3], SECOND], window=0.5)
    assert credited is not None
    assert credited.text == "partial of pull 1, which was closed before"


def test_a_default_is_credited_at_the_closing() -> None:
    """With a default reward missing parts are credited before the closing, and may come late all the same."""
    rows = [PULL, FIRST, changed(SECOND, time=1.5, value=0.125), (1.5, "closed", 1, 1, 0, 0, 0.375)]
    late, dropped = changed(SECOND, kind="late"), changed(DROPPED, time=1.5)
    told = {"window": 0.5, "default_reward": 0.125}
    assert check_rows([*rows, late], **told) is None
    assert check_rows([*rows[:3], dropped, rows[3]], **told) is None
    missing = check_rows([PULL, FIRST, (1.5, "closed", 1, 1, 0, 0, 0.25)], **told)
    assert missing is not None
    assert missing.text.startswith("pull 1 is closed, but only 1 of its 2 parts came; if the others paid nothing, ")


def test_a_drained_log_has_no_open_pull() -> None:
    """A complete log of a drained run in which a pull is still open lost something."""
    broken = check_rows([PULL, FIRST], drain=True)
    assert broken is not None
    assert broken.text == "the log ends before the closing of pull 1, and says that it is complete"


def test_regular_worlds() -> None:
    """A scenario without delays, arrivals and window is regular; an unknown one is not."""
    scenario = small()
    header = make_header(scenario, scenario.policy("uniform"), 0, 0)
    assert is_regular(header)
    assert not is_regular(header_for_rows())


@pytest.mark.parametrize("drain", [False, True])
@pytest.mark.parametrize("policy", ["ucb1", "tp-ucb-ew"])
@pytest.mark.parametrize("name", ASYNCHRONOUS)
def test_asynchronous_worlds_pass(name: str, policy: str, *, drain: bool) -> None:
    """Worlds with delays, losses, windows, defaults and other arrivals keep the contract too."""
    scenario = small(**ASYNCHRONOUS[name], drain=drain)
    recorder, choice = Recorder(), scenario.policy(policy)
    running = open_run(scenario, choice, 3, 1)
    running.bus.subscribe("recorder", recorder)
    list(running.round_batches())
    assert first_broken(make_header(scenario, choice, 3, 1), columns_of(recorder.events)) is None


def test_every_rule_has_a_text() -> None:
    """No two rules have the same number, none is left out, and each has its words."""
    numbers = [
        value
        for name, value in vars(rule_texts).items()
        if isinstance(value, int) and name.isupper() and not hasattr(events, name)
    ]
    assert sorted(numbers) == sorted(TEXTS) == list(range(1, len(numbers) + 1))
