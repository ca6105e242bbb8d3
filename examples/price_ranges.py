"""Certified ranges: what do all good models agree on?
====================================================

Between which values does a weight lie in every model that fits nearly as well as the best?

House prices depend on features that go together: rooms, area and the age of a house. One fit gives one number for each,
but other weights may fit nearly as well. Ranges prove which signs hold in all models whose objective is at most 1%
above the best. A rule that is known to be true makes the ranges narrower. The houses are made, so the truth is known.
"""

import matplotlib.pyplot as plt
import numpy as np
from gallery import BLUE, GREEN, GREY, ORANGE, arguments, save

import frankwolfe as fw

TRUTH = {"area": 1.0, "rooms": 0.3, "garden": 0.4, "age": -0.5, "distance": -0.6, "noise": 0.0}


def houses(n, seed=0):
    """Return standardised features that go together, and prices."""
    rng = np.random.default_rng(seed)
    size, far = rng.normal(size=(2, n))
    columns = {
        "area": size + 0.25 * rng.normal(size=n),
        "rooms": size + 0.35 * rng.normal(size=n),
        "garden": 0.6 * far + 0.3 * size + rng.normal(size=n),
        "age": -0.5 * far + rng.normal(size=n),
        "distance": far + 0.4 * rng.normal(size=n),
        "noise": -0.7 * far + 0.7 * rng.normal(size=n),
    }
    X = np.column_stack(list(columns.values()))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return X, X @ list(TRUTH.values()) + 1.2 * rng.normal(size=n)


def main():
    given = arguments(__doc__, "price_ranges.png")
    X, y = houses(200 if given.small else 1_000)
    names, d = list(TRUTH), len(TRUTH)
    upper = np.where(np.array(names) == "noise", 0.0, 5.0)
    sets = {
        "no rule": fw.L1Ball(5.0),
        "noise lowers no price: noise <= 0": fw.Budget(np.full(d, -5.0), upper, 5.0),
    }
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.8), layout="constrained")
    places = np.arange(d)[::-1]
    for (label, constraint), shift, colour in zip(sets.items(), (0.15, -0.15), (GREY, BLUE), strict=True):
        problem = fw.Problem(X, y, loss="squared", constraint=constraint)
        found = fw.ranges(problem, fw.minimize(problem, tol=1e-8), names=names, within=0.01)
        print(f"{label}\n{found}\n")
        left.hlines(places + shift, found.low_proven, found.high_proven, color=colour, lw=4, label=label)
        left.plot(found.estimate, places + shift, "o", color="black", ms=4)
    left.plot(list(TRUTH.values()), places, "|", color=GREEN, ms=18, mew=2, label="truth")
    left.axvline(0.0, color="black", lw=0.8)
    left.set(yticks=places, yticklabels=names, xlabel="weight", title="Every model within 1% of the best")
    left.legend(frameon=False, fontsize=8, loc="upper left")

    problem = fw.Problem(X, y, loss="squared", constraint=sets["no rule"])
    result = fw.minimize(problem, tol=1e-8)
    within = np.array([0.001, 0.003, 0.01, 0.03, 0.1])
    for name, colour in (("rooms", ORANGE), ("area", BLUE)):
        found = [fw.ranges(problem, result, of=[names.index(name)], within=part) for part in within]
        low, high = (
            [end[0] for end in ends] for ends in zip(*[(f.low_proven, f.high_proven) for f in found], strict=True)
        )
        right.fill_between(100.0 * within, low, high, color=colour, alpha=0.35, label=name)
    right.axhline(0.0, color="black", lw=0.8)
    right.set(
        xscale="log", xlabel="how much worse a good model may be, %", title="The more models, the wider the range"
    )
    right.legend(frameon=False)
    save(figure, given.out)


if __name__ == "__main__":
    main()
