"""Print the table of docs/own-data.md: what CDNOW's customers were expected to spend at several cuts, and what came.

    python docs/cdnow_table.py [--check]

With --check it is compared with the page instead, and the exit code says whether they are equal.
"""

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tpstream import answer, import_log
from tpstream.analysis.open_values import ArmAges
from tpstream.datasets.cdnow import ARMS, prepare

CUTS = ((120, 15, "1997-04-30"), (180, 24, "1997-06-29"), (240, 33, "1997-08-28"), (270, 36, "1997-09-27"))
"""Day of the cut, counted from 1 January 1997; window in weeks; the last day whose purchases are known."""
HEAD = (
    "| cut (day), window (weeks) | arm | spent in the end | expected at the cut (standard error) | spent so far "
    "| in whole weeks |\n"
)
RULE = "|---|---|---|---|---|---|\n"


def in_whole_weeks(arm: ArmAges) -> float:
    """What a customer spent on average in the weeks of age that were over at the cut."""
    return float(arm.amount[arm.age < arm.observed[arm.row]].sum()) / arm.count


def rows(folder: Path) -> Iterator[str]:
    """The rows of the table."""
    done = prepare(folder)
    files = done.customers_file, done.purchases_file
    for day, weeks, until in CUTS:
        whole = import_log(*files, out=folder / "whole.arrows", map=done.map_file, window=f"{weeks}w", force=True)
        truth = answer(whole).frame().set_index("arm")
        cut = import_log(
            *files, out=folder / "cut.arrows", map=done.map_file, window=f"{weeks}w", until=until, force=True
        )
        asked = answer(cut)
        found = {one.arm: one for one in asked.arms}
        weekly = {name: in_whole_weeks(arm) for name, arm in zip(cut.header.arms, asked.table.arms, strict=True)}
        for name in ARMS:
            value = found[name].estimate
            if value is not None:
                expected = f"{value.value:.2f} ({value.error:.2f})"
                spent = f"{truth.loc[name, 'naive']:.2f}"
                so_far = f"{found[name].naive:.2f} | {weekly[name]:.2f}"
                yield f"| {day}, {weeks} | {name} | {spent} | {expected} | {so_far} |\n"


def main() -> None:
    """Print the table, or compare it."""
    with tempfile.TemporaryDirectory() as folder:
        table = HEAD + RULE + "".join(rows(Path(folder)))
    if "--check" in sys.argv:
        sys.exit(table not in Path(__file__).with_name("own-data.md").read_text(encoding="utf-8"))
    sys.stdout.write(table)


if __name__ == "__main__":
    main()
