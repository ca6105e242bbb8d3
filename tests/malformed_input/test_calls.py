"""Malformed calls, made from a seed: each is refused with a reason that names the argument, or answered rightly.

Never another exception, never a silent change of data. `odd_values.py` has the values.
"""

from numbers import Real

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize_scalar

import frankwolfe as fw
from frankwolfe.sets.base import for_shape, vertex_of
from tests import cases
from tests.malformed_input.odd_values import NUMBERS, Odd, Site, matrices, vectors, verdict

SEED = 0
RNG = np.random.default_rng(SEED)
X = RNG.normal(size=(12, 3)).round(3)
LABELS = np.where(X[:, 0] + 0.3 * RNG.normal(size=12) > 0.0, 1.0, -1.0)
REAL = (X @ [1.0, -0.5, 0.0] + 0.1 * RNG.normal(size=12)).round(3)
CLASSES = np.arange(12) % 3.0
ROWS = np.column_stack([REAL, -REAL])
WEIGHTS = np.arange(1.0, 13.0)
AT = np.array([0.3, -0.2, 0.1])


# --- references, in NumPy -----------------------------------------------------------------------------------------


def dense(X):
    if sparse.issparse(X):
        return X.toarray().astype(np.float64)
    if hasattr(X, "to_numpy"):
        X = X.to_numpy()
    return np.asarray(X, dtype=np.float64)


def objective(loss, X, y, weight, w, intercept=False):
    """Return the objective by its definition, for the losses used here."""
    A, t = dense(X), dense(y)
    weight = np.ones(len(A)) if np.ndim(weight) == 0 else dense(weight) / dense(weight).max()
    p = weight / weight.sum()
    z = A @ w
    if loss == "logistic":
        if intercept:
            return minimize_scalar(lambda b: p @ np.logaddexp(0.0, -t * (z + b)), (-1.0, 1.0), tol=1e-14).fun
        return p @ np.logaddexp(0.0, -t * z)
    if intercept:
        z = z + p @ (t - z)
    return 0.5 * p @ np.square(z - t)


def right_problem(problem, given):
    for w in (np.zeros(3), AT):
        wanted = objective(given["loss"], given["X"], given["y"], given["sample_weight"], w, bool(given["intercept"]))
        assert abs(problem.value(w) - wanted) <= 1e-6 * (1.0 + abs(wanted)), "another objective"
        step = 1e-6 * np.array([1.0, -1.0, 0.5])
        slope = problem.gradient(w) @ step
        ahead, behind = (
            objective(given["loss"], given["X"], given["y"], given["sample_weight"], w + k * step, given["intercept"])
            for k in (1.0, -1.0)
        )
        assert abs((ahead - behind) / 2.0 - slope) <= 1e-4 * np.abs(step).sum() * (1.0 + abs(wanted)), (
            "another gradient"
        )
    assert isinstance(given["intercept"], bool | np.bool_), "an intercept that is neither yes nor no"


def right_result(result, given):
    """Hold a run on the l1 ball of radius 1 to what it says: feasible, and the gap is the gap."""
    w = result.x
    assert np.abs(w).sum() <= 1.0 + 1e-9, "infeasible"
    gradient = X.T @ (-LABELS / (1.0 + np.exp(LABELS * (X @ w)))) / len(X)
    gap = gradient @ w + np.abs(gradient).max()
    assert abs(result.gap - gap) <= 1e-9, "another gap"
    if result.success:
        assert gap <= result.tolerance <= given.get("tol", 1e-4) * np.log(2.0) + 1e-12
    if given.get("max_passes") is not None:
        assert result.passes <= max(given["max_passes"], 1.0) + 1e-9


# --- the sites ----------------------------------------------------------------------------------------------------

PROBLEM = fw.Problem(X, LABELS, constraint=fw.L1Ball(1.0))
PARTS = {
    "none": None,
    "word": "nothing-known",
    "empty": "",
    "number": 3,
    "class": fw.Huber,
    "set-class": fw.L1Ball,
    "object": Odd(),
    "tuple": (1.0,),
    "list": ["logistic"],
    "function": len,
    "step": fw.methods.ShortStep(),
    "estimate": fw.methods.SagTable(),
}


def numbers(*left_out):
    return {kind: value for kind, value in NUMBERS.items() if kind not in left_out}


def problem_site(loss, y, values):
    good = {"X": X, "y": y, "loss": loss, "constraint": fw.L1Ball(1.0), "sample_weight": WEIGHTS, "intercept": False}
    return Site(f"Problem-{loss}", fw.Problem, good, values, right_problem)


