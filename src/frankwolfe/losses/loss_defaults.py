"""What every loss can be asked, and what it answers where it does not say otherwise.

A loss is a NamedTuple, which can inherit nothing. So `loss`, the decorator of the package's losses, gives a class what
it lacks of the answers below, and `completed` does the same for a user's class when a loss of it is first handed in.
The rest of the package then asks, and never looks whether an answer is there.

What a loss has to bring along: `LOSS_METHODS`, and if it has several outputs `VECTOR_METHODS`.
"""

from math import inf

from frankwolfe.compile.part import Part, lent, part
from frankwolfe.compile.twofold import contract
from frankwolfe.compile.verbs import conjugate, derivative, value

LOSS_METHODS = ("value", "derivative", "curvature", "smoothness")
"""What every loss has to bring along."""

VECTOR_METHODS = ("hessian_product",)
"""What a loss of several outputs has to bring along beside."""

KINKED_METHODS = ("kink_slopes", "smoothed_derivative", "conjugate")
"""What a loss that is not smooth has to bring along beside."""


class LossDefaults:
    """Answers of a loss that says nothing else."""

    @property
    def convex(self) -> bool:
        """Whether the loss is convex in ``z``: nothing is known, and so nothing is built on it."""
        return False

    @property
    def smooth(self) -> bool:
        """Whether the loss has a derivative everywhere, of which `smoothness` is the Lipschitz constant."""
        return True

    @property
    def neighbours(self) -> tuple[str, ...]:
        """Names of losses that look alike and are smooth, where this one is not."""
        return ()

    @property
    def targets(self) -> str:
        """Which targets fit: any finite numbers."""
        return "real"

    @property
    def outputs(self) -> int:
        """Number of entries of a prediction; 0 where it is a number. A loss of several outputs says this itself."""
        return 0

    @property
    def is_vector(self) -> bool:
        """Whether predictions are arrays, of a length that may not be known yet: the loss brings its ``outputs``."""
        return type(self).outputs is not LossDefaults.outputs

    @property
    def coupled(self) -> bool:
        """Whether the second derivative may have entries beside its diagonal, where there are several outputs."""
        return True

    @property
    def has_residual(self) -> bool:
        """Whether the loss knows its Fenchel-Young residual, or the conjugate that it follows from."""
        return type(self).residual is not LossDefaults.residual or self.has_conjugate

    @property
    def has_conjugate(self) -> bool:
        """Whether the loss knows its conjugate."""
        return type(self).conjugate is not LossDefaults.conjugate

    def smoothed_derivative(self, z, y, beta):
        """First derivative in ``z`` of the loss, smoothed where it has kinks: here it has none."""
        return derivative(self, z, y)

    def residual(self, z, y, a):
        """Fenchel-Young residual ``f(z) + f*(a) - <a, z>`` from its definition, which loses digits close to zero."""
        return max(value(self, z, y) + conjugate(self, a, y) - contract(a, z), 0.0)

    def conjugate(self, a, y):
        """Conjugate ``sup_z <a, z> - f(z)``: surely not more than infinity."""
        return inf

    def nearest_slope(self, a, y):
        """Return a slope near ``a`` in the domain of the conjugate: here ``a`` itself, as if all were in it."""
        return a

    def for_targets(self, targets):
        """Return the loss for these targets: here any will do."""
        return self


def completed(kind: type) -> None:
    """Give a class of losses the answers of `LossDefaults` that it does not have."""
    lent(LossDefaults)(kind)


def loss(kind: type[Part]) -> type[Part]:
    """Class decorator of the package's losses: a part that can be asked all that a loss can be asked."""
    completed(kind)
    return part(kind)
