"""Tables and pictures of the report that ``frankwolfe reproduce`` writes, as HTML that needs nothing else.

The prose of the report is in ``report.html``. What comes from here fills the places in it, and is escaped.
"""

from base64 import b64encode
from collections.abc import Sequence
from html import escape
from io import BytesIO
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np

from frankwolfe.plots import curve, tidy

Cell = str | float | None


class Line(NamedTuple):
    """A curve of a picture: ``y`` has the shape of ``x``, or a row for each seed."""

    name: str
    x: np.ndarray
    y: np.ndarray
    colour: str
    dashed: bool = False


class Panel(NamedTuple):
    """The labels of two logarithmic axes, and the curves between them."""

    x: str
    y: str
    lines: Sequence[Line]


def draw(ax: Any, panel: Panel) -> None:
    """Draw the curves of a panel on matplotlib axes: means over seeds, with bands from the lowest to the highest."""
    ax.set(xscale="log", yscale="log", xlabel=panel.x, ylabel=panel.y)
    for line in panel.lines:
        seen = line.x > 0.0
        across, rows = line.x[seen], np.atleast_2d(line.y)[:, seen]
        style = {"color": line.colour, "lw": 1.8, "ls": "--" if line.dashed else "-"}
        curve(ax, across, rows.mean(axis=0), label=line.name, **style)
        if len(rows) > 1:
            ax.fill_between(across, rows.min(axis=0), rows.max(axis=0), color=line.colour, alpha=0.18, lw=0)
    tidy(ax)


def chart(title: str, panels: Sequence[Panel], note: str = "") -> str:
    """Return a figure with one panel above the other."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.8, 3.2 * len(panels) + 0.5), layout="constrained")
    for ax, panel in zip(figure.subplots(len(panels), squeeze=False)[:, 0], panels, strict=True):
        draw(ax, panel)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper left", ncols=3, frameon=False, fontsize="small")
    picture = BytesIO()
    figure.savefig(picture, format="svg")
    about = "; ".join(f"{panel.y} against {panel.x}" for panel in panels)
    return f"""<figure>
<h3>{escape(title)}</h3>
<img alt="{escape(about)}" src="data:image/svg+xml;base64,{b64encode(picture.getvalue()).decode()}">
<figcaption>{escape(note)}</figcaption>
</figure>"""


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    """Return a table in a box that scrolls, below a caption that does not scroll."""
    columns_of = zip(*rows, strict=True)
    align = [' class="number"' if any(isinstance(cell, Real) for cell in column) else "" for column in columns_of]
    lines = [
        "".join(f"<{tag}{how}>{escape(text(cell))}</{tag}>" for cell, how in zip(cells, align, strict=True))
        for tag, cells in [("th", columns), *(("td", row) for row in rows)]
    ]
    body = "\n".join(f"<tr>{line}</tr>" for line in lines)
    return f"""<h3>{escape(title)}</h3>
<div class="table" tabindex="0" role="region" aria-label="{escape(title)}">
<table>
{body}
</table></div>"""


def text(cell: Cell) -> str:
    """Return a cell as text: whole numbers in full, others with four significant digits, a dash for nothing.

    Examples
    --------
    >>> text(20242), text(0.929031), text(float("nan")) == text(None)
    ('20,242', '0.929', True)
    """
    if cell is None or cell != cell:
        return "\N{EN DASH}"
    if isinstance(cell, Integral):
        return f"{cell:,}"
    return f"{cell:.4g}" if isinstance(cell, Real) else str(cell)
