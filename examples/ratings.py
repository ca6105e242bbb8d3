"""Recommender: ratings completed by a low rank
============================================

A few ratings of each user predict the others, by a matrix of bounded trace norm.

Most ratings are missing. Users and items have offsets, some rate high and some are liked, and what remains is a matrix
of low rank: a few tastes explain it. A bound on the sum of its singular values keeps the rank low without choosing
it, and the proven gap says how good the completed matrix is. Ratings kept back choose the radius.
"""

import matplotlib.pyplot as plt
import numpy as np
from gallery import BLUE, GREY, ORANGE, arguments, save

import frankwolfe as fw


def ratings(users, items, share, tastes=3, seed=0):
    """Return pairs of a user and an item, and noisy ratings: some tastes, and offsets of users and items."""
    rng = np.random.default_rng(seed)
    true = rng.normal(size=(users, tastes)) @ rng.normal(size=(tastes, items)) / np.sqrt(tastes)
    true += 3.0 + 0.5 * rng.normal(size=(users, 1)) + 0.5 * rng.normal(size=items)
    pairs = np.argwhere(rng.random((users, items)) < share)
    return pairs, true[tuple(pairs.T)] + 0.3 * rng.normal(size=len(pairs))


def error(model, pairs, target):
    """Return the root of the mean squared error."""
    return float(np.sqrt(np.mean((model.predict(pairs) - target) ** 2)))


def main():
    given = arguments(__doc__, "ratings.png")
    users, items = (60, 40) if given.small else (300, 200)
    pairs, rated = ratings(users, items, 0.25)
    train = np.random.default_rng(1).random(len(rated)) < 0.8
    size = np.sqrt(users * items)
    radii = size * np.array([0.05, 0.2, 0.4, 0.8, 1.2, 1.6, 2.4, 4.0])
    models = [fw.MatrixCompletion(radius=radius, tol=1e-3).fit(pairs[train], rated[train]) for radius in radii]
    errors = [error(model, pairs[~train], rated[~train]) for model in models]
    best = models[int(np.argmin(errors))]
    offsets = float(np.sqrt(np.mean((best.offsets_.mean - rated[~train]) ** 2)))
    print(f"{train.sum()} ratings of {users} users and {items} items; best radius {best.radius:.0f}, rank {best.rank_}")
    print(f"error on ratings kept back: {min(errors):.3f}; of the mean rating: {offsets:.3f}")
    print(f"objective {best.result_.fun:.5f}, at most {best.gap_:.1e} above the best matrix in the set")

    figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 3.8), layout="constrained")
    fitted = [error(model, pairs[train], rated[train]) for model in models]
    left.plot(radii, fitted, "o-", color=GREY, label="ratings fitted to")
    left.plot(radii, errors, "o-", color=BLUE, label="ratings kept back")
    left.axhline(0.3, color="black", lw=0.8, ls=":", label="noise")
    left.set(xscale="log", xlabel="radius: sum of singular values", ylabel="error of a rating", title="The best radius")
    left.legend(frameon=False)
    right.plot(best.predict(pairs[~train]), rated[~train], ".", ms=3, color=ORANGE)
    right.axline((3.0, 3.0), slope=1.0, color=GREY, lw=1.0)
    right.set(xlabel="predicted rating", ylabel="rating kept back", title=f"A matrix of rank {best.rank_}")
    save(figure, given.out)


if __name__ == "__main__":
    main()
