"""`write_rows`: write a row store from matrices, data frames, iterators or files, piece by piece."""

import os
import re
import tempfile
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from itertools import chain, count
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from scipy import sparse

from frankwolfe.arguments.arrays import FLOATS, checked_sparse, column_names
from frankwolfe.arguments.names import as_flag, teaching
from frankwolfe.arguments.types import RowNumbers, TableLike, TargetValues
from frankwolfe.io.csv_parquet import Columns, header, separator_of
from frankwolfe.io.read import Features, feature_names, read_columns
from frankwolfe.io.streams import is_compressed, kind_of, opened, refusing_damage, require_file
from frankwolfe.io.svmlight import read_blocks
from frankwolfe.linalg.threads import default_threads
from frankwolfe.store.reader import DEFAULT_MEMORY, RowStore, as_bytes, open_rows
from frankwolfe.store.writer import SHARD, RowBlock, Wanted, write_blocks

ROWS, ENTRIES = 2**16, 2**23
"""Largest number of rows, and approximate number of entries, of a block of a matrix."""

PIECE = 2**26
"""Approximate number of bytes of a CSV file that are read at a time."""

RECORDS = 2**18
"""Largest number of rows of a Parquet file that are read at a time."""

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


@teaching
def write_rows(
    path: str | os.PathLike,
    source: Any,
    y: TargetValues = None,
    sample_weight: RowNumbers = None,
    *,
    target: str | Sequence[str] = (),
    weights: str | None = None,
    ignore: str | Sequence[str] = (),
    dtype: Any = None,
    shard: int | str = SHARD,
    append: bool = False,
    progress: bool = False,
    memory: int | str = DEFAULT_MEMORY,
) -> RowStore:
    """Write rows to a store on disk: a folder of binary files, for problems that are larger than memory.

    Values are validated when they are written. If an error occurs, no store is created or changed.

    Parameters
    ----------
    path : str or Path
        The folder to create. It must not exist, unless ``append`` is True.
    source : array, sparse matrix, data frame, iterator, str or Path
        The rows; or an iterator of blocks, each ``X``, ``(X, y)`` or ``(X, y, sample_weight)``; or the path of an
        svmlight, CSV or Parquet file. Iterators and files are processed piece by piece, not loaded as a whole.
    y : array of shape (n,), or (n, outputs), optional
        TargetValues of a matrix or a data frame. Strings and booleans are classes.
    sample_weight : array of shape (n,), optional
        Non-negative weights of the rows of a matrix or a data frame.
    target : str or sequence of str
        Columns of a CSV or Parquet file to predict.
    weights : str, optional
        Column of a CSV or Parquet file that holds sample weights.
    ignore : str or sequence of str
        Columns of a CSV or Parquet file to leave out.
    dtype : str or dtype, optional
        ``"float64"`` or ``"float32"``, which takes half the space and half the time to read. By default the type of
        the first block.
    shard : int or str
        Approximate size of a shard, the unit of reading: bytes, or a string such as ``"16MB"``.
    append : bool
        Whether to append to an existing store.
    progress : bool
        Whether to show a progress bar (needs tqdm).
    memory : int or str
        Memory of the returned store, as for `open_rows`.

    Returns
    -------
    RowStore
        The store, opened.

    Examples
    --------
    >>> import tempfile, numpy as np, frankwolfe as fw
    >>> folder = tempfile.TemporaryDirectory()
    >>> rng = np.random.default_rng(0)
    >>> blocks = ((X, X @ [1.0, 2.0, 0.0]) for X in (rng.normal(size=(100, 3)) for _ in range(5)))
    >>> store = fw.write_rows(f"{folder.name}/rows", blocks)
    >>> store.shape
    (500, 3)
    >>> problem = fw.Problem(store, loss="squared", constraint=fw.L1Ball(10.0))
    >>> abs(fw.minimize(problem, tol=1e-9).x.round(3))
    array([1., 2., 0.])
    >>> folder.cleanup()
    """
    if dtype is not None and np.dtype(dtype).type not in FLOATS:
        raise ValueError(f"dtype must be 'float64' or 'float32', got {dtype!r}")
    path = Path(path)
    wanted = Wanted(None if dtype is None else np.dtype(dtype), as_bytes("shard", shard))
    append, progress = as_flag("append", append), as_flag("progress", progress)
    named = Named(_listed(target), weights, _listed(ignore))
    beside = y is not None or sample_weight is not None
    if isinstance(source, str | os.PathLike):
        if beside:
            raise TypeError("y and sample_weight go with a matrix; of a file, name the columns by target= and weights=")
        _write_file(path, Path(source), named, wanted, append, progress)
        return open_rows(path, memory)
    if named != Named():
        raise TypeError("target, weights and ignore name columns of a file; of a matrix, pass y and sample_weight")
    if not is_stream(source):
        blocks, names = from_matrix(source, y, sample_weight), column_names(source)
    elif beside:
        raise TypeError(
            "y and sample_weight go with a matrix; an iterator yields them: (X, y) or (X, y, sample_weight)"
        )
    else:
        stream = from_stream(source)
        first = next(stream, None)
        if first is None:
            raise ValueError("there are no rows to write: the iterator yields no block")
        blocks, names = chain([first], stream), column_names(first.X)
    write_blocks(path, _shown(blocks, progress), wanted._replace(names=names), append)
    return open_rows(path, memory)