def data(y, seed):
    rng = np.random.default_rng([SEED, seed])
    return {
        "X": matrices(X, rng),
        "y": vectors(y, rng),
        "sample_weight": {
            **vectors(WEIGHTS, rng),
            "zero": np.zeros(12),
            "negative": -WEIGHTS,
            "one-negative": np.where(np.arange(12) == 4, -1.0, WEIGHTS),
            "huge": np.full(12, 1e308),
        },
    }


def right_part(part, given):
    """Hold a part to its arguments: the fields are what was given, as numbers."""
    for name, value in given.items():
        if name in part._fields and isinstance(value, Real):
            assert np.all(getattr(part, name) == value), f"another {name}"
            assert name == "norm" or value == value != np.inf, f"{name} is not finite"


def right_set(part, given):
    """Hold a set to its arguments, and to what every set keeps: its vertices are in it, and no point beats them."""
    right_part(part, given)
    d = DIMENSIONS.get(type(part).__name__, 3)
    for direction in (np.arange(1.0, d + 1.0), -np.ones(d)):
        with np.errstate(over="ignore"):
            vertex, support = vertex_of(part, -direction), part.support(direction)
        assert part.contains(vertex), "a vertex outside"
        assert abs(direction @ vertex - support) <= 1e-9 * (np.abs(vertex).sum() + 1e-280), "another support"


DIMENSIONS = {"Birkhoff": 4, "Spectrahedron": 4}
MATRIX = np.array([[2.0, 0.0, 0.0], [0.0, 1.0, 0.5], [0.0, 0.5, 1.0]])
SQUARE = np.vstack([np.eye(3), -np.eye(3)])


def fit_for(kind):
    """Return a call that makes a set for as many columns as it is tried on."""
    return lambda **given: for_shape(kind(**given), DIMENSIONS.get(kind.__name__, 3), 0)


def set_sites():
    """Sets: every argument of every one."""
    rng = np.random.default_rng([SEED, 9])
    radius, ball = {"radius": NUMBERS}, fw.L1Ball(1.0)
    flags = {"text": "yes", "none": None, "number": 2, "object": Odd(), "array": np.ones(2)}
    groups = {
        **vectors(np.array([0.0, 0.0, 1.0]), rng),
        "overlap": [[0, 1], [1, 2]],
        "twice": [[0, 0], [1, 2]],
        "outside": [[0, 1], [2, 9]],
        "negative": [[0, -1], [1, 2]],
        "gap": [[0], [2]],
        "hollow": [[0, 1], [], [2]],
        "halves": [[0.5, 1.0], [2.0]],
        "letters": [["a"], ["b"]],
        "fine": [[0, 1], [2]],
    }
    sets = {"none": None, "number": 3.0, "text": "l1", "class": fw.L1Ball, "object": Odd(), "loss": fw.Logistic()}
    shapes = {"one": (3,), "three": (1, 1, 1), "zero": (0, 3), "floats": (1.5, 2.0), "text": "3x1", "wrong": (2, 2)}
    for kind in (fw.L1Ball, fw.L2Ball, fw.Simplex, fw.NonNegativeL1Ball, fw.LinfBall):
        yield Site(kind.__name__, fit_for(kind), {"radius": 1.0}, radius, right_set)
    for kind, good, values in (
        (fw.LpBall, {"p": 3.0, "radius": 1.0}, {"p": NUMBERS, **radius}),
        (
            fw.Box,
            {"lower": -np.ones(3), "upper": np.ones(3)},
            {a: vectors(np.ones(3), rng) for a in ("lower", "upper")},
        ),
        (
            fw.Budget,
            {"lower": -np.ones(3), "upper": np.ones(3), "radius": 1.0},
            {a: vectors(np.ones(3), rng) for a in ("lower", "upper")} | radius,
        ),
        (fw.CappedSimplex, {"cap": np.ones(3), "radius": 1.0}, {"cap": vectors(np.ones(3), rng), **radius}),
        (
            fw.MonotoneBox,
            {"lower": -1.0, "upper": 1.0, "increasing": True},
            {"lower": NUMBERS, "upper": NUMBERS, "increasing": flags},
        ),
        (
            fw.GroupBall,
            {"groups": [[0, 1], [2]], "radius": 1.0, "norm": 2.0, "weights": [1.0, 2.0]},
            {"groups": groups, **radius, "norm": numbers(), "weights": vectors(np.array([1.0, 2.0]), rng)},
        ),
        (fw.LatentGroupBall, {"groups": [[0, 1], [1, 2]], "radius": 1.0}, {"groups": groups, **radius}),
        (fw.KSupportBall, {"k": 2, "radius": 1.0, "norm": 2.0}, {"k": NUMBERS, **radius, "norm": numbers()}),
        (
            fw.OWLBall,
            {"weights": np.array([3.0, 2.0, 1.0]), "radius": 1.0},
            {"weights": vectors(np.ones(3), rng), **radius},
        ),
        (
            fw.Ellipsoid,
            {"shape": MATRIX, "radius": 1.0, "centre": 0.0},
            {"shape": matrices(MATRIX, rng), **radius, "centre": vectors(np.zeros(3), rng)},
        ),
        (fw.ConvexHull, {"points": SQUARE}, {"points": matrices(SQUARE, rng)}),
        (fw.Birkhoff, {"size": 2}, {"size": numbers("huge-int")}),
        (fw.Spectrahedron, {"trace": 1.0}, {"trace": NUMBERS}),
        (fw.TraceBall, {"radius": 1.0, "shape": (3, 1)}, {**radius, "shape": shapes}),
        (fw.sets.Translated, {"set": ball, "shift": np.ones(3)}, {"set": sets, "shift": vectors(np.ones(3), rng)}),
        (fw.sets.Scaled, {"set": ball, "factor": 2.0}, {"set": sets, "factor": NUMBERS}),
        (fw.sets.Cached, {"set": ball, "size": 4}, {"set": sets, "size": NUMBERS}),
        (fw.sets.Counted, {"set": ball}, {"set": sets}),
        (
            fw.Product,
            {"sets": [ball, ball], "sizes": [1, 2]},
            {
                "sets": {**sets, "empty": [], "one": [ball], "odd": [ball, 3]},
                "sizes": {
                    **numbers("generator"),
                    "zero": [0, 3],
                    "text": "12",
                    "three": [1, 1, 1],
                    "halves": [1.5, 1.5],
                },
            },
        ),
        (fw.Polytope, {"A": SQUARE, "b": np.ones(6)}, {"A": matrices(SQUARE, rng), "b": vectors(np.ones(6), rng)}),
    ):
        yield Site(kind.__name__, fit_for(kind), good, values, right_set, NAMED)


