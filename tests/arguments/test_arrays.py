"""Bad inputs: each is refused at once, by an error that names the argument and says what to do."""

from typing import NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

import frankwolfe as fw

X = np.array([[1.5, 0.5, 0.0], [0.5, 1.5, 0.5], [0.0, 0.5, 1.5], [-0.5, 0.5, 1.0]])
Y = np.array([1.0, -1.0, 1.0, -1.0])
WEIGHTS = np.array([1.0, 2.0, 1.0, 0.0])
BALL = fw.L1Ball(1.0)
NAN, INF = float("nan"), float("inf")


class NoSet(NamedTuple):
    """A NamedTuple that has none of a set's methods."""

    radius: float = 1.0


def problem(X=X, y=Y, loss="logistic", constraint=BALL, sample_weight=WEIGHTS):
    return fw.Problem(X, y, loss, constraint, sample_weight=sample_weight)


PROBLEM = problem()


def run(method="sfw", **arguments):
    return fw.minimize(PROBLEM, method, **{"max_passes": 2, **arguments})


def with_entry(array, entry):
    """Return a copy whose last entry is another."""
    changed = np.array(array, dtype=np.result_type(array, type(entry)))
    changed.flat[-1] = entry
    return changed


NUMBERS, WORDS = [1.0, 2.0, 3.0, 4.0], list("abcd")
SCALED_SETS = (fw.L1Ball, fw.Simplex, fw.NonNegativeL1Ball, fw.L2Ball, fw.LinfBall)

