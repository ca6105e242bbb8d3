"""Sets that are simple in coordinates: their radii, and the bounds of boxes."""

import math

import numpy as np
import pytest

import frankwolfe as fw

RADIAL = pytest.mark.parametrize("kind", [fw.L1Ball, fw.L2Ball, fw.Simplex, fw.NonNegativeL1Ball, fw.LinfBall])


@RADIAL
@pytest.mark.parametrize("radius", [0, -1.0, math.nan, math.inf])
def test_radius_must_be_positive_and_finite(kind, radius):
    with pytest.raises(ValueError, match=f"{kind.__name__}: radius must be (positive|finite)"):
        kind(radius)


@RADIAL
@pytest.mark.parametrize("radius", ["1", None, True, [1.0]])
def test_radius_must_be_a_number(kind, radius):
    with pytest.raises(TypeError, match=f"{kind.__name__}: radius must be a number"):
        kind(radius)


@pytest.mark.parametrize(
    ("lower", "upper", "low", "high"),
    [
        (-1, 2, [-1.0, -1.0, -1.0], [2.0, 2.0, 2.0]),
        ([0, 1, 2], 2.5, [0.0, 1.0, 2.0], [2.5, 2.5, 2.5]),
        (-1.0, np.array([0.0, 1.0, 2.0], dtype=np.float32), [-1.0, -1.0, -1.0], [0.0, 1.0, 2.0]),
        (np.array([0, 1, 2]), (1, 2, 2), [0.0, 1.0, 2.0], [1.0, 2.0, 2.0]),
        (np.float32(0.5), np.array(0.5), [0.5, 0.5, 0.5], [0.5, 0.5, 0.5]),
    ],
    ids=["numbers", "list and number", "number and array", "integers and tuple", "a single point"],
)
def test_box_takes_numbers_and_vectors(lower, upper, low, high):
    box = fw.Box(lower, upper)
    low, high = np.array(low), np.array(high)
    fitted = box.for_size(3)
    np.testing.assert_array_equal(fitted.lower, low)
    np.testing.assert_array_equal(fitted.upper, high)
    assert fitted.lower.dtype == fitted.upper.dtype == np.float64
    r = np.array([1.0, -1.0, 2.0])
    for ready in (box, fitted):
        np.testing.assert_array_equal(ready.vertex(r), np.where(r > 0.0, low, high))
        assert ready.support(r) == pytest.approx(np.maximum(r * low, r * high).sum())
        assert ready.diameter(3) == pytest.approx(np.linalg.norm(high - low))
        assert ready.contains(0.5 * (low + high))
        assert not ready.contains(high + [0.0, 0.0, 0.01])
        assert not ready.contains(low - [0.01, 0.0, 0.0])


def test_box_keeps_a_copy_of_its_bounds():
    upper = np.array([1.0, 2.0])
    box = fw.Box(0.0, upper)
    fitted = box.for_size(2)
    upper[0], box.upper[1] = 50.0, 60.0
    np.testing.assert_array_equal(box.upper, [1.0, 60.0])
    np.testing.assert_array_equal(fitted.upper, [1.0, 2.0])


@pytest.mark.parametrize(
    ("lower", "upper", "message"),
    [
        (2.0, 1.0, "at entry 0 lower = 2 > upper = 1"),
        ([0.0, 0.0, 3.0], [1.0, 1.0, 1.5], "at entry 2 lower = 3 > upper = 1.5"),
        ([0.0, 3.0, 0.0], [1.0, 1.5, 1.0], "at entry 1 lower = 3 > upper = 1.5"),
        ([7.0, 0.0], [1.0, 1.5], "at entry 0 lower = 7 > upper = 1"),
        (1.0, [2.0, 0.5, 2.0], "at entry 1 lower = 1 > upper = 0.5"),
        ([-1.0, 2.5, 9.0], 2.0, "at entry 1 lower = 2.5 > upper = 2"),
    ],
    ids=["numbers", "last entry", "middle entry", "first entry", "number and vector", "vector and number"],
)
def test_box_names_the_entry_whose_bounds_are_crossed(lower, upper, message):
    with pytest.raises(ValueError, match=f"Box: lower must not exceed upper, but {message}$"):
        fw.Box(lower, upper)


@pytest.mark.parametrize(
    ("lower", "upper", "error", "message"),
    [
        ([0.0, 0.0], [1.0, 1.0, 1.0], ValueError, "lower has 2 entries and upper has 3"),
        (0.0, math.inf, ValueError, "upper must be finite"),
        ([0.0, math.nan], 1.0, ValueError, "lower holds NaN or infinity"),
        (0.0, [[1.0, 1.0]], ValueError, r"upper must be a number or a vector .*, got shape \(1, 2\)"),
        ("a", 1.0, TypeError, "lower must be a number, got str"),
        (0.0, ["a", "b"], TypeError, "upper must be a number or a vector of numbers"),
        (None, 1.0, TypeError, "lower must be a number"),
    ],
)
def test_box_refuses_bounds_that_make_no_set(lower, upper, error, message):
    with pytest.raises(error, match=f"Box: {message}"):
        fw.Box(lower, upper)


@pytest.mark.parametrize(("bounds", "name"), [((0.0, [1.0, 2.0]), "upper"), (([0.0, 0.0], 1.0), "lower")])
def test_box_must_fit_the_number_of_columns(bounds, name):
    box = fw.Box(*bounds)
    message = f"Box: {name} has 2 entries, but there are 3 columns"
    with pytest.raises(ValueError, match=message):
        box.vertex([1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match=message):
        fw.Problem(np.ones((4, 3)), np.ones(4), "squared", box)
    assert fw.Problem(np.ones((4, 2)), np.ones(4), "squared", box).constraint.vertex([1.0, 1.0]).shape == (2,)