NAMED = {
    "set": ("constraint set",),
    "sets": ("Product: set ",),
    "sizes": ("Product: size ", "Product: one size"),
    "groups": ("LatentGroupBall: group ", "GroupBall: group "),
    "shape": ("TraceBall: a 2 x 2 matrix",),
    # what is wrong is the polytope that both make
    "A": ("the set is unbounded", "no w satisfies"),
    "b": ("the set is unbounded", "no w satisfies"),
}


def loss_sites():
    """Losses, and step rules, that have numbers."""
    for kind, name in (
        *((type(loss), field) for loss in cases.LOSSES for field in loss._fields),
        (fw.methods.OpenLoop, "numerator"),
        (fw.methods.OpenLoop, "offset"),
        (fw.methods.Backtracking, "relax"),
        (fw.methods.Backtracking, "raise_by"),
        (fw.methods.DampedStep, "start"),
        (fw.methods.DampedStep, "window"),
    ):
        yield Site(kind.__name__, kind, {}, {name: NUMBERS}, right_part)


def path_sites():
    """Paths of radii."""
    values = {
        "radii": {**vectors(np.array([0.5, 1.0]), np.random.default_rng([SEED, 11])), "zero": [0.0], "none": [-1.0]},
        "n_radii": numbers("int", "numpy-int", "large", "huge-int"),
        "constraint": {kind: part for kind, part in PARTS.items() if kind != "none"},
        "tol": numbers("int", "numpy-int", "float32", "fraction"),
    }
    good = {"loss": "squared", "radii": [0.5, 1.0], "tol": 1e-3, "constraint": "l1"}

    def call(**given):
        if "n_radii" in given:
            given["radii"] = None
        return fw.radius_path(X, REAL, **given)

    def right(path, given):
        radii = np.unique(dense(given["radii"]))
        assert np.array_equal(path.radii, radii), "other radii"
        assert (np.abs(path.coefs.toarray()).sum(axis=1) <= radii * (1.0 + 1e-9)).all(), "infeasible"
        for k in range(len(radii)):
            assert abs(path.funs[k] - objective("squared", X, REAL, None, path.coef(k))) <= 1e-9, "another objective"

    yield Site("radius_path", call, good, values, right)


