"""Parts of methods, and the methods by name; `frankwolfe.lazy` reads this file."""

from frankwolfe.methods.directions import Away as Away
from frankwolfe.methods.directions import BlendedPairwise as BlendedPairwise
from frankwolfe.methods.directions import Pairwise as Pairwise
from frankwolfe.methods.directions import Toward as Toward
from frankwolfe.methods.estimates.batch_gradients import FullGradient as FullGradient
from frankwolfe.methods.estimates.batch_gradients import GrowingBatch as GrowingBatch
from frankwolfe.methods.estimates.batch_gradients import Momentum as Momentum
from frankwolfe.methods.estimates.batch_gradients import OneSample as OneSample
from frankwolfe.methods.estimates.batch_gradients import SmoothedMomentum as SmoothedMomentum
from frankwolfe.methods.estimates.sag import CoordinateAverage as CoordinateAverage
from frankwolfe.methods.estimates.sag import Saga as Saga
from frankwolfe.methods.estimates.sag import SagaTwoBatches as SagaTwoBatches
from frankwolfe.methods.estimates.sag import SagTable as SagTable
from frankwolfe.methods.estimates.sag import Substitute as Substitute
from frankwolfe.methods.estimates.variance_reduction import LooplessSvrg as LooplessSvrg
from frankwolfe.methods.estimates.variance_reduction import SagaSarah as SagaSarah
from frankwolfe.methods.estimates.variance_reduction import Sarah as Sarah
from frankwolfe.methods.estimates.variance_reduction import Spider as Spider
from frankwolfe.methods.estimates.variance_reduction import Storc as Storc
from frankwolfe.methods.estimates.variance_reduction import Svfw as Svfw
from frankwolfe.methods.estimates.variance_reduction import Svrf as Svrf
from frankwolfe.methods.registry import METHODS as METHODS
from frankwolfe.methods.registry import Method as Method
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

__all__: list[str]
