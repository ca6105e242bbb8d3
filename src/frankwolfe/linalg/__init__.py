"""Linear algebra that NumPy and SciPy lack, the lazy argmax, and threads."""
