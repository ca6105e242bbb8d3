"""The HTML report: what Python writes, and what a browser makes of it."""

import json
import re
from html.parser import HTMLParser
from itertools import pairwise, product

import numpy as np
import pytest

from frankwolfe.paper.report import Chart, DataTable, Report, Section, Series, render

HOSTILE = "</script><script>alert('x')</script> & <b>\"bold\"</b> {{js}} \u2028"
X = [("passes", "Passes over the data"), ("seconds", "Seconds")]
Y = [("relative", "Relative suboptimality"), ("gap", "Gap")]


def falling(name, power, colour, **options):
    """A curve that falls like a power of the passes, with a band around its first quantity."""
    passes = np.geomspace(0.1, 200, 60)
    relative = passes**-power
    values = {"passes": passes, "seconds": passes / 1000, "relative": relative, "gap": 3 * relative - 1e-2}
    low, high = {"relative": relative / 2}, {"relative": relative * 2}
    return Series(name, values, colour, low=low, high=high, **options)


def demo():
    """Three panels that share their names, one chart alone, a wide table and a long text."""
    curves = [falling("fw", 0.5, "#0072b2", points=True), falling("sfw", 1.0, "#d55e00", dashed=True)]
    panels = [Chart(f"panel-{k}", f"Panel {k}", X, Y, curves, note="Ten seeds.") for k in range(3)]
    alone = Chart("alone", "Alone", X[:1], Y[1:], curves, log_x=False, log_y=False)
    table = DataTable("Runs", [f"A rather long heading {j}" for j in range(9)], [["fw", *np.arange(8) / 7]])
    return Report(
        "A report",
        "of curves",
        [("Seeds", "10"), ("Command", "x" * 80)],
        [Section("Panels", ["Words. " * 80], panels, [table]), Section("One chart", [], [alone])],
    )


class Outline(HTMLParser):
    """The elements of a page in order, with their attributes, and whether all were closed in order."""

    def __init__(self, page):
        super().__init__()
        self.elements, self.open = [], []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in {"meta", "link", "br"}:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def count(self, tag):
        return sum(name == tag for name, _ in self.elements)

    def ids(self):
        return [attributes["id"] for _, attributes in self.elements if "id" in attributes]


def data_of(page):
    return json.loads(re.search(r'<script type="application/json" id="charts">(.*?)</script>', page, re.S)[1])


def one_chart(series, **options):
    chart = Chart("k", "t", [("x", "x")], [("y", "y")], series, **options)
    return Report("t", "s", [], [Section("One", [], [chart])])


def cells_of(*cells):
    page = render(Report("t", "s", [], [Section("One", [], tables=[DataTable("T", ["c"] * len(cells), [cells])])]))
    return re.findall(r"<td(?: class=\"(number)\")?>(.*?)</td>", page)


# ---- What Python writes ----


def test_every_text_is_escaped():
    h = HOSTILE
    series = Series(h, {h: [1.0], "y": [1.0]}, colour=h)
    chart = Chart(h, h, [(h, h)], [("y", h)], [series], note=h)
    page = render(Report(h, h, [(h, h)], [Section(h, [h], [chart], [DataTable(h, [h], [[h]], h)])]))
    plain = render(one_chart([Series("a", {"x": [1.0], "y": [1.0]}, "red")]))
    assert Outline(page).count("script") == Outline(plain).count("script") == 2
    assert Outline(page).count("b") == 0
    assert page.count("{{js}}") > 10  # the texts' own braces are no places to fill
    (drawn,) = data_of(page)
    assert drawn["title"] == drawn["series"][0]["name"] == drawn["series"][0]["colour"] == h


def test_holes_become_null_and_numbers_are_short():
    y = np.array([np.nan, np.inf, -np.inf, 1 / 3, 2e-17 / 3, -5.0])
    page = render(one_chart([Series("a", {"x": range(6), "y": y}, "red")]))
    (chart,) = data_of(page)
    assert chart["series"][0]["values"] == {"x": [0, 1, 2, 3, 4, 5], "y": [None, None, None, 0.333333, 6.66667e-18, -5]}
    assert "[null,null,null,0.333333,6.66667e-18,-5]" in page


