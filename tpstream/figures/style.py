"""What all figures share: the style, the colours of policies, curves of regret, and labels at the ends of lines.

Matplotlib is imported inside the functions that draw, because importing it takes longer than a short run.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np

from tpstream.analysis.intervals import Interval
from tpstream.analysis.printed import in_currency
from tpstream.analysis.theory import Bound
from tpstream.model.arrays import Floats, Ints
from tpstream.model.errors import FigureError, UnknownNameError
from tpstream.model.names import shorten, visible
from tpstream.model.whole_files import write_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#4477AA", "#EE6677", "#228833", "#AA3377", "#CCBB44", "#66CCEE", "#BBBBBB", "#000000")
"""Paul Tol's bright scheme: told apart with any colour vision."""
KINDS = ("ucb1", "delayed-ucb1", "tp-ucb-fr", "tp-ucb-ew", "uniform")
RESERVED = dict(zip(KINDS, COLOURS, strict=False)) | {"oracle": COLOURS[-1]}
"""The colours of the paper's policies and of the yardsticks, the same in all figures."""
OTHERS = (*COLOURS[5:7], "#332288", "#117733", "#999933", "#882255", "#44AA99", "#DDCC77", "#997700", "#6699CC")
"""The colours of all other policies, from Paul Tol's muted scheme; each policy takes one by its label."""
DASHED = (0, (3.0, 3.0))
"""The dashes of a line that lies on another one, which shows through the gaps."""
SAME_LINE = 0.01
"""Lines that are not further apart than this share of the figure's range are one to the eye."""
MOSTLY = 0.8
"""A line lies on another one if this share of its points do."""
GREY = "#555555"
MANY_DECADES = 1000.0
"""From this ratio of its ends on a logarithmic axis is labelled at powers of ten only."""
ENDINGS = (".png", ".svg", ".pdf")
STYLE: dict[Any, Any] = {
    "font.size": 10.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#666666",
    "xtick.color": "#444444",
    "ytick.color": "#444444",
    "axes.labelcolor": "#444444",
    "svg.hashsalt": "tpstream",
    "text.parse_math": False,  # names are text, also with dollar signs
}
LONGEST = 36
"""Letters of a name in a figure."""
LINE_HEIGHT = 1.3
"""The distance between two labels, in heights of their letters."""


def policy_colours(labels: Iterable[str]) -> dict[str, str]:
    """A colour for each policy, the same in every figure: built-in kinds have their own, others one by their label.

    Of several policies of one kind, such as "tp-ucb-fr:groups=5" and "tp-ucb-fr:groups=10", the first has the colour
    of the kind. If two labels want the same colour, the second takes the next free one; when all are taken they are
    used again.
    """
    labels = list(labels)
    colours: dict[str, str] = {}
    for label in labels:
        colour = RESERVED.get(label.lower().partition(":")[0])
        if colour is not None and colour not in colours.values():
            colours[label] = colour
    for label in labels:
        if label not in colours:
            wanted = crc32(label.encode()) % len(OTHERS)
            turned = OTHERS[wanted:] + OTHERS[:wanted]
            colours[label] = next((one for one in turned if one not in colours.values()), OTHERS[wanted])
    return {label: colours[label] for label in labels}


def line_styles(lines: Mapping[str, Floats]) -> dict[str, Any]:
    """How each line is drawn, in this order: dashed if it lies on an earlier one, so that both are seen."""
    drawn: dict[str, Any] = {}
    values = list(lines.values())
    near = SAME_LINE * max((float(np.nanmax(line, initial=0.0)) for line in values), default=0.0)
    for place, (label, line) in enumerate(lines.items()):
        earlier = [other for other in values[:place] if other.shape == line.shape]
        hides = any((np.abs(other - line) <= near).mean() >= MOSTLY for other in earlier)
        drawn[label] = DASHED if hides else "-"
    return drawn


def short_number(value: float) -> str:
    """A number in four digits, as people write it: 0.1235, 12.35, 10,040."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"  # noqa: PLR2004 (four digits before the point)


def tick_text(value: float, _: float) -> str:
    """The text of a tick, as Matplotlib asks for it with the tick's position."""
    return short_number(value)


def prepare_figure(path: Path) -> Path:
    """Make the folder of a figure; raises, before any work is done, if no figure can be written there."""
    if path.suffix.lower() not in ENDINGS:
        raise FigureError(f"{path}: a figure ends in {', '.join(ENDINGS)}, got {path.suffix or 'no ending'!r}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FigureError(f"{path.parent}: cannot make this folder: {error.strerror}; choose another place") from error
    return path


@contextmanager
def new_figure(path: str | Path | None, width: float, height: float) -> "Iterator[Figure]":
    """An empty figure of this size in inches; if there is a path, it is written there when the block ends."""
    import matplotlib as mpl  # noqa: PLC0415 (slow to import)
    from matplotlib.figure import Figure  # noqa: PLC0415

    place = None if path is None else prepare_figure(Path(path))
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(width, height), layout="constrained")
        # Notebooks know how to show a figure only once pyplot was imported, which nothing here does.
        figure._repr_png_ = partial(png_bytes, figure)  # type: ignore[attr-defined]
        yield figure
        if place is not None:
            save_figure(figure, place)


