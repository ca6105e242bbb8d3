"""`RowStore`: a row store opened for reading, by `open_rows`."""

import os
import re
from functools import cached_property
from itertools import chain
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from frankwolfe.rows.csr import CSR, UNSIGNED
from frankwolfe.rows.dense import Dense
from frankwolfe.store.format import (
    NEVER_READ,
    Manifest,
    Shard,
    Stamp,
    read_array,
    read_file,
    read_first,
    read_manifest,
    require_indices,
    require_size,
)

UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}


def as_bytes(name: str, size: Any) -> int:
    """Return a size in bytes, given as an int or as a string such as ``"1.5GB"`` or ``"512MiB"``.

    Examples
    --------
    >>> as_bytes("memory", "1.5GB"), as_bytes("memory", 2**20)
    (1500000000, 1048576)
    """
    if isinstance(size, str):
        found = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([kmgt]i?)?b?\s*", size.lower())
        if found is None:
            raise ValueError(f"{name} must be a number of bytes or a text such as '1.5GB' or '512MiB', got {size!r}")
        size = int(float(found[1]) * UNITS[found[2] or ""])
    if isinstance(size, bool) or not isinstance(size, int | np.integer):
        raise TypeError(f"{name} must be a number of bytes or a text such as '1.5GB', got {type(size).__name__}")
    if size < 1:
        raise ValueError(f"{name} must be positive, got {size}")
    return int(size)


class Room:
    """Buffers into which rows are read.

    Parameters
    ----------
    store : RowStore
        The store, which determines the types.
    rows, entries : int
        Capacity: numbers of rows and of stored entries.
    """

    def __init__(self, store: "RowStore", rows: int, entries: int):
        manifest, self._sparse = store.manifest, store.is_sparse
        kind = np.dtype(manifest.indices)
        self.width = manifest.columns
        self.values = np.empty(entries, store.dtype)
        self.columns = np.empty(entries if self._sparse else 0, kind)
        self.starts = np.empty(rows + 1 if self._sparse else 0, kind)

    def rows(self, rows: int, entries: int) -> CSR | Dense:
        """Return the rows in the buffers, without a copy."""
        if not self._sparse:
            return Dense(self.values[:entries].reshape(rows, self.width))
        columns = self.columns[:entries]
        return CSR(self.values[:entries], columns.view(UNSIGNED[columns.dtype]), self.starts[: rows + 1])


DEFAULT_MEMORY = 2**30
"""Default memory for rows in bytes. It is the same on all machines because the samples of stochastic methods depend
on it."""

FEWEST_SHARDS = 2
"""Number of shards that must fit into memory: one in use, and one that is read ahead."""

ROW_BYTES = 130
"""Bytes of memory of a run for each row and output, besides the row: targets, weights, predictions, slopes and the
points along a step. Measured with ``auto`` on 2,000,000 rows of 20 columns."""

PROGRAM_BYTES = 2 * 10**8
"""Bytes of Python, its packages and compiled code. Measured after runs on a few rows."""

LIMIT = 2**31 - 1
"""Largest number of entries that can be in memory together if indices have 32 bits."""


