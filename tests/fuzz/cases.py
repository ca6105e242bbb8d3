"""A case: one random problem, and how to minimise it."""

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

import frankwolfe as fw
from frankwolfe.methods.steps import STEPS
from frankwolfe.problem.requirements import BOUNDED_CURVATURE, needs_of
from tests.fuzz import data, rational, sets
from tests.reference import sets as known

COMPILED_EVERY = 20
"""One case in so many runs compiled as well as interpreted."""

KINDS = 8
"""Combinations of set, loss, layout and method that are compiled: each takes seconds."""

TOLERANCES = (0.0, 1e-3, 1e-4, 1e-6, 1e-8)
SIDE_TOLERANCES = (1e-6, 1e-3, 1e-2, 0.1)
CHANCES = {"solved": 0.08, "units": 0.25, "side": 0.12, "offset": 0.15, "linear": 0.15}
"""Parts of the interpreted cases: with an optimum known exactly, in other units, with side constraints, and so on."""

LARGEST_LOGARITHM = 3.0
"""Size of predictions that are logarithms: their exponentials are of ordinary size."""

EXPONENTS = (-50, 51)
"""Units are powers of two between these: from 1e-15 to 1e15. Then only the exponents of numbers change."""

STEPWISE = tuple(name for name, method in fw.methods.METHODS.items() if method.solver == "loop")
METHODS = (*fw.methods.METHODS, "composed")


@dataclass(frozen=True)
class Side:
    """Linear bounds beside the set, and a point of the set that keeps to them."""

    A: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    point: np.ndarray

    def in_units(self, unit):
        return Side(self.A, unit * self.lower, unit * self.upper, unit * self.point)


@dataclass
class Case:
    """What `frankwolfe.Problem` and `frankwolfe.minimize` are given, with names to count by."""

    seed: int
    number: int
    X: Any
    y: np.ndarray
    loss: Any
    constraint: Any
    sample_weight: Any
    intercept: bool
    method: Any
    options: dict[str, Any]
    start: str
    compiled: bool
    names: dict[str, str]
    extra: Any = field(repr=False)
    side: Side | None = None
    optimum: Fraction | None = None
    base: "Case | None" = field(default=None, repr=False)
    units: tuple[float, float] = (1.0, 1.0)
    offset: np.ndarray | None = None
    linear: np.ndarray | None = None

    @property
    def size(self):
        """Number of weights."""
        outputs = self.y.shape[1] if self.y.ndim == 2 else self.loss.outputs
        return self.X.shape[1] * max(1, outputs)

    def problem(self):
        """Return the problem, made anew."""
        bounds = None if self.side is None else fw.LinearBounds(self.side.A, self.side.lower, self.side.upper)
        constraint = self.constraint.make()
        beside = {"side": bounds, "offset": self.offset, "linear": self.linear}
        return fw.Problem(self.X, self.y, self.loss, constraint, self.sample_weight, self.intercept, **beside)

    @property
    def constraint_has_spectrum(self):
        """Whether an oracle of the set decomposes a matrix."""
        return sets.has_spectrum(self.constraint)

    def in_units(self, of_columns, of_targets):
        """Return the same problem with columns and targets in other units, and its weights and loss accordingly."""
        of_targets = 1.0 if self.loss.targets != "real" else of_targets
        of_weights = of_targets / of_columns
        lengths = {name: of_targets * getattr(self.loss, name) for name in LENGTHS if hasattr(self.loss, name)}
        scale = self.objective_unit(of_targets)
        return replace(
            self,
            X=self.X * self.X.dtype.type(of_columns) if hasattr(self.X, "dtype") else self.X * of_columns,
            y=self.y * of_targets if of_targets != 1.0 else self.y,
            loss=self.loss._replace(**lengths) if lengths else self.loss,
            constraint=self.constraint.in_units(of_weights),
            side=None if self.side is None else self.side.in_units(of_weights),
            optimum=None if self.optimum is None else self.optimum * Fraction(scale),
            base=self,
            units=(of_columns, of_targets),
            offset=None if self.offset is None else of_targets * self.offset,
            linear=None if self.linear is None else self.linear * (scale / of_weights),
        )

    def objective_unit(self, of_targets):
        """Return what the objective is multiplied by where the targets are: losses with a kink are linear."""
        return of_targets**2 if self.loss.smooth else of_targets

    def rng(self):
        """Return a generator for what the checks choose."""
        return np.random.default_rng([self.seed, self.number, 1])

    def __str__(self):
        told = ", ".join(f"{key} {value}" for key, value in self.names.items())
        n, d = self.X.shape
        return f"{n} x {d}, {told}, {self.options}"


LENGTHS = ("delta", "scale", "cutoff")
"""Parameters of losses that are in the units of the targets."""


