"""Data in the format of SVMlight and LIBSVM: ``target index:value index:value ...``, a line for each row.

A remark begins with ``#`` and ends with its line. Blank lines are no rows. Query numbers (``qid:7``) are not read.
Every number is the double nearest to its digits, as Python's ``float`` has it.
"""

from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np

from frankwolfe.compile.kernels import compiling
from frankwolfe.io.streams import is_compressed, opened
from frankwolfe.io.svmlight_blocks import BYTE_ORDER_MARK, Rows, read_mapped, read_stream
from frankwolfe.io.svmlight_lines import parse_line
from frankwolfe.linalg.threads import available_cores

SMALL = 2**18
"""Bytes up to which plain Python is done before compiled code would be loaded."""


def read_svmlight(path: Path, first: int | None = None, threads: int | None = None) -> tuple[Any, np.ndarray, int]:
    """Read rows and targets.

    Parameters
    ----------
    path : Path
        The file, perhaps compressed.
    first : int, optional
        Index of the first column, 0 or 1. By default 0 if that index occurs, else 1.
    threads : int, optional
        How many threads read a large file. By default one for each processor. The answer does not depend on it.

    Returns
    -------
    X : CSR array
        As many columns as the largest index asks for.
    y : array
        The targets.
    first : int
        Index of the first column.
    """
    rows = _read_rows(path, threads or available_cores())
    if not len(rows.targets):
        raise ValueError(f"{path} holds no rows")
    return _as_matrix(path, rows, first)


def _read_rows(path: Path, threads: int) -> Rows:
    with opened(path) as stream:
        start = stream.read(SMALL)
        if len(start) < SMALL or not compiling():
            return _read_plainly(path, start + stream.read())
    if not is_compressed(path):
        return read_mapped(path, threads)
    with opened(path) as stream:
        return read_stream(path, stream, threads)


def _read_plainly(path: Path, content: bytes) -> Rows:
    """Read lines in plain Python."""
    lines = []
    for number, text in enumerate(content.removeprefix(BYTE_ORDER_MARK).split(b"\n"), start=1):
        try:
            line = parse_line(text)
        except ValueError as error:
            raise ValueError(f"{path}, line {number}: {error}") from None
        if line is not None:
            lines.append(line)
    return Rows(
        np.array([line.target for line in lines], dtype=np.float64),
        np.array(list(accumulate(len(line.values) for line in lines)), dtype=np.int64),
        np.array([index for line in lines for index in line.indices], dtype=np.int32),
        np.array([value for line in lines for value in line.values], dtype=np.float64),
    )


def _as_matrix(path: Path, rows: Rows, first: int | None) -> tuple[Any, np.ndarray, int]:
    """Return the rows with the first column's index taken off all indices."""
    from scipy import sparse

    starts = np.concatenate([[0], rows.ends[:-1]])
    filled = rows.ends > starts  # indices increase within a row: its ends say all
    lowest = int(rows.indices[starts[filled]].min(initial=1))
    largest = int(rows.indices[rows.ends[filled] - 1].max(initial=0))
    first = lowest if first is None else first
    if lowest < first:
        raise ValueError(f"{path} has a column 0, but columns were counted from {first} when the model was fitted")
    if first:
        rows.indices[:] -= first
    size = np.int32 if len(rows.values) < 2**31 else np.int64  # SciPy wants both in one type
    indptr = np.concatenate([[0], rows.ends]).astype(size)
    shape = (len(rows.targets), max(1, largest + 1 - first))
    X = sparse.csr_array((rows.values, rows.indices.astype(size, copy=False), indptr), shape=shape)
    X.has_canonical_format = True  # indices increase, so none is repeated
    return X, rows.targets, first
