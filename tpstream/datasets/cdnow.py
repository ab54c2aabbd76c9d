"""CDNOW: what 23,570 customers of a shop bought after their first purchase, from the data in the package lifetimes.

Customers came in the first three months of 1997, and their purchases are known up to June 1998. A decision is the first
purchase of a customer: all that was bought on that day. Its arm is how many CDs that were (one, two, more), and it is
paid by later purchases. So arms were chosen by the customers and not by chance: what the arms pay differs, but nothing
is said about causes.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from tpstream.datasets.prepared import installed_file
from tpstream.model.errors import DataError

CUSTOMERS, PURCHASES, MAP = "customers.csv", "purchases.csv", "cdnow.map.toml"
ARMS = ("one", "two", "more")
"""How many CDs the first purchase had."""
COLUMNS = ["customer", "date", "cds", "dollars"]
MAP_TEXT = """# The columns of customers.csv and purchases.csv, for: tpstream import ... --map cdnow.map.toml
layout = "two"

[decisions]
id = "customer"
time = "date"
arm = "first_purchase"

[payments]
decision = "customer"
time = "date"
amount = "dollars"
id = "purchase"

[options]
unit = "week"
name = "CDNOW"
currency = "USD"
assignment = "chosen"       # by the customers, and not by chance
"""


@dataclass(frozen=True, eq=False)
class Prepared:
    """The files that were written, and their tables."""

    customers_file: Path
    purchases_file: Path
    map_file: Path
    customers: pd.DataFrame
    purchases: pd.DataFrame


def prepare(folder: Path, *, force: bool = False) -> Prepared:
    """Write both tables and their map into a folder, from the data of the installed lifetimes."""
    first, second, map_file = (folder / name for name in (CUSTOMERS, PURCHASES, MAP))
    for path in (first, second, map_file):
        if path.exists() and not force:
            raise DataError(f"{path}: is there already; choose another --out, or overwrite with --force")
    customers, purchases = read_tables(data_file())
    folder.mkdir(parents=True, exist_ok=True)
    customers.to_csv(first, index=False)
    purchases.to_csv(second, index=False)
    map_file.write_text(MAP_TEXT, encoding="utf-8")
    return Prepared(first, second, map_file, customers, purchases)


def data_file() -> Path:
    """The file of all purchases in the installed lifetimes, found without importing that package."""
    return installed_file("lifetimes", "CDNOW_master.txt", "0.11.3")


def read_tables(file: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The customers with their first purchase, and all later purchases."""
    rows = pd.read_csv(file, sep=r"\s+", header=0, names=COLUMNS)
    rows["date"] = pd.to_datetime(rows["date"].astype(str), format="%Y%m%d").dt.strftime("%Y-%m-%d")
    is_first = rows["date"] == rows.groupby("customer")["date"].transform("min")
    first = rows[is_first].groupby("customer", as_index=False).agg(date=("date", "first"), cds=("cds", "sum"))
    names = np.array(ARMS)[np.minimum(first["cds"], len(ARMS)) - 1]
    later = rows.loc[~is_first, ["customer", "date", "dollars"]]
    later.insert(0, "purchase", np.arange(1, len(later) + 1))
    return first[["customer", "date"]].assign(first_purchase=names), later
