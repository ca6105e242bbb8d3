"""Warnings that point at the line of the user's code that led to them."""

import sys
import warnings

LIBRARIES = ("frankwolfe", "sklearn", "joblib")
"""Packages whose frames are skipped: ours, and those that call our estimators on behalf of a user."""


def warn_user(text: str, category: type[Warning]) -> None:
    """Issue a warning at the innermost line outside of this library, scikit-learn and joblib.

    Parameters
    ----------
    text : str
        What the warning says.
    category : type
        Its class.
    """
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in LIBRARIES:
        level, frame = level + 1, frame.f_back
    warnings.warn(text, category, stacklevel=level)
