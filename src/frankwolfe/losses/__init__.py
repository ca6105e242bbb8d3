"""Losses: one NamedTuple each, scalar in the prediction ``z`` and the target ``y``.

A loss defines its value, first derivative and curvature (second derivative) for one sample; the Lipschitz constant
of its derivative; whether it is convex; and its targets (``"labels"``: -1 and +1, ``"real"``: any finite number,
``"nonnegative"`` or ``"positive"`` ones).
A convex loss may also define its conjugate and its Fenchel-Young residual, for dual bounds
(`frankwolfe.solvers.dual_bound`).

For ``|z|`` up to 1e300 all results are finite, or infinite where the true value overflows, and never NaN. Exponentials
are therefore only taken of negative numbers.

Losses with a kink, for the methods that smooth them, are in `frankwolfe.losses.kinked`.
Losses of several outputs, whose prediction is an array, are in `frankwolfe.losses.vector`.

To add a loss: write a class in a file of this folder, add its name to `__all__` and `LOSSES`, and a row to
``tests/cases.py``.
"""

from typing import Any

from frankwolfe.arguments.names import lookup
from frankwolfe.arguments.types import Loss
from frankwolfe.compile.part import require
from frankwolfe.losses.base import KINKED_METHODS, LOSS_METHODS, VECTOR_METHODS, completed
from frankwolfe.losses.kinked import Hinge, Pinball
from frankwolfe.losses.log_link import Gamma, Poisson, Tweedie
from frankwolfe.losses.scalar import Cauchy, Huber, Logistic, ModifiedHuber, Sigmoid, Squared, SquaredHinge, Tukey
from frankwolfe.losses.vector import Multinomial, MultitaskSquared

__all__ = [
    "Cauchy",
    "Gamma",
    "Hinge",
    "Huber",
    "Logistic",
    "ModifiedHuber",
    "Multinomial",
    "MultitaskSquared",
    "Pinball",
    "Poisson",
    "Sigmoid",
    "Squared",
    "SquaredHinge",
    "Tukey",
    "Tweedie",
]

LOSSES: dict[str, type] = {
    "logistic": Logistic,
    "squared": Squared,
    "huber": Huber,
    "squared-hinge": SquaredHinge,
    "modified-huber": ModifiedHuber,
    "sigmoid": Sigmoid,
    "cauchy": Cauchy,
    "tukey": Tukey,
    "hinge": Hinge,
    "pinball": Pinball,
    "poisson": Poisson,
    "gamma": Gamma,
    "tweedie": Tweedie,
    "multinomial": Multinomial,
    "multitask-squared": MultitaskSquared,
}


def as_loss(loss: Loss) -> Any:
    """Return the loss with a given name, or a checked instance with default methods added to its class."""
    if isinstance(loss, str):
        return lookup("loss", loss, LOSSES)()
    require("loss", loss, LOSS_METHODS, "a loss")
    completed(type(loss))
    if loss.is_vector:
        require("loss", loss, VECTOR_METHODS, "a loss of several outputs")
    if not loss.smooth:
        require("loss", loss, KINKED_METHODS, "a loss with a kink")
    return loss


def has_dual(loss: Loss) -> bool:
    """Return whether a loss is convex and has a Fenchel-Young residual, so that any slopes bound the optimum."""
    return bool(loss.convex and loss.has_residual)
