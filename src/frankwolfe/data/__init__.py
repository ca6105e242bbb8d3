"""Rows of data, by layout, and points that predict from them."""
