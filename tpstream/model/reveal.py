"""Which events a policy is shown, for compiled code; `Reveal` in model/world.py has the words and what they mean."""

from typing import get_args

from tpstream.model.events import CLOSED, NO_PULL, PULL
from tpstream.model.numba_support import compiled
from tpstream.model.world import Reveal

REVEALS: tuple[str, ...] = get_args(Reveal)
ALL, POSITIVE, ONLY_CLOSED = range(len(REVEALS))
"""The words as numbers: their places."""


@compiled
def is_shown(reveal: int, kind: int, value: float) -> bool:
    """Whether an event is shown at its true time; the value of a lost part is NaN.

    With POSITIVE, a credited part that is not shown is withheld: it is repeated when its pull is closed. Events about
    no pull are shown to nobody.
    """
    return bool(kind < NO_PULL and (reveal == ALL or kind in (PULL, CLOSED) or (reveal == POSITIVE and value > 0)))
