"""When to take an exact gap: a pass over the data, so not too often; but often enough to stop in time.

The estimated gap is free and *triggers*; the exact gap costs a pass and *certifies*. Certificates are counted in
passes, never in seconds, so that the same seed stops at the same step on a slow day.
"""

SHARE = 0.1
"""Part of the passes that certificates may take."""

STOCHASTIC_OPTIMISM = 10.0
"""How much too low to expect a stochastic estimate at first: it is by 5 to 40 on the paper's data."""

SPACING = 1.5
"""A certificate is also taken, untriggered, whenever the passes have grown by this factor since the last one."""


class CertificateSchedule:
    """Decides when an exact gap is due.

    Parameters
    ----------
    tolerance : float or None
        The gap that ends the run. None: never due.
    optimism : float
        By what factor to expect the estimate to be too low, until a certificate tells.

    Examples
    --------
    >>> schedule = CertificateSchedule(tolerance=1e-3)
    >>> schedule.due(passes=2.0, gap_estimate=1e-2), schedule.due(passes=2.0, gap_estimate=1e-4)
    (False, True)
    """

    def __init__(self, tolerance: float | None, optimism: float = 1.0):
        self.tolerance = tolerance
        self.taken = 0
        self._last = 0.0
        self._optimism = optimism

    def due(self, passes: float, gap_estimate: float) -> bool:
        """Whether to take a certificate now.

        The first one is free to come at the first trigger: a short run must be able to stop. From then on certificates
        stay within their share. An estimate may be wrong on the high side for good, so that nothing triggers: hence
        the untriggered ones, spaced geometrically.
        """
        if self.tolerance is None or passes <= self._last or passes < 1.0:
            return False  # within the first pass most of the table is still empty, and the estimate says nothing
        affordable = self.taken + 1 <= SHARE * passes
        if gap_estimate * self._optimism <= self.tolerance:
            return affordable or self.taken == 0
        return affordable and passes >= SPACING * self._last

    def note(self, passes: float, gap: float, gap_estimate: float) -> None:
        """Remember a certificate, and how much too low the estimate was: the next trigger allows for it."""
        self.taken += 1
        self._last = passes
        self._optimism = max(1.0, gap / gap_estimate) if 0.0 < gap_estimate < gap else 1.0
