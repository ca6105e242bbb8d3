"""What the solvers of this library share."""

import frankwolfe as fw
from benchmark_utils.tolerance import ToleranceSolver


class OurSolver(ToleranceSolver):
    """`frankwolfe.minimize` to a certified tolerance. Checking and wrapping the data is timed as well."""

    requirements = ["pip::frankwolfe"]
    family = "ours"
    method = ""
    options: dict = {}

    def skip(self, **_):
        missing = self.method not in fw.methods.METHODS
        return missing, f"frankwolfe {fw.__version__} has no method {self.method!r}" if missing else None

    def set_objective(self, X, y, loss, radius, **_):
        self.X, self.y, self.loss, self.radius = X, y, loss, radius

    def warm_up(self):
        self.run_once(1e-2)

    def run(self, tolerance):
        problem = fw.Problem(self.X, self.y, self.loss, fw.L1Ball(self.radius))
        tolerance = min(tolerance, 1.0)  # benchopt begins with an infinite one
        result = fw.minimize(
            problem, self.method, tol=tolerance, max_passes=1e9, random_state=0, trace=0, **self.options
        )
        self.w = result.x
