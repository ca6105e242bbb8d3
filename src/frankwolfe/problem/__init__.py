"""`Problem`: data, loss and constraint set, with the exact objective, gradient and gap."""

from frankwolfe.problem.linear_bounds import LinearBounds
from frankwolfe.problem.problem import Evaluation, Problem

__all__ = ["Evaluation", "LinearBounds", "Problem"]
