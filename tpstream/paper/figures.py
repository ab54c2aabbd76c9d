"""Figures of the reproduction: regret over time in all settings, as the paper shows them."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tpstream.analysis.theory import bounds_of
from tpstream.scenario.bounds import policy_groups
from tpstream.figures.style import STYLE, draw_curves, name_lines, regret_figure, save_figure
from tpstream.paper.claims import NAMES
from tpstream.paper.reproduction import Curves, Reproduction
from tpstream.paper.settings import (
    ASSUMED,
    DELAYED,
    EW,
    FAMILY,
    FR,
    GRID,
    ROUND_ROBIN,
    SETTINGS,
    UCB1,
    assuming,
    family_scenario,
)

CAPTIONS = {
    "setting-1.png": "Setting 1: regret over time, for all numbers of groups that the policies assume",
    "setting-2.png": "Settings 2, 2.1, 2.2 and 2.3: regret over time",
    "delayed-starts.png": "Delayed-UCB1 with both starts; thin lines are single runs",
    "setting-4.png": "Setting 4: regret over time, averaged over the ten worlds",
    "setting-5.png": "Setting 5: regret over a million rounds",
    "theory.png": "Setting 5 between its bounds",
    "spotify-like.png": "The Spotify-like setting: regret over time",
}
"""The figures' files, and what they show."""
COLOURS = {UCB1: "#4477AA", DELAYED: "#EE6677", FR: "#228833", EW: "#AA3377", ROUND_ROBIN: "#BB8800"}
FOUR = (UCB1, DELAYED, FR, EW)
SHADES = {
    FR: ("#8CCB9B", "#5FB377", "#3B9A57", "#1F7A3B", "#0B4F22"),
    EW: ("#D79DBB", "#C277A0", "#AA3377", "#842561", "#5A123F"),
}
"""Darker for more groups."""
TENTH_ROUND = 10
"""Where figures between bounds begin: before, every arm was pulled once at most, and ln T is nearly nothing."""
Drawn = Mapping[str, Curves]


def draw_all(found: Reproduction, folder: Path) -> list[str]:
    """Draw every figure of the settings that were run; returns their file names."""
    folder.mkdir(parents=True, exist_ok=True)
    drawings: list[tuple[str, bool, Callable[[Reproduction, Path], None]]] = [
        ("setting-1.png", found.has("1"), draw_setting_1),
        ("setting-2.png", any(found.has(name) for name in FAMILY), draw_family),
        ("delayed-starts.png", found.has("2"), draw_starts),
        ("setting-4.png", found.has("4"), draw_setting_4),
        ("setting-5.png", found.has("5"), draw_setting_5),
        ("theory.png", found.has("5"), draw_theory),
        ("spotify-like.png", found.has("spotify"), draw_spotify),
    ]
    for name, wanted, draw in drawings:
        if wanted:
            with mpl.rc_context(STYLE):
                draw(found, folder / name)
    return [name for name, wanted, _ in drawings if wanted]


