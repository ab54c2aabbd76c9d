"""The live page's server: who may ask, what a browser is told, and how it ends."""

import http.client
import json
import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from explorer import unpack, unpack_text
from studies import KEYS

from tpstream import Scenario, compare, read_log, simulate, trial
from tpstream.analysis.intervals import t_interval
from tpstream.cli.live import SharedProgress
from tpstream.log.reader import Log
from tpstream.log.writer import convert
from tpstream.looks.design import Reason
from tpstream.model.errors import LogError, PageError
from tpstream.run.watch import LiveLink
from tpstream.trial.designs import OperatingCharacteristics
from tpstream.trial.monte_carlo import share_of
from tpstream.trial.truths import Truths
from tpstream.view import follow
from tpstream.view.explorer import view
from tpstream.view.follow import FollowedLog, show_logs
from tpstream.view.live import LivePage, PageState
from tpstream.view.pulls import KeptParts, count_open


def ask(page: LivePage, method: str = "GET", path: str | None = None, **headers: str) -> tuple[int, str]:
    """What the page answers to a request that knows its token, unless told otherwise."""
    connection = http.client.HTTPConnection("127.0.0.1", page.port, timeout=10)
    given = {"X-Token": page.token, **{name.replace("_", "-"): value for name, value in headers.items()}}
    connection.request(
        method, f"/?token={page.token}" if path is None else path, "" if method == "POST" else None, given
    )
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text


TRIAL: dict[str, Any] = {
    "name": "trial",
    "horizon": 40,
    "drain": True,
    "visits": [1.0],
    "rewards": {"kind": "binary"},
    "arms": [{"name": "old", "probability": 0.2}, {"name": "new", "probability": 0.6}],
    "trial": {
        "control": "old",
        "endpoint": "last",
        "looks": {"at": "known", "values": [20]},
        "rules": [{"kind": "superiority", "threshold": 0.9}],
    },
}