def completion_sites():
    """Matrix completion: where entries are, what they are, and how large the matrix is."""
    rng = np.random.default_rng([SEED, 13])
    rows, columns, values = np.array([0, 0, 1, 2, 3, 3]), np.array([0, 1, 1, 0, 2, 1]), np.linspace(-1.0, 2.0, 6)
    places = vectors(rows.astype(float), rng) | {"negative": -rows - 1, "outside": rows + 9, "halves": rows + 0.5}
    shapes = {"small": (2, 2), "three": (4, 3, 1), "one": (4,), "text": "4x3", "floats": (4.5, 3.0), "zero": (0, 0)}
    good = {
        "rows": rows,
        "columns": columns,
        "values": values,
        "shape": (4, 3),
        "constraint": fw.TraceBall(2.0),
        "offsets": False,
        "damping": 5.0,
        "sample_weight": None,
    }

    def right(problem, given):
        weights = np.ones(6) if np.ndim(given["sample_weight"]) == 0 else dense(given["sample_weight"])
        p, entries = weights / weights.sum(), dense(given["values"])
        order = np.lexsort((dense(given["columns"]), dense(given["rows"])))
        assert given["offsets"] is False, "offsets that are neither yes nor no"
        assert abs(problem.zero_value - 0.5 * p @ entries**2) <= 1e-6, "another objective"
        gradient = problem.evaluate(problem.zero()).gradient
        assert np.allclose(gradient, -(p * entries)[order], atol=1e-6), "another gradient"

    values_of = {
        "rows": places,
        "columns": {kind: value for kind, value in places.items() if kind not in ("locked", "strided")},
        "values": vectors(values, rng),
        "shape": shapes,
        "constraint": {**PARTS, "ball": fw.L1Ball(1.0), "text": "trace"},
        "offsets": {"text": "yes", "number": 3, "array": np.ones(2), "object": Odd()},
        "damping": numbers("huge-int"),
        "sample_weight": {**vectors(np.ones(6), rng), "zero": np.zeros(6), "negative": -np.ones(6)},
    }
    named = {"rows": ("entries",), "columns": ("entries",), "values": ("y ", "entries"), "shape": ("matrix",)}
    yield Site("completion_problem", fw.completion_problem, good, values_of, right, named)


def right_model(model, given):
    """Hold a fitted regressor to what it says of itself."""
    A, t = dense(given["X"]), dense(given["y"]).ravel()
    assert np.abs(model.coef_).sum() <= 1.0 + 1e-9, "infeasible"
    wanted = A @ model.coef_.ravel() + model.intercept_
    assert np.allclose(model.predict(given["X"]), wanted, rtol=1e-5, atol=1e-6), "other predictions"
    weight = given.get("sample_weight")
    fun = objective("squared", A, t, weight, model.coef_.ravel(), intercept=True)
    assert abs(model.result_.fun - fun) <= 1e-5 * (1.0 + fun), "another objective"


def estimator_sites():
    """Estimators: data and parameters, which are checked when they are fitted."""
    rng = np.random.default_rng([SEED, 12])

    def regressor(X, y, sample_weight=None, **parameters):
        return fw.FrankWolfeRegressor(**{"radius": 1.0, "tol": 1e-3, **parameters}).fit(X, y, sample_weight)

    def classifier(y, **parameters):
        return fw.FrankWolfeClassifier(**{"radius": 1.0, "tol": 1e-3, **parameters}).fit(X, y)

    odd = {"nan": NUMBERS["nan"], "text": "5", "object": Odd(), "negative": -1.0, "list": [1.0]}
    parts = {kind: part for kind, part in PARTS.items() if kind != "none"}
    # scikit-learn's own messages, which do not always name the argument
    theirs = ("could not convert", "float() argument", "Complex data", "array", "Input", "input", "sample", "index")
    named = {
        "X": (*theirs, "feature", "dtype"),
        "y": (*theirs, "target", "label", "Unknown", "sequence", "class", "inconsistent"),
        "sample_weight": (*theirs, "Sample weights"),
        "radius": ("L1Ball",),
    }
    frames = ("fewer-rows", "generator")
    yield Site(
        "FrankWolfeRegressor",
        regressor,
        {"X": X, "y": REAL},
        {
            "X": {kind: value for kind, value in matrices(X, rng).items() if kind not in frames},
            "y": {
                kind: value
                for kind, value in vectors(REAL, rng).items()
                if kind not in ("column", "generator", "matrix")
            },
            "sample_weight": {**vectors(WEIGHTS, rng), "zero": np.zeros(12), "negative": -WEIGHTS},
            "loss": parts,
            "constraint": parts,
            "method": parts,
            "radius": {**odd, "zero": 0.0, "inf": float("inf"), "true": True},
            "tol": odd,
            "max_passes": odd,
            "random_state": {kind: value for kind, value in odd.items() if kind not in ("nan", "list")},
            "signs": {"word": "up", "short": [1, 0], "two": 2, "name": {"age": 1}, "nan": [np.nan] * 3},
        },
        right_model,
        named,
    )
    yield Site(
        "FrankWolfeClassifier",
        classifier,
        {"y": LABELS},
        {
            "y": {
                kind: value
                for kind, value in vectors(LABELS, rng).items()
                if kind not in ("column", "generator", "digits", "words")
            }
            | {"one-class": np.ones(12), "real": REAL},
            "class_weight": {"word": "even", "number": 3, "list": [1, 2], "unknown": {7: 1.0}, "text": {1.0: "a"}},
            "multi_class": {"word": "one", "number": 3, "none": None},
        },
        lambda model, given: None,
        {**named, "class_weight": ("weight", "class", "float"), "multi_class": ("multi_class",)},
    )


