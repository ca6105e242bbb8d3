"""scikit-learn's own checks, on every estimator, with no expected failures."""

import warnings

import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

import frankwolfe as fw

ESTIMATORS = [
    fw.FrankWolfeClassifier(),
    fw.FrankWolfeClassifier(loss="modified-huber", constraint="l2"),
    fw.FrankWolfeClassifierCV(radii=5, cv=3),
    fw.FrankWolfeRegressor(),
    fw.FrankWolfeRegressor(signs=0),
    fw.FrankWolfeRegressorCV(radii=5, cv=3),
    fw.SimplexRegressor(),
    fw.NonNegativeRegressor(),
    fw.LowRankClassifier(),
    fw.LowRankRegressor(),
    fw.MatrixCompletion(),
]


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learns_checks(estimator, check):
    check(estimator)