def test_only_columns_the_chart_offers_are_sent():
    series = Series("a", {"x": [1], "y": [2], "unused": [12345]}, "red", low={"y": [1]}, high={"y": [3]})
    (curve,) = data_of(render(one_chart([series])))[0]["series"]
    assert curve["values"] == {"x": [1], "y": [2]}
    assert (curve["low"], curve["high"]) == ({"y": [1]}, {"y": [3]})


def test_structure():
    page = render(demo())
    outline = Outline(page)
    assert page.startswith("<!doctype html>")
    assert outline.open == []
    assert [outline.count(tag) for tag in ("h1", "h2", "figure", "table", "section")] == [1, 2, 4, 1, 2]
    links = [attributes["href"] for tag, attributes in outline.elements if tag == "a"]
    assert links == ["#section-1", "#section-2"]
    assert len(set(outline.ids())) == len(outline.ids())
    assert {link[1:] for link in links} <= set(outline.ids())


def test_nothing_comes_from_outside():
    page = render(demo())
    assert set(re.findall(r"\w*:?//[\w.][^\s\"'`]*", page)) == {"http://www.w3.org/2000/svg"}
    assert "default-src 'none'" in page
    assert not re.search(r"<(link|img|iframe)|@import|url\((?!#)|\bsrc=", page)
    sources = {attributes.get("src") for tag, attributes in Outline(page).elements if tag == "script"}
    assert sources == {None}


def test_the_file_is_small():
    rows = np.random.default_rng(0).random((2, 1000))
    empty = len(render(one_chart([])))
    full = len(render(one_chart([Series("a", {"x": rows[0], "y": rows[1]}, "red")])))
    assert empty < 50_000
    assert full - empty < 2000 * 11


def test_numbers_in_tables():
    cells = cells_of(
        "1.50000", 12.34567, 1234567, 1.2e-7, 4567.8, -0.5, None, np.nan, np.inf, np.int64(3), np.float32(0.5)
    )
    assert [text for _, text in cells] == [
        "1.50000",
        "12.35",
        "1,234,567",
        "1.20\N{MULTIPLICATION SIGN}10⁻⁷",
        "4,568",
        "\N{MINUS SIGN}0.5",
        "\N{EN DASH}",
        "\N{EN DASH}",
        "∞",
        "3",
        "0.5",
    ]
    assert [how for how, _ in cells] == [""] + ["number"] * 5 + [""] + ["number"] * 4


def test_columns_must_be_equally_long():
    with pytest.raises(ValueError, match="must be equally long"):
        Series("a", {"x": [1], "y": [1, 2]}, "red")


# ---- What a browser makes of it ----


class Page:
    """A report in the browser, and questions about it."""

    def __init__(self, browser, folder):
        self.browser, self.file = browser, folder / "report.html"

    def open(self, report, width=1280, height=900):
        self.file.write_text(render(report), encoding="utf-8")
        self.resize(width, height)
        self.prefer("light")
        self.browser.get(self.file.as_uri())
        self.settle()

    def prefer(self, theme):
        """Choose a theme. Motion is reduced always: smooth scrolling would move what a test is about to click."""
        wishes = {"prefers-color-scheme": theme, "prefers-reduced-motion": "reduce"}
        features = [{"name": name, "value": value} for name, value in wishes.items()]
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def resize(self, width, height=900):
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    def settle(self):
        """Wait until the page has been laid out and its observers have drawn."""
        self.browser.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")

    def all(self, selector):
        return self.browser.find_elements("css selector", selector)

    def one(self, selector):
        (element,) = self.all(selector)
        return element

    def texts(self, selector):
        return self.browser.execute_script(
            "return [...document.querySelectorAll(arguments[0])].map((node) => node.textContent)", selector
        )

    def curves(self, chart):
        return [group.get_attribute("data-series") for group in self.all(f"#chart-{chart} [data-series]")]

    def path(self, chart, name):
        return self.one(f"#chart-{chart} [data-series={name}] .line").get_attribute("d")

    def click(self, selector):
        self.one(selector).click()

    def pick(self, chart, axis, quantity):
        self.click(f"#chart-{chart} select[data-axis={axis}] option[value={quantity}]")

    def hover(self, chart, share):
        """Move the pointer to a share of the picture's width."""
        picture = self.one(f"#chart-{chart} svg")
        self.browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", picture)
        self.move(picture, int((share - 0.5) * picture.size["width"]))

    def leave(self):
        self.move(self.one("h1"), 0)

    def move(self, element, aside):
        """Move the pointer to an element's middle, or so far beside it."""
        from selenium.webdriver import ActionChains

        ActionChains(self.browser, duration=0).move_to_element_with_offset(element, aside, 0).perform()

    def overlaps(self, selector, axis):
        """Pairs of neighbouring labels that touch, along an axis."""
        start, stop = {"x": ("left", "right"), "y": ("top", "bottom")}[axis]
        boxes = self.browser.execute_script(
            "return [...document.querySelectorAll(arguments[0])].map((node) => node.getBoundingClientRect().toJSON())",
            selector,
        )
        return [(a, b) for a, b in pairwise(sorted((box[start], box[stop]) for box in boxes)) if a[1] > b[0]]

    def widths(self):
        """How wide the page wants to be, and how wide it may be."""
        return self.browser.execute_script(
            "const page = document.documentElement; return [page.scrollWidth, page.clientWidth]"
        )


