"""Rules on weights by name, on the command line: what they do to the fit, what is printed, and what is saved."""

import json

import numpy as np
import polars as pl
import pytest

import frankwolfe as fw
from frankwolfe.cli.problems import read_bounds, read_monotone
from frankwolfe.store.files import write_flat
from tests.cli.test_commands import call, complaint, predicted
from tests.tables import labels, numbers, svmlight, write

SCALES = np.array([10.0, 1000.0, 1.0, 0.1])
NAMES = ["price", "tv_a", "tv_b", "radio"]
X, SIGNAL = numbers(n=80)
X = X * SCALES + 5.0
COLOURS = np.array(["red", "green", "blue"])[np.arange(80) % 3]
Y = SIGNAL + (COLOURS == "blue")
RULES = ["--bound", "price <= 0.1", "--bound", "tv_* >= 0", "--condition", "radio >= 2 * price"]

pytestmark = pytest.mark.usefixtures("interpreted")


@pytest.fixture
def desk(tmp_path, monkeypatch):
    """A folder with a table of sales, in which rules by name hold."""
    monkeypatch.chdir(tmp_path)
    table = pl.DataFrame({name: X[:, j] for j, name in enumerate(NAMES)} | {"y": Y})
    write(tmp_path / "sales.csv", table)
    write(tmp_path / "colours.csv", table.with_columns(colour=pl.Series(COLOURS)))
    write(tmp_path / "classes.csv", table.with_columns(y=pl.Series(labels(SIGNAL))))
    return tmp_path


def fit(data, *options, code=0):
    """Fit a model, and return it with what was printed."""
    said = call("fit", data, "-t", "y", *options, "--out", "model.npz", code=code).stdout
    return fw.load_model("model.npz"), said


