"""Linear algebra that NumPy and SciPy do not have as one call."""
