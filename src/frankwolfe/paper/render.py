"""A report as one HTML file that needs nothing else: no network, no fonts, no other file.

Python writes the text, the tables and the places of the charts; the curves travel as JSON in the page, and the script
in ``report.js`` draws them. Every text is plain text: it is escaped, never read as markup.
"""

import json
import math
import re
from collections.abc import Iterable, Mapping
from html import escape
from importlib import resources
from numbers import Integral, Real
from typing import Any

import numpy as np

from frankwolfe.paper.report import Chart, Column, DataTable, Report, Section, Series

DIGITS = 6  # of a number in the page's data: finer than any screen
MISSING = "\N{EN DASH}"
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


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
    return resources.files("frankwolfe.paper").joinpath(name).read_text(encoding="utf-8")


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
        "shown": bool(series.shown),
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
