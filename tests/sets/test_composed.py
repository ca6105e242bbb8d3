"""Every wrapper around every set, with one output and with several: the same answer, as fast, able to do the same.

A wrapped set is a bare one seen through a map of the weights. With the data changed to match, both problems are the
same, so a run on the one must go as a run on the other.
"""

from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest

import frankwolfe as fw
from tests import cases

D, SIDE, ROWS, TOLERANCE = 9, 3, 12, 1e-3
SHIFT = np.round(np.linspace(-0.25, 0.25, D), 3)

SETS = {
    **{cases.name_of(constraint): lambda d, kept=constraint: kept for constraint in cases.SETS},
    **{
        name: make
        for name, make in cases.SIZED_SETS.items()
        if name not in ("Translated", "Scaled", "Cached", "Counted")
    },
}


class View(NamedTuple):
    """A wrapped set, with how its weights follow from those of the set: ``w -> factor * w + shift``."""

    wrap: Any
    factor: float = 1.0
    shift: Any = None


VIEWS = {
    "counted": View(lambda inner: fw.sets.Counted(fw.sets.Cached(inner, 3))),
    "scaled": View(lambda inner: fw.sets.Scaled(inner, 2.0), 2.0),
    "translated": View(lambda inner: fw.sets.Translated(inner, SHIFT), shift=SHIFT),
    "product": View(lambda inner: fw.Product([inner], [D])),
    "nested": View(
        lambda inner: fw.sets.Translated(fw.sets.Scaled(fw.sets.Counted(fw.sets.Cached(inner)), 2.0), SHIFT),
        factor=2.0,
        shift=SHIFT,
    ),
}
EVERY_SET = pytest.mark.parametrize("name", SETS)
EVERY_VIEW = pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
OUTPUTS = pytest.mark.parametrize("outputs", [0, SIDE], ids=["one-output", "several"])


@cache
def made(name):
    """Return a set for nine weights."""
    return SETS[name](D)


