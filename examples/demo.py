"""Sparse logistic regression under an l1 budget, by four methods, with a certificate for each answer.

Runs offline on the breast cancer table that comes with scikit-learn (569 biopsies, 30 measurements).
"""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

import frankwolfe as fw

OUT = Path("demo")
METHODS = ("sfw", "mokhtari", "lu-freund", "fw")


def main():
    table = load_breast_cancer()
    X, y = scale(table.data), 2.0 * table.target - 1.0
    problem = fw.Problem(X, y, loss="logistic", constraint=fw.L1Ball(5.0))
    print(f"Logistic regression with ||w||_1 <= 5 on scikit-learn's breast cancer table, {problem.n} x {problem.d}\n")

    heads = ("method", "passes", "objective", "estimated gap", "exact gap", "non-zeros")
    print("{:<10} {:>7} {:>11} {:>14} {:>11} {:>10}".format(*heads))
    figure, ax = plt.subplots(figsize=(7, 4.6), layout="constrained")
    for method in METHODS:
        result = fw.minimize(problem, method, tol=1e-4, max_passes=200, random_state=0)
        print(
            f"{method:<10} {result.passes:7.1f} {result.fun:11.6f} {result.gap_estimate:14.2e} {result.gap:11.2e} "
            f"{result.nonzeros:10d}"
        )
        later = result.trace.passes > 0
        ax.loglog(result.trace.passes[later], result.trace.gap[later], lw=2, label=method)

    ax.set(xlabel="passes over the data", ylabel="exact Frank-Wolfe gap", title="How far from optimal, at most")
    ax.grid(alpha=0.25)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "convergence.png", dpi=150)
    print(f"\nThe exact gap bounds how much lower any feasible objective can be. Curves: {OUT / 'convergence.png'}")


if __name__ == "__main__":
    main()
