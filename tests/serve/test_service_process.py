"""The command `tpstream serve`: it ends in order, and loses nothing that it acknowledged."""

import resource
import signal
import socket
import threading
import time
from pathlib import Path
from random import Random
from typing import Any

import pytest
from command import Command, tpstream
from services import SHOP, TOKEN, experiment_of, served_process, serving
from studies import KEYS

from tpstream import Decider, Scenario, check_log, read_log, replay
from tpstream.model.errors import ServiceError
from tpstream.serve.client import Client
from tpstream.serve.requests import Decision

__all__ = ["tpstream"]
Acknowledged = dict[str, Any]


def keep_asking(url: str, worker: int, first: int, told: Acknowledged, stopped: threading.Event) -> None:
    """Decide, and deliver what decisions pay, until nobody answers any more; note what was acknowledged."""
    with Client(url, retries=0, timeout=30) as client:
        number = first
        while not stopped.is_set():
            number += 1
            try:
                key = f"{worker}-{number}"
                told[key] = client.decide(key)
                client.deliver(told[key].token, worth(told[key]), f"paid-{key}", part=1)
                told[f"paid-{key}"] = told[key]
            except ServiceError:
                return


def worth(decision: Decision) -> float:
    """What a decision pays: one of the arms is better."""
    return 1.0 + decision.arm


def loaded(url: str, first: int, told: Acknowledged, stopped: threading.Event) -> list[threading.Thread]:
    """Four clients that ask at the same time."""
    threads = [threading.Thread(target=keep_asking, args=(url, one, first, told, stopped)) for one in range(4)]
    for thread in threads:
        thread.start()
    return threads


LEARNING: dict[str, Any] = SHOP | {
    "policy": "tp-ucb-fr",
    "maxima": [6.0, 6.0],
    "groups": 3,
    "clock": "server",
    "snapshot_every": 50,
}
"""A policy that learns from each part, so that decisions depend on all before, and snapshots that kills meet."""


def kill_again_and_again(folder: Path, kills: int, seed: int) -> str:
    """Kill a service under load at random moments; the counts.

    Nothing that was acknowledged is lost or doubled, and all decisions, with a next one, are those without kills.
    """
    told: Acknowledged = {}
    shop, random, snapshots = LEARNING, Random(seed), 0  # noqa: S311 (no secret)
    for number in range(kills):
        with served_process(folder, shop) as (process, url):
            stopped = threading.Event()
            threads = loaded(url, number * 1_000_000, told, stopped)
            time.sleep(random.uniform(0.05, 0.6))
            process.send_signal(signal.SIGKILL)
            for thread in threads:
                thread.join()
        snapshots += (folder / "logs" / "shop" / "shop.snapshot.npz").exists()
    log = folder / "logs" / "shop" / "shop.jsonl"
    with served_process(folder, shop) as (_, url), Client(url) as client:
        for key, before in told.items():
            if not key.startswith("paid"):
                again = client.decide(key)
                assert (again.repeated, again.arm, again.token) == (True, before.arm, before.token)
        paid = [key for key in told if key.startswith("paid")]
        assert all(client.deliver(told[key].token, worth(told[key]), key, part=1).repeated for key in paid)
        state = client.state()
        assert len(told) - len(paid) <= state["decisions"] <= len(told) - len(paid) + 4 * kills
        assert len(paid) <= state["kinds"]["partial"] <= len(paid) + 4 * kills
        client.decide("the next one")
    assert len(told) > kills
    assert check_log(log).sound
    assert replay(log).equal
    arms = [event.arm for event in read_log(log).events() if event.kind == "pull"]
    assert set(arms) == {0, 1}
    assert without_kills(log, folder / "whole") == arms
    return (
        f"{kills} kills, {snapshots} of them with a snapshot, {state['events']:,} events, {len(told):,} acknowledged: "
        f"none lost or doubled, {state['decisions'] + 1:,} decisions as without kills"
    )


def without_kills(log: Path, folder: Path) -> list[int]:
    """The arms of a decider that is asked and told the same, and never killed."""
    tokens, arms = {}, []
    options = {name: value for name, value in LEARNING.items() if name not in {"name", "clock", "snapshot_every"}}
    with Decider.open(folder, **options, clock="caller", snapshot_every=None) as decider:
        for event in read_log(log).events():
            if event.kind == "pull":
                decision = decider.decide(str(event.key), at=event.time)
                tokens[event.pull] = decision.token
                arms.append(decision.arm)
            elif event.kind == "partial":
                assert event.value is not None
                token, key = tokens[event.pull], str(event.key)
                decider.deliver(token, amount=event.value, key=key, part=event.part, at=event.time)
    return arms


