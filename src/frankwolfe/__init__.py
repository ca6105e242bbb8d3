"""Learning under constraints without projections.

    import frankwolfe as fw

    problem = fw.Problem(X, y, loss="logistic", constraint=fw.L1Ball(100.0))
    result = fw.minimize(problem, tol=1e-6)
    result.x, result.fun, result.gap

Names are loaded when they are first used: importing the package imports neither NumPy nor numba. The public names are
listed once, in the stub `__init__.pyi` beside this file.

All losses are in `fw.losses` and all sets in `fw.sets`. Those that most people use are listed here too. The others are
found here without being listed, so that nobody needs to remember which ones are.
"""

from frankwolfe.lazy import attach

__version__ = "0.2.0"

__getattr__, __dir__, __all__ = attach(__name__, __file__, short_names_of=("losses", "sets"))
