"""Sparse logs: a part without an event paid nothing, and reading puts its event in."""

import json
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import numpy as np
import pytest
from families import up_to
from hypothesis import given, settings, strategies as st
from log_samples import FORMATS, bits, write_log
from strategies import arrival_tables, delay_tables
from studies import small
from tampering import write_lines

from tpstream import Scenario, check_log, diagnose, log_regret, read_log, replay, simulate
from tpstream.log import sparse
from tpstream.log.reader import Log
from tpstream.log.writer import convert
from tpstream.model import pull_rows
from tpstream.model.errors import LogError
from tpstream.model.events import COLUMN_NAMES, Events, Kind
from tpstream.replay.audit import audited


def check_or_raise(path: Path) -> None:
    """A check, which tells what stopped it as a fault."""
    raise LogError(str(check_log(path).faults[-1]))


@pytest.mark.parametrize(
    "use", [replay, check_or_raise, diagnose, lambda path: convert(path, "copy.jsonl", sparse=False)]
)
def test_what_is_known_of_pulls_has_room(
    use: Callable[[Path], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A log of many pulls with a large span is refused with the numbers before memory is taken for it."""
    monkeypatch.chdir(tmp_path)
    scenario = small(horizon=30, span=600, window=40.0, delays=[{"kind": "geometric", "p": 0.5}])
    simulate(scenario, "uniform", log=tmp_path / "dense.jsonl")
    convert(tmp_path / "dense.jsonl", tmp_path / "run.jsonl", sparse=True)
    monkeypatch.setattr(pull_rows, "MOST_ROOM", 1000)
    with pytest.raises(LogError, match=r"\d+ (open )?pulls of 600 parts take 0.0 GB, and 0.0 GB are the most"):
        use(tmp_path / "run.jsonl")


@st.composite
def worlds(draw: st.DrawFn, *, drain: bool | None = None, delays: bool = True) -> Scenario:
    """Worlds in which many parts pay nothing: lotteries, with any timing that needs no process."""
    span = draw(st.integers(1, 9))
    keys: dict[str, Any] = {"arrivals": draw(arrival_tables())} if delays and draw(st.booleans()) else {}
    if delays:
        keys["delays"] = draw(delay_tables(span))
        keys |= draw(
            st.fixed_dictionaries(
                {}, optional={"window": st.sampled_from([0.5, 2, 4.5, 30]), "default_reward": st.just(0.0)}
            )
        )
        keys |= {"reveal": draw(st.sampled_from(["all", "positive", "closed"]))} if "window" in keys else {}
    if draw(st.booleans()) and '"at"' not in json.dumps(keys):  # a lump is not before the last visit
        keys["visits"] = [part + 0.5 * (part > 2) for part in range(1, span + 1)]
    return Scenario(
        name="lottery",
        horizon=draw(st.integers(2, 25)),
        span=span,
        seed=draw(st.integers(0, 99)),
        drain=draw(st.booleans()) if drain is None else drain,
        rewards={"kind": "smooth-beta", "groups": 1, "spread": draw(st.sampled_from(["single", "first", "last"]))},
        arms=[{"maximum": 2.0}, {"maximum": 3.0}],
        **keys,
    )


def run_log(folder: Path, scenario: Scenario, policy: str = "uniform", **options: Any) -> Log:
    """The log of a run, with every event."""
    simulate(scenario, policy, log=folder / "dense.arrows", **options)
    return read_log(folder / "dense.arrows")


def written(log: Log) -> int:
    """The number of events in the file."""
    assert log.reader.written is not None
    return sum(len(columns["seq"]) for columns in log.reader.written.batches(["seq"]))


@pytest.mark.parametrize("format", FORMATS)
@given(scenario=worlds(drain=True), detail=st.sampled_from(["all", "indices"]))
@settings(max_examples=up_to(25))
def test_a_sparse_log_reads_as_the_whole_one(format: str, scenario: Scenario, detail: str) -> None:
    """Of a run that is drained: without its zeros, and read again, a log is what it was, to the last bit."""
    with TemporaryDirectory() as name:
        dense = run_log(Path(name), scenario, log_detail=detail)
        thin = convert(dense, Path(name) / f"sparse.{format}", sparse=True)
        assert (thin.header.sparse, thin.complete) == (True, True)
        assert bits(thin.join()) == bits(dense.join())
        again = convert(thin, Path(name) / "again.arrows", sparse=False)
        assert (bits(again.join()), again.header, again.reader.end) == (
            bits(dense.join()),
            dense.header,
            dense.reader.end,
        )


@given(scenario=worlds(drain=False))
@settings(max_examples=up_to(40))
def test_a_part_under_way_at_the_end_is_refused(scenario: Scenario) -> None:
    """A run that ends with open pulls reads as before, or is refused where parts are under way; never else."""
    with TemporaryDirectory() as name:
        dense = run_log(Path(name), scenario)
        if under_way(dense.join(), scenario.timing().nominal(scenario.span).tolist()):
            with pytest.raises(LogError, match="has no event although its time has come: it is under way"):
                convert(dense, Path(name) / "sparse.jsonl", sparse=True)
        else:
            thin = convert(dense, Path(name) / "sparse.jsonl", sparse=True)
            assert bits(thin.join()) == bits(dense.join())


def under_way(events: Events, nominal: list[float]) -> bool:
    """Whether a part has no event although its nominal time, or the closing of its pull, is not after the last one."""
    pulled, closed, last = {}, {}, 0.0
    seen = set()
    for event in events:
        last = event.time
        if event.kind == "pull":
            pulled[event.pull] = event.time
        elif event.kind == "closed":
            closed[event.pull] = event.time
        else:
            seen.add((event.pull, event.part))
    return any(
        min(time + due, closed.get(pull, np.inf)) <= last and (pull, part) not in seen
        for pull, time in pulled.items()
        for part, due in enumerate(nominal, start=1)
    )


@given(scenario=worlds(delays=False), share=st.floats(0, 1))
@settings(max_examples=up_to(40))
def test_a_torn_log_reads_as_a_beginning(scenario: Scenario, share: float) -> None:
    """A torn log without its zeros reads as the first events of the run, up to the last event that is written."""
    with TemporaryDirectory() as name:
        events = run_log(Path(name), scenario).join()
        kept = events.cut(0, round(share * len(events)))
        header = read_log(Path(name) / "dense.arrows").header
        torn = write_log(Path(name) / "torn.jsonl", header, [kept], end=False)
        thin = convert(torn, Path(name) / "sparse.jsonl", sparse=True)
        read = thin.join()
        assert not thin.complete
        assert bits(read) == bits(kept.cut(0, len(read)))
        assert not (kept.value[len(read) :] != 0).any()


def test_small_batches_give_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the written batches and the merged ones are cut changes nothing, and no batch is larger than the limit."""
    scenario = small(horizon=40, drain=True, rewards={"kind": "smooth-beta", "groups": 1, "spread": "single"})
    dense = run_log(tmp_path, scenario, log_detail="indices")
    thin = convert(dense, tmp_path / "sparse.jsonl", sparse=True)
    monkeypatch.setattr(sparse, "CHUNK", 7)
    assert max(len(batch) for batch in thin.batches()) == 7
    assert bits(thin.join()) == bits(dense.join())


SHOP: list[tuple[str, float, int, int, float | None]] = [
    # kind, time, pull, part, value; a shop that writes payments only
    ("pull", 1.0, 1, 0, None),
    ("pull", 2.5, 2, 0, None),
    ("partial", 3.0, 1, 3, 5.0),
    ("closed", 3.0, 1, 0, 5.0),
    ("dropped", 3.25, 2, 3, None),
    ("closed", 3.25, 2, 0, 0.0),
    ("pull", 4.0, 3, 0, None),
    ("partial", 5.0, 3, 1, 2.0),
]


def shop_log(path: Path, *, sparse: bool = True, end: bool = True, drop: int | None = None, **keys: Any) -> Log:
    """The log of a shop, written by hand."""
    header = {"schema": 1, "scenario": {}, "policy": "shop", "kind": "uniform", "parameters": {}, "seed": 0, "run": 0,
              "arms": ["low", "high"], "means": [1.0, 2.0], "maxima": [9.0, 9.0], "span": 3, "horizon": 3,
              "groups": None, "clairvoyant": False, "sparse": sparse, "versions": {}}  # fmt: skip
    lines: list[dict[str, Any]] = [header | keys]
    decisions = 0
    for seq, (kind, time, pull, part, value) in enumerate(SHOP):
        decisions += kind == "pull"
        lines.append({"seq": seq, "time": time, "kind": kind, "round": decisions, "pull": pull, "arm": pull % 2,
                      "part": part, "value": value})  # fmt: skip
    if drop is not None:
        del lines[drop + 1]
    lines += [{"end": len(lines) - 1}] if end else []
    return read_log(write_lines(path, lines))


def check(log: Log) -> None:
    """Raise unless the events keep the rules of a log."""
    for _ in audited(log, None):
        pass


def zeros(log: Log) -> list[tuple[int, float, int, int, int, int]]:
    """The events that were put in: seq, time, round, pull, arm and part."""
    events = log.join([Kind.PARTIAL])
    chosen = events.take(events.value == 0)
    columns = (chosen.seq, chosen.time, chosen.round, chosen.pull, chosen.arm, chosen.part)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def test_zeros_come_at_their_time_or_at_the_closing(tmp_path: Path) -> None:
    """By hand: a zero at the nominal time, at an early closing, none for a lost part, none after the last event."""
    log = shop_log(tmp_path / "shop.jsonl")
    assert zeros(log) == [
        (1, 1.0, 1, 1, 1, 1),
        (2, 2.0, 1, 1, 1, 2),
        (4, 2.5, 2, 2, 0, 1),
        (7, 3.25, 2, 2, 0, 2),  # pull 2 is closed at 3.25, before its part 2 would be due
        (12, 5.0, 3, 3, 1, 2),
    ]
    assert log.columns(["seq"])["seq"].tolist() == list(range(13))
    assert written(log) == 8
    check(log)


def test_zeros_come_at_the_visits(tmp_path: Path) -> None:
    """By hand: where the scenario names visits, these are the nominal times of parts."""
    log = shop_log(tmp_path / "shop.jsonl", scenario={"name": "shop", "visits": [0.25, 0.5, 2.0]})
    assert [(time, pull, part) for _, time, _, pull, _, part in zeros(log)] == [
        (1.25, 1, 1),
        (1.5, 1, 2),
        (2.75, 2, 1),
        (3.0, 2, 2),
        (4.5, 3, 2),
    ]


def test_hidden_zeros_are_left_out_with_their_repetitions(tmp_path: Path) -> None:
    """Where only payments are reported, a sparse log holds pulls, payments and closings, and reads as the whole log."""
    arms = [{"maximum": 2.0}, {"maximum": 3.0}]
    rewards = {"kind": "smooth-beta", "groups": 1, "spread": "first"}
    keys: dict[str, Any] = {"name": "few", "horizon": 30, "span": 6, "arms": arms, "rewards": rewards, "window": 8}
    dense = run_log(tmp_path, Scenario(**keys, reveal="positive", drain=True), "tp-ucb-fr")
    thin = convert(dense, tmp_path / "sparse.arrows", sparse=True)
    assert (written(thin), len(dense.join())) == (3 * 30, (3 + 2 * 5) * 30)
    assert bits(thin.join()) == bits(dense.join())
    assert replay(thin).equal


def page(name: str) -> str:
    """A page of the documentation."""
    return (Path(__file__).parents[2] / "docs" / name).read_text()


def test_the_page_shows_what_is_read(tmp_path: Path) -> None:
    """The events of the example in docs/log-format.md read as its table says."""
    text = page("log-format.md").partition("## Sparse logs")[2].partition("## Events")[0]
    shop_log(tmp_path / "shop.jsonl")
    header = (tmp_path / "shop.jsonl").read_text().partition("\n")[0]
    lines = [header, *text.partition("```json\n")[2].partition("```")[0].splitlines()]
    log = read_log(write_lines(tmp_path / "page.jsonl", [json.loads(line) for line in lines]))
    check(log)
    rows = [[cell.strip() for cell in line.split("|")[1:9]] for line in text.splitlines() if line.startswith("| ")]
    shown = log.frame().astype({"kind": str}).map(lambda cell: cell if isinstance(cell, str) else f"{cell:g}")
    assert rows[1:] == shown.replace("nan", "").to_numpy().tolist()


def test_a_shop_may_leave_out_what_paid_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The shop of docs/replay.md, with the change that the page names, is replayed with the same result."""
    code = page("replay.md").partition("```python\n")[2].partition("```")[0]
    for old, new in (
        ('"clairvoyant": False', '"clairvoyant": False, "sparse": True'),
        ('        tell("partial"', '        if paid[pull - 1][part - 1]:\n            tell("partial"'),
    ):
        assert old in code
        code = code.replace(old, new)
    monkeypatch.chdir(tmp_path)
    exec(code, {})  # noqa: S102 (our own page)
    log = read_log("shop.jsonl")
    assert (written(log), len(log.join()), replay(log).equal) == (14, 20, True)
    assert capsys.readouterr().out == ""


def test_the_header_says_how_far_payments_are_known(tmp_path: Path) -> None:
    """Zeros go on after the last event up to `until`; a time before the last event is an error."""
    assert zeros(shop_log(tmp_path / "shop.jsonl", until=6.0))[5:] == [(13, 6.0, 3, 3, 1, 3)]
    with pytest.raises(LogError, match=r"shop.jsonl: header: until is 4, but the last event is at time 5; correct it"):
        shop_log(tmp_path / "shop.jsonl", until=4.0).join()


def test_lost_and_zero_stay_apart(tmp_path: Path) -> None:
    """A lost part that is not written counts as a zero: then the pull is complete, and otherwise it is not."""
    (found,) = diagnose(shop_log(tmp_path / "shop.jsonl"))
    assert found.pulls.tolist() == [0, 1]


def test_a_torn_log_ends_with_its_last_event(tmp_path: Path) -> None:
    """What was due at the tear is not guessed; with delays a part without an event may be under way: refused."""
    assert zeros(shop_log(tmp_path / "shop.jsonl", end=False))[4:] == []
    with pytest.raises(LogError, match=r"the log is torn, and its scenario has window: of a part without an event"):
        shop_log(tmp_path / "shop.jsonl", end=False, scenario={"window": 3.0}).join()


def test_a_missing_event_is_still_found(tmp_path: Path) -> None:
    """Events are numbered anew, but a gap in the written numbers stays a gap."""
    log = shop_log(tmp_path / "shop.jsonl", drop=4)  # the loss
    with pytest.raises(LogError, match=r"zeros\): event 10: seq 10 where 9 should be; an event is missing"):
        check(log)


@pytest.mark.parametrize(
    ("place", "change", "message"),
    [
        (3, {"pull": 9}, r"event 2: pull 9; pulls are numbered 1, 2, ... as they are made"),
        (2, {"pull": 1}, r"event 1: pull 1; pulls are numbered"),
        (3, {"part": 4}, r"event 2: part 4; the span is 3"),
    ],
)
def test_impossible_numbers_are_named(tmp_path: Path, place: int, change: dict[str, Any], message: str) -> None:
    """A pull or a part that cannot be is an error with its event, and no wrong memory is touched."""
    shop_log(tmp_path / "shop.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "shop.jsonl").read_text().splitlines()]
    lines[place] |= change
    (tmp_path / "shop.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(LogError, match=message):
        read_log(tmp_path / "shop.jsonl").join()


def test_analyses_agree(tmp_path: Path) -> None:
    """Replay, regret and diagnosis of a sparse log are those of the whole one; values are drawn again, too."""
    scenario = small(horizon=120, drain=True, rewards={"kind": "smooth-beta", "groups": 2, "spread": "single"})
    dense = run_log(tmp_path, scenario, "tp-ucb-fr")
    thin = convert(dense, tmp_path / "sparse.parquet", sparse=True)
    assert written(thin) < 0.6 * len(dense.join())
    assert (replay(thin).equal, replay(thin).notes) == (True, ())
    one, other = (log_regret(log) for log in (thin, dense))
    assert one.curves().equals(other.curves())
    (one_found,), (other_found,) = diagnose(thin), diagnose(dense)
    assert one_found.frame().equals(other_found.frame())
    assert one_found.pulls.sum() == 120


def test_unmarked_zeros_are_named_as_the_cause(tmp_path: Path) -> None:
    """Without the mark no pull of a shop is complete; the diagnosis and the rules say what the header must say."""
    log = shop_log(tmp_path / "shop.jsonl", sparse=False)
    with pytest.raises(LogError, match=r'2 pulls are closed.*if those paid nothing, .*"sparse": true'):
        diagnose(log)
    with pytest.raises(LogError, match=r'pull 1 is closed, but only 1 of its 3 parts came.*"sparse": true'):
        check(log)


def test_broken_logs_are_not_made_sparse(tmp_path: Path) -> None:
    """A fault that the missing zeros would hide is an error of the conversion, which leaves no file."""
    dense = run_log(tmp_path, small(horizon=20))
    events = dense.join()
    events.arm[5] = 1 - events.arm[5]
    wrong = write_log(tmp_path / "wrong.arrows", dense.header, [events])
    with pytest.raises(LogError, match=r"event 8: arm 0, but pull 3 is of arm 1"):
        convert(wrong, tmp_path / "sparse.arrows", sparse=True)
    assert not (tmp_path / "sparse.arrows").exists()


def test_a_log_of_only_the_pulls_has_no_zeros(tmp_path: Path) -> None:
    """Such a log holds no parts, so that none is put in."""
    dense = run_log(tmp_path, small(horizon=20), log_detail="pulls")
    header = msgspec.structs.replace(dense.header, sparse=True)
    marked = write_log(tmp_path / "marked.jsonl", header, [dense.join()])
    assert len(marked.join()) == 20


def test_only_what_is_asked_for_is_read(tmp_path: Path) -> None:
    """Pulls alone are read without putting zeros in; columns and kinds are chosen as in any log."""
    scenario = small(horizon=30, drain=True, rewards={"kind": "smooth-beta", "groups": 1, "spread": "first"})
    dense = run_log(tmp_path, scenario)
    thin = convert(dense, tmp_path / "sparse.arrows", sparse=True)
    for kinds in ([Kind.PULL], [Kind.CLOSED, Kind.PULL], [Kind.PARTIAL], None):
        for names in (["arm"], ["seq", "time"], ["value", "kind"]):
            one, other = (log.columns(names, kinds) for log in (thin, dense))
            assert all(np.array_equal(one[name], other[name], equal_nan=True) for name in names)


def test_an_empty_log_stays_empty(tmp_path: Path) -> None:
    """A sparse log without events reads as one."""
    header = msgspec.structs.replace(run_log(tmp_path, small(horizon=5)).header, sparse=True)
    empty = Events.join([])
    assert len(write_log(tmp_path / "empty.jsonl", header, [empty]).join()) == 0
    assert set(empty.columns()) <= set(COLUMN_NAMES)
