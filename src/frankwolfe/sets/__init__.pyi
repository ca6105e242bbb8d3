"""Constraint sets; `frankwolfe.lazy` reads this file."""

from frankwolfe.sets.base import Hull as Hull
from frankwolfe.sets.cached import Cached as Cached
from frankwolfe.sets.cached import Counted as Counted
from frankwolfe.sets.callbacks import outside as outside
from frankwolfe.sets.composed import Product as Product
from frankwolfe.sets.composed import Scaled as Scaled
from frankwolfe.sets.composed import Translated as Translated
from frankwolfe.sets.coordinate import Box as Box
from frankwolfe.sets.coordinate import Budget as Budget
from frankwolfe.sets.coordinate import CappedSimplex as CappedSimplex
from frankwolfe.sets.coordinate import L1Ball as L1Ball
from frankwolfe.sets.coordinate import LinfBall as LinfBall
from frankwolfe.sets.coordinate import NonNegativeL1Ball as NonNegativeL1Ball
from frankwolfe.sets.coordinate import Simplex as Simplex
from frankwolfe.sets.groups import GroupBall as GroupBall
from frankwolfe.sets.groups import LatentGroupBall as LatentGroupBall
from frankwolfe.sets.polytopes import Birkhoff as Birkhoff
from frankwolfe.sets.polytopes import ConvexHull as ConvexHull
from frankwolfe.sets.polytopes import Polytope as Polytope
from frankwolfe.sets.smooth import Ellipsoid as Ellipsoid
from frankwolfe.sets.smooth import L2Ball as L2Ball
from frankwolfe.sets.smooth import LpBall as LpBall
from frankwolfe.sets.sorted import KSupportBall as KSupportBall
from frankwolfe.sets.sorted import MonotoneBox as MonotoneBox
from frankwolfe.sets.sorted import OWLBall as OWLBall
from frankwolfe.sets.spectral import Spectrahedron as Spectrahedron
from frankwolfe.sets.spectral import TraceBall as TraceBall

__all__: list[str]
