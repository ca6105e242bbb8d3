"""Solvers that are told how precise to be."""

from benchopt import BaseSolver


class ToleranceSolver(BaseSolver):
    """A solver whose ``run`` takes a tolerance and leaves the weights in ``w``."""

    sampling_strategy = "tolerance"

    def get_next(self, tolerance):
        """Return the next rung of benchopt's ladder, which begins with an infinite tolerance."""
        return min(tolerance, 1.0) / 10.0

    def get_result(self):
        return {"w": self.w}
