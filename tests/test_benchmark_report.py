"""The HTML report of the benchmarks: text that stays text, numbers in tables, and the curves that its pictures show."""

import re
from base64 import b64decode
from html.parser import HTMLParser

import numpy as np
import pytest
from matplotlib.figure import Figure

pytest.importorskip("benchmarks.report", reason="benchmarks are not part of the source distribution")
from benchmarks.report import Chart, DataTable, Report, Section, Series, draw, render

HOSTILE = "</style><script>alert('x')</script> & <b>\"bold\"</b> $title \u2028"
X = [("passes", "Passes over the data"), ("seconds", "Seconds")]
Y = [("relative", "Relative suboptimality"), ("gap", "Gap")]


def falling(name, power, **options):
    """A curve that falls like a power of the passes, with a band around its first quantity."""
    passes = np.geomspace(0.1, 200, 60)
    relative = passes**-power
    values = {"passes": passes, "seconds": passes / 1000, "relative": relative, "gap": 3 * relative - 1e-2}
    low, high = {"relative": relative / 2}, {"relative": relative * 2}
    return Series(name, values, "#0072b2", low=low, high=high, **options)


def demo():
    """Three charts of several panels, a chart alone, and a table."""
    curves = [falling("fw", 0.5, points=True), falling("sfw", 1.0, dashed=True)]
    several = [Chart(f"panel-{k}", f"Panel {k}", X, Y, curves, note="Ten seeds.") for k in range(3)]
    alone = Chart("alone", "Alone", X[:1], Y[1:], curves, log_x=False, log_y=False)
    table = DataTable("Runs", [f"Heading {j}" for j in range(9)], [["fw", *np.arange(8) / 7]])
    sections = [Section("Panels", ["Words."], several, [table]), Section("One chart", [], [alone])]
    return Report("A report", "of curves", [("Seeds", "10")], sections)


class Outline(HTMLParser):
    """The elements of a page in order, with their attributes; all must be closed in order."""

    def __init__(self, page):
        super().__init__()
        self.elements, self.open = [], []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in {"meta", "img"}:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


def drawn(*series, y=Y[0], **options):
    """The axes of a panel."""
    ax = Figure().subplots()
    draw(ax, series, X[0], y, **options)
    return ax


def test_every_text_is_escaped():
    curve = Series(HOSTILE, {"passes": [1, 2], "gap": [1.0, 0.5]}, "#000")
    chart = Chart("hostile", HOSTILE, [("passes", HOSTILE)], [("gap", HOSTILE)], [curve], note=HOSTILE)
    table = DataTable(HOSTILE, [HOSTILE], [[HOSTILE]], HOSTILE)
    page = render(Report(HOSTILE, HOSTILE, [(HOSTILE, HOSTILE)], [Section(HOSTILE, [HOSTILE], [chart], [table])]))
    whole = Outline(page)
    assert whole.all("script") == whole.all("b") == []
    assert page.count("$title") == page.count("&lt;b&gt;")  # no text of a user's is a place to fill


def test_structure():
    whole = Outline(render(demo()))
    assert [len(whole.all(tag)) for tag in ("h1", "section", "figure", "img", "table", "script")] == [1, 2, 4, 4, 1, 0]
    ids = [attributes["id"] for _, attributes in whole.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    links = {attributes["href"].removeprefix("#") for attributes in whole.all("a")}
    assert links == {"section-1", "section-2"} <= set(ids)
    about = "Relative suboptimality against Passes over the data; Gap against Passes over the data; "
    assert whole.all("img")[0]["alt"] == f"{about}Relative suboptimality against Seconds"


def test_nothing_comes_from_outside():
    page = render(demo())
    assert "default-src 'none'" in page
    assert all(attributes["src"].startswith("data:image/svg+xml;base64,") for attributes in Outline(page).all("img"))
    assert not re.search(r"https?:|url\(|@import|<link", page)
    pictures = [b64decode(attributes["src"].partition(",")[2]) for attributes in Outline(page).all("img")]
    assert all(picture.rstrip().endswith(b"</svg>") for picture in pictures)


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (None, "\N{EN DASH}"),
        (np.nan, "\N{EN DASH}"),
        ("fw", "fw"),
        (20242, "20,242"),
        (np.int64(1234567), "1,234,567"),
        (0.929031, "0.929"),
        (-1.0, "-1"),
        (0.00000123456, "1.235e-06"),
        (np.inf, "inf"),
    ],
)
def test_numbers_in_tables(cell, text):
    table = DataTable("", ["one"], [[cell]])
    page = render(Report("", "", [], [Section("", [], [], [table])]))
    assert re.findall(r"<td[^>]*>(.*)</td>", page) == [text]
    assert ('<td class="number">' in page) == (not isinstance(cell, str) and cell is not None)


def test_values_that_an_axis_cannot_show_leave_holes():
    curve = Series("fw", {"passes": [0, 1, 2, 4, 8], "gap": [1.0, 1.0, np.inf, -1.0, 0.5]}, "#000")
    (line,) = drawn(curve, y=Y[1]).lines
    np.testing.assert_array_equal(np.isnan(line.get_xdata() + line.get_ydata()), [True, False, True, True, False])
    (line,) = drawn(curve, y=Y[1], log_x=False, log_y=False).lines
    np.testing.assert_array_equal(np.isnan(line.get_xdata() + line.get_ydata()), [False, False, True, False, False])


def test_curves_that_lack_a_quantity_or_have_no_point_are_left_out():
    whole, partial = falling("fw", 0.5), Series("sfw", {"passes": [1, 2], "gap": [1, 1]}, "#000")
    hopeless = Series("away", {"passes": [1, 2], "relative": [0.0, -1.0]}, "#000")
    assert drawn(whole, partial, hopeless).get_legend_handles_labels()[1] == ["fw"]
    assert drawn(hopeless).get_legend_handles_labels()[1] == []


def test_styles():
    ax = drawn(falling("fw", 0.5, points=True), falling("sfw", 1.0, dashed=True), falling("other", 1.0, shown=False))
    other, dotted, dashed = ax.lines  # grey lines are below the others
    assert dotted.get_marker() == "o"
    assert (dashed.get_marker(), dashed.get_linestyle()) == ("None", "--")
    assert other.get_linewidth() < 1.0
    assert ax.get_legend_handles_labels()[1] == ["fw", "sfw"]
    assert len(ax.collections) == 2  # a band for each curve with a name
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
