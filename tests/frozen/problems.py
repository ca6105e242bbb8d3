"""The problems whose answers are recorded: every method, set and loss, with and without an intercept, in memory, on
disk and on a cluster."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import frankwolfe as fw
from tests import cases
from tests.reference.losses import FORMULAS

EXACT = ("auto", "corrective")
"""Methods that solve a problem to its tolerance. Of their answers the objective and the bound are recorded: the path is
theirs to choose."""

TOLERANCE = 1e-9
SHARDS = 6


@dataclass(frozen=True)
class Frozen:
    """One problem and how to minimise it."""

    name: str
    pose: Callable[[], fw.Problem] = field(repr=False)
    method: Any = "auto"
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def exact(self) -> bool:
        """Whether only the optimum is recorded."""
        return self.method in EXACT

    def run(self) -> fw.Result:
        """Minimise, interpreted: compiling would take minutes."""
        given = {"tol": TOLERANCE, "max_passes": 300} if self.exact else {"tol": 0.0, "max_passes": 4}
        with fw.python_mode():
            return fw.minimize(self.pose(), self.method, random_state=3, **given | self.options)


def _posed(loss: Any, constraint: Any, layout: str = "dense64", **how: Any) -> fw.Problem:
    X, y = cases.vector_table(loss) if loss.is_vector else cases.table(loss)
    return fw.Problem(cases.LAYOUTS[layout](X), y, loss, constraint, **how)


def of_methods() -> Iterator[Frozen]:
    """Every method on dense and sparse rows, with weights for the rows, and with an intercept where it takes one."""
    weights = np.random.default_rng(5).uniform(0.5, 2.0, size=40)
    for name in fw.methods.METHODS:
        for layout in ("dense64", "csr32"):
            for intercept in (False, True):
                how = {"intercept": intercept, "sample_weight": weights if layout == "csr32" else None}
                yield Frozen(
                    f"method: {name}, {layout}{', intercept' * intercept}",
                    lambda how=how, layout=layout: _posed(fw.Logistic(), fw.L1Ball(1.5), layout, **how),
                    name,
                )
    for step in cases.STEPS:
        yield Frozen(
            f"step: {type(step).__name__}",
            lambda: _posed(fw.Squared(), fw.Simplex(2.0)),
            "fw",
            {"step": step},
        )


def of_sets() -> Iterator[Frozen]:
    """Every set with the default method, the paper's method and pairwise steps."""
    sets = {repr(constraint): constraint for constraint in cases.SETS}
    sets |= {name: make(9) for name, make in cases.SIZED_SETS.items()}
    for name, constraint in sets.items():
        for method in ("auto", "sfw", "pairwise"):
            for intercept in (False, True):
                if intercept and method != "auto":
                    continue
                yield Frozen(
                    f"set: {name}, {method}{', intercept' * intercept}",
                    lambda constraint=constraint, intercept=intercept: fw.Problem(
                        *cases.table(fw.Squared(), d=9), "squared", constraint, intercept=intercept
                    ),
                    method,
                )


def of_losses() -> Iterator[Frozen]:
    """Every loss with the default method, the paper's and Lu and Freund's, with and without an intercept."""
    for loss in FORMULAS:
        for intercept in (False, True):
            for method in ("auto", "sfw", "lu-freund") if loss.smooth else ("auto",):
                yield Frozen(
                    f"loss: {loss}, {method}{', intercept' * intercept}",
                    lambda loss=loss, intercept=intercept: _posed(loss, fw.L1Ball(1.5), intercept=intercept),
                    method,
                )


def of_outputs() -> Iterator[Frozen]:
    """Several outputs over sets of vectors and of matrices."""
    for loss in cases.VECTOR_LOSSES:
        for constraint in (fw.L2Ball(1.0), fw.TraceBall(1.5), fw.Box(-0.2, 0.2)):
            for method in ("auto", "sfw"):
                yield Frozen(
                    f"outputs: {loss}, {constraint!r}, {method}",
                    lambda loss=loss, constraint=constraint: _posed(loss, constraint, intercept=True),
                    method,
                )


def _tall(layout: str) -> tuple[Any, np.ndarray]:
    rng = np.random.default_rng(11)
    X = rng.normal(size=(120, 8)) * (rng.random((120, 8)) < 0.7)
    y = np.where(X @ rng.normal(size=8) + 0.5 * rng.normal(size=120) > 0.0, 1.0, -1.0)
    return (sparse.csr_array(X) if layout == "csr" else X + 1.0), y


def of_stores(folder: Path) -> Iterator[Frozen]:
    """Rows on disk of which memory holds a part."""

    def pose(layout: str, constraint: Any, intercept: bool) -> fw.Problem:
        path = folder / layout
        if not path.exists():
            X, y = _tall(layout)
            size = X.nbytes if layout == "dense" else X.data.nbytes + X.indices.nbytes
            fw.write_rows(path, X, y, shard=size // SHARDS)
        store = fw.open_rows(path)
        store = fw.open_rows(path, memory=max(2 * store.bytes // 3, 2 * store.largest_shard))
        return fw.Problem(store, loss="logistic", constraint=constraint, intercept=intercept)

    for layout in ("dense", "csr"):
        for constraint in (fw.L1Ball(1.5), fw.L2Ball(1.0), fw.GroupBall(np.arange(8) // 2, 1.0)):
            for method in ("auto", "sfw", "saga", "momentum", "lu-freund", "fw"):
                for intercept in (False, True) if method == "auto" else (False,):
                    yield Frozen(
                        f"store: {layout}, {type(constraint).__name__}, {method}{', intercept' * intercept}",
                        lambda layout=layout, constraint=constraint, intercept=intercept: pose(
                            layout, constraint, intercept
                        ),
                        method,
                    )


def of_clusters() -> Iterator[Frozen]:
    """Rows of a Dask array in four chunks."""

    def pose(constraint: Any, intercept: bool) -> fw.Problem:
        import dask.array as da

        X, y = _tall("dense")
        return fw.Problem(
            da.from_array(X, chunks=(30, 8)),
            da.from_array(y, chunks=30),
            loss="logistic",
            constraint=constraint,
            intercept=intercept,
        )

    for constraint in (fw.L1Ball(1.5), fw.L2Ball(1.0), fw.GroupBall(np.arange(8) // 2, 1.0)):
        for method, intercept in (("auto", False), ("auto", True), ("sfw", False), ("fw", False)):
            yield Frozen(
                f"cluster: {type(constraint).__name__}, {method}{', intercept' * intercept}",
                lambda constraint=constraint, intercept=intercept: pose(constraint, intercept),
                method,
                {"batch_size": 0.25} if method == "sfw" else {},
            )
