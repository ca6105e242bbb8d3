"""Rules on weights by name in the estimators: bounds, conditions, monotone levels, groups, prices, and no budget."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.optimize import LinearConstraint, lsq_linear, minimize
from sklearn.base import clone
from sklearn.datasets import load_iris

import frankwolfe as fw

pytestmark = [
    pytest.mark.usefixtures("interpreted"),
    pytest.mark.filterwarnings("ignore::frankwolfe.exceptions.ScaleWarning"),
]

NAMES = ["price", "tv_a", "tv_b", "share_a", "share_b", "share_c", "income", "rent"]
BOUNDS = {"price": (None, 0), "tv_*": (0, None)}
CONDITIONS = ["share_a + share_b + share_c == 1", "income >= rent"]


def table(seed=0, n=80, units=True):
    rng = np.random.default_rng(seed)
    scale = np.array([1, 10, 0.1, 1, 1, 1, 1000, 1]) if units else 1.0
    X = rng.normal(size=(n, 8)) * scale
    w = np.array([0.5, 0.1, -3, 0.2, 0.5, 0.6, 0.001, 2]) if units else rng.normal(size=8)
    return pd.DataFrame(X, columns=NAMES), X @ w + 0.3 * rng.normal(size=n) + 5.0


def named(model):
    return dict(zip(NAMES, model.coef_, strict=True))


def objective(model, X, y):
    return 0.5 * np.mean((y - model.predict(X)) ** 2)


# --- models that keep the rules -----------------------------------------------------------------------------------

HOW = {
    "bounds": {"bounds": BOUNDS},
    "conditions": {"conditions": CONDITIONS},
    "both": {"bounds": BOUNDS, "conditions": CONDITIONS},
    "box": {"bounds": (-1, 1), "conditions": CONDITIONS},
    "monotone": {"monotone": {"share_*": "increasing"}, "bounds": {"rent": (None, 1.5)}},
    "budget": {"bounds": BOUNDS, "radius": 2.0},
    "all": {"bounds": BOUNDS, "conditions": CONDITIONS, "radius": 3.0},
    "linf": {"bounds": BOUNDS, "conditions": CONDITIONS, "constraint": "linf", "radius": 0.7},
    "nonnegative": {"bounds": {"rent": (None, 1)}, "conditions": "tv_a >= 0.05", "constraint": "nonnegative-l1"},
    "equal": {"bounds": {"rent": (1, 1), "income": (0, None)}, "radius": 4.0},
}


def reference(X, y, bounds=None, conditions=(), monotone=None, radius=None, constraint="l1", cap=np.inf):
    """The least objective by SciPy's general solver, over p - q with p, q >= 0, in columns of norm one."""
    from frankwolfe.problem.rules import Rules

    rules = Rules.of(NAMES, 8, bounds, conditions, monotone)
    if constraint == "linf":
        cap, radius = radius, None
    scale = np.linalg.norm(X - X.mean(axis=0), axis=0)
    Z, t = (X - X.mean(axis=0)) / scale, y - y.mean()
    low = np.maximum(rules.lower, 0.0 if constraint == "nonnegative-l1" else -cap)
    high = np.minimum(rules.upper, cap)
    rows, side = np.eye(8), rules.side()
    if side is not None:
        rows, low, high = np.vstack([rows, side.A.toarray()]), np.append(low, side.lower), np.append(high, side.upper)
    rows, same, bounded = np.hstack([rows / scale, -rows / scale]), low == high, np.isfinite(low) | np.isfinite(high)
    kept = [LinearConstraint(rows[which], low[which], high[which]) for which in (same, bounded & ~same) if which.any()]
    kept.append(LinearConstraint(np.eye(16), 0.0, np.inf))
    if radius is not None:
        kept.append(LinearConstraint(np.tile(1.0 / scale, 2)[None, :], -np.inf, radius))
    both = np.hstack([Z, -Z])
    found = minimize(
        lambda v: 0.5 * np.mean((both @ v - t) ** 2),
        np.zeros(16),
        jac=lambda v: both.T @ (both @ v - t) / len(t),
        constraints=kept,
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-14},
    )
    return found.fun if found.success else None


