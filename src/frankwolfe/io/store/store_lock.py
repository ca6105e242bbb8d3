"""One writer at a time: a lock beside a store, which the system lets go of when its process ends, however it ends."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from frankwolfe.storage.file_locks import take_lock


@contextmanager
def one_writer(path: Path) -> Iterator[None]:
    """Hold the lock of a store while the block runs; raise OSError if another process or thread holds it."""
    lock = path.with_name(f".{path.name}.lock")
    handle = _locked(lock, path)
    try:
        yield
    finally:
        lock.unlink(missing_ok=True)  # before it is let go: whoever takes a lock looks whether it is still the one
        os.close(handle)


def _locked(lock: Path, path: Path) -> int:
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
        os.close(handle)  # it was done away with in between: another one has to be made
