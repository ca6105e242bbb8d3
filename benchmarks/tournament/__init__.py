"""Compare all methods of the library on many problems; run it with ``python -m benchmarks.tournament``."""
