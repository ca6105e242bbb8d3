"""Write blocks of rows as the shards of a store. If that fails, the folder is left unchanged."""

import os
import shutil
import zlib
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from frankwolfe.arguments.arrays import as_matrix, as_vector
from frankwolfe.arguments.types import TableLike, TargetValues
from frankwolfe.store.files import new_unfinished, replacing, take_lock, unfinished_of
from frankwolfe.store.format import NAME, OF_A_SHARD, OWN_NAME, Manifest, Shard, WrittenPart, read_manifest
from frankwolfe.store.sharded import INDEX, LIMIT

SHARD = 2**24
"""Default size of a shard in bytes: large enough for fast reads, small enough for many to fit into memory."""


class RowBlock(NamedTuple):
    """Some rows, with their targets and sample weights, or None."""

    X: TableLike
    y: TargetValues = None
    weights: Any = None


class Wanted(NamedTuple):
    """Settings of the rows to write.

    Attributes
    ----------
    dtype : dtype or None
        Type of the values; None for the type of the first block.
    shard : int
        Size of a shard in bytes.
    names : list of str or None
        Names of the columns.
    first_column : int
        Index of the first column in the source.
    """

    dtype: np.dtype | None = None
    shard: int = SHARD
    names: list[str] | None = None
    first_column: int = 0


def write_blocks(path: Path, blocks: Generator[RowBlock], wanted: Wanted, append: bool = False) -> None:
    """Write blocks of rows to a new store, or append them to an existing store. If that fails, nothing changes.

    A new store is written to a temporary folder, which is renamed at the end. Appended files are not part of the store
    until a new manifest replaces the old one. Files left by killed processes are removed first.
    """
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path.parent} does not exist: make the folder first")
    with _one_writer(path):
        for left in unfinished_of(path):
            shutil.rmtree(left, ignore_errors=True)
        if append:
            before = read_manifest(path)
            _remove_unlisted(path, before)
            _require_match(wanted, before)
            _write_store(path, blocks, wanted, path, before)
            return
        if path.exists():
            raise FileExistsError(f"{path} exists already: remove it, choose another name, or add to it by append=True")
        unfinished = new_unfinished(path)
        unfinished.mkdir()
        try:
            dtype = "" if wanted.dtype is None else wanted.dtype.name
            new = Manifest("", 0, dtype, names=wanted.names, first_column=wanted.first_column)
            _write_store(unfinished, blocks, wanted, path, new)
            unfinished.rename(path)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)


def _remove_unlisted(folder: Path, manifest: Manifest) -> None:
    """Remove the files of a store that its manifest does not list: left by a writer that failed or was killed."""
    listed = {file.name for file in manifest.files()}
    for file in folder.iterdir():
        if OWN_NAME.fullmatch(file.name) and file.name not in listed:
            file.unlink()


@contextmanager
def _one_writer(path: Path) -> Iterator[None]:
    """Hold the lock of a store while the block runs; raise OSError if another process or thread holds it."""
    lock = path.with_name(f".{path.name}.lock")
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
            break
        os.close(handle)  # another process removed the file in the meantime: create it again
    try:
        yield
    finally:
        lock.unlink(missing_ok=True)  # before it is unlocked: others check that their lock file still exists
        os.close(handle)


def _require_match(wanted: Wanted, before: Manifest) -> None:
    """Raise ValueError if settings differ from those of the store to append to."""
    if wanted.dtype is not None and wanted.dtype != before.values:
        raise ValueError(f"the store holds {before.values}: {wanted.dtype} cannot be added to it")
    if wanted.names is not None and before.names is not None and wanted.names != before.names:
        raise ValueError("the names of the columns differ from those in the store")
    if wanted.first_column != before.first_column:
        raise ValueError(
            f"columns are counted from {wanted.first_column} here, and from {before.first_column} in the store"
        )