@pytest.fixture
def page(browser, tmp_path):
    browser.get_log("browser")  # what earlier tests left
    yield Page(browser, tmp_path)
    assert browser.get_log("browser") == []


def test_draws_every_chart(page):
    page.open(demo())
    for chart in ("panel-0", "panel-1", "panel-2", "alone"):
        assert page.curves(chart) == ["fw", "sfw"]
    assert len(page.all("#chart-panel-0 .band")) == 2
    assert len(page.all("#chart-panel-0 .dot")) == 60  # of the one curve that marks its points
    assert page.one("#chart-panel-0 .line.dashed")
    assert page.texts("#chart-panel-0 .xlabel, #chart-panel-0 .ylabel") == [Y[0][1], X[0][1]]


def test_legend_hides_a_curve_in_the_whole_section_and_brings_it_back(page):
    page.open(demo())
    ticks = page.texts("#chart-panel-0 .y-tick")
    button = page.all("#chart-panel-0 .legend button")[1]
    assert (button.text, button.get_attribute("aria-pressed")) == ("sfw", "true")
    button.click()
    assert button.get_attribute("aria-pressed") == "false"
    assert [page.curves(f"panel-{k}") for k in range(3)] == [["fw"]] * 3
    assert page.all("#chart-panel-2 .legend button")[1].get_attribute("aria-pressed") == "false"
    assert page.curves("alone") == ["fw", "sfw"]  # another section
    assert page.texts("#chart-panel-0 .y-tick") != ticks  # the axes fit what is left
    page.all("#chart-panel-2 .legend button")[1].click()
    assert [page.curves(f"panel-{k}") for k in range(3)] == [["fw", "sfw"]] * 3
    assert page.texts("#chart-panel-0 .y-tick") == ticks


def test_legend_works_from_the_keyboard(page):
    page.open(demo())
    button = page.all("#chart-panel-0 .legend button")[0]
    button.send_keys("\ue007")  # Enter
    assert page.curves("panel-0") == ["sfw"]
    assert page.browser.switch_to.active_element == button
    button.send_keys(" ")
    assert page.curves("panel-0") == ["fw", "sfw"]
    for each in page.all(".legend button"):
        assert each.get_attribute("aria-pressed") == "true"


def test_all_hidden_says_so(page):
    page.open(demo())
    for button in page.all("#chart-alone .legend button"):
        button.click()
    assert page.texts("#chart-alone svg text") == ["No curve to show"]
    page.hover("alone", 0.5)
    assert not page.one("#chart-alone .tooltip").is_displayed()


