"""Run one case and check what comes of it."""

import warnings
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
from scipy import sparse

import frankwolfe as fw
import frankwolfe.rows as blocks
from frankwolfe.solvers.corrective import active_atoms, fully_corrective
from tests.fuzz.checks import CHECKS, Run
from tests.fuzz.exact import Recomputed
from tests.fuzz.optimum import against_solver, wanted

AGREE = 1e-7
"""Difference of compiled from interpreted objectives, relative to that of the zero model, that rounding may cause."""


@dataclass
class Outcome:
    """What became of a case: failures as (check, sentence), and facts to count."""

    failures: list = field(default_factory=list)
    facts: list = field(default_factory=list)


AS_IF_LARGE = (
    (blocks, "SMALL", 0),
    (blocks, "LEAST", 16),
    (blocks, "PER_COLUMN", 0),
    (active_atoms, "JOINED_ENTRIES", 16),
    (fully_corrective, "LEAST_ENTRIES", {"sparse": 0, "dense": 0}),
    (fully_corrective, "ROWS_PER_WEIGHT", 0.1),
    (fully_corrective, "SAMPLED", 3),
)
"""Constants with which small data is treated as large data is."""


@contextmanager
def as_if_large(case):
    """Cut the rows of every third case into blocks, small as they are, and start from a sample of them."""
    before = [getattr(module, name) for module, name, _ in AS_IF_LARGE]
    if case.rng().random() < 1.0 / 3.0:
        for module, name, value in AS_IF_LARGE:
            setattr(module, name, value)
    try:
        yield
    finally:
        for (module, name, _), value in zip(AS_IF_LARGE, before, strict=True):
            setattr(module, name, value)


def examine(case):
    """Run a case, twice or more, and check every answer."""
    with as_if_large(case):
        return _examined(case)


def _examined(case):
    outcome = Outcome()
    with warnings.catch_warnings(), fw.python_mode():
        warnings.simplefilter("error")
        try:
            run = run_twice(case, outcome)
        except Exception as error:
            outcome.failures.append(("error", f"{type(error).__name__}: {error}"))
            return outcome
        for name, check in CHECKS.items():
            outcome.failures += [(name, sentence) for sentence in check(run)]
        outcome.facts += ["certified" if run.result.success else f"ended: {run.result.status}"]
        if wanted(case, run):
            outcome.failures += [("optimum", sentence) for sentence in against_solver(run, outcome.facts)]
    if case.compiled:
        outcome.facts.append("compiled")
        outcome.failures += [("compiled", sentence) for sentence in _compiled(case, run)]
    return outcome


def run_twice(case, outcome):
    """Minimise with and without a trace, a callback and questions, from the same start."""
    before, rng, seen = _arrays(case), case.rng(), []
    problem = case.problem()
    start = started(case, problem, rng)
    first = fw.minimize(problem, case.method, x0=start, **case.options)

    def look(state):
        seen.append(state)
        if len(seen) % 3 == 0:
            state.evaluate()

    callback = look if rng.random() < 0.5 else None
    trace = int(rng.choice([0, 1, 3, 25]))
    other = case.problem() if rng.random() < 0.3 else problem
    again = fw.minimize(other, case.method, x0=start, trace=trace, callback=callback, **case.options)
    if any(not np.array_equal(one, two) for one, two in zip(before, _arrays(case), strict=True)):
        outcome.failures.append(("inputs", "an array that was passed in has changed"))
    known = Recomputed(case)
    exact = known.at(first.x, first.intercept)
    return Run(case, problem, first, start, again, known, exact, seen[:: max(1, len(seen) // 3)])


def started(case, problem, rng=None):
    """Return where the run starts: nothing said, a point of the set, or the result of another run."""
    rng = case.rng() if rng is None else rng
    if case.start == "default":
        return None
    corners = [problem.constraint.vertex(rng.normal(size=case.size)) for _ in range(3)]
    point = (np.array(corners).T @ rng.dirichlet(np.ones(3))).reshape(problem.shape)
    if case.start == "point":
        return point
    smooth = case.loss.smooth and not case.side
    bounded = ["stochastic-pairwise"] if not case.loss.log_link else []
    others = ["auto", "fw", "sfw", "away", "corrective", *bounded] if smooth else ["auto", "shcgm"]
    other = str(rng.choice(others))
    options = {"tol": case.options["tol"], "random_state": 0, "batch_size": case.options["batch_size"]}
    passes = float(rng.choice([1.0, 5.0])) if other not in ("auto", "corrective") else 50.0
    return fw.minimize(problem, other, max_passes=passes, x0=point if rng.random() < 0.5 else None, **options)


def _arrays(case):
    """Copies of all arrays that the library is given."""
    X = case.X
    parts = [X.data, X.indices, X.indptr] if sparse.issparse(X) else [X]
    known = [value for value in vars(case.constraint).values() if isinstance(value, np.ndarray)]
    return [
        np.array(part)
        for part in [*parts, case.y, *known] + ([] if case.sample_weight is None else [case.sample_weight])
    ]


def _compiled(case, run):
    """Compare with the same run compiled, which must repeat itself to the bit."""
    problem = case.problem()
    found = [fw.minimize(problem, case.method, x0=run.start, trace=trace, **case.options) for trace in (10, 0)]
    if not np.array_equal(found[0].x, found[1].x) or found[0].fun != found[1].fun or found[0].nit != found[1].nit:
        yield "two compiled runs differ"
    room = AGREE * max(run.problem.zero_value, run.result.fun) + 1e3 * (run.exact.fun_error + run.exact.gap_error)
    room += 2.0 * max(found[0].gap, run.result.gap) * run.result.convex
    # where a loss is not convex, rounding may decide which stationary point is found
    if run.result.convex and not abs(found[0].fun - run.result.fun) <= room:
        yield f"compiled fun {found[0].fun!r}, interpreted {run.result.fun!r}"
    exact = run.recomputed.at(found[0].x, found[0].intercept)
    if not np.isnan(found[0].fw_gap) and not abs(found[0].fw_gap - max(exact.gap, 0)) <= 4.0 * exact.gap_error:
        yield f"compiled gap {found[0].fw_gap!r}, recomputed {float(exact.gap)!r}"
    if not abs(found[0].fun - exact.fun) <= 4.0 * exact.fun_error:
        yield f"compiled fun {found[0].fun!r}, recomputed {float(exact.fun)!r}"