class Bar:
    """A bar in the terminal, of which only what it is told to say is kept."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def expect(self, rounds: int) -> None:
        """Nothing is shown."""

    def __call__(self, rounds: int) -> None:
        """Nothing is shown."""

    def say(self, text: str) -> None:
        """Keep the text."""
        self.said.append(text)


class Browser(threading.Thread):
    """Reads the stream of a page until it ends; keeps its events by name."""

    def __init__(self, page: LivePage) -> None:
        super().__init__(daemon=True)
        self._page = page
        self.events: list[tuple[str, Any]] = []

    def run(self) -> None:
        """Read all of it."""
        connection = http.client.HTTPConnection("127.0.0.1", self._page.port, timeout=30)
        connection.request("GET", f"/events?token={self._page.token}")
        answer, name = connection.getresponse(), ""
        for line in answer:
            word, _, rest = line.decode().strip().partition(": ")
            name = rest if word == "event" else name
            if word == "data":
                self.events.append((name, json.loads(rest)))

    def told(self, name: str) -> list[Any]:
        """The data of the events of a name."""
        return [data for of, data in self.events if of == name]


@contextmanager
def looked_at(title: str = "a study", **keywords: Any) -> Iterator[tuple[LivePage, Browser]]:
    """A page, and a browser that looks at it."""
    with LivePage(title, **keywords) as page:
        browser = Browser(page)
        browser.start()
        while not page.state.viewers:
            time.sleep(0.01)
        yield page, browser
    browser.join(10)


def test_only_who_knows_the_token_is_served() -> None:
    """The page, the stream and the stop button need the token, the right Host, and no foreign Origin."""
    with LivePage("a study") as page:
        assert ask(page)[0] == 200
        assert ask(page, Origin=f"http://127.0.0.1:{page.port}")[0] == 200
        refused = [
            ask(page, path="/"),
            ask(page, path="/?token=wrong"),
            ask(page, path="/events"),
            ask(page, Origin="http://example.org"),
            ask(page, Origin="null"),
            ask(page, Host="example.org"),
            ask(page, Host=f"example.org:{page.port}"),
            ask(page, "POST", "/stop", X_Token="wrong"),  # noqa: S106 (that is what is tested)
            ask(page, "POST", "/stop", Origin="http://example.org"),
            ask(page, "POST", f"/stop?token={page.token}", X_Token=""),
            ask(page, "POST", "/feed", X_Token=""),
        ]
        assert [status for status, _ in refused] == [403] * len(refused)
        assert not page.state.stop
        assert ask(page, "POST", "/stop")[0] == 200
        assert page.state.stop
        assert page._server.server_address[0] == "127.0.0.1"


def test_who_may_not_ask_is_not_read() -> None:
    """A request without the token is refused before its body comes, and so is a wish to stop that is long."""
    with LivePage("a study") as page:
        for path, token, status in (
            ("/feed", "wrong", b"403"),
            ("/stop", "wrong", b"403"),
            ("/stop", page.token, b"400"),
        ):
            with socket.create_connection(("127.0.0.1", page.port), timeout=5) as connection:
                host = f"127.0.0.1:{page.port}"
                head = f"POST {path} HTTP/1.1\r\nHost: {host}\r\nX-Token: {token}\r\nContent-Length: 40000000\r\n\r\n"
                connection.sendall(head.encode())
                answer = connection.recv(100)
            assert answer.startswith(b"HTTP/1.1 " + status)
        assert not page.state.stop


def test_who_goes_away_leaves_no_trace(capfd: pytest.CaptureFixture[str]) -> None:
    """A browser that ends its connection in the middle, as one does whose page is loaded anew, prints nothing."""
    with LivePage("a study") as page:
        host = f"Host: 127.0.0.1:{page.port}"
        for words in (
            f"GET /?token={page.token} HTTP/1.1\r\n{host}\r\n\r\n",
            f"POST /feed HTTP/1.1\r\n{host}\r\nX-Token: {page.token}\r\nContent-Length: 9\r\n\r\n{{",
        ):
            connection = socket.create_connection(("127.0.0.1", page.port), timeout=5)
            connection.sendall(words.encode())
            time.sleep(0.1)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # a reset
            connection.close()
        assert ask(page)[0] == 200
        time.sleep(0.1)
    assert capfd.readouterr().err == ""


def test_what_is_no_message_is_refused() -> None:
    """Unknown places, what is not JSON and what has no length: an error each, and the page goes on."""
    with LivePage("a study") as page:
        assert ask(page, path=f"/etc?token={page.token}")[0] == 404
        assert ask(page, "POST", "/feed")[0] == 400
        assert ask(page, "POST", "/feed", Content_Length="999999999")[0] == 400
        assert ask(page, "POST", "/stop", Content_Length="\xb2")[0] == 400
        assert ask(page, path="x://[")[0] == 400
        assert ask(page)[0] == 200


def test_the_page_may_talk_to_its_server_only() -> None:
    """Its policy allows connections to its own origin besides what every page may."""
    with LivePage("<b>") as page:
        text = ask(page)[1]
    assert "connect-src 'self'" in text
    assert "default-src 'none'" in text
    assert "<b>" not in text


def test_a_port_that_is_taken_is_an_error() -> None:
    """One line with the port and the remedy."""
    with LivePage("one") as page, pytest.raises(PageError, match=f"port {page.port}: .* choose another with --port"):
        LivePage("two", page.port)


def test_a_browser_is_told_of_runs_and_of_their_end() -> None:
    """Progress, estimates with intervals over the finished runs as in the study's table, pictures, and how it ended."""
    with looked_at() as (page, browser):
        link = LiveLink(page.port, page.token)
        study = compare(Scenario(**KEYS), ["uniform", "tp-ucb-fr"], runs=4, progress=page.state, live=link)
        link._budget.available = lambda: 10.0  # type: ignore[method-assign]
        compare(Scenario(**KEYS), ["ucb1"], runs=1, live=link)
        link.send(picture=True)
    last = browser.told("state")[-1]
    assert (last["status"], last["done"], last["total"]) == ("finished", 480, 480)
    told = {one["policy"]: one for one in last["estimates"]}
    for row in study.table().to_dict("records"):
        found = told[row["policy"]]
        assert found["runs"] == 4
        assert found["regret"]["mean"] == pytest.approx(row["regret"])
        assert found["regret"]["interval"] == pytest.approx([row["low"], row["high"]])
        assert found["share of best arm"]["mean"] == pytest.approx(row["best_arm_share"])
    assert told["ucb1"]["regret"]["interval"] is None
    assert all(one["label"] == one["policy"] for one in last["estimates"])
    about, arrays = unpack_text(browser.told("log")[-1]["text"])
    assert about["logs"][0]["policy"] == "ucb1"
    assert arrays["0.count.pulls"].sum() == 60


