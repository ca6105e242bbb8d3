"""Losses: one NamedTuple each, scalar in the prediction ``z`` and the target ``y``.

A loss gives its value, first derivative and curvature (second derivative) at one sample; the Lipschitz constant
of its derivative; whether it is convex; and which targets it takes (``"labels"``: -1 and +1, ``"real"``: any
finite number). All stay finite, or overflow to infinity where the true value does, for ``|z|`` up to 1e300:
exponentials are only taken of negative numbers, and squares only where they cannot make a NaN. A convex loss may also
give its conjugate and its Fenchel-Young residual, for bounds from the dual (`frankwolfe.solvers.dual_bound`).

Losses with a kink, for the methods that smooth them, are in `frankwolfe.losses.kinked`.
Losses of several outputs, whose prediction is an array, are in `frankwolfe.losses.vector`.

To add one: a class in a file of this folder, a line in `LOSSES`, a row in ``tests/cases.py``.
"""

from typing import Any

from frankwolfe.arguments.names import lookup
from frankwolfe.compile.part import require
from frankwolfe.losses.base import KINKED_METHODS, LOSS_METHODS, VECTOR_METHODS, completed
from frankwolfe.losses.convex import Huber, Logistic, ModifiedHuber, Squared, SquaredHinge
from frankwolfe.losses.kinked import Hinge, Pinball
from frankwolfe.losses.nonconvex import Cauchy, Sigmoid, Tukey
from frankwolfe.losses.vector import Multinomial, MultitaskSquared

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
    "multinomial": Multinomial,
    "multitask-squared": MultitaskSquared,
}


def as_loss(loss: Any) -> Any:
    """Loss from its name or from an instance."""
    if isinstance(loss, str):
        return lookup("loss", loss, LOSSES)()
    require("loss", loss, LOSS_METHODS, "a loss")
    completed(type(loss))
    if loss.is_vector:
        require("loss", loss, VECTOR_METHODS, "a loss of several outputs")
    if not loss.smooth:
        require("loss", loss, KINKED_METHODS, "a loss with a kink")
    return loss


def has_dual(loss: Any) -> bool:
    """Whether a loss is convex and knows the residuals of slopes: then any slopes bound the optimum."""
    return bool(loss.convex and loss.has_residual)