def draw_setting_1(found: Reproduction, path: Path) -> None:
    """A panel for each of the paper's policies, with all numbers of groups that it assumes."""
    figure = Figure(figsize=(11.5, 4.8), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    drawn = []
    for axes, kind in zip(panels, (FR, EW), strict=True):
        curve = {NAMES[policy]: found.curves("setting-1", policy) for policy in (UCB1, DELAYED)}
        colours = {NAMES[policy]: COLOURS[policy] for policy in (UCB1, DELAYED)}
        for groups, shade in zip(ASSUMED, SHADES[kind], strict=True):
            curve[f"{groups} groups"] = found.curves("setting-1", assuming(kind, groups))
            colours[f"{groups} groups"] = shade
        draw_panel(axes, f"{NAMES[kind]}, by the groups that it assumes", curve, colours)
        drawn.append((axes, curve, colours))
    panels[1].set_ylabel("")
    for axes, curve, colours in drawn:
        name_ends(axes, curve, colours)
    save_figure(figure, path)


def draw_family(found: Reproduction, path: Path) -> None:
    """Rows are Settings 2, 2.1, 2.2 and 2.3, columns are pairs of span and groups."""
    names = [name for name in FAMILY if found.has(name)]
    figure = Figure(figsize=(12.5, 0.9 + 2.5 * len(names)), layout="constrained")
    panels = figure.subplots(len(names), len(GRID), sharex=True, sharey="col", squeeze=False)
    for row, setting in zip(panels, names, strict=True):
        for axes, cell in zip(row, GRID, strict=True):
            curve = {policy: found.curves(family_scenario(setting, *cell), policy) for policy in FOUR}
            draw_panel(axes, "", curve, COLOURS)
            axes.set_xlabel("round" if setting == names[-1] else "")
            axes.set_ylabel(f"Setting {setting}\npseudo-regret" if cell == GRID[0] else "")
            if setting == names[0]:
                axes.set_title(f"span {cell[0]}, {cell[1]} groups", loc="left", fontweight="bold")
            axes.xaxis.set_major_locator(mpl.ticker.MaxNLocator(2))
    handles = [mpl.lines.Line2D([], [], color=COLOURS[policy], linewidth=2.5, label=NAMES[policy]) for policy in FOUR]
    figure.legend(handles=handles, loc="outside upper left", ncols=4, frameon=False)
    save_figure(figure, path)


def draw_starts(found: Reproduction, path: Path) -> None:
    """Delayed-UCB1 with both starts, for both spans of Setting 2."""
    figure = Figure(figsize=(11.5, 4.2), layout="constrained")
    panels = figure.subplots(1, 2)
    names = {DELAYED: "random", ROUND_ROBIN: "round-robin"}
    colours = {names[policy]: COLOURS[policy] for policy in names}
    drawn = []
    for axes, cell in zip(panels, GRID[:2], strict=True):
        curve = {name: found.curves(family_scenario("2", *cell), policy) for policy, name in names.items()}
        draw_panel(axes, f"Delayed-UCB1 by its start: span {cell[0]}, {cell[1]} groups", curve, colours)
        for name, one in curve.items():
            axes.plot(one.rounds, one.regret.T, color=colours[name], linewidth=0.4, alpha=0.35, zorder=1)
        axes.set_ylim(0, 1.03 * max(float(one.final.max()) for one in curve.values()))
        drawn.append(curve)
    for axes, curve in zip(panels, drawn, strict=True):
        name_ends(axes, curve, colours)
    save_figure(figure, path)


def draw_setting_4(found: Reproduction, path: Path) -> None:
    """The average over the ten worlds."""
    curve = {policy: found.average(SETTINGS["4"], policy) for policy in FOUR}
    draw_single(path, "Setting 4: average over ten random worlds", curve)


def draw_setting_5(found: Reproduction, path: Path) -> None:
    """The long run."""
    curve = {policy: found.curves("setting-5", policy) for policy in FOUR}
    draw_single(path, "Setting 5: Setting 1 with ten times the rounds", curve)


def draw_spotify(found: Reproduction, path: Path) -> None:
    """The stand-in for the Spotify sessions."""
    curve = {policy: found.curves("spotify-like", policy) for policy in FOUR}
    draw_single(path, "Spotify-like: six playlists of 20 songs", curve)


def draw_theory(found: Reproduction, path: Path) -> None:
    """The long run between its bounds."""
    draw_between_bounds(found, "setting-5", FOUR, "Setting 5", path)


def draw_all_bounds(found: Reproduction, folder: Path) -> list[Path]:
    """Every scenario that was run, with all its policies, between its bounds; returns the files."""
    paths = []
    for _, scenario, study in found.worlds():
        paths.append(folder / f"theory-{scenario.name}.png")
        draw_between_bounds(found, scenario.name, list(study.records), scenario.name, paths[-1])
    return paths


def draw_between_bounds(found: Reproduction, name: str, policies: Sequence[str], title: str, path: Path) -> None:
    """The regret of some policies, the bounds of each, and the lower ones."""
    scenario = found.scenarios[name]
    choices = [scenario.policy(policy) for policy in policies]
    known = [(NAMES.get(label, label), kind, groups) for label, kind, groups in policy_groups(choices)]
    curve = {NAMES.get(policy, policy): found.curves(name, policy).since(TENTH_ROUND) for policy in policies}
    rounds = next(iter(curve.values())).rounds
    bounds = bounds_of(scenario.problem(), known)
    intervals = {label: one.interval for label, one in curve.items()}
    title = f"{title}: upper (dashed) and lower (dotted) bounds"
    regret_figure(path, title, rounds, intervals, log_rounds=True, bounds=bounds)


def draw_single(path: Path, title: str, curve: Drawn) -> None:
    """One panel with named lines."""
    figure = Figure(figsize=(8, 4.8), layout="constrained")
    axes = figure.subplots()
    named = {NAMES[policy]: one for policy, one in curve.items()}
    colours = {NAMES[policy]: COLOURS[policy] for policy in curve}
    draw_panel(axes, title, named, colours)
    name_ends(axes, named, colours)
    save_figure(figure, path)


def draw_panel(axes: Axes, title: str, curve: Drawn, colours: Mapping[str, str]) -> None:
    """Lines and bands from round 0."""
    rounds = next(iter(curve.values())).rounds
    draw_curves(axes, rounds, {name: one.interval for name, one in curve.items()}, colours)
    axes.set_xlim(0, rounds[-1])
    axes.set_title(title, loc="left", fontweight="bold", pad=12)


def name_ends(axes: Axes, curve: Drawn, colours: Mapping[str, str]) -> None:
    """Name the lines at their ends, once the layout of all panels is known."""
    name_lines(axes, {name: float(one.final.mean()) for name, one in curve.items()}, colours)
