"""Constraint sets, each known through its linear minimisation oracle."""

from frankwolfe.sets.base import Hull
from frankwolfe.sets.cached import Cached, Counted
from frankwolfe.sets.callbacks import outside
from frankwolfe.sets.composed import Product, Scaled, Translated
from frankwolfe.sets.coordinate import Box, L1Ball, LinfBall, NonNegativeL1Ball, Simplex
from frankwolfe.sets.groups import GroupBall, LatentGroupBall
from frankwolfe.sets.polytopes import Birkhoff, ConvexHull, Polytope
from frankwolfe.sets.smooth import Ellipsoid, L2Ball, LpBall
from frankwolfe.sets.sorted import KSupportBall, MonotoneBox, OWLBall
from frankwolfe.sets.spectral import Spectrahedron, TraceBall

__all__ = [
    "Birkhoff",
    "Box",
    "Cached",
    "ConvexHull",
    "Counted",
    "Ellipsoid",
    "GroupBall",
    "Hull",
    "KSupportBall",
    "L1Ball",
    "L2Ball",
    "LatentGroupBall",
    "LinfBall",
    "LpBall",
    "MonotoneBox",
    "NonNegativeL1Ball",
    "OWLBall",
    "Polytope",
    "Product",
    "Scaled",
    "Simplex",
    "Spectrahedron",
    "TraceBall",
    "Translated",
    "outside",
]
