"""Problems of row stores that do not fit into memory: the answers are those of the same data in memory."""

import numpy as np
import pytest
from scipy import sparse

import frankwolfe as fw
from frankwolfe.running import likely
from frankwolfe.shards.disk import GroupPlan, ShuffledGroups
from frankwolfe.shards.local import DataBlock, Local
from frankwolfe.solvers.corrective.few_reads import FewReadsSolver
from frankwolfe.solvers.stepwise import StepwiseSolver
from tests.own_parts import SmoothedTable
from tests.problem.test_side_constraints import optimum

RNG = np.random.default_rng(0)
N = 240
SPARSE = sparse.random_array((N, 30), density=0.2, rng=1, format="csr")
DENSE = RNG.normal(size=(N, 8)) + 3.0
LABELS = np.where(SPARSE @ RNG.normal(size=30) + 0.3 * RNG.normal(size=N) > 0.0, 1.0, -1.0)
CLASSES = np.argmax(DENSE[:, :3] + RNG.normal(size=(N, 3)), axis=1).astype(float)
WEIGHTS = RNG.random(N)


FULL = ("fw", "away", "pairwise", "blended-pairwise")  # methods that read all rows in every step


@pytest.fixture(autouse=True)
def interpreted():
    with fw.python_mode():
        yield