def test_axes_switch_between_log_and_linear(page):
    page.open(demo())
    for axis, powers in (("x", "10⁻¹ 10⁰ 10¹ 10²"), ("y", "10⁻² 10⁻¹ 10⁰ 10¹")):
        ticks = f"#chart-panel-0 .{axis}-tick"
        box = page.one(f"#chart-panel-0 input[data-axis={axis}]")
        assert set(powers.split()) <= set(page.texts(ticks))
        assert box.is_selected()
        before = page.path("panel-0", "fw")
        box.click()
        assert page.texts(ticks)[0] == "0"
        assert not any("⁰" in text or "¹" in text for text in page.texts(ticks))
        assert page.path("panel-0", "fw") != before
        box.click()
        assert page.path("panel-0", "fw") == before


def test_log_axes_break_the_curve_where_values_are_not_positive(page):
    y = [1.0, 0.5, -0.1, 0.0, 0.2, None, 0.1, 0.05]
    values = {"x": range(1, 9), "y": [np.nan if value is None else value for value in y]}
    page.open(one_chart([Series("a", values, "red")]))
    assert page.path("k", "a").count("M") == 3
    page.click("#chart-k input[data-axis=y]")
    assert page.path("k", "a").count("M") == 2  # the missing value only
    assert page.path("k", "a").count("L") == 5


def test_quantities_can_be_chosen(page):
    page.open(demo())
    assert len(page.all("#chart-panel-0 select")) == 2
    assert page.all("#chart-alone select") == []  # nothing to choose
    before, ticks = page.path("panel-0", "fw"), page.texts("#chart-panel-0 .x-tick")
    page.pick("panel-0", "y", "gap")
    assert page.texts("#chart-panel-0 .ylabel") == ["Gap"]
    assert page.path("panel-0", "fw") != before
    page.pick("panel-0", "x", "seconds")
    assert page.texts("#chart-panel-0 .xlabel") == ["Seconds"]
    assert page.texts("#chart-panel-0 .x-tick") != ticks
    assert page.texts("#chart-panel-1 .xlabel") == [X[0][1]]  # each panel for itself
    page.click("#chart-panel-0 input[data-axis=x]")
    linear = page.path("panel-0", "fw")
    page.pick("panel-0", "x", "passes")
    assert page.path("panel-0", "fw") == linear  # seconds are passes on another scale


def test_curves_without_the_quantity_are_left_out(page):
    columns = {"passes": [1, 2], "relative": [1, 0.5], "gap": [1, 0.5]}
    timed = Series("timed", {**columns, "seconds": [1, 2]}, "red")
    page.open(
        Report("t", "s", [], [Section("s", [], [Chart("k", "t", X, Y, [timed, Series("bound", columns, "grey")])])])
    )
    assert page.path("k", "bound")
    page.pick("k", "x", "seconds")
    assert page.path("k", "bound") == ""
    page.hover("k", 0.5)
    assert page.texts("#chart-k .tooltip tr td:first-child") == ["timed"]


def test_hover_lists_the_values_at_the_nearest_point(page):
    columns = {"x": [1, 2, 3, 4, 5], "y": [10, 20, 30, 40, 50]}
    banded = Series("a", columns, "red", low={"y": [9] * 5}, high={"y": [60] * 5})
    short = Series("b", {"x": [1, 2], "y": [0.001234, 7]}, "blue", points=True)
    page.open(one_chart([banded, short], log_x=False, log_y=False))
    tooltip = page.one("#chart-k .tooltip")
    assert not tooltip.is_displayed()
    page.hover("k", 0.99)
    assert tooltip.is_displayed()
    assert page.texts("#chart-k .tooltip caption") == ["x: 5"]
    assert page.texts("#chart-k .tooltip td") == ["a", "50", "9 to 60", "b", "7", "at 2"]
    assert len(page.all("#chart-k .near")) == 2
    page.hover("k", 0.02)
    assert page.texts("#chart-k .tooltip td") == ["a", "10", "9 to 60", "b", "0.00123", ""]
    page.leave()
    assert not tooltip.is_displayed()
    assert page.all("#chart-k .near, #chart-k .guide") == []


def test_arrow_keys_walk_along_the_curve(page):
    page.open(one_chart([Series("a", {"x": [1, 2, 3], "y": [10, 20, 30]}, "red")]))
    picture = page.one("#chart-k svg")
    seen = []
    for key in ["\ue014", "\ue014", "\ue014", "\ue014", "\ue012"]:  # right four times, then left
        picture.send_keys(key)
        seen += page.texts("#chart-k .tooltip .value")
    assert seen == ["10", "20", "30", "30", "20"]
    picture.send_keys("\ue00c")  # Escape
    assert not page.one("#chart-k .tooltip").is_displayed()


