"""Rows by layout: how one row, and all of them, are read."""
