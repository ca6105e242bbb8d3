"""Fully corrective Frank-Wolfe, of this library."""

from benchmark_utils.ours import OurSolver


class Solver(OurSolver):
    """Method ``corrective``."""

    name = "corrective"
    method = "corrective"