def on_disk(folder, X, y, weights=None, groups=3, **how):
    """Return a store of twelve shards or more, of which memory holds a part."""
    size = X.nbytes if isinstance(X, np.ndarray) else X.data.nbytes + X.indices.nbytes
    path = folder / "rows"
    store = fw.write_rows(path, X, y, weights, shard=size // 12)
    store = fw.open_rows(path, memory=max(2 * store.bytes // groups, 2 * store.largest_shard))
    assert not store.fits
    return fw.Problem(store, **how), fw.Problem(X, y, sample_weight=weights, **how)


KINDS = {
    "sparse": (SPARSE, LABELS, None, {"constraint": fw.L1Ball(5.0)}),
    "sparse, float32": (SPARSE.astype(np.float32), LABELS, None, {"constraint": fw.L1Ball(5.0)}),
    "sparse, weights, intercept": (SPARSE, LABELS, WEIGHTS, {"constraint": fw.L1Ball(5.0), "intercept": True}),
    "dense, simplex": (DENSE, LABELS, None, {"constraint": fw.Simplex(1.0), "loss": "squared"}),
    "dense, weights, intercept": (DENSE, LABELS, WEIGHTS, {"constraint": fw.L1Ball(0.5), "intercept": True}),
    "several outputs": (
        SPARSE,
        CLASSES,
        None,
        {"constraint": fw.L1Ball(5.0), "loss": "multinomial", "intercept": True},
    ),
    "dense, several outputs": (DENSE, CLASSES, None, {"constraint": fw.L1Ball(0.5), "loss": "multinomial"}),
    "ball": (DENSE, LABELS, WEIGHTS, {"constraint": fw.L2Ball(0.3), "intercept": True}),
    "ball, sparse": (SPARSE, LABELS, None, {"constraint": fw.L2Ball(2.0)}),
    "groups": (SPARSE, LABELS, None, {"constraint": fw.GroupBall(np.arange(30) // 5, 1.0)}),
    "low rank": (DENSE, CLASSES, None, {"constraint": fw.TraceBall(0.3), "loss": "multinomial", "intercept": True}),
    "ball, several outputs": (DENSE, CLASSES, None, {"constraint": fw.L2Ball(0.2), "loss": "multinomial"}),
    "sparse, float32, several outputs, intercept": (
        SPARSE.astype(np.float32),
        CLASSES,
        WEIGHTS,
        {"constraint": fw.L1Ball(5.0), "loss": "multinomial", "intercept": True},
    ),
    "dense, float32, several outputs, intercept": (
        DENSE.astype(np.float32),
        CLASSES,
        WEIGHTS,
        {"constraint": fw.L1Ball(0.5), "loss": "multinomial", "intercept": True},
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_exact_passes_and_rounds(tmp_path, kind):
    X, y, weights, how = KINDS[kind]
    problem, same = on_disk(tmp_path, X, y, weights, **how)
    w = 0.1 * RNG.normal(size=same.shape)
    found, expected = problem.evaluate(w), same.evaluate(w)
    np.testing.assert_allclose(found.value, expected.value, rtol=1e-10)
    np.testing.assert_allclose(found.gradient, expected.gradient, rtol=0.0, atol=1e-10)
    np.testing.assert_allclose(found.alpha, expected.alpha, rtol=0.0, atol=1e-10)
    np.testing.assert_allclose(found.gap, expected.gap, rtol=1e-9)
    tol = 1e-3 if kind == "groups" else 1e-6
    for method in ("corrective", "auto"):
        result = fw.minimize(problem, method, tol=tol, random_state=0)
        assert result.success
        assert same.gap(result.x) <= 1.001 * tol * same.zero_value
        assert result.reads > 0.0
    assert fw.minimize(same, tol=tol).reads is None


def test_the_same_bits_where_blocks_are_the_same(tmp_path, monkeypatch):
    problem, same = on_disk(tmp_path, SPARSE, LABELS, constraint=fw.L1Ball(5.0))
    parts = problem.objective.shards.each(lambda block: ([block.part],))[0]
    blocks = [DataBlock(part, same.samples.block(part)) for part in parts]
    monkeypatch.setattr(Local, "blocks", property(lambda self: blocks))
    w = RNG.normal(size=30)
    for one, other in zip(problem.evaluate(w), same.evaluate(w), strict=True):
        assert np.array_equal(one, other)


def test_data_that_fits_is_in_memory(tmp_path):
    store = fw.write_rows(tmp_path / "rows", SPARSE, LABELS, shard=500)
    problem, same = (fw.Problem(*data, constraint=fw.L1Ball(5.0)) for data in ((store,), (SPARSE, LABELS)))
    for method in ("sfw", "auto", "pairwise"):
        one, other = (fw.minimize(p, method, max_passes=3, tol=0.0, random_state=0) for p in (problem, same))
        assert np.array_equal(one.x, other.x)
        assert one.reads is None


# --- stochastic methods -----------------------------------------------------------------------------------------------


STOCHASTIC_KINDS = [
    "sparse, weights, intercept",
    "dense, several outputs",
    "dense, weights, intercept",
    "sparse, float32, several outputs, intercept",
    "dense, float32, several outputs, intercept",
]
OTHERS = ["stochastic-pairwise", "mokhtari", "momentum", "lu-freund", "stochastic-pairwise"]


@pytest.mark.parametrize(  # groups know the layout of rows, and not the method: one method meets all, the others one
    ("method", "kind"), [*(("sfw", kind) for kind in STOCHASTIC_KINDS), *zip(OTHERS, STOCHASTIC_KINDS, strict=True)]
)
def test_stochastic_methods_in_groups(tmp_path, method, kind):
    X, y, weights, how = KINDS[kind]
    problem, same = on_disk(tmp_path, X, y, weights, **how)
    run = {"max_passes": 8, "tol": 0.0, "random_state": 3, "batch_size": 7}
    found, again = fw.minimize(problem, method, **run), fw.minimize(problem, method, **run, trace=0)
    assert np.array_equal(found.x, again.x)  # same seed, same bits, however traced
    memory = fw.minimize(same, method, **run)
    assert same.constraint.contains(found.x.ravel())
    assert found.fun - same.zero_value < 0.5 * (memory.fun - same.zero_value) < 0.0  # about as far as in memory
    assert abs(found.fun - same.value(found.x)) <= 1e-10
    if method == "sfw":  # the table is that of all rows, and r is its sum
        alpha, r = found.state["estimate.alpha"], found.state["gradient"]
        np.testing.assert_allclose(same.objective.gradient(alpha), r, atol=1e-10)
        assert np.count_nonzero(alpha) > 0.9 * alpha.size


FULL_KINDS = [
    "sparse, weights, intercept",
    "dense, several outputs",
    "ball",
    "sparse, float32, several outputs, intercept",
]


@pytest.mark.parametrize(
    ("method", "kind"),
    [*(("fw", kind) for kind in FULL_KINDS), *((method, kind) for method in FULL[1:] for kind in FULL_KINDS[1:3])],
)
def test_full_gradients_make_the_steps_that_they_make_in_memory(tmp_path, method, kind):
    X, y, weights, how = KINDS[kind]
    problem, same = on_disk(tmp_path, X, y, weights, **how)
    found = fw.minimize(problem, method, tol=0.0, max_passes=3)
    again = fw.minimize(problem, method, tol=0.0, max_passes=3, trace=0)
    assert np.array_equal(found.x, again.x)
    # in memory an intercept is charged a pass for each step but the first; elsewhere it comes with the gradient.
    # After more steps two atoms with equal slopes, which an exact line search leaves behind, may be chosen either way
    expected = fw.minimize(same, method, tol=0.0, max_passes=5 if same.intercept else 3)
    assert (found.nit, found.passes) == (expected.nit, 3.0)
    np.testing.assert_allclose(found.x, expected.x, rtol=1e-7, atol=1e-9)
    assert found.fun == pytest.approx(expected.fun, rel=1e-10)
    assert found.gap <= expected.gap * (1.0 + 1e-9)


@pytest.mark.parametrize("step", ["short", "line-search", "secant", "backtracking", "monotone"])
def test_steps_that_read_all_rows(tmp_path, step):
    problem, same = on_disk(tmp_path, SPARSE, LABELS, constraint=fw.L1Ball(5.0))
    found, expected = (fw.minimize(one, "fw", step=step, tol=0.0, max_passes=5) for one in (problem, same))
    np.testing.assert_allclose(found.x, expected.x, rtol=1e-7, atol=1e-9)
    run = {"step": step, "batch_size": 60, "tol": 0.0, "max_passes": 8, "random_state": 0}
    batches = fw.minimize(problem, "sfw", **run)
    assert (batches.nit, batches.passes) == (8, 8.0)
    assert batches.fun < same.zero_value
    fw.minimize(problem, "sfw", **run | {"max_passes": 3}, checkpoint=tmp_path / "run.ckpt")
    assert np.array_equal(fw.resume(tmp_path / "run.ckpt", problem, max_passes=8).x, batches.x)


def test_every_shard_is_in_one_group_of_a_pass_and_steps_are_its_share(tmp_path):
    problem, _ = on_disk(tmp_path, SPARSE, LABELS, groups=5, constraint=fw.L1Ball(5.0))
    order = ShuffledGroups(problem.X, np.random.default_rng(0))
    plan, orders = GroupPlan.of(problem.X), []
    assert plan.groups >= 5
    for _ in range(2):
        seen, steps = [], 0
        for _ in range(plan.groups):
            group = order.group()
            assert problem.X.memory >= 2 * sum(problem.X.shards[number].bytes for number in group)
            assert plan.fewest_rows <= sum(problem.X.shards[number].rows for number in group) <= plan.most_rows
            steps += order.steps(7)
            seen += group.tolist()
            order.go_on()
        assert sorted(seen) == list(range(len(problem.X.shards)))
        assert steps == N // 7
        orders.append(seen)
    assert orders[0] != orders[1]


def test_one_pass_is_one_read(tmp_path):
    problem, _ = on_disk(tmp_path, SPARSE, LABELS, constraint=fw.L1Ball(5.0))
    result = fw.minimize(problem, "sfw", tol=0.0, max_passes=1, batch_size=10, random_state=0)
    assert result.reads == 2.0  # and one for the certificate at its end


def test_a_run_goes_on_from_its_state(tmp_path):
    problem, _ = on_disk(tmp_path, SPARSE, LABELS, constraint=fw.L1Ball(5.0), intercept=True)

    def solver():
        return StepwiseSolver(
            problem.own(), fw.methods.METHODS["sfw"], 5, np.random.default_rng(0), problem.default_start()
        )

    whole, first = solver(), solver()
    for run in (whole, first):
        run.begin(np.inf, 0.0)
        run.advance(61)
    state = {name: np.copy(value) if isinstance(value, np.ndarray) else value for name, value in first.state().items()}
    generator = np.random.default_rng(1)
    from frankwolfe.solvers.loop import generator_state

    generator.bit_generator.state = generator_state(state)
    second = StepwiseSolver.from_state(problem.own(), state, fw.methods.METHODS["sfw"], 5, generator)
    second.begin(np.inf, 0.0)
    whole.advance(60)
    second.advance(60)
    assert np.array_equal(whole.point(), second.point())
    assert np.array_equal(whole.table(), second.table())


SOME_ROWS = ("auto", "corrective", "sfw", "mokhtari", "momentum", "lu-freund", "shcgm",
             "stochastic-pairwise", "stochastic-away", *FULL)  # fmt: skip


def test_estimates_of_ones_own_are_refused_unless_they_say_otherwise(tmp_path):
    problem, _ = on_disk(tmp_path, SPARSE, LABELS, constraint=fw.L1Ball(5.0))
    with pytest.raises(ValueError, match="'own' needs all rows in memory"):
        fw.minimize(problem, fw.methods.Method(SmoothedTable(), name="own"))


@pytest.mark.parametrize("method", [name for name in fw.methods.METHODS if name not in SOME_ROWS])
def test_other_methods_are_refused_before_anything_runs(tmp_path, method):
    problem, _ = on_disk(tmp_path, SPARSE, LABELS, constraint=fw.L1Ball(5.0))
    path, seen = tmp_path / "run.ckpt", []
    with pytest.raises(ValueError, match=rf"'{method}' needs .* does not fit into memory: use 'auto'.*memory=[0-9]+"):
        fw.minimize(problem, method, callback=seen.append, checkpoint=path)
    assert not seen
    assert not path.exists()
    store = fw.open_rows(problem.X.path, memory=problem.X.bytes)  # as the message says
    assert fw.minimize(fw.Problem(store, constraint=fw.L1Ball(5.0)), method, max_passes=2, tol=0).reads is None


def test_methods_that_need_all_rows_say_so_before_anything_runs(tmp_path):
    problem, _ = on_disk(tmp_path, SPARSE, LABELS, constraint=fw.L1Ball(5.0))
    with pytest.raises(ValueError, match=r"needs all rows in memory.*memory="):
        fw.minimize(problem, fw.methods.Method(fw.methods.Momentum(), step=fw.methods.ShortStep(), name="own"))
    with pytest.raises(ValueError, match="batch_size=200 is more than the"):
        fw.minimize(problem, "sfw", batch_size=200)
    with pytest.raises(ValueError, match="needs all rows in memory"):
        problem.kappa()


def test_a_likely_end(tmp_path, monkeypatch):
    monkeypatch.setattr(likely, "VISITED_SAMPLE", 150)
    problem, same = on_disk(tmp_path, SPARSE, LABELS, constraint=fw.L1Ball(5.0))
    for method in ("sfw", "stochastic-pairwise"):
        run = {"stop": "likely", "tol": 0.3, "random_state": 0, "batch_size": 5}
        found = fw.minimize(problem, method, **run)
        assert found.status is fw.Status.LIKELY
        assert same.value(found.x) - fw.minimize(same, tol=1e-6).fun <= found.likely_gap <= found.tolerance
        assert np.array_equal(found.x, fw.minimize(problem, method, **run).x)
    with pytest.raises(ValueError, match="stop='likely' needs a method whose table"):
        fw.minimize(problem, stop="likely")


# --- side constraints, and losses with a kink -------------------------------------------------------------------------

BOUNDS = fw.LinearBounds(np.random.default_rng(3).normal(size=(2, 8)), [-0.2, 0.02], [0.1, 0.02])

TO_SMOOTH = {
    "side": {"side": BOUNDS},
    "side, weights, intercept": {"side": BOUNDS, "intercept": True, "weights": WEIGHTS},
    "hinge": {"loss": "hinge"},
    "pinball, side, intercept": {"loss": fw.Pinball(0.3), "side": BOUNDS, "intercept": True},
}


@pytest.mark.parametrize("kind", TO_SMOOTH)
def test_what_is_smoothed_in_groups(tmp_path, kind):
    problem, same = on_disk(tmp_path, DENSE, LABELS, constraint=fw.L1Ball(1.0), **TO_SMOOTH[kind])
    best, scale = optimum(same), same.zero_value
    run = {"max_passes": 60, "tol": 1e-4, "random_state": 3, "batch_size": 7}
    found = fw.minimize(problem, "shcgm", **run)
    assert found.method == "shcgm"
    assert np.array_equal(found.x, fw.minimize(problem, "shcgm", **run, trace=0).x)
    assert same.constraint.contains(found.x)
    assert abs(found.fun - same.value(found.x)) <= 1e-10
    assert abs(found.fun - best) <= 0.03 * scale
    assert best - 0.1 * scale <= found.lower_bound <= best + 1e-7 * scale
    assert found.violation == (None if same.side is None else same.violation(found.x))
    if same.side is not None:
        assert same.side.distance(found.x) <= 0.02 * same.side_reach
    stop = lambda state: state.nit > 500  # noqa: E731
    assert (
        fw.minimize(problem, "shcgm", **run, checkpoint=tmp_path / "run.ckpt", callback=stop).status
        is fw.Status.CALLBACK
    )
    onward = fw.resume(tmp_path / "run.ckpt", problem)
    assert onward.x.tobytes() == found.x.tobytes()
    assert (onward.fun, onward.gap, onward.violation) == (found.fun, found.gap, found.violation)


def test_a_group_counts_as_its_part_of_all_rows(tmp_path):
    problem, same = on_disk(tmp_path, DENSE, LABELS, constraint=fw.L1Ball(1.0))
    solver = StepwiseSolver(
        problem.own(), fw.methods.METHODS["shcgm"], 6, np.random.default_rng(0), problem.default_start()
    )
    solver.begin(np.inf, 0.0)
    solver.advance(1)  # it forgets all that was before
    np.testing.assert_allclose(
        solver.gradient.dense(), N / 6 * same.objective.gradient(solver.evidence().table), rtol=1e-12
    )


# --- few reads --------------------------------------------------------------------------------------------------------


def wide(n=2000, d=400, seed=0):
    """Text-like data: few of many columns matter."""
    rng = np.random.default_rng(seed)
    X = sparse.random_array((n, d), density=0.05, rng=seed, format="csr")
    w = np.where(np.arange(d) < 15, rng.normal(size=d), 0.0)
    return X, np.where(X @ w + 0.1 * rng.normal(size=n) > 0.0, 1.0, -1.0)


def test_three_reads_to_a_certified_optimum(tmp_path):
    X, y = wide()
    problem, same = on_disk(tmp_path, X, y, groups=3, constraint=fw.L1Ball(10.0))
    result = fw.minimize(problem, tol=1e-6, random_state=0)
    assert result.success
    assert same.gap(result.x) <= 1e-6 * same.zero_value
    assert 3.0 <= result.reads <= 5.0
    corrective = fw.minimize(problem, "corrective", tol=1e-6)
    assert result.reads < corrective.reads
    np.testing.assert_allclose(result.fun, corrective.fun, atol=1e-6)
    further = fw.minimize(problem, tol=1e-9, random_state=0, x0=result)
    assert further.success
    assert further.reads <= result.reads - 1.0  # the first pass need not be made again


def test_columns_that_do_not_fit_are_read_in_turn(tmp_path):
    X, y = wide(n=400, d=60)
    problem, same = on_disk(tmp_path, X, y, groups=6, constraint=fw.L1Ball(500.0))
    result = fw.minimize(problem, tol=1e-5, random_state=0)
    assert result.success
    assert same.gap(result.x) <= 1e-5 * same.zero_value
    assert result.reads >= 5.0  # three, were all columns in memory


@pytest.mark.parametrize("look", [1, 4])
def test_interrupted_it_returns_a_certified_point(tmp_path, ctrl_c, look):
    X, y = wide(n=400, d=60)
    problem, same = on_disk(tmp_path, X, y, groups=3, constraint=fw.L1Ball(10.0))
    ctrl_c(run=1, look=look)
    result = fw.minimize(problem, tol=1e-9, random_state=0)
    assert result.status == fw.Status.INTERRUPTED
    assert abs(result.gap - same.gap(result.x)) <= 1e-9


@pytest.mark.parametrize(("radius", "groups"), [(10.0, 3), (500.0, 6)])
def test_few_reads_go_on_from_any_state_to_the_same_bits(tmp_path, radius, groups):
    X, y = wide(n=400, d=60)
    problem, _ = on_disk(tmp_path, X, y, groups=groups, constraint=fw.L1Ball(radius))
    target = 1e-7 * problem.zero_value

    def steps(solver, number):
        solver.begin(np.inf, target)
        for _ in range(number):
            if solver.finished() is None and not ((found := solver.evidence().exact) and found.gap <= target):
                solver.advance(1)
        return solver

    def new():
        return FewReadsSolver(problem.own(), problem.default_start(), None, np.random.default_rng(0))

    expected = steps(new(), 120)
    for made in (5, 17, 19, 22):
        state = {name: np.copy(value) for name, value in steps(new(), made).state().items()}
        state = {name: value if value.ndim else value[()] for name, value in state.items()}
        other = steps(FewReadsSolver.from_state(problem.own(), state), 120 - made)
        assert np.array_equal(expected.point(), other.point())
        assert expected.rows_read == other.rows_read
        assert expected.evidence().exact.gap == other.evidence().exact.gap


@pytest.mark.parametrize("method", ["auto", "corrective", "sfw", "stochastic-pairwise", "fw", "pairwise"])
def test_a_run_that_was_broken_off_goes_on_to_the_same_bits(tmp_path, method):
    X, y = wide(n=400, d=60)
    problem, _ = on_disk(tmp_path, X, y, constraint=fw.L1Ball(10.0))
    given = {"method": method, "tol": 1e-7, "random_state": 0, "max_passes": 12}
    whole = fw.minimize(problem, **given)
    for look in (1, 2):
        looks = []
        stop = lambda state, looks=looks, look=look: looks.append(state.nit) or len(looks) == look  # noqa: E731
        first = fw.minimize(problem, **given, checkpoint=tmp_path / "run.ckpt", callback=stop)
        assert first.status is fw.Status.CALLBACK
        onward = fw.resume(tmp_path / "run.ckpt", problem)
        np.testing.assert_array_equal(onward.x, whole.x)
        assert (onward.fun, onward.gap, onward.nit, onward.passes) == (whole.fun, whole.gap, whole.nit, whole.passes)
    (tmp_path / "other").mkdir()
    other, _ = on_disk(tmp_path / "other", X[::-1], y[::-1], constraint=fw.L1Ball(10.0))
    with pytest.raises(ValueError, match="differs in its data"):
        fw.resume(tmp_path / "run.ckpt", other)
