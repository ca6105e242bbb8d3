"""Blocks of rows from matrices, data frames, iterators and files, from which a store is written."""

import re
import tempfile
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from itertools import chain, count
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from scipy import sparse

from frankwolfe.arguments.arrays import checked_sparse
from frankwolfe.io.csv_parquet import Columns, header, separator_of
from frankwolfe.io.read import Features, read_columns
from frankwolfe.io.streams import is_compressed, opened
from frankwolfe.io.svmlight import Rows, read_blocks
from frankwolfe.linalg.threads import default_threads


class RowBlock(NamedTuple):
    """Some rows, with their targets and sample weights, or None."""

    X: Any
    y: Any = None
    weights: Any = None


def as_array(values: Any) -> np.ndarray:
    """Return a list, an array or a column of a frame as an array."""
    return np.asarray(values.to_numpy() if hasattr(values, "to_numpy") else values)


ROWS = 2**16
"""Largest number of rows of a block of a matrix."""

ENTRIES = 2**22
"""Approximate number of entries of a block of a dense matrix."""


def is_stream(source: Any) -> bool:
    """Return whether a source yields blocks: an iterator, or a list of matrices or of tuples of arrays."""
    if isinstance(source, list | tuple):
        first = source[0] if source else None
        return _is_matrix(first) or (isinstance(first, tuple) and len(first) > 0 and _is_matrix(first[0]))
    return hasattr(source, "__next__")


def _is_matrix(X: Any) -> bool:
    return sparse.issparse(X) or (isinstance(X, np.ndarray) and X.ndim == 2) or hasattr(X, "columns")


def from_stream(source: Any) -> Iterator[RowBlock]:
    """Yield the blocks of an iterator: ``X``, ``(X, y)`` or ``(X, y, sample_weight)`` each."""
    for number, block in enumerate(source):
        if isinstance(block, tuple):
            if not 1 <= len(block) <= 3:
                raise ValueError(
                    f"block {number} is a tuple of {len(block)}: expected X, (X, y) or (X, y, sample_weight)"
                )
            yield RowBlock(*block)
        else:
            yield RowBlock(block)


