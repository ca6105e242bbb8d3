"""Data on a Dask cluster: rows stay on the workers, and what travels is small.

The rows are in *parts*, one on each worker. A call runs one function on every part and adds up what it returns.
Predictions, slopes and copies of columns are never sent: the client holds *handles* to them, which say how they are
made, and a part that has lost something makes it again.
"""
