"""Draw the pictures of delays.md: the first pulls of each of its scenarios, and what became of their parts.

python docs/delay_pictures.py
"""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from tpstream import Scenario, simulate

HERE = Path(__file__).parent
PULLS = 30
MARKS = {
    "pull": ("|", "#222222", "decision"),
    "partial": (".", "#2B5C94", "credited"),
    "late": ("x", "#CC8800", "late"),
    "dropped": ("x", "#EE6677", "known to be lost"),
    "closed": ("o", "#228833", "closed"),
}
HIDDEN = (".", "#BBBBBB", "hidden until the closing")
SITES = ("#222222", "#CC3311")


def draw(scenario: Scenario, path: Path) -> None:
    """One line for each of the first pulls, with its events."""
    events = simulate(scenario.with_(drain=True), "uniform", seed=scenario.seed).events()
    events = events[events["pull"] <= PULLS]
    figure = Figure(figsize=(8, 3.6), layout="constrained")
    axes = figure.subplots()
    for (mark, colour, label), chosen in layers(scenario, events):
        hollow = {"facecolors": "none", "edgecolors": colour} if mark == "o" else {"color": colour}
        if len(chosen):
            axes.scatter(chosen["time"], chosen["pull"], marker=mark, s=28, linewidths=1, label=label, **hollow)
    axes.set_xlabel(f"time ({scenario.time_unit}s)")
    axes.set_ylabel("pull")
    axes.invert_yaxis()
    figure.legend(loc="outside upper center", ncols=len(MARKS), frameon=False)
    figure.savefig(path, dpi=110)


def layers(scenario: Scenario, events: pd.DataFrame) -> Iterator[tuple[tuple[str, str, str], pd.DataFrame]]:
    """What is drawn with which mark; decisions at sites with a colour for each, hidden parts apart from shown ones."""
    if "shown" in events:
        credited = events["kind"] == "partial"
        yield HIDDEN, events[credited & ~events["shown"]]
        events = events[~credited | (events["shown"] & (events["value"] > 0))]
    for kind, style in MARKS.items():
        chosen = events[events["kind"] == kind]
        if kind == "pull" and "site" in events:
            for number, (site, colour) in enumerate(zip(scenario.timing().sites, SITES, strict=True)):
                yield (style[0], colour, f"decision in {site}"), chosen[chosen["site"] == number]
        else:
            yield style, chosen


def main() -> None:
    """Draw the scenarios that the page has a picture of."""
    page = (HERE / "delays.md").read_text(encoding="utf-8")
    for text in re.findall(r"^```toml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
        scenario = Scenario.parse(tomllib.loads(text))
        if f"images/delays-{scenario.name}.png" in page:
            draw(scenario, HERE / "images" / f"delays-{scenario.name}.png")


if __name__ == "__main__":
    main()
