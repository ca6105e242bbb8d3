"""Stochastic Frank-Wolfe (Negiar et al. 2020), of this library."""

from benchmark_utils.ours import OurSolver


class Solver(OurSolver):
    """Method ``sfw``."""

    name = "sfw"
    method = "sfw"