DATA = [
    ("X-1d", lambda: problem(X=X[:, 0]), ValueError, "X must have two dimensions", "reshape(-1, 1)"),
    ("X-3d", lambda: problem(X=X[:, :, None]), ValueError, "X must have two dimensions", "(4, 3, 1)"),
    ("X-scalar", lambda: problem(X=3.0), ValueError, "X must have two dimensions"),
    ("X-none", lambda: problem(X=None), ValueError, "X must have two dimensions"),
    ("X-ragged", lambda: problem(X=[[1.0, 2.0], [3.0], [4.0, 5.0], [6.0, 7.0]]), ValueError, "X must", "rows"),
    ("X-no-rows", lambda: problem(X=np.zeros((0, 3)), y=[]), ValueError, "X is empty", "0 rows"),
    ("X-no-columns", lambda: problem(X=np.zeros((4, 0))), ValueError, "X is empty", "0 columns"),
    ("X-nan", lambda: problem(X=with_entry(X, NAN)), ValueError, "X holds 1 NaN", "impute"),
    ("X-inf", lambda: problem(X=with_entry(X, -INF)), ValueError, "X holds 1 NaN or infinite", "drop"),
    ("X-complex", lambda: problem(X=X * 1j), TypeError, "X is complex", "split"),
    ("X-strings", lambda: problem(X=X.astype(str)), TypeError, "X must hold numbers"),
    ("X-objects", lambda: problem(X=X.astype(object)), TypeError, "X must hold numbers", "object"),
    ("X-masked", lambda: problem(X=np.ma.masked_greater(X, 1.0)), TypeError, "X is a masked array", "filled"),
    ("X-sparse-nan", lambda: problem(X=sparse.csr_array(with_entry(X, NAN))), ValueError, "X holds 1 NaN"),
    ("X-sparse-inf", lambda: problem(X=sparse.coo_array(with_entry(X, INF))), ValueError, "X holds 1 NaN"),
    ("X-sparse-complex", lambda: problem(X=sparse.csr_array(X * 1j)), TypeError, "X is complex"),
    ("X-sparse-1d", lambda: problem(X=sparse.coo_array(X[:, 0])), ValueError, "X must have two dimensions"),
    ("X-sparse-empty", lambda: problem(X=sparse.csr_array((0, 3)), y=[]), ValueError, "X is empty"),
    (
        "X-pandas-text",
        lambda: problem(X=pd.DataFrame({"age": NUMBERS, "town": WORDS, "street": WORDS})),
        TypeError,
        "X: columns town, street",
        "encode",
    ),
    (
        "X-polars-text",
        lambda: problem(X=pl.DataFrame({"age": NUMBERS, "town": WORDS})),
        TypeError,
        "X: column town",
        "encode",
    ),
    (
        "X-pandas-dates",
        lambda: problem(X=pd.DataFrame({"when": pd.date_range("2020-01-01", periods=4)})),
        TypeError,
        "X: column when",
        "encode",
    ),
    (
        "X-pandas-intervals",
        lambda: problem(X=pd.DataFrame({"span": pd.interval_range(0, 4)})),
        TypeError,
        "X: column span",
        "encode",
    ),
    (
        "X-polars-lists",
        lambda: problem(X=pl.DataFrame({"bag": [[1, 2], [1], [2], [3]]})),
        TypeError,
        "X: column bag",
        "encode",
    ),
    (
        "X-pandas-missing",
        lambda: problem(X=pd.DataFrame({"age": pd.array([1, None, 2, 3], dtype="Int64"), "b": NUMBERS})),
        ValueError,
        "X holds 1 NaN",
        "impute",
    ),
    ("X-polars-missing", lambda: problem(X=pl.DataFrame({"age": [1, None, 3, 4]})), ValueError, "X holds 1 NaN"),
    ("y-short", lambda: problem(y=Y[:3]), ValueError, "y has 3 entries", "4 rows"),
    ("y-column", lambda: problem(y=Y[:, None]), ValueError, "y must be a vector", "y.ravel()"),
    ("y-2d", lambda: problem(y=np.c_[Y, Y]), ValueError, "y must be a vector", "(4, 2)"),
    ("y-ragged", lambda: problem(y=[1.0, [1.0, 2.0], 1.0, 1.0]), ValueError, "y must be a vector"),
    ("y-nan", lambda: problem(y=with_entry(Y, NAN), loss="squared"), ValueError, "y holds NaN", "entry 3"),
    ("y-inf", lambda: problem(y=with_entry(Y, INF), loss="squared"), ValueError, "y holds NaN or infinity", "entry 3"),
    ("y-strings", lambda: problem(y=WORDS), TypeError, "strings such as 'a'", "Logistic", "-1 and +1", "np.where"),
    ("y-strings-real", lambda: problem(y=WORDS, loss="squared"), TypeError, "y must hold numbers"),
    ("y-objects", lambda: problem(y=pd.Series(WORDS, dtype=object)), TypeError, "y", "'a'"),
    ("y-digits-as-text", lambda: problem(y=np.array(["1", "-1", "1", "1"], dtype=object)), TypeError, "y", "'1'"),
    ("y-complex", lambda: problem(y=Y * 1j, loss="squared"), TypeError, "y is complex"),
    ("y-sparse", lambda: problem(y=sparse.csr_array(Y[:, None])), TypeError, "y must be a dense vector", "toarray"),
    ("y-masked", lambda: problem(y=np.ma.masked_less(Y, 0.0)), TypeError, "y is a masked array", "fill"),
    ("y-zero-one", lambda: problem(y=[0, 1, 0, 1]), ValueError, "y must hold the labels -1 and +1", "2 * y - 1"),
    ("y-bools", lambda: problem(y=Y > 0), ValueError, "y must hold the labels -1 and +1", "2 * y - 1"),
    ("y-three-classes", lambda: problem(y=[-1, 0, 1, 1]), ValueError, "y must hold the labels", "got -1, 0, 1"),
    ("weights-negative", lambda: problem(sample_weight=-WEIGHTS), ValueError, "sample_weight", "negative"),
    ("weights-zero", lambda: problem(sample_weight=0 * WEIGHTS), ValueError, "sample_weight", "positive"),
    (
        "weights-nan",
        lambda: problem(sample_weight=with_entry(Y, NAN)),
        ValueError,
        "sample_weight holds NaN",
        "entry 3",
    ),
    ("weights-short", lambda: problem(sample_weight=WEIGHTS[1:]), ValueError, "sample_weight has 3 entries", "4 rows"),
    ("weights-2d", lambda: problem(sample_weight=WEIGHTS[None]), ValueError, "sample_weight must be a vector", "ravel"),
    ("weights-strings", lambda: problem(sample_weight=WORDS), TypeError, "sample_weight must hold numbers"),
    ("w-short", lambda: PROBLEM.value([0.0]), ValueError, "w has 1 entries", "3 columns"),
    ("w-nan", lambda: PROBLEM.gap([0.0, NAN, 0.0]), ValueError, "w holds NaN", "entry 1"),
]

