"""Public names, each loaded from its module when it is first used; `frankwolfe.lazy` reads this file."""

from frankwolfe import exceptions as exceptions
from frankwolfe import losses as losses
from frankwolfe import methods as methods
from frankwolfe import sets as sets
from frankwolfe import theory as theory
from frankwolfe.certificates.ranges import ranges as ranges
from frankwolfe.certificates.verifier import load_certificate as load_certificate
from frankwolfe.certificates.verifier import verify as verify
from frankwolfe.certificates.written import certificate as certificate
from frankwolfe.compile.kernels import python_mode as python_mode
from frankwolfe.completion import completion_problem as completion_problem
from frankwolfe.estimators import FrankWolfeClassifier as FrankWolfeClassifier
from frankwolfe.estimators import FrankWolfeClassifierCV as FrankWolfeClassifierCV
from frankwolfe.estimators import FrankWolfeRegressor as FrankWolfeRegressor
from frankwolfe.estimators import FrankWolfeRegressorCV as FrankWolfeRegressorCV
from frankwolfe.estimators import LowRankClassifier as LowRankClassifier
from frankwolfe.estimators import LowRankRegressor as LowRankRegressor
from frankwolfe.estimators import MatrixCompletion as MatrixCompletion
from frankwolfe.estimators import NonNegativeRegressor as NonNegativeRegressor
from frankwolfe.estimators import ProbabilityMixer as ProbabilityMixer
from frankwolfe.estimators import SimplexRegressor as SimplexRegressor
from frankwolfe.losses import Huber as Huber
from frankwolfe.losses import Logistic as Logistic
from frankwolfe.losses import ModifiedHuber as ModifiedHuber
from frankwolfe.losses import Squared as Squared
from frankwolfe.losses import SquaredHinge as SquaredHinge
from frankwolfe.model.fitted_model import FittedModel as FittedModel
from frankwolfe.model.saved_models import load_model as load_model
from frankwolfe.path import radius_path as radius_path
from frankwolfe.precompile import warm_up as warm_up
from frankwolfe.problem import LinearBounds as LinearBounds
from frankwolfe.problem import Problem as Problem
from frankwolfe.result import Result as Result
from frankwolfe.result import Status as Status
from frankwolfe.run import minimize as minimize
from frankwolfe.run import resume as resume
from frankwolfe.sets import Box as Box
from frankwolfe.sets import Budget as Budget
from frankwolfe.sets import CappedSimplex as CappedSimplex
from frankwolfe.sets import GroupBall as GroupBall
from frankwolfe.sets import L1Ball as L1Ball
from frankwolfe.sets import L2Ball as L2Ball
from frankwolfe.sets import Simplex as Simplex
from frankwolfe.sets import TraceBall as TraceBall
from frankwolfe.store.reader import open_rows as open_rows
from frankwolfe.store.write_rows import write_rows as write_rows

__all__: list[str]
__version__: str
