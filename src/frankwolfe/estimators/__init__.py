"""Estimators for scikit-learn (needs it: ``pip install 'frankwolfe[sklearn]'``)."""

try:
    from sklearn.utils.validation import validate_data as _validate_data  # noqa: F401 - since 1.6, which is needed
except ImportError as error:
    raise ImportError(
        "the estimators need scikit-learn 1.6 or newer: pip install 'frankwolfe[sklearn]'. "
        "fw.Problem, fw.minimize and fw.radius_path do not need it"
    ) from error

from frankwolfe.estimators.classifier import FrankWolfeClassifier
from frankwolfe.estimators.cv import FrankWolfeClassifierCV, FrankWolfeRegressorCV
from frankwolfe.estimators.low_rank_models import LowRankClassifier, LowRankRegressor
from frankwolfe.estimators.matrix_completion import MatrixCompletion
from frankwolfe.estimators.regressor import FrankWolfeRegressor
from frankwolfe.estimators.simplex import NonNegativeRegressor, SimplexRegressor

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
