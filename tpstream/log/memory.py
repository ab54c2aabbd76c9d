"""A log that is kept in memory, for a look at a short run."""

import pandas as pd

from tpstream.log.columns import to_columns
from tpstream.log.frame import frame
from tpstream.model.events import Events


class MemorySink:
    """Keeps every event it hears."""

    def __init__(self) -> None:
        self.batches: list[Events] = []

    def hear(self, events: Events) -> None:
        """Keep the events."""
        self.batches.append(events)

    def frame(self) -> pd.DataFrame:
        """Everything heard, as a table."""
        return frame(to_columns(Events.join(self.batches)))
