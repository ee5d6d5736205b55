"""Pictures of tables with matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from weirlab import _weirlab
from weirlab.units import seconds

if TYPE_CHECKING:
    import matplotlib.axes
    from numpy.typing import NDArray

    from weirlab.table import Table

#: The colours of flows and curves, those of the reports: on white, and on black.
PALETTE, PALETTE_ON_BLACK = (tuple(colours) for colours in _weirlab.palette())
#: For units of columns the factor to the unit of the axis, and that unit.
_SCALES = {"bit/s": (1e-6, "Mbit/s"), "bytes": (1e-3, "kB")}


def _axes(ax: matplotlib.axes.Axes | None) -> matplotlib.axes.Axes:
    if ax is not None:
        return ax
    import matplotlib
    import matplotlib.colors as colors
    import matplotlib.pyplot as pyplot
    from cycler import cycler

    ax = pyplot.subplots()[1]
    # A palette of the user's own stays: that of matplotlib gives way to that of the reports.
    own = pyplot.rcParams["axes.prop_cycle"]
    if own == matplotlib.rcParamsDefault["axes.prop_cycle"]:
        is_dark = sum(colors.to_rgb(ax.get_facecolor())) < 1.5
        ax.set_prop_cycle(cycler(color=PALETTE_ON_BLACK if is_dark else PALETTE))
    return ax


def _scaled(table: Table, column: str) -> tuple[float, str]:
    """The factor to the unit of the axis, and the axis's label."""
    name = table.find(column) or column
    unit = table.units.get(name, "")
    word = name
    for end in ("_s", "_bps", "_bytes"):
        word = word.removesuffix(end)
    factor, unit = _SCALES.get(unit, (1.0, unit))
    return factor, word.replace("_", " ") + (f", {unit}" if unit else "")


def binned(
    x: NDArray[Any], y: NDArray[Any], width: float
) -> tuple[NDArray[Any], NDArray[Any]]:
    """The mean of ``y`` in each bin of ``x`` that has a value, at the middle of the bin."""
    known = np.isfinite(x) & np.isfinite(y)
    numbers = np.floor(x[known] / width).astype(np.int64)
    bins, inverse = np.unique(numbers, return_inverse=True)
    sums = np.bincount(inverse, weights=y[known].astype(float), minlength=len(bins))
    counts = np.bincount(inverse, minlength=len(bins))
    return (bins + 0.5) * width, sums / np.maximum(counts, 1)


def lines(
    table: Table,
    x: str,
    y: str,
    *,
    hue: str | None = None,
    bin: str | float | None = None,
    ax: matplotlib.axes.Axes | None = None,
) -> matplotlib.axes.Axes:
    """Draws ``y`` over ``x``, a curve for each value of ``hue``."""
    ax = _axes(ax)
    xs, ys = table[x].astype(float), table[y].astype(float)
    (x_factor, x_label), (y_factor, y_label) = _scaled(table, x), _scaled(table, y)
    groups = table[hue] if hue is not None else np.full(len(xs), "")
    for value in dict.fromkeys(groups.tolist()):
        chosen = groups == value
        points = xs[chosen], ys[chosen]
        if bin is not None:
            points = binned(*points, seconds(bin))
        ax.plot(points[0] * x_factor, points[1] * y_factor, label=str(value), linewidth=1)
    ax.set_xlabel(x_label)
    ax.set_ylabel(y_label)
    if hue is not None:
        ax.legend(title=hue, frameon=False)
    return ax


def distribution(
    table: Table, column: str, *, hue: str | None, ax: matplotlib.axes.Axes | None
) -> matplotlib.axes.Axes:
    """Draws the empirical distribution function of a column, a curve for each value of ``hue``."""
    ax = _axes(ax)
    values = table[column].astype(float)
    factor, label = _scaled(table, column)
    groups = table[hue] if hue is not None else np.full(len(values), "")
    for value in dict.fromkeys(groups.tolist()):
        of_group = np.sort(values[(groups == value) & np.isfinite(values)])
        if len(of_group) == 0:
            continue
        share = np.arange(1, len(of_group) + 1) / len(of_group)
        ax.step(of_group * factor, share, where="post", label=str(value))
    ax.set_xlabel(label)
    ax.set_ylabel("share of flows")
    ax.set_ylim(0, 1)
    if hue is not None and ax.lines:
        ax.legend(title=hue, frameon=False)
    return ax
