"""Reports of text, tables and pictures, as one HTML file without scripts that needs nothing else: no network, no files.

`render` writes the page and draws its charts (needs matplotlib). All text is plain text: it is escaped, never read as
markup.
"""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from html import escape
from io import BytesIO
from numbers import Integral, Real
from pathlib import Path
from string import Template
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from frankwolfe.plots import COLOURS, tidy

Column = Sequence[float] | np.ndarray
Cell = str | float | None

NO_COLUMNS: Mapping[str, Column] = MappingProxyType({})
MISSING = "\N{EN DASH}"
PANEL = 4.8, 3.2
"""Width and height of a panel, in inches."""


class Series(NamedTuple):
    """One curve, in every quantity it was measured in.

    Parameters
    ----------
    name : str
        Its name in the legend.
    values : mapping of str to sequence of float
        Columns of equal length by quantity. NaN and infinities leave a hole in the curve. A panel omits the curve if
        one of its two quantities is not here.
    colour : str
        Any colour that matplotlib knows.
    dashed, points : bool
        Whether to draw a dashed line; whether to mark every point.
    low, high : mapping of str to sequence of float
        The edges of a band around the curve by quantity, for instance the extremes over seeds.
    shown : bool
        Otherwise the curve is a thin grey line without a band and a name.
    """

    name: str
    values: Mapping[str, Column]
    colour: str
    dashed: bool = False
    points: bool = False
    low: Mapping[str, Column] = NO_COLUMNS
    high: Mapping[str, Column] = NO_COLUMNS
    shown: bool = True


class Chart(NamedTuple):
    """A picture of curves: panels of each `y` against the first `x`, then of the first `y` against the other `x`.

    Parameters
    ----------
    key : str
        Unique in the report; the anchor of the chart is ``chart-<key>``.
    title : str
        Heading.
    x, y : sequence of (str, str)
        Quantities with their labels.
    series : sequence of Series
        The curves.
    log_x, log_y : bool
        Whether the axes are logarithmic. Values that are not positive then leave a hole in the curve.
    note : str
        Remark below the picture.
    """

    key: str
    title: str
    x: Sequence[tuple[str, str]]
    y: Sequence[tuple[str, str]]
    series: Sequence[Series]
    log_x: bool = True
    log_y: bool = True
    note: str = ""


class DataTable(NamedTuple):
    """A table with a caption and a note. Numbers are right-aligned; None and NaN print as a dash."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    note: str = ""


class Section(NamedTuple):
    """Paragraphs, then charts side by side where there is room, then tables."""

    title: str
    text: Sequence[str]
    charts: Sequence[Chart] = ()
    tables: Sequence[DataTable] = ()


class Report(NamedTuple):
    """The whole page: a title, facts about the run as (label, text), and sections with a table of contents."""

    title: str
    subtitle: str
    facts: Sequence[tuple[str, str]]
    sections: Sequence[Section]


def render(report: Report) -> str:
    """Return the report as a complete HTML document.

    Examples
    --------
    >>> from benchmarks.report import Chart, Report, Section, Series
    >>> curve = Series("fw", {"passes": [1, 2, 4], "gap": [1.0, 0.4, 0.1]}, colour="#1d4ed8")
    >>> chart = Chart("gap", "The gap falls", x=[("passes", "Passes")], y=[("gap", "Gap")], series=[curve])
    >>> page = render(Report("A run", "of one method", [("data", "none")], [Section("Curves", ["One."], [chart])]))
    >>> page.startswith("<!doctype html>"), "<h1>A run</h1>" in page
    (True, True)
    """
    numbered = list(enumerate(report.sections, start=1))
    page = Path(__file__).with_name("report.html").read_text(encoding="utf-8")
    return Template(page).substitute(  # a single pass: text in the page is not searched for places to fill
        title=escape(report.title),
        subtitle=escape(report.subtitle),
        facts="\n".join(f"<dt>{escape(label)}</dt><dd>{escape(text)}</dd>" for label, text in report.facts),
        contents="\n".join(f'<li><a href="#section-{k}">{escape(part.title)}</a></li>' for k, part in numbered),
        sections="\n".join(_section(k, part) for k, part in numbered),
    )


def _section(number: int, section: Section) -> str:
    return "\n".join(
        [
            f'<section id="section-{number}">',
            f"<h2>{escape(section.title)}</h2>",
            *(f"<p>{escape(paragraph)}</p>" for paragraph in section.text),
            '<div class="charts">',
            *map(_chart, section.charts),
            "</div>",
            *map(_table, section.tables),
            "</section>",
        ]
    )


def _table(table: DataTable) -> str:
    """Return a table in a box that scrolls, with focus for the keyboard, below a caption that does not scroll."""
    title, note = escape(table.title), f'\n<p class="note">{escape(table.note)}</p>' if table.note else ""
    columns = range(len(table.columns))
    align = [' class="number"' if any(isinstance(row[j], Real) for row in table.rows) else "" for j in columns]

    def line(tag: str, cells: Sequence[Cell]) -> str:
        inside = zip(cells, align, strict=True)
        return f"<tr>{''.join(f'<{tag}{how}>{escape(_text(cell))}</{tag}>' for cell, how in inside)}</tr>"

    body = "\n".join(line("td", row) for row in table.rows)
    return f"""<h3>{title}</h3>
