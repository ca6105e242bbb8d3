"""Read the format of SVMlight and LIBSVM: ``target index:value index:value ...``, a line for each row.

A remark begins with ``#`` and ends with its line. Blank lines are skipped. Query numbers (``qid:7``) are ignored.
Every number is the double nearest to its digits, as Python's ``float`` returns it.

Large files are read in blocks of whole lines, which threads parse in parallel in compiled code. The result does not
depend on the size of the blocks or the number of threads. Plain Python parses small files, and lines that compiled code
cannot parse.
"""

import math
import re
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from frankwolfe.compile.kernels import compiling
from frankwolfe.io.streams import opened
from frankwolfe.io.svmlight_kernel import LARGEST_INDEX, parse_lines
from frankwolfe.io.tables import shortened
from frankwolfe.linalg.threads import available_cores

SMALL = 2**18
"""Files of fewer bytes are parsed in plain Python: this takes less time than to load compiled code."""

BLOCK = 2**22
"""Bytes in a block, up to the end of a line."""

BYTE_ORDER_MARK = b"\xef\xbb\xbf"

_NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


class ParsedRows(NamedTuple):
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
    def empty(rows: int, entries: int) -> "ParsedRows":
        """Return uninitialised arrays for given numbers of rows and entries."""
        return ParsedRows(np.empty(rows), np.empty(rows, np.int64), np.empty(entries, np.int32), np.empty(entries))

    def part(self, rows: slice, entries: slice) -> "ParsedRows":
        """Return a view of some rows and entries."""
        return ParsedRows(self.targets[rows], self.ends[rows], self.indices[entries], self.values[entries])


class BadLineError(Exception):
    """A line cannot be parsed. The error has the number of lines before it in its block, and a message."""

    def __init__(self, before: int, what: str):
        super().__init__(before, what)
        self.before, self.what = before, what

    def placed(self, path: Path, lines: int) -> ValueError:
        """Return an error with the line number in the file, given the number of lines before the block."""
        return ValueError(f"{path}, line {lines + self.before + 1}: {self.what}")


def read_svmlight(path: Path, first: int | None = None, threads: int | None = None) -> tuple[Any, np.ndarray, int]:
    """Read rows and targets.

    Parameters
    ----------
    path : Path
        The file, perhaps compressed.
    first : int, optional
        Index of the first column, 0 or 1. By default 0 if that index occurs, else 1.
    threads : int, optional
        Number of threads for a large file. By default one for each processor. The result does not depend on it.

    Returns
    -------
    X : CSR array
        The number of columns is that of the largest index.
    y : array
        The targets.
    first : int
        Index of the first column.
    """
    rows = _read_rows(path, threads or available_cores())
    if not len(rows.targets):
        raise ValueError(f"{path} holds no rows")
    return _as_matrix(path, rows, first)


def _read_rows(path: Path, threads: int) -> ParsedRows:
    """Return all rows of a file. The rows of a block are released as soon as they are copied to their place."""
    parts = deque(read_blocks(path, threads))
    whole = ParsedRows.empty(sum(len(part.targets) for part in parts), sum(len(part.values) for part in parts))
    rows = entries = 0
    while parts:
        part = parts.popleft()
        here = whole.part(slice(rows, rows + len(part.targets)), slice(entries, entries + len(part.values)))
        for mine, other in zip(here, part, strict=True):
            mine[:] = other
        here.ends[:] += entries
        rows, entries = rows + len(part.targets), entries + len(part.values)
    return whole


def load_code() -> None:
    """Load or compile the parser before threads do so at the same time."""
    parse_block(np.empty(0, np.uint8), ParsedRows.empty(0, 0))


def read_blocks(path: Path, threads: int) -> Iterator[ParsedRows]:
    """Yield the rows of a file block by block, in the order of the file. Threads parse the next blocks ahead."""
    with opened(path) as stream:
        compiled = compiling() and len(stream.read(SMALL)) == SMALL
    if compiled:
        load_code()
    lines, waiting = 0, deque[Future[tuple[int, ParsedRows]]]()
    with ThreadPoolExecutor(threads) as pool:
        try:
            for text in chain(_blocks(path), [None] * threads):  # the last ones wait for the blocks that are left
                if text is not None:
                    waiting.append(pool.submit(_parse_new, text, compiled))
                if waiting and (text is None or len(waiting) > threads):  # bounds the number of blocks in memory
                    number, rows = waiting.popleft().result()
                    lines += number
                    yield rows
        except BadLineError as error:
            raise error.placed(path, lines) from None
        finally:
            for future in waiting:
                future.cancel()


def _parse_new(text: np.ndarray, compiled: bool) -> tuple[int, ParsedRows]:
    """Return the number of lines of a block, and its rows in new arrays.

    Line ends and colons bound the numbers of rows and entries from above.
    """
    lines, entries = (int(np.count_nonzero(text == ord(sign))) for sign in "\n:")
    return lines, parse_block(text, ParsedRows.empty(lines, entries), compiled)


