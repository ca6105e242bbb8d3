"""Certificates that anyone can check: how they are written, and the verifier, which needs NumPy alone."""
