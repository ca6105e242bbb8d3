r"""A report of curves and tables as one HTML file that needs nothing else: no network, no fonts, no other file.

Python writes the text, the tables and the places of the charts; the curves travel as JSON in the page, and the script
in ``report.js`` draws them. Every text is plain text: it is escaped, never read as markup.
"""

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib import resources
from numbers import Integral, Real
from typing import Any

import numpy as np

Column = Sequence[float] | np.ndarray
Cell = str | float | None

DIGITS = 6  # of a number in the page's data: finer than any screen
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
        Equally long columns by quantity. NaN and infinities leave a hole in the curve. A chart leaves the curve out
        while it shows a quantity that is not here.
    colour : str
        Any CSS colour.
    dashed : bool
        Draw a dashed line.
    low, high : mapping of str to sequence of float, optional
        The edges of a band around the curve, by quantity: the least and the largest over seeds, say.
    points : bool
        Mark every point of the line.
    """

    name: str
    values: Mapping[str, Column]
    colour: str
    dashed: bool = False
    low: Mapping[str, Column] | None = None
    high: Mapping[str, Column] | None = None
    points: bool = False

    def __post_init__(self):
        columns = [self.values, self.low or {}, self.high or {}]
        lengths = {len(column) for group in columns for column in group.values()}
        if len(lengths) > 1:
            raise ValueError(f"series {self.name!r} has columns of lengths {sorted(lengths)}: make them equally long")
        if set(self.low or {}) != set(self.high or {}):
            raise ValueError(
                f"series {self.name!r} has a band with one edge: give low and high for the same quantities"
            )


@dataclass(frozen=True)
class Chart:
    """Curves on one pair of axes.

    Parameters
    ----------
    key : str
        A name that no other chart of the report has; the chart's anchor is ``chart-<key>``.
    title : str
        Its heading.
    x, y : sequence of (str, str)
        Quantities with their labels. The first ones are shown first; where there are several, the reader may choose.
    series : sequence of Series
        The curves.
    log_x, log_y : bool
        Whether the axes start logarithmic. Values that are not positive then leave a hole in the curve.
    note : str
        A remark below the chart.
    """

    key: str
    title: str
    x: Sequence[tuple[str, str]]
    y: Sequence[tuple[str, str]]
    series: Sequence[Series]
    log_x: bool = True
    log_y: bool = True
    note: str = ""

    def __post_init__(self):
        for axis, quantities in (("x", self.x), ("y", self.y)):
            if not quantities:
                raise ValueError(f"chart {self.key!r} has no {axis} quantity: give at least one (quantity, label)")
            for quantity, _ in quantities:
                if self.series and not any(quantity in series.values for series in self.series):
                    raise ValueError(f"chart {self.key!r} offers {quantity!r}, which none of its series has")
        names = [series.name for series in self.series]
        if len(set(names)) < len(names):
            raise ValueError(f"chart {self.key!r} has two series of the same name: {names}")


@dataclass(frozen=True)
class DataTable:
    """A table: numbers right-aligned with four significant digits, whole numbers and texts as they are.

    Parameters
    ----------
    title : str
        Its caption.
    columns : sequence of str
        The headings.
    rows : sequence of sequences of str, float or None
        As many cells in each as there are columns. None and NaN print as a dash.
    note : str
        A remark below the table.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    note: str = ""

    def __post_init__(self):
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"table {self.title!r} has {len(self.columns)} columns and a row of {len(row)} cells")


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

    def __post_init__(self):
        keys = [chart.key for section in self.sections for chart in section.charts]
        for key in keys:
            if keys.count(key) > 1:
                raise ValueError(f"two charts have the key {key!r}: give each its own")


def render(report: Report) -> str:
    """Return the report as a complete HTML document.

    Examples
    --------
    >>> curve = Series("fw", {"passes": [1, 2, 4], "gap": [1.0, 0.4, 0.1]}, colour="#1d4ed8")
    >>> chart = Chart("gap", "The gap falls", x=[("passes", "Passes")], y=[("gap", "Gap")], series=[curve])
    >>> page = render(Report("A run", "of one method", [("data", "none")], [Section("Curves", ["One."], [chart])]))
    >>> page.startswith("<!doctype html>"), "<h1>A run</h1>" in page
    (True, True)
    """
    anchors = _anchors(section.title for section in report.sections)
    sections = list(zip(anchors, report.sections, strict=True))
    parts = {
        "title": escape(report.title),
        "subtitle": escape(report.subtitle),
        "facts": "\n".join(
            f"<div><dt>{escape(label)}</dt><dd>{escape(text)}</dd></div>" for label, text in report.facts
        ),
        "contents": "\n".join(f'<li><a href="#{anchor}">{escape(part.title)}</a></li>' for anchor, part in sections),
        "sections": "\n".join(_section(anchor, part) for anchor, part in sections),
        "data": _json(_payload(report)),
        "css": _file("report.css"),
        "js": _file("report.js"),
    }
    # One pass, so that nothing put into the page is itself searched for places to fill.
    return re.sub(r"\{\{(\w+)\}\}", lambda place: parts[place[1]], _file("report.html"))


def _file(name: str) -> str:
    return resources.files("frankwolfe.experiments").joinpath(name).read_text(encoding="utf-8")


