"""`RowStore`: a row store opened for reading, by `open_rows`, also as dask arrays."""

import os
import platform
import re
import zlib
from dataclasses import replace
from functools import cached_property
from itertools import accumulate, chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from frankwolfe.arguments.arrays import all_finite
from frankwolfe.rows.csr import CSR
from frankwolfe.rows.dense import Dense
from frankwolfe.store.format import (
    NEVER_READ,
    File,
    Manifest,
    Stamp,
    read_array,
    read_file,
    read_manifest,
    require_indices,
    require_size,
)
from frankwolfe.store.sharded import Room, ShardedRows, ShardSize


def as_bytes(name: str, size: Any) -> int:
    """Return a size in bytes, given as an int or as a string such as ``"1.5GB"`` or ``"512MiB"``.

    Examples
    --------
    >>> as_bytes("memory", "1.5GB"), as_bytes("memory", 2**20)
    (1500000000, 1048576)
    """
    if isinstance(size, str):
        found = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([kmgt]?)(i?)b?\s*", size.lower())
        if found is None or (found[3] and not found[2]):
            raise ValueError(f"{name} must be a number of bytes or a text such as '1.5GB' or '512MiB', got {size!r}")
        size = int(float(found[1]) * (1024 if found[3] else 1000) ** " kmgt".index(found[2] or " "))
    if isinstance(size, bool) or not isinstance(size, int | np.integer):
        raise TypeError(f"{name} must be a number of bytes or a text such as '1.5GB', got {type(size).__name__}")
    if size < 1:
        raise ValueError(f"{name} must be positive, got {size}")
    return int(size)


DEFAULT_MEMORY = 2**30
"""Default memory for rows in bytes. It is the same on all machines because the samples of stochastic methods depend
on it."""

PROGRAM_BYTES = 2 * 10**8
"""Bytes of Python, its packages and compiled code. Measured after runs on a few rows."""


