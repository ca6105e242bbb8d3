"""Robust regression: when many targets are wrong
==============================================

Non-convex losses stop listening to targets that are far off.

A quarter of the targets is shifted far away. The squared loss follows them, Huber's a little, Cauchy's and Tukey's
hardly at all: the pull of a sample fades with its error, which makes them non-convex. The l1 ball keeps the model
sparse. For these losses the gap is no bound on the objective; it measures how far from stationary the answer is,
and stops the run all the same.
"""

import matplotlib.pyplot as plt
import numpy as np
from gallery import BLUE, GREEN, GREY, ORANGE, arguments, save

import frankwolfe as fw

SHARE = 0.25


def table(n, d, seed=0):
    """Return rows, spoilt targets and the true weights."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    truth = np.zeros(d)
    truth[:8] = [3.0, -2.5, 2.0, -2.0, 1.5, 1.5, -1.0, 1.0]
    y = X @ truth + 0.5 * rng.normal(size=n)
    spoilt = rng.random(n) < SHARE
    y[spoilt] += 30.0 + 5.0 * X[spoilt, 10]  # wrong in a way that looks like a signal
    return X, y, truth


def main():
    given = arguments(__doc__, "robust_regression.png")
    X, y, truth = table(*((200, 30) if given.small else (4000, 200)))
    radius = np.abs(truth).sum()
    losses = {
        "squared": fw.Squared(),
        "Huber": fw.Huber(1.0),
        "Cauchy": fw.losses.Cauchy(1.0),
        "Tukey": fw.losses.Tukey(4.685),
    }
    results = {}
    for name, loss in losses.items():
        # a convex answer is a good place to start a loss that is not
        start = results["Huber"].x if not loss.convex else None
        problem = fw.Problem(X, y, loss=loss, constraint=fw.L1Ball(radius))
        results[name] = fw.minimize(problem, tol=1e-4, max_passes=1000, x0=start)
        found = results[name]
        off = np.linalg.norm(found.x - truth)
        kind = "at most this above the optimum" if found.convex else "how far from stationary"
        print(f"{name:>8}: distance to the truth {off:.3f}; gap {found.gap:.1e} ({kind}), {found.nonzeros} weights")

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.0), layout="constrained")
    shown, colours = np.arange(14), (GREY, ORANGE, BLUE, GREEN)
    left.bar(shown, truth[shown], width=0.9, color="#e4e6e9", label="truth")
    for k, ((name, found), colour) in enumerate(zip(results.items(), colours, strict=True)):
        left.plot(shown + 0.15 * (k - 1.5), found.x[shown], "o", ms=4, color=colour, label=name)
    left.set(xlabel="weight number", ylabel="weight", title=f"{SHARE:.0%} of the targets are wrong")
    left.legend(frameon=False, ncols=2, fontsize="small")
    errors = np.linspace(-12.0, 12.0, 400)
    for (name, loss), colour in zip(losses.items(), colours, strict=True):
        right.plot(errors, [loss.derivative(error, 0.0) for error in errors], color=colour, lw=2, label=name)
    right.set(ylim=(-5.0, 5.0), xlabel="error of a sample", ylabel="pull", title="How hard a sample pulls")
    right.axhline(0.0, color="black", lw=0.5)
    right.legend(frameon=False)
    save(figure, given.out)


if __name__ == "__main__":
    main()