<div class="table" tabindex="0" role="region" aria-label="{title}">
<table aria-label="{title}">
<thead>{line("th", table.columns)}</thead>
<tbody>
{body}
</tbody></table></div>{note}"""


def _text(cell: Any) -> str:
    """Print a cell: whole numbers in full, others with four significant digits."""
    if cell is None or cell != cell:
        return MISSING
    if isinstance(cell, Integral):
        return f"{cell:,}"
    return f"{cell:.4g}" if isinstance(cell, Real) else str(cell)


# --- Pictures -------------------------------------------------------------------------------------------------


def _chart(chart: Chart) -> str:
    """Draw a chart, one panel above the other, as a picture within the page."""
    from matplotlib.figure import Figure

    panels = [(chart.x[0], y) for y in chart.y] + [(x, chart.y[0]) for x in chart.x[1:]]
    figure = Figure(figsize=(PANEL[0], PANEL[1] * len(panels) + 0.5), layout="constrained")
    for ax, (x, y) in zip(figure.subplots(len(panels), squeeze=False)[:, 0], panels, strict=True):
        draw(ax, chart.series, x, y, chart.log_x, chart.log_y)
    handles = {label: line for ax in figure.axes for line, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    figure.legend(handles.values(), handles, loc="outside upper left", ncols=3, frameon=False, fontsize="small")
    picture = BytesIO()
    figure.savefig(picture, format="svg")
    about = "; ".join(f"{y} against {x}" for (_, x), (_, y) in panels)
    return f"""<figure id="chart-{escape(chart.key)}">
<h3>{escape(chart.title)}</h3>
<img alt="{escape(about)}" src="data:image/svg+xml;base64,{b64encode(picture.getvalue()).decode()}">
<figcaption>{escape(chart.note)}</figcaption>
</figure>"""


def draw(
    ax: Any, series: Sequence[Series], x: tuple[str, str], y: tuple[str, str], log_x: bool = True, log_y: bool = True
) -> None:
    """Draw curves with their bands on matplotlib axes.

    Parameters
    ----------
    ax : matplotlib Axes
        Where to draw.
    series : sequence of Series
        The curves.
    x, y : (str, str)
        The quantities on the axes, with their labels.
    log_x, log_y : bool
        Whether the axes are logarithmic.
    """
    ax.set(xscale="log" if log_x else "linear", yscale="log" if log_y else "linear", xlabel=x[1], ylabel=y[1])
    for each in sorted(series, key=lambda each: each.shown):  # grey lines first, below the others
        if x[0] not in each.values or y[0] not in each.values:
            continue
        across, up = _visible(each.values[x[0]], log_x), _visible(each.values[y[0]], log_y)
        seen = int(np.isfinite(across + up).sum())
        if not each.shown:
            ax.plot(across, up, color=COLOURS["gap_estimate"], lw=0.7)
        if not each.shown or not seen:
            continue
        style = {"ls": "--" if each.dashed else "-", "marker": "o" if each.points or seen == 1 else None, "ms": 4}
        ax.plot(across, up, color=each.colour, lw=1.8, label=each.name, **style)
        if y[0] in each.low:
            ax.fill_between(across, each.low[y[0]], each.high[y[0]], color=each.colour, alpha=0.18, lw=0)
    tidy(ax)


def _visible(column: Column, log: bool) -> np.ndarray:
    """Return a column with NaN for what an axis cannot show."""
    values = np.asarray(column, dtype=np.float64)
    return np.where(np.isfinite(values) & ((values > 0.0) | (not log)), values, np.nan)
