"""A log that is kept in memory, for a look at a short run."""

import numpy as np
import pandas as pd

from tpstream.model.events import NAMES, Events


class MemorySink:
    """Keeps every event it hears."""

    def __init__(self) -> None:
        self.batches: list[Events] = []

    def hear(self, events: Events) -> None:
        """Keep the events."""
        self.batches.append(events)

    def frame(self) -> pd.DataFrame:
        """Everything heard, as a table."""
        return frame(Events.join(self.batches))


def frame(events: Events) -> pd.DataFrame:
    """Events as a pandas DataFrame with the columns of the log's schema; kinds are a category."""
    kinds = pd.Categorical.from_codes(events.kind.astype(np.intp), categories=list(NAMES))  # type: ignore[call-overload]
    table = pd.DataFrame(
        {
            "seq": events.seq,
            "time": events.time,
            "kind": kinds,
            "round": events.round,
            "pull": events.pull,
            "arm": events.arm,
            "part": events.part,
            "value": events.value,
        }
    )
    if events.indices is not None:
        rows = iter(events.indices)
        table["indices"] = [next(rows) if kind == "pull" else None for kind in table["kind"]]
    return table
