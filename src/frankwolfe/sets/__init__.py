"""Constraint sets, each known through its linear minimisation oracle."""

from frankwolfe.sets.norm_balls import L1Ball, L2Ball
from frankwolfe.sets.polytopes import Box, LinfBall, NonNegativeL1Ball, Simplex
from frankwolfe.sets.spectral import TraceBall

__all__ = ["Box", "L1Ball", "L2Ball", "LinfBall", "NonNegativeL1Ball", "Simplex", "TraceBall"]
