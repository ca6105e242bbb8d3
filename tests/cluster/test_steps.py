"""Stepwise methods on a cluster: the steps of one machine, whatever becomes of the workers."""

import numpy as np
import pytest

import frankwolfe as fw
from frankwolfe.running import likely
from frankwolfe.solvers import task_steps
from frankwolfe.solvers.corrective import active_atoms
from frankwolfe.solvers.corrective.active_atoms import HessianLimits
from tests.cluster.tables import chunked
from tests.losses.test_unbounded import Poisson

RNG = np.random.default_rng(5)
X = RNG.normal(size=(400, 12))
LABELS = np.where(X @ RNG.normal(size=12) + RNG.normal(size=400) > 0.0, 1.0, -1.0)
CLASSES = np.argmax(X[:, :3] + RNG.gumbel(size=(400, 3)), axis=1).astype(float)
CASES = {"logistic": LABELS, "multinomial": CLASSES}


def problems(loss="logistic", **options):
    options = {"loss": loss, "constraint": fw.L1Ball(2.0), **options}
    rows, targets = chunked(X, 150), chunked(CASES[loss], 150)
    return fw.Problem(X, CASES[loss], **options), fw.Problem(rows, targets, **options)


@pytest.fixture
def interpreted():
    """Run kernels of this process as Python: compiling takes longer."""
    with fw.python_mode():
        yield


def forgotten(part):
    """Lose all that a part has kept, as a worker does that is started anew."""
    part.forget([*part._kept])


@pytest.mark.parametrize("loss", CASES)
def test_frank_wolfe_makes_the_steps_of_one_machine(client, loss):
    here, there = problems(loss)
    mine, other = (fw.minimize(problem, "fw", tol=0, max_passes=8) for problem in (here, there))
    np.testing.assert_allclose(other.x, mine.x, rtol=1e-11, atol=1e-13)
    assert (other.nit, other.passes, other.fw_gap) == (mine.nit, mine.passes, pytest.approx(mine.fw_gap))
    best = fw.minimize(here, tol=1e-10).fun
    assert other.fun - best <= other.gap <= mine.gap * (1.0 + 1e-12)  # every pass bounds the optimum, and is taken


@pytest.mark.parametrize("loss", CASES)
def test_batches_of_all_rows_are_frank_wolfe(client, loss):
    here, there = problems(loss)
    mine = fw.minimize(here, "fw", tol=0, max_passes=6)
    other = fw.minimize(there, "sfw", batch_size=400, tol=0, max_passes=6)
    np.testing.assert_allclose(other.x, mine.x, rtol=1e-11, atol=1e-13)


def test_a_batch_is_drawn_from_all_parts_and_the_seed_decides(client):
    _, there = problems()
    one, same, other = (
        fw.minimize(there, "sfw", batch_size=30, tol=0, max_passes=2, random_state=seed) for seed in (1, 1, 2)
    )
    assert np.array_equal(one.x, same.x)
    assert not np.array_equal(one.x, other.x)


def test_the_table_certifies_what_the_exact_gap_would_not_yet(client):
    here, there = problems()
    best = fw.minimize(here, tol=1e-12).fun
    result = fw.minimize(there, "sfw", batch_size=0.1, tol=2e-2, max_passes=60, random_state=0)
    assert result.success
    assert result.fun - best <= result.gap <= result.tolerance < here.gap(result.x)


@pytest.mark.parametrize("intercept", [False, True])
def test_tables_that_parts_lose_are_computed_again_to_the_same_bits(client, intercept):
    _, there = problems(intercept=intercept)
    lost, given = [], {"batch_size": 0.1, "tol": 0.0, "max_passes": 6, "random_state": 0}
    whole = fw.minimize(there, "sfw", **given)

    def lose(state):
        if state.nit >= 20 and not lost:
            lost.append(there.objective.shards.cluster.each(forgotten))

    result = fw.minimize(there, "sfw", callback=lose, **given)
    assert lost
    assert np.array_equal(result.x, whole.x)
    assert (result.fun, result.gap, result.passes) == (whole.fun, whole.gap, whole.passes)


def test_a_table_is_made_exact_before_its_lineage_gets_long(client, monkeypatch):
    _, there = problems()
    monkeypatch.setattr(task_steps, "MOST_PASSES", 1)
    found = fw.minimize(there, "sfw", batch_size=40, tol=0.0, max_passes=4, random_state=0)
    assert (found.nit, found.passes) == (30, 4.0)  # one of the passes makes the table exact


# --- the steps of one machine -----------------------------------------------------------------------------------------

LIKE_MEMORY = [  # method, step, options of the problem
    ("fw", "line-search", {}),
    ("fw", "short", {"intercept": True}),
    ("fw", "secant", {"loss": "multinomial"}),
    ("fw", "backtracking", {"constraint": fw.L2Ball(1.0)}),
    ("fw", "monotone", {"loss": "multinomial", "intercept": True}),
    ("fw", "log-adaptive", {"intercept": True}),
    ("away", None, {}),
    ("pairwise", None, {"intercept": True}),
    ("pairwise", None, {"constraint": fw.Box(-0.3, 0.3)}),
    ("blended-pairwise", None, {"constraint": fw.L2Ball(1.0)}),
]