def _anchors(titles: Iterable[str]) -> list[str]:
    """Return an anchor for each title, made of its letters and digits, and different from all the others."""
    anchors: list[str] = []
    for title in titles:
        stem = "section-" + (re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") or "untitled")
        anchor, copy = stem, 1
        while anchor in anchors:
            copy += 1
            anchor = f"{stem}-{copy}"
        anchors.append(anchor)
    return anchors


def _section(anchor: str, section: Section) -> str:
    # Four charts stand better as two and two than as three and one.
    across = {1: 1, 2: 2, 4: 2}.get(len(section.charts), 3)
    charts = "\n".join(_chart(chart) for chart in section.charts)
    return "\n".join(
        [
            f'<section id="{anchor}">',
            f"<h2>{escape(section.title)}</h2>",
            *(f"<p>{escape(paragraph)}</p>" for paragraph in section.text),
            *([f'<div class="charts across-{across}">', charts, "</div>"] if charts else []),
            *(_table(table) for table in section.tables),
            "</section>",
        ]
    )


def _chart(chart: Chart) -> str:
    """Return the chart's frame; the script fills the empty parts."""
    return "\n".join(
        [
            f'<figure class="chart" id="chart-{escape(chart.key)}">',
            f"<h3>{escape(chart.title)}</h3>",
            '<div class="legend" role="group" aria-label="Curves"></div>',
            '<div class="ylabel"></div>',
            '<div class="plot"></div>',
            '<div class="xlabel"></div>',
            '<div class="controls"></div>',
            f"<figcaption>{escape(chart.note)}</figcaption>",
            "</figure>",
        ]
    )


def _table(table: DataTable) -> str:
    numeric = [any(_is_number(row[j]) for row in table.rows) for j in range(len(table.columns))]
    align = [' class="number"' if right else "" for right in numeric]
    head = "".join(f'<th scope="col"{how}>{escape(name)}</th>' for name, how in zip(table.columns, align, strict=True))
    rows = (
        "".join(f"<td{how}>{escape(_cell(cell))}</td>" for cell, how in zip(row, align, strict=True))
        for row in table.rows
    )
    return "\n".join(
        [
            # Above the box, not a caption: it should not scroll away with a wide table.
            f'<h3 class="caption">{escape(table.title)}</h3>',
            # Focusable, because a wide table scrolls inside its own box and the keyboard must be able to do that.
            f'<div class="table" tabindex="0" role="region" aria-label="{escape(table.title)}">',
            f'<table aria-label="{escape(table.title)}">',
            f"<thead><tr>{head}</tr></thead>",
            "<tbody>",
            *(f"<tr>{row}</tr>" for row in rows),
            "</tbody></table></div>",
            *([f'<p class="note">{escape(table.note)}</p>'] if table.note else []),
        ]
    )


def _is_number(cell: Any) -> bool:
    return isinstance(cell, Real) and not isinstance(cell, bool)


def _cell(cell: Any) -> str:
    if cell is None:
        return MISSING
    return _number(cell) if _is_number(cell) else str(cell)


def _number(value: Real) -> str:
    """Print a number for reading: whole numbers in full, others with four significant digits."""
    if isinstance(value, Integral):
        return _typeset(f"{int(value):,}")
    number = float(value)
    if math.isnan(number):
        return MISSING
    if math.isinf(number):
        return _typeset("∞" if number > 0 else "-∞")
    if number and not 1e-3 <= abs(number) < 1e6:
        mantissa, exponent = f"{number:.2e}".split("e")
        return _typeset(mantissa) + "\N{MULTIPLICATION SIGN}10" + str(int(exponent)).translate(SUPERSCRIPTS)
    if abs(number) >= 1000:
        return _typeset(f"{number:,.0f}")
    return _typeset(f"{number:.4g}")


def _typeset(text: str) -> str:
    return text.replace("-", "\N{MINUS SIGN}")


def _payload(report: Report) -> list[dict[str, Any]]:
    """Return what the script draws: the charts, each with the number of its section."""
    return [
        {
            "key": chart.key,
            "section": number,
            "title": chart.title,
            "x": [list(quantity) for quantity in chart.x],
            "y": [list(quantity) for quantity in chart.y],
            "logX": bool(chart.log_x),
            "logY": bool(chart.log_y),
            "series": [_curve(series, chart) for series in chart.series],
        }
        for number, section in enumerate(report.sections)
        for chart in section.charts
    ]


def _curve(series: Series, chart: Chart) -> dict[str, Any]:
    """Return the series with the columns that the chart can show, and no others."""
    wanted = [quantity for quantity, _ in (*chart.x, *chart.y)]

    def columns(group: Mapping[str, Column] | None) -> dict[str, list[float | int | None]]:
        return {quantity: _rounded(group[quantity]) for quantity in wanted if group and quantity in group}

    return {
        "name": series.name,
        "colour": series.colour,
        "dashed": bool(series.dashed),
        "points": bool(series.points),
        "values": columns(series.values),
        "low": columns(series.low),
        "high": columns(series.high),
    }


def _rounded(column: Column) -> list[float | int | None]:
    """Return the column in few characters: rounded, whole numbers without a point, null for what is not finite."""
    short: list[float | int | None] = []
    for value in np.asarray(column, dtype=np.float64).tolist():
        if not math.isfinite(value):
            short.append(None)
            continue
        rounded = float(f"{value:.{DIGITS}g}")
        short.append(int(rounded) if rounded.is_integer() and abs(rounded) < 1e15 else rounded)
    return short


def _json(data: Any) -> str:
    """Return JSON that stays inside a script element whatever its strings say."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
