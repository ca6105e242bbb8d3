"""`write_rows`: write a row store from matrices, iterators or files. If that fails, the folder is left unchanged."""

import os
import re
import shutil
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from frankwolfe.arguments.arrays import FLOATS, column_names
from frankwolfe.arguments.names import teaching
from frankwolfe.arguments.settings import as_flag
from frankwolfe.io.read import Features, feature_names
from frankwolfe.io.streams import kind_of, refusing_damage, require_file
from frankwolfe.storage.files import new_unfinished, replacing, take_lock, unfinished_of
from frankwolfe.store.format import NAME, Manifest, read_manifest
from frankwolfe.store.reader import DEFAULT_MEMORY, RowStore, as_bytes, open_rows
from frankwolfe.store.sources import (
    Named,
    RowBlock,
    StartsAtZeroError,
    from_columns,
    from_matrix,
    from_svmlight,
    is_stream,
    names_of,
    peeked,
)
from frankwolfe.store.writer import SHARD, Wanted, Writer


@contextmanager
def one_writer(path: Path) -> Iterator[None]:
    """Hold the lock of a store while the block runs; raise OSError if another process or thread holds it."""
    lock = path.with_name(f".{path.name}.lock")
    handle = _locked(lock, path)
    try:
        yield
    finally:
        lock.unlink(missing_ok=True)  # before it is unlocked: `_locked` checks that its lock file still exists
        os.close(handle)


def _locked(lock: Path, path: Path) -> int:
    """Create and lock the lock file of a store. Return its file descriptor."""
    while True:
        handle = os.open(lock, os.O_CREAT | os.O_RDWR, 0o666)
        try:
            take_lock(handle)
        except OSError:
            os.close(handle)
            raise OSError(
                f"another process is writing {path} just now: wait for it to end, or write elsewhere"
            ) from None
        if lock.exists() and os.path.samestat(os.fstat(handle), lock.stat()):
            return handle
        os.close(handle)  # another process removed the file in the meantime: create it again


OWN_NAME = re.compile(r"(\d{6,}-(values|columns|starts)|part-\d+-(counts|squares|targets|weights))\.bin")
"""File names in a store."""


def write_blocks(path: Path, blocks: Generator[RowBlock], wanted: Wanted, append: bool = False) -> None:
    """Write blocks of rows to a new store, or append them to an existing store. If that fails, nothing changes.

    A new store is written to a temporary folder, which is renamed at the end. Appended files are not part of the store
    until a new manifest replaces the old one. Files left by killed processes are removed first.
    """
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path.parent} does not exist: make the folder first")
    with one_writer(path):
        for left in unfinished_of(path):
            shutil.rmtree(left, ignore_errors=True)
        if append:
            before = read_manifest(path)
            _remove_unlisted(path, before)
            writer = Writer(path, wanted, before)
            _write_all(writer, blocks, path)
            _write_manifest(path, writer.manifest(before.parts))
            return
        if path.exists():
            raise FileExistsError(f"{path} exists already: remove it, choose another name, or add to it by append=True")
        unfinished = new_unfinished(path)
        unfinished.mkdir()
        try:
            writer = Writer(unfinished, wanted)
            _write_all(writer, blocks, path)
            _write_manifest(unfinished, writer.manifest([]))
            unfinished.rename(path)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)


def _remove_unlisted(folder: Path, manifest: Manifest) -> None:
    """Remove the files of a store that its manifest does not list. They were left by a killed process."""
    named = {file.name for part in manifest.parts for file in part.files}
    for file in folder.iterdir():
        if OWN_NAME.fullmatch(file.name) and file.name not in named:
            file.unlink()


def _write_all(writer: Writer, blocks: Generator[RowBlock], path: Path) -> None:
    """Write all blocks. If that fails, remove the files that were written."""
    try:
        with closing(blocks):  # also after an error: closes the source files at once
            for block in blocks:
                writer.take(block)
        writer.finish()
    except OSError as error:
        rows = writer.rows
        writer.undo()
        if error.errno is None:
            raise
        # keep the error code; the message adds that no store was written
        message = (
            f"{error.strerror} after {rows:,} rows: {path} was not written, and what there was of it has been removed"
        )
        raise OSError(error.errno, message, error.filename) from error
    except BaseException:
        writer.undo()
        raise


def _write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write the manifest of a store, atomically."""
    with replacing(folder / NAME) as stream:
        stream.write(manifest.text().encode())


@teaching
def write_rows(
    path: str | os.PathLike,
    source: Any,
    y: Any = None,
    sample_weight: Any = None,
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
        Targets of a matrix or a data frame. Strings and booleans are classes.
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
    path, wanted = Path(path), Wanted(_as_type(dtype), as_bytes("shard", shard))
    append, progress = as_flag("append", append), as_flag("progress", progress)
    named = Named(_listed(target), weights, _listed(ignore))
    if isinstance(source, str | os.PathLike):
        if y is not None or sample_weight is not None:
            raise TypeError("y and sample_weight go with a matrix; of a file, name the columns by target= and weights=")
        _write_file(path, Path(source), named, wanted, append, progress)
        return open_rows(path, memory)
    if named != Named():
        raise TypeError("target, weights and ignore name columns of a file; of a matrix, pass y and sample_weight")
    if is_stream(source):
        if y is not None or sample_weight is not None:
            raise TypeError(
                "y and sample_weight go with a matrix; an iterator yields them: (X, y) or (X, y, sample_weight)"
            )
        first, blocks = peeked(source)
        wanted = wanted._replace(names=column_names(first.X))
    else:
        blocks, wanted = from_matrix(source, y, sample_weight), wanted._replace(names=column_names(source))
    write_blocks(path, _shown(blocks, progress), wanted, append)
    return open_rows(path, memory)


def _write_file(path: Path, source: Path, named: Named, wanted: Wanted, append: bool, progress: bool) -> None:
    require_file(source)
    with refusing_damage(source):
        kind = kind_of(source)
        if kind != "svmlight":
            names = feature_names(names_of(source, kind), source, *named)
            wanted = wanted._replace(names=names, columns=len(names))
            blocks = from_columns(source, kind, named, Features(names, 0, len(names)))
            write_blocks(path, _shown(blocks, progress), wanted, append)
            return
        if named != Named():
            raise ValueError(
                f"{source} is an svmlight file: its columns have no names; the target comes first in each line"
            )
        try:
            _write_svmlight(path, source, 1, wanted, append, progress)
        except StartsAtZeroError:  # read again, with columns counted from zero
            _write_svmlight(path, source, 0, wanted, append, progress)


def _write_svmlight(path: Path, source: Path, first: int, wanted: Wanted, append: bool, progress: bool) -> None:
    blocks = from_svmlight(source, first)
    write_blocks(path, _shown(blocks, progress), wanted._replace(first_column=first), append)


def _as_type(dtype: Any) -> np.dtype | None:
    if dtype is None:
        return None
    found = np.dtype(dtype)
    if found.type not in FLOATS:
        raise ValueError(f"dtype must be 'float64' or 'float32', got {dtype!r}")
    return found


def _listed(names: str | Sequence[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def _shown(blocks: Iterator[RowBlock], progress: bool) -> Generator[RowBlock]:
    """Yield the blocks, with a progress bar that counts rows if ``progress``."""
    if not progress:
        yield from blocks
        return
    try:
        from tqdm.auto import tqdm
    except ImportError:
        raise ImportError("progress=True needs tqdm: pip install 'frankwolfe[progress]'") from None
    with tqdm(unit=" rows", unit_scale=True) as bar:
        for block in blocks:
            yield block
            bar.update(np.shape(block.X)[0])
