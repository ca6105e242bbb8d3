"""Side constraints and kinks, smoothed: how the objective, the violation and the proven gap fall with the steps.

    python benchmarks/shcgm.py --figure docs/shcgm.png

Fair logistic regression (a bound on the covariance of predictions with a group) and quantile regression, on simulated
data, with batches of 1% of the rows and with all rows. A solver of convex programs (cvxpy) tells the optima. Prints the
same as a table.
"""

import argparse

import cvxpy as cp
import matplotlib as mpl
import numpy as np

import frankwolfe as fw

mpl.use("Agg")
import matplotlib.pyplot as plt

RADIUS, COVARIANCE, QUANTILE = 5.0, 0.01, 0.9
CHECKPOINTS = (100, 1_000, 10_000, 100_000)


def simulated(n=2000, d=20):
    """Return columns, real targets and a group that some columns tell of."""
    rng = np.random.default_rng(0)
    X, group = rng.normal(size=(n, d)), (rng.random(n) < 0.4) * 1.0
    X[:, :5] += group[:, None]
    return X, X @ rng.normal(size=d) + rng.normal(size=n) + group, group


def fair():
    """Logistic regression whose predictions may hardly vary with the group, and its optimum."""
    X, signal, group = simulated()
    y, A = np.where(signal > 0.0, 1.0, -1.0), ((group - group.mean()) @ X / len(X))[None]
    side = fw.LinearBounds(A, -COVARIANCE, COVARIANCE)
    w = cp.Variable(X.shape[1])
    objective = cp.sum(cp.logistic(-cp.multiply(y, X @ w))) / len(y)
    program = cp.Problem(cp.Minimize(objective), [cp.norm1(w) <= RADIUS, cp.abs(A @ w) <= COVARIANCE])
    return fw.Problem(X, y, "logistic", fw.L1Ball(RADIUS), side=side), program.solve(solver=cp.CLARABEL)


def quantile():
    """Regression of a quantile, with an intercept, and its optimum."""
    X, y, _ = simulated()
    w, b = cp.Variable(X.shape[1]), cp.Variable()
    error = y - X @ w - b
    objective = cp.sum(cp.maximum(QUANTILE * error, (QUANTILE - 1.0) * error)) / len(y)
    program = cp.Problem(cp.Minimize(objective), [cp.norm1(w) <= RADIUS])
    problem = fw.Problem(X, y, fw.losses.Pinball(QUANTILE), fw.L1Ball(RADIUS), intercept=True)
    return problem, program.solve(solver=cp.CLARABEL)


def curves(problem, optimum, batch_size, passes):
    """Return steps, distance to the optimum and proven gap as parts of F(0), and the relative violation."""
    result = fw.minimize(problem, batch_size=batch_size, tol=0, max_passes=passes, random_state=0, trace=12)
    trace, scale = result.trace, problem.zero_value
    return trace.nit, np.abs(trace.fun - optimum) / scale, trace.gap / scale, trace.violation


def draw(ax, k, values, label, **style):
    shown = (k > 0) & (values > 0.0)
    ax.loglog(k[shown], values[shown], label=label, **style)


def main(figure):
    fig, axes = plt.subplots(1, 3, figsize=(12.5, 4.2), constrained_layout=True)
    for (title, (problem, optimum)), ax in zip(
        (("Fair logistic", fair()), ("Quantile", quantile())), axes, strict=False
    ):
        for batch_size, passes, colour in ((0.01, 1000.0, "#1d4f91"), (problem.n, 3000.0, "#a15c00")):
            name = "1% of the rows" if batch_size < 1 else "all rows"
            k, off, gap, violation = curves(problem, optimum, batch_size, passes)
            draw(ax, k, off, f"|F - F*|, {name}", color=colour)
            draw(ax, k, gap, f"proven gap, {name}", color=colour, linestyle="--")
            if problem.side is not None:
                draw(axes[2], k, violation, name, color=colour)
            for step in CHECKPOINTS:
                if step <= k[-1]:
                    at = int(np.argmin(np.abs(k - step)))
                    print(f"{title:14} {name:15} {k[at]:7d} {off[at]:9.2e} {gap[at]:9.2e} {violation[at]:9.2e}")
        ax.set(title=f"{title} regression", xlabel="steps k", ylabel="part of F(0)")
        k = np.array([10.0, 1e5])
        ax.loglog(k, 2.0 * k ** (-1.0 / 3.0), color="grey", linewidth=0.8, label="slope -1/3")
    axes[2].loglog(k, 0.3 * k ** (-5.0 / 12.0), color="grey", linewidth=0.8, label="slope -5/12")
    axes[2].set(
        title="Fair logistic: violation (zeros are left out)", xlabel="steps k", ylabel="part of the constraint's size"
    )
    axes[2].legend(fontsize=8, loc="upper right")
    fig.legend(*axes[0].get_legend_handles_labels(), fontsize=8, loc="outside lower left", ncols=5)
    if figure:
        fig.savefig(figure, dpi=110)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--figure", help="file to draw into")
    main(parser.parse_args().figure)
