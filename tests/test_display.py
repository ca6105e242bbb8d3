"""Results in notebooks: what is shown is true, complete and drawn."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest

import frankwolfe as fw
from frankwolfe.summary import verdict
from tests import cases


@pytest.fixture(scope="module")
def results():
    problem = cases.problem(n=200, d=20)
    with fw.python_mode():
        return {
            "certified": fw.minimize(problem, "corrective", tol=1e-6),
            "open": fw.minimize(problem, "sfw", tol=1e-9, max_passes=3, random_state=0),
            "stationary": fw.minimize(cases.problem(fw.Cauchy(0.8), n=50), "fw", tol=1e-1, max_passes=500),
            "no tolerance": fw.minimize(problem, "fw", tol=0, max_passes=5),
            "no trace": fw.minimize(problem, "fw", tol=0, max_passes=5, trace=0),
            "one point": fw.minimize(problem, "fw", tol=0, max_passes=0, trace=0),
        }


class Balance(HTMLParser):
    """Holds every tag that is opened to being closed."""

    def __init__(self, text):
        super().__init__()
        self.open = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.mark.parametrize("name", ["certified", "open", "stationary", "no tolerance", "no trace", "one point"])
def test_the_display_is_whole_and_stands_alone(name, results):
    page = results[name]._repr_html_()
    assert Balance(page).open == []
    assert not re.search(r"<script|https?://|src=|url\(", page)
    assert f"{results[name].fun:.12g}" in page
    assert ("<polyline" in page) == (name != "one point")
    assert ("dashed: tolerance" in page) == (name in ("certified", "open", "stationary"))


def test_the_certificate_in_words(results):
    word, words = verdict(results["certified"])
    assert word == "Certified"
    assert "no weights in the set have an objective more than" in words
    word, words = verdict(results["open"])
    assert word.startswith("Not certified")
    assert "3 passes" in words
    word, words = verdict(results["stationary"])
    assert word == "Stationary"
    assert "better weights may exist elsewhere" in words


def test_the_curve_ends_at_the_exact_gap(results):
    result = results["open"]
    points = re.search(r'points="([^"]+)"', result._repr_html_())[1].split()
    heights = np.array([float(point.split(",")[1]) for point in points])
    tolerance = float(re.search(r'<line [^>]*y1="([\d.]+)"', result._repr_html_())[1])
    gaps = np.append(result.trace.gap_estimate[result.trace.gap_estimate > 0.0], result.gap)
    assert len(heights) == len(gaps)
    scale = (heights[-1] - tolerance) / (np.log10(result.gap) - np.log10(result.tolerance))
    np.testing.assert_allclose(heights, tolerance + scale * np.log10(gaps / result.tolerance), atol=0.2)


def test_showing_a_result_costs_no_pass(results, monkeypatch):
    monkeypatch.setattr(fw.Problem, "evaluate", lambda self, w: pytest.fail("a pass over the data"))
    results["open"]._repr_html_()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_are_readable_on_light_and_dark_paper(scheme, results, browser, tmp_path):
    page = tmp_path / "result.html"
    page.write_text(f'<!doctype html><meta charset="utf-8"><body>{results["open"]._repr_html_()}', encoding="utf-8")
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    try:
        browser.get_log("browser")
        browser.get(f"file://{page}")
        paper = browser.find_element("css selector", "div[id^=fw-]").value_of_css_property("background-color")
        for place in (".word", "dt", "dd", "figcaption"):
            ink = browser.find_element("css selector", place).value_of_css_property("color")
            assert contrast(ink, paper) >= 4.5, (place, ink, paper)  # what WCAG asks of text
        drawing = browser.find_element("css selector", "svg")
        assert drawing.size["width"] > 200
        assert drawing.size["height"] > 40
        assert browser.get_log("browser") == []
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def contrast(ink, paper):
    """Contrast of two CSS colours, as WCAG defines it."""

    def luminance(colour):
        channels = np.array([float(part) for part in re.findall(r"[\d.]+", colour)[:3]]) / 255.0
        linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
        return linear @ [0.2126, 0.7152, 0.0722]

    dark, light = sorted((luminance(ink), luminance(paper)))
    return (light + 0.05) / (dark + 0.05)
