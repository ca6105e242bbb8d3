"""What the table proves: passes until default ``sfw`` is certified, by the Frank-Wolfe gap and by the table's bound.

    FRANKWOLFE_DATA=folder python benchmarks/free_certificate.py

The run by the Frank-Wolfe gap has the same loss, but one that does not know its conjugate, and stops by the gap at its
last iterate alone. Both stop at 1e-3 of the zero model's objective. ``F - F*`` over the gap says how much of what is
proven is true: at one, no certificate could have come earlier. The last columns compare the online estimate with the
exact bound of the table, at looks a quarter of a pass apart, from 5 passes on.
"""

import argparse
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
from tables import read

import frankwolfe as fw
from frankwolfe.compile.verbs import curvature, derivative, smoothness, value
from frankwolfe.solvers.dual_bound import LowerBound
from frankwolfe.solvers.stepwise import StepwiseSolver

PROBLEMS = {
    "RCV1 subset, 100": ("rcv1_subset", fw.Logistic(), 100.0, 0.4648347512304136),
    "w8a, 50": ("w8a", fw.Logistic(), 50.0, 0.17725004330071426),
    "Breast Cancer, 5": ("breast_cancer", fw.Logistic(), 5.0, 0.13903871821195155),
    "California Housing, 0.1": ("california_housing", fw.Squared(), 0.1, 0.547049654174),
}
"""File, loss, radius and optimum."""

NONCONVEX = {
    "RCV1 subset, 100": ("rcv1_subset", "sigmoid", 100.0, 3e-3),
    "w8a, 50": ("w8a", "sigmoid", 50.0, 3e-3),
    "Breast Cancer, 5": ("breast_cancer", "sigmoid", 5.0, 3e-3),
    "California Housing, 0.1": ("california_housing", "cauchy", 0.1, 0.5),
}
"""File, loss, radius and tolerance."""


class WithoutConjugate(NamedTuple):
    """A convex loss that does not know its conjugate."""

    base: Any

    @property
    def convex(self):
        """Whether the loss is convex in ``z``."""
        return True

    @property
    def targets(self):
        """Which targets fit."""
        return self.base.targets

    def value(self, z, y):
        """Loss of one sample."""
        return value(self.base, z, y)

    def derivative(self, z, y):
        """First derivative in ``z``."""
        return derivative(self.base, z, y)

    def curvature(self, z, y):
        """Second derivative in ``z``."""
        return curvature(self.base, z, y)

    def smoothness(self):
        """Lipschitz constant of the derivative."""
        return smoothness(self.base)


def certified(X, y, loss, radius, args):
    """Return the run of default ``sfw`` for each seed."""
    problem = fw.Problem(X, y, loss, fw.L1Ball(radius))
    how = {"tol": args.tol, "max_passes": args.passes, "trace": 0}
    return [fw.minimize(problem, "sfw", random_state=seed, **how) for seed in range(args.seeds)]


