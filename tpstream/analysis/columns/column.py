"""One column of a table, and the columns and words that several tables share."""

from dataclasses import dataclass
from typing import Literal

Show = Literal[
    "text", "count", "amount", "money", "difference", "share", "percent", "seconds", "time", "factor", "number"
]
"""How a value is written for people; see `show_value` in printed.py."""


@dataclass(frozen=True)
class Column:
    """One column: `title` is empty if commands do not print it; `interval` names the two columns of its interval."""

    name: str
    meaning: str
    unit: str = ""
    title: str = ""
    show: Show = "text"
    interval: tuple[str, str] | None = None


def ends(name: str, method: str, unit: str = "") -> tuple[Column, Column]:
    """The two columns of an interval."""
    low, high = f"{name}_low", f"{name}_high"
    meaning = f"lower end of the 95 % interval of {name} ({method})"
    return Column(low, meaning, unit), Column(high, "its upper end", unit)


REWARD = "reward"
POLICY = Column("policy", "the policy's label", title="policy")
RUNS = Column("runs", "runs that were finished", "runs", "runs", "count")
FAILED = Column("failed", "runs that failed", "runs")
CUT = "Student's, cut at the smallest and largest possible value"
TIED = "no value if all arms are equally good"

Columns = tuple[Column, ...]
"""The columns of a table, in their order."""