def sites():
    """Return all sites, made afresh: a generator among the values is used up by a call."""
    evaluated = {
        name: Site(
            f"problem.{name}",
            getattr(PROBLEM, name),
            {"w": AT},
            {"w": vectors(AT, np.random.default_rng([SEED, 7]))},
            lambda found, given: None,
        )
        for name in ("value", "gradient", "gap")
    }
    start = vectors(AT, np.random.default_rng([SEED, 8]))
    run_values = {
        "method": {**PARTS, "loss": fw.Logistic(), "ball": fw.L1Ball(1.0)},
        "step": {kind: part for kind, part in PARTS.items() if kind not in ("none", "step")},
        "batch_size": numbers("none"),
        "tol": NUMBERS,
        "max_passes": numbers("large", "int", "numpy-int"),
        "max_seconds": numbers("none", "tiny", "zero", "large", "inf", "numpy-inf32"),
        "random_state": {**NUMBERS, "state": np.random.RandomState(0), "ints": [1, 2]},
        "x0": {**start, "outside": [1.0, 1.0, 1.0], "far": [1e300, 0.0, 0.0], "matrix": np.zeros((3, 2))},
        "callback": {
            "number": 3,
            "text": "stop",
            "arguments": lambda: None,
            "two": lambda state, more: None,
            "answers-number": lambda state: 1,
            "answers-text": lambda state: "no",
            "answers-array": lambda state: np.array([True, False]),
            "fine": lambda state: np.True_,
        },
        "progress": {"text": "yes", "number": 3, "array": np.ones(2), "object": Odd()},
        "trace": numbers("large", "huge-int"),
    }
    run = {"method": "sfw", "tol": 1e-3, "max_passes": 2.0, "random_state": 0, "batch_size": 4}
    yield problem_site("logistic", LABELS, {**data(LABELS, 1), "intercept": numbers("none")})
    yield problem_site("squared", REAL, data(REAL, 2))
    yield problem_site("logistic", LABELS, {"loss": PARTS, "constraint": {**PARTS, "l1": "l1"}})
    yield from evaluated.values()
    yield Site(
        "minimize",
        lambda **given: fw.minimize(PROBLEM, **given),
        run,
        run_values,
        right_result,
        {"batch_size": ("batch",), "max_passes": ("passes",), "callback": ("callback",)},
    )
    yield from set_sites()
    yield from loss_sites()
    yield from path_sites()
    yield from completion_sites()
    yield Site(
        "load_model",
        fw.load_model,
        {},
        {
            "path": {
                kind: value for kind, value in NUMBERS.items() if kind not in ("text", "word", "bytes", "true", "int")
            }
        },
        lambda found, given: None,
    )
    yield from estimator_sites()
    yield Site("minimize-problem", fw.minimize, {}, {"problem": {**PARTS, "array": X}}, right_result)


@pytest.fixture(autouse=True)
def interpreted():
    with fw.python_mode():
        yield


NAMES = [f"{number}-{site.name}" for number, site in enumerate(sites())]


@pytest.mark.parametrize("number", range(len(NAMES)), ids=NAMES)
def test_refused_with_a_reason_or_answered_rightly(number):
    site = list(sites())[number]
    wrong = [verdict(site, argument, kind) for argument, values in site.values.items() for kind in values]
    wrong = [found for found in wrong if found]
    assert not wrong, "\n" + "\n".join(wrong)


def test_there_are_enough():
    assert sum(len(values) for site in sites() for values in site.values.values()) >= 500
