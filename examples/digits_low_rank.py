"""Images: many classes with few directions
========================================

A classifier of ten digits whose weights have a low rank.

The weights of ten classes are a matrix. A bound on the sum of its singular values lets classes share directions: the
smaller the radius, the fewer. Each model is certified, and its directions can be drawn, since the features are pixels.
"""

import matplotlib.pyplot as plt
import numpy as np
from gallery import BLUE, GREY, arguments, save
from sklearn.datasets import load_digits

import frankwolfe as fw


def main():
    given = arguments(__doc__, "digits_low_rank.png")
    images, digits = load_digits(return_X_y=True)
    if given.small:
        images, digits = images[:400], digits[:400]
    X = images / 16.0
    train = np.random.default_rng(0).random(len(digits)) < 0.7
    radii = [1.0, 5.0, 20.0] if given.small else [0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 40.0, 80.0]
    models = [fw.LowRankClassifier(radius=radius, tol=1e-3).fit(X[train], digits[train]) for radius in radii]
    ranks = [np.linalg.matrix_rank(model.coef_, tol=1e-6) for model in models]
    scores = [100.0 * model.score(X[~train], digits[~train]) for model in models]
    for radius, rank, score, model in zip(radii, ranks, scores, models, strict=True):
        print(f"radius {radius:4.1f}: rank {rank}, {score:.1f}% right on images kept back, proven gap {model.gap_:.1e}")

    figure = plt.figure(figsize=(11, 3.8), layout="constrained")
    left, right = figure.subfigures(1, 2)
    axes = left.subplots()
    axes.plot(radii, scores, "o-", color=BLUE)
    for radius, rank, score in zip(radii, ranks, scores, strict=True):
        axes.annotate(
            f"rank {rank}", (radius, score), xytext=(0, -14), textcoords="offset points", color=GREY, ha="center"
        )
    axes.set(xscale="log", xlabel="radius: sum of singular values", ylabel="right on images kept back, %")
    directions = np.linalg.svd(models[min(4, len(models) - 1)].coef_)[2]
    for k, axes in enumerate(right.subplots(2, 3).flat):
        axes.imshow(directions[k].reshape(8, 8), cmap="RdBu", vmin=-0.4, vmax=0.4)
        axes.set(xticks=[], yticks=[], title=f"direction {k + 1}")
    save(figure, given.out)


if __name__ == "__main__":
    main()
