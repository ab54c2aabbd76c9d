"""Pages of logs: what is in them is what pandas finds in the log, and any log can be shown."""

import html
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pandas as pd
import pytest
from command import Command, tpstream
from explorer import HOSTILE, unpack, with_looks, written
from log_samples import make_events, make_header
from markupsafe import escape
from studies import ASYNCHRONOUS, KEYS

from tpstream import Decider, Scenario, import_log, read_log, simulate
from tpstream.log.writer import convert
from tpstream.looks.design import Reason
from tpstream.model.errors import LogError
from tpstream.model.events import Events, Kind
from tpstream.view.explorer import MOST_LOGS, view
from tpstream.view.follow import FollowedLog
from tpstream.view.pages import read_file

__all__ = ["tpstream"]

SVG_NAME = "http://www.w3.org/2000/svg"
"""Saved pictures name the language that they are written in; nothing is loaded from there."""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log of every event, with late parts and indices."""
    path = tmp_path_factory.mktemp("logs") / "run.arrows"
    simulate(Scenario(**(KEYS | ASYNCHRONOUS["window"])), "tp-ucb-fr", log=path, log_detail="indices")
    return path


def test_numbers_in_a_page_are_those_of_the_log(path: Path) -> None:
    """Counts and sums of each arm, and what each pull was credited with, as pandas finds them."""
    (about, arrays), frame = unpack(read_log(path).view().text), read_log(path).frame()
    log = about["logs"][0]
    bins = log["time"]["bins"]
    for name, kind in (("pulls", "pull"), ("parts", "partial"), ("closed", "closed"), ("late", "late")):
        own = frame[frame["kind"] == kind].groupby("arm")["value"]
        found = arrays[f"0.count.{name}"].reshape(-1, bins).sum(axis=1)
        assert found.tolist() == own.size().reindex(range(3), fill_value=0).tolist()
        if name in ("parts", "late"):
            sums = arrays[f"0.sum.{name}"].reshape(-1, bins).sum(axis=1)
            np.testing.assert_allclose(sums, own.sum().reindex(range(3), fill_value=0), rtol=1e-12)
    means = frame[frame["kind"] == "closed"].groupby("arm")["value"].mean().reindex(range(3))
    np.testing.assert_allclose(arrays["0.closed.mean"].reshape(-1, bins)[:, -1], means, rtol=1e-12)
    paid = frame[frame["kind"] == "partial"].groupby("pull")["value"].sum().reindex(range(1, 61), fill_value=0)
    np.testing.assert_allclose(arrays["0.pull.paid"], paid, rtol=1e-6)
    assert log["pulls"] == 60
    assert log["events"] == len(frame)


def test_heat_maps_tell_small_rewards_from_none(path: Path, tmp_path: Path) -> None:
    """Beside a part that paid ten thousand times as much, the reward of each cell is known to 2.5 % all the same."""
    events = read_log(path).join()
    value = events.value.copy()
    value[np.flatnonzero(events.kind == Kind.PARTIAL)[7]] = 1e4 * np.nanmax(value)
    log = written(tmp_path / "heavy.arrows", Events(**(events.columns() | {"value": value})), read_log(path).header)
    (about, arrays), frame = unpack(log.view().text), log.frame()
    axes = about["logs"][0]["heats"]["age"]
    frame["column"] = frame["pull"].map(frame[frame["kind"] == "pull"].set_index("pull")["time"]) - axes["origin"]
    frame["row"] = frame["time"] - axes["origin"] - frame["column"]
    arrived = frame[frame["kind"].isin(["partial", "late"])]
    expected = np.zeros((axes["layers"], axes["rows"], axes["columns"]))
    places = (arrived[name] // size for name, size in (("row", axes["height"]), ("column", axes["width"])))
    np.add.at(expected, (arrived["arm"], *(place.astype(int) for place in places)), arrived["value"])
    level = arrays["0.age.sums"].reshape(expected.shape).astype(float)
    found = np.where(level > 0, axes["least"] * (axes["most"] / axes["least"]) ** ((level - 1) / 254), 0.0)
    seen = (expected >= axes["least"]) | (expected == 0)
    assert seen.mean() > 0.9
    np.testing.assert_allclose(found[seen], expected[seen], rtol=0.025)


def test_nothing_can_be_loaded_or_run_but_the_page_itself(path: Path) -> None:
    """The policy forbids everything else, no address of the network is in the page, and it is well below 1.5 MB."""
    text = read_log(path).view().text
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None
    assert re.sub("sha256-[^']+", "HASH", policy[1]).split("; ") == [
        "default-src 'none'",
        "script-src 'HASH'",
        "style-src 'HASH'",
        "img-src data: blob:",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    loads = re.findall(r"https?://|<link|@import|\bsrc=|\bon\w+=\"", text.replace(SVG_NAME, ""))
    assert loads == []
    assert len(text) < 150_000


def test_names_from_logs_are_no_markup(tmp_path: Path) -> None:
    """A name cannot end the block of data, the title is escaped, and long names are cut."""
    header = msgspec.structs.replace(make_header(arms=4, policy=HOSTILE[0]), arms=HOSTILE)
    header.scenario["name"] = HOSTILE[1] + "{{ 7 * 7 }}"
    text = view([written(tmp_path / "hostile.jsonl", None, header)]).text
    assert text.count("<script") == 2
    assert text.count("</script>") == 2
    assert "alert(1)" not in text.replace(escape(HOSTILE[0]), "").replace(escape(HOSTILE[1]), "")
    assert "{{ 7 * 7 }}" in text
    about, _ = unpack(text)
    assert [len(name) for name in about["logs"][0]["arms"]] == [len(HOSTILE[0]), len(HOSTILE[1]), 7, 200]


def test_an_empty_log(tmp_path: Path) -> None:
    """A log without any event has a page that says so."""
    about, arrays = unpack(view([written(tmp_path / "empty.jsonl")]).text)
    assert (about["logs"][0]["events"], about["logs"][0]["time"]["bins"], len(arrays["0.pull.time"])) == (0, 0, 0)


def test_one_pull(tmp_path: Path) -> None:
    """A log of a single decision of which no part has arrived."""
    about, arrays = unpack(view([written(tmp_path / "one.jsonl", make_events(1))]).text)
    assert (about["logs"][0]["pulls"], about["logs"][0]["time"]["bins"], len(arrays["0.parts.age"])) == (1, 1, 0)


def test_pulls_only(tmp_path: Path) -> None:
    """A log of only the pulls has allocation and regret, and says what is missing."""
    path = tmp_path / "pulls.arrows"
    simulate(Scenario(**KEYS), "tp-ucb-fr", log=path, log_detail="pulls")
    about, arrays = unpack(read_log(path).view().text)
    assert (about["logs"][0]["heats"], int(arrays["0.count.pulls"].sum())) == ({}, 60)
    assert any("only the pulls" in note for note in about["logs"][0]["notes"])


@pytest.mark.parametrize("ending", ["jsonl", "arrows"])
def test_a_torn_log(tmp_path: Path, ending: str) -> None:
    """What is left of a killed run is shown, and the page says where it ends."""
    path = tmp_path / f"run.{ending}"
    simulate(Scenario(**KEYS), "tp-ucb-fr", log=path)
    os.truncate(path, path.stat().st_size - 30)
    log = read_log(path)
    notes = unpack(log.view().text)[0]["logs"][0]["notes"]
    assert notes[0] == f"The log is not complete: {log.truncated}. Everything up to there is shown."


def test_an_imported_log(tmp_path: Path) -> None:
    """Of tables of payments: what each arm was paid in time, late and given back, and no delays, since none is due."""
    offers = pd.DataFrame({"id": [1, 2, 3], "day": [0, 1, 2], "variant": ["A", "B", "A"]})
    paid = pd.DataFrame({"id": [1, 1, 2, 3, 3], "day": [0, 4, 9, 3, 5], "amount": [5.0, 7.0, 11.0, 20.0, -6.0]})
    log = import_log(offers, paid, out=tmp_path / "shop.arrows", unit="day", window=6, until=20)
    about, arrays = unpack(log.view().text)
    told, bins = about["logs"][0], about["logs"][0]["time"]["bins"]
    assert arrays["0.sum.parts"].reshape(2, bins).sum(axis=1).tolist() == [26.0, 0.0]
    assert arrays["0.sum.late"].reshape(2, bins).sum(axis=1).tolist() == [0.0, 11.0]
    assert arrays["0.pull.paid"].tolist() == [12.0, 0.0, 14.0]
    assert list(told["heats"]) == ["age"]
    assert told["heats"]["age"]["refunds"]
    assert not told["means_known"]


def test_a_decider_goes_on(tmp_path: Path) -> None:
    """The log of decisions that are made for real is not called incomplete."""
    with Decider.open(tmp_path / "shop", policy="uniform", arms=["old", "new"], span=3, clock="caller") as decider:
        decision = decider.decide("offer", at=0.0)
        decider.deliver(decision.token, amount=2.0, key="payment", at=1.5)
    about, arrays = unpack(read_log(tmp_path / "shop.jsonl").view().text)
    assert about["logs"][0]["notes"][0].startswith("The log goes on: 1 decision so far")
    assert arrays["0.pull.paid"].tolist() == [2.0]


def test_seconds_of_a_decider_are_dates(tmp_path: Path) -> None:
    """With the server's clock and no unit, times are seconds since the log was opened, and so have dates."""
    with Decider.open(tmp_path / "shop", policy="uniform", arms=["old", "new"], span=3) as decider:
        decider.decide("offer")
    log = read_log(tmp_path / "shop.jsonl")
    told = unpack(log.view().text)[0]["logs"][0]
    assert (told["unit"], told["calendar"]["unit"]) == ("second", 1000.0)
    assert abs(log.frame()["date"][0] - pd.Timestamp.now("UTC")) < pd.Timedelta("1min")


