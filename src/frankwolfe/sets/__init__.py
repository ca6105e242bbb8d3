"""Constraint sets, each known through its linear minimisation oracle."""

from frankwolfe.sets.callbacks import outside
from frankwolfe.sets.composed import Scaled, Translated
from frankwolfe.sets.convex_hull import ConvexHull, MonotoneBox
from frankwolfe.sets.coordinate_hull import Hull
from frankwolfe.sets.groups import GroupBall, LatentGroupBall
from frankwolfe.sets.norm_balls import L1Ball, L2Ball
from frankwolfe.sets.polytopes import Box, LinfBall, NonNegativeL1Ball, Simplex
from frankwolfe.sets.products import Product
from frankwolfe.sets.programs import Birkhoff, Polytope
from frankwolfe.sets.smooth_balls import Ellipsoid, LpBall
from frankwolfe.sets.sparse_balls import KSupportBall, OWLBall
from frankwolfe.sets.spectral import Spectrahedron, TraceBall
from frankwolfe.sets.wrappers import Cached, Counted

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
