"""Constraint sets, each known through its linear minimisation oracle."""

from frankwolfe.sets.hull import Hull
from frankwolfe.sets.norm_balls import L1Ball, L2Ball
from frankwolfe.sets.polytopes import Box, LinfBall, NonNegativeL1Ball, Simplex

__all__ = ["Box", "Hull", "L1Ball", "L2Ball", "LinfBall", "NonNegativeL1Ball", "Simplex"]
