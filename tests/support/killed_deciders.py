"""A program that kills a decider again and again: killed_deciders.py FOLDER KILLS; it prints what is bad, if any is.

A child, forked so that it starts at once, goes on with the log and with a fixed list of requests, and notes what it was
answered in a file, which a kill does not take back. It is killed with SIGKILL at a random moment under load.
"""

import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import Any

from tpstream import Decider, check_log, read_log, replay
from tpstream.log.jsonl import Event
from tpstream.serve.requests import Decide, Decision, Deliver, Lost, Receipt, Reply, Request

LONGEST = 0.25
"""Seconds after which at the latest a decider is killed."""
OPTIONS: dict[str, Any] = {
    "policy": "delayed-ucb1",
    "arms": ["a", "b", "c"],
    "maxima": 5.0,
    "groups": 1,
    "span": 4,
    "clock": "caller",
    "silence": "wait",
    "random_share": 0.1,
    "snapshot_every": 500,
}
KIND = {"credited": "partial", "lost": "dropped"}
Fact = tuple[str, int, int, float]
"""Kind, pull, part and time."""


def batch(number: int, tokens: list[str]) -> list[Request]:
    """What is told and asked at one time: parts of the last decisions, then a decision."""
    dice = random.Random(number)  # noqa: S311 (a load, no secrets)
    requests: list[Request] = []
    for age in range(min(4, number - 1), 0, -1):
        token, key, time = tokens[number - age - 1], f"{number - age}/{age}", float(number)
        amount, lost = float(dice.randint(0, 1)), dice.random() < 0.2
        told = Lost(token=token, part=age, key=key, at=time)
        requests.append(told if lost else Deliver(token=token, amount=amount, part=age, key=key, at=time))
    return [*requests, Decide(key=f"{number}", at=number + 0.5)]


def go_on(path: Path, notes: Path, batches: int) -> list[int]:
    """Go on with the log up to this batch, and note what is acknowledged; the arms of the new decisions."""
    arms: list[int] = []
    with Decider.open(path, **OPTIONS) as decider, notes.open("ab", buffering=0) as file:
        known = [event for event in events(path) if event.kind == "pull"]
        tokens = [decider.decide(str(event.key)).token for event in known]
        # The last batch may be in the log in part: it is told again.
        for number in range(len(known) + 1, batches + 1):
            replies = decider.handle(batch(number, tokens))
            file.write("".join(map(line, replies)).encode())
            decision = replies[-1]
            assert isinstance(decision, Decision)
            tokens.append(decision.token)
            arms.append(decision.arm)
    return arms


def line(reply: Reply) -> str:
    """What was acknowledged, as a line."""
    if isinstance(reply, Decision):
        return f"pull {reply.token.partition('-')[0]} 0 {reply.time!r}\n"
    assert isinstance(reply, Receipt), reply
    return f"{KIND[reply.status]} {reply.token.partition('-')[0]} {reply.part} {reply.time!r}\n"


def events(path: Path) -> list[Event]:
    """The events of a log."""
    return list(read_log(path).events())


def fault(path: Path, notes: Path, expected: list[int]) -> str | None:
    """What is bad about a log after a kill."""
    found = [(event.kind, event.pull, event.part, event.time) for event in events(path)]
    if len(set(found)) < len(found):
        return "an event is there twice"
    words = [text.split() for text in notes.read_text().splitlines() if text.count(" ") == 3]
    lost = {(kind, int(pull), int(part), float(time)) for kind, pull, part, time in words} - set(found)
    if lost:
        return f"acknowledged, but not in the log: {sorted(lost)[:3]}"
    arms = [event.arm for event in events(path) if event.kind == "pull"]
    if arms != expected[: len(arms)]:
        return f"other decisions than without kills, from {len(arms)} decisions"
    return None


def kill(path: Path, notes: Path, batches: int, seconds: float) -> bool:
    """Let a child go on, and kill it after this time; whether it was still at work."""
    child = os.fork()
    if child == 0:
        go_on(path, notes, batches)
        os._exit(0)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def main() -> None:
    """Run once without kills, then with them, until all requests are answered."""
    folder, kills = Path(sys.argv[1]), int(sys.argv[2])
    batches, moments = 40 * kills, random.Random(kills)  # noqa: S311 (moments, no secrets)
    expected = go_on(folder / "whole.jsonl", folder / "whole.notes", batches)
    path, notes = folder / "killed.jsonl", folder / "killed.notes"
    done, bad = 0, None
    while done < kills and bad is None:
        done += kill(path, notes, batches, moments.uniform(0.01, LONGEST))
        if path.exists() and path.stat().st_size:
            go_on(path, notes, 0)  # cut, and told again
            bad = fault(path, notes, expected)
    if bad is None:
        go_on(path, notes, batches)
        bad = fault(path, notes, expected)
        whole = len([event for event in events(path) if event.kind == "pull"]) == batches
        sound = replay(path).equal and check_log(path).sound
        bad = bad or (None if whole and sound else "the log is not whole, or breaks a rule")
    print(bad or f"{done} kills, {len(events(path))} events, nothing lost or doubled")  # noqa: T201 (a program)


if __name__ == "__main__":
    main()
