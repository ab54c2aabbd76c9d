"""Ask a shop whose truth is known, as docs/own-data.md shows it: import, check, answer, fit, evaluate.

    python docs/shop_table.py [FOLDER]

Writes the two tables of tests/support/shops.py as CSV files (20,000 offers of five variants over 120 days, 70 % of
which pay nothing; refunds, duplicates, payments of unknown offers, late ones), runs every step on them, writes the
figures of the page, and prints its tables with the truth beside every estimate. The files stay if a folder is named.
"""

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))
from shops import Shop, make_shop

from tpstream import answer, check_log, evaluate, fit, import_log
from tpstream.log.imports.report import report_lines
from tpstream.log.reader import Log

IMAGES = Path(__file__).with_name("images")
OFFERS, SEED = 20_000, 17
ALLOCATION = {"A": 0.1, "B": 0.1, "C": 0.1, "D": 0.2, "E": 0.5}
LEARNER = "epsilon-greedy"
Result = TypeVar("Result")


def timed(what: str, step: Callable[[], Result]) -> Result:
    """The result of a step; how long it took goes to standard error."""
    began, used = time.perf_counter(), time.process_time()
    result = step()
    seconds, processor = time.perf_counter() - began, time.process_time() - used
    sys.stderr.write(f"{what}: {seconds:.1f} s, of the processor {processor:.1f} s\n")
    return result


def write_tables(shop: Shop, folder: Path) -> tuple[Path, Path]:
    """Both tables as CSV files."""
    paths = folder / "offers.csv", folder / "payments.csv"
    for table, path in zip((shop.offers, shop.payments), paths, strict=True):
        table.to_csv(path, index=False)
    return paths


def answer_rows(log: Log, shop: Shop) -> Iterator[str]:
    """What the arms pay, and what is outstanding, beside the truth."""
    found = timed("answer", lambda: answer(log))
    found.plot(IMAGES / "shop-answer.png")
    yield "| variant | truth | in the end | paid so far | came later | outstanding |"
    yield "|---|---|---|---|---|---|"
    for row in found.frame().itertuples():
        value = f"{row.value:.2f} ({row.low:.2f} to {row.high:.2f})"
        outstanding = f"{row.outstanding:,.0f} ({row.outstanding_low:,.0f} to {row.outstanding_high:,.0f})"
        truth, later = shop.truth[row.arm], shop.later[row.arm]
        yield f"| {row.arm} | {truth:.2f} | {value} | {row.naive:.2f} | {later:,.0f} | {outstanding} |"
    yield f"\n{found.leader} leads; clear since {found.clear_since} ({found.clear_reason})"


def twin_rows(log: Log, shop: Shop, folder: Path) -> Iterator[str]:
    """What the arms pay in the twin, beside the truth."""
    twin = timed("fit", lambda: fit(log, seed=SEED))
    yield timed("fit: the check", lambda: twin.verdict)
    twin.write(folder / "twin.toml", force=True)
    twin.plot(IMAGES / "shop-twin.png")
    means = zip(twin.scenario.arms, twin.scenario.means, strict=True)
    yield ", ".join(f"{arm.name} {mean:.2f} ({shop.truth[arm.name]:.2f})" for arm, mean in means)


def evaluation_rows(log: Log, shop: Shop) -> Iterator[str]:
    """What an allocation, and a policy that learns, would have earned, beside the truth of the allocation."""
    truth = sum(share * shop.truth[arm] for arm, share in ALLOCATION.items())
    own = sum(shop.truth.values()) / len(shop.truth)
    yield f"the truth: {truth:.2f} for the allocation, {own:.2f} as logged, {max(shop.truth.values()):.2f} for the best"
    yield "| policy | estimate | per decision | open ones taken as finished |"
    yield "|---|---|---|---|"
    for policy in (None, LEARNER):
        allocation = ALLOCATION if policy is None else None
        found = timed("evaluate", lambda one=policy, two=allocation: evaluate(log, one, allocation=two, seed=SEED))
        if policy is None:
            found.plot(IMAGES / "shop-evaluate.png")
        for row in found.rows():
            shown = row["estimate"], row["per decision"], row["open ones taken as finished"]
            yield f"| {policy or 'allocation'} | {' | '.join(shown)} |"


def show(folder: Path) -> None:
    """All steps."""
    shop = make_shop(OFFERS, seed=SEED)
    offers, payments = write_tables(shop, folder)
    options = {"window": "60d", "until": shop.until.isoformat(), "currency": "EUR"}
    log = timed("import", lambda: import_log(offers, payments, out=folder / "shop.arrows", force=True, **options))
    lines = [f"| {row['rows']} | {row['number']} |" for row in report_lines(log.header.imported or {})]
    tables = [["| rows | number |", "|---|---|", *lines]]
    tables.append(["keeps every rule" if timed("check", lambda: check_log(log)).sound else "has faults"])
    tables += [list(answer_rows(log, shop)), list(twin_rows(log, shop, folder)), list(evaluation_rows(log, shop))]
    sys.stdout.write("\n\n".join("\n".join(lines) for lines in tables) + "\n")


def main() -> None:
    """In a folder that is named, or in one that is removed."""
    if len(sys.argv) > 1:
        folder = Path(sys.argv[1])
        folder.mkdir(parents=True, exist_ok=True)
        show(folder)
        return
    with TemporaryDirectory() as name:
        show(Path(name))


if __name__ == "__main__":
    main()
