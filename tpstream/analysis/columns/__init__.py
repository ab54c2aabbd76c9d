"""What every column of every table means: its name in tables and files, its title where it is printed, and its unit.

Commands print by it, `--help`, `tpstream columns` and docs/columns.md quote it, and a test compares it with the tables.
"""

from collections.abc import Mapping

from tpstream.analysis.columns.column import Column, Columns, Show
from tpstream.analysis.columns.designs import DESIGNS
from tpstream.analysis.columns.leagues import LEAGUES
from tpstream.analysis.columns.logs import LOGS
from tpstream.analysis.columns.studies import STUDIES
from tpstream.analysis.columns.trials import TRIALS

__all__ = ["TABLES", "Column", "Show"]
TABLES: Mapping[str, Columns] = STUDIES | LEAGUES | TRIALS | DESIGNS | LOGS
"""The columns of every table, by its name."""
