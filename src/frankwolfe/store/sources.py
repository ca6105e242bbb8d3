"""Blocks of rows from matrices, frames, iterators and files: what a store is written from."""

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
    """Some rows, with their targets and weights where there are any."""

    X: Any
    y: Any = None
    weights: Any = None


def as_array(values: Any) -> np.ndarray:
    """Return a list, an array or a column of a frame as an array."""
    return np.asarray(values.to_numpy() if hasattr(values, "to_numpy") else values)


ROWS = 2**16
"""Rows that are taken from a matrix at a time, at most; fewer where they are long."""

ENTRIES = 2**22
"""Entries of a dense matrix that are taken at a time, about."""


def is_stream(source: Any) -> bool:
    """Whether a source yields blocks, rather than being one: an iterator, or a list of matrices or tuples of them."""
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
    """Yield the rows of a matrix or a frame, some at a time."""
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
"""Bytes of a CSV file that are read at a time, about; a smaller file is read whole."""

RECORDS = 2**18
"""Rows of a Parquet file that are read at a time, at most; fewer where they are long."""

ENTRIES = 2**23
"""Numbers of a Parquet file that are read at a time, about."""

ADVICE = "Fill them in, remove the rows, or leave columns out with --ignore"
"""What to do about missing values."""


class Named(NamedTuple):
    """Which columns of a file are what.

    Attributes
    ----------
    target : sequence of str
        To predict.
    weights : str or None
        Sample weights.
    ignore : sequence of str
        To leave out.
    """

    target: Sequence[str] = ()
    weights: str | None = None
    ignore: Sequence[str] = ()


class StartsAtZeroError(Exception):
    """Columns of an svmlight file were taken to be counted from one, and there is a column 0."""


def from_svmlight(path: Path, first: int) -> Iterator[RowBlock]:
    """Yield the rows of an svmlight file, columns counted from ``first``, in the order of the file.

    Raises `StartsAtZeroError` if a column comes before the first one.
    """
    for rows in read_blocks(path, default_threads()):
        yield _as_block(rows, first)


def _as_block(rows: Rows, first: int) -> RowBlock:
    indices = rows.indices  # of this block alone: changed in place
    if first:
        indices -= np.int32(first)
    if indices.min(initial=0) < 0:
        raise StartsAtZeroError
    starts = np.concatenate([[0], rows.ends]).astype(np.int32)
    shape = (len(rows.targets), max(1, int(indices.max(initial=0)) + 1))
    X = sparse.csr_array((rows.values, indices, starts), shape=shape)
    X.has_canonical_format = True  # indices increase, as the parser has checked
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
                raise ValueError(_placed(str(error), piece, path, lines)) from None
            yield RowBlock(data.X, data.targets, data.weights)


Piece = tuple[Path, int, slice | None]
"""A file to read, how many lines come before it, and which of its rows to take, if not all."""


def _parquet_pieces(path: Path, width: int) -> Generator[Piece]:
    """Yield pieces of a Parquet file, without end: the first that is empty is the last."""
    if is_compressed(path):
        yield path, 0, None  # compressed as a whole, it cannot be read in pieces
        return
    step = max(1, min(RECORDS, ENTRIES // max(width, 1)))
    for first in count(0, step):
        yield path, 0, slice(first, first + step)


def _csv_pieces(path: Path) -> Generator[Piece]:
    """Yield pieces of a CSV file, each with the header: copies on disk, which are read like any file."""
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
    """Yield pieces that end with records: at a line end that is not inside of quotation marks."""
    rest = b""
    while content := stream.read(PIECE):
        text = rest + content
        end = text.rfind(b"\n") + 1
        while end and text.count(b'"', 0, end) % 2:  # inside of a field: to the line end before it
            end = text.rfind(b"\n", 0, end - 1) + 1
        if end:
            yield text[:end]
        rest = text[end:]
    if rest.strip():
        yield rest


def _placed(told: str, piece: Path, path: Path, before: int) -> str:
    """Return a message about a piece as one about the file."""
    told = told.replace(str(piece), str(path))
    return re.sub(r"\bline (\d+)", lambda found: f"line {int(found[1]) + before:d}", told)
