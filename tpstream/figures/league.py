"""The figure of a league: what each policy loses in each world, as a share of what fixed randomisation loses."""

from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from tpstream.figures import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DARK = 0.55
"""Cells with a larger share than this are dark, and get white text."""
FRAME = "#EE7733"
BLACK = "#111111"
"""The letters of light cells: light also in a dark page, which gives other black letters its own colour."""
MOST = 1.0
"""Shares are coloured up to this: a policy that loses as much as fixed randomisation learns nothing."""


def league_figure(path: str | Path | None, shares: pd.DataFrame, ranks: pd.DataFrame) -> "Figure":
    """A heat map: a row for each policy, a column for each world; written if there is a path.

    Parameters
    ----------
    path
        Where to write it; None: it is not written.
    shares
        Regret as a share of that of fixed randomisation, with policies as index and worlds as columns.
    ranks
        The ranks in the same form; cells of rank 1 get a frame.
    """
    from matplotlib.patches import Rectangle  # noqa: PLC0415 (Matplotlib is slow to import)

    policies, worlds = list(shares.index), list(shares.columns)
    width, height = 3.2 + 0.62 * len(worlds), 2.2 + 0.32 * len(policies)
    with style.new_figure(path, width, height) as figure:
        axes = figure.subplots()
        values = shares.to_numpy(dtype=float)
        axes.imshow(np.clip(values, 0, MOST), cmap="Blues", vmin=0, vmax=1.15 * MOST, aspect="auto")
        axes.set_xticks(
            range(len(worlds)), list(map(style.figure_text, worlds)), rotation=40, ha="left", rotation_mode="anchor"
        )
        axes.xaxis.tick_top()
        axes.set_yticks(range(len(policies)), list(map(style.figure_text, policies)))
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        first = ranks.to_numpy(dtype=float) == 1
        for row, column in np.ndindex(*values.shape):
            value = values[row, column]
            text = "-" if np.isnan(value) else f"{value:.0%}"
            colour = "white" if value > DARK else BLACK
            weight = "bold" if first[row, column] else "normal"
            axes.text(column, row, text, ha="center", va="center", color=colour, fontsize=8, fontweight=weight)
            if first[row, column]:
                frame = Rectangle((column - 0.46, row - 0.44), 0.92, 0.88, fill=False, edgecolor=FRAME, linewidth=1.6)
                axes.add_patch(frame)
        about = "Regret as a share of what fixed randomisation loses. Framed: no policy loses less beyond chance."
        figure.supxlabel("\n".join(wrap(about, int(13 * width))), x=0.01, ha="left", fontsize=9, color=style.GREY)
    return figure