SETS = [
    case
    for kind in SCALED_SETS
    for case in (
        (f"{kind.__name__}-zero", lambda kind=kind: kind(0.0), ValueError, f"{kind.__name__}: radius", "positive"),
        (f"{kind.__name__}-negative", lambda kind=kind: kind(-2), ValueError, f"{kind.__name__}: radius", "positive"),
        (f"{kind.__name__}-nan", lambda kind=kind: kind(NAN), ValueError, f"{kind.__name__}: radius", "finite"),
        (f"{kind.__name__}-inf", lambda kind=kind: kind(INF), ValueError, f"{kind.__name__}: radius", "finite"),
        (f"{kind.__name__}-string", lambda kind=kind: kind("5"), TypeError, f"{kind.__name__}: radius", "number"),
    )
] + [
    ("Box-crossed", lambda: fw.Box(1.0, 0.0), ValueError, "Box: lower must not exceed upper", "1 > upper = 0"),
    ("Box-crossed-entry", lambda: fw.Box(0.0, [1.0, -1.0]), ValueError, "Box: lower must not exceed upper", "entry 1"),
    (
        "Box-crossed-vectors",
        lambda: fw.Box([2.0, 0.0], [1.0, 1.0]),
        ValueError,
        "Box: lower must not exceed upper",
        "entry 0",
    ),
    ("Box-nan", lambda: fw.Box(0.0, NAN), ValueError, "Box: upper", "finite"),
    ("Box-inf", lambda: fw.Box(-INF, 0.0), ValueError, "Box: lower", "finite"),
    ("Box-inf-entry", lambda: fw.Box(0.0, [1.0, INF]), ValueError, "Box: upper", "bounded"),
    ("Box-string", lambda: fw.Box("low", 0.0), TypeError, "Box: lower", "number"),
    ("Box-2d", lambda: fw.Box([[0.0]], 1.0), ValueError, "Box: lower", "vector"),
    ("Box-lengths", lambda: fw.Box([0.0, 0.0], [1.0] * 3), ValueError, "Box: lower has 2 entries", "upper has 3"),
    ("Box-columns", lambda: problem(constraint=fw.Box(0.0, [1.0, 1.0])), ValueError, "Box: upper has 2", "3 columns"),
]