@contextmanager
def open_axes(path: str | Path | None, ax: "Axes | None", width: float, height: float) -> "Iterator[Axes]":
    """The axes to draw on: the given ones, else those of a new figure; written if there is a path."""
    if ax is None:
        with new_figure(path, width, height) as figure:
            yield figure.subplots()
        return
    place = None if path is None else prepare_figure(Path(path))
    yield ax
    if place is not None:
        save_figure(figure_of(ax), place)


def save_figure(figure: "Figure", path: Path) -> None:
    """Write a figure, equal figures as equal bytes."""
    format = path.suffix.lower().removeprefix(".")
    metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(format)
    drawn = BytesIO()
    try:
        figure.savefig(drawn, format=format, dpi=150, metadata=metadata)
        write_whole(path, drawn.getvalue())
    except OSError as error:
        raise FigureError(f"{path}: cannot write the figure: {error.strerror}; choose another place") from error


def png_bytes(figure: "Figure") -> bytes:
    """The figure as a notebook shows it."""
    image = BytesIO()
    figure.savefig(image, format="png", dpi=100)
    return image.getvalue()


def figure_of(axes: "Axes") -> "Figure":
    """The figure that axes belong to, also if that is divided into subfigures."""
    figure = axes.get_figure(root=True)
    assert figure is not None  # noqa: S101 (axes belong to a figure)
    return figure


def figure_text(name: object) -> str:
    """A name as figures show it: one line, without characters that cannot be seen, cut if it is very long."""
    return shorten(visible(str(name)), LONGEST)


def shown_names(known: Iterable[str], labels: Mapping[str, str] | None, what: str = "policy") -> dict[str, str]:
    """The name of each policy in a figure: its label, or what `labels` gives instead; those cut alike get numbers."""
    names: dict[str, str] = {}
    for label in known:
        short = figure_text(label)
        names[label] = short if short not in names.values() else f"{short} {len(names) + 1}"
    for label, name in (labels or {}).items():
        if label not in names:
            raise UnknownNameError(f"{what} in `labels`", label, names)
        names[label] = name
    if len(set(names.values())) < len(names):
        raise FigureError(f"labels must differ, got {', '.join(map(repr, names.values()))}; give each its own")
    return names


def run_count(runs: int) -> str:
    """How a title says the number of runs, and that bands are intervals if there are any."""
    return f"mean of {runs} runs, 95 % interval" if runs > 1 else f"mean of {runs} run"


def regret_figure(
    path: str | Path | None,
    title: str,
    rounds: Ints,
    curves: Mapping[str, Interval],
    *,
    log_rounds: bool = False,
    bounds: Sequence[Bound] = (),
    ax: "Axes | None" = None,
    log_y: bool = False,
    labels: Mapping[str, str] | None = None,
    round_title: str = "round",
    currency: str | None = None,
) -> "Figure":
    """Regret over rounds, a line and a band for each policy, named at the line's end; written if there is a path.

    On given axes a legend names the lines, since what is beside these axes is not known. Bounds make the regret's axis
    logarithmic, since they are many times as large: a policy's upper one is dashed in its colour, lower ones are
    dotted.
    """
    names = shown_names(curves, labels)
    colours = {names[label]: colour for label, colour in policy_colours(curves).items()}
    curves = {names[label]: curve for label, curve in curves.items()}
    bounds = [replace(bound, name=names.get(bound.name, bound.name)) for bound in bounds]
    with open_axes(path, ax, 8, 4.8) as axes:
        draw_regret(axes, rounds, curves, colours, log_rounds=log_rounds)
        axes.set(xlabel=round_title, ylabel=f"pseudo-regret{in_currency(currency)}")
        axes.set_title(title, loc="left", fontweight="bold", pad=12)
        ends = {label: float(curve.mean[-1]) for label, curve in curves.items()}
        if log_y:
            scale_logarithmic(axes, [curve.mean for curve in curves.values()])
        ends |= draw_bounds(axes, rounds, curves, bounds, colours)
        name_lines(axes, ends, colours, own=ax is None)
    return figure_of(axes)


def draw_regret(
    axes: "Axes", rounds: Ints, curves: Mapping[str, Interval], colours: Mapping[str, str], *, log_rounds: bool = False
) -> None:
    """A line and a band for each policy, and the axes of rounds and regret."""
    draw_curves(axes, rounds, curves, colours, log_rounds=log_rounds)
    axes.set(ylim=(0, None), ylabel="pseudo-regret")


