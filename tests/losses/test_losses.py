"""Losses: derivatives, constants and flags against definitions, and good manners at extreme predictions."""

import inspect
import math
import pkgutil
from decimal import Decimal, localcontext
from importlib import import_module
from itertools import filterfalse

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.metrics import mean_tweedie_deviance

import frankwolfe as fw
from frankwolfe import losses
from frankwolfe.losses.kinked import SmoothedLoss
from frankwolfe.losses.log_link import BoundedLoss
from frankwolfe.losses.mixture import Mixture
from tests import cases
from tests.reference import losses as formulas

EVERY_LOSS = pytest.mark.parametrize("loss", [*cases.LOSSES, *cases.KINKED_LOSSES], ids=cases.name_of)
SMOOTH = pytest.mark.parametrize("loss", cases.LOSSES, ids=cases.name_of)

BOUNDED = pytest.mark.parametrize(
    "loss", [loss for loss in cases.LOSSES if math.isfinite(loss.smoothness())], ids=cases.name_of
)

PREDICTIONS = st.floats(-20.0, 20.0)

# Where the curvature, or the derivative itself, jumps: the one thing finite differences cannot look at.
KINKS = {
    fw.Huber: lambda loss, y: (y - loss.delta, y + loss.delta),
    fw.SquaredHinge: lambda loss, y: (y,),
    fw.ModifiedHuber: lambda loss, y: (y, -y),
    fw.Hinge: lambda loss, y: (y,),
    fw.Pinball: lambda loss, y: (y,),
}


def is_convex(loss):
    return loss.convex


def targets(loss):
    """Strategy for the targets a loss takes."""
    least = {"real": -5.0, "nonnegative": 0.0, "positive": 1e-3}
    return st.sampled_from([-1.0, 1.0]) if loss.targets == "labels" else st.floats(least[loss.targets], 5.0)


def some_targets(loss):
    """A few targets a loss takes."""
    return formulas.TARGETS[loss.targets]


def distance_to_kink(loss, z, y):
    kinks = KINKS.get(type(loss))
    return math.inf if kinks is None else min(abs(z - kink) for kink in kinks(loss, y))


# --- derivatives ---------------------------------------------------------------------------------------------


@EVERY_LOSS
@given(data=st.data())
def test_derivative_is_the_slope_of_the_value(loss, data):
    z, y = data.draw(PREDICTIONS), data.draw(targets(loss))
    h = 1e-5
    assume(distance_to_kink(loss, z, y) > h)
    slope = (loss.value(z + h, y) - loss.value(z - h, y)) / (2.0 * h)
    assert loss.derivative(z, y) == pytest.approx(slope, rel=1e-7, abs=1e-8)


@EVERY_LOSS
@given(data=st.data())
def test_curvature_is_the_slope_of_the_derivative(loss, data):
    z, y = data.draw(PREDICTIONS), data.draw(targets(loss))
    h = 1e-5
    assume(distance_to_kink(loss, z, y) > h)
    slope = (loss.derivative(z + h, y) - loss.derivative(z - h, y)) / (2.0 * h)
    # The biweight's third derivative jumps at its cutoff, which leaves an error of order h there.
    assert loss.curvature(z, y) == pytest.approx(slope, rel=1e-7, abs=1e-4 if isinstance(loss, fw.Tukey) else 1e-8)


@pytest.mark.parametrize("loss", [loss for loss in cases.LOSSES if type(loss) in KINKS], ids=cases.name_of)
def test_derivative_is_continuous_where_the_curvature_jumps(loss):
    for y in some_targets(loss):
        for kink in KINKS[type(loss)](loss, y):
            left, right = loss.derivative(kink - 1e-9, y), loss.derivative(kink + 1e-9, y)
            assert left == pytest.approx(right, abs=1e-8)
            jump = abs(loss.curvature(kink - 1e-9, y) - loss.curvature(kink + 1e-9, y))
            assert jump == loss.smoothness(), "this kink is not one: the finite differences skip it for nothing"


# --- constants and flags -------------------------------------------------------------------------------------


@BOUNDED
@given(data=st.data())
def test_smoothness_bounds_how_fast_the_derivative_changes(loss, data):
    first, second = data.draw(st.floats(-50.0, 50.0)), data.draw(st.floats(-50.0, 50.0))
    y = data.draw(targets(loss))
    change = abs(loss.derivative(first, y) - loss.derivative(second, y))
    assert change <= loss.smoothness() * abs(first - second) * (1.0 + 1e-9) + 1e-13


@BOUNDED
def test_smoothness_is_the_largest_curvature(loss):
    for y in some_targets(loss):
        curvatures = [abs(loss.curvature(float(z), y)) for z in np.linspace(-6.0, 6.0, 6001)]
        assert 0.99 * loss.smoothness() <= max(curvatures) <= loss.smoothness() * (1.0 + 1e-12)


