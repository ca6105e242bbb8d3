"""Stochastic pairwise Frank-Wolfe, of this library."""

from benchmark_utils.ours import OurSolver


class Solver(OurSolver):
    """Method ``stochastic-pairwise``."""

    name = "stochastic-pairwise"
    method = "stochastic-pairwise"
