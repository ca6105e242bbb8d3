"""Methods: named compositions of a gradient estimate, a direction and a step rule.

This is the one place where a method's name is known.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from frankwolfe.arguments.names import lookup
from frankwolfe.arguments.types import MethodPart
from frankwolfe.methods import steps
from frankwolfe.methods.base import accept
from frankwolfe.methods.directions import Away, BlendedPairwise, Pairwise, Toward
from frankwolfe.methods.estimates import batch_gradients, sag, variance_reduction
from frankwolfe.methods.estimates.variance_reduction import cube_root_squared
from frankwolfe.methods.sliding import Sliding
from frankwolfe.methods.steps import OpenLoop, as_step


class Method(NamedTuple):
    """A method to pass to `minimize`: what estimates the gradient, where to go, how far.

    Parameters
    ----------
    estimate : gradient estimate
        For instance ``methods.SagTable()``.
    direction : direction
        For instance ``methods.Toward()``.
    step : step rule
        For instance ``methods.OpenLoop()``.
    batch_size : int, float or callable
        Rows that a step reads, or their fraction, or a function of the number of rows, where the caller does not say.
        Estimates whose batches grow take it as the unit that they grow by.
    name : str
        What results and plots call it.
    solver : str
        ``"loop"``: the parts above, a step at a time. ``"corrective"``: rounds of exact gradients and corrections, for
        which the parts only stand (see `frankwolfe.solvers.corrective`). ``"few-reads"``: what ``"auto"`` is on row
        stores, a pass of ``sfw`` and then rounds on copied columns. ``"auto"``: one of the others, see `pick`.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> from frankwolfe import methods
    >>> slower = methods.Method(methods.SagTable(), methods.Toward(), methods.OpenLoop(1.0, 1.0), name="sfw, 1/(t+1)")
    >>> problem = fw.Problem([[1.0, 2.0], [3.0, -1.0]], [1, -1], loss="logistic", constraint=fw.L1Ball(1.0))
    >>> fw.minimize(problem, method=slower, max_passes=20, random_state=0).method
    'sfw, 1/(t+1)'
    """

    estimate: MethodPart
    direction: MethodPart = Toward()
    step: MethodPart = OpenLoop()
    batch_size: int | float | Callable[[int], int] = 1
    name: str = "custom"
    solver: str = "loop"

    def evaluations(self, n: int, batch_size: int) -> int:
        """Gradient evaluations that a step with so large a batch is charged."""
        twice = self.estimate.reads_upcoming or self.estimate.two_batches
        read = batch_size * (2 if twice else 1)
        return max(read, n) if self.reads_all_rows else read

    @property
    def reads_all_rows(self) -> bool:
        """Whether every step reads the whole data."""
        return bool(self.estimate.reads_all_rows or self.step.reads_all_rows)


METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method(batch_gradients.FullGradient(), Toward(), steps.LineSearch(), name="auto", solver="auto"),
        Method(batch_gradients.FullGradient(), Toward(), OpenLoop(), name="fw"),
        Method(sag.SagTable(), Toward(), OpenLoop(), name="sfw"),
        Method(sag.CoordinateAverage(), Toward(), OpenLoop(1.0, 1.0), batch_size=0.01, name="mokhtari"),
        Method(batch_gradients.Momentum(), Toward(), OpenLoop(1.0, 1.0), batch_size=0.01, name="momentum"),
        Method(sag.Substitute(), Toward(), steps.LuFreundStep(), batch_size=0.01, name="lu-freund"),
        Method(sag.Saga(), Toward(), OpenLoop(), batch_size=0.01, name="saga"),
        Method(sag.SagaTwoBatches(), Toward(), steps.ConstantStep(), batch_size=0.01, name="sagafw"),
        Method(variance_reduction.Sarah(), Toward(), OpenLoop(), batch_size=0.01, name="sarah"),
        Method(variance_reduction.SagaSarah(), Toward(), OpenLoop(), batch_size=0.01, name="saga-sarah"),
        Method(variance_reduction.LooplessSvrg(), Toward(), OpenLoop(), batch_size=0.01, name="l-svrg"),
        Method(batch_gradients.OneSample(), Toward(), OpenLoop(1.0, 0.0), batch_size=0.01, name="one-sample"),
        Method(batch_gradients.SmoothedMomentum(), Toward(), OpenLoop(9.0, 8.0), batch_size=0.01, name="shcgm"),
        Method(batch_gradients.FullGradient(), Away(), steps.LineSearch(), name="away"),
        Method(batch_gradients.FullGradient(), Pairwise(), steps.LineSearch(), name="pairwise"),
        Method(batch_gradients.FullGradient(), BlendedPairwise(), steps.LineSearch(), name="blended-pairwise"),
        Method(batch_gradients.FullGradient(), Toward(), steps.LineSearch(), name="corrective", solver="corrective"),
        Method(sag.SagTable(), Pairwise(), steps.DampedStep(), batch_size=10, name="stochastic-pairwise"),
        Method(sag.SagTable(), Away(), steps.DampedStep(), batch_size=10, name="stochastic-away"),
        Method(variance_reduction.Svrf(), Toward(), steps.EpochStep(), batch_size=96, name="svrf"),
        Method(variance_reduction.Storc(), Sliding(), steps.EpochStep(), name="storc"),
        Method(
            variance_reduction.Svfw(),
            Toward(),
            steps.ConstantStep(scale=0.3),
            batch_size=cube_root_squared,
            name="svfw",
        ),
        Method(variance_reduction.Spider(), Toward(), OpenLoop(2.0, 1.0), batch_size=16, name="spider"),
        Method(batch_gradients.GrowingBatch(), Away(), steps.NormStep(), batch_size=0.01, name="goldfarb-away"),
        Method(batch_gradients.GrowingBatch(), Pairwise(), steps.NormStep(), batch_size=0.01, name="goldfarb-pairwise"),
    )
}


def pick(max_passes: float, problem: Any = None) -> Method:
    """Return what ``"auto"`` stands for on a problem, within a budget of passes.

    The corrective method reached a certificate first on everything we measured (docs/choosing.md). Only a budget of a
    few passes is better spent on stochastic steps, and the paper's mostly get farthest (docs/tournament.md).
    ``"sfw"`` takes neither side constraints nor losses with a kink.
    """
    corrective = problem is not None and problem.needs_smoothing
    # Within five passes a corrective round may not even end.
    name = "corrective" if corrective or max_passes >= 5.0 else "sfw"
    return METHODS[name]._replace(name=f"auto: {name}")


def as_method(method: Any, step: MethodPart = None) -> Method:
    """Return the method of that name, or the composition itself, with another step rule on request."""
    if isinstance(method, str):
        method = lookup("method", method, METHODS)
    if not isinstance(method, Method):
        raise TypeError(f"method must be a name or a fw.methods.Method, got {type(method).__name__}")
    if method is not METHODS.get(method.name):
        accept("method.estimate", method.estimate, "a gradient estimate")
        accept("method.direction", method.direction, "a direction")
        accept("method.step", method.step, "a step rule")
    if step is not None:
        if method.solver == "corrective":
            raise ValueError("step goes with a method that makes steps, such as 'fw'; 'corrective' makes its own")
        method = METHODS["fw"] if method.solver == "auto" else method
        name = step if isinstance(step, str) else type(step).__name__
        method = method._replace(step=as_step(step), name=f"{method.name}, {name}")
    return method
