"""Locks on open files, which the system releases when their process ends, however it ends."""


def take_lock(handle: int) -> None:
    """Lock an open file without waiting; raise OSError if another process or thread holds the lock."""
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        return
    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