@pytest.mark.parametrize("loss", [*filter(is_convex, cases.LOSSES), *cases.KINKED_LOSSES], ids=cases.name_of)
@given(data=st.data())
def test_convex_losses_lie_below_their_chords(loss, data):
    first, second = data.draw(PREDICTIONS), data.draw(PREDICTIONS)
    y = data.draw(targets(loss))
    chord = 0.5 * (loss.value(first, y) + loss.value(second, y))
    assert loss.value(0.5 * (first + second), y) <= chord * (1.0 + 1e-12) + 1e-13


@pytest.mark.parametrize("loss", [*filterfalse(is_convex, cases.LOSSES)], ids=cases.name_of)
def test_non_convex_losses_rise_above_a_chord(loss):
    for y in some_targets(loss):
        grid = [float(z) for z in np.linspace(-8.0, 8.0, 65)]
        excess = max(
            loss.value(0.5 * (first + second), y) - 0.5 * (loss.value(first, y) + loss.value(second, y))
            for first in grid
            for second in grid
        )
        assert excess > 0.01


# --- kinks -------------------------------------------------------------------------------------------------------

KINKED = pytest.mark.parametrize("loss", cases.KINKED_LOSSES, ids=cases.name_of)


@KINKED
def test_a_kink_is_where_it_says_and_turns_from_one_slope_to_the_other(loss):
    assert not loss.smooth
    assert loss.smoothness() == math.inf
    for y in some_targets(loss):
        low, high = loss.kink_slopes(y)
        assert (loss.derivative(y - 1e-9, y), loss.derivative(y + 1e-9, y)) == (low, high)
        assert low <= loss.derivative(y, y) <= high
        assert low < high


@KINKED
@given(data=st.data())
def test_a_smoothed_loss_is_the_moreau_envelope(loss, data):
    z, y, beta = data.draw(st.floats(-5.0, 5.0)), data.draw(targets(loss)), data.draw(st.floats(0.05, 3.0))
    # the envelope at z is the least f(v) + (v - z)^2 / (2 beta); its derivative there is (z - v) / beta
    candidates = [y, *(z - beta * slope for slope in loss.kink_slopes(y))]
    v = min(candidates, key=lambda v: loss.value(v, y) + (v - z) ** 2 / (2.0 * beta))
    assert loss.smoothed_derivative(z, y, beta) == pytest.approx((z - v) / beta, abs=1e-7)


@pytest.mark.parametrize("quantile", [0.0, 1.0, -0.1, 1.5])
def test_a_quantile_is_between_zero_and_one(quantile):
    with pytest.raises(ValueError, match="Pinball: quantile must be between 0 and 1, got"):
        fw.Pinball(quantile)


# --- extreme predictions ---------------------------------------------------------------------------------------


@EVERY_LOSS
@pytest.mark.parametrize("number", [float, np.float64], ids=["float", "float64"])
@pytest.mark.parametrize("size", [0.0, 1e-300, 1.0, 40.0, 800.0, 1e10, 1e150, 1e300])
def test_extreme_predictions_give_numbers(loss, size, number):
    extremes = {"labels": (), "real": (1e-300, -1e150, 1e300, -1e300)}.get(loss.targets, (1e-300, 1e150, 1e300))
    for z in (number(size), number(-size)):
        for y in map(number, some_targets(loss) + extremes):
            # NumPy's numbers warn when a true value beyond the largest float becomes infinity; plain ones do not.
            with np.errstate(over="ignore"):
                assert loss.value(z, y) >= 0.0  # false for NaN
            with np.errstate(over="ignore"):
                slope, curvature = loss.derivative(z, y), abs(loss.curvature(z, y))
            assert math.isfinite(slope) if math.isfinite(loss.smoothness()) or not loss.smooth else slope == slope
            assert curvature <= loss.smoothness() * (1.0 + 1e-12)


@EVERY_LOSS
@pytest.mark.parametrize("size", [40.0, 800.0, 1e10, 1e150])
def test_far_out_derivatives_have_the_right_sign(loss, size):
    for y in some_targets(loss):
        if loss.targets == "labels":  # a larger margin is never worse
            assert y * loss.derivative(size, y) <= 0.0
            assert y * loss.derivative(-size, y) <= 0.0
        else:  # a larger error is never better
            assert loss.derivative(size, y) >= 0.0
            assert loss.derivative(-size, y) <= 0.0 or (y == 0.0 and loss.log_link)  # then no mean is too small


# --- known values ------------------------------------------------------------------------------------------------


