"""Frank-Wolfe with exact line search, of this library."""

from benchmark_utils.ours import OurSolver


class Solver(OurSolver):
    """Method ``fw``."""

    name = "fw-line-search"
    method = "fw"
    options = {"step": "line-search"}
