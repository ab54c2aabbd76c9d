"""Make the tables and the figure of docs/delayed-outcomes.md: adaptive randomisation, outcomes that are known later.

    python docs/delayed_outcomes.py [TRIALS] [JOBS]

Simulates the cells of brar (Pawel and Held 2025) with outcomes known 0, 20, 50 and 100 patients later. 10,000 trials of
each take a quarter of an hour on two cores.
"""

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from tpstream.model.arrays import Floats
from tpstream.paper.immediate_trials import simulate_trials
from tpstream.paper.published import Effort
from tpstream.paper.trials_brar import CELLS, CONTROL, Cell, measure

HERE = Path(__file__).parent
PAGE, FIGURE = HERE / "delayed-outcomes.md", HERE / "images" / "delayed-outcomes.png"
BEGIN, END = "<!-- made by `python docs/delayed_outcomes.py` -->", "<!-- end of what it made -->"
DELAYS = (0, 20, 50, 100)
SHOWN = {
    "coverage": "coverage",
    "reject": "rejections",
    "successes": "successes",
    "on_first": "on treatment 1",
    "error": "bias",
}
"""What is shown of each trial, a mean over trials, by the name under which `measure` has it."""
HEAD = f"| patients later | {' | '.join(SHOWN.values())} |\n|---:|{'---:|' * len(SHOWN)}"
Found = Mapping[int, Mapping[str, Floats]]
"""Of one cell: for each delay, the numbers of every trial."""


def simulate_cell(cell: Cell, effort: Effort) -> Found:
    """The trials of a cell with each delay, on the same random numbers."""
    return {
        later: measure(cell, simulate_trials(effort, cell.policy, cell.rates, cell.patients, later=later))._asdict()
        for later in DELAYS
    }


def number(values: Floats) -> str:
    """A mean over trials, with its Monte Carlo error in brackets."""
    error = float(np.std(values)) / np.sqrt(len(values))
    return f"{np.mean(values):.4f} ({error:.4f})"


def cell_table(cell: Cell, found: Found) -> Iterator[str]:
    """The heading and the table of one cell."""
    null = ", no difference" if cell.rate == CONTROL else ""
    yield f"**{cell.words[0].upper()}{cell.words[1:]}{null}**"
    yield ""
    yield HEAD
    for later, measured in found.items():
        yield f"| {later} | {' | '.join(number(measured[name]) for name in SHOWN)} |"
    yield ""


def draw(cells: Sequence[tuple[Cell, Found]], path: Path) -> None:
    """A panel for each measure, a line for each cell."""
    panels = [name for name in SHOWN if name != "error"]
    figure = Figure(figsize=(11, 3.8), layout="constrained")
    for axes, name in zip(figure.subplots(1, len(panels)), panels, strict=True):
        for cell, found in cells:
            means = [float(np.mean(found[later][name])) for later in DELAYS]
            axes.plot(DELAYS, means, marker=".", label=cell.words if axes.get_subplotspec().is_first_col() else None)
        axes.set_title(SHOWN[name])
        axes.set_xlabel("known so many patients later")
        axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize="small")
    figure.savefig(path, dpi=110)


def page_with(text: str, trials: int, cells: Sequence[tuple[Cell, Found]]) -> str:
    """The page with these tables in place of its own."""
    lines = [f"{trials:,} trials of each design; in brackets is one Monte Carlo error.", ""]
    for cell, found in cells:
        lines += cell_table(cell, found)
    made = "\n".join([BEGIN, "", *lines, END])
    return re.sub(f"{re.escape(BEGIN)}.*{re.escape(END)}", lambda _: made, text, flags=re.DOTALL)


def main() -> None:
    """Simulate, write the tables into the page, and draw the figure."""
    trials, jobs = [*map(int, sys.argv[1:]), *(10_000, 2)[len(sys.argv) - 1 :]]
    cells = [(cell, simulate_cell(cell, Effort(trials, jobs=jobs))) for cell in CELLS]
    PAGE.write_text(page_with(PAGE.read_text("utf-8"), trials, cells), encoding="utf-8")
    draw(cells, FIGURE)


if __name__ == "__main__":
    main()
