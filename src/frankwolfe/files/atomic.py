"""Files that are there whole or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def replacing(path: str | os.PathLike) -> Iterator[BinaryIO]:
    """Open a file to write that takes its name once it is whole; if anything goes wrong, what was there stays.

    The unfinished file lies in the same folder, so that the last move is one within a file system.

    Parameters
    ----------
    path : str or Path
        What to write; replaced if it exists.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(Path(folder) / "a.txt") as stream:
    ...         _ = stream.write(b"all of it")
    ...     [path.name for path in Path(folder).iterdir()]
    ['a.txt']
    """
    path = Path(path)
    if path.exists() and not path.is_file():  # a folder, or a device that a rename would do away with
        raise OSError(f"{path} is not a file that could be replaced")
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.unfinished")
    try:
        with unfinished.open("xb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