@pytest.mark.parametrize("units", [True, False])
@pytest.mark.parametrize("how", HOW)
def test_the_best_weights_that_keep_the_rules_are_found(how, units):
    X, y = table(units=units)
    model = fw.FrankWolfeRegressor(tol=1e-8, **HOW[how]).fit(X, y)
    w, slack = named(model), 1e-9
    assert model.result_.success
    if "bounds" in how or how in ("both", "budget", "all", "linf"):
        assert w["price"] <= 0.0
        assert min(w["tv_a"], w["tv_b"]) >= 0.0
    if "conditions" in HOW[how] and how != "nonnegative":
        assert w["share_a"] + w["share_b"] + w["share_c"] == pytest.approx(1.0, abs=1e-9)
        assert w["income"] >= w["rent"] - slack
    if how == "monotone":
        assert w["share_a"] <= w["share_b"] + slack <= w["share_c"] + 2.0 * slack
    best = reference(X.to_numpy(), y, **HOW[how])
    if best is not None:
        assert objective(model, X, y) <= best + 1e-6
        assert objective(model, X, y) >= best - 1e-4 * abs(best)


@pytest.mark.parametrize("constraint", ["l2", "group", "simplex"])
def test_bounds_on_other_sets_are_conditions(constraint):
    X, y = table(units=False)
    groups = ["tv_*", ["share_a", 4, "share_c"]] if constraint == "group" else None
    model = fw.FrankWolfeRegressor(
        constraint=constraint,
        radius=1.0 if constraint == "simplex" else 2.0,
        bounds={"tv_*": (0.1, None), "rent": (None, 0.3), "price": (0, None)},
        groups=groups,
        tol=1e-5,
    ).fit(X, y)
    w = named(model)
    assert model.result_.success
    assert min(w["tv_a"], w["tv_b"]) >= 0.1 - 1e-9
    assert w["rent"] <= 0.3 + 1e-9
    assert w["price"] >= 0.0


