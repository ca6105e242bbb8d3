"""When to take a certificate: it costs a pass over the data or half of one, so not too often; but in time.

What is estimated for nothing *triggers*, what is exact *certifies*. Certificates are counted in passes, never in
seconds, so that the same seed stops at the same step on a slow day.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

SHARE = 0.1
"""Part of the passes that certificates may take."""

TABLE_SHARE = 0.05
"""The same where a table certifies, with predictions only."""

SPACING = 1.5
"""A certificate is also taken, untriggered, whenever the passes have grown by this factor since the last one."""

RETRY = 1.25
"""A certificate that missed is taken again, if a table or sample triggers, once passes have grown by this factor."""

SAMPLE_AGAIN = 1.1
"""A sample of rows is looked at again once the passes have grown by this factor."""


REMEMBERED = ("taken", "passes", "_last", "_last_triggered", "_triggered", "_last_sample", "_optimism")
"""Attributes of a schedule that change in a run."""


class CertificateSchedule:
    """Decides when a certificate is due.

    Parameters
    ----------
    tolerance : float or None
        The gap that ends the run. None: never due.
    optimism : float
        By what factor to expect the estimated gap to be too low, until a certificate tells.
    by_table : bool
        Whether the table certifies: half a pass, triggered by an estimate of what it will say.
    by_sample : bool
        Whether samples of rows trigger, where the table proves nothing: a small part of a pass.

    Examples
    --------
    >>> schedule = CertificateSchedule(tolerance=1e-3)
    >>> schedule.due(passes=2.0, gap_estimate=1e-2), schedule.due(passes=2.0, gap_estimate=1e-4)
    (False, True)
    """

    def __init__(self, tolerance: float | None, optimism: float = 1.0, by_table: bool = False, by_sample: bool = False):
        self.tolerance = tolerance
        self.by_table, self.by_sample = by_table, by_sample
        self.taken, self.passes = 0, 0.0
        self._last, self._last_triggered, self._triggered, self._last_sample = 0.0, 0.0, False, 0.0
        self._optimism = optimism

    def due(self, passes: float, gap_estimate: float, bound_estimate: float = np.nan) -> bool:
        """Whether to take a certificate now.

        The first one is free to come at the first trigger: a short run must be able to stop. From then on certificates
        stay within their share. An estimate may be wrong on the high side for good, so that nothing triggers: hence
        the untriggered ones, spaced geometrically.
        """
        if self.tolerance is None or passes <= self._last or passes < 1.0:
            return False  # within the first pass most of the table is still empty, and the estimate says nothing
        share, price = (TABLE_SHARE, 0.5) if self.by_table else (SHARE, 1.0)
        affordable = self.passes + price <= share * passes
        self._triggered = bound_estimate <= self.tolerance
        if self._triggered:
            again = (self.by_table or self.by_sample) and passes >= RETRY * self._last_triggered
            return affordable or self.taken == 0 or again
        if not (self.by_table or self.by_sample) and gap_estimate * self._optimism <= self.tolerance:
            return affordable or self.taken == 0
        return affordable and passes >= SPACING * self._last

    def sample_due(self, passes: float, gap_estimate: float) -> bool:
        """Whether to look at a sample of rows now: where the estimated gap gives hope, and not too often."""
        hopeful = self.tolerance is not None and passes >= 1.0 and gap_estimate <= self.tolerance
        return self.by_sample and hopeful and passes >= SAMPLE_AGAIN * self._last_sample

    def note_sample(self, passes: float, price: float) -> None:
        """Remember a sample and its price in passes."""
        self.passes += price
        self._last_sample = passes

    def note(self, passes: float, gap: float, gap_estimate: float, price: float = 1.0) -> None:
        """Remember a certificate, its price in passes, and how much too low the estimated gap was, if that is known.

        The next trigger allows for it.
        """
        self.taken += 1
        self.passes += price
        self._last = passes
        self._last_triggered = passes if self._triggered else self._last_triggered
        if not np.isnan(gap):
            self._optimism = max(1.0, gap / gap_estimate) if 0.0 < gap_estimate < gap else 1.0

    def state(self) -> dict[str, Any]:
        """Return what is remembered of the certificates so far."""
        return {name: getattr(self, name) for name in REMEMBERED}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on where the schedule with this state was; the tolerance may be another one."""
        for name in REMEMBERED:
            setattr(self, name, state[name])
