"""Plots of rank, spectrum and groups: what they draw is what the result holds."""

import numpy as np
import pytest

import frankwolfe as fw
from tests import cases
from tests.test_completion import posed

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402 - after the backend


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def multinomial():
    X, y = cases.vector_table(fw.Multinomial(), outputs=5, n=60)
    return fw.Problem(X, y, "multinomial", fw.TraceBall(2.0))


@pytest.mark.parametrize("make", [multinomial, posed], ids=["weights", "completion"])
@pytest.mark.parametrize("method", ["corrective", "fw"])
def test_rank_along_the_run_and_spectrum(make, method):
    result = fw.minimize(make(), method, tol=1e-3, max_passes=50, random_state=0)
    assert result.trace.complexity[0] == 0
    assert result.trace.complexity[-1] == result.rank > 0
    axes = result.plot_complexity()
    np.testing.assert_array_equal(axes.get_lines()[0].get_ydata(), result.trace.complexity)
    np.testing.assert_array_equal(axes.get_lines()[0].get_xdata(), result.trace.passes)
    assert "rank" in axes.get_ylabel()
    axes.figure.canvas.draw()
    axes = result.plot_spectrum()
    heights = [bar.get_height() for bar in axes.patches]
    np.testing.assert_allclose(heights, result.singular_values)
    assert f"rank {result.rank}" in axes.get_title()
    assert len({bar.get_facecolor() for bar in axes.patches}) == (1 if result.rank == len(heights) else 2)
    axes.figure.canvas.draw()
    assert result.plot_spectrum(ax=axes) is axes


def test_complexity_of_a_vector_is_its_number_of_non_zeros():
    result = fw.minimize(cases.problem(), "fw", tol=0, max_passes=20)
    assert result.trace.complexity[-1] == result.nonzeros
    assert np.all(result.trace.complexity <= result.trace.nit)
    assert "non-zeros" in result.plot_complexity().get_ylabel()
    with pytest.raises(ValueError, match="x is a vector"):
        result.plot_spectrum()


def test_groups_that_are_selected_stand_out():
    rng = np.random.default_rng(0)
    X, groups = rng.normal(size=(80, 12)), np.arange(12) // 3
    y = X[:, :3] @ [1.0, -1.0, 1.0] + 0.01 * rng.normal(size=80)
    result = fw.minimize(fw.Problem(X, y, "squared", fw.GroupBall(groups, 1.0)), tol=1e-6)
    names = ["one", "two", "three", "four"]
    for given in (groups, [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 11]]):
        axes = result.plot_groups(given, names)
        heights = [bar.get_height() for bar in axes.patches]
        np.testing.assert_allclose(heights, np.linalg.norm(result.x.reshape(4, 3), axis=1))
        assert f"{np.count_nonzero(heights)} of 4 groups" in axes.get_title()
        assert [label.get_text() for label in axes.get_xticklabels()] == names
    axes.figure.canvas.draw()
    with pytest.raises(ValueError, match="9 coordinates, but x has 12"):
        result.plot_groups(np.arange(9) // 3)
    with pytest.raises(ValueError, match="1 names, but there are 4 groups"):
        result.plot_groups(groups, ["one"])
