"""All targets of the campaign."""

from functools import partial

import target_api
import target_damage
import target_disks
import target_engines
import target_files
import target_kills
import target_signals
from search import Target
from writers import WRITERS

KINDS = {
    "scenario": "scenario files",
    "sweep": "sweep files",
    "trace": "recorded rewards, times and lags (CSV)",
    "import": "tables to import (CSV, Parquet)",
    "map": "maps of imports",
    "jsonl": "logs of JSON lines",
    "arrow": "Arrow logs",
    "parquet": "Parquet logs",
    "study": "folders of studies and leagues",
    "configuration": "configurations of services",
    "decider": "logs and snapshots of deciders that go on",
}
"""The kinds of files, in words."""
EACH = 20_000
"""Changed files of each kind in a full campaign."""


def _of_files(kind: str, words: str) -> Target:
    aim = f"{words}, changed, by every command that reads them" if kind != "decider" else f"{words}, changed"
    return Target(kind, aim, partial(target_files.cases, kind), target_files.check, EACH, 40)


TARGETS = {
    target.name: target
    for target in [
        *(_of_files(kind, words) for kind, words in KINDS.items()),
        Target(
            "engines",
            "random worlds, both engines: same events or same error",
            target_engines.cases,
            target_engines.check,
            5000,
            20,
        ),
        Target(
            "kills",
            f"SIGKILL at random moments of {len(WRITERS)} commands that write, then again",
            target_kills.cases,
            target_kills.check,
            100 * len(WRITERS),
            4,
            shrinks=False,
        ),
        Target(
            "signals",
            "SIGINT, SIGTERM, SIGHUP, SIGKILL with workers",
            target_signals.cases,
            target_signals.check,
            100,
            1,
            shrinks=False,
        ),
        Target(
            "damage", "changed bytes in a log with its end marker", target_damage.cases, target_damage.check, 5000, 100
        ),
        Target(
            "disks",
            f"small disks under {len(WRITERS)} commands that write, then again",
            target_disks.cases,
            target_disks.check,
            20 * len(WRITERS),
            4,
            shrinks=False,
        ),
        Target("api", "requests to a service, changed; then its log", target_api.cases, target_api.check, 2000, 4),
    ]
}
