"""Estimators that solve problems and keep what was certified of the answers."""

import re
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed

from frankwolfe.advice import ScaleWarning
from frankwolfe.arguments.settings import warn_user
from frankwolfe.estimators.parameters import PartParameters
from frankwolfe.problem import Problem
from frankwolfe.result import Result, Status
from frankwolfe.run import minimize, resume

SAID: set[tuple] = set()
"""Advice that has been given in this process: the estimator, the text without its numbers, the radii, the shape."""

WHAT_TO_DO = {
    Status.MAX_PASSES: "Raise max_passes or tol, or scale the data.",
    Status.STALLED: "Raise tol, or scale the data.",
    Status.INTERRUPTED: "Fit again for an answer within the tolerance.",
}
"""Advice for a run that ended without a certificate, where its own message has none."""


class CertifiedEstimator(PartParameters):
    """An estimator that solves one problem, or several at a time."""

    method: Any
    tol: float
    max_passes: float | None
    random_state: Any
    n_threads: int | None
    verbose: int
    n_jobs: int | None = None

    def _options(self) -> dict[str, Any]:
        """Return what `minimize` is told. What scikit-learn calls a random state may be older than generators."""
        seed = self.random_state
        if seed is None or isinstance(seed, np.random.RandomState):
            seed = int(check_random_state(seed).randint(2**31 - 1))
        return {
            "method": self.method,
            "tol": self.tol,
            "max_passes": self.max_passes,
            "random_state": seed,
            "n_threads": self.n_threads,
        }

    def _minimized(self, problems: list[Problem], starts: list[Any], checkpoint: Any = None) -> list[Result]:
        """Solve the problems, keep what is known of the answers, and return these.

        With a checkpoint there must be one: what is in the file goes on, or the run is kept there.
        """
        options = self._options()
        if checkpoint is not None:
            if len(problems) > 1:
                raise ValueError(
                    f"checkpoint goes with a fit that is one run, and this one is {len(problems)}, one for each class: "
                    "leave checkpoint out, or choose a loss for all classes together, as 'multinomial' is"
                )
            results = [_checkpointed(problems[0], starts[0], bool(self.verbose), options, checkpoint)]
            self._record(results)
            return results
        if self.n_threads is None and len(problems) > 1 and self.n_jobs not in (None, 1):
            options["n_threads"] = 1  # each run has a thread of its own
        # compiled code lets go of the interpreter: threads serve, and nothing is copied
        results = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(_minimize)(problem, start, bool(self.verbose), options)
            for problem, start in zip(problems, starts, strict=True)
        )
        self._record(results)
        return results

    def _record(self, results: list[Result]) -> None:
        """Keep the results and their numbers; warn of runs that ended without a certificate, in the worst's words."""
        self._advise(results)
        light = [replace(found, trace=copy(found.trace)) for found in results]  # copied, a trace lets go of the data
        self.result_ = light[0] if len(light) == 1 else light
        self.gap_ = max(found.gap for found in results)
        self.n_iter_ = max(found.nit for found in results)
        self.passes_ = max(found.passes for found in results)
        missed = [found for found in results if not found.success and self.tol > 0]
        if missed:
            worst = max(missed, key=lambda found: (found.status is Status.INTERRUPTED, found.gap))
            advice = WHAT_TO_DO.get(worst.status, "")
            text = f"{type(self).__name__} is not certified to its tolerance. {worst.message} {advice}"
            warn_user(text.rstrip(), ConvergenceWarning)

    def _advice(self, found: Result) -> list[str]:
        """Return what there is to say about a result."""
        return found.advice

    def _advise(self, results: list[Result]) -> None:
        """Say what keeps the model from fitting, if anything does: scales of columns, a radius far too small.

        Once for each kind of model, radius and number of columns, as folds and grids would say it over and over:
        scikit-learn resets what Python remembers of its warnings between folds. ``result_.advice`` has it always.
        """
        # classes that are fitted one by one get the same advice with other numbers: one of them is enough
        told = {re.sub(r"[\d.,]+", "", text): text for found in results for text in self._advice(found)}
        given = self.get_params(deep=False)
        about = (type(self), *told, str(given.get("radius", given.get("radii"))), np.shape(results[0].x))
        if told and about not in SAID:
            SAID.add(about)
            text = f"{type(self).__name__}: {' '.join(told.values())}"
            warn_user(text, ScaleWarning)


def _minimize(problem: Problem, x0: Any, verbose: bool, options: dict[str, Any]) -> Result:
    # a trace is worth its passes over the data only to somebody who looks on
    return minimize(problem, x0=x0, progress=verbose, trace=10 if verbose else 0, **options)


def _checkpointed(problem: Problem, x0: Any, verbose: bool, options: dict[str, Any], path: Any) -> Result:
    """Return the result of a run that is kept in a file: the one that is there goes on, under these limits."""
    if not Path(path).exists():
        return _minimize(problem, x0, verbose, {**options, "checkpoint": path})
    kept = {name: options[name] for name in ("method", "tol", "max_passes", "n_threads")}
    return resume(path, problem, progress=verbose, **kept)
