"""numba's cache files, made safe: what is damaged, or belongs to another signature, is compiled and written anew.

numba trusts its files. A damaged index raises errors of any kind, damaged machine code ends the process, and two
processes that write at once can leave the code of one signature under the name of another. Here every file ends with a
digest of its content, and every piece of code is stored with its key.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any

from numba.core.caching import IndexDataCacheFile

DIGEST_BYTES = sha256().digest_size


class CheckedCacheFile(IndexDataCacheFile):
    """Index and data files of one kernel, each with a digest at its end; readers of pickles stop before it."""

    @classmethod
    def instead_of(cls, plain: IndexDataCacheFile) -> "CheckedCacheFile":
        """Return checked files at the place of numba's own."""
        checked = cls.__new__(cls)
        checked.__dict__.update(plain.__dict__)
        return checked

    def save(self, key: Any, data: Any) -> None:
        """Store code with its key; what was damaged is replaced."""
        super().save(key, (key, data))

    def load(self, key: Any) -> Any:
        """Return the code of a key, or None where there is none that is whole and its own."""
        stored = super().load(key)
        return stored[1] if stored is not None and stored[0] == key else None

    def _load_index(self) -> dict:
        if not _is_whole(self._index_path):
            return {}
        try:
            return super()._load_index()
        except Exception:  # a whole file of other classes: pickle may raise anything
            return {}

    def _load_data(self, name: str) -> Any:
        if not _is_whole(self._data_path(name)):
            return None
        try:
            return super()._load_data(name)
        except OSError:
            raise
        except Exception:
            return None

    @contextmanager
    def _open_for_write(self, filepath: str) -> Iterator[Any]:
        content = BytesIO()
        yield content
        written = content.getvalue()
        with super()._open_for_write(filepath) as stream:
            stream.write(written)
            stream.write(sha256(written).digest())


def _is_whole(path: str) -> bool:
    """Whether a file is as it was written; one that cannot be opened is left to numba, which knows what that means."""
    try:
        content = Path(path).read_bytes()
    except OSError:
        return True
    return sha256(content[:-DIGEST_BYTES]).digest() == content[-DIGEST_BYTES:]