def looks(X, y, loss, radius, passes, most=400):
    """Return online estimate over exact bound at looks from 5 passes on."""
    problem = fw.Problem(X, y, loss, fw.L1Ball(radius)).own()
    solver = StepwiseSolver(problem, fw.methods.METHODS["sfw"], 1, np.random.default_rng(0), problem.default_start())
    solver.begin(np.inf, 0.0)
    solver.advance(5 * problem.n)
    found, objective = [], problem.objective
    for _ in range(min(most, max(20, int(4 * (passes - 5.0))))):
        solver.advance(max(1, problem.n // 4))
        known = solver.evidence()
        estimate = known.gap_estimate
        left = objective.residuals(objective.point(objective.predict(solver.point())), known.table)
        found.append((estimate + known.residual) / (estimate + left))
    return np.array(found)


def draw(path, passes=30.0):
    """Draw what is proven, what is true and what is estimated along a run of ``sfw`` on each problem."""
    import matplotlib.pyplot as plt

    figure, grid = plt.subplots(2, 2, figsize=(9.0, 6.4), layout="constrained")
    axes = grid.flat
    for ax, (name, (file, loss, radius, optimum)) in zip(axes, PROBLEMS.items(), strict=True):
        problem = fw.Problem(*read(file), loss, fw.L1Ball(radius))
        trace = fw.minimize(problem, "sfw", tol=0, max_passes=passes, trace=40, random_state=0).trace
        seen, scale = trace.passes >= 1.0, problem.zero_value
        for label, values, style in (
            ("Frank-Wolfe gap", trace.fw_gap, {"color": "tab:red"}),
            ("proven gap", trace.gap, {"color": "tab:blue", "linewidth": 2.2}),
            ("its free estimate", trace.bound_estimate, {"color": "tab:cyan", "linestyle": "--"}),
            ("F - F*", trace.fun - optimum, {"color": "black", "linewidth": 1.0}),
        ):
            ax.loglog(trace.passes[seen], values[seen] / scale, label=label, **style)
        ax.set_title(name)
        ax.set_xlabel("passes over the data")
        ax.set_ylabel("part of F(0)")
    axes[0].legend(loc="lower left", fontsize=8)
    figure.savefig(path, dpi=110)


def compare_nonconvex():
    """Print the passes until the exact gap of a loss that is not convex is small, with and without samples."""
    print("loss, problem, tolerance over F(0) | without samples | with\n---|---|---")
    for name, (file, loss, radius, tol) in NONCONVEX.items():
        problem = fw.Problem(*read(file), loss, fw.L1Ball(radius))
        spent = []
        for sampled in (False, True):
            table = StepwiseSolver.table if sampled else lambda solver: None
            with patch.object(StepwiseSolver, "table", table):
                runs = [fw.minimize(problem, "sfw", tol=tol, max_passes=500, trace=0, random_state=k) for k in range(6)]
            assert all(run.success for run in runs)
            spent.append(np.mean([run.passes + run.certificate_passes for run in runs]))
        print(f"{loss}, {name}, {tol:g} | {spent[0]:.1f} | {spent[1]:.1f}", flush=True)


def main():
    """Run all and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tol", type=float, default=1e-3)
    parser.add_argument("--passes", type=float, default=3000.0)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", help="part of a problem's name")
    parser.add_argument("--plot", metavar="FILE", help="draw the curves of one run on each problem instead")
    parser.add_argument("--nonconvex", action="store_true", help="losses that are not convex, with and without samples")
    args = parser.parse_args()
    if args.plot:
        draw(args.plot)
    elif args.nonconvex:
        compare_nonconvex()
    else:
        compare_convex(args)


def compare_convex(args):
    """Print the passes until a convex problem is certified, by the Frank-Wolfe gap and by the bound."""
    print("problem | passes by the Frank-Wolfe gap | by the bound | ratio | F - F* over the gap | ", end="")
    print("time in certificates | estimate within 20% | looks\n" + "|".join(8 * ["---"]))
    for name, (file, loss, radius, optimum) in PROBLEMS.items():
        if args.only and args.only not in name:
            continue
        X, y = read(file)
        with patch.object(
            LowerBound, "gap", lambda self, value, violation=0.0: np.inf
        ):  # the gap at a point, and no other bound
            before = certified(X, y, WithoutConjugate(loss), radius, args)
        now = certified(X, y, loss, radius, args)
        passes = [np.median([run.passes for run in runs]) for runs in (before, now)]
        more = ["" if all(run.success for run in runs) else "more than " for runs in (before, now)]
        share = np.median([run.certificate_seconds / run.seconds for run in now])
        ratios = looks(X, y, loss, radius, passes[1])
        near = np.mean(np.abs(ratios - 1.0) <= 0.2)
        told = [f"{word}{number:.1f}" for word, number in zip(more, passes, strict=True)]
        true = np.median([(run.fun - optimum) / run.gap for run in now])
        told += [f"{passes[1] / passes[0]:.2f}", f"{true:.2f}", f"{share:.1%}", f"{near:.0%}", str(len(ratios))]
        print(" | ".join([name, *told]), flush=True)


if __name__ == "__main__":
    main()
