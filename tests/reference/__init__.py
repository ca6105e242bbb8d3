"""Textbook versions of the methods, to compare the library with."""