def from_matrix(X: Any, y: Any = None, weights: Any = None) -> Iterator[RowBlock]:
    """Yield the rows of a matrix or a data frame in blocks."""
    if sparse.issparse(X):
        X = sparse.csr_array(checked_sparse("X", X))
    elif isinstance(X, list | tuple):
        X = np.array(X, dtype=np.float64) if len({np.shape(row) for row in X}) == 1 else np.array(X)
    if np.ndim(X) != 2:
        raise ValueError(f"X must have two dimensions (rows, columns), got shape {np.shape(X)}")
    y, weights = (None if values is None else as_array(values) for values in (y, weights))
    n, d = X.shape
    for name, values in (("y", y), ("sample_weight", weights)):
        if values is not None and len(values) != n:
            raise ValueError(f"{name} has {len(values)} entries, but there are {n} rows in X")
    step = ROWS if sparse.issparse(X) else max(1, min(ROWS, ENTRIES // max(d, 1)))
    for first in range(0, n, step):
        part = slice(first, first + step)
        yield RowBlock(X[part], None if y is None else y[part], None if weights is None else weights[part])


def peeked(source: Any) -> tuple[RowBlock, Iterator[RowBlock]]:
    """Return the first block of an iterator, and an iterator over all of them."""
    blocks = from_stream(source)
    first = next(blocks, None)
    if first is None:
        raise ValueError("there are no rows to write: the iterator yields no block")
    return first, chain([first], blocks)


PIECE = 2**26
"""Approximate number of bytes of a CSV file that are read at a time."""

RECORDS = 2**18
"""Largest number of rows of a Parquet file that are read at a time."""

ENTRIES = 2**23
"""Approximate number of entries of a Parquet file that are read at a time."""

ADVICE = "Fill them in, remove the rows, or leave columns out with --ignore"
"""Advice in the message about missing values."""


class Named(NamedTuple):
    """Names of the columns of a file that are not features.

    Attributes
    ----------
    target : sequence of str
        Columns to predict.
    weights : str or None
        Column of sample weights.
    ignore : sequence of str
        Columns to leave out.
    """

    target: Sequence[str] = ()
    weights: str | None = None
    ignore: Sequence[str] = ()


class StartsAtZeroError(Exception):
    """An svmlight file has a column 0, but was read as if columns were counted from one."""


def from_svmlight(path: Path, first: int) -> Iterator[RowBlock]:
    """Yield the rows of an svmlight file whose columns are counted from ``first``, in the order of the file.

    Raise `StartsAtZeroError` if a column is less than ``first``.
    """
    for rows in read_blocks(path, default_threads()):
        yield _as_block(rows, first)


def _as_block(rows: Rows, first: int) -> RowBlock:
    """Return parsed svmlight rows as a CSR array with targets. Columns are counted from ``first`` in the file."""
    indices = rows.indices  # not shared with other blocks, so it is changed in place
    if first:
        indices -= np.int32(first)
    if indices.min(initial=0) < 0:
        raise StartsAtZeroError
    starts = np.concatenate([[0], rows.ends]).astype(np.int32)
    shape = (len(rows.targets), max(1, int(indices.max(initial=0)) + 1))
    X = sparse.csr_array((rows.values, indices, starts), shape=shape)
    X.has_canonical_format = True  # the parser has checked that indices increase
    return RowBlock(X, rows.targets)


def names_of(path: Path, kind: str) -> list[str]:
    """Return the names of a file's columns."""
    if kind == "csv":
        return header(path, separator_of(path))
    return Columns(path, kind, rows=slice(0, 1)).names


def from_columns(path: Path, kind: str, named: Named, features: Features) -> Iterator[RowBlock]:
    """Yield the rows of a CSV or Parquet file in the order of the file; ``features`` are the columns to keep."""
    with closing(_csv_pieces(path) if kind == "csv" else _parquet_pieces(path, features.number)) as pieces:
        for piece, lines, part in pieces:
            try:
                columns = Columns(piece, kind, rows=part)
                if not columns.size:
                    return
                data = read_columns(columns, named.target, named.weights, named.ignore, features, ADVICE)
            except ValueError as error:
                raise ValueError(_relocated(str(error), piece, path, lines)) from None
            yield RowBlock(data.X, data.targets, data.weights)


Piece = tuple[Path, int, slice | None]
"""A file to read, the number of lines of the source before it, and the slice of its rows to read, or None for all."""


def _parquet_pieces(path: Path, width: int) -> Generator[Piece]:
    """Yield slices of the rows of a Parquet file, without end. The caller stops at the first empty piece."""
    if is_compressed(path):
        yield path, 0, None  # a compressed file cannot be read in pieces
        return
    step = max(1, min(RECORDS, ENTRIES // max(width, 1)))
    for first in count(0, step):
        yield path, 0, slice(first, first + step)


def _csv_pieces(path: Path) -> Generator[Piece]:
    """Split a CSV file into temporary files, each with the header line. Yield a small file as it is."""
    if not is_compressed(path) and path.stat().st_size <= PIECE:
        yield path, 0, None
        return
    with opened(path) as stream, tempfile.TemporaryDirectory() as folder:
        top = stream.readline()
        while not top.strip():
            top = stream.readline()
        lines, piece = 1, Path(folder) / "piece.csv"
        for text in _whole_records(stream):
            piece.write_bytes(top + text)
            yield piece, lines - 1, None
            lines += text.count(b"\n")


def _whole_records(stream: BinaryIO) -> Iterator[bytes]:
    """Yield pieces of about `PIECE` bytes that end at the end of a record: at a line end outside of quotation marks."""
    rest = b""
    while content := stream.read(PIECE):
        text = rest + content
        end = text.rfind(b"\n") + 1
        while end and text.count(b'"', 0, end) % 2:  # inside a quoted field: go back by one line
            end = text.rfind(b"\n", 0, end - 1) + 1
        if end:
            yield text[:end]
        rest = text[end:]
    if rest.strip():
        yield rest


def _relocated(message: str, piece: Path, path: Path, before: int) -> str:
    """Return the message of an error in a piece, with the path and the line number of the whole file."""
    message = message.replace(str(piece), str(path))
    return re.sub(r"\bline (\d+)", lambda found: f"line {int(found[1]) + before:d}", message)
