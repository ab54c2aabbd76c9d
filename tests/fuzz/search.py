"""The search: Hypothesis makes cases of a target and makes those that fail smaller; they are kept in tests/corpus/."""

import base64
import hashlib
import json
import os
import time
import zlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import hypothesis
from hypothesis import HealthCheck, Phase, given, settings, strategies as st

CORPUS = Path(__file__).parents[1] / "corpus"
"""Where cases that failed once are kept."""
ROUND = 200
"""Cases between two looks at the clock."""
Case = dict[str, Any]


@dataclass(frozen=True)
class Target:
    """What is tried: how cases are made, what is bad about one, and how many a full campaign tries."""

    name: str
    aim: str
    cases: Callable[[], st.SearchStrategy[Case]]
    check: Callable[[Case], str | None]
    full: int
    short: int
    """Cases in `make test`."""
    share: float = 1.0
    """Of the time of a short campaign."""
    shrinks: bool = True
    """Whether a case fails again and again, so that smaller ones can be looked for."""


@dataclass
class Found:
    """What a search found: cases that were tried, and the faults by how often they occurred."""

    cases: int = 0
    seconds: float = 0.0
    faults: Counter[str] = field(default_factory=Counter)

    def __add__(self, other: "Found") -> "Found":
        return Found(self.cases + other.cases, self.seconds + other.seconds, self.faults + other.faults)


class FaultyCaseError(Exception):
    """A case failed, so that Hypothesis looks for a smaller one."""


def search(target: Target, cases: int, seed: str, *, seconds: float = 1e9, keep: bool = True) -> Found:
    """Try so many cases, or as many as fit into the time."""
    found, began, number = Found(), time.monotonic(), 0
    while found.cases < cases and time.monotonic() - began < seconds:
        _search_round(target, min(ROUND, cases - found.cases), f"{seed}/{number}", found, keep, began + seconds)
        number += 1
    found.seconds = time.monotonic() - began
    return found


class _Unshown(dict[str, Any]):
    """A case that Hypothesis does not write out: files are long."""

    def __repr__(self) -> str:
        return "case"


def _search_round(target: Target, cases: int, seed: str, found: Found, keep: bool, end: float) -> None:  # noqa: C901, FBT001
    """Try some cases; the first one with a fault that is not kept yet is made smaller and ends the round."""
    smallest: list[tuple[Case, str]] = []

    def try_one(case: Case) -> None:
        if time.monotonic() > end:
            return
        fault = target.check(case)
        if not smallest:
            found.cases += 1
        if fault is None:
            return
        if not smallest:
            found.faults[fault] += 1
            if not keep or corpus_file(target, fault).exists():
                return
            if not target.shrinks or "still running" in fault or "GB" in fault:
                keep_case(target, fault, case)
                return
        if smallest and smallest[-1][1] != fault:
            return
        smallest.append((case, fault))
        raise FaultyCaseError(fault)

    chosen = settings(
        max_examples=cases,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink),
        report_multiple_bugs=False,
        derandomize=False,
        print_blob=False,
    )
    try:
        hypothesis.seed(seed)(chosen(given(target.cases().map(_Unshown))(try_one)))()
    except (FaultyCaseError, hypothesis.errors.Flaky, BaseExceptionGroup):
        for one, fault in smallest[-1:]:
            keep_case(target, fault, one)


def search_in_parallel(
    target: Target, cases: int, seed: str, *, seconds: float = 1e9, jobs: int | None = None
) -> Found:
    """The search, shared out among processes."""
    jobs = min(jobs or os.cpu_count() or 1, cases)
    shares = [cases // jobs + (number < cases % jobs) for number in range(jobs)]
    target.cases()  # makes its samples, so that processes need not
    with get_context("fork").Pool(jobs) as pool:
        tasks = [(target.name, share, f"{seed}/{number}", seconds) for number, share in enumerate(shares)]
        results = pool.starmap(_search_named, tasks, chunksize=1)
    total = Found(seconds=max(one.seconds for one in results))
    for one in results:
        total.cases += one.cases
        total.faults += one.faults
    return total


def _search_named(name: str, cases: int, seed: str, seconds: float) -> Found:
    from targets import TARGETS  # noqa: PLC0415 (targets import this module)

    return search(TARGETS[name], cases, seed, seconds=seconds)


def corpus_file(target: Target, fault: str) -> Path:
    """The file of the case with this fault."""
    kind = hashlib.sha256(f"{target.name}: {fault}".encode()).hexdigest()[:8]
    return CORPUS / f"{target.name}-{kind}.json"


def keep_case(target: Target, fault: str, case: Case) -> None:
    """Keep a case that failed, as a file that a test tries again."""
    CORPUS.mkdir(exist_ok=True)
    kept = {"target": target.name, "fault": fault, "case": _encoded(case)}
    corpus_file(target, fault).write_text(json.dumps(kept, indent=1) + "\n")


def read_case(path: Path) -> tuple[str, Case]:
    """The name of the target and the case of a file of the corpus."""
    kept = json.loads(path.read_text())
    return kept["target"], _decoded(kept["case"])


def _encoded(value: Any) -> Any:
    """Bytes as text where they are, else packed."""
    if isinstance(value, bytes):
        try:
            return {"text": value.decode()}
        except UnicodeDecodeError:
            return {"packed": base64.b64encode(zlib.compress(value, 9)).decode()}
    if isinstance(value, dict):
        return {key: _encoded(inner) for key, inner in value.items()}
    return list(value) if isinstance(value, tuple) else value


def _decoded(value: Any) -> Any:
    if isinstance(value, dict) and value.keys() == {"text"}:
        return value["text"].encode()
    if isinstance(value, dict) and value.keys() == {"packed"}:
        return zlib.decompress(base64.b64decode(value["packed"]))
    return {key: _decoded(inner) for key, inner in value.items()} if isinstance(value, dict) else value