def draw_curves(
    axes: "Axes", rounds: Ints, curves: Mapping[str, Interval], colours: Mapping[str, str], *, log_rounds: bool
) -> None:
    """A line for the mean and a band for the interval of each policy, over rounds."""
    scale_rounds(axes, rounds, log_rounds=log_rounds)
    styles = line_styles({label: curve.mean for label, curve in curves.items()})
    for label, curve in curves.items():
        axes.plot(rounds, curve.mean, color=colours[label], linewidth=2, linestyle=styles[label], label=label)
        axes.fill_between(rounds, curve.low, curve.high, color=colours[label], alpha=0.2, linewidth=0)
    axes.yaxis.set_major_formatter(tick_text)
    draw_grid(axes)


def scale_rounds(axes: "Axes", rounds: Ints, *, log_rounds: bool) -> None:
    """Make the horizontal axis one of rounds, from 0 on unless it is logarithmic."""
    axes.set_xscale("log" if log_rounds else "linear")  # before the formatter: it resets it
    axes.set(xlim=(rounds[0] if log_rounds else 0, max(rounds[-1], 2)), xlabel="round")
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.xaxis.set_minor_formatter("")  # that of a logarithmic axis writes formulas


def scale_logarithmic(axes: "Axes", lines: Sequence[Floats]) -> None:
    """Make the vertical axis logarithmic, from the smallest to the largest value above 0; linear if there is none."""
    from matplotlib.ticker import LogLocator  # noqa: PLC0415 (slow to import)

    values = np.concatenate([np.ravel(line) for line in lines])
    values = values[values > 0]
    if values.size:
        low, high = float(values.min()) / 1.5, 1.5 * float(values.max())
        axes.set_yscale("log")
        axes.set_ylim(low, high)
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0,) if high > MANY_DECADES * low else (1.0, 2.0, 5.0)))
        axes.yaxis.set_major_formatter(tick_text)
        axes.yaxis.set_minor_formatter("")


def draw_grid(axes: "Axes", axis: str = "y") -> None:
    """Thin lines behind the data at the ticks of one axis."""
    axes.grid(axis=axis, linewidth=0.6, alpha=0.35)  # type: ignore[arg-type]
    axes.set_axisbelow(True)


def draw_bounds(
    axes: "Axes", rounds: Ints, curves: Mapping[str, Interval], bounds: Sequence[Bound], colours: dict[str, str]
) -> dict[str, float]:
    """Draw bounds on a logarithmic axis; returns where the lower ones end, and adds them to the colours."""
    if not bounds:
        return {}
    ends = {}
    lines = [curve.mean for curve in curves.values()]
    for bound in bounds:
        lines.append(bound.at(rounds))
        dashes = "--" if bound.upper else ":"
        axes.plot(rounds, lines[-1], color=colours.get(bound.name, GREY), linestyle=dashes, linewidth=1.3)
        if not bound.upper:
            axes.lines[-1].set_label(bound.name)
            colours[bound.name] = GREY
            ends[bound.name] = float(lines[-1][-1])
    later = np.searchsorted(rounds, rounds[-1] / 100)
    lowest = min(float(line[later:].min()) for line in lines)
    axes.set_yscale("log")
    axes.set_ylim(max(lowest, 1.0) / 2, 1.5 * max(float(line[-1]) for line in lines))
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.yaxis.set_minor_formatter("")
    return ends


def name_lines(axes: "Axes", ends: Mapping[str, float], colours: Mapping[str, str], *, own: bool) -> None:
    """Name the lines: where they end on axes of our own, else in a legend."""
    if own:
        label_lines(axes, ends, colours)
    else:
        axes.legend(frameon=False, fontsize="small")


def label_lines(axes: "Axes", ends: Mapping[str, float], colours: Mapping[str, str]) -> None:
    """Write each policy's name where its line ends, moved so that no two names overlap.

    Call it last: names are placed by the size that the layout gives to the axes.
    """
    figure = figure_of(axes)
    figure.draw_without_rendering()
    letters = STYLE["font.size"] * figure.dpi / 72
    lowest = axes.get_ylim()[0] if axes.get_yscale() == "log" else -np.inf
    heights = axes.transData.transform([(1.0, max(end, lowest)) for end in ends.values()])[:, 1]
    places = spread_apart(heights, LINE_HEIGHT * letters, axes.bbox.y0)
    fractions = (places - axes.bbox.y0) / axes.bbox.height
    for label, fraction in zip(ends, fractions.tolist(), strict=True):
        axes.annotate(
            label,
            (1.0, fraction),
            xytext=(6, 0),
            xycoords="axes fraction",
            textcoords="offset points",
            va="center",
            color=colours[label],
            fontweight="bold",
        )


def spread_apart(heights: Floats, gap: float, lowest: float = -np.inf) -> Floats:
    """Heights moved as little as possible (least squares), in the same order, any two at least a gap apart.

    None is moved below the lowest place, or left there.
    """
    from scipy.optimize import isotonic_regression  # noqa: PLC0415 (slow to import)

    order = np.argsort(heights, kind="stable")
    steps = gap * np.arange(len(heights))
    moved = np.empty(len(heights))
    moved[order] = np.maximum(isotonic_regression(heights[order] - steps).x, lowest) + steps
    return moved
