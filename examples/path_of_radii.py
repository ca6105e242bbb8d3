"""Choosing a radius: the whole path of models
===========================================

How much budget does a model need?

Logistic regression on the breast-cancer table that comes with scikit-learn, over l1 balls of growing radius, each
run started from the answer before. Every point of the path is certified, so the curve of objectives is known to
within its gaps; rows kept back say where more budget stops helping.
"""

import matplotlib.pyplot as plt
import numpy as np
from gallery import BLUE, ORANGE, arguments, save
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

import frankwolfe as fw


def main():
    given = arguments(__doc__, "path_of_radii.png")
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X, X_new, y, y_new = train_test_split(X, 2 * y - 1, test_size=0.3, random_state=0)
    scaler = StandardScaler().set_output(transform="pandas").fit(X)  # the columns keep their names
    path = fw.radius_path(
        scaler.transform(X), y, loss="logistic", n_radii=5 if given.small else 40, intercept=True, tol=1e-5
    )
    print(path)

    scores = scaler.transform(X_new).to_numpy() @ path.coefs.T + path.intercepts
    loss = np.logaddexp(0.0, -y_new.to_numpy()[:, None] * scores).mean(axis=0)
    best = int(np.argmin(loss))
    used = int(np.count_nonzero(path.coef(best)))
    print(f"best radius {path.radii[best]:.3g}: {used} of {X.shape[1]} weights, loss on new rows {loss[best]:.3f}")

    figure, (left, right) = plt.subplots(1, 2, figsize=(13, 4.2), layout="constrained")
    path.plot(ax=left)
    right.plot(path.radii, path.funs, color=BLUE, lw=2, label=f"rows fitted to (known to {path.gaps.max():.0e})")
    right.plot(path.radii, loss, color=ORANGE, lw=2, label="rows kept back")
    right.set(
        xscale="log",
        ylim=(0.0, 0.7),
        xlabel="radius",
        ylabel="logistic loss",
        title=f"{used} weights at the best radius",
    )
    for axes in (left, right):
        axes.axvline(path.radii[best], color="black", lw=0.8, ls=":")
    right.legend(frameon=False)
    save(figure, given.out)


if __name__ == "__main__":
    main()
