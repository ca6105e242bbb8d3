"""A path of 30 radii on the RCV1 subset: against one run at its last radius, and against penalised paths of others.

    FRANKWOLFE_DATA=folder python benchmarks/path.py              # the grid that `radius_path` chooses
    FRANKWOLFE_DATA=folder python benchmarks/path.py --end 1000   # from a thousandth of that to that

The others are handed the penalties that belong to the radii, which somebody with radii would have to search for, and
the loosest of their tolerances at which every answer is within 1e-4 F(0) of its optimum. Our times are the best of
three runs after a first one, which compiles; theirs are of one run. Set OPENBLAS_NUM_THREADS=1 and OMP_NUM_THREADS=1.
"""

import argparse
import warnings
from multiprocessing import TimeoutError, get_context
from time import perf_counter

import numpy as np
from tables import read

import frankwolfe as fw
from frankwolfe.path import make_problem, radius_grid

LEVEL = 1e-4
LIMIT = 120
"""Most seconds for a path of somebody else's."""


def timed(run, repeats=3):
    """Return the least seconds of several calls, and the answer."""
    return min((clocked(run) for _ in range(repeats)), key=lambda pair: pair[0])


def clocked(run, *arguments):
    """Return the seconds that a call takes, and its answer."""
    begun = perf_counter()
    found = run(*arguments)
    return perf_counter() - begun, found


def limited(run, *arguments):
    """Return the same from a process that is ended when the time is up: compiled code hears no alarm."""
    with get_context("fork").Pool(1) as pool:
        return pool.apply_async(clocked, (run, *arguments)).get(LIMIT)


class Judge:
    """Penalised suboptimality of a path, relative to F(0), at the penalties that belong to the radii."""

    def __init__(self, X, y, radii):
        self.problem = fw.Problem(X, y, "logistic", fw.L1Ball(1.0))
        exact = fw.radius_path(X, y, radii=radii, tol=1e-7)
        self.penalties = np.array([np.abs(self.problem.gradient(exact.coef(k))).max() for k in range(len(radii))])
        self.optima = exact.funs - exact.gaps + self.penalties * radii

    def worst(self, coefs):
        """Largest suboptimality of answers in the order of the radii."""
        found = [
            self.problem.value(w) + penalty * np.abs(w).sum() - best
            for w, penalty, best in zip(coefs, self.penalties, self.optima, strict=True)
        ]
        return max(found) / self.problem.zero_value


def liblinear(X, y, penalties, tol):
    from sklearn.linear_model import LogisticRegression

    def fit(penalty):
        model = LogisticRegression(
            l1_ratio=1.0, solver="liblinear", C=1.0 / (len(y) * penalty), fit_intercept=False, tol=tol, max_iter=1000
        )
        return model.fit(X, y).coef_[0]

    return [fit(penalty) for penalty in penalties]


def saga(X, y, penalties, tol):
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(
        l1_ratio=1.0, solver="saga", fit_intercept=False, tol=tol, max_iter=200, warm_start=True, random_state=0
    )
    return [model.set_params(C=1.0 / (len(y) * penalty)).fit(X, y).coef_[0].copy() for penalty in penalties]


def celer(X, y, penalties, tol):
    from celer.homotopy import celer_path

    _, coefs, _ = celer_path(X.tocsc(), y, pb="logreg", alphas=penalties * len(y), tol=tol)
    return list(coefs.T)


RIVALS = {
    "scikit-learn, liblinear": (liblinear, (1e-2, 1e-3, 1e-4, 1e-5)),
    "scikit-learn, saga, warm-started": (saga, (1e-2, 1e-3)),
    "celer": (celer, (1e-2, 1e-3, 1e-4)),
}


def race(name, run, tolerances, X, y, judge):
    """Time one of the others at smaller and smaller tolerances, until its answers are close enough."""
    for tol in tolerances:
        try:
            seconds, coefs = limited(run, X, y, judge.penalties, tol)
        except ImportError as missing:
            print(f"{name}: {missing}")
            return
        except TimeoutError:
            print(f"{name:36} over {LIMIT} s   tol {tol:g}", flush=True)
            return
        worst = judge.worst(coefs)
        print(f"{name:36}{seconds:8.2f} s   tol {tol:g}: {worst:.1e} F(0)", flush=True)
        if worst <= LEVEL:
            return


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--end", type=float, help="last radius; by default that of the library's own grid")
    end = parser.parse_args().end
    warnings.simplefilter("ignore")
    X, y = read("rcv1_subset")
    problem = make_problem(X, y, "logistic", "l1", None, False)
    radii = np.geomspace(end / 1000, end, 30) if end else radius_grid(problem, 30)
    print(f"{len(radii)} radii from {radii[0]:.4g} to {radii[-1]:.4g}")
    judge = Judge(X, y, radii)
    single, _ = timed(lambda: fw.minimize(fw.Problem(X, y, "logistic", fw.L1Ball(radii[-1])), tol=LEVEL))
    ours, path = timed(lambda: fw.radius_path(X, y, radii=radii, tol=LEVEL))
    print(f"frankwolfe, the last radius alone   {single:8.2f} s")
    print(f"frankwolfe, the path                {ours:8.2f} s   {ours / single:.2f} times that")
    print(f"  worst suboptimality {judge.worst([path.coef(k) for k in range(len(path))]):.1e} F(0)")
    for name, (run, tolerances) in RIVALS.items():
        race(name, run, tolerances, X, y, judge)


if __name__ == "__main__":
    main()