def least_squares(lower, upper, A=None, low=None, high=None):
    """Return the best objective with an intercept, by SciPy."""
    from scipy.optimize import LinearConstraint, minimize

    centred, y = X - X.mean(axis=0), Y - Y.mean()
    unit = centred.std(axis=0)
    design = centred / unit
    rows = [] if A is None else [LinearConstraint(A / unit, low, high)]
    found = minimize(
        lambda w: 0.5 * np.mean((design @ w - y) ** 2),
        np.clip(np.zeros(4), lower * unit, upper * unit),
        jac=lambda w: design.T @ (design @ w - y) / len(y),
        bounds=list(zip(lower * unit, upper * unit, strict=True)),
        constraints=rows,
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    return found.fun, found.x / unit


# --- the fit ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("standardized", [False, True])
@pytest.mark.parametrize("constraint", ["l1", "l2", "linf", "nonnegative-l1"])
def test_weights_keep_the_rules_on_the_scale_of_the_file(desk, constraint, standardized):
    options = [*RULES, "--set", constraint, "--radius", 5, *["--standardize"] * standardized]
    model, said = fit("sales.csv", *options)
    price, tv_a, tv_b, radio = model.unscaled()[0]
    assert price <= 0.1 + 1e-12
    assert min(tv_a, tv_b) >= -1e-12
    assert radio >= 2.0 * price - 1e-12
    assert model.run.success
    assert "Certified" in said


def test_no_radius_is_the_best_of_all_weights_that_keep_the_rules(desk):
    model, said = fit("sales.csv", *RULES, "--no-radius", "--tol", 1e-9)
    inf = np.inf
    fun, w = least_squares(
        np.array([-inf, 0.0, 0.0, -inf]), np.array([0.1, inf, inf, inf]), np.array([[-2.0, 0, 0, 1]]), 0.0, inf
    )
    assert model.run.fun == pytest.approx(fun, rel=1e-6)
    np.testing.assert_allclose(model.unscaled()[0] * SCALES, w * SCALES, atol=1e-3)
    assert "The gap is proven among all weights" in said
    plain, _ = fit("sales.csv", "--no-radius", "--tol", 1e-9)
    centred = X - X.mean(axis=0)
    np.testing.assert_allclose(
        plain.unscaled()[0] * SCALES, np.linalg.lstsq(centred, Y, rcond=None)[0] * SCALES, atol=1e-3
    )


def test_monotone_levels_and_categories(desk):
    rules = [
        "--monotone",
        "colour=*: increasing",
        "--condition",
        "`colour=red` <= 0.25",
        "--condition",
        "price + radio == 1",
    ]
    model, _ = fit("colours.csv", "--categorical", "colour", *rules, "--radius", 100)
    weights = dict(zip(model.weight_names, model.unscaled()[0].tolist(), strict=True))
    assert weights["colour=blue"] <= weights["colour=green"] + 1e-12 <= weights["colour=red"] + 2e-12
    assert weights["colour=red"] <= 0.25 + 1e-12
    assert weights["price"] + weights["radio"] == pytest.approx(1.0)
    falling, _ = fit(
        "colours.csv", "--categorical", "colour", "--monotone", "radio,`tv_a`: decreasing", "--radius", 100
    )
    assert falling.weights[3] >= falling.weights[1]


def test_rules_may_name_a_category_that_a_fold_lacks(desk):
    rare = pl.Series(np.where(np.arange(80) == 7, "rare", COLOURS))
    write(desk / "rare.csv", pl.read_csv("sales.csv").with_columns(colour=rare))
    rules = ["--bound", "colour=rare <= 0", "--monotone", "colour=*: increasing"]
    _, said = fit("rare.csv", "--categorical", "colour", *rules, "--folds", 4, "--radius", 5, "--standardize")
    assert "held out" in said


def test_rules_hold_for_the_weights_of_each_class(desk):
    write(desk / "three.csv", pl.read_csv("sales.csv").with_columns(y=pl.Series(labels(SIGNAL, 3))))
    model, _ = fit("three.csv", "--bound", "price <= 0", "--bound", "tv_b == 0.01", "--radius", 5)
    assert model.weights.shape == (4, 3)
    assert (model.weights[0] <= 1e-12).all()
    np.testing.assert_allclose(model.weights[2], 0.01)


def test_columns_of_svmlight_have_the_names_x_and_their_index(desk):
    write(desk / "a.svm", svmlight(X, SIGNAL, first=1))
    call("fit", "a.svm", "--bound", "x1 <= 0", "--standardize", "--radius", 2)
    assert fw.load_model("model.npz").weights[0] <= 0.0
    assert "there is no column 'x0'" in complaint("fit", "a.svm", "--bound", "x0 <= 0")


def test_a_simplex_with_caps(desk):
    model, _ = fit("sales.csv", "--set", "simplex", "--bound", "* <= 0.4")
    assert model.weights.sum() == pytest.approx(1.0)
    assert model.weights.max() <= 0.4 + 1e-12


def test_a_path_keeps_the_rules_and_starts_where_they_can_hold(desk):
    options = [*RULES, "--condition", "tv_a + tv_b >= 0.5", "--standardize", "--n-radii", 4, "--folds", 3]
    said = call("path", "sales.csv", "-t", "y", *options, "--csv", "path.csv").stdout
    assert "tv_a + tv_b >= 0.5" in said
    table = pl.read_csv("path.csv")
    assert len(table) == 4
    assert table["certified"].all()
    assert (np.diff(table["objective"].to_numpy()) <= 1e-9).all()


def test_rules_by_name_in_a_row_store(desk):
    call("convert", "sales.csv", "-t", "y", "--out", "rows")
    call("fit", "rows", "--bound", "price <= 0", "--condition", "tv_a == tv_b", "--radius", 3)
    model = fw.load_model("model.npz")
    assert model.weights[0] <= 1e-12
    assert model.weights[1] == pytest.approx(model.weights[2])
    assert "--no-radius needs rows in memory" in complaint("fit", "rows", "--no-radius")


# --- what is printed and saved ----------------------------------------------------------------------------------------


def test_prices_are_what_relaxing_a_rule_gains(desk):
    model, said = fit(
        "sales.csv", "--bound", "radio <= 0.5", "--condition", "tv_a >= 0.001", "--radius", 50, "--tol", 1e-9
    )
    assert "what binds" in said
    other, _ = fit(
        "sales.csv", "--bound", "radio <= 0.501", "--condition", "tv_a >= 0.001", "--radius", 50, "--tol", 1e-9
    )
    assert model.prices["radio <= 0.5"] == pytest.approx((model.run.fun - other.run.fun) / 0.001, rel=0.01)
    line = next(line for line in said.splitlines() if line.startswith("radio <= 0.5"))
    assert float(line.split()[-1]) == pytest.approx(model.prices["radio <= 0.5"], rel=1e-3)
    _, quiet = fit("sales.csv", "--bound", "price >= -1e6", "--radius", 1e6)
    assert "none of the rules binds" in quiet


def test_a_model_keeps_its_rules(desk):
    model, _ = fit("classes.csv", *RULES, "--radius", 2)
    assert model.rules == ["price <= 0.1", "tv_* >= 0", "radio >= 2 * price"]
    assert "; rules price <= 0.1, tv_* >= 0, radio >= 2 * price;" in repr(model)
    assert "radio >= 2 * price" in model.prices
    said = call("info", "model.npz").stdout
    assert "price <= 0.1; tv_* >= 0; radio >= 2 * price" in said
    assert "Certified. Proven: no weights" in said
    assert "benign" in said
    assert "weights keep these rules: price <= 0.1" in call("predict", "model.npz", "classes.csv").stderr
    assert len(predicted("model.npz", "classes.csv")) == 80


def about(path):
    """Return the arrays of a model file, and what it says as JSON."""
    with np.load(path) as archive:
        arrays = {name: archive[name] for name in archive.files}
    return json.loads(str(arrays.pop("about"))), arrays


@pytest.mark.parametrize(
    ("name", "value"),
    [("rules", "price"), ("rules", [3]), ("prices", [1.0]), ("prices", {"a": "1"}), ("prices", {"a": np.inf})],
)
def test_models_with_edited_rules_are_refused(desk, name, value):
    fit("sales.csv", "--radius", 2)
    said, arrays = about("model.npz")
    write_flat("edited.npz", "model", said["version"], said["values"] | {name: value} | arrays, packed=True)
    with pytest.raises(ValueError, match=r"edited\.npz"):
        fw.load_model("edited.npz")


# --- mistakes ---------------------------------------------------------------------------------------------------------


def test_texts_of_bounds():
    assert read_bounds(["`a b` >= 1", "2 >= c", "d == 3"]) == {
        "a b": (1.0, np.inf),
        "c": (-np.inf, 2.0),
        "d": (3.0, 3.0),
    }
    assert read_bounds(["5 >= tv_* >= 0", "tv_*<=4"]) == {"tv_*": (0.0, 4.0)}
    assert read_bounds(["colour=red <= 1"]) == {"colour=red": (-np.inf, 1.0)}
    assert read_monotone(["`a b`, c : decreasing"]) == {("a b", "c"): "decreasing"}


MISTAKES = {
    "a wrong name": (["--bound", "pirce <= 0"], "there is no column 'pirce'; did you mean 'price'?"),
    "a wrong pattern": (["--bound", "web_* <= 0"], "no column matches 'web_*'"),
    "a strict bound": (["--bound", "price < 0"], "--bound takes NAME <= NUMBER"),
    "no sign": (["--bound", "price"], "--bound takes NAME <= NUMBER"),
    "nan": (["--bound", "price <= nan"], "a bound is NaN"),
    "no number": (["--bound", "price <="], "--bound takes NAME <= NUMBER"),
    "no name": (["--bound", "1 <= 2"], "--bound takes NAME <= NUMBER"),
    "a name at the side": (["--bound", "price <= 0 <= 1"], "--bound takes NAME <= NUMBER"),
    "a condition as a bound": (["--bound", "price <= radio"], "a rule on several weights is a condition: --condition"),
    "no room": (["--bound", "price <= 0", "--bound", "price >= 1"], "no value is left for the weight of price"),
    "a bound as a condition": (["--condition", "tv_* >= 0"], "a pattern stands in a bound, or in a sum"),
    "a product": (["--condition", "price * radio <= 1"], "multiplies two weights"),
    "an equation": (["--condition", "price + radio = 1"], "an equation is written with =="),
    "no comparison": (["--condition", "price + radio"], "there is no comparison"),
    "a direction": (["--monotone", "tv_*: up"], "must be 'increasing' or 'decreasing', got 'up'"),
    "no direction": (["--monotone", "tv_*"], "--monotone takes PATTERN: increasing"),
    "one level": (["--monotone", "price: increasing"], "two different columns or more are needed"),
    "two radii": (["--no-radius", "--radius", 2], "leave --radius and --set out"),
    "no radius of a set": (["--no-radius", "--set", "l2"], "leave --radius and --set out"),
    "no radius to go on from": (["--no-radius", "--checkpoint", "a.ckpt"], "takes neither --checkpoint"),
    "a contradiction": (
        ["--no-radius", "--condition", "tv_a + tv_b >= 3", "--bound", "tv_* <= 1"],
        "'tv_a + tv_b >= 3', 'tv_a <= 1' and 'tv_b <= 1' cannot hold together",
    ),
    "a contradiction with the set": (
        ["--condition", "tv_a + tv_b >= 3", "--radius", 2],
        "'tv_a + tv_b >= 3'",
    ),
    "a method": (["--method", "sfw", "--condition", "tv_a >= tv_b"], "method 'sfw' needs a problem without side"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_in_rules_are_one_line(desk, name):
    arguments, words = MISTAKES[name]
    assert words in complaint("fit", "sales.csv", "-t", "y", *arguments)
    assert not (desk / "model.npz").exists()
