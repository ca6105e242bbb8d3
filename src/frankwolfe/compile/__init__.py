"""Compiled code in one pattern: verbs, kernels, their cache."""
