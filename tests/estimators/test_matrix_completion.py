"""`MatrixCompletion`: ids of any kind, entries never seen, mistakes, and ratings of films."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.model_selection import GridSearchCV

import frankwolfe as fw
from tests import cases


def _ratings(seed=0):
    rng = np.random.default_rng(seed)
    users, items = rng.normal(size=(40, 2)), rng.normal(size=(30, 2))
    table = users @ items.T + rng.normal(size=(40, 1)) + 3.0
    rows, columns = np.nonzero(rng.random(table.shape) < 0.5)
    return rows, columns, table[rows, columns], table


def test_completion_finds_what_it_has_not_seen():
    rows, columns, values, table = _ratings()
    pairs = np.column_stack([rows, columns])
    model = fw.MatrixCompletion(radius=80.0, damping=0.1).fit(pairs, values)
    everything = np.column_stack([index.ravel() for index in np.indices(table.shape)])
    assert np.sqrt(np.mean((model.predict(everything) - table.ravel()) ** 2)) < 0.5 * table.std()
    problem = fw.completion_problem(rows, columns, values, (40, 30), constraint=fw.TraceBall(80.0), damping=0.1)
    direct = fw.minimize(problem, tol=1e-4, max_passes=1000)
    np.testing.assert_allclose(model.predict(pairs), problem.predict(direct.x, rows, columns), atol=1e-3)


def test_completion_takes_ids_of_any_kind():
    rows, columns, values, _ = _ratings()
    plain = fw.MatrixCompletion(radius=50.0).fit(np.column_stack([rows, columns]), values)
    names = np.array([f"user {i:02d}" for i in range(40)])
    frame = pd.DataFrame({"when": np.arange(len(rows)), "who": names[rows], "what": columns * 10})
    by_name = fw.MatrixCompletion(radius=50.0, columns=("who", "what")).fit(frame, values)
    named = fw.MatrixCompletion(radius=50.0, columns=(1, 2)).fit(frame, values)
    np.testing.assert_allclose(named.predict(frame), plain.predict(np.column_stack([rows, columns])), atol=1e-8)
    np.testing.assert_array_equal(by_name.predict(frame), named.predict(frame))
    matrix = sparse.csr_array((values, (rows, columns)), shape=(41, 30))
    whole = fw.MatrixCompletion(radius=50.0).fit(matrix)
    np.testing.assert_allclose(whole.predict(np.column_stack([rows, columns])), named.predict(frame), atol=1e-8)
    assert whole.predict([[40, 30]]) == pytest.approx(values.mean())  # both unseen: the mean


def test_completion_falls_back_on_what_is_known():
    rows, columns, values, _ = _ratings()
    model = fw.MatrixCompletion(radius=50.0).fit(np.column_stack([rows, columns]), values)
    offsets = model.offsets_
    found = model.predict([[3, 999], [999, 4], [999, 999]])
    np.testing.assert_allclose(found, offsets.mean + np.array([offsets.rows[3], offsets.columns[4], 0.0]))
    factors = model.set_output(transform="pandas").transform([[3, 999], [999, 4]])
    assert list(factors.columns) == [f"matrixcompletion{k}" for k in range(model.rank_)]
    np.testing.assert_allclose(factors.to_numpy(), [model.row_factors_[3], np.zeros(model.rank_)])


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (sparse.eye_array(3, format="csr"), [1.0, 2.0, 3.0], "leave y out"),
        ([["ann", "tea"], ["bob", "tea"]], [1.0, 2.0], "use the same type"),
    ],
)
def test_completion_refuses_what_it_cannot_read(X, y, message):
    with pytest.raises(TypeError, match=message):
        fw.MatrixCompletion().fit(X, y).predict([[1, 2]])
    with pytest.raises(ValueError, match=r"columns=\(0, 2\): there is no column 2"):
        fw.MatrixCompletion(columns=(0, 2)).fit([[1, 2], [3, 4]], [1.0, 2.0])
    with pytest.raises(ValueError, match=r"there is no column 'user'\. The columns are 'x0'"):
        fw.MatrixCompletion(columns=("user", "item")).fit([[1, 2], [3, 4]], [1.0, 2.0])
    with pytest.raises(ValueError, match="there is no column 'usr'; did you mean 'user'"):
        fw.MatrixCompletion(columns=("usr", "item")).fit(pd.DataFrame({"user": [1, 2], "item": [3, 4]}), [1.0, 2.0])
    for wrong in ("user", (0,), (0, 0), None):
        with pytest.raises(ValueError, match="columns must be two"):
            fw.MatrixCompletion(columns=wrong).fit([[1, 2], [3, 4]], [1.0, 2.0])
    with pytest.raises(ValueError, match=r"there is no column 0\.5"):
        fw.MatrixCompletion(columns=(0, 0.5)).fit([[1, 2], [3, 4]], [1.0, 2.0])
    with pytest.raises(ValueError, match="radius must be a number or 'auto', got None"):
        fw.MatrixCompletion(radius=None).fit([[1, 2], [3, 4]], [1.0, 2.0])
    with pytest.raises(ValueError, match="given more than once"):
        fw.MatrixCompletion(loss="huber").fit([[1, 2], [1, 2]], [1.0, 2.0])


def test_completion_of_movielens():
    stored = cases.stored("movielens_100k")
    user, item, rating = stored["user"], stored["item"], stored["rating"].astype(float)
    pairs, part = np.column_stack([user, item]), np.random.default_rng(0).random(len(user))
    held_out, learn, validate = part < 0.1, part >= 0.2, (part >= 0.1) & (part < 0.2)
    search = GridSearchCV(
        fw.MatrixCompletion(tol=1e-2),
        {"radius": [250.0, 500.0]},
        scoring="neg_mean_squared_error",
        cv=[(np.flatnonzero(learn[~held_out]), np.flatnonzero(validate[~held_out]))],
    )
    model = search.fit(pairs[~held_out], rating[~held_out]).best_estimator_
    errors = model.predict(pairs[held_out]) - rating[held_out]
    assert np.sqrt(np.mean(errors**2)) < 0.92
    model.row_factors_ *= 0.0  # what the offsets alone would say
    alone = model.predict(pairs[held_out]) - rating[held_out]
    assert np.mean(errors**2) < 0.96 * np.mean(alone**2)
