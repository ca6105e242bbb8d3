"""Data in the format of SVMlight and LIBSVM: ``target index:value index:value ...``, a line for each row.

A remark begins with ``#`` and ends with its line. Blank lines are no rows. Query numbers (``qid:7``) are not read.
Every number is the double nearest to its digits, as Python's ``float`` has it.
"""

import mmap
import re
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from frankwolfe.compile.kernels import compiling
from frankwolfe.io.streams import is_compressed, opened
from frankwolfe.io.svmlight_kernel import (
    AT,
    ENTRIES,
    MISTAKE,
    ROWS,
    UNCERTAIN,
    count_lines,
    finite_number,
    keep_number,
    parse_line,
    parse_lines,
)
from frankwolfe.linalg.threads import available_cores

BLOCK = 2**22
"""Bytes in a block, up to the end of a line."""

BYTE_ORDER_MARK = b"\xef\xbb\xbf"

_TOKEN = re.compile(rb"[^\s#]*")


class Rows(NamedTuple):
    """Rows of a sparse matrix with their targets.

    Attributes
    ----------
    targets, ends : array of shape (n,)
        Target of each row, and number of entries up to its end.
    indices, values : array
        The entries.
    """

    targets: np.ndarray
    ends: np.ndarray
    indices: np.ndarray
    values: np.ndarray

    @staticmethod
    def room(rows: int, entries: int) -> "Rows":
        """Return room for so many."""
        return Rows(np.empty(rows), np.empty(rows, np.int64), np.empty(entries, np.int32), np.empty(entries))

    def part(self, rows: slice, entries: slice) -> "Rows":
        """Return some rows and entries, not copied."""
        return Rows(self.targets[rows], self.ends[rows], self.indices[entries], self.values[entries])


class BadLineError(Exception):
    """A line that cannot be read: how many come before it in its block, and what is wrong."""

    def __init__(self, before: int, what: str):
        super().__init__(before, what)
        self.before, self.what = before, what

    def placed(self, path: Path, lines: int) -> ValueError:
        """Return the error for a user, if so many lines come before the block."""
        return ValueError(f"{path}, line {lines + self.before + 1}: {self.what}")


def load_code() -> None:
    """Load, or compile, what threads are about to call: one after the other, they would do so at the same time."""
    nothing = np.frombuffer(b"", dtype=np.uint8)
    count_lines(nothing)
    parse_block(nothing, Rows.room(0, 0))


def parse_block(text: np.ndarray, room: Rows) -> Rows:
    """Read a block of lines into arrays that are large enough; return the parts of them that were filled."""
    state = np.array([0, 0, 0, 0, -1])
    status = parse_lines(text, *room, state)
    while status == UNCERTAIN:
        token = _token(text, int(state[AT]))
        value = finite_number(token)
        if value is None:
            status = MISTAKE
            break
        keep_number(value, room.targets, room.indices, room.values, state)
        state[AT] += len(token)
        status = parse_lines(text, *room, state)
    if status == MISTAKE:
        raise _bad_line(text, int(state[AT]))
    return room.part(slice(int(state[ROWS])), slice(int(state[ENTRIES])))


def _token(text: np.ndarray, at: int) -> bytes:
    """Return the token at a place."""
    size = 64
    while True:
        found = text[at : at + size].tobytes()
        token = _TOKEN.match(found)[0]  # type: ignore[index]  # it matches at least nothing
        if len(token) < len(found) or at + size >= text.size:
            return token
        size *= 2


def _bad_line(text: np.ndarray, at: int) -> BadLineError:
    """Say what is wrong with the line at a place."""
    before = text[:at].tobytes()
    line = before[before.rfind(b"\n") + 1 :] + text[at:].tobytes().partition(b"\n")[0]
    try:
        parse_line(line)
        what = "it cannot be read"
    except ValueError as error:
        what = str(error)
    return BadLineError(before.count(b"\n"), what)


def read_mapped(path: Path, threads: int, block: int = BLOCK) -> Rows:
    """Read a file that is not compressed."""
    blocks = mapped_blocks(path, block)
    load_code()
    with ThreadPoolExecutor(threads) as pool:
        return _read_counted(path, blocks, pool)


