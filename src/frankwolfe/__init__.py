"""Learning under constraints without projections.

    import frankwolfe as fw

    problem = fw.Problem(X, y, loss="logistic", constraint=fw.L1Ball(100.0))
    result = fw.minimize(problem, tol=1e-6)
    result.x, result.fun, result.gap

Names are loaded when they are first used: importing the package imports neither NumPy nor numba.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "frankwolfe.problem": (
        "Problem",
        "Evaluation",
        "LinearBounds",
    ),
    "frankwolfe.completion": (
        "CompletionProblem",
        "Offsets",
        "completion_problem",
    ),
    "frankwolfe.rows.observed_entries": ("Factors",),
    "frankwolfe.run": (
        "minimize",
        "resume",
    ),
    "frankwolfe.cluster.cluster_error": ("ClusterError",),
    "frankwolfe.running.checkpoints": ("CheckpointWarning",),
    "frankwolfe.store.reader": (
        "RowStore",
        "open_rows",
    ),
    "frankwolfe.store.write_rows": ("write_rows",),
    "frankwolfe.advice": ("ScaleWarning",),
    "frankwolfe.running.observer": ("State",),
    "frankwolfe.result": (
        "Result",
        "Status",
        "Trace",
    ),
    "frankwolfe.model.fitted_model": ("FittedModel",),
    "frankwolfe.model.saved_models": ("load_model",),
    "frankwolfe.losses": (
        "Cauchy",
        "Hinge",
        "Huber",
        "Logistic",
        "ModifiedHuber",
        "Multinomial",
        "MultitaskSquared",
        "Pinball",
        "Sigmoid",
        "Squared",
        "SquaredHinge",
        "Tukey",
    ),
    "frankwolfe.sets": (
        "Birkhoff",
        "Box",
        "Cached",
        "ConvexHull",
        "Counted",
        "Ellipsoid",
        "GroupBall",
        "Hull",
        "KSupportBall",
        "L1Ball",
        "L2Ball",
        "LatentGroupBall",
        "LinfBall",
        "LpBall",
        "MonotoneBox",
        "NonNegativeL1Ball",
        "OWLBall",
        "Polytope",
        "Product",
        "Scaled",
        "Simplex",
        "Spectrahedron",
        "TraceBall",
        "Translated",
    ),
    "frankwolfe.methods.estimates.sag": (
        "CoordinateAverage",
        "SagTable",
        "Saga",
        "SagaTwoBatches",
        "Substitute",
    ),
    "frankwolfe.methods.estimates.batch_gradient": (
        "FullGradient",
        "GrowingBatch",
    ),
    "frankwolfe.methods.estimates.svrg": (
        "LooplessSvrg",
        "Storc",
        "Svfw",
        "Svrf",
    ),
    "frankwolfe.methods.estimates.momentum": (
        "Momentum",
        "OneSample",
    ),
    "frankwolfe.methods.estimates.sarah": (
        "SagaSarah",
        "Sarah",
        "Spider",
    ),
    "frankwolfe.methods.estimates.smoothed_momentum": ("SmoothedMomentum",),
    "frankwolfe.methods.directions": (
        "Away",
        "BlendedPairwise",
        "Pairwise",
        "Toward",
    ),
    "frankwolfe.methods.sliding": ("Sliding",),
    "frankwolfe.methods.steps": (
        "Backtracking",
        "ConstantStep",
        "DampedStep",
        "EpochStep",
        "LineSearch",
        "LogAdaptive",
        "LuFreundStep",
        "Monotone",
        "NormStep",
        "OpenLoop",
        "Secant",
        "ShortStep",
    ),
    "frankwolfe.methods.table": (
        "METHODS",
        "Method",
    ),
    "frankwolfe.theory": (
        "Diameters",
        "RateBounds",
    ),
    "frankwolfe.compile.kernels": ("python_mode",),
    "frankwolfe.precompile": ("warm_up",),
    "frankwolfe.path": (
        "RadiusPath",
        "radius_path",
    ),
    "frankwolfe.estimators": (
        "FrankWolfeClassifier",
        "FrankWolfeClassifierCV",
        "FrankWolfeRegressor",
        "FrankWolfeRegressorCV",
        "LowRankClassifier",
        "LowRankRegressor",
        "MatrixCompletion",
        "NonNegativeRegressor",
        "SimplexRegressor",
    ),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

if TYPE_CHECKING:
    from frankwolfe.advice import ScaleWarning as ScaleWarning
    from frankwolfe.cluster.cluster_error import ClusterError as ClusterError
    from frankwolfe.compile.kernels import python_mode as python_mode
    from frankwolfe.completion import CompletionProblem as CompletionProblem
    from frankwolfe.completion import Offsets as Offsets
    from frankwolfe.completion import completion_problem as completion_problem
    from frankwolfe.estimators import FrankWolfeClassifier as FrankWolfeClassifier
    from frankwolfe.estimators import FrankWolfeClassifierCV as FrankWolfeClassifierCV
    from frankwolfe.estimators import FrankWolfeRegressor as FrankWolfeRegressor
    from frankwolfe.estimators import FrankWolfeRegressorCV as FrankWolfeRegressorCV
    from frankwolfe.estimators import LowRankClassifier as LowRankClassifier
    from frankwolfe.estimators import LowRankRegressor as LowRankRegressor
    from frankwolfe.estimators import MatrixCompletion as MatrixCompletion
    from frankwolfe.estimators import NonNegativeRegressor as NonNegativeRegressor
    from frankwolfe.estimators import SimplexRegressor as SimplexRegressor
    from frankwolfe.losses import Cauchy as Cauchy
    from frankwolfe.losses import Hinge as Hinge
    from frankwolfe.losses import Huber as Huber
    from frankwolfe.losses import Logistic as Logistic
    from frankwolfe.losses import ModifiedHuber as ModifiedHuber
    from frankwolfe.losses import Multinomial as Multinomial
    from frankwolfe.losses import MultitaskSquared as MultitaskSquared
    from frankwolfe.losses import Pinball as Pinball
    from frankwolfe.losses import Sigmoid as Sigmoid
    from frankwolfe.losses import Squared as Squared
    from frankwolfe.losses import SquaredHinge as SquaredHinge
    from frankwolfe.losses import Tukey as Tukey
    from frankwolfe.methods.directions import Away as Away
    from frankwolfe.methods.directions import BlendedPairwise as BlendedPairwise
    from frankwolfe.methods.directions import Pairwise as Pairwise
    from frankwolfe.methods.directions import Toward as Toward
    from frankwolfe.methods.estimates.batch_gradient import FullGradient as FullGradient
    from frankwolfe.methods.estimates.batch_gradient import GrowingBatch as GrowingBatch
    from frankwolfe.methods.estimates.momentum import Momentum as Momentum
    from frankwolfe.methods.estimates.momentum import OneSample as OneSample
    from frankwolfe.methods.estimates.sag import CoordinateAverage as CoordinateAverage
    from frankwolfe.methods.estimates.sag import Saga as Saga
    from frankwolfe.methods.estimates.sag import SagaTwoBatches as SagaTwoBatches
    from frankwolfe.methods.estimates.sag import SagTable as SagTable
    from frankwolfe.methods.estimates.sag import Substitute as Substitute
    from frankwolfe.methods.estimates.sarah import SagaSarah as SagaSarah
    from frankwolfe.methods.estimates.sarah import Sarah as Sarah
    from frankwolfe.methods.estimates.sarah import Spider as Spider
    from frankwolfe.methods.estimates.smoothed_momentum import SmoothedMomentum as SmoothedMomentum
    from frankwolfe.methods.estimates.svrg import LooplessSvrg as LooplessSvrg
    from frankwolfe.methods.estimates.svrg import Storc as Storc
    from frankwolfe.methods.estimates.svrg import Svfw as Svfw
    from frankwolfe.methods.estimates.svrg import Svrf as Svrf
    from frankwolfe.methods.sliding import Sliding as Sliding
    from frankwolfe.methods.steps import Backtracking as Backtracking
    from frankwolfe.methods.steps import ConstantStep as ConstantStep
    from frankwolfe.methods.steps import DampedStep as DampedStep
    from frankwolfe.methods.steps import EpochStep as EpochStep
    from frankwolfe.methods.steps import LineSearch as LineSearch
    from frankwolfe.methods.steps import LogAdaptive as LogAdaptive
    from frankwolfe.methods.steps import LuFreundStep as LuFreundStep
    from frankwolfe.methods.steps import Monotone as Monotone
    from frankwolfe.methods.steps import NormStep as NormStep
    from frankwolfe.methods.steps import OpenLoop as OpenLoop
    from frankwolfe.methods.steps import Secant as Secant
    from frankwolfe.methods.steps import ShortStep as ShortStep
    from frankwolfe.methods.table import METHODS as METHODS
    from frankwolfe.methods.table import Method as Method
    from frankwolfe.model.fitted_model import FittedModel as FittedModel
    from frankwolfe.model.saved_models import load_model as load_model
    from frankwolfe.path import RadiusPath as RadiusPath
    from frankwolfe.path import radius_path as radius_path
    from frankwolfe.precompile import warm_up as warm_up
    from frankwolfe.problem import Evaluation as Evaluation
    from frankwolfe.problem import LinearBounds as LinearBounds
    from frankwolfe.problem import Problem as Problem
    from frankwolfe.result import Result as Result
    from frankwolfe.result import Status as Status
    from frankwolfe.result import Trace as Trace
    from frankwolfe.rows.observed_entries import Factors as Factors
    from frankwolfe.run import minimize as minimize
    from frankwolfe.run import resume as resume
    from frankwolfe.running.checkpoints import CheckpointWarning as CheckpointWarning
    from frankwolfe.running.observer import State as State
    from frankwolfe.sets import Birkhoff as Birkhoff
    from frankwolfe.sets import Box as Box
    from frankwolfe.sets import Cached as Cached
    from frankwolfe.sets import ConvexHull as ConvexHull
    from frankwolfe.sets import Counted as Counted
    from frankwolfe.sets import Ellipsoid as Ellipsoid
    from frankwolfe.sets import GroupBall as GroupBall
    from frankwolfe.sets import Hull as Hull
    from frankwolfe.sets import KSupportBall as KSupportBall
    from frankwolfe.sets import L1Ball as L1Ball
    from frankwolfe.sets import L2Ball as L2Ball
    from frankwolfe.sets import LatentGroupBall as LatentGroupBall
    from frankwolfe.sets import LinfBall as LinfBall
    from frankwolfe.sets import LpBall as LpBall
    from frankwolfe.sets import MonotoneBox as MonotoneBox
    from frankwolfe.sets import NonNegativeL1Ball as NonNegativeL1Ball
    from frankwolfe.sets import OWLBall as OWLBall
    from frankwolfe.sets import Polytope as Polytope
    from frankwolfe.sets import Product as Product
    from frankwolfe.sets import Scaled as Scaled
    from frankwolfe.sets import Simplex as Simplex
    from frankwolfe.sets import Spectrahedron as Spectrahedron
    from frankwolfe.sets import TraceBall as TraceBall
    from frankwolfe.sets import Translated as Translated
    from frankwolfe.store.reader import RowStore as RowStore
    from frankwolfe.store.reader import open_rows as open_rows
    from frankwolfe.store.write_rows import write_rows as write_rows
    from frankwolfe.theory import Diameters as Diameters
    from frankwolfe.theory import RateBounds as RateBounds

__all__ = [*_HOME_OF, "__version__"]  # noqa: PLE0604 - strings, all of them


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        from frankwolfe.arguments.names import nearest

        raise AttributeError(f"module 'frankwolfe' has no attribute {name!r}{nearest(name, _HOME_OF)}")
    value = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