def _write_store(folder: Path, blocks: Generator[RowBlock], wanted: Wanted, path: Path, before: Manifest) -> None:
    """Write all blocks and then the manifest. If that fails, remove the files that were added."""
    writer = Writer(folder, wanted, before)
    try:
        with closing(blocks):  # also after an error: closes the source files at once
            for block in blocks:
                writer.take(block)
        manifest = writer.finish()
    except BaseException as error:
        writer.close()
        _remove_unlisted(folder, before)
        if not isinstance(error, OSError) or error.errno is None:
            raise
        # keep the error code; the message adds that no store was written
        message = (
            f"{error.strerror} after {writer.rows:,} rows: {path} was not written, and what there was of it has been "
            "removed"
        )
        raise OSError(error.errno, message, error.filename) from error
    with replacing(folder / NAME) as stream:
        stream.write(manifest.text().encode())


def filling(stream: BinaryIO) -> BinaryIO:
    """Return the stream. Tests replace this function to simulate a full disk."""
    return stream


class Targets:
    """Collects the targets of all blocks as float64 numbers.

    Strings and booleans are classes. They are numbered in ascending order after the last block.

    Parameters
    ----------
    before : Manifest
        Manifest of the store to append to. New targets must have the same kind and the same classes.
    """

    def __init__(self, before: Manifest):
        self._kind: str | None = None
        self.outputs, self._known = before.outputs, before.classes
        self._found: list[np.ndarray] = []  # numbers, or the places of classes among those of the block
        self._classes: list[np.ndarray] = []  # classes of each block, in ascending order
        if before.parts:
            if "targets" not in before.parts[0].crc32:
                self._kind = "none"
            elif before.classes is None:
                self._kind = f"rows of {before.outputs} numbers" if before.outputs else "numbers"
            else:
                self._kind = "truth values" if isinstance(before.classes[0], bool) else "classes"

    def take(self, y: TargetValues, n: int) -> None:
        """Validate and add the targets of ``n`` rows."""
        values = None if y is None else np.asarray(y)
        kind = _kind_of(values)
        if self._kind not in (None, kind):
            raise ValueError(f"the targets are {kind}, and those of the rows before are {self._kind}")
        self._kind = kind
        if values is None:
            return
        if len(values) != n:
            raise ValueError(f"y has {len(values)} entries, but there are {n} rows in X")
        self.outputs = values.shape[1] if values.ndim == 2 else 0
        if kind in ("classes", "truth values"):
            classes, codes = np.unique(values if kind == "truth values" else values.astype(str), return_inverse=True)
            new = [] if self._known is None else [name for name in classes.tolist() if name not in self._known]
            if new:
                raise ValueError(f"y holds {new[0]!r}, which is none of the classes in the store")
            self._classes.append(classes)
            self._found.append(codes.astype(np.int32))
            return
        numbers = values.astype(np.float64)
        if not np.isfinite(numbers).all():
            raise ValueError(f"y holds NaN or infinity (first in row {int(np.argwhere(~np.isfinite(numbers))[0, 0])})")
        self._found.append(numbers)

    @property
    def classes(self) -> list[Any] | None:
        """Names of the classes in ascending order, or None."""
        if self._known is None and self._classes:
            return np.unique(np.concatenate(self._classes)).tolist()
        return self._known

    def numbers(self) -> np.ndarray | None:
        """Return all targets as numbers, or None. Classes become indices of `classes`."""
        names = self.classes
        if names is None:
            return np.concatenate(self._found) if self._found else None
        places = [np.searchsorted(names, classes) for classes in self._classes]
        return np.concatenate([place[codes] for place, codes in zip(places, self._found, strict=True)]).astype(float)


