"""Make one edit, use the file, and judge what came of it."""

import shutil
import signal
import time
import traceback
import warnings

import numpy as np

from tests.edits.subjects import copied, folder, subjects

SECONDS = 60
"""An edit that is not dealt with by then hangs. Compiling may take longer, and is done before."""


def attend(seed, number):
    """Edit a file, use it and check what happens; return what became of it as plain data."""
    rng = np.random.default_rng([seed, number])
    name, (made, edit, use) = list(subjects().items())[number % len(subjects())]
    told, begun, failures = name, time.perf_counter(), []
    outcome = "error"

    def late(*_):
        raise TimeoutError("does not end")

    signal.signal(signal.SIGALRM, late)
    try:
        _once(name, made, use)
        path = copied(made(), folder()[1] / "edited")
        where, kind = edit(path, rng)
        told = f"{name}: {where}, {kind}"
        signal.alarm(SECONDS)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            outcome = _used(use, path, failures)
    except Exception as error:
        failures.append(("error", f"{type(error).__name__}: {error} {traceback.format_exc()[-500:]}"))
    finally:
        signal.alarm(0)
        _removed(folder()[1] / "edited")
    names = {"file": name.partition(",")[0], "outcome": outcome}
    seconds = time.perf_counter() - begun
    return {"number": number, "told": told, "names": names, "failures": failures, "facts": [], "seconds": seconds}


def _used(use, path, failures):
    """Use a file; return how that ended."""
    try:
        use(path)
    except (ValueError, FileNotFoundError) as error:
        if str(path) not in str(error):
            failures.append(("unnamed", f"{type(error).__name__}: {error} {traceback.format_exc()[-700:]}"))
        return "refused"
    except Exception as error:
        failures.append((type(error).__name__, f"{error} {traceback.format_exc()[-700:]}"))
        return "error"
    return "used"


_KNOWN = set()


def _once(name, made, use):
    """Use a file as it is, before it is edited: nothing is wrong with it, and all is compiled."""
    if name not in _KNOWN:
        path = copied(made(), folder()[1] / "edited")
        try:
            use(path)
        finally:
            _removed(path)
        _KNOWN.add(name)


def _removed(path):
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