def kinds(seed):
    """Return the combinations that are compiled for a seed; half of them keep the plainest data layout."""
    rng = np.random.default_rng([seed, 2**32 - 1])
    names, losses, methods = (
        rng.permutation(of)[np.arange(KINDS) % len(of)].tolist() for of in (sets.NAMES, list(data.LOSSES), METHODS[:-1])
    )
    layouts = np.where(rng.random(KINDS) < 0.5, "dense", rng.choice(["float32", "csr"], KINDS)).tolist()
    return list(zip(names, losses, methods, layouts, (rng.random(KINDS) < 0.4).tolist(), strict=True))


def make(seed, number):
    """Return case ``number`` of a seed."""
    rng = np.random.default_rng([seed, number])
    compiled = number % COMPILED_EVERY == COMPILED_EVERY - 1
    chance = dict(zip(CHANCES, rng.random(len(CHANCES)) < [*CHANCES.values()], strict=True))
    if compiled:
        chance = dict.fromkeys(CHANCES, False)
        kind = number // COMPILED_EVERY % KINDS
        name, loss, method, layout, intercept = kinds(seed)[kind]
        form = np.random.default_rng([seed, kind, 7])  # what decides the types is the same for all cases of a kind
    else:
        name, loss = str(rng.choice(sets.NAMES)), str(rng.choice(list(data.LOSSES)))
        method, layout = str(rng.choice(METHODS)), str(rng.choice(list(data.LAYOUTS)))
        intercept, form = bool(rng.random() < 0.4), rng
    if chance["solved"]:
        name, loss, layout, intercept = "solved", "squared", "dense", False
        chance |= {"side": False, "offset": False, "linear": False}
    if not data.LOSSES[loss].smooth:
        method = "shcgm" if method in STEPWISE else "corrective" if method == "corrective" else "auto"
    outputs = int(form.integers(2, 5)) if loss in ("multinomial", "multitask-squared") else 0
    optimum, (weights, weighted) = None, (None, "none")
    if chance["solved"]:
        solved = rational.solved(rng, int(rng.integers(1, 9)))
        X, y, constraint, damage, optimum = (
            solved.X,
            solved.y,
            solved.constraint,
            ["nearly equal columns"],
            solved.least,
        )
        name = type(constraint).__name__
    else:
        d = _columns(form, name, outputs)
        constraint = _constraint(form, name, d, outputs)
        X, damage = data.table(rng, int(rng.choice([1, 2, 3, 5, 8, 12, 20, 30])), d)
        y = data.targets(rng, loss, X, outputs)
        weights, weighted = data.weights(rng, len(X))
        if data.LOSSES[loss].log_link:
            largest = float((np.abs(X) @ known.reach(constraint, d).astype(float)).max())
            X *= min(1.0, LARGEST_LOGARITHM / largest) if largest > 0.0 else 1.0
            y[0 if weights is None else int(np.argmax(weights))] = 1.0  # means are not all zero
    side = None
    if chance["side"] and data.LOSSES[loss].convex:
        method, side = "auto" if method != "shcgm" else method, _side(rng, constraint, X.shape[1], outputs)
    d = X.shape[1] * max(1, outputs)
    offset = rng.normal(size=len(X)) * (np.abs(y).max() or 1.0) if chance["offset"] and not outputs else None
    if offset is not None and data.LOSSES[loss].targets != "real":
        offset /= np.abs(y).max()
    linear = rng.normal(size=d) * float(10.0 ** rng.uniform(-3.0, 1.0)) if chance["linear"] else None
    slow = sets.needs_programs(constraint)
    smooth = data.LOSSES[loss].smooth
    chosen, step = (method, "its own") if compiled or side or not smooth else _method(rng, method)
    if data.LOSSES[loss].log_link and intercept and _needs_smoothness(chosen, step):  # predictions have no bound
        method = chosen = "auto"
        step = "its own"
    start = str(rng.choice(["default", "point", "result"], p=[0.7, 0.12, 0.18]))
    case = Case(
        seed=seed,
        number=number,
        X=data.LAYOUTS[layout](X),
        y=y,
        loss=fw.Multinomial(outputs) if loss == "multinomial" else data.some(rng, loss, vary=not compiled),
        constraint=constraint,
        sample_weight=weights,
        intercept=intercept,
        method=chosen,
        options=_options(rng, chosen, step, len(X), slow) | _side_options(rng, side),
        start=start,
        compiled=compiled,
        names={
            "set": name,
            "loss": loss,
            "method": method,
            "step": step,
            "layout": layout,
            "intercept": "yes" if intercept else "no",
            "weights": weighted,
            "data": " + ".join(sorted(damage)) or "plain",
            "start": start,
            "side": "none" if side is None else "yes",
            "offset": "no" if offset is None else "yes",
            "linear": "no" if linear is None else "yes",
            "units": "other" if chance["units"] else "plain",
        },
        extra=damage,
        side=side,
        optimum=optimum,
        offset=offset,
        linear=linear if linear is None or not outputs else linear.reshape(-1, outputs),
    )
    if not chance["units"] or layout in ("integers", "polars"):  # whole numbers have the unit one
        return case
    exponents = rng.integers(*EXPONENTS, 2)
    if not smooth:  # the curvature of a smoothed loss has the inverse unit, and its square root should be exact
        exponents[1] -= exponents[1] % 2
    return case.in_units(*2.0**exponents)


