"""scikit-learn's own checks, on every estimator, with no expected failures. They do not need compiled code."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import frankwolfe as fw

# One check compares predictions to seven digits, of fits whose rows are weighted and repeated: hence the tolerances of
# those that end short of them by default.
ESTIMATORS = [
    fw.FrankWolfeClassifier(tol=1e-12),
    fw.FrankWolfeClassifierCV(radii=[0.1, 1.0], cv=2, tol=1e-12),
    fw.FrankWolfeRegressor(tol=1e-12),
    fw.FrankWolfeRegressorCV(radii=[0.1, 1.0], cv=2, tol=1e-12),
    fw.SimplexRegressor(),
    fw.NonNegativeRegressor(radius=10.0, tol=1e-12),
    fw.LowRankClassifier(tol=1e-12),
    fw.LowRankRegressor(radius=1.0, tol=1e-12),
    fw.MatrixCompletion(),
]


@pytest.mark.usefixtures("interpreted")
# as in scikit-learn's own run of the checks: some hand in data on which nothing converges
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings(
    "ignore::frankwolfe.exceptions.ScaleWarning"
)  # and a radius small enough for one answer only
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learns_checks(estimator, check):
    check(estimator)
