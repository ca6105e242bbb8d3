"""`Tournament`: what the runs of a tournament found."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from frankwolfe.arguments.lookup import lookup
from frankwolfe.experiments.tournament.kappa_effect import KappaEffect, kappa_effect
from frankwolfe.experiments.tournament.profiles import Costs, Profile, first_below, performance_profile
from frankwolfe.experiments.tournament.ranking import Standing, rank
from frankwolfe.experiments.tournament.runs import Budget, Facts, Run
from frankwolfe.storage.files import replacing

TAUS = np.geomspace(1.0, 100.0, 81)
SMALLEST_SECONDS = 1e-6

QUANTITIES = {"passes": "passes", "seconds": "seconds", "oracle_calls": "oracle calls"}


class Entry(NamedTuple):
    """A problem of a tournament, without its data.

    Attributes
    ----------
    key, title, origin, group, family : str
        As of a `catalogue.Case`.
    facts : Facts
        Sizes, F(0), the certified optimum, kappa.
    """

    key: str
    title: str
    origin: str
    group: str
    family: str
    facts: Facts


@dataclass(frozen=True)
class Tournament:
    """What a tournament found.

    Attributes
    ----------
    entries : dict of str to Entry
        The problems.
    methods : list of str
        Names of the methods.
    references : set of str
        Those of them that do not contend: they are shown for comparison.
    seeds : int
        Seeds of the stochastic methods; the others are run once.
    runs : list of Run
        All runs that were made, also those that failed.
    missing : int
        Runs that were not made, because the tournament was broken off.
    accuracies : tuple of float
        Accuracies that costs are measured at: ``F - F* <= accuracy * F(0)``; for a loss that is not convex, a part of
        the exact gap at the start.
    budget : Budget
        Of every run.
    notes : list of str
        What was left out, and why.
    """

    entries: dict[str, Entry]
    methods: list[str]
    references: frozenset[str]
    seeds: int
    runs: list[Run]
    missing: int
    accuracies: tuple[float, ...]
    budget: Budget
    notes: Sequence[str] = ()
    jobs: int = 1

    @property
    def failures(self) -> list[Run | Facts]:
        """What went wrong: runs, and problems whose optimum could not be bounded."""
        return [entry.facts for entry in self.entries.values() if entry.facts.failed] + [
            run for run in self.runs if run.failed
        ]

    @property
    def contenders(self) -> list[str]:
        """Methods that contend."""
        return [name for name in self.methods if name not in self.references]

    def names(self, *groups: str) -> list[str]:
        """Names of the problems in some groups; of all convex ones where none is named."""
        return [
            key
            for key, entry in self.entries.items()
            if (entry.group in groups if groups else entry.group != "non-convex")
        ]

    def of(self, problem: str, method: str) -> list[Run]:
        """Return the runs of a method on a problem that did not fail, by seed."""
        return sorted(
            (run for run in self.runs if (run.problem, run.method) == (problem, method) and not run.failed),
            key=lambda run: run.seed,
        )

    # --- costs ------------------------------------------------------------------------------------------------

    def suboptimality(self, run: Run) -> np.ndarray:
        """Return ``F - F*`` of the traced points, from the proven lower bound on ``F*``: never less than the truth."""
        return run.columns["fun"] - self.entries[run.problem].facts.lower_bound

    def cost(self, run: Run, accuracy: float, by: str = "passes") -> float:
        """Return what a run paid until it met an accuracy; infinite if it did not."""
        facts = self.entries[run.problem].facts
        if run.failed or not run.columns[by].size:
            return np.inf
        if facts.convex:
            value, scale = self.suboptimality(run), facts.zero_value
        else:
            value = np.minimum.accumulate(run.columns["fw_gap"])
            scale = float(value[0])
        least = {"passes": 1.0 / max(facts.n, 1), "seconds": SMALLEST_SECONDS}.get(by, 1.0)
        return max(first_below(run.columns[by], value, accuracy * scale), least)

    def end(self, problem: str, method: str) -> float:
        """Return the least ``F - F*`` of a method within its budget, geometric mean over seeds; NaN without a run."""
        ends = [self.suboptimality(run).min() for run in self.of(problem, method)]
        return float(np.exp(np.mean(np.log(np.maximum(ends, 1e-300))))) if ends else np.nan

    def costs(self, accuracy: float, by: str = "passes", problems: Sequence[str] | None = None) -> Costs:
        """Return what all methods paid for an accuracy on some problems: by default on all convex ones."""
        lookup("by", by, QUANTITIES)
        keys = self.names() if problems is None else list(problems)
        values = np.full((len(self.methods), len(keys), self.seeds), np.nan)
        spent = np.zeros(len(keys))
        for run in self.runs:
            if run.problem not in keys:
                continue
            row, column = self.methods.index(run.method), keys.index(run.problem)
            values[row, column, run.seed] = self.cost(run, accuracy, by)
            if run.columns[by].size and run.method not in self.references:
                spent[column] = max(spent[column], run.columns[by][-1])
        once = np.isnan(values[:, :, 1:]).all(axis=2)  # nothing was left to chance: one run stands for all seeds
        values = np.where(once[:, :, None] & ~self._drawn()[:, None, None], values[:, :, :1], values)
        budgets = np.full(len(keys), self.budget.max_passes) if by == "passes" else spent
        families = [self.entries[key].family for key in keys]
        contends = np.array([name not in self.references for name in self.methods])
        return Costs(list(self.methods), contends, keys, families, values, budgets)

    def _drawn(self) -> np.ndarray:
        """Which methods were run with several seeds."""
        several = {run.method for run in self.runs if run.seed > 0}
        return np.array([name in several for name in self.methods])

    # --- what follows from them -------------------------------------------------------------------------------

    def profile(self, accuracy: float, by: str = "passes", problems: Sequence[str] | None = None) -> Profile:
        """Return performance profiles (Dolan and More) for an accuracy.

        Parameters
        ----------
        accuracy : float
            ``F - F* <= accuracy * F(0)``.
        by : str
            ``"passes"``, ``"seconds"`` or ``"oracle_calls"``.
        problems : sequence of str, optional
            By default all convex ones.

        Returns
        -------
        Profile
            ``tau``, and for each method the share of cases on which it needs at most ``tau`` times the least cost.
        """
        return performance_profile(self.costs(accuracy, by, problems), TAUS)

    def ranking(
        self, accuracy: float | None = None, by: str = "passes", problems: Sequence[str] | None = None
    ) -> list[Standing]:
        """Rank the methods by their mean log-ratio to the best contender, with bootstrap intervals over problems.

        Parameters
        ----------
        accuracy : float, optional
            By default the middle one of `accuracies`.
        by : str
            ``"passes"``, ``"seconds"`` or ``"oracle_calls"``.
        problems : sequence of str, optional
            By default all convex ones.

        Returns
        -------
        list of Standing
            The best first.
        """
        return rank(self.costs(self.middle if accuracy is None else accuracy, by, problems))

    @property
    def middle(self) -> float:
        """The middle one of the accuracies."""
        return self.accuracies[len(self.accuracies) // 2]

    def kappa_effect(
        self, method: str = "sfw", accuracy: float | None = None, by: str = "passes"
    ) -> KappaEffect | None:
        """Return how a method's cost goes with kappa / n over the generated family; None where that was not played."""
        keys = [key for key in self.names("kappa") if not self.entries[key].facts.failed]
        if not keys or method not in self.contenders:
            return None
        facts = {key: self.entries[key].facts for key in keys}
        return kappa_effect(
            self.costs(self.middle if accuracy is None else accuracy, by, keys),
            np.array([[self.end(key, name) for key in keys] for name in self.methods]),
            method,
            {key: fact.kappa_share for key, fact in facts.items()},
            {key: fact.norm_product for key, fact in facts.items()},
        )

    # --- to others --------------------------------------------------------------------------------------------

    def table(self) -> dict[str, list[Any]]:
        """Return one row a run as equally long columns, ready for ``pandas.DataFrame``.

        Columns: ``problem, method, seed, status, error, batch_size, passes, seconds, oracle_calls`` (all of the run),
        ``fun, gap`` (at its end), ``suboptimality`` (the least, over ``F(0)``), and ``passes to A``, ``seconds to A``
        for every accuracy ``A``.
        """
        return {name: [row[name] for row in map(self._row, self.runs)] for name in self._row(_NOTHING)}

    def _row(self, run: Run) -> dict[str, Any]:
        last = {name: float(column[-1]) if column.size else np.nan for name, column in run.columns.items()}
        row: dict[str, Any] = {name: getattr(run, name) for name in _ABOUT}
        row |= {name: last[name] for name in ("passes", "seconds", "oracle_calls", "fun", "gap")}
        known = run.problem in self.entries and not run.failed
        facts = self.entries[run.problem].facts if known else Facts("")
        row["suboptimality"] = float(self.suboptimality(run).min() / facts.zero_value) if facts.n else np.nan
        for by in ("passes", "seconds"):
            for accuracy in self.accuracies:
                row[f"{by} to {accuracy:g}"] = self.cost(run, accuracy, by) if known else np.nan
        return row

    def write_csv(self, path: str | Path) -> None:
        """Write `table` to a CSV file."""
        columns = self.table()
        text = io.StringIO(newline="")
        writer = csv.writer(text)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
        with replacing(path) as stream:
            stream.write(text.getvalue().encode())

    def report(self, path: str | Path) -> None:
        """Write the page: one HTML file that opens offline."""
        from frankwolfe.experiments.render import render
        from frankwolfe.experiments.tournament.tournament_page import compose_page

        with replacing(path) as stream:
            stream.write(render(compose_page(self)).encode())

    def __repr__(self) -> str:
        broken = f", {self.missing} missing" if self.missing else ""
        size = f"{len(self.methods)} methods on {len(self.entries)} problems"
        return f"<Tournament: {len(self.runs)} runs of {size}{broken}>"


_ABOUT = ("problem", "method", "seed", "status", "error", "batch_size")
_NOTHING = Run("", "", 0)