def _needs_smoothness(method, step):
    """Return whether a method needs a loss of bounded curvature."""
    found = fw.methods.METHODS[method] if isinstance(method, str) else method
    found = found if step not in STEPS else found._replace(step=STEPS[step])
    return BOUNDED_CURVATURE in needs_of(found)


def _columns(rng, name, outputs):
    """Return a number of columns for which there is such a set of weights."""
    choices = [d for d in range(1, 11) if d * max(1, outputs) <= 20 and sets.fits(name, _shape(d, outputs))]
    return int(rng.choice(choices))


def _shape(d, outputs):
    return (d, outputs) if outputs else (d,)


def _constraint(rng, name, d, outputs):
    """Return a set for the weights; for a matrix of weights, a ball of matrices finds the shape itself."""
    found = sets.make(name, rng, _shape(d, outputs))
    return _shaped(found, (d, outputs), bool(rng.random() < 0.3)) if outputs else found


def _shaped(found, shape, told):
    """Return a set whose balls of matrices have the shape of the weights, and are told or find it themselves."""
    if isinstance(found, known.TraceBall):
        return known.TraceBall(found.radius, shape, told)
    return replace(found, set=_shaped(found.set, shape, told)) if hasattr(found, "set") else found


def _side(rng, constraint, d, outputs):
    """Return up to three bounds that some point of the set keeps to: ranges, one side, equations; sums and caps too."""
    with fw.python_mode():
        size, made = d * max(1, outputs), constraint.make()
        made = made.shaped(d, outputs) if outputs else made
        corners = np.array([np.asarray(made.vertex(rng.normal(size=size))).ravel() for _ in range(4)])
    largest = np.abs(corners).max()
    corners[np.abs(corners) <= max(1e-12 * largest, 1e-17)] = 0.0  # the rounding of a linear program
    point, m = corners.T @ rng.dirichlet(np.ones(4)), int(rng.integers(1, 4))
    kind = rng.random()
    A = rng.normal(size=(m, size)) if kind < 0.6 else np.ones((1, size)) if kind < 0.8 else np.eye(size)
    at = A @ point
    wide = np.abs(A) @ np.abs(corners).max(axis=0) * rng.choice([0.0, 0.01, 0.1, 1.0], len(A))
    below, above = rng.random((2, len(A))) < 0.7
    below |= ~above
    return Side(A, np.where(below, at - wide, -np.inf), np.where(above, at + wide, np.inf), point)


def _side_options(rng, side):
    """Return keyword arguments of `frankwolfe.minimize` for side constraints, some of which are easily met."""
    if side is None:
        return {}
    return {"tol": float(rng.choice([0.1, 0.01, 1e-4, 1e-6, 1e-8])), "side_tol": float(rng.choice(SIDE_TOLERANCES))}


def _method(rng, name):
    """Return a method, or its name, and the name of its step rule."""
    if name == "composed":
        return _composed(rng)
    if name in STEPWISE and name not in ("stochastic-pairwise", "stochastic-away") and rng.random() < 0.5:
        return name, str(rng.choice(list(STEPS)))
    return name, "its own"


def _composed(rng):
    """Return a method made of random parts."""
    estimates = [
        fw.methods.FullGradient(),
        fw.methods.SagTable(),
        fw.methods.CoordinateAverage(),
        fw.methods.Momentum(),
        fw.methods.Substitute(),
    ]
    estimates.append(fw.methods.SmoothedMomentum())
    directions = [fw.methods.Toward(), fw.methods.Away(), fw.methods.Pairwise(), fw.methods.BlendedPairwise()]
    direction = directions[rng.integers(len(directions))]
    steps = [*STEPS.values(), fw.methods.OpenLoop(1.0, 1.0), fw.methods.LuFreundStep()]
    steps += [] if isinstance(direction, fw.methods.Toward) else [fw.methods.DampedStep()]
    step = steps[rng.integers(len(steps))]
    return fw.methods.Method(estimates[rng.integers(len(estimates))], direction, step), type(step).__name__


def _options(rng, method, step, n, slow):
    """Return keyword arguments of `frankwolfe.minimize`."""
    rounds = method in ("auto", "corrective")
    passes = [0.0, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0] + [50.0, 100.0, 100.0, 300.0] * rounds
    sizes = [None, None, 1, n, int(rng.integers(1, n + 1)), 0.3]
    found = {
        "tol": float(rng.choice(TOLERANCES)),
        "max_passes": float(rng.choice(passes)) if not slow or rounds else float(rng.choice([1.0, 3.0])),
        "batch_size": sizes[rng.integers(len(sizes))] if not slow or rounds else n,
        "random_state": int(rng.integers(2**31)),
    }
    return found if step == "its own" or isinstance(method, fw.methods.Method) else {**found, "step": step}
