"""Spawning: whether processes of their own can take part in the work of this program."""

import pickle
import sys
from collections.abc import Iterable
from pathlib import Path

from tpstream.policies.form import SharedPolicy
from tpstream.study.entrants import Entrant

GUARD = "__main__"


def can_spawn(entrants: Iterable[Entrant]) -> bool:
    """Whether other processes can be started from this program, and be sent these policies."""
    return main_is_guarded() and all(travels(entrant) for entrant in entrants)


def main_is_guarded() -> bool:
    """Whether a new process can load the program that it comes from without doing all of it again.

    Python loads the main file in every process that it spawns. One without `if __name__ == "__main__":` would start
    its study there once more; a shell or a notebook has no file to load.
    """
    main = sys.modules["__main__"]
    file = getattr(main, "__file__", None)
    if file is None or not Path(file).is_file():
        return True
    return GUARD in Path(file).read_text(encoding="utf-8", errors="replace")


def travels(entrant: Entrant) -> bool:
    """Whether a policy can be sent to another process and is as fast there.

    A compiled policy must have a name: the code of a mere object would be compiled anew in every process.
    """
    if isinstance(entrant.choice.form, SharedPolicy):
        return entrant.named
    try:
        pickle.dumps(entrant)
    except Exception:  # noqa: BLE001 (whatever an object of a user raises, it cannot be sent)
        return False
    return True