class RowStore:
    """Rows on disk, with their targets and weights, as returned by `open_rows`.

    `Problem` and estimators accept a store instead of ``X`` and ``y``. If all rows fit into ``memory`` they are loaded
    once; else they are read again in every pass.

    Parameters
    ----------
    path : str or Path
        The folder.
    memory : int or str
        Bytes of memory for rows, and as many again for copies of columns. `run_memory` is the total for a run.
    verify : bool
        Whether to verify the checksum of each shard when it is first read.

    Attributes
    ----------
    path : Path
        The folder.
    memory : int
        Bytes of memory for rows.
    manifest : Manifest
        Description of the content of the store.
    """

    def __init__(self, path: str | os.PathLike, memory: int | str = DEFAULT_MEMORY, verify: bool = True):
        self._open(Path(path), as_bytes("memory", memory), read_manifest(Path(path)), verify)
        self._check()

    @classmethod
    def over(cls, path: Path, manifest: Manifest, verify: bool = True) -> "RowStore":
        """Return a store of the shards in a manifest, e.g. some shards of a larger store, with memory for all."""
        store = cls.__new__(cls)
        store._open(path, sum(shard.bytes for shard in manifest.shards) or 1, manifest, verify)
        return store

    def _open(self, path: Path, memory: int, manifest: Manifest, verify: bool) -> None:
        self.path, self.memory, self.manifest = path, memory, manifest
        self.shards: list[Shard] = manifest.shards
        self._lock = Lock()
        self._rooms: list[Room] = []  # free buffers of earlier reads
        self.verify = verify
        self._stamps: dict[int, list[Stamp]] = {}  # stamps of the files of each shard read so far
        self.offsets: np.ndarray = np.cumsum([0, *(shard.rows for shard in self.shards)])

    def _check(self) -> None:
        """Raise ValueError if the store is empty or its shards are too large for the memory."""
        if not self.shards:
            raise ValueError(f"{self.path} holds no rows")
        if not self.fits and FEWEST_SHARDS * self.largest_shard > self.memory:
            needed = FEWEST_SHARDS * self.largest_shard
            raise ValueError(
                f"memory={self.memory:,} bytes is too little for {self.path}: its largest shard has "
                f"{self.largest_shard:,}, and {FEWEST_SHARDS} must fit. Allow for {needed:,}, or write it with smaller "
                "shards (fw.write_rows(..., shard=...))"
            )

    # --- metadata -------------------------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return int(self.offsets[-1]), self.manifest.columns

    @property
    def dtype(self) -> np.dtype:
        """Type of the values."""
        return np.dtype(self.manifest.values)

    @property
    def is_sparse(self) -> bool:
        """Whether rows are sparse."""
        return self.manifest.layout == "csr"

    @property
    def nnz(self) -> int:
        """Number of stored entries."""
        return sum(shard.entries for shard in self.shards)

    @property
    def bytes(self) -> int:
        """Size of the rows on disk, which is about their size in memory."""
        return sum(shard.bytes for shard in self.shards)

    @property
    def largest_shard(self) -> int:
        """Size of the largest shard in bytes."""
        return max(shard.bytes for shard in self.shards)

    @property
    def fits(self) -> bool:
        """Whether all rows fit into memory."""
        return self.bytes <= self.memory and (self.manifest.indices == "int64" or self.nnz <= LIMIT)

    @property
    def run_memory(self) -> int:
        """Approximate memory, in bytes, of a process that runs a method on a store that does not fit into memory.

        The rows and the copies of columns take ``memory`` each. Columns with non-zero coefficients are copied even if
        they take more than half of it.
        """
        classes = len(self.manifest.classes or ())
        outputs = max(1, self.manifest.outputs, classes if classes > 2 else 1)
        return 2 * self.memory + ROW_BYTES * outputs * self.shape[0] + PROGRAM_BYTES

    @property
    def feature_names(self) -> list[str] | None:
        """Names of the columns, or None."""
        return self.manifest.names

    @property
    def classes(self) -> np.ndarray | None:
        """Names of the classes in ascending order, if the targets are class indices."""
        return None if self.manifest.classes is None else np.array(self.manifest.classes)

    @cached_property
    def y(self) -> np.ndarray | None:
        """The targets, or None: a vector, a matrix with a column for each output, or indices of `classes`."""
        found = self._beside("targets")
        return found if found is None or not self.manifest.outputs else found.reshape(-1, self.manifest.outputs)

    @cached_property
    def sample_weight(self) -> np.ndarray | None:
        """The sample weights, or None."""
        return self._beside("weights")

    def _beside(self, name: str) -> np.ndarray | None:
        """Read the targets or the weights of all rows; None if the store has none."""
        files = [getattr(part, name) for part in self.manifest.parts]
        if files[0] is None:
            return None
        found = [read_array(self.path, file, np.dtype(np.float64)) for file in files]
        for file, values in zip(files, found, strict=True):
            self._require_beside(name, self.path / file.name, values)
        return np.concatenate(found)

    def _require_beside(self, name: str, path: Path, values: np.ndarray) -> None:
        """Raise ValueError unless values from a file are valid targets or sample weights."""
        if not np.isfinite(values).all():
            raise ValueError(f"{path} is damaged: it holds NaN or infinity")
        if name == "weights" and (values < 0.0).any():
            raise ValueError(f"{path} is damaged: it holds negative weights")
        classes = self.manifest.classes
        if name == "targets" and classes is not None and not np.isin(values, np.arange(len(classes))).all():
            raise ValueError(f"{path} is damaged: its targets are not numbers of the {len(classes)} classes")

    @cached_property
    def counts(self) -> np.ndarray:
        """Number of stored entries of each column."""
        return self._over_parts("counts", np.int64)

    @cached_property
    def squares(self) -> np.ndarray:
        """Sum of the squares of each column's entries."""
        return self._over_parts("squares", np.float64)

    def _over_parts(self, name: str, kind: Any) -> np.ndarray:
        """Sum a column statistic over all parts. Early parts may have fewer columns."""
        total = np.zeros(self.manifest.columns, kind)
        for part in self.manifest.parts:
            file = getattr(part, name)
            found = read_array(self.path, file, np.dtype(kind))
            if not (found >= 0).all() or (name == "counts" and found.sum() != sum(s.entries for s in part.shards)):
                raise ValueError(f"{self.path / file.name} is damaged: its numbers are not those of the columns")
            total[: len(found)] += found
        return total

    def __repr__(self) -> str:
        n, d = self.shape
        stored = f"{self.nnz:,} stored values" if self.is_sparse else "dense"
        where = "in memory" if self.fits else "on disk"
        shards = f"{len(self.shards)} shard{'s' * (len(self.shards) > 1)}"
        return f"RowStore({str(self.path)!r}, {n:,} x {d:,}, {stored}, {self.dtype}, {shards}, {where})"

    # --- reading --------------------------------------------------------------------------------------------------

    def read(self, numbers: Any, room: Room | None = None) -> CSR | Dense:
        """Read some shards and return their rows, concatenated. Allocate memory unless ``room`` provides buffers."""
        chosen = [self.shards[number] for number in numbers]
        for file in chain.from_iterable(shard.files for shard in chosen) if room is None else ():
            require_size(self.path, file)  # before memory is allocated for a file that may not exist
        rows, entries = sum(shard.rows for shard in chosen), sum(shard.entries for shard in chosen)
        room = room or Room(self, rows, entries)
        row = entry = 0
        for number, shard in zip(numbers, chosen, strict=True):
            self._read_into(int(number), shard, room, row, entry)
            row, entry = row + shard.rows, entry + shard.entries
        return room.rows(rows, entries)

    def _read_into(self, number: int, shard: Shard, room: Room, row: int, entry: int) -> None:
        """Read a shard into buffers, from a given row and entry on. Validate it if its files are new or changed."""
        arrays = [room.values[entry : entry + shard.entries]]
        if shard.starts is not None:
            arrays += [room.columns[entry : entry + shard.entries], room.starts[row : row + shard.rows + 1]]
        known = self._stamps.get(number, [NEVER_READ] * len(arrays))
        stamps = [
            read_file(self.path, file, into, stamp if self.verify else None)
            for file, into, stamp in zip(shard.files, arrays, known, strict=True)
        ]
        if stamps != known:
            self._require_sound(shard, *arrays)
            with self._lock:
                self._stamps[number] = stamps
        if shard.starts is not None and entry:
            arrays[2] += entry

    def _require_sound(self, shard: Shard, values: np.ndarray, *indices: np.ndarray) -> None:
        """Raise ValueError if a shard holds NaN, infinity or invalid indices, whether or not its checksum is right."""
        with np.errstate(all="ignore"):
            finite = np.isfinite(values.sum(dtype=values.dtype)) or np.isfinite(values).all()  # the sum is faster
        if not finite:
            raise ValueError(f"{self.path / shard.values.name} is damaged: it holds NaN or infinity")
        if shard.starts is not None and shard.columns is not None:
            columns, starts = indices
            if starts[-1] != shard.entries:
                raise ValueError(f"{self.path / shard.starts.name} is damaged: it has not {shard.entries} entries")
            require_indices(self.path / shard.columns.name, columns, self.manifest.columns, starts, shard.entries)

    def lend_rooms(self, count: int) -> list[Room]:
        """Return buffers for ``count`` shards, free ones first. The caller gives them back by `return_rooms`."""
        with self._lock:
            found = [self._rooms.pop() for _ in range(min(count, len(self._rooms)))]
        rows, entries = max(shard.rows for shard in self.shards), max(shard.entries for shard in self.shards)
        return [*found, *(Room(self, rows, entries) for _ in range(count - len(found)))]

    def return_rooms(self, rooms: list[Room]) -> None:
        """Add buffers to the free ones."""
        with self._lock:
            self._rooms += rooms

    def first_rows(self, count: int) -> CSR | Dense:
        """Read the first ``count`` rows, or those of the first shard if it has fewer, without reading the others."""
        shard = self.shards[0]
        count = min(count, shard.rows)
        if shard.columns is None or shard.starts is None:
            width = self.manifest.columns
            return Dense(read_first(self.path, shard.values, count * width, self.dtype).reshape(count, width))
        starts = read_first(self.path, shard.starts, count + 1, np.dtype(self.manifest.indices))
        stored = min(max(0, int(starts[-1])), shard.entries)
        columns = read_first(self.path, shard.columns, stored, starts.dtype)
        require_indices(self.path / shard.columns.name, columns, self.manifest.columns, starts, shard.entries)
        values = read_first(self.path, shard.values, stored, self.dtype)
        return CSR(values, columns.view(UNSIGNED[columns.dtype]), starts)

    def head(self, count: int) -> Any:
        """Return the first rows, at most ``count``, as an array or a SciPy CSR array."""
        return self._as_matrix(self.first_rows(count))

    def matrix(self) -> Any:
        """Read all rows into an array or a SciPy CSR array."""
        return self._as_matrix(self.read(range(len(self.shards))))

    def to_dask(self, shards: int | None = None) -> tuple[Any, Any, Any]:
        """Return rows, targets and weights as dask arrays, which the workers of a cluster read (docs/cluster.md).

        Nothing is read now. Each worker reads its chunks by the path of the store, so the store must be on a file
        system that all workers share.

        Parameters
        ----------
        shards : int, optional
            Number of shards in a chunk. By default one, or more if there would be more than 2000 chunks.

        Returns
        -------
        X : dask array of shape (n, d)
            The rows. Chunks are arrays, or CSR arrays if the store is sparse.
        y : dask array of shape (n,), or (n, outputs), or None
            The targets, as in `y`. Class indices stay indices: ``store.classes[index]`` is the name of a class, and
            for two classes ``2 * y - 1`` gives the labels -1 and +1.
        sample_weight : dask array of shape (n,), or None
            The weights of the rows.

        Examples
        --------
        >>> import tempfile, frankwolfe as fw
        >>> folder = tempfile.TemporaryDirectory()
        >>> store = fw.write_rows(f"{folder.name}/rows", [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [1.0, 2.0, 3.0])
        >>> X, y, sample_weight = store.to_dask()
        >>> X.shape, y.sum().compute().item(), sample_weight is None
        ((3, 2), 6.0, True)
        >>> folder.cleanup()
        """
        from frankwolfe.store.dask_arrays import dask_arrays

        return dask_arrays(self, shards)

    def _as_matrix(self, rows: CSR | Dense) -> Any:
        if isinstance(rows, Dense):
            return rows.values
        matrix = rows.matrix(self.shape[1])
        matrix.has_canonical_format = True
        return matrix


