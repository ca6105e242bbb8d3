"""Reports with interactive charts, as one HTML file that needs nothing else: no network, no fonts, no other file.

`render` writes the text, the tables and the frames of the charts. The curves are in the page as JSON, and the script
in ``report.js`` draws them. All text is plain text: it is escaped, never read as markup.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from importlib import resources
from numbers import Integral, Real
from typing import Any

import numpy as np

Column = Sequence[float] | np.ndarray
Cell = str | float | None

MISSING = "\N{EN DASH}"
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class Series:
    """One curve, in every quantity it was measured in.

    Parameters
    ----------
    name : str
        Its name in the legend. Within a section, curves of the same name are shown and hidden together.
    values : mapping of str to sequence of float
        Columns of equal length by quantity. NaN and infinities leave a hole in the curve. A chart omits the curve
        while it shows a quantity that is not here.
    colour : str
        Any CSS colour.
    dashed, points : bool
        Whether to draw a dashed line; whether to mark every point.
    low, high : mapping of str to sequence of float
        The edges of a band around the curve by quantity, for instance the extremes over seeds.
    shown : bool
        Whether the curve is shown at first. Otherwise a click on its name in the legend shows it.
    """

    name: str
    values: Mapping[str, Column]
    colour: str
    dashed: bool = False
    low: Mapping[str, Column] = field(default_factory=dict)
    high: Mapping[str, Column] = field(default_factory=dict)
    points: bool = False
    shown: bool = True

    def __post_init__(self):
        lengths = {len(column) for group in (self.values, self.low, self.high) for column in group.values()}
        if len(lengths) > 1:
            raise ValueError(f"the columns of series {self.name!r} must be equally long, got {sorted(lengths)}")


@dataclass(frozen=True)
class Chart:
    """Curves on one pair of axes.

    Parameters
    ----------
    key : str
        Unique in the report; the anchor of the chart is ``chart-<key>``.
    title, note : str
        Heading and remark.
    x, y : sequence of (str, str)
        Quantities with their labels. The first is shown first, and the reader can choose among several.
    series : sequence of Series
        The curves.
    log_x, log_y : bool
        Whether the axes start logarithmic. Values that are not positive then leave a hole in the curve.
    """

    key: str
    title: str
    x: Sequence[tuple[str, str]]
    y: Sequence[tuple[str, str]]
    series: Sequence[Series]
    log_x: bool = True
    log_y: bool = True
    note: str = ""


@dataclass(frozen=True)
class DataTable:
    """A table with a caption and a note. Numbers are right-aligned; None and NaN print as a dash."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    note: str = ""


@dataclass(frozen=True)
class Section:
    """Paragraphs, then charts side by side where there is room, then tables."""

    title: str
    text: Sequence[str]
    charts: Sequence[Chart] = ()
    tables: Sequence[DataTable] = ()


@dataclass(frozen=True)
class Report:
    """The whole page: a title, facts about the run as (label, text), and sections with a table of contents."""

    title: str
    subtitle: str
    facts: Sequence[tuple[str, str]]
    sections: Sequence[Section]


def render(report: Report) -> str:
    """Return the report as a complete HTML document.

    Examples
    --------
    >>> from frankwolfe.paper.report import Chart, Report, Section, Series
    >>> curve = Series("fw", {"passes": [1, 2, 4], "gap": [1.0, 0.4, 0.1]}, colour="#1d4ed8")
    >>> chart = Chart("gap", "The gap falls", x=[("passes", "Passes")], y=[("gap", "Gap")], series=[curve])
    >>> page = render(Report("A run", "of one method", [("data", "none")], [Section("Curves", ["One."], [chart])]))
    >>> page.startswith("<!doctype html>"), "<h1>A run</h1>" in page
    (True, True)
    """
    numbered = list(enumerate(report.sections, start=1))
    charts = [_payload(chart, number) for number, section in numbered for chart in section.charts]
    facts = (f"<div><dt>{escape(label)}</dt><dd>{escape(text)}</dd></div>" for label, text in report.facts)
    parts = {
        "title": escape(report.title),
        "subtitle": escape(report.subtitle),
        "facts": "\n".join(facts),
        "contents": "\n".join(f'<li><a href="#section-{k}">{escape(part.title)}</a></li>' for k, part in numbered),
        "sections": "\n".join(_section(k, part) for k, part in numbered),
        "data": _json(charts),
        "css": _file("report.css"),
        "js": _file("report.js"),
    }
    # A single pass: text that was put into the page is not searched for places to fill.
    return re.sub(r"\{\{(\w+)\}\}", lambda place: parts[place[1]], _file("report.html"))