def test_groups_by_name_are_those_of_a_group_ball():
    X, y = table(units=False)
    model = fw.FrankWolfeRegressor(
        constraint="group", groups={"tv": "tv_*", "share": ["share_*"]}, radius=1.0, tol=1e-8
    )
    ball = fw.GroupBall([[1, 2], [3, 4, 5], [0], [6], [7]], 1.0)
    other = fw.FrankWolfeRegressor(constraint=ball, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(model.fit(X, y).coef_, other.coef_, atol=1e-7)


def test_rules_hold_for_the_weights_of_each_class_and_output():
    X, y = load_iris(return_X_y=True, as_frame=True)
    X.columns = ["sl", "sw", "pl", "pw"]
    for how in ("auto", "ovr"):
        for radius in (None, 4.0):
            model = fw.FrankWolfeClassifier(
                bounds={"s*": (0, 2), "p*": (-3, 3)}, conditions=["pl >= sl"], radius=radius, multi_class=how, tol=1e-6
            ).fit(X, y)
            assert model.coef_.shape == (3, 4)
            assert model.coef_[:, :2].min() >= 0.0
            assert (model.coef_[:, 2] >= model.coef_[:, 0] - 1e-9).all()
            assert "pl >= sl [2]" in model.prices_
    Y = np.column_stack([y, -y, y**2]).astype(float)
    model = fw.FrankWolfeRegressor(bounds={0: (0, None)}, conditions="x1 + x2 == x3", tol=1e-9).fit(X.to_numpy(), Y)
    assert model.coef_.shape == (3, 4)
    assert model.coef_[:, 0].min() >= 0.0
    np.testing.assert_allclose(model.coef_[:, 1] + model.coef_[:, 2], model.coef_[:, 3], atol=1e-9)
    assert "x0 >= 0 [output 1]" in model.prices_


def test_sparse_rows_names_of_frames_and_numbers_mean_the_same():
    X, y = table()
    how = {"tol": 1e-9, "fit_intercept": False}
    first = fw.FrankWolfeRegressor(bounds=BOUNDS, conditions=CONDITIONS, **how).fit(X, y)
    by_number = fw.FrankWolfeRegressor(
        bounds={0: (None, 0), 1: (0, None), 2: (0, None)}, conditions=["x3 + x4 + x5 == 1", "x6 >= x7"], **how
    )
    for rows in (X.to_numpy(), sparse.csr_array(X.to_numpy())):
        np.testing.assert_allclose(by_number.fit(rows, y).coef_, first.coef_, rtol=1e-4, atol=1e-6)
    assert "x0 <= 0" in by_number.prices_


def test_units_of_columns_do_not_matter_without_a_budget():
    X, y = table()
    units = 10.0 ** np.array([-8, 6, 3, 0, 0, 0, -2, -2])
    one, other = (
        fw.FrankWolfeRegressor(bounds=BOUNDS, conditions=CONDITIONS, tol=1e-9).fit(rows, y) for rows in (X, X / units)
    )
    np.testing.assert_allclose(other.coef_[:3], (one.coef_ * units)[:3], rtol=1e-3, atol=1e-6)
    assert other.result_.success


def test_signs_go_with_rules():
    X, y = table(units=False)
    one = fw.FrankWolfeRegressor(signs={"price": -1, "rent": 1}, conditions="tv_a == tv_b", radius=2.0, tol=1e-9)
    other = fw.FrankWolfeRegressor(
        bounds={"price": (None, 0), "rent": (0, None)}, conditions="tv_a == tv_b", radius=2.0, tol=1e-9
    )
    np.testing.assert_allclose(one.fit(X, y).coef_, other.fit(X, y).coef_, atol=1e-7)


def test_radii_are_chosen_under_rules():
    X, y = table(units=False)
    model = fw.FrankWolfeRegressorCV(bounds=BOUNDS, conditions=CONDITIONS, radii=6, cv=3, tol=1e-5).fit(X, y)
    w = named(model)
    assert model.radii_[0] >= 1.0
    assert w["share_a"] + w["share_b"] + w["share_c"] == pytest.approx(1.0, abs=1e-9)
    assert w["price"] <= 0.0
    with pytest.raises(ValueError, match=r"radii: 0\.5 is too small for the rules: .* at least 1"):
        clone(model).set_params(radii=[0.5, 2.0]).fit(X, y)
    X, y = load_iris(return_X_y=True)
    model = fw.FrankWolfeClassifierCV(bounds=(-2, 2), radii=[1.0, 5.0], cv=3).fit(X, y)
    assert np.abs(model.coef_).max() <= 2.0


def test_partial_fit_keeps_bounds_within_a_budget():
    X, y = table(units=False)
    model = fw.FrankWolfeRegressor(bounds={"price": (None, 0)}, radius=2.0, fit_intercept=False)
    for rows in np.array_split(np.arange(80), 4):
        model.partial_fit(X.iloc[rows], y[rows])
    assert named(model)["price"] <= 0.0
    with pytest.raises(ValueError, match="partial_fit takes bounds"):
        fw.FrankWolfeRegressor(conditions=CONDITIONS, radius=2.0).partial_fit(X, y)
    free = fw.NonNegativeRegressor(fit_intercept=False).fit(X, y)
    assert free.partial_fit(X, y).coef_.min() >= 0.0
    assert "Nothing is proven" in str(free.summary())


# --- no budget ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(10))
def test_bounded_least_squares(seed):
    rng = np.random.default_rng(seed)
    A, b = rng.normal(size=(30, 6)) * 10.0 ** rng.uniform(-3, 3, 6), rng.normal(size=30)
    low = np.where(rng.random(6) < 0.5, -np.inf, rng.choice([0.0, 0.1, -0.2], 6))
    high = np.where(rng.random(6) < 0.5, np.inf, np.where(np.isfinite(low), low + 0.5, 0.3))
    found = fw.FrankWolfeRegressor(bounds=(low, high), fit_intercept=False, tol=1e-10).fit(A, b)
    best = lsq_linear(A, b, (low, high), method="bvls", tol=1e-14).cost / 30
    assert objective(found, A, b) <= best + 1e-8


def test_no_budget_is_said_and_has_no_price():
    X, y = table()
    model = fw.FrankWolfeRegressor(bounds=BOUNDS).fit(X, y)
    assert "radius" not in model.prices_
    assert "budget:     none" in str(model.summary())
    assert "sum to at most" in model.result_.message
    plain = fw.FrankWolfeRegressor().fit(X, y)
    assert "radius" in plain.prices_
    assert fw.FrankWolfeRegressor(bounds={}).fit(X, y).coef_ == pytest.approx(plain.coef_)


def test_a_named_set_with_rules_needs_a_radius_where_none_would_say_nothing():
    X, y = table()
    with pytest.raises(ValueError, match="constraint='l2' needs a radius"):
        fw.FrankWolfeRegressor(constraint="l2", bounds=BOUNDS).fit(X, y)


def test_checkpoints_are_of_one_run(tmp_path):
    X, y = table()
    with pytest.raises(ValueError, match="one without a budget is several: set radius"):
        fw.FrankWolfeRegressor(bounds=BOUNDS).fit(X, y, checkpoint=tmp_path / "run")


def test_caps_of_a_simplex():
    rng = np.random.default_rng(0)
    X = rng.dirichlet(np.ones(6), size=50)
    y = X @ [0.7, 0.3, 0, 0, 0, 0]
    model = fw.SimplexRegressor(bounds=(0, 0.4), tol=1e-10).fit(X, y)
    assert model.coef_.max() <= 0.4 + 1e-9
    assert model.coef_.sum() == pytest.approx(1.0)
    model = fw.SimplexRegressor(bounds={0: (0.2, 0.5), 5: (0.1, None)}, conditions="x1 == x2", tol=1e-9).fit(X, y)
    assert model.coef_[5] >= 0.1 - 1e-9
    assert model.coef_[1] == pytest.approx(model.coef_[2], abs=1e-9)
    assert model.coef_[0] == pytest.approx(0.5, abs=1e-6)


# --- prices -------------------------------------------------------------------------------------------------------


PRICED = {
    **{name: HOW[name] for name in ("bounds", "both", "budget", "all", "linf")},
    "box": {"bounds": (-0.4, 0.3)},
    "units": {"bounds": {"tv_b": (0, None), "price": (None, 0)}},
    "classes": {"bounds": {"price": (None, 0), "tv_a": (0.2, None)}, "conditions": "income >= rent", "radius": 2.0},
}
STEP = 1e-4


def rules_by_text(given):
    """Yield each rule of an estimator by its text, with the parameters that move it by a step to the loose side."""
    given = {"conditions": [], **given}
    if isinstance(given["bounds"], tuple):
        given["bounds"] = dict.fromkeys(NAMES, given["bounds"])
    for name, (low, high) in given["bounds"].items():
        for end, sign in ((low, ">="), (high, "<=")):
            if end is not None:
                yield (
                    f"{name} {sign} {end:g}",
                    lambda step, name=name, low=low, high=high, sign=sign: {
                        **given,
                        "bounds": {
                            **given["bounds"],
                            name: (low - step, high) if sign == ">=" else (low, high + step),
                        },
                    },
                )
    for k, text in enumerate(given["conditions"]):
        yield (
            text,
            lambda step, k=k, text=text: {
                **given,
                "conditions": [f"{text} - {step!r}" if j == k else c for j, c in enumerate(given["conditions"])],
            },
        )
    if "radius" in given:
        yield "radius", lambda step: {**given, "radius": given["radius"] + step}


@pytest.mark.parametrize("how", PRICED)
def test_prices_are_the_slopes_of_the_objective(how):
    X, y = table(1, units=how == "units")
    given = dict(PRICED[how])
    if how in HOW:
        given["bounds"] = {"price": (None, 0), "tv_a": (0.2, None), "rent": (-1.0, 0.1), "income": (-2, 2)}
    if how in ("both", "all"):
        given["conditions"] = ["share_a + share_b + share_c == 1", "income >= rent + 0.1"]
    elif how == "classes":
        given["conditions"] = ["income >= rent"]
    kind, y = (fw.FrankWolfeClassifier, y > 5.0) if how == "classes" else (fw.FrankWolfeRegressor, y)

    def fitted(changed):
        return kind(tol=1e-11, max_passes=3000, **changed).fit(X, y)

    model, compared = fitted(given), 0
    for text, moved in rules_by_text(given):
        step = STEP * (10.0 if text.startswith("tv_b") and how == "units" else 1.0)
        tighter, looser = (fitted(moved(sign * step)).result_.fun for sign in (-1.0, 1.0))
        loss, gain, price = (
            (tighter - model.result_.fun) / step,
            (model.result_.fun - looser) / step,
            model.prices_[text],
        )
        if "==" in text and loss + gain < 0.0:
            loss, gain = -gain, -loss  # the direction that helps
        if loss - gain <= 0.02 * loss + 1e-6:  # the objective has one slope, so there is one price
            assert price == pytest.approx(0.5 * (loss + gain), rel=1e-3, abs=1e-6), text
            compared += price > 1e-3
        assert gain - 1e-6 <= price <= loss + 1e-6, text
    assert compared >= 2 - (how == "classes")


# --- summaries ----------------------------------------------------------------------------------------------------


def test_a_summary_has_names_prices_and_the_certificate():
    X, y = table()
    model = fw.FrankWolfeRegressor(bounds=BOUNDS, conditions=CONDITIONS).fit(X, y)
    text = str(model.summary())
    assert "price <= 0" in text
    assert "Proven: no weights that satisfy all rules" in text
    assert "80 rows, 8 columns" in text
    assert model.summary().to_frame().index[0] == "tv_b"
    assert "<table>" in model.summary()._repr_html_()
    X, y = load_iris(return_X_y=True)
    binary = fw.FrankWolfeClassifier(radius=3.0).fit(X[:100], np.where(y[:100] == 0, "no", "yes"))
    assert "point to class yes" in str(binary.summary())
    several = fw.FrankWolfeClassifier(radius=3.0, multi_class="ovr").fit(X, y).summary()
    assert several.outputs == ["0", "1", "2"]
    assert "objective [2]" in several.facts


def test_results_and_loaded_models_have_summaries(tmp_path):
    X, y = table(units=False)
    problem = fw.Problem(X, y, "squared", fw.Budget(-0.2, 0.5, 1.0), intercept=True)
    result = fw.minimize(problem, tol=1e-8)
    text = str(result.summary())
    assert "of that of zero weights" in text
    assert "radius" in text
    assert result.summary(names=list("abcdefgh")).names == list("abcdefgh")
    with pytest.raises(ValueError, match="one name for each of 8 columns, got 2"):
        result.summary(names=["a", "b"])
    path = tmp_path / "model.npz"
    fw.FittedModel.of(problem, result).save(path)
    loaded = fw.load_model(path).summary()
    assert list(loaded.names) == NAMES
    assert "Proven" in str(loaded)
    zero = fw.minimize(fw.Problem(X, y, "squared", fw.Box(0.0, 0.0)))
    assert "0 of 8 weights are not zero." in str(zero.summary())


# --- errors -------------------------------------------------------------------------------------------------------

WRONG = [
    ({"bounds": {"prize": (0, 1)}}, "no column 'prize'.*price"),
    ({"bounds": {"radio_*": (0, 1)}}, r"no column matches 'radio_\*'"),
    ({"bounds": {8: (0, 1)}}, "no column 8"),
    ({"bounds": {-9: (0, 1)}}, "no column -9"),
    ({"bounds": {"price": (1, 0)}}, "no value is left for the weight of price"),
    ({"bounds": {"price": (0, 1), 0: (2, 3)}}, "no value is left for the weight of price"),
    ({"bounds": {"price": 3}}, "must be a pair"),
    ({"bounds": {"price": "01"}}, "must be a pair"),
    ({"bounds": {"price": (0, 1, 2)}}, "must be a pair"),
    ({"bounds": {"price": (0, float("nan"))}}, "NaN"),
    ({"bounds": {"price": (0, "a")}}, "must be a number or None"),
    ({"bounds": {"price": (np.inf, None)}}, "leaves no value"),
    ({"bounds": {"price": (None, -np.inf)}}, "leaves no value"),
    ({"bounds": 3}, "must be a pair"),
    ({"bounds": "price <= 0"}, "must be a pair"),
    ({"bounds": (np.zeros(3), None)}, "one for each of 8 columns"),
    ({"conditions": "incme >= rent"}, "no column 'incme'.*income"),
    ({"conditions": ["income > rent"]}, "strict inequality"),
    ({"conditions": ["income < rent"]}, "strict inequality"),
    ({"conditions": ["income = rent"]}, "written with =="),
    ({"conditions": ["income => rent"]}, "use <= and >="),
    ({"conditions": ["income != rent"]}, "use <=, >= or =="),
    ({"conditions": ["income + rent"]}, "no comparison"),
    ({"conditions": ["income * rent <= 1"]}, "multiplies two weights"),
    ({"conditions": ["income / rent <= 1"]}, "divides by a weight"),
    ({"conditions": ["income / 0 <= 1"]}, "divides by zero"),
    ({"conditions": ["income ** 2 <= 1"]}, "not linear"),
    ({"conditions": ["abs(income) <= 1"]}, "not linear"),
    ({"conditions": ["1 <= 2"]}, "does not depend on any weight"),
    ({"conditions": ["income - income <= 2"]}, "does not depend on any weight"),
    ({"conditions": [""]}, "cannot be read"),
    ({"conditions": ["income >= rent, rent >= 0"]}, "one condition in each string"),
    ({"conditions": ["income >= 1e400"]}, "too large"),
    ({"conditions": [3]}, "must be a string"),
    ({"conditions": ['sum("radio*") <= 1']}, "no column matches"),
    ({"monotone": {"share_*": "up"}}, "'increasing' or 'decreasing'"),
    ({"monotone": {"rent": "increasing"}}, "two different columns"),
    ({"monotone": {("rent", "rent"): "increasing"}}, "two different columns"),
    ({"monotone": "share_*"}, "must be a dict"),
    ({"monotone": {("share_a", "share_x"): "increasing"}}, "no column 'share_x'"),
    ({"bounds": {"price": (0, 1)}, "conditions": "price >= 2"}, "no value is left"),
    (
        {"bounds": {"share_a": (None, 1), "share_b": (None, 1)}, "conditions": "share_a + share_b >= 3"},
        "'share_a . share_b >= 3', 'share_a <= 1' and 'share_b <= 1' cannot hold together",
    ),
    (
        {"conditions": ["income >= rent + 1", "rent >= price + 1", "price >= income"]},
        "'income >= rent . 1', 'rent >= price . 1' and 'price >= income' cannot hold together",
    ),
    ({"conditions": ["income + rent == 1", "income + rent == 2"]}, "cannot hold together"),
    ({"conditions": "income + rent >= 5", "radius": 2.0}, "radius=2 is too small for the rules: .* at least 5"),
    ({"bounds": {"price": (3, None)}, "radius": 2.0}, "radius=2 is too small for the rules: .* at least 3"),
    ({"bounds": {"price": (None, -1)}, "constraint": "nonnegative-l1"}, "price >= 0: no value is left"),
    ({"bounds": {"price": (2, None)}, "constraint": "linf", "radius": 1.0}, "price >= 2: .* at most 1"),
    ({"bounds": (None, 0.1), "constraint": "simplex"}, "caps of 8 weights sum to 0.8"),
    ({"groups": ["tv_*"]}, "groups go with constraint='group'"),
    ({"groups": ["tv_*", "tv_a"], "constraint": "group"}, "'tv_a' is in group 0, too"),
    ({"groups": "tv_*", "constraint": "group"}, "must be a list or dict"),
    ({"groups": [["tv_x"]], "constraint": "group"}, "no column 'tv_x'"),
    ({"groups": [[]], "constraint": "group"}, "group 0 is empty"),
    ({"bounds": BOUNDS, "signs": {"price": 1}, "conditions": "price <= -1"}, "no value is left"),
]


@pytest.mark.parametrize(("given", "message"), WRONG, ids=[str(given)[:60] for given, _ in WRONG])
def test_what_is_wrong_is_said_in_the_users_words(given, message):
    X, y = table(units=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises((ValueError, TypeError), match=message):
            fw.FrankWolfeRegressor(**given).fit(X, y)


def test_conditions_on_a_loss_that_is_not_convex_are_refused():
    X, y = table(units=False)
    with pytest.raises(ValueError, match="convex loss"):
        fw.FrankWolfeRegressor("cauchy", conditions=CONDITIONS).fit(X, y)


def test_parameters_are_kept_as_they_are_given():
    bounds = {"price": [None, 0]}
    model = fw.FrankWolfeRegressor(bounds=bounds, conditions="income >= rent")
    assert model.bounds is bounds
    assert clone(model).get_params()["conditions"] == "income >= rent"


# --- one meaning of radius=None -----------------------------------------------------------------------------------


def test_no_radius_is_no_budget_without_rules_too():
    X, y = table(units=False)
    model = fw.FrankWolfeRegressor(radius=None, tol=1e-10).fit(X, y)
    expected = np.linalg.lstsq(np.column_stack([X, np.ones(len(X))]), y, rcond=None)[0]
    np.testing.assert_allclose([*model.coef_, model.intercept_], expected, atol=1e-4)
    assert "Proven: no weights have an objective more than" in str(model.summary())
    assert fw.verify(model.certificate(X, y), X, y).proven
    assert np.abs(fw.FrankWolfeRegressor().fit(X, y).coef_).sum() <= 10.0 + 1e-9


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (fw.FrankWolfeRegressor(constraint="l2", radius=None), "constraint='l2' needs a radius"),
        (fw.FrankWolfeRegressor(constraint="simplex", radius=None), "constraint='simplex' needs a radius"),
        (fw.FrankWolfeRegressor(constraint=fw.L1Ball(3.0), radius=None), "radius=None means no budget, and constraint"),
        (fw.LowRankRegressor(radius=None), "constraint='trace' needs a radius"),
    ],
)
def test_sets_without_a_radius_that_limit_nothing_are_refused(model, words):
    X, y = table()
    with pytest.raises(ValueError, match=words):
        model.fit(X, y)
