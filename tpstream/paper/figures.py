"""Figures of the reproduction: regret over time in all settings, as the paper shows them."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from tpstream.analysis.theory import bounds_of
from tpstream.figures.style import draw_regret, label_lines, new_figure, policy_colours, regret_figure
from tpstream.paper.reproduction import Curves, Reproduction
from tpstream.paper.settings import BY_GROUPS, DELAYED, EW, FAMILY, FR, GRID, NAMES, ROUND_ROBIN, UCB1, family_scenario
from tpstream.scenario.bounds import policy_groups

COLOURS = policy_colours([*NAMES, ROUND_ROBIN])
SHADES = {
    FR: ("#8CCB9B", "#5FB377", "#3B9A57", "#1F7A3B", "#0B4F22"),
    EW: ("#D79DBB", "#C277A0", "#AA3377", "#842561", "#5A123F"),
}
"""Colours of Setting 1, darker for more groups."""
TENTH_ROUND = 10
"""Where figures with bounds begin: earlier, every arm was pulled at most once and ln T is nearly 0."""


def figures_of(found: Reproduction) -> dict[str, Callable[[Reproduction, Path | None], Figure]]:
    """What draws each figure of the settings that were run, by the figure's file name."""
    return {name: draw for name, (settings, draw) in FIGURES.items() if found.has(*settings)}


def draw_setting_1(found: Reproduction, path: Path | None = None) -> Figure:
    """A panel for TP-UCB-FR and one for TP-UCB-EW, with all numbers of groups that they assume."""
    panels = []
    for kind in (FR, EW):
        policies = {NAMES[policy]: policy for policy in (UCB1, DELAYED)}
        policies |= {f"{groups} groups": policy for groups, policy in BY_GROUPS[kind].items()}
        curves = {name: found.curves("setting-1", policy) for name, policy in policies.items()}
        colours = dict(zip(curves, (COLOURS[UCB1], COLOURS[DELAYED], *SHADES[kind]), strict=True))
        panels.append((f"{NAMES[kind]}, by the groups that it assumes", curves, colours))
    return draw_panels(path, 11.5, 4.8, panels)


def draw_family(found: Reproduction, path: Path | None = None) -> Figure:
    """Rows are Settings 2, 2.1, 2.2 and 2.3, columns are pairs of span and groups."""
    settings = [name for name in FAMILY if found.has(name)]
    with new_figure(path, 12.5, 0.9 + 2.5 * len(settings)) as figure:
        panels = figure.subplots(len(settings), len(GRID), sharex=True, sharey="col", squeeze=False)
        for row, setting in zip(panels, settings, strict=True):
            for axes, pair in zip(row, GRID, strict=True):
                curves = {policy: found.curves(family_scenario(setting, *pair), policy) for policy in NAMES}
                draw_panel(axes, curves, COLOURS)
                axes.set_xlabel("round" if setting == settings[-1] else "")
                axes.set_ylabel(f"Setting {setting}\npseudo-regret" if pair == GRID[0] else "")
                if setting == settings[0]:
                    axes.set_title(f"span {pair[0]}, {pair[1]} groups", loc="left", fontweight="bold")
                axes.xaxis.set_major_locator(MaxNLocator(2))
        handles = [Line2D([], [], color=COLOURS[policy], linewidth=2.5, label=name) for policy, name in NAMES.items()]
        figure.legend(handles=handles, loc="outside upper left", ncols=4, frameon=False)
    return figure


def draw_starts(found: Reproduction, path: Path | None = None) -> Figure:
    """Delayed-UCB1 with both starts, for both spans of Setting 2; thin lines are single runs."""
    names = {DELAYED: "random", ROUND_ROBIN: "round-robin"}
    colours = {name: COLOURS[policy] for policy, name in names.items()}
    panels = []
    for span, groups in GRID[:2]:
        scenario = family_scenario("2", span, groups)
        curves = {name: found.curves(scenario, policy) for policy, name in names.items()}
        panels.append((f"Delayed-UCB1 by its start: span {span}, {groups} groups", curves, colours))
    return draw_panels(path, 11.5, 4.2, panels, single_runs=True)


