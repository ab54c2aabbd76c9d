"""Whose turn it is: what a process that works for a study notes, so that another one can end a run that takes too long.

Compiled code cannot be interrupted, and Python code can ignore it. So a run with a time limit is done in a process of
its own, which is ended by the one that started it (experiment/timeouts.py). Compiling is not counted.
"""

import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from numba.core import event

COMPILING = "numba:compiler_lock"
_listen: Any = event.install_listener  # has no types
_Listener: Any = event.Listener


class Turn(NamedTuple):
    """One policy's turn in a run."""

    policy: str
    run: int
    spent: float
    """Seconds that the policy had taken in this run before."""
    began: float | None
    """When this turn began, by `time.monotonic`; None while something is compiled."""

    def seconds(self, now: float) -> float:
        """What the policy has taken in this run so far."""
        return self.spent + (0.0 if self.began is None else now - self.began)


class Turns:
    """Notes the turns of this process in a file that has its number as its name.

    `keys` tells under which name a policy's label is noted.
    """

    def __init__(self, folder: Path, keys: Mapping[str, str]) -> None:
        self._file = folder / str(os.getpid())
        self._keys = keys

    @contextmanager
    def turn(self, label: str, run: int, spent: float) -> Iterator[None]:
        """Note that it is this policy's turn, as long as the block lasts."""
        listener = _Clock(self._file, self._keys[label], run, spent)
        with _listen(COMPILING, listener):
            listener.note()
            try:
                yield
            finally:
                _write(self._file, None)


class _Clock(_Listener):  # type: ignore[misc] # has no types
    """Stops the clock of a turn while something is compiled."""

    def __init__(self, file: Path, policy: str, run: int, spent: float) -> None:
        self._file, self._policy, self._run, self._spent = file, policy, run, spent
        self._depth, self._began = 0, time.monotonic()

    def note(self) -> None:
        """Write whose turn it is."""
        began = None if self._depth else self._began
        _write(self._file, Turn(self._policy, self._run, self._spent, began))

    def on_start(self, event: object) -> None:  # noqa: ARG002 (Numba's)
        """Stop the clock."""
        if not self._depth:
            self._spent += time.monotonic() - self._began
        self._depth += 1
        self.note()

    def on_end(self, event: object) -> None:  # noqa: ARG002 (Numba's)
        """Let the clock go on."""
        self._depth -= 1
        self._began = time.monotonic()
        self.note()


def _write(file: Path, turn: Turn | None) -> None:
    file.write_text(json.dumps(turn), encoding="utf-8")


def read_turns(folder: Path) -> dict[int, Turn]:
    """The turns of all processes, by their numbers; one that is just being written is left out."""
    found = {}
    for file in folder.iterdir():
        try:
            noted = json.loads(file.read_text(encoding="utf-8"))
        except ValueError:
            continue
        if noted is not None:
            found[int(file.name)] = Turn(*noted)
    return found
