"""The tables the tests run over: a new set, estimate or step rule is tested by adding a line here.

A new loss is tested by adding it, with its formulas, to the table in `tests.reference.losses`.
"""

import os
from math import isqrt
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import frankwolfe as fw
from frankwolfe.problem.requirements import BOUNDED_CURVATURE, needs_of
from tests.reference.losses import FORMULAS
from tests.reference.textbook import CONSTANT_STEP

LOSSES = [loss for loss in FORMULAS if loss.smooth and not loss.is_vector]

KINKED_LOSSES = [loss for loss in FORMULAS if not loss.smooth]
"""Losses for `auto`, `corrective` and `shcgm`."""

VECTOR_LOSSES = [loss for loss in FORMULAS if loss.is_vector]

SETS = [
    fw.L1Ball(1.5),
    fw.Simplex(2.0),
    fw.NonNegativeL1Ball(1.5),
    fw.L2Ball(1.2),
    fw.Box(-0.5, 1.0),
    fw.LinfBall(0.7),
    fw.MonotoneBox(-0.5, 1.0),
]
"""Sets that take any number of columns."""


def _coupled(d):
    """Return a matrix that is symmetric and positive definite."""
    return np.diag(np.linspace(0.5, 2.0, d)) + 0.3


def _polytope(d):
    """Return a polytope with sparse inequalities and one equation, zero inside."""
    rng = np.random.default_rng(d)
    A = np.vstack([np.where(rng.random((2 * d, d)) < 0.6, rng.normal(size=(2 * d, d)), 0.0), np.eye(d), -np.eye(d)])
    b = np.concatenate([rng.uniform(0.5, 1.0, size=2 * d), np.full(2 * d, 1.5)])
    return fw.Polytope(sparse.csr_array(A), b, np.ones((1, d)) if d > 1 else None, [0.0] if d > 1 else None)


def _signed_bounds(d):
    """Return bounds: in turn positive, fixed at zero, to one side of zero, to the other, and none."""
    sides = [(0.01, 0.9), (0.0, 0.0), (0.0, 1.0), (-np.inf, -0.005), (-np.inf, np.inf)]
    return np.transpose([sides[j % len(sides)] for j in range(d)])