def _read_counted(path: Path, blocks: list[np.ndarray], pool: ThreadPoolExecutor) -> Rows:
    counts = np.array(list(pool.map(count_lines, blocks)), dtype=np.int64).reshape(-1, 2)
    bounds = np.vstack([np.zeros((1, 2), np.int64), np.cumsum(counts, axis=0)])
    whole = Rows.room(*bounds[-1].tolist())
    slices = [map(slice, low, high) for low, high in pairwise(bounds.tolist())]
    futures = [pool.submit(parse_block, text, whole.part(*at)) for text, at in zip(blocks, slices, strict=True)]
    parts: deque[Rows] = deque()
    for number, future in enumerate(futures):
        try:
            parts.append(future.result())
        except BadLineError as error:
            for other in futures:
                other.cancel()
            raise error.placed(path, int(bounds[number, 0])) from None
    return _gathered(whole, parts)


def mapped_blocks(path: Path, size: int) -> list[np.ndarray]:
    """Return arrays that look at blocks of whole lines of a file. A last line without an end gets one, in a copy."""
    with path.open("rb") as stream:
        mapped = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)  # closed when no array looks at it any more
    at = len(BYTE_ORDER_MARK) if mapped[: len(BYTE_ORDER_MARK)] == BYTE_ORDER_MARK else 0
    blocks: list[np.ndarray] = []
    while at < len(mapped):
        end = mapped.find(b"\n", min(at + size, len(mapped)) - 1) + 1
        if end == 0:
            end = mapped.rfind(b"\n", at) + 1
            rest = np.frombuffer(mapped[max(at, end) :] + b"\n", dtype=np.uint8)
            return [*blocks, *([_view(mapped, at, end)] if end > at else []), rest]
        blocks.append(_view(mapped, at, end))
        at = end
    return blocks


def _view(mapped: mmap.mmap, start: int, end: int) -> np.ndarray:
    return np.frombuffer(mapped, dtype=np.uint8, count=end - start, offset=start)


def _gathered(whole: Rows, parts: "deque[Rows]") -> Rows:
    """Put parts one after the other into arrays, and give up each as it is copied.

    Parts of the same arrays stay where they are, up to the first that was not filled: blank lines, remarks and query
    numbers leave gaps, which are closed.
    """
    rows = entries = 0
    while parts:
        part = parts.popleft()
        here = whole.part(slice(rows, rows + len(part.targets)), slice(entries, entries + len(part.values)))
        for mine, other in zip(here, part, strict=True):
            if mine.ctypes.data != other.ctypes.data:
                mine[:] = other
        here.ends[:] += entries
        rows, entries = rows + len(here.targets), entries + len(here.values)
    return whole.part(slice(rows), slice(entries))


def read_stream(path: Path, stream: BinaryIO, threads: int, block: int = BLOCK) -> Rows:
    """Read what a stream decompresses."""
    load_code()
    parts: deque[Rows] = deque()
    lines = 0
    with ThreadPoolExecutor(threads) as pool:
        waiting: deque[Future[tuple[int, Rows]]] = deque()
        try:
            for text in stream_blocks(stream, block):
                waiting.append(pool.submit(read_block, text))
                if len(waiting) > threads:  # no more blocks in memory than threads can read
                    lines += _take(waiting, parts)
            while waiting:
                lines += _take(waiting, parts)
        except BadLineError as error:
            raise error.placed(path, lines) from None
    whole = Rows.room(sum(len(part.targets) for part in parts), sum(len(part.values) for part in parts))
    return _gathered(whole, parts)


def _take(waiting: "deque[Future[tuple[int, Rows]]]", parts: "deque[Rows]") -> int:
    """Move the first block that waits to the parts, and return how many lines it had."""
    lines, part = waiting.popleft().result()
    parts.append(part)
    return lines


def read_block(content: bytes | np.ndarray) -> tuple[int, Rows]:
    """Return how many lines a block has, and its rows."""
    text = np.frombuffer(content, dtype=np.uint8)
    lines, entries = count_lines(text)
    return lines, parse_block(text, Rows.room(lines, entries))


def stream_blocks(stream: BinaryIO, size: int) -> Iterator[bytes]:
    """Yield blocks of whole lines. A last line without an end gets one."""
    rest = stream.read(len(BYTE_ORDER_MARK)).removeprefix(BYTE_ORDER_MARK)
    while content := stream.read(size):
        lines, end, begun = content.rpartition(b"\n")
        if end:
            yield b"".join((rest, lines, end))
            rest = begun
        else:
            rest += content
    if rest:
        yield rest + b"\n"


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
