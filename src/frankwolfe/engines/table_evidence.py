"""What the gradient estimate and the table of a stepwise run tell of the optimum: estimates, and slopes that prove."""

from typing import Any

import numpy as np

from frankwolfe.engines.sampled_gap import SampledGap, sampled_gap
from frankwolfe.losses import has_dual
from frankwolfe.methods.gradient import TABLE_CHANGE, Gradient
from frankwolfe.methods.lifecycle import Abilities
from frankwolfe.methods.residual_samples import mean_residual
from frankwolfe.objective.intercept import EPSILON
from frankwolfe.problem import Problem


class TableEvidence:
    """The questions of `frankwolfe.engines.protocol.Engine` that the state of an estimate answers.

    An engine inherits them. What it is asked about is in the attributes below.
    """

    problem: Problem
    abilities: Abilities  # of the estimate
    parts: tuple[Any, ...]  # states of estimate, direction and step rule
    gradient: Gradient
    iterate: Any
    clock: np.ndarray  # steps; rows read by those of this run

    @property
    def steps(self) -> int:
        """Steps made, those of the run that is continued included."""
        return int(self.clock[0])

    def point(self) -> Any:
        """Return the iterate as a new object, as the problem keeps its weights."""
        return self.iterate.dense()

    def gap_estimate(self) -> float:
        """Return ``max_s <r, w - s>`` for the current ``r``: what the exact gap would be if ``r`` were the gradient.

        Where there is a table, ``r`` is what the table adds up to, and the table proves this much plus its residuals.
        """
        return self.problem.gap_for(self._table_gradient(), self.point())

    def _table_gradient(self) -> np.ndarray:
        """Return ``X' alpha``, or the gradient estimate where there is no table."""
        return self.parts[0].total if self.abilities.sums_table else self.gradient.dense()

    def table(self) -> np.ndarray | None:
        """Return the table, if there is one that batches refresh and the loss knows its conjugate; else None."""
        return self.parts[0].alpha if self._certifies_by_table else None

    @property
    def _certifies_by_table(self) -> bool:
        """Whether there is a table that batches refresh and the loss knows its conjugate."""
        kept = (self.abilities.has_table and not self.abilities.reads_all_rows) or self.abilities.smooths
        return kept and has_dual(self.problem.loss)

    @property
    def multipliers(self) -> np.ndarray | None:
        """The mean multipliers of side constraints, if there are any; else None."""
        return None if self.problem.side is None else self.parts[0].side.mean

    @property
    def samples_gap(self) -> bool:
        """Whether a sample of rows tells the gap: the table follows the derivatives, and proves nothing."""
        return self.table_follows and not self.abilities.reads_all_rows and not has_dual(self.problem.loss)

    def sampled_gap(self, draws: int) -> SampledGap:
        """Estimate the gap from a sample of rows, and the error of that by so many draws of a bootstrap."""
        if self.abilities.reads_all_rows or not self.table_follows:
            raise ValueError("a sample tells the gap only where a table follows the derivatives, as that of 'sfw' does")
        r = self._table_gradient()
        return sampled_gap(self.problem, self.iterate, self.parts[0].alpha, r, self.steps, draws)

    @property
    def table_follows(self) -> bool:
        """Whether the table stands for the derivatives at the iterate."""
        return self.abilities.exact_table

    def mean_residual(self) -> tuple[float, float]:
        """Return the mean residual of the rows that steps were about to refresh of late, and its standard error."""
        table = self.table()
        if table is None:
            return np.nan, np.nan
        return mean_residual(self.problem.samples, self.iterate, self.gradient.counters, table, self.steps)

    @property
    def slopes(self) -> np.ndarray | None:
        """The derivatives that the last step has seen, where there is a table."""
        return self.parts[0].alpha if self.abilities.has_table else None

    def dual_value(self, above: float) -> float:
        """Return the bound ``-sum_i p_i f_i*(alpha_i / p_i) - max_s <-r, s>`` of a step that has read all rows.

        Such a step knows the first sum, and its ``r`` is the exact gradient. The support is proven only where it pays.
        """
        if not (self.abilities.sums_conjugates and has_dual(self.problem.loss)):
            return -np.inf
        total, size = self.parts[0].conjugates
        r, constraint = self.gradient.dense(), self.problem.constraint
        with np.errstate(over="ignore", invalid="ignore"):
            bound = -total - constraint.support(-r) - 4.0 * EPSILON * self.problem.n**0.5 * size
        if not bound > above or not self.problem.balances(self.parts[0].alpha):
            return -np.inf
        return float(min(bound, bound + constraint.support(-r) - constraint.proven_support(-r)))

    def table_change(self) -> float | None:
        """Return the sum of all changes of the table so far, if they sample its error; else None."""
        return float(self.gradient.counters[TABLE_CHANGE]) if self.abilities.samples_error else None
