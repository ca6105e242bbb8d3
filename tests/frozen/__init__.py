"""Recorded answers of some hundred small problems, which a change of the structure must not change."""