PARTS = [
    ("loss-spelling", lambda: problem(loss="logistc"), ValueError, "loss", "did you mean 'logistic'?"),
    ("loss-underscore", lambda: problem(loss="squared_hinge"), ValueError, "loss", "did you mean 'squared-hinge'?"),
    ("loss-unknown", lambda: problem(loss="zzz"), ValueError, "unknown loss 'zzz'", "Known: 'logistic'"),
    ("loss-class", lambda: problem(loss=fw.Huber), TypeError, "loss must be an instance", "Huber(...)"),
    ("loss-number", lambda: problem(loss=2), TypeError, "loss must be a loss", "int"),
    ("loss-set", lambda: problem(loss=BALL), TypeError, "loss: L1Ball is not a loss", "derivative"),
    ("loss-parameter", lambda: fw.Huber(-1.0), ValueError, "Huber: delta", "positive"),
    ("set-missing", lambda: fw.Problem(X, Y), TypeError, "constraint is missing", "fw.L1Ball(10.0)"),
    ("set-string", lambda: problem(constraint="l1"), TypeError, "constraint must be a set", "fw.L1Ball(10.0)", "'l1'"),
    ("set-class", lambda: problem(constraint=fw.L1Ball), TypeError, "constraint must be an instance", "L1Ball(...)"),
    ("set-number", lambda: problem(constraint=10.0), TypeError, "constraint must be a constraint set", "float"),
    ("set-tuple", lambda: problem(constraint=NoSet()), TypeError, "constraint: NoSet is not", "no method", "oracle"),
    ("method-spelling", lambda: run("sgw"), ValueError, "method", "did you mean 'sfw'?"),
    ("method-underscore", lambda: run("lu_freund"), ValueError, "method", "did you mean 'lu-freund'?"),
    ("method-number", lambda: run(3), TypeError, "method must be a name or a fw.methods.Method", "int"),
    (
        "method-part",
        lambda: run(fw.methods.SagTable()),
        TypeError,
        "method must be a name or a fw.methods.Method",
        "SagTable",
    ),
    (
        "method-class-inside",
        lambda: run(fw.methods.Method(fw.methods.SagTable)),
        TypeError,
        "method.estimate",
        "SagTable(...)",
    ),
    ("step-spelling", lambda: run("fw", step="linesearch"), ValueError, "step", "did you mean 'line-search'?"),
    (
        "step-class",
        lambda: run("fw", step=fw.methods.ShortStep),
        TypeError,
        "step must be an instance",
        "ShortStep(...)",
    ),
    ("step-number", lambda: run("fw", step=0.1), TypeError, "step must be a step rule", "float"),
]

RUNS = [
    ("batch-zero", lambda: run(batch_size=0), ValueError, "batch_size must be between 1", "4"),
    ("batch-negative", lambda: run(batch_size=-2), ValueError, "batch_size must be between 1", "4"),
    ("batch-large", lambda: run(batch_size=5), ValueError, "batch_size must be between 1", "rows, 4"),
    ("batch-1.5", lambda: run(batch_size=1.5), ValueError, "batch_size as a fraction", "(0, 1)"),
    ("batch-0.0", lambda: run(batch_size=0.0), ValueError, "batch_size as a fraction", "(0, 1)"),
    ("batch-1.0", lambda: run(batch_size=1.0), ValueError, "batch_size as a fraction", "for all rows pass 4"),
    ("batch-nan", lambda: run(batch_size=NAN), ValueError, "batch_size as a fraction", "(0, 1)"),
    ("batch-bool", lambda: run(batch_size=True), TypeError, "batch_size must be an int, a fraction", "bool"),
    ("batch-string", lambda: run(batch_size="1%"), TypeError, "batch_size must be an int, a fraction", "str"),
    ("tol-negative", lambda: run(tol=-1e-3), ValueError, "tol must be at least 0"),
    ("tol-nan", lambda: run(tol=NAN), ValueError, "tol must be at least 0"),
    ("tol-string", lambda: run(tol="1e-4"), TypeError, "tol must be a number", "str"),
    ("passes-negative", lambda: run(max_passes=-1), ValueError, "max_passes must be at least 0"),
    ("passes-nan", lambda: run(max_passes=NAN), ValueError, "max_passes must be at least 0"),
    ("passes-string", lambda: run(max_passes="10"), TypeError, "max_passes must be a number or None", "str"),
    ("passes-none", lambda: run(max_passes=None), ValueError, "max_passes=None", "needs max_seconds"),
    ("passes-inf", lambda: run(max_passes=INF), ValueError, "max_passes", "needs max_seconds"),
    ("seconds-negative", lambda: run(max_seconds=-0.1), ValueError, "max_seconds must be at least 0"),
    ("seconds-bool", lambda: run(max_seconds=True), TypeError, "max_seconds must be a number or None", "bool"),
    ("x0-short", lambda: run(x0=[0.0, 0.0]), ValueError, "x0 has 2 entries", "3 columns"),
    ("x0-nan", lambda: run(x0=[0.0, NAN, 0.0]), ValueError, "x0 holds NaN", "entry 1"),
    ("x0-outside", lambda: run(x0=[1.0, 1.0, 0.0]), ValueError, "x0 is not in", "L1Ball(radius=1)", "l1 norm is 2"),
    ("x0-2d", lambda: run(x0=np.zeros((3, 1))), ValueError, "x0 must be a vector", "x0.ravel()"),
    ("x0-strings", lambda: run(x0=["a", "b", "c"]), TypeError, "x0 must hold numbers"),
    ("callback-number", lambda: run(callback=3), TypeError, "callback must be callable", "int"),
    ("callback-answer", lambda: run(callback=lambda state: "stop"), TypeError, "callback must return True", "'stop'"),
    ("seed-negative", lambda: run(random_state=-1), ValueError, "random_state must not be negative"),
    ("seed-string", lambda: run(random_state="0"), TypeError, "random_state must be an int", "Generator", "str"),
    ("seed-float", lambda: run(random_state=1.0), TypeError, "random_state must be an int", "float"),
    ("seed-list", lambda: run(random_state=[1, 2.0]), TypeError, "random_state must be an int, a sequence", "list"),
    ("rng-negative", lambda: run(rng=[1, -1]), ValueError, "rng must not be negative", "[1, -1]"),
    ("rng-legacy", lambda: run(rng=np.random.RandomState(0)), TypeError, "rng must be", "numpy.random.Generator"),
    ("rng-number", lambda: run(rng=np.array(1.0)), TypeError, "rng must be an int", "ndarray"),
    ("rng-twice", lambda: run(rng=1, random_state=1), TypeError, "rng and random_state", "leave one out"),
    ("path-twice", lambda: fw.radius_path(X, Y, rng=1, random_state=1), TypeError, "rng and random_state"),
    ("path-seed", lambda: fw.radius_path(X, Y, rng="0"), TypeError, "rng must be an int", "str"),
    ("trace-negative", lambda: run(trace=-1), ValueError, "trace must be at least 0"),
    ("trace-float", lambda: run(trace=2.5), TypeError, "trace must be an int", "2.5"),
    ("problem-tuple", lambda: fw.minimize((X, Y)), TypeError, "problem must be a fw.Problem", "tuple"),
    ("name-spelling", lambda: fw.L1Bal, AttributeError, "'L1Bal'", "did you mean 'L1Ball'?"),
]