class RowStore(ShardedRows):
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
    manifest : Manifest, optional
        The shards to read, if not all. By default the manifest in the folder.

    Attributes
    ----------
    path : Path
        The folder.
    memory : int
        Bytes of memory for rows.
    manifest : Manifest
        Description of the content of the store.
    """

    def __init__(
        self,
        path: str | os.PathLike,
        memory: int | str = DEFAULT_MEMORY,
        verify: bool = True,
        manifest: Manifest | None = None,
    ):
        limit, self.path, self.verify = as_bytes("memory", memory), Path(path), verify
        self.manifest = found = read_manifest(self.path) if manifest is None else manifest
        self._stamps: dict[int, list[Stamp]] = {}  # stamps of the files of each shard read so far
        self._files = [found.shard_files(shard) for shard in found.shards]
        sizes = [
            ShardSize(shard.rows, shard.entries, sum(file.bytes for file in files))
            for shard, files in zip(found.shards, self._files, strict=True)
        ]
        is_sparse = found.layout == "csr"
        super().__init__(str(path), found.columns, found.values, sizes, limit, is_sparse)
        self.feature_names = found.names
        self.classes = None if found.classes is None else np.array(found.classes)

    smaller_shards = "write it with smaller shards (fw.write_rows(..., shard=...))"

    @property
    def more_memory(self) -> str:
        """How to keep all rows in memory, for messages."""
        return f"keep all rows in memory: fw.open_rows(path, memory={self.bytes})"

    @property
    def identity(self) -> str:
        """The manifest, with the checksums of all files."""
        return self.manifest.text()

    # --- metadata -------------------------------------------------------------------------------------------------

    @property
    def run_memory(self) -> int:
        """Approximate memory, in bytes, of a process that runs a method on a store that does not fit into memory.

        The rows and the copies of columns take ``memory`` each. Columns with non-zero coefficients are copied even if
        they take more than half of it.
        """
        classes = len(self.manifest.classes or ())
        outputs = max(1, self.manifest.outputs, classes if classes > 2 else 1)
        # 130 bytes for each row and output: targets, weights, predictions, slopes and the points along a step, as
        # measured with "auto" on 2,000,000 rows of 20 columns
        return 2 * self.memory + 130 * outputs * self.shape[0] + PROGRAM_BYTES

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
        parts = self.manifest.parts
        files = [self.manifest.part_file(part, name) for part in parts if name in part.crc32]
        return np.concatenate([self._read_beside(name, file) for file in files]) if files else None

    def _read_beside(self, name: str, file: File) -> np.ndarray:
        """Read a file of targets or weights. Raise ValueError unless they are valid."""
        found, classes, wrong = read_array(self.path, file, np.dtype(np.float64)), self.manifest.classes, ""
        if not np.isfinite(found).all():
            wrong = "it holds NaN or infinity"
        elif name == "weights" and (found < 0.0).any():
            wrong = "it holds negative weights"
        elif name == "targets" and classes is not None and not np.isin(found, np.arange(len(classes))).all():
            wrong = f"its targets are not numbers of the {len(classes)} classes"
        if wrong:
            raise ValueError(f"{self.path / file.name} is damaged: {wrong}")
        return found

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
            file = self.manifest.part_file(part, name)
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
        for file in chain.from_iterable(self._files[k] for k in numbers) if room is None else ():
            require_size(self.path, file)  # before memory is allocated for a file that may not exist
        return super().read(numbers, room)

    def read_into(self, number: int, *arrays: np.ndarray) -> None:
        """Read a shard into buffers. Validate it if its files are new or changed."""
        files = self._files[number]
        known = self._stamps.get(number, [NEVER_READ] * len(files))
        stamps = [
            read_file(self.path, file, into, stamp if self.verify else None)
            for file, into, stamp in zip(files, arrays, known, strict=False)
        ]
        if stamps != known:
            self._require_sound(number, *arrays)
            with self._lock:
                self._stamps[number] = stamps

    def _require_sound(self, number: int, values: np.ndarray, columns: np.ndarray, starts: np.ndarray) -> None:
        """Raise ValueError if a shard holds NaN, infinity or invalid indices, whether or not its checksum is right."""
        names = [self.path / file.name for file in self._files[number]]
        if not all_finite(values):
            raise ValueError(f"{names[0]} is damaged: it holds NaN or infinity")
        if self.is_sparse:
            require_indices(names[1], columns, self.shape[1], starts)

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
        if shards is None:
            shards = -(-len(self.shards) // MOST_CHUNKS)
        if isinstance(shards, bool) or not isinstance(shards, int | np.integer) or shards < 1:
            raise ValueError(f"shards must be a positive int, the number of shards in a chunk; got {shards!r}")
        chunks = _chunks_of(self, int(shards))
        token = f"{zlib.crc32(f'{self.path.absolute()} {shards} {self.manifest.text()}'.encode()):08x}"
        rows = sparse.csr_array((0, 0), dtype=self.dtype) if self.is_sparse else np.empty((0, 0), self.dtype)
        outputs = (self.manifest.outputs,) if self.manifest.outputs else ()
        part = self.manifest.parts[0]
        return (
            _dask_array("rows", token, chunks, (self.shape[1],), rows),
            None if "targets" not in part.crc32 else _dask_array("targets", token, chunks, outputs),
            None if "weights" not in part.crc32 else _dask_array("weights", token, chunks),
        )


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


# --- chunks that the workers of a cluster read ------------------------------------------------------------------------

MOST_CHUNKS = 2000
"""Largest default number of chunks of an array: the scheduler has overhead for each chunk."""


class StoreChunk(NamedTuple):
    """Description of some rows of a store, from which a worker reads them.

    Attributes
    ----------
    path : str
        Absolute path of the store, the same on all workers.
    manifest : Manifest
        Manifest of the shards of the chunk.
    beside : dict of File
        The files of targets and weights of a whole `WrittenPart`.
    first : int
        Position of the first row in these files.
    verify : bool
        Whether to verify the checksums of rows.
    """

    path: str
    manifest: Manifest
    beside: dict[str, File]
    first: int
    verify: bool


def _chunks_of(store: RowStore, shards: int) -> list[StoreChunk]:
    """Return chunks of ``shards`` shards each. The last chunk of each `WrittenPart` may have fewer."""
    found = []
    for part in store.manifest.parts:
        starts = [0, *accumulate(shard.rows for shard in part.shards)]
        beside = {name: store.manifest.part_file(part, name) for name in part.crc32}
        for first in range(0, len(part.shards), shards):
            some = replace(part, shards=part.shards[first : first + shards])
            manifest = replace(store.manifest, parts=[some], names=None, classes=None)
            found.append(StoreChunk(str(store.path.absolute()), manifest, beside, starts[first], store.verify))
    return found


def _dask_array(what: str, token: str, chunks: list[StoreChunk], others: tuple[int, ...] = (), meta: Any = None) -> Any:
    """Return a dask array of the rows, targets or weights, read chunk by chunk."""
    try:
        from dask.array import Array
    except ImportError:
        raise ImportError("a row store as dask arrays needs dask: pip install 'frankwolfe[dask]'") from None
    name, zeros = f"frankwolfe-{what}-{token}", (0,) * len(others)
    graph = {(name, k, *zeros): (read_chunk, chunk, what) for k, chunk in enumerate(chunks)}
    sizes = tuple(chunk.manifest.rows for chunk in chunks)
    meta = np.empty((0,) * (1 + len(others))) if meta is None else meta
    return Array(graph, name, (sizes, *((size,) for size in others)), meta=meta)


def read_chunk(chunk: StoreChunk, what: str) -> Any:
    """Read the ``"rows"`` of a chunk, an array or a CSR array, or its ``"targets"`` or ``"weights"``."""
    path, manifest = Path(chunk.path), chunk.manifest
    part = manifest.parts[0]
    file = manifest.shard_files(part.shards[0])[0] if what == "rows" else chunk.beside[what]
    try:
        if what == "rows":
            return RowStore(path, 2**62, chunk.verify, manifest).matrix()  # all of them, whatever their size
        width = max(1, manifest.outputs) if what == "targets" else 1
        entries = slice(chunk.first * width, (chunk.first + part.rows) * width)
        found = read_array(path, file, np.dtype(np.float64), entries)
        return found.reshape(-1, manifest.outputs) if what == "targets" and manifest.outputs else found
    except OSError as error:
        why = str(error) if path.is_dir() else "there is no such folder"
        raise OSError(
            f"{_where_this_is()} cannot read {path / file.name}: {why}. All workers must reach the row store by this "
            "path: put it on a file system that they share"
        ) from error


def _where_this_is() -> str:
    """Return the address of this worker, or the process id, and the name of the machine, as text."""
    machine = platform.node() or "this machine"
    try:
        from dask.distributed import get_worker

        return f"worker {get_worker().address} on {machine}"
    except (ImportError, ValueError):  # another dask scheduler, without workers
        return f"process {os.getpid()} on {machine}"
