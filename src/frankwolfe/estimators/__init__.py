"""Estimators for scikit-learn (needs it: ``pip install 'frankwolfe[sklearn]'``)."""

from importlib.metadata import PackageNotFoundError, version

try:
    RELEASE = tuple(int(part) for part in version("scikit-learn").split(".")[:2])
except PackageNotFoundError:
    RELEASE = (0, 0)
if RELEASE < (1, 6):
    raise ImportError(
        "the estimators need scikit-learn 1.6 or newer: pip install 'frankwolfe[sklearn]'. "
        "fw.Problem, fw.minimize and fw.radius_path do not need it"
    )

from frankwolfe.estimators.classifier import FrankWolfeClassifier, LowRankClassifier
from frankwolfe.estimators.cv import FrankWolfeClassifierCV, FrankWolfeRegressorCV
from frankwolfe.estimators.matrix_completion import MatrixCompletion
from frankwolfe.estimators.regressor import (
    FrankWolfeRegressor,
    LowRankRegressor,
    NonNegativeRegressor,
    SimplexRegressor,
)

__all__ = [
    "FrankWolfeClassifier",
    "FrankWolfeClassifierCV",
    "FrankWolfeRegressor",
    "FrankWolfeRegressorCV",
    "LowRankClassifier",
    "LowRankRegressor",
    "MatrixCompletion",
    "NonNegativeRegressor",
    "SimplexRegressor",
]