def open_rows(path: str | os.PathLike, memory: int | str = DEFAULT_MEMORY, verify: bool = True) -> RowStore:
    """Open a row store that `write_rows` has written.

    Only the manifest is read. Values were validated when they were written, so opening is fast for data of any size.

    Parameters
    ----------
    path : str or Path
        The folder.
    memory : int or str
        Bytes of memory for rows, or a string such as ``"1.5GB"``. If all rows fit they are loaded once. Else they are
        read from disk in every pass, and stochastic methods sample from as many rows at a time as fit (docs/stores.md).
    verify : bool
        Whether to verify the checksum of each shard when it is first read.

    Returns
    -------
    RowStore

    Examples
    --------
    >>> import tempfile, frankwolfe as fw
    >>> folder = tempfile.TemporaryDirectory()
    >>> store = fw.write_rows(f"{folder.name}/rows", [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [1.0, 2.0, 3.0])
    >>> store = fw.open_rows(f"{folder.name}/rows", memory="100MB")
    >>> store.shape, store.y
    ((3, 2), array([1., 2., 3.]))
    >>> problem = fw.Problem(store, loss="squared", constraint=fw.L1Ball(10.0))
    >>> problem.value([1.0, 2.0])
    0.0
    >>> folder.cleanup()
    """
    return RowStore(path, memory, verify)
