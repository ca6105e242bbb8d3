"""Stand-ins for the three classes of benchopt that the files of this benchmark derive from.

`install` puts this module in benchopt's place, so that ``from benchopt import BaseSolver`` gives these classes. The
race always runs on them, whether benchopt is installed or not: its measure of memory should not count benchopt.
"""

import itertools
import sys


class Parametrised:
    """A class with a name and a grid of parameters, which become attributes of its instances."""

    name = ""
    parameters: dict = {}
    requirements: list = []

    @classmethod
    def grid(cls):
        """Return every combination of the parameters, as a dictionary."""
        return [
            dict(zip(cls.parameters, values, strict=True)) for values in itertools.product(*cls.parameters.values())
        ]

    @classmethod
    def get_instance(cls, **parameters):
        """Return an instance whose parameters are attributes; those not given take their first value."""
        instance = cls()
        instance.chosen = {**cls.grid()[0], **parameters}
        for name, value in instance.chosen.items():
            setattr(instance, name, value)
        return instance

    @classmethod
    def label(cls, **parameters):
        """Return the name as benchopt writes it: ``name[parameter=value]``."""
        inside = ",".join(f"{name}={value}" for name, value in sorted(parameters.items()))
        return f"{cls.name}[{inside}]" if inside else cls.name

    def skip(self, **_):
        """Return whether to leave this out, and why."""
        return False, None


class BaseObjective(Parametrised):
    """What is minimised, and who judges."""


class BaseDataset(Parametrised):
    """Where data comes from."""


class BaseSolver(Parametrised):
    """A way to minimise."""

    sampling_strategy = None

    def run_once(self, stop_val=1):
        """Run to a coarse precision, so that what compiles on first use has compiled."""
        self.run(stop_val)

    def warm_up(self):
        """Do what must be done once before the first timed run."""


def install():
    """Make ``import benchopt`` give this module."""
    sys.modules["benchopt"] = sys.modules[__name__]
