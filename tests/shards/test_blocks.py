"""Blocks and executors: cut by size, added up in order, the same bits for any number of threads."""

import threading
import time

import numpy as np
import pytest
from scipy import sparse

import frankwolfe as fw
import frankwolfe.rows as blocks
from frankwolfe.linalg.threads import VARIABLES, default_threads
from frankwolfe.rows import as_rows
from frankwolfe.rows.csr import CSR
from frankwolfe.rows.dense import even_parts
from frankwolfe.shards.local import Threads
from frankwolfe.solvers.corrective import active_atoms
from tests import cases

THREADS = (1, 2, 7)


@pytest.fixture
def many_blocks(monkeypatch):
    """Cut small data into blocks too."""
    monkeypatch.setattr(blocks, "SMALL", 0)
    monkeypatch.setattr(blocks, "LEAST", 40)
    monkeypatch.setattr(blocks, "PER_COLUMN", 0)
    monkeypatch.setattr(active_atoms, "JOINED_ENTRIES", 40)
    monkeypatch.setattr(active_atoms, "PRODUCTS_PER_HESSIAN_ENTRY", 0.0)


def rows_from(starts):
    """Sparse rows that begin at these entries."""
    return CSR(np.ones(starts[-1]), np.zeros(starts[-1], np.uint32), starts)


@pytest.mark.parametrize("n", [1, 2, 7, 100])
@pytest.mark.parametrize("entries", [1, 10, 10_000])
def test_parts_cover_all_rows_once(n, entries):
    counts = np.random.default_rng(n).integers(0, 9, n)
    for parts in (even_parts(n, 5, entries), rows_from(np.concatenate([[0], np.cumsum(counts)])).cut(entries)):
        assert [i for part in parts for i in range(part.start, part.stop)] == list(range(n))
        assert all(part.stop > part.start for part in parts)


def test_parts_have_about_the_size_that_was_asked_for():
    starts = np.arange(0, 10_001, 10)
    sizes = [starts[part.stop] - starts[part.start] for part in rows_from(starts).cut(500)]
    assert 400 <= min(sizes) <= max(sizes) <= 600
    assert max(part.stop - part.start for part in even_parts(1000, 10, 500)) <= 51


@pytest.mark.parametrize("outputs", [0, 3])
@pytest.mark.parametrize("layout", ["dense", "csr", "float32"])
def test_blocks_of_rows_are_the_rows(layout, outputs):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 6)) * (rng.random((40, 6)) < 0.6)
    matrix = {"dense": X, "csr": sparse.csr_array(X), "float32": X.astype(np.float32)}[layout]
    rows = as_rows(matrix, outputs)
    w, alpha = rng.normal(size=6 * max(1, outputs)), rng.normal(size=(40, outputs) if outputs else 40)
    parts = rows.cut(60)
    assert len(parts) > 2
    z = np.concatenate([rows.block(part).dot_all(w) for part in parts])
    np.testing.assert_allclose(z, rows.dot_all(w), rtol=1e-12, atol=1e-14)
    r = sum(rows.block(part).add_all(alpha[part], len(w)) for part in parts)
    np.testing.assert_allclose(r, rows.add_all(alpha, len(w)), rtol=1e-6, atol=1e-12)


def test_answers_are_added_in_block_order_whoever_comes_first():
    order = []

    def task(number):
        time.sleep(0.002 * (number % 3 == 0))
        order.append(number)
        return np.array([10.0**-number]), number

    expected = Threads(1).run(task, range(30))
    order.clear()
    found = Threads(7).run(task, range(30))
    assert found[0].tobytes() == expected[0].tobytes()
    assert found[1] == expected[1] == sum(range(30))
    assert order != sorted(order)


def test_what_goes_wrong_in_a_thread_is_raised_and_nobody_works_on():
    running = []

    def task(number):
        if number == 5:
            raise ZeroDivisionError("in block 5")
        running.append(threading.get_ident())
        return ()

    with pytest.raises(ZeroDivisionError, match="in block 5"):
        Threads(3).run(task, range(1000))
    before = len(running)
    time.sleep(0.02)
    assert len(running) == before