def _file(name: str) -> str:
    return resources.files("frankwolfe.paper").joinpath(name).read_text(encoding="utf-8")


def _section(number: int, section: Section) -> str:
    across = {1: 1, 2: 2, 4: 2}.get(len(section.charts), 3)  # four charts in two rows of two
    charts = [f'<div class="charts across-{across}">', *map(_chart, section.charts), "</div>"]
    return "\n".join(
        [
            f'<section id="section-{number}">',
            f"<h2>{escape(section.title)}</h2>",
            *(f"<p>{escape(paragraph)}</p>" for paragraph in section.text),
            *(charts if section.charts else ()),
            *map(_table, section.tables),
            "</section>",
        ]
    )


def _chart(chart: Chart) -> str:
    """Return the frame of a chart; the script fills the empty parts."""
    return f"""<figure class="chart" id="chart-{escape(chart.key)}">
<h3>{escape(chart.title)}</h3>
<div class="legend" role="group" aria-label="Curves"></div>
<div class="ylabel"></div>
<div class="plot"></div>
<div class="xlabel"></div>
<div class="controls"></div>
<figcaption>{escape(chart.note)}</figcaption>
</figure>"""


def _table(table: DataTable) -> str:
    """Return a table in a box that scrolls, with focus for the keyboard, below a caption that does not scroll."""
    title, note = escape(table.title), f'\n<p class="note">{escape(table.note)}</p>' if table.note else ""
    right = [any(isinstance(row[j], Real) for row in table.rows) for j in range(len(table.columns))]
    align = [' class="number"' if each else "" for each in right]

    def line(tag: str, cells: Sequence[Cell], attributes: str = "") -> str:
        inside = zip(cells, align, strict=True)
        return f"<tr>{''.join(f'<{tag}{attributes}{how}>{escape(_text(cell))}</{tag}>' for cell, how in inside)}</tr>"

    body = "\n".join(line("td", row) for row in table.rows)
    return f"""<h3 class="caption">{title}</h3>
<div class="table" tabindex="0" role="region" aria-label="{title}">
<table aria-label="{title}">
<thead>{line("th", table.columns, ' scope="col"')}</thead>
<tbody>
{body}
</tbody></table></div>{note}"""


def _text(cell: Any) -> str:
    """Print a cell: whole numbers in full, others with four significant digits."""
    if cell is None or cell != cell:
        return MISSING
    if not isinstance(cell, Real):
        return str(cell)
    number = float(cell)
    size = abs(number)
    if isinstance(cell, Integral) or 1000 <= size < 1e6:
        text, power = f"{number:,.0f}", ""
    elif size and not 1e-3 <= size < 1e6 and math.isfinite(size):
        text, exponent = f"{number:.2e}".split("e")
        power = "\N{MULTIPLICATION SIGN}10" + str(int(exponent)).translate(SUPERSCRIPTS)
    else:
        text, power = f"{number:.4g}".replace("inf", "∞"), ""
    return text.replace("-", "\N{MINUS SIGN}") + power


def _payload(chart: Chart, section: int) -> dict[str, Any]:
    """Return what the script draws: the curves, with only the columns that the chart can show."""
    wanted = {quantity for quantity, _ in (*chart.x, *chart.y)}

    def columns(group: Mapping[str, Column]) -> dict[str, list[float | None]]:
        return {name: [_short(value) for value in group[name]] for name in group if name in wanted}

    names = ("name", "colour", "dashed", "points", "shown")
    series = [
        {name: getattr(each, name) for name in names}
        | {name: columns(getattr(each, name)) for name in ("values", "low", "high")}
        for each in chart.series
    ]
    axes = {"x": chart.x, "y": chart.y, "logX": chart.log_x, "logY": chart.log_y}
    return {"key": chart.key, "section": section, "title": chart.title, **axes, "series": series}


def _short(value: float) -> float | None:
    """Round to six digits, finer than any screen; whole numbers have no point, values that are not finite are null."""
    if not math.isfinite(value):
        return None
    rounded = float(f"{value:.6g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < 1e15 else rounded


def _json(data: Any) -> str:
    """Return JSON that cannot end the script element it is in, whatever its strings hold."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
