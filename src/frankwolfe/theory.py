"""Diameters, the error of the table, and the bounds of the convergence theory for batches of any size.

The paper (Negiar et al. 2020) proves its bounds for one row a step. With ``b`` rows a step, drawn without replacement,
a row is refreshed with probability ``b / n``, so ``rho = 1 - b / n`` takes the place of ``1 - 1 / n`` in Lemma 3, and

    rho / (1 - rho) = (n - b) / b        (was n - 1)
    2 / (1 - sqrt(rho))^3 <= 16 (n / b)^3   (was 16 n^3, the bound on B_t)
    1 / (1 - rho)^2 = (n / b)^2             (was n^2, the bound on C_t)

enter the theorem in the places of the paper's constants. Everything assumes equal sample weights.
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from frankwolfe.linalg.threads import single_threaded

if TYPE_CHECKING:
    from frankwolfe.problem import Problem


class Diameters(NamedTuple):
    """``D_p = max over u, v in the set of ||X (u - v)||_p``, for p = 1, 2 and infinity.

    Attributes
    ----------
    one, two, inf : float
        The diameters, or upper bounds of them.
    exact : tuple of bool
        Which of the three are exact.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> problem = fw.Problem([[1.0, 0.0], [0.0, 1.0]], [1.0, 2.0], loss="squared", constraint=fw.L1Ball(1.0))
    >>> problem.diameters().inf
    2.0
    """

    one: float
    two: float
    inf: float
    exact: tuple[bool, bool, bool]


@single_threaded
def diameters(problem: "Problem") -> Diameters:
    """Return the diameters of the image of the problem's set under its data.

    A set with a closed form or a bound has a method ``image_diameters``. For other sets, bounds follow from the support
    function in the directions of all rows.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> problem = fw.Problem([[1.0, 0.0], [1.0, 3.0]], [1.0, 2.0], loss="squared", constraint=fw.L1Ball(1.0))
    >>> problem.diameters()
    Diameters(one=6.0, two=6.0, inf=6.0, exact=(True, True, True))
    """
    found = problem.constraint.image_diameters(problem.design)
    (one, one_exact), (two, two_exact), (inf, inf_exact) = found[1], found[2], found[np.inf]
    return Diameters(one, two, inf, (one_exact, two_exact, inf_exact))


def table_error(problem: "Problem", alpha: np.ndarray, w: np.ndarray) -> float:
    """Return ``H = ||alpha - grad f(X w)||_1``, the distance of the remembered derivatives from those at ``w``.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> problem = fw.Problem([[1.0, 0.0], [0.0, 1.0]], [1.0, 2.0], loss="squared", constraint=fw.L1Ball(1.0))
    >>> fw.theory.table_error(problem, alpha=[0.0, 0.0], w=[0.0, 1.0])
    1.0
    """
    return float(np.abs(alpha - problem.evaluate(w).alpha).sum())


class RateBounds:
    """The paper's bounds for stochastic Frank-Wolfe (``"sfw"``) on one problem, as functions of the step ``t``.

    Parameters
    ----------
    problem : Problem
        Without sample weights.
    batch_size : int
        Rows that a step reads.
    w0 : array, optional
        Start of the run; by default that of the problem. The table starts at zero.
    optimum : float, optional
        The optimal objective, if it is known. Otherwise the gap at ``w0`` replaces ``F(w0) - F*``, which it bounds.

    Attributes
    ----------
    diameters : Diameters
        Diameters of the image of the set under the data.
    start_error : float
        ``H_0``, the error of the table at the start.
    start_suboptimality : float
        ``epsilon_0``, or the bound that replaces it.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> problem = fw.Problem([[1.0, 2.0], [3.0, -1.0]], [1, -1], loss="logistic", constraint=fw.L1Ball(1.0))
    >>> bounds = fw.theory.RateBounds(problem)
    >>> bool(bounds.suboptimality(1000) < bounds.suboptimality(100))
    True
    """

    def __init__(
        self,
        problem: "Problem",
        batch_size: int = 1,
        w0: np.ndarray | None = None,
        optimum: float | None = None,
    ):
        weights = problem.samples.weights
        if np.ptp(weights) > 1e-12 * weights[0]:
            raise ValueError("the rate bounds hold for equal sample weights only")
        self.n, self.batch_size = problem.n, batch_size
        self.smoothness = problem.smoothness()
        if not np.isfinite(self.smoothness):
            raise ValueError(
                f"the rate bounds need a loss of bounded curvature, unlike {type(problem.loss).__name__} (a bound over "
                "the set is known for losses with a log link, without an intercept, and rows in memory)"
            )
        self.diameters = diameters(problem)
        w0 = problem.default_start() if w0 is None else w0
        start = problem.evaluate(w0)
        self.start_error = float(np.abs(start.alpha).sum())
        self.start_suboptimality = start.gap if optimum is None else start.value - optimum

    def table_error(self, t: np.ndarray | float) -> np.ndarray:
        """Return the bound on ``E H_t`` for ``t >= 2`` (Lemma 3), ``H_t = ||alpha_t - grad f(X w_{t-1})||_1``."""
        t = np.asarray(t, dtype=np.float64)
        n, b = self.n, self.batch_size
        rho = 1.0 - b / n
        recent = 2.0 * (n - b) / (b * (t + 2.0))
        old = rho ** (t / 2.0) * np.log(t)
        return 2.0 * self.smoothness * self.diameters.one / n * (recent + old) + rho**t * self.start_error

    def gap_error(self, t: np.ndarray | float) -> np.ndarray:
        """Return the bound on ``E |g_t - g^_t|`` for ``t >= 2`` (Proposition 1): ``D_inf`` times that of Lemma 3."""
        return self.diameters.inf * self.table_error(t)

    def suboptimality(self, t: np.ndarray | float) -> np.ndarray:
        """Return the bound on ``E [F(w_t) - F*]`` for ``t >= 2`` (Theorem 1); the loss must be convex."""
        t = np.asarray(t, dtype=np.float64)
        n, b, L = self.n, self.batch_size, self.smoothness
        one, two, inf, _ = self.diameters
        linear = 2.0 * L * (two**2 + 4.0 * (n - b) / b * one * inf) / n * t
        constant = 2.0 * self.start_suboptimality + 2.0 * inf * self.start_error * (n / b) ** 2
        constant += 64.0 * L * one * inf * n**2 / b**3
        return (linear + constant) / ((t + 1.0) * (t + 2.0))