@EVERY_LOSS
@pytest.mark.parametrize("part", ["value", "derivative", "curvature"])
def test_against_formulas(loss, part):
    formula = {"value": formulas.losses, "derivative": formulas.derivatives, "curvature": formulas.curvatures}[part]
    z = np.linspace(-30.0, 30.0, 997)  # an odd number of points that hits no kink
    for y in some_targets(loss):
        ours = np.array([getattr(loss, part)(float(prediction), y) for prediction in z])
        np.testing.assert_allclose(ours, formula(loss, z, y).astype(float), rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize("margin", [30.0, 40.0, 300.0, 700.0])
def test_logistic_and_sigmoid_keep_their_digits_at_large_margins(margin):
    assert fw.Logistic().value(margin, 1.0) == pytest.approx(math.exp(-margin), rel=1e-12)
    assert fw.Logistic().derivative(margin, 1.0) == pytest.approx(-math.exp(-margin), rel=1e-12)
    assert fw.Sigmoid().value(margin, 1.0) == pytest.approx(math.exp(-margin), rel=1e-12)
    assert fw.Logistic().value(-margin, 1.0) == pytest.approx(margin, rel=1e-12)


def _in_many_digits(loss, part, z, y):
    """A formula of a non-convex loss, in 60 digits."""
    with localcontext() as context:
        context.prec = 60
        z, y = Decimal(z), Decimal(y)
        if isinstance(loss, fw.Sigmoid):
            p = 1 / (1 + (y * z).exp())
            return float({"value": p, "derivative": -y * p * (1 - p), "curvature": p * (1 - p) * (1 - 2 * p)}[part])
        scale = Decimal(loss[0])
        q2 = ((z - y) / scale) ** 2
        if isinstance(loss, fw.Cauchy):
            value, derivative, curvature = (1 + q2).ln() * scale**2 / 2, (z - y) / (1 + q2), (1 - q2) / (1 + q2) ** 2
        else:
            value, derivative, curvature = scale**2 / 6, Decimal(0), Decimal(0)
            if q2 < 1:
                value *= 1 - (1 - q2) ** 3
                derivative, curvature = (z - y) * (1 - q2) ** 2, (1 - q2) * (1 - 5 * q2)
        return float({"value": value, "derivative": derivative, "curvature": curvature}[part])


@pytest.mark.parametrize("part", ["value", "derivative", "curvature"])
@pytest.mark.parametrize("loss", [fw.Sigmoid(), fw.Cauchy(0.8), fw.Tukey(2.0), fw.Tukey()], ids=str)
def test_losses_keep_their_digits_where_they_go_flat(loss, part):
    flat = 0.0 if isinstance(loss, fw.Sigmoid) else loss[0]  # where a derivative or the curvature vanishes
    for distance in (1e-15, 1e-12, 1e-9, 1e-6, 1e-3, 0.1):
        for y in (-1.0, 1.0):
            for z in (flat + distance, flat - distance, -flat + distance):
                prediction = z if isinstance(loss, fw.Sigmoid) else y + z
                expected = _in_many_digits(loss, part, prediction, y)
                assert getattr(loss, part)(prediction, y) == pytest.approx(expected, rel=1e-14, abs=0.0)


@pytest.mark.parametrize("loss", [fw.Squared(), fw.Huber(0.7), fw.Cauchy(0.8), fw.Tukey(2.0)], ids=cases.name_of)
def test_robust_losses_look_like_the_squared_error_near_zero(loss):
    # 1e-9 squared is far below the rounding unit of 1: formulas that subtract from 1 would lose it.
    assert loss.value(1e-9, 0.0) == pytest.approx(0.5e-18, rel=1e-9)
    assert loss.derivative(1e-9, 0.0) == pytest.approx(1e-9, rel=1e-9)


@pytest.mark.parametrize(
    "loss", [loss for loss in (*cases.LOSSES, fw.Hinge()) if loss.targets == "labels"], ids=cases.name_of
)
@given(z=PREDICTIONS)
def test_label_losses_see_only_the_margin(loss, z):
    assert loss.value(z, 1.0) == loss.value(-z, -1.0)
    assert loss.derivative(z, 1.0) == -loss.derivative(-z, -1.0)
    assert loss.curvature(z, 1.0) == loss.curvature(-z, -1.0)


# --- names and constructors --------------------------------------------------------------------------------------


def test_every_loss_is_named_exported_and_tested():
    defined = {
        kind
        for file in pkgutil.iter_modules(losses.__path__, losses.__name__ + ".")
        for _, kind in inspect.getmembers(import_module(file.name), inspect.isclass)
        if kind.__module__ == file.name and hasattr(kind, "derivative") and issubclass(kind, tuple)
    } - {Mixture, SmoothedLoss, BoundedLoss}  # of one estimator, solver or problem, with which they are tested
    single = {kind for kind in defined if not kind().is_vector}
    assert defined == set(losses.LOSSES.values())
    assert defined - single == {type(loss) for loss in cases.VECTOR_LOSSES}
    assert single == {type(loss) for loss in (*cases.LOSSES, *cases.KINKED_LOSSES)}
    assert {kind.__name__ for kind in defined} == set(losses.__all__)


@pytest.mark.parametrize("name", losses.LOSSES)
def test_names_are_the_class_names_in_lower_case_with_hyphens(name):
    loss = losses.as_loss(name)
    assert "".join(word.capitalize() for word in name.split("-")) == type(loss).__name__
    assert loss == losses.LOSSES[name]()
    assert loss.targets in ("labels", "real", "nonnegative", "positive", "classes", "rows")


def test_an_instance_is_taken_as_it_is():
    loss = fw.Huber(0.3)
    assert losses.as_loss(loss) is loss


@pytest.mark.parametrize(
    ("loss", "error", "message"),
    [
        ("squared_hinge", ValueError, "unknown loss 'squared_hinge'; did you mean 'squared-hinge'"),
        ("qqqqqq", ValueError, "unknown loss 'qqqqqq'.*Known: 'logistic'"),
        (fw.Logistic, TypeError, r"write Logistic\(\.\.\.\), not Logistic"),
        (fw.L1Ball(1.0), TypeError, "L1Ball is not a loss: it has no method value, derivative, curvature, smoothness"),
        (3.0, TypeError, "loss must be a loss .* got float"),
    ],
)
def test_what_is_no_loss_is_refused(loss, error, message):
    with pytest.raises(error, match=message):
        losses.as_loss(loss)


FIELDS = [(type(loss), field) for loss in cases.LOSSES for field in loss._fields if field != "power"]


@pytest.mark.parametrize(("kind", "field"), FIELDS)
@pytest.mark.parametrize("number", [0, 0.0, -1, -1e-300, math.nan, math.inf, -math.inf])
def test_fields_must_be_positive_and_finite(kind, field, number):
    with pytest.raises(ValueError, match=f"{kind.__name__}: {field} must be (positive|finite)"):
        kind(number)


@pytest.mark.parametrize(("kind", "field"), FIELDS)
@pytest.mark.parametrize("number", ["a", None, True, 1j, [1.0]])
def test_fields_must_be_numbers(kind, field, number):
    with pytest.raises(TypeError, match=f"{kind.__name__}: {field} must be a number"):
        kind(**{field: number})


@pytest.mark.parametrize(("kind", "field"), FIELDS)
@pytest.mark.parametrize("number", [2, np.float32(2.0), np.int64(2)])
def test_fields_become_floats(kind, field, number):
    assert type(getattr(kind(number), field)) is float
    assert kind(number) == kind(2.0)


@pytest.mark.parametrize(("kind", "field"), FIELDS)
def test_fields_must_not_exceed_the_largest_float(kind, field):
    with pytest.raises(ValueError, match=f"{kind.__name__}: {field} must be finite"):
        kind(10**400)


@pytest.mark.parametrize(
    ("power", "advice"), [(1.0, "use Poisson"), (2, "use Gamma"), (0.0, "Squared"), (3.0, "convex")]
)
def test_a_power_is_between_one_and_two(power, advice):
    with pytest.raises(ValueError, match=f"Tweedie: power must be between 1 and 2, .*got {power:g}: .*{advice}"):
        fw.losses.Tweedie(power)


def test_half_deviances_are_those_of_scikit_learn():
    y, mean = np.array([0.0, 0.5, 1.0, 7.0]), np.array([0.2, 0.7, 3.0, 2.0])
    for loss, power in ((fw.Poisson(), 1.0), (fw.Gamma(), 2.0), (fw.losses.Tweedie(1.7), 1.7)):
        some = y > 0.0 if power == 2.0 else y >= 0.0
        ours = np.mean([loss.value(z, target) for z, target in zip(np.log(mean[some]), y[some], strict=True)])
        assert 2.0 * ours == pytest.approx(mean_tweedie_deviance(y[some], mean[some], power=power), rel=1e-12)


def test_deviances_keep_their_digits_near_zero():
    for loss, curvature in ((fw.Poisson(), 3.0), (fw.Gamma(), 1.0), (fw.losses.Tweedie(1.5), 3.0**0.5)):
        z, t = np.log(3.0), 1e-6
        assert loss.value(z + t, 3.0) == pytest.approx(0.5 * curvature * t * t, rel=1e-5)
        assert loss.residual(z, 3.0, loss.derivative(z + t, 3.0)) == pytest.approx(0.5 * curvature * t * t, rel=1e-5)
