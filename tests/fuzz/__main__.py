"""The campaign: tries to break tpstream, prints a table of what was tried, and keeps what failed in tests/corpus/."""

import argparse
import re
import sys
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "support")]

from samples import warm_up  # noqa: E402 (found on the path above)
from search import CORPUS, Found, read_case, search_in_parallel  # noqa: E402
from targets import KINDS, TARGETS  # noqa: E402

PAGE = Path(__file__).parents[2] / "docs/reliability.md"
MEMORY = Path("/dev/shm")  # noqa: S108 (folders in it have random names)
"""A disk in memory, where there is one: cases write many small files."""
LOGS = ("jsonl", "arrow", "parquet")
"""The kinds of logs, whose commands the target `damage` gives, too."""
BEGIN, END = "<!-- campaign: begin -->", "<!-- campaign: end -->"
"""Between these lines of the page the table is put."""
HEAD = "| aim | cases | bad | a second | when |\n|---|---|---|---|---|"
PARTS = 40
"""So often a row is written while its cases are tried, so that little of a campaign is lost when it is ended."""


def main() -> int:
    """Run a campaign; the exit code is 1 if anything bad was found."""
    options = _options()
    if MEMORY.is_dir():
        tempfile.tempdir = str(MEMORY)
    if options.corpus:
        return try_again()
    names = options.target or list(TARGETS)
    print(HEAD, flush=True)  # noqa: T201 (a command prints)
    found = {}
    total = sum(TARGETS[name].share for name in names)
    for name in names:
        seconds = 1e9 if options.minutes is None else 60 * options.minutes * TARGETS[name].share / total
        before = read_row(TARGETS[name].aim) if options.add else Row(TARGETS[name].aim)
        found[name] = run_target(name, options, seconds, before)
        print(before.with_(found[name], options.seed), flush=True)  # noqa: T201
    for name, one in found.items():
        for fault, times in one.faults.most_common():
            print(f"bad: {name}: {fault} ({times} times)")  # noqa: T201
    return int(any(one.faults for one in found.values()))


def run_target(name: str, options: argparse.Namespace, seconds: float, before: "Row") -> Found:
    """Try the cases of a target, part by part; with `--add` those that its row lacks."""
    target, found = TARGETS[name], Found()
    warm_up(*(LOGS if name == "damage" else {name} & KINDS.keys()))
    wanted = options.cases or (target.short if options.short else target.full) - before.cases
    while found.cases < wanted and found.seconds < seconds:
        cases = min(-(-target.full // PARTS), wanted - found.cases)
        seed = f"{options.seed}/{before.cases + found.cases}"
        found += search_in_parallel(target, cases, seed, seconds=seconds - found.seconds, jobs=options.jobs)
        if options.write:
            write_row(before.with_(found, options.seed))
    return found


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python tests/fuzz", description=__doc__)
    parser.add_argument("target", nargs="*", metavar="TARGET", help=f"of {', '.join(TARGETS)}; all by default")
    parser.add_argument("--minutes", type=float, help="how long all of it takes")
    parser.add_argument("--cases", type=int, help="cases of each target; by default those of a full campaign")
    parser.add_argument("--short", action="store_true", help="the few cases of `make test`")
    parser.add_argument("--corpus", action="store_true", help="only try again what failed once")
    parser.add_argument("--seed", type=int, default=int(datetime.now(UTC).strftime("%Y%m%d")), help="default: the day")
    parser.add_argument("--jobs", type=int, help="processes; default: one for each core")
    parser.add_argument("--write", action="store_true", help=f"put the rows of these targets into {PAGE.name}")
    parser.add_argument("--add", action="store_true", help=f"go on where the rows of {PAGE.name} end, and add to them")
    return parser.parse_args()


def try_again() -> int:
    """Try every case that failed once; the exit code is 1 if one fails still."""
    failed = 0
    for path in sorted(CORPUS.glob("*.json")):
        name, case = read_case(path)
        fault = TARGETS[name].check(case)
        if fault is not None:
            print(f"bad: {path.name}: {fault}", flush=True)  # noqa: T201
        failed += fault is not None
    return int(failed > 0)


@dataclass(frozen=True)
class Row:
    """A row of the table: what was found for an aim, in which time, and with which seeds; nothing by default."""

    aim: str
    cases: int = 0
    bad: int = 0
    rate: float = 1.0
    seeds: tuple[str, ...] = ()

    def with_(self, found: Found, seed: int) -> "Row":
        """The row with what was found besides."""
        cases = self.cases + found.cases
        rate = cases / max(self.cases / self.rate + found.seconds, 1e-9)
        seeds = tuple(dict.fromkeys([*self.seeds, str(seed)]))
        return Row(self.aim, cases, self.bad + found.faults.total(), rate, seeds)

    def __str__(self) -> str:
        seeds = f"seed{'s' if len(self.seeds) > 1 else ''} {', '.join(self.seeds)}"
        day = datetime.now(UTC).strftime("%Y-%m-%d")
        return f"| {self.aim} | {self.cases:,} | {self.bad:,} | {self.rate:,.1f} | {day}, {seeds} |"


def read_row(aim: str, page: Path = PAGE) -> Row:
    """The row with this aim of the table of a page."""
    for line in _table(page.read_text())[1]:
        if _aim(line) == aim:
            cases, bad, rate, when = (cell.strip().replace(",", "") for cell in line.split("|")[2:6])
            seeds = tuple(re.findall(r"\d+", when.partition("seed")[2]))
            return Row(aim, int(cases), int(bad), max(float(rate), 0.01), seeds)
    return Row(aim)


def write_row(row: Row, page: Path = PAGE) -> None:
    """Put a row into the table of a page, between its marks, in the place of the last one with the same aim."""
    before, lines, after = _table(page.read_text())
    rows = {_aim(line): line for line in lines} | {row.aim: str(row)}
    order = [target.aim for target in TARGETS.values()]
    kept = "\n".join(rows[aim] for aim in sorted((aim for aim in rows if aim in order), key=order.index))
    page.write_text(f"{before}{BEGIN}\n{HEAD}\n{kept}\n{END}{after}")


def _table(text: str) -> tuple[str, list[str], str]:
    """What is before the table, its rows, and what is behind it."""
    before, _, rest = text.partition(BEGIN)
    table, _, after = rest.partition(END)
    return before, [line for line in table.splitlines() if line.startswith("| ") and _aim(line) != _aim(HEAD)], after


def _aim(line: str) -> str:
    return line.removeprefix("| ").partition(" | ")[0]


if __name__ == "__main__":
    sys.exit(main())
