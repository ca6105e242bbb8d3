"""The problems at hand, by name: the paper's, the survey's, further ones, the kappa family, and non-convex ones."""

import os
from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from frankwolfe.arguments.lookup import nearest
from frankwolfe.datasets import FOLDER_VARIABLE, load
from frankwolfe.datasets.loading import read_table
from frankwolfe.datasets.stand_ins import bundled_breast_cancer
from frankwolfe.experiments.nonconvex_losses import nonconvex_problem
from frankwolfe.experiments.tournament.kappa_family import kappa_member, levels
from frankwolfe.problem import Problem
from frankwolfe.sets import L1Ball, L2Ball, Simplex

FAMILY_ROWS = 1000
FAMILY_LEVELS = 7


class Case(NamedTuple):
    """A problem of the tournament.

    Attributes
    ----------
    key : str
        Its name on the command line and in tables.
    title : str
        What the page calls it.
    origin : str
        Where its data comes from, and what was done to it.
    group : str
        ``"paper"``, ``"survey"``, ``"further"``, ``"kappa"``, ``"non-convex"`` or ``"own"``.
    problem : Problem
        The problem itself.
    """

    key: str
    title: str
    origin: str
    group: str
    problem: Problem

    @property
    def family(self) -> str:
        """Problems of one family weigh as much as one problem in profiles and rankings."""
        return "kappa" if self.group == "kappa" else self.key


class Absent(Exception):
    """A problem whose data is not at hand; says why."""


def standardised(X: np.ndarray) -> np.ndarray:
    """Return the columns with mean zero and variance one; constant ones become zero."""
    spread = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)


def _paper(key: str) -> Callable[[str], Case]:
    def make(source: str) -> Case:
        table = load(key, source)
        return Case(key, table.label, table.origin, "paper", table.problem())

    return make


def _survey(key: str, words: str, constraint: Any) -> Callable[[str], Case]:
    def make(source: str) -> Case:
        X, y = bundled_breast_cancer()  # the survey's table: bundled with scikit-learn, and made where that is missing
        origin = "scikit-learn's bundled breast cancer table (made, where that is not installed), columns standardised"
        title = f"Breast cancer, diagnostic, {words}"
        return Case(key, title, origin, "survey", Problem(standardised(X), y, "logistic", constraint))

    return make


def _housing_standardised(key: str, words: str, constraint: Any) -> Callable[[str], Case]:
    def make(source: str) -> Case:
        table = load("california-housing", source)
        X, y = standardised(np.asarray(table.X)), table.y - table.y.mean()
        title, origin = f"{table.label}, standardised, {words}", f"{table.origin}; targets centred"
        return Case(key, title, origin, "further", Problem(X, y, loss="squared", constraint=constraint))

    return make


def _rcv1_large(source: str) -> Case:
    table = load("rcv1", source)
    problem = table.problem().over(L1Ball(10.0 * table.radius))
    return Case("rcv1-large", f"{table.label}, ten times the radius", table.origin, "further", problem)


def _w8a(source: str) -> Case:
    folder = os.environ.get(FOLDER_VARIABLE)
    path = Path(folder or ".") / "w8a.npz"
    if source not in ("auto", "folder") or not folder or not path.exists():
        raise Absent(f"w8a is left out: it is only read from the file w8a.npz in the folder named by {FOLDER_VARIABLE}")
    X, y = read_table(path, (49749, 300), labels=True)
    return Case("w8a", "w8a (folder)", "file w8a.npz", "further", Problem(X, y, "logistic", L1Ball(50.0)))


def _family(key: str, kind: str, level: int) -> Callable[[str], Case]:
    def make(source: str) -> Case:
        member = kappa_member(kind, float(levels(FAMILY_ROWS, FAMILY_LEVELS)[level]), FAMILY_ROWS)
        title = f"Generated, {kind} tails, kappa / n = {member.share:.2g}"
        return Case(key, title, "columns of one 2-norm, tails controlled", "kappa", member.problem)

    return make


