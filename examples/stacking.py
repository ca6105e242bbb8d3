"""Stacking: how much to trust each model
======================================

Weights of a stack are shares: non-negative, and they sum to one.

Five regressors predict Friedman's first problem, out of fold. The stack is their average with weights in the
simplex, non-negative and of sum one, so it never extrapolates beyond its members. The error on rows kept back is
compared with that of the members and of the plain average.
"""

import matplotlib.pyplot as plt
import numpy as np
from gallery import BLUE, GREY, ORANGE, arguments, save
from sklearn.datasets import make_friedman1
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import Ridge
from sklearn.model_selection import cross_val_predict, train_test_split
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.svm import SVR

import frankwolfe as fw


def members(small):
    """Return the models to be stacked."""
    trees = 10 if small else 100
    return {
        "ridge": Ridge(1.0),
        "ridge, squares": make_pipeline(PolynomialFeatures(2), StandardScaler(), Ridge(30.0)),
        "neighbours": make_pipeline(StandardScaler(), KNeighborsRegressor(15)),
        "forest": RandomForestRegressor(trees, min_samples_leaf=3, random_state=0),
        "kernel": make_pipeline(StandardScaler(), SVR(C=10.0)),
    }


def main():
    given = arguments(__doc__, "stacking.png")
    X, y = make_friedman1(200 if given.small else 1500, n_features=15, noise=1.0, random_state=0)
    X, X_new, y, y_new = train_test_split(X, y, test_size=0.3, random_state=0)
    models = members(given.small)
    out_of_fold = np.column_stack([cross_val_predict(model, X, y, cv=5) for model in models.values()])
    unseen = np.column_stack([model.fit(X, y).predict(X_new) for model in models.values()])

    stack = fw.SimplexRegressor().fit(out_of_fold, y)
    print(stack.result_)

    predictions = dict(zip(models, unseen.T, strict=True)) | {
        "average": unseen.mean(axis=1),
        "stack": stack.predict(unseen),
    }
    errors = {name: np.sqrt(np.mean((values - y_new) ** 2)) for name, values in predictions.items()}
    for name, error in errors.items():
        print(f"{name:>15}: error {error:.2f}")

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
    left.bar(list(models), stack.coef_, color=BLUE)
    left.set(ylabel="share", title=f"Shares of the members (certified to {stack.gap_:.0e})")
    left.tick_params(axis="x", rotation=20)
    colours = [GREY] * len(models) + ["#5d636b", ORANGE]
    right.barh(list(errors)[::-1], list(errors.values())[::-1], color=colours[::-1])
    right.set(xlabel="root mean squared error on rows kept back", xlim=(0.0, None))
    save(figure, given.out)


if __name__ == "__main__":
    main()