BAD = [pytest.param(*case[1:3], case[3:], id=case[0]) for case in DATA + SETS + PARTS + RUNS]


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize(("call", "error", "words"), BAD)
def test_refused_with_a_reason_and_nothing_half_done(call, error, words):
    inputs = (X, Y, WEIGHTS)
    copies = [array.copy() for array in inputs]
    w = np.array([0.2, -0.3, 0.1])
    before = PROBLEM.evaluate(w)

    with pytest.raises(error) as caught:
        call()

    message = str(caught.value)
    assert [word for word in words if word not in message] == [], message
    for array, copy in zip(inputs, copies, strict=True):
        np.testing.assert_array_equal(array, copy)
    after = PROBLEM.evaluate(w)
    assert after.value == before.value
    np.testing.assert_array_equal(after.gradient, before.gradient)


def test_the_table_of_bad_inputs_is_long_and_without_repeats():
    ids = [case[0] for case in DATA + SETS + PARTS + RUNS]
    assert len(ids) >= 55
    assert len(set(ids)) == len(ids)


@pytest.mark.usefixtures("interpreted")
def test_a_refused_run_draws_no_random_numbers_and_leaves_the_problem_usable():
    generator, untouched = np.random.default_rng(5), np.random.default_rng(5)
    for bad in ({"x0": [9.0, 9.0, 9.0]}, {"tol": -1.0}, {"batch_size": 0}, {"trace": -1}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            run(random_state=generator, **bad)
    assert generator.random() == untouched.random()
    assert run("fw", tol=0.0, max_passes=3).nit == 3


@pytest.mark.usefixtures("interpreted")
def test_a_callback_that_fails_is_not_swallowed():
    def fail(state):
        raise ZeroDivisionError("from the callback")

    with pytest.raises(ZeroDivisionError, match="from the callback"):
        run(callback=fail)