def _kind_of(values: np.ndarray | None) -> str:
    """Return the kind of targets: "none", "classes", "truth values", "numbers" or "rows of 3 numbers"."""
    if values is None:
        return "none"
    if values.ndim not in (1, 2) or values.size == 0:
        raise ValueError(f"y must be a vector, or a matrix with a row for each row of X; got shape {values.shape}")
    words = values.dtype.kind == "U"
    if values.dtype == object and isinstance(values.flat[0], str):
        mixed = next((entry for entry in values.flat if not isinstance(entry, str)), None)
        if mixed is not None:
            raise ValueError(f"y holds words and other things, such as {mixed!r}")
        words = True
    if words or values.dtype.kind == "b":
        if values.ndim == 2:
            raise ValueError("y must be a vector where it holds classes")
        return "classes" if words else "truth values"
    if values.dtype.kind not in "fiu" and values.dtype != object:
        raise TypeError(f"y must hold numbers or words, got dtype {values.dtype}")
    return "numbers" if values.ndim == 1 else f"rows of {values.shape[1]} numbers"


class Writer:
    """Writes blocks of any size as shards of about equal size, and computes column statistics.

    A thread writes one shard while the next one is read.

    Parameters
    ----------
    folder : Path
        Folder of the files.
    wanted : Wanted
        Settings of the store.
    before : Manifest
        Manifest of the store to append to, or an empty one. New rows must match its layout and types.
    """

    def __init__(self, folder: Path, wanted: Wanted, before: Manifest):
        self.folder, self.wanted, self.before = folder, wanted, before
        self.rows = 0  # number of rows so far
        self._dtype = np.dtype(before.values) if before.values else None
        self._layout, self._width = before.layout, before.columns
        self._weights: list[np.ndarray] = []
        self._weighted = "weights" in before.parts[0].crc32 if before.parts else None
        self._targets = Targets(before)
        self._pending: list[Any] = []
        self._pending_bytes = 0
        self._shards, self._numbers = list[Shard](), count(len(before.shards))
        self._counts, self._squares = np.zeros(0, np.int64), np.zeros(0)  # of the columns of these shards
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="frankwolfe-write")
        self._busy: Future = self._pool.submit(int)  # the shard that is being written

    def close(self) -> None:
        """Wait for pending writes and end the thread."""
        self._pool.shutdown()

    def take(self, block: RowBlock) -> None:
        """Validate and add a block. Write each shard that is full."""
        if np.shape(block.X)[:1] == (0,):
            return
        try:
            matrix = self._converted(as_matrix(block.X))
            n = matrix.shape[0]
            self._targets.take(block.y, n)
            self._take_weights(block.weights, n)
        except (ValueError, TypeError) as error:
            raise type(error)(f"{error} (in the block of rows that begins with row {self.rows})") from None
        self.rows += n
        if isinstance(matrix, np.ndarray):
            sizes = np.arange(n + 1) * matrix[0].nbytes
        else:
            sizes = matrix.indptr.astype(np.int64) * (matrix.data.itemsize + INDEX.itemsize)
        at = 0
        while at < n:
            full = sizes[at] + self.wanted.shard - self._pending_bytes  # the shard is full where sizes reach this
            end = min(n, max(at + 1, int(np.searchsorted(sizes, full))))
            self._pending.append(matrix[at:end])
            self._pending_bytes += int(sizes[end] - sizes[at])
            at = end
            if self._pending_bytes >= self.wanted.shard:
                self._flush()

    def _take_weights(self, weights: Any, n: int) -> None:
        """Validate and add the sample weights of ``n`` rows."""
        given = weights is not None
        if self._weighted not in (None, given):
            raise ValueError(f"sample_weight is {'new' if given else 'missing'}: all rows have weights, or none has")
        self._weighted = given
        if given:
            found = as_vector("sample_weight", weights, n, "rows in X")
            if (found < 0.0).any():
                raise ValueError(f"sample_weight must not be negative, got {found.min():g}")
            self._weights.append(found)

    def _converted(self, matrix: Any) -> Any:
        """Convert a block to the types of the store. Raise ValueError if it does not match the store."""
        layout = "dense" if isinstance(matrix, np.ndarray) else "csr"
        self._layout = self._layout or layout
        if layout != self._layout:
            kinds = {"dense": "dense", "csr": "sparse"}
            raise ValueError(f"the block is {kinds[layout]}, and the rows before it are {kinds[self._layout]}")
        d, wanted = matrix.shape[1], self.wanted
        fixed = layout == "dense" or wanted.names is not None
        if self._width and d != self._width and fixed:
            raise ValueError(f"the block has {d:,} columns, and {self._width:,} are expected")
        if d > LIMIT:
            raise ValueError(f"the block has {d:,} columns, and a store may have {LIMIT:,}")
        self._width = max(self._width, d)
        self._dtype = self._dtype or matrix.dtype
        if wanted.dtype is None and matrix.dtype.itemsize > self._dtype.itemsize:
            raise ValueError(
                "the block is float64, and the rows before it are float32: say dtype='float32' or 'float64'"
            )
        if matrix.dtype != self._dtype:
            with np.errstate(over="ignore"):
                matrix = matrix.astype(self._dtype)
            if not np.isfinite(matrix if layout == "dense" else matrix.data).all():
                raise ValueError(f"some values are too large for {self._dtype}")
        return matrix

    def _flush(self) -> None:
        """Start to write the pending rows as a shard. First wait for the previous one, and raise its error if any."""
        self._busy.result()
        if self._pending:
            self._busy = self._pool.submit(self._write, next(self._numbers), self._pending, self._width)
            self._pending, self._pending_bytes = [], 0

    def _write(self, number: int, pieces: Sequence[Any], width: int) -> None:
        """Write stacked matrices as a shard, and count their entries."""
        if isinstance(pieces[0], np.ndarray):
            values = pieces[0] if len(pieces) == 1 else np.concatenate(pieces)
            rows, arrays, counts = len(values), [values], np.full(width, len(values))
            squares = np.einsum("ij,ij->j", values, values, dtype=np.float64)
        else:
            sizes = np.concatenate([np.diff(piece.indptr) for piece in pieces])
            values, columns = (np.concatenate([getattr(one, name) for one in pieces]) for name in ("data", "indices"))
            starts = np.concatenate([[0], np.cumsum(sizes)])
            rows, arrays = len(sizes), [values, columns.astype(INDEX, copy=False), starts.astype(INDEX)]
            places = columns.astype(np.intp, copy=False)
            counts = np.bincount(places, minlength=width)
            squares = np.bincount(places, np.square(values, dtype=np.float64), minlength=width)
        self._widen(width)
        self._counts += counts
        self._squares += squares
        named = zip(OF_A_SHARD, arrays, strict=False)
        crc32 = [self._write_file(f"{number:06}-{name}.bin", array) for name, array in named]
        self._shards.append(Shard(number, rows, values.size, crc32))

    def _write_file(self, name: str, values: np.ndarray) -> int:
        """Write numbers to a file, little-endian, and return its checksum."""
        values = np.ascontiguousarray(values, values.dtype.newbyteorder("<"))
        content = memoryview(values).cast("B") if values.size else memoryview(b"")
        with (self.folder / name).open("wb") as stream:
            filling(stream).write(content)
        return zlib.crc32(content)

    def _widen(self, width: int) -> None:
        """Pad the column statistics with zeros to ``width`` columns."""
        more = (0, max(0, width - len(self._counts)))
        self._counts, self._squares = np.pad(self._counts, more), np.pad(self._squares, more)

    def finish(self) -> Manifest:
        """Write the last shard, the column statistics, the targets and the weights. Return the manifest."""
        self._flush()
        self._busy.result()
        parts = self.before.parts
        if not self._shards or self._dtype is None:
            raise ValueError("there are no rows to write")
        self._widen(self._width)
        found = {"counts": self._counts, "squares": self._squares, "targets": self._targets.numbers()}
        found["weights"] = np.concatenate(self._weights) if self._weights else None
        files = {
            name: (f"part-{len(parts)}-{name}.bin", values) for name, values in found.items() if values is not None
        }
        crc32 = {name: self._write_file(*file) for name, file in files.items()}
        self.close()
        return replace(
            self.before,
            layout=self._layout,
            columns=self._width,
            values=self._dtype.name,
            outputs=self._targets.outputs,
            classes=self._targets.classes,
            parts=[*parts, WrittenPart(len(parts), self._width, self._shards, crc32)],
        )