def test_changes_are_told_in_words(tmp_path: Path) -> None:
    """Another policy, fewer arms, a switch and its end: when, what and why, as marks and in the header."""
    asked: dict[str, Any] = {"policy": "uniform", "arms": ["a", "b", "c"], "span": 2, "maxima": 9.0, "clock": "caller"}
    with Decider.open(tmp_path / "shop", **asked) as decider:
        decider.decide("1", at=1.0)
        decider.change(policy="delayed-ucb1:groups=1", reason="<b>better</b>")
        decider.change(arms=["a", "c"], reason="sold out")
        decider.decide("2", at=3.0)
        decider.switch("c", reason="a party")
        decider.switch(None, reason="it is over")
    path = tmp_path / "shop.jsonl"
    log = unpack(read_log(path).view().text)[0]["logs"][0]
    labels = ["policy delayed-ucb1:groups=1", "without b", "all for c", "the policy decides again"]
    assert [(one["time"], one["label"]) for one in log["changes"]] == list(zip([1, 1, 3, 3], labels, strict=True))
    assert log["changes"][1]["text"] == "from time 1 on: without b (reason: sold out)"
    assert dict(log["facts"])["changes"].startswith("4 changes; from time 1 on: policy delayed-ucb1")
    followed = FollowedLog(path)
    followed.read()
    assert followed.aggregate.changes[2][1].switch == "c"