def test_the_environment_limits_threads(monkeypatch):
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    cores = default_threads()
    assert cores >= 1
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert default_threads() == 1
    assert Threads().workers == 1
    assert Threads(3).workers == 3


@pytest.mark.parametrize("given", [0, -1, 1.5, "two", True])
def test_numbers_of_threads_that_make_no_sense_are_refused(given):
    with pytest.raises((TypeError, ValueError), match="n_threads must be"):
        fw.minimize(cases.problem(), n_threads=given)


def sparse_problem(loss, constraint, intercept=False):
    rng = np.random.default_rng(1)
    X = sparse.random_array((90, 20), density=0.3, rng=rng, format="csr")
    return posed(X, X.toarray(), loss, constraint, intercept, rng)


def dense_problem(loss, constraint, intercept=False):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(90, 20))
    return posed(X, X, loss, constraint, intercept, rng)


def posed(X, values, loss, constraint, intercept, rng):
    scores = values @ rng.normal(size=(20, 3)) + rng.normal(size=(90, 3))
    y = np.argmax(scores, axis=1) if loss == "multinomial" else np.sign(scores[:, 0])
    return fw.Problem(X, y, loss, constraint, intercept=intercept)


RUNS = {
    "corrective": ("logistic", fw.L1Ball(3.0), "corrective"),
    "corrective, vertices": ("logistic", fw.OWLBall(np.linspace(2.0, 1.0, 20), 2.0), "corrective"),
    "barrier": ("logistic", fw.L2Ball(1.0), "corrective"),
    "outputs": ("multinomial", fw.L1Ball(3.0), "corrective"),
    "low rank": ("multinomial", fw.TraceBall(2.0), "corrective"),
    "sfw": ("logistic", fw.L1Ball(3.0), "sfw"),  # steps take one thread: certificates and intercepts take several
}


@pytest.mark.parametrize(("make", "intercept"), [(dense_problem, True), (sparse_problem, False)])
@pytest.mark.parametrize("name", RUNS)
def test_any_number_of_threads_gives_the_same_bits(name, make, intercept, many_blocks):
    loss, constraint, method = RUNS[name]
    found = []
    for threads in THREADS:
        problem = make(loss, constraint, intercept)
        assert len(problem.objective.shards.blocks) > 5
        result = fw.minimize(problem, method, tol=1e-6, max_passes=20, random_state=0, n_threads=threads)
        numbers = [result.fun, result.gap, result.nit, result.passes, *np.atleast_1d(result.intercept)]
        found.append((result.x.tobytes(), np.array(numbers).tobytes(), result.trace.fun.tobytes()))
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("make", [dense_problem, sparse_problem])
def test_blocks_change_an_answer_by_rounding_only(make, monkeypatch):
    whole = fw.minimize(make("logistic", fw.L1Ball(3.0)), tol=1e-10)
    monkeypatch.setattr(blocks, "SMALL", 0)
    monkeypatch.setattr(blocks, "LEAST", 40)
    monkeypatch.setattr(blocks, "PER_COLUMN", 0)
    cut = fw.minimize(make("logistic", fw.L1Ball(3.0)), tol=1e-10)
    np.testing.assert_allclose(cut.x, whole.x, atol=1e-8)
    assert cut.success
    assert whole.success


def test_estimators_and_paths_hand_threads_on(many_blocks, monkeypatch):
    asked = []
    plain = Threads.run
    monkeypatch.setattr(Threads, "run", lambda self, *args: asked.append(self.workers) or plain(self, *args))
    problem = dense_problem("logistic", fw.L1Ball(3.0))
    one, two = (fw.FrankWolfeClassifier(radius=3.0, n_jobs=n).fit(problem.X, problem.y) for n in (1, 2))
    assert set(asked) == {1, 2}
    assert one.coef_.tobytes() == two.coef_.tobytes()
    asked.clear()
    paths = [fw.radius_path(problem.X, problem.y, radii=[0.5, 1.0], n_threads=n) for n in (1, 2)]
    assert set(asked) == {1, 2}
    np.testing.assert_array_equal(paths[0].coefs.toarray(), paths[1].coefs.toarray())