def _listed(names: str | Sequence[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def _shown(blocks: Iterator[RowBlock], progress: bool) -> Generator[RowBlock]:
    """Yield the blocks, with a progress bar that counts rows if ``progress``."""
    from frankwolfe.display import Progress

    done = 0
    with Progress(progress, "writing", np.inf, "rows") as bar:
        for block in blocks:
            yield block
            done += np.shape(block.X)[0]
            bar.update(done)


def is_stream(source: Any) -> bool:
    """Return whether a source yields blocks: an iterator, or a list of matrices or of tuples of arrays."""
    if isinstance(source, list | tuple):
        first = source[0] if source else None
        return _is_matrix(first) or (isinstance(first, tuple) and len(first) > 0 and _is_matrix(first[0]))
    return hasattr(source, "__next__")


def _is_matrix(X: TableLike) -> bool:
    return sparse.issparse(X) or (isinstance(X, np.ndarray) and X.ndim == 2) or hasattr(X, "columns")


def from_stream(source: Any) -> Iterator[RowBlock]:
    """Yield the blocks of an iterator: ``X``, ``(X, y)`` or ``(X, y, sample_weight)`` each."""
    for number, block in enumerate(source):
        given = block if isinstance(block, tuple) else (block,)
        if not 1 <= len(given) <= 3:
            raise ValueError(f"block {number} is a tuple of {len(given)}: expected X, (X, y) or (X, y, sample_weight)")
        yield RowBlock(*given)


def from_matrix(X: TableLike, y: TargetValues = None, weights: Any = None) -> Iterator[RowBlock]:
    """Yield the rows of a matrix or a data frame in blocks."""
    if sparse.issparse(X):
        X = sparse.csr_array(checked_sparse("X", X))
    elif isinstance(X, list | tuple):
        X = np.array(X, dtype=np.float64) if len({np.shape(row) for row in X}) == 1 else np.array(X)
    if np.ndim(X) != 2:
        raise ValueError(f"X must have two dimensions (rows, columns), got shape {np.shape(X)}")
    y, weights = (None if values is None else np.asarray(values) for values in (y, weights))
    n, d = X.shape
    for name, values in (("y", y), ("sample_weight", weights)):
        if values is not None and len(values) != n:
            raise ValueError(f"{name} has {len(values)} entries, but there are {n} rows in X")
    step = ROWS if sparse.issparse(X) else max(1, min(ROWS, ENTRIES // max(d, 1)))
    for first in range(0, n, step):
        part = slice(first, first + step)
        yield RowBlock(X[part], None if y is None else y[part], None if weights is None else weights[part])


# --- files ------------------------------------------------------------------------------------------------------------


def _write_file(path: Path, source: Path, named: Named, wanted: Wanted, append: bool, progress: bool) -> None:
    """Write the rows of a file to a store."""
    require_file(source)
    with refusing_damage(source):
        kind = kind_of(source)
        if kind != "svmlight":
            parquet = kind == "parquet"
            there = Columns(source, kind, rows=slice(0, 1)).names if parquet else header(source, separator_of(source))
            names = feature_names(there, source, *named)
            wanted = wanted._replace(names=names)
            blocks = from_columns(source, kind, named, Features(names, 0, len(names)))
            write_blocks(path, _shown(blocks, progress), wanted, append)
            return
        if named != Named():
            raise ValueError(
                f"{source} is an svmlight file: its columns have no names; the target comes first in each line"
            )
        for first in (1, 0):  # if there is a column 0, read the file again
            try:
                blocks = from_svmlight(source, first)
                write_blocks(path, _shown(blocks, progress), wanted._replace(first_column=first), append)
                return
            except StartsAtZeroError:
                pass


class StartsAtZeroError(Exception):
    """An svmlight file has a column 0, but was read as if columns were counted from one."""


def from_svmlight(path: Path, first: int) -> Iterator[RowBlock]:
    """Yield the rows of an svmlight file whose columns are counted from ``first``, in the order of the file.

    Raise `StartsAtZeroError` if a column is less than ``first``.
    """
    for rows in read_blocks(path, default_threads()):
        indices = rows.indices  # not shared with other blocks, so it is changed in place
        indices -= np.int32(first)
        if indices.min(initial=0) < 0:
            raise StartsAtZeroError
        starts = np.concatenate([[0], rows.ends]).astype(np.int32)
        shape = (len(rows.targets), max(1, int(indices.max(initial=0)) + 1))
        X = sparse.csr_array((rows.values, indices, starts), shape=shape)
        X.has_canonical_format = True  # the parser has checked that indices increase
        yield RowBlock(X, rows.targets)


def from_columns(path: Path, kind: str, named: Named, features: Features) -> Iterator[RowBlock]:
    """Yield the rows of a CSV or Parquet file in the order of the file; ``features`` are the columns to keep."""
    with closing(_csv_pieces(path) if kind == "csv" else _parquet_pieces(path, features.number)) as pieces:
        for piece, lines, part in pieces:
            try:
                columns = Columns(piece, kind, rows=part)
                if not columns.size:
                    return
                data = read_columns(columns, *named, features, ADVICE)
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