def _blocks(path: Path) -> Iterator[np.ndarray]:
    """Yield blocks of whole lines of a file, decompressed."""
    with opened(path) as stream:
        rest = stream.read(len(BYTE_ORDER_MARK)).removeprefix(BYTE_ORDER_MARK)
        while content := stream.read(BLOCK):
            lines, end, begun = content.rpartition(b"\n")
            if end:
                yield np.frombuffer(b"".join((rest, lines, end)), dtype=np.uint8)
                rest = begun
            else:
                rest += content
    if rest:
        yield np.frombuffer(rest + b"\n", dtype=np.uint8)


def _as_matrix(path: Path, rows: ParsedRows, first: int | None) -> tuple[Any, np.ndarray, int]:
    """Return the rows as a CSR matrix, the targets, and the index of the first column."""
    from scipy import sparse

    starts = np.concatenate([[0], rows.ends[:-1]])
    filled = rows.ends > starts  # indices increase within a row, so the first and the last one bound the others
    lowest = int(rows.indices[starts[filled]].min(initial=1))
    largest = int(rows.indices[rows.ends[filled] - 1].max(initial=0))
    first = lowest if first is None else first
    if lowest < first:
        raise ValueError(f"{path} has a column 0, but columns were counted from {first} when the model was fitted")
    if first:
        rows.indices[:] -= first
    size = np.int32 if len(rows.values) < 2**31 else np.int64  # SciPy needs indices and indptr of one type
    indptr = np.concatenate([[0], rows.ends]).astype(size)
    shape = (len(rows.targets), max(1, largest + 1 - first))
    X = sparse.csr_array((rows.values, rows.indices.astype(size, copy=False), indptr), shape=shape)
    X.has_canonical_format = True  # indices increase, so none is repeated
    return X, rows.targets, first


# --- lines ------------------------------------------------------------------------------------------------------------


def parse_block(text: np.ndarray, rows: ParsedRows, compiled: bool = True) -> ParsedRows:
    """Parse a block of lines into the arrays ``rows``, which must be large enough. Return views of the filled parts."""
    state = np.zeros(3, dtype=np.int64)  # position, rows and entries so far
    content = b""
    while not (compiled and parse_lines(text, *rows, state)) and state[0] < text.size:
        content = content or text.tobytes()
        at, row, entry = state.tolist()
        end = content.index(b"\n", at)
        try:
            line = parse_line(content[at:end])
        except ValueError as error:
            raise BadLineError(content.count(b"\n", 0, at), str(error)) from None
        if line is not None:
            here = slice(entry, entry + len(line.values))
            rows.targets[row], rows.ends[row] = line.target, here.stop
            rows.indices[here], rows.values[here] = line.indices, line.values
            row, entry = row + 1, here.stop
        state[:] = end + 1, row, entry
    return rows.part(slice(int(state[1])), slice(int(state[2])))


class ParsedLine(NamedTuple):
    """The target and the entries of a line."""

    target: float
    indices: list[int]
    values: list[float]


def parse_line(line: bytes) -> ParsedLine | None:
    """Parse ``target index:value ... # remark`` in plain Python; return None for a line without a target.

    Examples
    --------
    >>> parse_line(b"+1 qid:7 2:0.5 10:3 # first")
    ParsedLine(target=1.0, indices=[2, 10], values=[0.5, 3.0])
    >>> parse_line(b"1 3:1 2:1")
    Traceback (most recent call last):
    ...
    ValueError: index 2 comes after 3: indices must increase
    """
    tokens = line.partition(b"#")[0].split()
    if not tokens:
        return None
    target = _finite_number(tokens[0])
    if target is None and b"," in tokens[0]:
        raise ValueError(
            f"the target {_shown(tokens[0])} is not one number: several labels for a row are not supported, write a "
            "file for each label"
        )
    if target is None:
        raise ValueError(f"the target {_shown(tokens[0])} is not a finite number")
    indices: list[int] = []
    values: list[float] = []
    for pair in tokens[1:]:
        if not pair.startswith(b"qid:"):
            index, value = _parse_pair(pair)
            if indices and index <= indices[-1]:
                raise ValueError(f"index {index} comes after {indices[-1]}: indices must increase")
            indices.append(index)
            values.append(value)
    return ParsedLine(target, indices, values)


def _parse_pair(pair: bytes) -> tuple[int, float]:
    index, colon, text = pair.partition(b":")
    if not (colon and index.isdigit()):
        raise ValueError(f"{_shown(pair)} is not of the form index:value")
    if len(index) > 10 or int(index) > LARGEST_INDEX:
        raise ValueError(f"index {_shown(index)} is too large: columns are numbered up to {LARGEST_INDEX:,}")
    value = _finite_number(text)
    if value is None:
        raise ValueError(f"the value in {_shown(pair)} is not a finite number")
    return int(index), value


def _finite_number(token: bytes) -> float | None:
    """Parse a finite number, else return None. Underscores and names of infinity, as in Python, are not accepted."""
    value = float(token) if _NUMBER.fullmatch(token) else math.nan
    return value if math.isfinite(value) else None


def _shown(token: bytes) -> str:
    return repr(shortened(token.decode("utf-8", "replace")))
