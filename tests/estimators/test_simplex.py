"""One model for each of many targets: the same answers as one by one, proven each, without the columns left out."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import nnls

import frankwolfe as fw

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 60)) + 5.0
Y = X[:, :5] + 0.3 * RNG.normal(size=(40, 5))
WEIGHTS = RNG.uniform(0.0, 2.0, 40)
EXCLUDE = [0, [1], None, [2, -57], 4]


def left_out(entry):
    return [] if entry is None else [entry] if isinstance(entry, int) else entry


@pytest.mark.parametrize(
    ("model", "constraint"),
    [
        (fw.SimplexRegressor(tol=1e-9), fw.Simplex(1.0)),
        (fw.SimplexRegressor(tol=1e-9, fit_intercept=True), fw.Simplex(1.0)),
        (fw.NonNegativeRegressor(1.5, tol=1e-9, fit_intercept=False), fw.NonNegativeL1Ball(1.5)),
        (fw.NonNegativeRegressor(0.7, tol=1e-9), fw.NonNegativeL1Ball(0.7)),
        (fw.SimplexRegressor("huber", tol=1e-9), fw.Simplex(1.0)),
        (fw.SimplexRegressor(bounds=(0, 0.4), tol=1e-9), fw.CappedSimplex(0.4)),
    ],
    ids=["simplex", "intercept", "nonnegative", "nonnegative with intercept", "huber", "capped"],
)
@pytest.mark.parametrize("rows", [X, sparse.csr_array(X), X.astype(np.float32)], ids=["dense", "sparse", "float32"])
def test_each_target_has_the_certificate_of_a_problem_of_its_own(model, constraint, rows):
    model.fit(rows, Y, WEIGHTS, exclude=EXCLUDE)
    assert model.coef_.shape == (5, 60)
    assert model.predict(rows).shape == Y.shape
    for k, found in enumerate(model.result_):
        out = left_out(EXCLUDE[k])
        assert not model.coef_[k, out].any()
        others, w = (
            np.delete(rows.astype(np.float64).toarray() if sparse.issparse(rows) else rows, out, 1),
            model.coef_[k],
        )
        problem = fw.Problem(others, Y[:, k], model.loss, constraint, WEIGHTS, model.fit_intercept)
        proof = problem.evaluate(np.delete(w, out))
        assert found.success
        assert problem.constraint.contains(np.delete(w, out))
        assert max(proof.gap, found.gap) <= 1.01e-9 * problem.zero_value
        assert found.fun == pytest.approx(proof.value, rel=1e-9)
        assert model.intercept_[k] == pytest.approx(proof.intercept, abs=1e-9)
        assert found.zero_value == pytest.approx(problem.zero_value)
        if constraint.structure().coordinates is not None:
            alone = fw.minimize(problem, tol=1e-9)
            assert found.prices["radius"] == pytest.approx(alone.prices["radius"], abs=1e-4)


def test_threads_change_no_bit():
    wide = np.hstack([X, RNG.normal(size=(40, 4000))])
    first = fw.SimplexRegressor(n_jobs=1).fit(wide, wide[:, :300], exclude=range(300))
    assert (fw.SimplexRegressor(n_jobs=3).fit(wide, wide[:, :300], exclude=range(300)).coef_ == first.coef_).all()
    assert (np.diagonal(first.coef_) == 0.0).all()


def test_without_a_budget_it_is_non_negative_least_squares():
    model = fw.NonNegativeRegressor(fit_intercept=False, tol=1e-10).fit(X, Y - 4.0, exclude=EXCLUDE)
    for k, entry in enumerate(EXCLUDE):
        others = np.delete(X, left_out(entry), 1)
        least = nnls(others, Y[:, k] - 4.0)[1]
        assert np.linalg.norm(model.predict(X)[:, k] - Y[:, k] + 4.0) == pytest.approx(least, rel=1e-6)


def test_one_target_names_and_bad_entries():
    import pandas as pd

    frame = pd.DataFrame(X[:, :4], columns=["a", "b", "c_1", "c_2"])
    model = fw.SimplexRegressor().fit(frame, frame["a"], exclude=["a", "c_*"])
    assert model.coef_ == pytest.approx([0.0, 1.0, 0.0, 0.0])
    for exclude, error, text in [
        (["a"], ValueError, "for each of 2 targets, got 1"),
        ("a", TypeError, "an entry for each target, got str"),
        (["a", "z"], ValueError, r"exclude\[1\]: there is no column 'z'"),
        (["a", [0, 1, 2, 3]], ValueError, r"exclude\[1\] leaves no column"),
    ]:
        with pytest.raises(error, match=text):
            fw.SimplexRegressor().fit(frame, frame[["a", "b"]], exclude=exclude)


def test_targets_that_the_shared_solver_leaves_are_solved_by_themselves(monkeypatch):
    whole = fw.SimplexRegressor().fit(X, Y, exclude=EXCLUDE)
    monkeypatch.setattr("frankwolfe.estimators.simplex.MOST_ROUNDS", 1)
    model = fw.SimplexRegressor().fit(X, Y, exclude=EXCLUDE)
    assert {found.method for found in model.result_} == {"auto: corrective", "auto: many targets"}
    assert [found.fun for found in model.result_] == pytest.approx([found.fun for found in whole.result_], rel=1e-6)
    assert not model.coef_[3, [2, 3]].any()


def test_a_constant_target_and_huge_ones():
    targets = np.column_stack([np.full(40, 3.0), Y[:, 0]])
    model = fw.SimplexRegressor(fit_intercept=True).fit(X, targets)
    assert model.result_[0].fun == pytest.approx(0.5 * np.var(X @ model.coef_[0]))
    assert model.result_[1].success
    huge = fw.SimplexRegressor().fit(1e150 * X, 1e150 * Y)
    assert huge.coef_ == pytest.approx(fw.SimplexRegressor().fit(X, Y).coef_, abs=1e-3)


def test_what_is_proven_of_one_target_is_about_its_own_columns():
    model = fw.SimplexRegressor(tol=1e-9).fit(X[:, :8], Y[:, :3], exclude=[0, 1, 2])
    found = model.ranges(X[:, :8], Y[:, :3], target=1)
    assert found.never_used[1]
    assert found.estimate == pytest.approx(model.coef_[1])
    assert fw.verify(model.certificate(X[:, :8], Y[:, :3], target=2), X[:, :8], Y[:, 2]).proven
    with pytest.raises(ValueError, match="3 targets: pass target="):
        model.ranges(X[:, :8], Y[:, :3])


def test_a_stream_goes_on_from_a_fit_of_many_targets():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 8))
    Y = X[:, :3] + 0.1 * rng.normal(size=(60, 3))
    model = fw.SimplexRegressor().fit(X, Y)
    assert model.n_samples_seen_ == 60
    assert model.partial_fit(X, Y).score(X, Y) > 0.8
    assert model.n_samples_seen_ == 120
    assert model.fit(X, Y).n_samples_seen_ == 60
    assert np.isnan(model.gap_estimate_)
    np.testing.assert_allclose(model.coef_.sum(axis=1), 1.0)