def test_when_parts_were_due_is_known_of_simulated_runs_only(path: Path, tmp_path: Path) -> None:
    """The same events have delays if the header describes the world, and none if it does not."""
    log = read_log(path)
    assert set(unpack(log.view().text)[0]["logs"][0]["heats"]) == {"age", "delay"}
    foreign = written(tmp_path / "foreign.arrows", log.join(), msgspec.structs.replace(log.header, scenario={}))
    assert set(unpack(foreign.view().text)[0]["logs"][0]["heats"]) == {"age"}


def test_a_log_that_does_not_prove_its_end(tmp_path: Path) -> None:
    """An end marker without a SHA-256 leaves open whether the log is whole; it is not said that it is not."""
    log = written(tmp_path / "old.jsonl", make_events(1))
    text = re.sub(r',"sha256":"[0-9a-f]+"', "", log.path.read_text())
    log.path.write_text(text)
    assert unpack(read_log(log.path).view().text)[0]["logs"][0]["notes"][0] == (
        "The end marker has no SHA-256: whether the log is whole is not known."
    )


def test_a_sparse_log_has_the_page_of_the_whole_one(tmp_path: Path) -> None:
    """Reading puts the zeros in, so that all numbers are the same."""
    path = tmp_path / "whole.arrows"
    simulate(Scenario.load("subscriptions").with_(horizon=50), "uniform", log=path)
    sparse = convert(read_log(path), tmp_path / "sparse.arrows", sparse=True)
    (_, whole), (_, again) = unpack(read_log(path).view().text), unpack(sparse.view().text)
    assert sparse.path.stat().st_size < path.stat().st_size
    for name, numbers in whole.items():
        np.testing.assert_array_equal(numbers, again[name], name)