@pytest.mark.parametrize(("width", "height", "across"), [(1280, 900, 3), (820, 1100, 2), (390, 844, 1)])
def test_fits_the_screen(page, width, height, across):
    page.open(demo(), width, height)
    wants, may = page.widths()
    assert wants <= may
    panels = page.all(".across-3 .chart")
    assert len({round(panel.rect["x"]) for panel in panels}) == across
    plots = page.all(".across-3 .plot")
    assert len({round(plot.rect["y"]) for plot in plots[:across]}) == 1  # level
    assert page.overlaps("#chart-panel-0 .x-tick", "x") == []
    for share in (0.02, 0.5, 0.98):
        page.hover("panel-0", share)
        box = page.one("#chart-panel-0 .tooltip").rect
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= may
        assert page.widths() == [wants, may]


def test_redraws_when_the_window_changes(page):
    page.open(demo(), 1280)
    before = page.one("#chart-alone svg").get_dom_attribute("viewBox")
    page.resize(390)
    page.settle()
    picture = page.one("#chart-alone svg")
    assert picture.get_dom_attribute("viewBox") != before
    assert float(picture.get_dom_attribute("viewBox").split()[2]) == pytest.approx(picture.rect["width"], abs=1)


@pytest.mark.parametrize("log", [True, False])
def test_every_range_has_ticks_that_do_not_touch(page, log):
    lows, ratios = [3e-9, 0.21, 4.7, 98765.0], [1.0, 1.04, 2.5, 9.0, 40.0, 1e4, 1e15]
    charts = []
    for low, ratio in product(lows, ratios):
        column = np.geomspace(low, low * ratio, 5)
        series = Series("a", {"x": column, "y": column}, "red")
        charts.append(Chart(f"k{len(charts)}", f"{low} times {ratio}", [("x", "x")], [("y", "y")], [series], log, log))
    page.open(Report("t", "s", [], [Section("s", [], charts)]), width=390)
    for k, axis in product(range(len(charts)), "xy"):
        labels = page.texts(f"#chart-k{k} .{axis}-tick")
        assert 2 <= len(set(labels)) == len(labels), charts[k].title
        assert page.overlaps(f"#chart-k{k} .{axis}-tick", axis) == [], charts[k].title


def test_a_curve_may_wait_in_the_legend_until_it_is_wanted(page):
    curves = [
        Series("a", {"x": [1, 2], "y": [1, 2]}, "red"),
        Series("b", {"x": [1, 2], "y": [3, 9]}, "blue", shown=False),
    ]
    page.open(one_chart(curves))
    pressed = [button.get_attribute("aria-pressed") for button in page.all("#chart-k .legend button")]
    assert (pressed, len(page.all("#chart-k .line"))) == (["true", "false"], 1)
    page.all("#chart-k .legend button")[1].click()
    assert len(page.all("#chart-k .line")) == 2


def test_dark_theme_lifts_dark_curves(page):
    page.open(one_chart([Series("a", {"x": [1, 2], "y": [1, 2]}, "black")]))
    paper, line = page.one("body"), page.one("#chart-k .line")
    light = paper.value_of_css_property("background-color")
    assert line.value_of_css_property("stroke") == "rgb(0, 0, 0)"
    page.prefer("dark")
    assert paper.value_of_css_property("background-color") != light
    assert line.value_of_css_property("stroke").startswith("oklch(0.7 0 ")


def test_hostile_texts_stay_texts_in_the_browser(page):
    h = HOSTILE
    chart = Chart("k", h, [("x", h)], [("y", h)], [Series(h, {"x": [1, 2], "y": [1, 2]}, h)], note=h)
    page.open(Report(h, h, [(h, h)], [Section(h, [h], [chart], [DataTable(h, [h], [[h]], h)])]))
    page.hover("k", 0.5)
    assert page.all("b") == []
    assert page.texts("#chart-k .legend button, #chart-k .tooltip td:first-child") == [h, h]