def draw_average(setting: str, title: str, found: Reproduction, path: Path | None = None) -> Figure:
    """One panel for a setting, averaged over its scenarios."""
    curves = {name: found.average(setting, policy) for policy, name in NAMES.items()}
    return draw_panels(path, 8, 4.8, [(title, curves, policy_colours(curves))])


def draw_all_bounds(found: Reproduction, folder: Path) -> list[Path]:
    """Every scenario that was run, with all its policies, between its bounds; returns the files."""
    paths = []
    for _, scenario, study in found.items():
        paths.append(folder / f"theory-{scenario.name}.png")
        draw_between_bounds(scenario.name, list(study.records), scenario.name, found, paths[-1])
    return paths


def draw_between_bounds(
    name: str, policies: Sequence[str], title: str, found: Reproduction, path: Path | None = None
) -> Figure:
    """The regret of some policies in a scenario, their upper bounds, and the lower bounds."""
    scenario = found.scenarios[name]
    policy_kinds = policy_groups(map(scenario.policy, policies))
    named = [(NAMES.get(label, label), kind, groups) for label, kind, groups in policy_kinds]
    curves = {NAMES.get(policy, policy): found.curves(name, policy).since(TENTH_ROUND) for policy in policies}
    return regret_figure(
        path,
        f"{title}: upper (dashed) and lower (dotted) bounds",
        next(iter(curves.values())).rounds,
        {label: one.interval for label, one in curves.items()},
        log_rounds=True,
        bounds=bounds_of(scenario.problem(), named),
    )


def draw_panels(
    path: Path | None,
    width: float,
    height: float,
    panels: Sequence[tuple[str, Mapping[str, Curves], Mapping[str, str]]],
    *,
    single_runs: bool = False,
) -> Figure:
    """Panels side by side, each with title, curves and colours; the lines are named at their ends."""
    with new_figure(path, width, height) as figure:
        row = figure.subplots(1, len(panels), sharey=not single_runs, squeeze=False)[0]
        for axes, (title, curves, colours) in zip(row, panels, strict=True):
            draw_panel(axes, curves, colours)
            axes.set_title(title, loc="left", fontweight="bold", pad=12)
            for name, one in curves.items() if single_runs else ():
                axes.plot(one.rounds, one.regret.T, color=colours[name], linewidth=0.4, alpha=0.35, zorder=1)
            if single_runs:
                axes.set_ylim(0, 1.03 * max(float(one.final.max()) for one in curves.values()))
        for axes in () if single_runs else row[1:]:
            axes.set_ylabel("")  # the axis is that of the first panel
        for axes, (_, curves, colours) in zip(row, panels, strict=True):  # when the layout of all panels is known
            label_lines(axes, {name: float(one.final.mean()) for name, one in curves.items()}, colours)
    return figure


def draw_panel(axes: Axes, curves: Mapping[str, Curves], colours: Mapping[str, str]) -> None:
    """Lines and bands from round 0."""
    rounds = next(iter(curves.values())).rounds
    draw_regret(axes, rounds, {name: one.interval for name, one in curves.items()}, colours)


FIGURES: dict[str, tuple[tuple[str, ...], Callable[[Reproduction, Path | None], Figure]]] = {
    "setting-1.png": (("1",), draw_setting_1),
    "setting-2.png": (FAMILY, draw_family),
    "delayed-starts.png": (("2",), draw_starts),
    "setting-4.png": (("4",), partial(draw_average, "4", "Setting 4: average over ten random worlds")),
    "setting-5.png": (("5",), partial(draw_average, "5", "Setting 5: Setting 1 with ten times the rounds")),
    "theory.png": (("5",), partial(draw_between_bounds, "setting-5", list(NAMES), "Setting 5")),
    "spotify-like.png": (("spotify",), partial(draw_average, "spotify", "Spotify-like: six playlists of 20 songs")),
}
"""By file name: the settings of which any must have been run, and how the figure is drawn."""