SIZED_SETS = {
    "GroupBall": lambda d: fw.GroupBall(np.arange(d) // 3, 1.5),
    "GroupBall-weighted": lambda d: fw.GroupBall(np.arange(d) % 3, 1.5, 2, np.linspace(0.5, 2.0, min(d, 3))),
    "GroupBall-inf": lambda d: fw.GroupBall(
        [[j for j in range(d) if j % 2 == k] for k in range(min(d, 2))], 1.5, np.inf
    ),
    "LatentGroupBall": lambda d: fw.LatentGroupBall([range(k, min(k + 3, d)) for k in range(0, d, 2)], 1.5),
    "KSupportBall": lambda d: fw.KSupportBall(1 + d // 4, 1.5),
    "KSupportBall-inf": lambda d: fw.KSupportBall(1 + d // 4, 0.7, norm=np.inf),
    "Budget": lambda d: fw.Budget(-0.5, np.linspace(0.2, 2.0, d), 1.5),
    "Budget-signed": lambda d: fw.Budget(*_signed_bounds(d), 2.0),
    "CappedSimplex": lambda d: fw.CappedSimplex(np.linspace(0.3, 1.2, d), 0.3 * d),
    "OWLBall": lambda d: fw.OWLBall(np.linspace(2.0, 0.5, d), 1.5),
    "LpBall-1.5": lambda d: fw.LpBall(1.5, 1.2),
    "LpBall-4": lambda d: fw.LpBall(4, 1.2),
    "Ellipsoid-axes": lambda d: fw.Ellipsoid(np.linspace(0.5, 2.0, d), 0.8),
    "Ellipsoid-matrix": lambda d: fw.Ellipsoid(_coupled(d), 0.8, centre=np.linspace(-0.1, 0.1, d)),
    "Birkhoff": lambda d: fw.Birkhoff(isqrt(d)),
    "ConvexHull": lambda d: fw.ConvexHull(np.random.default_rng(d).normal(size=(2 * d + 1, d))),
    "MonotoneBox-decreasing": lambda d: fw.MonotoneBox(-0.5, 1.0, increasing=False),
    "Polytope": _polytope,
    "Product": lambda d: fw.Product([fw.L1Ball(1.0), fw.Box(-0.5, 1.0)], [d - d // 2, d // 2]),
    "Product-called-back": lambda d: fw.Product([fw.Birkhoff(1), fw.Simplex(1.0)], [1, d - 1]),
    "Translated": lambda d: fw.sets.Translated(fw.L1Ball(1.0), np.linspace(-0.2, 0.2, d)),
    "Scaled": lambda d: fw.sets.Scaled(fw.GroupBall(np.arange(d) // 2, 1.0), 1.3),
    "Cached": lambda d: fw.sets.Cached(fw.Birkhoff(isqrt(d)), 4),
    "Counted": lambda d: fw.sets.Counted(fw.L2Ball(1.2)),
    "TraceBall": lambda d: fw.TraceBall(1.5, (d, 1) if d < 4 else (isqrt(d), d // isqrt(d))),
    "Spectrahedron": lambda d: fw.Spectrahedron(1.5),
}
"""Sets that are made for a number of columns: 4, 9 or another square (some can be had for others too)."""

ALL_SETS = {str(constraint): lambda d, made=constraint: made for constraint in SETS} | SIZED_SETS
"""Every set, by name, as a function of the number of columns."""

STEPS = [
    fw.methods.OpenLoop(),
    fw.methods.LogAdaptive(),
    fw.methods.ConstantStep(CONSTANT_STEP),
    fw.methods.ShortStep(),
    fw.methods.LineSearch(),
    fw.methods.Secant(),
    fw.methods.Backtracking(),
    fw.methods.Monotone(),
]

METHODS = [
    *(method for method in fw.methods.METHODS.values() if method.solver == "loop"),
    *(
        fw.methods.Method(fw.methods.FullGradient(), fw.methods.Toward(), step, name=f"fw, {type(step).__name__}")
        for step in STEPS[1:]
    ),
]

LOOP = [name for name, method in fw.methods.METHODS.items() if method.solver == "loop"]
"""Names of the methods that make steps."""

STOCHASTIC = [name for name, method in fw.methods.METHODS.items() if not method.reads_all_rows]

PLANNED = [
    name
    for name, method in fw.methods.METHODS.items()
    if method.estimate.state.next_snapshot is not None or method.estimate.state.batch_sizes is not None
]
"""Names of the methods where the cost of a step depends on its number, or on chance."""

STEADY = [name for name in LOOP if name not in PLANNED]

TOWARD = [method for method in METHODS if isinstance(method.direction, fw.methods.Toward)]
"""The methods that only ever go toward a vertex."""

EVERY_PART = [
    fw.methods.Method(
        estimate, direction, step, name="-".join(type(part).__name__ for part in (estimate, direction, step))
    )
    for estimate, direction, step in (
        (fw.methods.SagTable(), fw.methods.Toward(), fw.methods.OpenLoop()),
        (fw.methods.FullGradient(), fw.methods.Toward(), fw.methods.LogAdaptive()),
        (fw.methods.FullGradient(), fw.methods.Away(), fw.methods.ShortStep()),
        (fw.methods.FullGradient(), fw.methods.BlendedPairwise(), fw.methods.Backtracking()),
        (fw.methods.SagTable(), fw.methods.Pairwise(), fw.methods.DampedStep()),
        (fw.methods.FullGradient(), fw.methods.Toward(), fw.methods.Monotone()),
        (fw.methods.CoordinateAverage(), fw.methods.Toward(), fw.methods.Secant()),
        (fw.methods.Momentum(), fw.methods.Toward(), fw.methods.LineSearch()),
        (fw.methods.Substitute(), fw.methods.Toward(), fw.methods.LuFreundStep()),
        (fw.methods.Svrf(), fw.methods.Toward(), fw.methods.OpenLoop()),
        (fw.methods.Storc(), fw.methods.Sliding(), fw.methods.EpochStep()),
        (fw.methods.Svfw(), fw.methods.Toward(), fw.methods.ConstantStep(0.1)),
        (fw.methods.Spider(), fw.methods.Toward(), fw.methods.OpenLoop()),
        (fw.methods.GrowingBatch(), fw.methods.Pairwise(), fw.methods.NormStep()),
    )
]
"""As few methods as have every gradient estimate, direction and step rule among them: each takes seconds to compile."""

for _method in METHODS:  # those with a part that is not among them
    if not {type(part) for part in _method[:3]} <= {type(part) for method in EVERY_PART for part in method[:3]}:
        EVERY_PART.append(_method)

PAIRS = [(method, constraint) for method in METHODS for constraint in SETS]
"""Every method with every set."""

LAYOUTS = {
    "dense64": lambda X: np.ascontiguousarray(X, dtype=np.float64),
    "dense32": lambda X: np.ascontiguousarray(X, dtype=np.float32),
    "csr64": lambda X: _csr(X, np.float64, np.int32),
    "csr32": lambda X: _csr(X, np.float32, np.int32),
    "csr64-int64": lambda X: _csr(X, np.float64, np.int64),
    "csr32-int64": lambda X: _csr(X, np.float32, np.int64),
}


def takes(method, loss):
    """Return whether a method can have a loss: some need one of bounded curvature."""
    return bool(np.isfinite(loss.smoothness())) or BOUNDED_CURVATURE not in needs_of(method)


def name_of(case):
    """Short name of a case, for test ids."""
    if isinstance(case, fw.methods.Method):
        return case.name
    return type(case).__name__ if isinstance(case, tuple) else str(case)


def _csr(X, value_type, index_type):
    matrix = sparse.csr_array(X.astype(value_type))
    matrix.indices, matrix.indptr = matrix.indices.astype(index_type), matrix.indptr.astype(index_type)
    return matrix


def table(loss, n=40, d=12, seed=0, density=0.6):
    """Random data that fits a loss: X (exact in float32, with zeros) and y."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).astype(np.float32).astype(np.float64)
    X[rng.random((n, d)) > density] = 0.0
    signal = X @ rng.normal(size=d) + 0.3 * rng.normal(size=n)
    return X, fitting(loss, signal)


def fitting(loss, signal):
    """Return targets of the kind that a loss of one output takes, by a signal."""
    if loss.targets == "labels":
        return np.where(signal > 0.0, 1.0, -1.0)
    if loss.targets == "nonnegative":
        return np.maximum(np.round(2.0 * signal), 0.0)
    return np.exp(0.5 * signal) if loss.targets == "positive" else signal


def vector_table(loss, outputs=3, **shape):
    """Random data that fits a loss of several outputs."""
    X, signal = table(fw.Squared(), **shape)
    rng = np.random.default_rng(1)
    Y = X @ rng.normal(size=(X.shape[1], outputs)) + 0.5 * rng.normal(size=(len(X), outputs)) + signal[:, None]
    return (X, np.argmax(Y, axis=1)) if loss.targets == "classes" else (X, Y)


def problem(loss=None, constraint=None, layout="dense64", sample_weight=None, **shape):
    """Random problem with a loss and a set from the tables."""
    loss = fw.Logistic() if loss is None else loss
    constraint = fw.L1Ball(1.5) if constraint is None else constraint
    X, y = table(loss, **shape)
    return fw.Problem(LAYOUTS[layout](X), y, loss, constraint, sample_weight=sample_weight)


def stored(name):
    """Load the arrays of a file in the folder named by FRANKWOLFE_DATA, or skip the test where there is none."""
    folder = os.environ.get("FRANKWOLFE_DATA")
    path = Path(folder or ".") / f"{name}.npz"
    if folder is None or not path.exists():
        pytest.skip(f"needs {name}.npz in the folder named by FRANKWOLFE_DATA")
    return np.load(path)


def data(name):
    """Load a table from that folder as (X, y)."""
    kept = stored(name)
    if "indptr" in kept:
        return sparse.csr_array((kept["data"], kept["indices"], kept["indptr"]), shape=kept["shape"]), kept["y"]
    return kept["X"], kept["y"]


REFERENCE_OPTIMA = [
    ("breast_cancer", fw.Logistic(), fw.L1Ball(5.0), 0.139038718212),
    ("rcv1_subset", fw.Logistic(), fw.L1Ball(100.0), 0.464834751230),
    ("rcv1_subset", fw.Logistic(), fw.L1Ball(1000.0), 0.157560411241),
    ("w8a", fw.Logistic(), fw.L1Ball(50.0), 0.177250043301),
    ("california_housing", fw.Squared(), fw.L1Ball(0.1), 0.547049654174),
    ("california_housing", fw.Squared(), fw.Simplex(1.0), 0.351533997805),
    ("california_housing", fw.Squared(), fw.L2Ball(0.1), 0.515849685633),
    ("california_housing", fw.Squared(), fw.LinfBall(0.05), 0.551330097584),
]
"""Table, loss, set and optimal objective, the optimum known to a gap below 1e-12."""


def rows_of_a_step(method, n, drawn):
    """Rows that a step reads, where that is the same for all: some read every row, or as many more than are drawn."""
    return fw.methods.METHODS[method]._replace(step=fw.methods.OpenLoop()).evaluations(n, drawn)