def test_estimates_of_designs_are_told_apart() -> None:
    """Each design and truth has estimates of its own, superiority among them; the terminal shows it, too."""
    one = Scenario(**TRIAL)
    bar = Bar()
    with looked_at() as (page, browser):
        link = LiveLink(page.port, page.token)
        result = trial(
            [one, one.with_(name="other")],
            ["uniform"],
            runs=4,
            truths=Truths(null=True),
            live=link,
            progress=SharedProgress(cast("Any", bar), page.state),
        )
        link.send()
    told = {each["label"]: each for each in browser.told("state")[-1]["estimates"]}
    assert isinstance(result, OperatingCharacteristics)
    assert list(told) == [f"{each.design}, {each.truth}" for each in result.trials]
    for each in result.trials:
        found = told[f"{each.design}, {each.truth}"]
        expected = share_of(each.decision == Reason.SUPERIORITY)
        assert found["runs"] == 4
        assert found["superiority"]["mean"] == expected.value
        assert found["superiority"]["interval"] == pytest.approx([expected.low, expected.high])
        assert found["patients"]["mean"] == pytest.approx(each.size.mean())
    assert bar.said[-1].startswith("superiority ")


def test_a_study_of_any_length_is_kept_as_a_few_numbers() -> None:
    """Means and intervals are those of all numbers, though only their count, mean and spread are kept."""
    values = np.random.default_rng(1).normal(1e6, 1.0, 1000)
    state = PageState("a study")
    for part in np.array_split(values, 7):
        state.take({"finished": [{"policy": "a", "numbers": {"regret": number}} for number in part.tolist()]})
    (found,) = state.described()["estimates"]
    interval = t_interval(values)
    assert found["regret"]["mean"] == pytest.approx(float(interval.mean))
    assert np.array(found["regret"]["interval"]) - 1e6 == pytest.approx(
        [float(interval.low) - 1e6, float(interval.high) - 1e6]
    )
    assert vars(next(iter(state._means.values()))["regret"]).keys() == {"count", "mean", "_squares"}


def test_a_stop_reaches_the_runs() -> None:
    """After the button no further rounds are run, and the page tells that it was stopped."""
    with looked_at() as (page, browser):
        link = LiveLink(page.port, page.token)
        assert not link.stopped()
        assert ask(page, "POST", "/stop")[0] == 200
        link.send()
        assert link.stopped()
        assert len(simulate(Scenario.load("setting-1").with_(horizon=50_000), "ucb1", live=link).arms) == 4096
    assert browser.told("state")[-1]["status"] == "stopped"


@pytest.fixture
def log(tmp_path: Path) -> Log:
    """The log of a small run."""
    path = tmp_path / "run.jsonl"
    simulate(Scenario(**KEYS), "tp-ucb-fr", log=path)
    return read_log(path)


