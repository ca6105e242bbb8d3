"""Estimators for scikit-learn (needs it: ``pip install 'frankwolfe[sklearn]'``)."""

try:
    from sklearn import __version__ as release
except ImportError:
    release = "0.0"
if tuple(int(part) for part in release.split(".")[:2]) < (1, 6):
    raise ImportError(
        "the estimators need scikit-learn 1.6 or newer: pip install 'frankwolfe[sklearn]'. "
        "fw.Problem, fw.minimize and fw.radius_path do not need it"
    )

from frankwolfe.estimators.classifier import FrankWolfeClassifier, LowRankClassifier
from frankwolfe.estimators.cv import FrankWolfeClassifierCV, FrankWolfeRegressorCV
from frankwolfe.estimators.matrix_completion import MatrixCompletion
from frankwolfe.estimators.probability_mixer import ProbabilityMixer
from frankwolfe.estimators.regressor import FrankWolfeRegressor, LowRankRegressor
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
    "ProbabilityMixer",
    "SimplexRegressor",
]