def test_many_arms_are_taken_together(tmp_path: Path) -> None:
    """Of 50 arms the 19 with the most pulls have their own line, and nothing is lost."""
    arms = np.array([5] * 10 + list(range(30, 50)) + [7] * 3)
    count = len(arms)
    seq = np.arange(count)
    events = Events(
        seq=seq,
        time=seq + 1.0,
        kind=np.zeros(count, dtype=np.int8),
        round=seq + 1,
        pull=seq + 1,
        arm=arms,
        part=np.zeros(count, dtype=np.int64),
        value=np.full(count, np.nan),
    )
    about, arrays = unpack(view([written(tmp_path / "many.jsonl", events, make_header(arms=50))]).text)
    log = about["logs"][0]
    pulls = arrays["0.count.pulls"].reshape(20, -1).sum(axis=1)
    assert log["arms"][:2] == ["arm 5", "arm 7"]
    assert log["arms"][-1] == "31 other arms"
    assert (pulls[0], pulls[1], pulls.sum()) == (10, 3, count)


def test_the_first_decision_that_differs(tmp_path: Path) -> None:
    """Of two logs of one world the page tells the first pull with another arm, and has its parts."""
    paths = {policy: tmp_path / f"{policy}.arrows" for policy in ("tp-ucb-fr", "uniform")}
    for policy, path in paths.items():
        simulate(Scenario(**KEYS), policy, log=path)
    one, other = (read_log(path).columns(["arm"], [0])["arm"] for path in paths.values())
    about, arrays = unpack(view([read_log(path) for path in paths.values()]).text)
    expected = int(np.argmax(one != other)) + 1
    assert [log["divergence"] and log["divergence"]["pull"] for log in about["logs"]] == [None, expected]
    assert expected in arrays["1.parts.pull"]


def test_looks_are_told_in_words_and_numbers(tmp_path: Path) -> None:
    """Of every look: what it counted, which arms it closed and why, whether the trial stopped; the header says it."""
    simulate(Scenario(**KEYS), "uniform", log=tmp_path / "run.jsonl")
    run = read_log(tmp_path / "run.jsonl")
    worse, better = (Reason.INFERIORITY, False), (Reason.SUPERIORITY, True)
    events = with_looks(run.join(), (20, 25, {0: worse}), (30, 30, {}), (40, 45, {1: worse, 2: better}))
    log = written(tmp_path / "looks.jsonl", events, run.header)
    about, _ = unpack(view([log]).text)
    first, second, last = about["logs"][0]["looks"]
    assert (first["time"], first["decided"], first["ends"], first["label"]) == (20, 25, False, "low closed")
    assert (first["counted"], first["estimate"]) == ([10, 20, 30], [0, 0.25, 0.5])
    assert (second["closed"], second["decided"], second["text"]) == ([], None, "no arm was closed")
    assert (last["ends"], last["label"]) == (True, "stop: high")
    words = dict(about["logs"][0]["facts"])["looks"]
    assert words == (
        "3 looks; at round 25, after look 1, “low” (inferiority) was closed; "
        "at round 45, after look 3, the trial stopped with “high” (superiority)"
    )
    broken = events.columns() | {"part": np.where(events.kind == Kind.STOPPED, 9, events.part)}
    with pytest.raises(LogError, match="part 9; reasons are 1 to 5"):
        view([written(tmp_path / "broken.jsonl", Events(**broken), log.header)])