def _nonconvex(key: str, table_key: str) -> Callable[[str], Case]:
    def make(source: str) -> Case:
        table = load(table_key, source)
        title, problem = nonconvex_problem(table)
        return Case(key, title, table.origin, "non-convex", problem)

    return make


CATALOGUE: dict[str, Callable[[str], Case]] = {
    "breast-cancer": _paper("breast-cancer"),
    "rcv1": _paper("rcv1"),
    "california-housing": _paper("california-housing"),
    "survey-l1": _survey("survey-l1", "standardised, l1 ball", L1Ball(5.0)),
    "survey-simplex": _survey("survey-simplex", "standardised, simplex", Simplex(1.0)),
    "w8a": _w8a,
    "rcv1-large": _rcv1_large,
    "housing-standardised": _housing_standardised("housing-standardised", "l1 ball", L1Ball(1.0)),
    "housing-l2": _housing_standardised("housing-l2", "l2 ball", L2Ball(0.5)),
    **{
        f"kappa-{kind}-{level + 1}": _family(f"kappa-{kind}-{level + 1}", kind, level)
        for kind in ("power", "lognormal")
        for level in range(FAMILY_LEVELS)
    },
    "breast-cancer-sigmoid": _nonconvex("breast-cancer-sigmoid", "breast-cancer"),
    "rcv1-sigmoid": _nonconvex("rcv1-sigmoid", "rcv1"),
    "housing-cauchy": _nonconvex("housing-cauchy", "california-housing"),
}
"""How each problem is made, given where data may come from (`frankwolfe.datasets.load`)."""

QUICK = (
    "breast-cancer",
    "survey-l1",
    "survey-simplex",
    "housing-standardised",
    "kappa-power-*",
    "breast-cancer-sigmoid",
)
"""What a quick tournament plays: problems that a run takes a few hundredths of a second on."""


def named(patterns: Iterable[str]) -> list[str]:
    """Return the names in the catalogue that fit any of the names or patterns, in the catalogue's order.

    Examples
    --------
    >>> named(["rcv1*"])
    ['rcv1', 'rcv1-large', 'rcv1-sigmoid']
    """
    patterns = list(patterns)
    for pattern in patterns:
        if not any(fnmatchcase(key, pattern) for key in CATALOGUE):
            raise ValueError(
                f"no problem is called {pattern!r}{nearest(pattern, CATALOGUE)} There are {', '.join(CATALOGUE)}; "
                "'kappa-*' means all that begin so"
            )
    return [key for key in CATALOGUE if any(fnmatchcase(key, pattern) for pattern in patterns)]


def collected(problems: Any, source: str, quick: bool) -> tuple[list[Case], list[str]]:
    """Return the cases that an argument ``problems`` means, and why others are left out.

    Parameters
    ----------
    problems : None, str, sequence of str, or mapping of str to Problem
        Names or patterns of the catalogue, or somebody's own problems.
    source : str
        Where data may come from.
    quick : bool
        What None stands for: a few small problems, or all.
    """
    if isinstance(problems, Mapping):
        for key, problem in problems.items():
            if not isinstance(problem, Problem):
                raise TypeError(f"problems[{key!r}] must be a fw.Problem, got {type(problem).__name__}")
        return [
            Case(str(key), str(key), "given", "own" if problem.loss.convex else "non-convex", problem)
            for key, problem in problems.items()
        ], []
    if isinstance(problems, Problem):
        raise TypeError("problems must be names, or a mapping of names to problems: {'mine': problem}")
    if problems is None:
        problems = QUICK if quick else ("*",)
    cases, absent = [], []
    for key in named([problems] if isinstance(problems, str) else problems):
        try:
            cases.append(CATALOGUE[key](source))
        except Absent as why:
            absent.append(str(why))
    return cases, absent
