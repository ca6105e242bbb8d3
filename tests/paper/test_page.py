"""Tables and pictures of the paper's report."""

import numpy as np
from matplotlib.figure import Figure

from frankwolfe.paper.report import Line, Panel, draw, table

HOSTILE = "</td><script>alert('x')</script> & \"quoted\""


def test_text_is_escaped_and_numbers_are_aligned_wherever_they_are():
    page = table(HOSTILE, ["name", HOSTILE], [["fw", None], [HOSTILE, 0.5]])
    assert "<script" not in page
    assert page.count('class="number"') == 3
    assert '<td>fw</td><td class="number">\N{EN DASH}</td>' in page


def test_a_band_covers_the_seeds_and_what_an_axis_cannot_show_is_left_out():
    ax = Figure().subplots()
    x, y = np.array([0.0, 1.0, 2.0, 4.0]), np.array([[9.0, 3.0, 2.0, 0.0], [9.0, 5.0, 4.0, 0.0]])
    draw(ax, Panel("passes", "gap", [Line("sfw", x, y, "#000"), Line("fw", x, y[0], "#111", dashed=True)]))
    assert ax.lines[0].get_xydata().tolist() == [[1.0, 4.0], [2.0, 3.0]]  # zero is on no logarithmic axis
    assert ax.lines[1].get_linestyle() == "--"
    assert len(ax.collections) == 1
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
