"""The reference versions of sets and losses, against the library's: what the fuzzing leans on must be right itself."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime

import frankwolfe as fw
from frankwolfe.sets.base import for_shape
from tests import cases
from tests.fuzz import sets
from tests.reference.losses import derivatives, losses
from tests.reference.sets import reach, violation


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("name", sets.NAMES)
def test_a_set_from_its_definition_has_the_vertices_of_the_library(name):
    size = 4
    for seed in range(6):
        rng = np.random.default_rng(seed)
        known = sets.make(name, rng, (size,))
        constraint = for_shape(known.make(), size)
        corners = []
        for _ in range(6):
            direction = rng.normal(size=size)
            corner = constraint.vertex(-direction)
            corners.append(corner)
            largest = float(known.support(direction.astype(np.longdouble)))
            scale = float(np.abs(direction) @ reach(known, size))
            assert constraint.support(direction) == pytest.approx(largest, abs=1e-12 * scale)
            assert corner @ direction == pytest.approx(largest, abs=1e-10 * scale)
            assert violation(known, corner) < 1e-9
            # a step on from a vertex, the way it was found for, leaves the set
            outward = direction * np.abs(reach(known, size)).max().astype(float) / np.linalg.norm(direction)
            assert violation(known, corner + 0.01 * outward) > 1e-5
        assert violation(known, np.mean(corners, axis=0)) < 1e-9


@pytest.mark.parametrize("loss", cases.LOSSES, ids=cases.name_of)
def test_a_loss_from_its_formula_is_that_of_the_library(loss):
    rng = np.random.default_rng(0)
    z = rng.normal(size=60) * 10.0 ** rng.uniform(-3, 3, 60)
    z = np.clip(z, -500.0, 500.0) if loss.log_link else z
    y = cases.fitting(loss, rng.normal(size=60))
    expected = [loss.value(*pair) for pair in zip(z, y, strict=True)]
    np.testing.assert_allclose(losses(loss, z, y).astype(float), expected, rtol=1e-12, atol=1e-300)
    expected = [loss.derivative(*pair) for pair in zip(z, y, strict=True)]
    np.testing.assert_allclose(derivatives(loss, z, y).astype(float), expected, rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("loss", [fw.Multinomial(3), fw.MultitaskSquared()], ids=cases.name_of)
def test_a_loss_of_several_outputs_from_its_formula(loss):
    rng = np.random.default_rng(0)
    z = 3.0 * rng.normal(size=(20, 3))
    y = rng.integers(0, 3, 20) if loss.targets == "classes" else rng.normal(size=(20, 3))
    expected = [loss.value(*pair) for pair in zip(z, y, strict=True)]
    np.testing.assert_allclose(losses(loss, z, y).astype(float), expected, rtol=1e-13)
    for i in range(20):
        slope = approx_fprime(z[i], lambda at, i=i: float(losses(loss, at[np.newaxis], y[i : i + 1])[0]), 1e-6)
        np.testing.assert_allclose(derivatives(loss, z, y)[i].astype(float), slope, atol=1e-5)


def test_every_set_is_fuzzed():
    from frankwolfe import sets as package

    no_sets = {"Hull", "outside", "LinfBall"}  # what a set says of itself; a user's own; a box by another name
    assert set(sets.NAMES) == set(package.__all__) - no_sets