def test_the_script_knows_the_numbers_of_kinds() -> None:
    """The page's script calls kinds of events by the numbers that they have in logs."""
    listed = re.search(r"const KIND = \{(.*?)\}", read_file("data.js"))
    assert listed is not None
    numbers = dict(re.findall(r"(\w+): (\d+)", listed[1]))
    assert numbers == {kind.name.lower(): str(int(kind)) for kind in Kind if kind.name.lower() in numbers}
    assert len(numbers) == 4


def test_a_page_shows_a_limited_number_of_logs(path: Path) -> None:
    """More are refused, and so are none."""
    for logs in ([], [read_log(path)] * (MOST_LOGS + 1)):
        with pytest.raises(LogError, match="a page shows 1 to 8 logs"):
            view(logs)


def test_a_notebook_shows_a_page_in_a_frame(path: Path, tmp_path: Path) -> None:
    """The HTML of a page is a frame with the page inside, escaped; `path` writes it."""
    page = read_log(path).view(tmp_path / "new" / "page.html", pulls=[3])
    assert html.unescape(page._repr_html_()).count("<!doctype html>") == 1
    assert (tmp_path / "new" / "page.html").read_text(encoding="utf-8") == page.text
    assert repr(page).startswith("Page of 0.")


def test_the_command_writes_a_page_beside_the_log(tpstream: Command, tmp_path: Path) -> None:
    """By default LOG with the ending .html; several logs make view.html; --out and --pull as asked; --json tells."""
    tpstream("run", "small.toml", "-p", "uniform", "-p", "tp-ucb-fr", "--log", "logs", "--quiet")
    done = tpstream("view", "logs/uniform.run-000.jsonl")
    assert (done.code, done.out.startswith("page: logs/uniform.run-000.html (0.")) == (0, True)
    assert tpstream("view", "logs", "--json").out.count("run-000.jsonl") == 2
    assert (tmp_path / "logs" / "view.html").exists()
    assert tpstream("view", "logs/uniform.run-000.jsonl", "--pull", "7", "-o", "page.html", "--quiet").code == 0
    assert (tmp_path / "page.html").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("nothing.jsonl",), "nothing.jsonl: cannot read the log: No such file or directory"),
        (("logs/uniform.run-000.jsonl", "--pull", "61"), "there is no pull 61; the log has pulls 1 to 60"),
        (("logs/uniform.run-000.jsonl", "--out", "logs/uniform.run-000.jsonl"), "a page ends in .html"),
        (("logs/uniform.run-000.jsonl", "--out", "small.toml/page.html"), "small.toml: cannot make this folder"),
    ],
)
def test_mistakes_are_one_line(tpstream: Command, words: tuple[str, ...], message: str) -> None:
    """Exit code 2, one line on standard error."""
    tpstream("run", "small.toml", "-p", "uniform", "--log", "logs", "--quiet")
    done = tpstream("view", *words)
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert message in done.err


@pytest.mark.slow
def test_the_page_of_a_run_that_was_killed(tmp_path: Path) -> None:
    """After `kill -9` the command makes a page of what was written."""
    log = tmp_path / "run.arrows"
    program = (
        "import os, signal, sys; from tpstream import Scenario, simulate\n"
        "class Killer:\n"
        "    heard = 0\n"
        "    def hear(self, events):\n"
        "        self.heard += len(events)\n"
        "        if self.heard > 400_000: os.kill(os.getpid(), signal.SIGKILL)\n"
        "simulate(Scenario.load('setting-1').with_(horizon=20_000), 'uniform', log=sys.argv[1], sinks=[Killer()])\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(log)], capture_output=True, check=False)
    assert done.returncode == -9
    opened = read_log(log)
    about, _ = unpack(opened.view().text)
    assert about["logs"][0]["events"] == len(opened.frame(["seq"])) > 100_000
    assert "not complete" in about["logs"][0]["notes"][0]
