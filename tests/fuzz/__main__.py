"""The campaign: tries to break tpstream, prints a table of what was tried, and keeps what failed in tests/corpus/."""

import argparse
import sys
import tempfile
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
        target = TARGETS[name]
        seconds = 1e9 if options.minutes is None else 60 * options.minutes * target.share / total
        warm_up(*(LOGS if name == "damage" else {name} & KINDS.keys()))
        cases = options.cases or (target.short if options.short else target.full)
        found[name] = search_in_parallel(target, cases, options.seed, seconds=seconds, jobs=options.jobs)
        line = row(target.aim, found[name], options.seed)
        print(line, flush=True)  # noqa: T201
        if options.write:
            write_row(line)
    for name, one in found.items():
        for fault, times in one.faults.most_common():
            print(f"bad: {name}: {fault} ({times} times)")  # noqa: T201
    return int(any(one.faults for one in found.values()))


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


def row(aim: str, found: Found, seed: int) -> str:
    """A row of the table."""
    rate = found.cases / max(found.seconds, 1e-9)
    day = datetime.now(UTC).strftime("%Y-%m-%d")
    return f"| {aim} | {found.cases:,} | {found.faults.total():,} | {rate:,.1f} | {day}, seed {seed} |"


def write_row(line: str, page: Path = PAGE) -> None:
    """Put a row into the table of a page, between its marks, in the place of the last one with the same aim."""
    text = page.read_text()
    before, _, rest = text.partition(BEGIN)
    table, _, after = rest.partition(END)
    rows = {_aim(old): old for old in table.splitlines() if old.startswith("| ") and _aim(old) != _aim(HEAD)}
    rows[_aim(line)] = line
    order = [target.aim for target in TARGETS.values()]
    kept = sorted((aim for aim in rows if aim in order), key=order.index)
    lines = "\n".join(rows[aim] for aim in kept)
    page.write_text(f"{before}{BEGIN}\n{HEAD}\n{lines}\n{END}{after}")


def _aim(line: str) -> str:
    return line.removeprefix("| ").partition(" | ")[0]


if __name__ == "__main__":
    sys.exit(main())