def table(outputs):
    """Data for nine weights: nine columns, or three columns and three outputs."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(ROWS, SIDE if outputs else D))
    return X, 2.0 * rng.normal(size=(ROWS, outputs) if outputs else ROWS)


def moved_by(view):
    return np.zeros(D) if view.shift is None else view.shift


def bare_and_wrapped(name, view, outputs):
    """Two problems that are one, and where to start in each."""
    inner, (X, y), loss = made(name), table(outputs), "multitask-squared" if outputs else "squared"
    bare = fw.Problem(X, y, loss, inner)
    start = bare.default_start()
    shift = moved_by(view)
    seen = X / view.factor
    moved = y + seen @ (shift.reshape(SIDE, outputs) if outputs else shift)
    wrapped = fw.Problem(seen, moved, loss, view.wrap(inner))
    return bare, wrapped, start, view.factor * start + shift


def run(problem, start, tolerance, **options):
    return fw.minimize(problem, x0=start, tol=tolerance / problem.zero_value, max_passes=3000, trace=0, **options)


@cache
def run_bare(name, outputs):
    """Return the answer over the set itself."""
    problem, _, start, _ = bare_and_wrapped(name, VIEWS["counted"], outputs)
    return run(problem, start, TOLERANCE * problem.zero_value)


@EVERY_SET
@EVERY_VIEW
@OUTPUTS
@pytest.mark.usefixtures("interpreted")
def test_a_wrapped_set_is_as_good_as_the_bare_one(name, view, outputs):
    bare, wrapped, _, mapped = bare_and_wrapped(name, view, outputs)
    one, other = run_bare(name, outputs), run(wrapped, mapped, TOLERANCE * bare.zero_value)
    assert one.success
    assert other.success
    assert other.method == one.method
    assert abs(other.passes - one.passes) <= 2.0  # a round, where rounding decides
    assert abs(other.fun - one.fun) <= max(one.gap, other.gap) + 1e-12
    assert wrapped.constraint.contains(other.x.ravel(), 1e-8)
    assert wrapped.evaluate(other.x).gap == pytest.approx(other.fw_gap, abs=1e-9)
    found = (other.x.ravel() - moved_by(view)) / view.factor
    assert bare.constraint.contains(found, 1e-8)
    assert bare.evaluate(found).gap == pytest.approx(other.fw_gap, abs=1e-9)


@EVERY_SET
@EVERY_VIEW
@OUTPUTS
def test_a_wrapped_set_can_do_what_the_bare_one_can(name, view, outputs):
    bare, wrapped, _, mapped = bare_and_wrapped(name, view, outputs)
    inner, outer = bare.constraint, wrapped.constraint
    assert type(outer.structure().shape) is type(inner.structure().shape)
    assert outer.attains_support() == inner.attains_support()
    rng, shift = np.random.default_rng(0), moved_by(view)
    for direction in rng.normal(size=(5, D)):
        level = direction @ shift
        assert outer.support(direction) - level == pytest.approx(view.factor * inner.support(direction), rel=1e-9)
        assert outer.proven_support(direction) - level == pytest.approx(
            view.factor * inner.proven_support(direction), rel=1e-9
        )
        np.testing.assert_allclose(outer.vertex(direction), view.factor * inner.vertex(direction) + shift, atol=1e-12)
    one, other = bare.head(2).diameters(), wrapped.head(2).diameters()
    np.testing.assert_allclose(other[:3], one[:3], rtol=1e-9)
    assert other.exact == one.exact
    assert wrapped.complexity(mapped) >= 0
    if inner.own_radius() is None:
        assert outer.own_radius() is None
        with pytest.raises(ValueError, match="has no radius to change"):
            outer.with_radius(2.0)
        return
    assert outer.own_radius() == pytest.approx(view.factor * inner.own_radius())
    small, r = outer.with_radius(0.1 * view.factor), np.linspace(-1.0, 1.0, D)
    assert small.own_radius() == pytest.approx(0.1 * view.factor)
    ready = wrapped.over(small).constraint
    assert ready.support(r) - r @ shift == pytest.approx(view.factor * inner.with_radius(0.1).support(r))


REMEMBERED = ["L1Ball", "Simplex", "NonNegativeL1Ball", "Box", "GroupBall", "TraceBall"]


@pytest.mark.parametrize(
    ("name", "method"),
    [(REMEMBERED[(k + turn) % 6], method) for k, method in enumerate(fw.methods.METHODS) for turn in (0, 3)],
)
@pytest.mark.usefixtures("interpreted")
def test_counting_and_remembering_change_no_step_of_any_method(name, method):
    options = {"tol": 1e-6, "max_passes": 4, "random_state": 0, "trace": 0}
    bare = fw.minimize(cases.problem(fw.Logistic(), made(name), "csr64", n=ROWS, d=D), method, **options)
    for wrap in (fw.sets.Counted, lambda inner: fw.sets.Cached(fw.sets.Counted(inner), 2)):
        wrapped = fw.minimize(cases.problem(fw.Logistic(), wrap(made(name)), "csr64", n=ROWS, d=D), method, **options)
        assert wrapped.nit == bare.nit
        # a vertex that is remembered, or worked out anew, gives the gap to rounding
        curved = name in ("TraceBall", "GroupBall")
        np.testing.assert_allclose(wrapped.x, bare.x, rtol=0.0, atol=1e-14 if curved else 0.0)


def test_a_side_without_width_far_from_zero_holds_its_own_vertices():
    box = fw.sets.Translated(fw.Box([-0.5, -0.08], [0.1, -0.08]), np.array([21.86, -24.01952915]))
    for r in ([1.0, 1.0], [-1.0, 1.0]):
        assert box.contains(box.vertex(np.array(r)))
    assert not box.contains(box.vertex(np.ones(2)) + [0.0, 1e-9])


def test_a_translated_set_that_is_nearly_a_point_holds_no_point_far_away():
    caps = np.array([124.01522777, 179.32637183, 278.44754034, 5.26752569])
    thin = fw.CappedSimplex(caps, caps.sum() * (1.0 - 4e-16))
    moved = fw.sets.Translated(thin, np.array([-1472.8, -864.8, 2721.5, 1339.4]))
    assert not moved.contains(np.zeros(4))
    assert moved.contains(moved.vertex(np.ones(4)))
