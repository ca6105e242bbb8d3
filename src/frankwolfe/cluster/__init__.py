"""Data on a Dask cluster: rows stay on the workers, and only small messages travel.

The rows are split into *parts*, one for each worker. A call runs one function on every part and sums the results.
Predictions, slopes and copies of columns are never sent. The client holds *handles* to them. A handle records how its
value is computed, so a part that has lost the value computes it again.
"""
