"""Plots of rank, spectrum and groups: what they draw is what the result holds."""

import numpy as np
import pytest
from scipy import sparse

import frankwolfe as fw
from frankwolfe.path import RadiusPath
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


@pytest.mark.usefixtures("interpreted")
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


def visible(axes):
    """Labels of the legend; every one belongs to a line with something to see, which no other line hides."""
    axes.figure.canvas.draw()
    lines = {line.get_label(): line for line in axes.get_lines() if not line.get_label().startswith("_")}
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert sorted(labels) == sorted(lines)
    drawn = []
    for label, line in lines.items():
        x, y = line.get_data()
        assert len(x) > 0
        if label != "tolerance":
            assert np.all(np.isfinite(y))
            assert axes.get_yscale() == "linear" or np.all(np.asarray(y) > 0.0)
            assert len(x) > 1 or line.get_marker() == "o"
            drawn.append((len(y), *y))
    assert len(set(drawn)) == len(drawn)
    return labels


GAP, ESTIMATE, ABOVE = "exact gap", "estimated gap", "objective above the certified bound"


@pytest.mark.parametrize(
    ("method", "options", "labels"),
    [
        ("auto", {}, [GAP, ABOVE, "tolerance"]),  # its estimate is the exact gap
        ("sfw", {"tol": 0.0, "max_passes": 5}, [ESTIMATE, GAP, ABOVE]),
        (
            "sfw",
            {"trace": 0, "max_passes": 5, "tol": 1e-6},
            [ESTIMATE, GAP, ABOVE, "tolerance"],
        ),  # one point: the table proves more than its gap
        ("fw", {"max_passes": 4, "tol": 1e-9}, [GAP, ABOVE, "tolerance"]),
    ],
)
def test_a_legend_names_what_can_be_seen(method, options, labels):
    with fw.python_mode():
        result = fw.minimize(cases.problem(), method, random_state=0, **options)
    axes = result.plot()
    found = visible(axes)
    assert set(found) <= {GAP, ABOVE, ESTIMATE, "tolerance"}
    assert GAP in found
    if method != "fw":
        assert found == labels
    assert axes.get_title() == f"{result.method} ({result.status})"
    assert "objective" in axes.get_ylabel()


def test_a_run_that_is_over_at_once_shows_a_dot():
    problem = fw.Problem([[1.0, 2.0], [2.0, 1.0]], [1, -1], constraint=fw.L1Ball(1e-9))
    with fw.python_mode():
        axes = fw.minimize(problem).plot()
    assert GAP in visible(axes)


def test_a_path_names_its_columns():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(40, 14)), columns=[f"column {j}" for j in range(14)])
    y = X.to_numpy() @ np.linspace(-2.0, 3.0, 14)
    with fw.python_mode():
        path = fw.radius_path(X, y, loss="squared", radii=[1.0, 5.0, 100.0], tol=1e-9)
    shares = np.mean([np.abs(path.coef(k)) / radius for k, radius in enumerate(path.radii)], axis=0)
    largest = set(np.argsort(-shares)[:10])
    labels = visible(path.plot())
    assert labels[0] == "4 others"
    assert set(labels[1:]) == {f"column {j}" for j in largest}
    ends = [path.coef(-1)[int(label.split()[1])] for label in labels[1:]]
    assert ends == sorted(ends, reverse=True)  # from top to bottom, as the curves end
    assert visible(path.plot(most=14, names=[f"n{j}" for j in range(14)]))[0] == "n13"
    with pytest.raises(ValueError, match="names has 2 entries, but there are 14 columns"):
        path.plot(names=["a", "b"])


def test_a_path_highlights_what_is_large_along_it_and_not_only_at_its_end():
    coefs = np.array([[1.0, 0.0, 0.0, 0.0], [5.0, 3.0, 0.0, 0.1], [6.0, 0.0, 20.0, 21.0], [7.0, 0.0, 70.0, 80.0]])
    radii = np.array([1.0, 10.0, 100.0, 1000.0])
    zeros = np.zeros(4)
    path = RadiusPath(radii, sparse.csr_array(coefs), zeros, zeros, zeros, zeros == 0, zeros, 0.0, (4,))
    axes = path.plot(most=2)
    assert [label for label in visible(axes) if label.startswith("x")] == ["x0", "x1"]
    assert "3 of 4 weights are not zero at the end" in axes.get_title()


def test_a_fitted_estimator_shows_how_its_run_went():
    X, y = cases.table(fw.Logistic())
    for method in ("auto", "sfw"):
        with fw.python_mode():
            model = fw.FrankWolfeClassifier(radius=2.0, method=method, tol=1e-3, random_state=0).fit(X, y)
        axes = model.result_.plot()
        visible(axes)
        assert max(len(line.get_xdata()) for line in axes.get_lines() if line.get_label() != "tolerance") > 1


def test_a_path_of_one_radius_and_of_several_outputs():
    X, y = cases.vector_table(fw.Multinomial(), outputs=3, n=30)
    with fw.python_mode():
        path = fw.radius_path(X, y, loss="multinomial", radii=[2.0], tol=1e-6)
    for label in visible(path.plot()):
        name, output = label.split(", output ")
        weight = path.coef(0)[int(name[1:]), int(output)]
        line = next(line for line in plt.gca().get_lines() if line.get_label() == label)
        np.testing.assert_array_equal(line.get_ydata(), [weight])


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