@pytest.mark.parametrize(("method", "step", "options"), LIKE_MEMORY)
def test_full_gradients_and_line_searches_make_the_steps_of_one_machine(client, interpreted, method, step, options):
    here, there = problems(**options)
    mine, other = (
        fw.minimize(problem, method, step=step, tol=0, max_passes=passes)
        for problem, passes in ((here, 10.0 if options.get("intercept") else 5.0), (there, 5.0))
    )
    assert other.nit == 5
    if mine.nit == 5:  # an intercept is charged a pass in memory, and comes with the gradient elsewhere
        np.testing.assert_allclose(other.x, mine.x, rtol=1e-8, atol=1e-10)
        assert other.fun == pytest.approx(mine.fun, rel=1e-10)


@pytest.mark.parametrize("method", ["sfw", "stochastic-pairwise", "stochastic-away"])
@pytest.mark.parametrize("loss", CASES)
def test_batches_with_an_intercept_are_certified(client, interpreted, method, loss):
    here, there = problems(loss, intercept=True)
    found = fw.minimize(there, method, batch_size=0.1, tol=5e-2, max_passes=80, random_state=0)
    assert found.success
    best = fw.minimize(here, tol=1e-9).fun
    assert found.fun - found.gap <= best <= found.fun + 1e-12
    np.testing.assert_allclose(found.fun, here.evaluate(found.x).value, rtol=1e-12)


def test_a_likely_end(client, interpreted, monkeypatch):
    monkeypatch.setattr(likely, "VISITED_SAMPLE", 200)
    here, there = problems()
    run = {"stop": "likely", "tol": 0.1, "random_state": 0, "batch_size": 0.1}
    found, again = (fw.minimize(there, "sfw", **run) for _ in range(2))
    assert found.status is fw.Status.LIKELY
    assert here.value(found.x) - fw.minimize(here, tol=1e-8).fun <= found.likely_gap <= found.tolerance
    assert (found.likely_gap, found.nit) == (again.likely_gap, again.nit)


def test_a_line_search_goes_with_batches(client):
    here, there = problems()
    found = fw.minimize(there, "sfw", step="line-search", batch_size=0.25, tol=0.0, max_passes=6, random_state=0)
    assert (found.nit, found.passes) == (6, 6.0)
    assert found.fun < here.zero_value


def test_a_run_goes_on_from_its_checkpoint(client, tmp_path):
    _, there = problems()
    whole = fw.minimize(there, "fw", tol=0, max_passes=9)
    fw.minimize(there, "fw", tol=0, max_passes=4, checkpoint=tmp_path / "fw.ckpt")
    assert np.array_equal(fw.resume(tmp_path / "fw.ckpt", there, max_passes=9).x, whole.x)
    given = {"batch_size": 0.1, "tol": 2e-2, "random_state": 0}
    fw.minimize(there, "sfw", max_passes=2, checkpoint=tmp_path / "sfw.ckpt", **given)
    assert fw.resume(tmp_path / "sfw.ckpt", there, max_passes=60).success


@pytest.mark.parametrize(
    "method",
    [
        "saga",
        "momentum",
        fw.methods.Method(fw.methods.FullGradient(), fw.methods.Sliding(), fw.methods.EpochStep(), name="sliding"),
    ],
)
def test_what_cannot_run_says_so_before_anything_runs(client, method):
    _, there = problems()
    calls = there.objective.shards.cluster.calls
    with pytest.raises(ValueError, match="they are on a cluster: use 'auto', 'sfw', 'fw' or 'pairwise', or load"):
        fw.minimize(there, method)
    assert there.objective.shards.cluster.calls == calls


def test_auto_makes_steps_within_a_few_passes(client):
    _, there = problems(intercept=True)
    assert fw.minimize(there, max_passes=3).method == "auto: sfw"


@pytest.mark.parametrize("loss", CASES)
def test_frank_wolfe_finds_an_intercept(client, loss):
    local, remote = problems(loss, intercept=True)
    found = fw.minimize(remote, "fw", tol=1e-2, max_passes=2000)
    assert found.success
    assert found.fun - found.gap <= fw.minimize(local, tol=1e-9).fun <= found.fun + 1e-12
    np.testing.assert_allclose(found.fun, local.evaluate(found.x).value, rtol=1e-12)


@pytest.mark.parametrize("intercept", [False, True])
def test_losses_of_unbounded_curvature(client, intercept):
    counts = np.random.default_rng(1).poisson(np.exp(0.2 * X[:, 0] + 0.5)).astype(float)
    parts = {"constraint": fw.L1Ball(1.0), "loss": Poisson(), "intercept": intercept}
    found = fw.minimize(fw.Problem(chunked(X, 150), chunked(counts, 150), **parts), tol=1e-9)
    expected = fw.minimize(fw.Problem(X, counts, **parts), tol=1e-9)
    assert found.success
    assert found.fun == pytest.approx(expected.fun, rel=1e-9)


def test_more_atoms_than_a_hessian_is_formed_of_are_an_error_that_says_what_to_do(client, monkeypatch):
    monkeypatch.setattr(active_atoms, "COSTLY_LIMITS", HessianLimits(3, 3, 3))
    with pytest.raises(
        fw.exceptions.ClusterError, match=r"atoms are active, and .* of 3 at most: use a smaller radius"
    ):
        fw.minimize(problems()[1], tol=1e-8)
