"""Look of every figure, and its files: the same bytes each time from the same numbers.

Colours: M. Okabe, K. Ito, "Color universal design" (2008), without the yellow, which is too pale
for lines on white. Polling arms take the warm half, eBPF arms the cool half; markers differ
too, so that no figure depends on colour.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, cast

import matplotlib
from fontTools import subset  # comes with matplotlib

matplotlib.use("Agg")  # no display is needed, and a dead DISPLAY is not asked

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter

from analysis.load import Run
from analysis.order import slots

WIDTHS = {"3.33in": 3.33, "7in": 7.0}  # one column and two columns of a paper
BLACK, GREY, RULE = "#000000", "#666666", "#d9d9d9"
READER, KERNEL, SLEEP = "#56B4E9", "#D55E00", "#999999"
_WARM = ("#D55E00", "#E69F00", "#CC79A7", "#8c510a")
_COOL = ("#0072B2", "#009E73", "#56B4E9", "#5e3c99")
_COLOURS = {"proc": _WARM, "ebpf": _COOL, "none": (GREY,)}
_MARKERS = {"proc": "osDpHh", "ebpf": "^vP<>*", "none": "Xd"}

RC: dict[str, Any] = {
    "font.family": "DejaVu Sans",  # ships with matplotlib: the same glyphs on every machine
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "legend.handletextpad": 0.4,
    "legend.columnspacing": 1.2,
    "legend.borderpad": 0.0,
    "legend.borderaxespad": 0.0,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.color": RULE,
    "grid.linewidth": 0.5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.minor.width": 0.4,
    "ytick.minor.width": 0.4,
    "lines.linewidth": 1.1,
    "hatch.linewidth": 0.5,
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "probetax",
    "pdf.fonttype": 42,
    "figure.dpi": 300,
    "figure.constrained_layout.use": True,
    "figure.constrained_layout.h_pad": 0.04,
    "figure.constrained_layout.w_pad": 0.03,
}


@dataclass(frozen=True)
class Look:
    """Colour and marker of an arm."""

    colour: str
    marker: str


def looks(run: Run) -> dict[str, Look]:
    """Colour and marker of every arm; the pair is unique up to a dozen arms of one source."""
    made = {}
    for arm, (source, n) in slots(run.arms).items():
        colours, markers = _COLOURS[source], _MARKERS[source]
        made[arm] = Look(colours[n % len(colours)], markers[n % len(markers)])
    return made


def legend_of_arms(figure: Figure, run: Run, arms: Iterable[str], columns: int) -> None:
    """Colour, marker and title of each arm, below the panels."""
    style = looks(run)
    handles = [
        Line2D([], [], color=style[a].colour, marker=style[a].marker, markersize=4, label=label)
        for a in arms
        if (label := run.title(a))
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=columns)


def in_style() -> AbstractContextManager[None]:
    """Context in which every figure is drawn and rendered."""
    return matplotlib.rc_context(cast(Any, RC))


def new_figure(width: float, height: float) -> Figure:
    """An empty figure in inches; call inside `in_style()`."""
    return Figure(figsize=(width, height))


def log_ticks(ax: Axes, axis: str, wanted: int = 5) -> None:
    """Plain numbers on a log axis: decades, or 1-2-5 where decades would be fewer than three."""
    low, high = ax.get_xlim() if axis == "x" else ax.get_ylim()
    steps: list[float] = []
    for factors in ((1,), (1, 3), (1, 2, 5)):
        first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
        steps = [f * 10.0**e for e in range(first, last + 1) for f in factors]
        steps = [s for s in steps if low <= s <= high]
        if len(steps) >= 3:
            break
    while len(steps) > wanted:
        steps = steps[::2]
    target = ax.xaxis if axis == "x" else ax.yaxis
    target.set_major_locator(FixedLocator(steps))
    target.set_major_formatter(FuncFormatter(lambda v, _: f"{v:,.10g}"))
    target.set_minor_formatter(NullFormatter())


def log_limits(values: list[float], room: float = 1.35) -> tuple[float, float]:
    """Limits of a log axis around positive values, at least half a decade wide."""
    low, high = min(values) / room, max(values) * room
    if high / low < 3.2:
        middle = (low * high) ** 0.5
        low, high = middle / 1.8, middle * 1.8
    return low, high


class _EmbeddedFont(subset.Options):  # type: ignore[misc]
    """What matplotlib asks of a font to embed it, less the tables for shaping text.

    The text is laid out by then; to read those tables is most of what a PDF's font takes.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.drop_tables: list[str] = [*self.drop_tables, "GSUB", "GPOS", "GDEF"]


@contextmanager
def _light_fonts() -> Iterator[None]:
    plain = subset.Options
    subset.Options = _EmbeddedFont
    try:
        yield
    finally:
        subset.Options = plain


def render(figure: Figure) -> dict[str, bytes]:
    """The figure in each of `FORMATS`, without dates.

    The canvases are called directly: `savefig` would draw each file twice.
    """
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)  # once: the three files must not differ
    figure.set_layout_engine("none")
    # PNG first: the others leave 72 dpi behind
    return {kind: draw(figure) for kind, draw in FORMATS.items()}


def _png(figure: Figure) -> bytes:
    file, canvas = io.BytesIO(), cast(Any, FigureCanvasAgg(figure))  # its methods are untyped
    # packing it harder would take twice as long
    canvas.print_png(file, metadata={"Software": None}, pil_kwargs={"compress_level": 1})
    return file.getvalue()


def _svg(figure: Figure) -> bytes:
    file, canvas = io.BytesIO(), cast(Any, FigureCanvasSVG(figure))
    canvas.print_svg(file, metadata={"Date": None, "Creator": None})
    return file.getvalue()


def _pdf(figure: Figure) -> bytes:
    file, canvas = io.BytesIO(), cast(Any, FigureCanvasPdf(figure))
    nothing = dict.fromkeys(("CreationDate", "ModDate", "Creator", "Producer"))
    with _light_fonts():
        canvas.print_pdf(file, metadata=nothing)
    return file.getvalue()


FORMATS = {"png": _png, "svg": _svg, "pdf": _pdf}
