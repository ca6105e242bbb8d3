"""Losses of many samples: arrays and single numbers agree to the bit, kernels too if their functions do.

NumPy has exponentials and logarithms of its own on some processors, which differ from those of compiled code in the
last digit. There kernels agree to rounding.
"""

import numpy as np
import pytest

import frankwolfe as fw
from frankwolfe.compile.kernels import kernel
from frankwolfe.losses.base import LossArrays
from tests import cases

RNG = np.random.default_rng(0)
EDGES = [0.0, 5e-324, 1e-310, 1e-300, 1e-17, 0.5, 1.0, np.nextafter(1.0, 2.0), 4.0, 745.0, 1e8, 1e150, 1e300, np.inf]
DRAWN = RNG.normal(size=500), 30.0 * RNG.normal(size=500), RNG.uniform(-2, 2, 500)
Z = np.concatenate([EDGES, np.negative(EDGES), *DRAWN])
SCALAR = [*cases.LOSSES, *cases.KINKED_LOSSES]


def same(one, other):
    """Whether two arrays hold the same numbers; NaN equals NaN."""
    return np.array_equal(np.asarray(one, float), np.asarray(other, float), equal_nan=True)


@kernel
def transcendental(x, found):
    """Fill in the functions that losses are made of."""
    for i in range(len(x)):
        e = np.exp(-np.abs(x[i]))
        found[i] = np.array([e, np.log1p(e), np.log(e), np.expm1(-np.abs(x[i]))])


@pytest.fixture(scope="module")
def same_functions():
    """Whether kernels and NumPy share their exponentials and logarithms."""
    x, found = 10.0 * RNG.normal(size=1000), np.empty((1000, 4))
    transcendental(x, found)
    e = np.exp(-np.abs(x))
    return same(found, np.stack([e, np.log1p(e), np.log(e), np.expm1(-np.abs(x))], axis=1))


def close(one, other):
    """Whether two arrays hold the same numbers up to rounding, and are infinite or NaN at the same places."""
    finite = np.isfinite(one)
    return same(one[~finite], other[~finite]) and np.allclose(one[finite], other[finite], rtol=1e-9, atol=1e-15)


def targets(loss):
    """Targets that fit a loss, one for each prediction."""
    if loss.targets == "labels":
        return np.where(np.arange(len(Z)) % 3 == 0, -1.0, 1.0)
    if loss.targets == "real":
        return np.resize([0.0, 1.0, -2.5, 1e-300, 1e5], len(Z))
    return np.resize([0.0 if loss.targets == "nonnegative" else 0.1, 1.0, 2.5, 1e-300, 1e5], len(Z))


def calls(loss):
    """Names of methods, with arrays to call them with."""
    z, y = Z, targets(loss)
    slopes = np.resize(np.concatenate([Z[:60], loss_slopes(loss)]), len(Z))
    yield from (("value", (z, y)), ("derivative", (z, y)), ("curvature", (z, y)))
    if loss.has_conjugate:
        yield from (("residual", (z, y, slopes)), ("conjugate", (slopes, y)), ("nearest_slope", (slopes, y)))


def loss_slopes(loss):
    """Slopes that a loss has somewhere, and some on the edges of what it can have."""
    with np.errstate(all="ignore"):
        found = LossArrays(loss).derivative(Z[60:], targets(loss)[60:])
    return np.concatenate([found, [0.0, 1.0, -1.0, 1.0 + 1e-16, -1.0 - 1e-16, -4.0, -4.0 - 1e-15]])


@pytest.mark.parametrize("loss", SCALAR, ids=cases.name_of)
def test_arrays_kernels_and_numbers_agree(loss, same_functions):
    for method, arrays in calls(loss):
        whole = getattr(LossArrays(loss), method)(*arrays)
        compiled = getattr(LossArrays(loss, compiled=True), method)(*arrays)
        with np.errstate(all="ignore"):
            single = [getattr(loss, method)(*numbers) for numbers in zip(*arrays, strict=True)]
        assert (same if same_functions else close)(whole, compiled), method
        assert same(whole, single), method


@pytest.mark.parametrize("loss", [fw.Multinomial(4), fw.MultitaskSquared(4)], ids=cases.name_of)
def test_so_do_losses_of_several_outputs(loss, same_functions):
    n = 400
    z = np.concatenate([RNG.normal(size=(n, 4)), 300.0 * RNG.normal(size=(n, 4)), np.zeros((1, 4)), 1e300 * np.eye(4)])
    y = RNG.integers(4, size=len(z)).astype(float) if loss.targets == "classes" else RNG.normal(size=z.shape)
    slopes, q = LossArrays(loss).derivative(z[::-1].copy(), y), RNG.normal(size=z.shape)
    slopes[::7] = RNG.normal(size=slopes[::7].shape)
    slopes[::11] = 0.0
    calls = {
        "value": (z, y), "derivative": (z, y), "curvature": (z, y), "hessian_product": (z, y, q),
        "residual": (z, y, slopes), "conjugate": (slopes, y), "nearest_slope": (slopes, y),
    }  # fmt: skip
    for method, arrays in calls.items():
        whole = getattr(LossArrays(loss), method)(*arrays)
        compiled = getattr(LossArrays(loss, compiled=True), method)(*arrays)
        with np.errstate(all="ignore"):
            single = [getattr(loss, method)(*some) for some in zip(*arrays, strict=True)]
        assert (same if same_functions else close)(whole, compiled), method
        assert same(whole, single), method


def test_kernels_fill_values_and_derivatives_at_once():
    loss, y = fw.Logistic(), targets(fw.Logistic())
    for compiled in (False, True):
        values, slopes = np.empty(len(y)), np.empty(Z.shape)
        LossArrays(loss, compiled).fill_values_and_derivatives(Z, y, values, slopes)
        assert same(values, LossArrays(loss, compiled).value(Z, y))
        assert same(slopes, LossArrays(loss, compiled).derivative(Z, y))