def test_kills_under_load(tmp_path: Path) -> None:
    """After SIGKILL under load all that was acknowledged is there, once, and decisions are those without kills."""
    kill_again_and_again(tmp_path, 2, 1)


@pytest.mark.verify
def test_a_hundred_kills_under_load(tmp_path: Path) -> None:
    """The same, a hundred times."""
    print(kill_again_and_again(tmp_path, 100, 2))  # noqa: T201 (for docs/reliability.md, with pytest -s)


def test_sigterm_under_load(tmp_path: Path) -> None:
    """What was taken is answered and written, the exit code is 0, and the log replays."""
    told: Acknowledged = {}
    with served_process(tmp_path, SHOP | {"clock": "server"}) as (process, url):
        stopped = threading.Event()
        threads = loaded(url, 0, told, stopped)
        time.sleep(0.5)
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=20) == 0
        for thread in threads:
            thread.join()
    log = tmp_path / "logs" / "shop" / "shop.jsonl"
    decided = sum(not key.startswith("paid") for key in told)
    found = replay(log)
    assert found.equal
    assert decided <= found.rounds <= decided + len(threads)
    assert TOKEN not in (tmp_path / "service.log").read_text()


def test_a_full_disk(tmp_path: Path) -> None:
    """Requests are refused with 507 and nothing is lost; when there is room, the same requests are answered."""
    with served_process(tmp_path, SHOP) as (process, url), Client(url, retries=0) as client:
        client.decide("first", at=1.0)
        room = (tmp_path / "logs" / "shop" / "shop.jsonl").stat().st_size + 1_000
        _, most = resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))
        answered = 1
        with pytest.raises(ServiceError, match="make room") as refused:  # noqa: PT012 (some are answered before)
            while True:
                client.decide(f"offer-{answered}", at=1.0 + answered)
                answered += 1
        assert refused.value.status == 507
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (most, most))
        assert not client.decide(f"offer-{answered}", at=1.0 + answered).repeated
        assert client.decide("first", at=1.0).repeated
        assert client.state()["decisions"] == answered + 1
    assert replay(tmp_path / "logs" / "shop" / "shop.jsonl").equal


@pytest.mark.verify
def test_a_thousand_idle_connections(tmp_path: Path) -> None:
    """They keep nobody from an answer."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 4_000), hard))
    with served_process(tmp_path, SHOP, limits={"seconds": 60.0}) as (_, url), Client(url) as client:
        port = int(url.rpartition(":")[2])
        idle = [socket.create_connection(("127.0.0.1", port)) for _ in range(1_000)]
        began = time.monotonic()
        for number in range(100):
            client.decide(f"offer-{number}", at=1.0 + number)
        assert time.monotonic() - began < 10.0
        for one in idle:
            one.close()


CONFIG = """
[[experiments]]
name = "shop"
policy = "uniform"
arms = ["old", "new"]
span = 3
"""


def test_a_configuration_is_checked(tpstream: Command) -> None:
    """--check says what is configured, as text or as JSON, and starts nothing; a mistake is one line."""
    Path("shop.toml").write_text(CONFIG)
    assert "127.0.0.1:8787, shop" in tpstream("serve", "shop.toml", "--check").out
    assert '"experiment": "shop"' in tpstream("serve", "shop.toml", "--check", "--json").out
    Path("shop.toml").write_text(CONFIG.replace("span", "spam"))
    refused = tpstream("serve", "shop.toml")
    assert (refused.code, "did you mean 'span'" in refused.err) == (2, True)


def test_run_against_a_service(tpstream: Command) -> None:
    """It says that the decisions are equal, in words and as JSON; another seed is refused, since it cannot be equal."""
    Path("token").write_text(TOKEN)
    world = experiment_of(Scenario.parse(KEYS | {"horizon": 30}, Path()), "uniform") | {
        "name": "small",
        "token_file": "token",
    }
    words = ("run", "small.toml", "-t", 30, "-p", "uniform", "--against")
    with serving(Path.cwd(), world, world | {"name": "again"}) as server:
        refused = tpstream(*words, f"{server.url}/small", "--token-file", "token", "--seed", 4)
        assert (refused.code, "seed: the service has 3, and the rehearsal needs 4" in refused.err) == (2, True)
        found = tpstream(*words, f"{server.url}/small", "--token-file", "token")
        assert (found.code, found.out.startswith("equal: all 30 decisions")) == (0, True)
        assert '"equal": true' in tpstream(*words, f"{server.url}/again", "--token-file", "token", "--json").out
        assert "begin with an empty log" in tpstream(*words, f"{server.url}/small", "--token-file", "token").err
    assert "name it with --against" in tpstream("run", "small.toml", "--token-file", "token").err
    assert "name the policy with -p" in tpstream("run", "small.toml", "--against", server.url).err
    assert "does not answer" in tpstream(*words, server.url).err