@pytest.mark.parametrize("ending", [".jsonl", ".arrows"])
def test_a_log_is_followed_to_its_end(log: Log, ending: str, tmp_path: Path) -> None:
    """What the page is told in the end are the numbers of the whole log, though it was torn when it was opened."""
    whole = convert(log, tmp_path / f"whole{ending}").path.read_bytes()
    growing = tmp_path / f"growing{ending}"
    growing.write_bytes(whole[: -len(whole) // 3])
    with looked_at(follows=True) as (page, browser):
        follower = threading.Thread(target=show_logs, args=([FollowedLog(growing)], page.state))
        follower.start()
        while not (browser.told("state") and browser.told("state")[-1]["runs"]):
            time.sleep(0.01)
        assert browser.told("state")[-1]["status"] == "running"
        growing.write_bytes(whole)
        follower.join(20)
    about, arrays = unpack_text(browser.told("log")[-1]["text"])
    frame = log.frame()
    assert about["logs"][0]["events"] == len(frame)
    assert arrays["0.sum.parts"].sum() == pytest.approx(frame[frame["kind"] == "partial"]["value"].sum())
    assert browser.told("state")[-1]["status"] == "complete"


def test_who_begins_to_look_need_not_wait(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    """A log that took long to read is read again after a long pause; someone who comes in it is shown the log."""
    monkeypatch.setattr(follow, "PAUSE", 60.0)
    monkeypatch.setattr(follow, "LONGEST_PAUSE", 60.0)
    with LivePage("a log", follows=True) as page:
        follower = threading.Thread(target=show_logs, args=([FollowedLog(log.path)], page.state), daemon=True)
        follower.start()
        while not page.state.described()["runs"]:
            time.sleep(0.01)
        browser = Browser(page)
        browser.start()
        follower.join(20)
        assert not follower.is_alive()
    browser.join(10)
    assert browser.told("log")


def test_sparse_and_replaced_logs_are_read_anew(log: Log, tmp_path: Path) -> None:
    """A sparse log counts its zeros; after another log took its place, only that one is shown."""
    sparse = convert(log, tmp_path / "sparse.jsonl", sparse=True)
    followed = FollowedLog(sparse.path)
    assert followed.read() == 60
    assert followed.aggregate.events == len(log.frame())
    assert followed.read() == 0
    simulate(Scenario(**(KEYS | {"horizon": 20})), "uniform", log=sparse.path, force=True)
    followed.read()
    assert (followed.header.policy, followed.aggregate.pulls.count) == ("uniform", 20)


def test_parquet_cannot_be_followed(log: Log, tmp_path: Path) -> None:
    """It is written at its end: an error that says so."""
    with pytest.raises(LogError, match="parquet cannot be followed"):
        FollowedLog(convert(log, tmp_path / "log.parquet").path)


def test_followed_logs_show_what_the_explorer_shows(tmp_path: Path) -> None:
    """The first decision that differs, and what was known at each decision: indices, and how many pulls were open."""
    paths = [tmp_path / f"{policy}.jsonl" for policy in ("tp-ucb-fr", "tp-ucb-ew")]
    for path in paths:
        simulate(Scenario(**KEYS), path.stem, log=path, log_detail="indices")
    with looked_at(follows=True) as (page, browser):
        show_logs([FollowedLog(path) for path in paths], page.state)
    whole, expected = unpack(view(list(map(read_log, paths))).text)
    for place, picture in enumerate(browser.told("log")[-2:]):
        about, arrays = unpack_text(picture["text"])
        assert about["logs"][0]["divergence"] == whole["logs"][place]["divergence"]
        for name in ("pull", "pulled", "open", "start", "kind", "age", "value", "indices"):
            np.testing.assert_array_equal(arrays[f"0.parts.{name}"], expected[f"{place}.parts.{name}"], name)
    assert whole["logs"][1]["divergence"] is not None


def test_parts_that_are_kept_are_limited(log: Log) -> None:
    """Of many events those of every n-th pull are kept, with what was known at these pulls, in order."""
    columns = log.join().columns()
    kept = KeptParts(most=60)
    opened, still = count_open(columns["kind"], 0)
    kept.add(columns, opened)
    parts = kept.parts(np.arange(1, 61))
    step = int(parts.pulls[1] - parts.pulls[0])
    assert step > 1
    assert parts.pulls.tolist() == list(range(1, 61, step))
    assert parts.open is not None
    assert parts.open.tolist() == opened[::step].tolist()
    assert len(parts.kind) + len(parts.pulls) <= 60
    assert still == 0
