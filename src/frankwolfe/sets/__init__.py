"""Constraint sets, each defined by its linear minimisation oracle.

The public names, listed in the stub `__init__.pyi` beside this file, are loaded when they are first used.
"""

from frankwolfe.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
