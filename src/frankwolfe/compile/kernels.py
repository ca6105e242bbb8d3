"""Kernels: functions that numba compiles for the parts they are called with, cached on disk.

numba is imported at the first kernel call, so that ``import frankwolfe`` and predictions stay fast.

The cache on disk:

- Kernels are cached under names that contain a digest of all sources from which their machine code can come: those of
  `SHARED`, and the kernel's own file. numba alone would only notice changes in the kernel's own file, and fails on
  cached classes that have moved since.
- Kernels on a part defined elsewhere are not cached: its source is not in the digest, so the code could be stale.
- A process whose sources have been replaced since it imported them neither reads nor writes the cache.
- If no cache directory is writable, nothing is cached.
- Damaged cache files are detected and replaced (`compile/numba_backend.py`).
"""

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache, cached_property, wraps
from hashlib import sha256
from pathlib import Path
from threading import Lock, Timer, get_ident
from time import perf_counter, time
from types import FunctionType
from typing import Any, TypeVar, cast

PACKAGE = __name__.partition(".")[0]

IMPORTED = time()
"""When this process imported the package."""

COMPILE_ABOVE = 2**21
"""Number of entries of the data above which exact passes and models use kernels; otherwise NumPy and SciPy.

A stored entry of sparse data counts four times: SciPy takes ten times as long as a kernel for a sparse Hessian. Kernels
save up to half of a run's time, but loading them takes a second, and compiling them ten seconds. The choice depends on
the size of the data alone, so that the same seed gives the same result regardless of earlier runs.
"""

SHARED = (
    "compile",
    "linalg",
    "losses",
    "methods",
    "rows",
    "sets",
    "objective/offset.py",
    "problem/linear_bounds.py",
)
"""Folders and files with the code and the constants that kernels of other files use. All others hold at most kernels,
and parts for the kernels of the same file. `tests/compile/test_digest.py` finds what is missing here.
"""

_interpreted: ContextVar[bool] = ContextVar("interpreted", default=False)
_compile_above: ContextVar[int] = ContextVar("compile_above", default=COMPILE_ABOVE)


@contextmanager
def _set(variable: ContextVar, value: Any) -> Iterator[None]:
    """Set a context variable inside the block."""
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


def python_mode() -> AbstractContextManager[None]:
    """Run kernels as plain Python inside the block: slow, but a debugger and ``print`` work in every part.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> problem = fw.Problem([[1.0, 2.0], [3.0, -1.0]], [1, -1], loss="logistic", constraint=fw.L1Ball(1.0))
    >>> with fw.python_mode():
    ...     result = fw.minimize(problem, method="fw", max_passes=5)
    """
    return _set(_interpreted, True)


def compiling() -> bool:
    """Return whether kernels run compiled, that is, outside of `python_mode`."""
    return not _interpreted.get()


def compile_above(entries: int) -> AbstractContextManager[None]:
    """Use kernels inside the block for data with more than ``entries`` entries; 0 means for all data."""
    return _set(_compile_above, entries)


def worth_compiling(entries: int, is_sparse: bool = False) -> bool:
    """Return whether data with this number of entries is large enough for kernels, which take a second to load."""
    return compiling() and (4 if is_sparse else 1) * entries > _compile_above.get()


@cache
def _backend() -> Any:
    """Import and return the module that uses numba. The import is slow."""
    with waiting().counted():
        from frankwolfe.compile import numba_backend

    return numba_backend


@cache
def source_digest(file: str) -> str:
    """Return a digest of the sources that are compiled into the kernels of a file: those of `SHARED`, and itself."""
    digest = sha256()
    folder = Path(__file__).parents[1]
    shared = [path for name in SHARED for path in sorted((folder / name).rglob("*.py")) or [folder / name]]
    for path in (*shared, Path(file)):
        digest.update(path.as_posix().removeprefix(folder.as_posix()).encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def sources_changed() -> bool:
    """Return whether a source of the package has been written since its import: what runs may differ from the files."""
    return any(path.stat().st_ctime > IMPORTED for path in Path(__file__).parents[1].rglob("*.py"))


class Kernel:
    """A function that runs compiled or, inside `python_mode`, as it is written."""

    def __init__(self, function: Callable):
        self.python = function
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__

    @cached_property
    def uncached(self) -> Any:
        """The compiled function, not cached on disk."""
        return _backend().jit(self.python, cache=False)

    @cached_property
    def cached(self) -> Any:
        """The compiled function, cached on disk; the uncached function if that is not possible."""
        if sources_changed():
            return self.uncached
        try:
            with waiting().counted():  # the first digest reads all sources
                return _backend().jit(_named_by_digest(self.python), cache=True)
        except RuntimeError:  # numba found no writable directory
            return self.uncached

    def __call__(self, *args: Any) -> Any:
        """Run the function, then raise an error that a callback has stored."""
        if _interpreted.get():
            return self.interpreted(*args)
        found = self._run_compiled(*args)
        raise_stored()
        return found

    def interpreted(self, *args: Any) -> Any:
        """Run the function as Python, then raise an error that a callback has stored."""
        found = self.python(*args)
        raise_stored()
        return found

    def _run_compiled(self, *args: Any) -> Any:
        backend = _backend()
        backend.teach_numba()
        try:
            if not _all_in_digest(args, self.python.__module__):
                return self.uncached(*args)
            try:
                return self.cached(*args)
            except OSError:  # the cache opens but cannot be written: a full or read-only disk
                self.cached = self.uncached
                return self.uncached(*args)
        except Exception as error:
            if type(error).__module__.startswith("numba") or not all(map(backend.has_type, args)):
                raise _explained(error, args) from error
            raise


def kernel(function: Callable) -> Kernel:
    """Decorate a function to be a `Kernel`."""
    return Kernel(function)


def _named_by_digest(function: Any) -> Callable:
    """Return the function under a name that contains the source digest. numba derives the cache file from the name."""
    named = FunctionType(function.__code__, function.__globals__, function.__name__, closure=function.__closure__)
    named.__qualname__ = f"{function.__qualname__}.{source_digest(function.__code__.co_filename)[:16]}"
    return named


def _all_in_digest(values: tuple, module: str) -> bool:
    """Return whether the digest of a module's kernels covers the classes of all parts among their arguments.

    Every kernel call runs this.
    """
    for value in values:
        if isinstance(value, tuple) and not (_in_digest(type(value), module) and _all_in_digest(value, module)):
            return False
    return True


@cache
def _in_digest(kind: type, module: str) -> bool:
    """Return whether a tuple class is built-in, of a shared source, or of the module itself."""
    home = kind.__module__
    return home in ("builtins", module) or is_shared(home)


def is_shared(module: str) -> bool:
    """Return whether a module is part of `SHARED`."""
    package, _, path = module.replace(".", "/").partition("/")
    return package == PACKAGE and any(f"{path}/".startswith(name.removesuffix(".py") + "/") for name in SHARED)


def _explained(error: Exception, args: tuple) -> TypeError:
    """Return an error that names the parts that could not be compiled, followed by numba's message."""
    foreign = sorted({name for value in args for name in _foreign(value)})
    who = f"{', '.join(foreign)} could not be compiled" if foreign else "a kernel could not be compiled"
    return TypeError(
        f"{who}: numba understands plain numeric Python only, and the methods of a part must return the same type on "
        f"every path. Run inside frankwolfe.python_mode() to debug. numba says:\n{error}"
    )


def _foreign(value: Any) -> Iterator[str]:
    """Yield the names of classes defined outside the package among the parts of a kernel argument."""
    if isinstance(value, tuple):
        if type(value).__module__.partition(".")[0] not in (PACKAGE, "builtins"):
            yield type(value).__name__
        for field in value:
            yield from _foreign(field)


# --- errors inside callbacks -----------------------------------------------------------------------------------------

# An exception cannot propagate through compiled code. A callback stores it here and returns normally. `Kernel` raises
# it after the compiled code has returned.

_errors: dict[int, BaseException] = {}


def store_error(error: BaseException) -> None:
    """Store the first error of this thread until `raise_stored`."""
    _errors.setdefault(get_ident(), error)


def raise_stored() -> None:
    """Raise the error stored by this thread, if there is one."""
    if _errors:  # nearly always empty
        error = _errors.pop(get_ident(), None)
        if error is not None:
            raise error


# --- time of compiling, and a notice ----------------------------------------------------------------------------------
#
# A new combination of loss, set and method takes seconds to compile, once. Without a notice this looks like a hang.


Function = TypeVar("Function", bound=Callable)

NOTICE_AFTER = 1.0
"""Seconds of compilation, excluding loading from the cache, after which the notice appears."""

LATER = ", later runs load it from disk"
IN_A_PROCESS = " in a process (code with parts of your own is not kept on disk)"
"""Ends of the notice, with and without a cache."""

Listener = Callable[[str], None]


class Waiting:
    """Timer of a run for importing numba, loading kernels from the cache, and compiling them.

    Attributes
    ----------
    seconds : float
        Total time. Time in which several threads compile at once is counted once.
    what : str
        Description of the compiled code, for the notice.
    """

    def __init__(self, what: str = "numerical code"):
        self.seconds, self.what = 0.0, what
        self._lock, self._inside, self._begun = Lock(), 0, 0.0
        self._compiled, self._notified = 0.0, False

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Add the time of the block to `seconds`. Blocks may be nested, and open in several threads."""
        with self._lock:
            if self._inside == 0:
                self._begun = perf_counter()
            self._inside += 1
        try:
            yield
        finally:
            with self._lock:
                self._inside -= 1
                if self._inside == 0:
                    self.seconds += perf_counter() - self._begun

    @contextmanager
    def compiling(self, cached: bool) -> Iterator[None]:
        """Issue the notice once the run has compiled for `NOTICE_AFTER` seconds, in this block and earlier ones."""
        begun, listener = perf_counter(), _listener.get() or _print

        def notify() -> None:
            self._notified = True
            listener(f"compiling {self.what}: this happens once{LATER if cached else IN_A_PROCESS}")

        timer = Timer(max(0.0, NOTICE_AFTER - self._compiled), notify)
        timer.daemon = True
        if not (self._notified or os.environ.get("FRANKWOLFE_QUIET")):
            timer.start()
        try:
            yield
        finally:
            timer.cancel()
            self._compiled += perf_counter() - begun


_current: ContextVar[Waiting] = ContextVar("waiting")
_outside = Waiting()  # for kernels called outside of a run
_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


def waiting() -> Waiting:
    """Return the timer of the current run."""
    return _current.get(_outside)


def timed(function: Function) -> Function:
    """Decorate a function to run with a new `Waiting` timer."""

    @wraps(function)
    def run(*args, **kwargs):
        with _set(_current, Waiting()):
            return function(*args, **kwargs)

    return cast(Function, run)


@dataclass
class Stopwatch:
    """Times of a run: of the method, of its certificates (which are included), and of compilation (which is not)."""

    seconds: float = 0.0
    certificate_seconds: float = 0.0
    waiting: Waiting = field(default_factory=waiting)
    earlier_compile_seconds: float = 0.0

    @property
    def compile_seconds(self) -> float:
        """Time of importing numba, loading kernels from the cache, and compiling."""
        return self.earlier_compile_seconds + self.waiting.seconds

    def charged(self, certificate: bool = False) -> "Charged":
        """Return a context manager that adds the time of its block, without compilation, to that of the method.

        With ``certificate``, the time is also added to that of certificates.
        """
        return Charged(self, certificate)

    def state(self) -> dict[str, float]:
        """Return the times as state entries."""
        names = ("seconds", "certificate_seconds", "compile_seconds")
        return {name: getattr(self, name) for name in names}

    def restore(self, state: Mapping[str, float]) -> None:
        """Set the times from a saved state."""
        self.seconds, self.certificate_seconds = state["seconds"], state["certificate_seconds"]
        self.earlier_compile_seconds = state["compile_seconds"]


class Charged:
    """Context manager of `Stopwatch.charged`. As a generator it would cost several per cent of a small problem."""

    __slots__ = ("begun", "certificate", "compiled", "watch")

    def __init__(self, watch: Stopwatch, certificate: bool):
        self.watch, self.certificate = watch, certificate

    def __enter__(self) -> None:
        self.compiled, self.begun = self.watch.waiting.seconds, perf_counter()

    def __exit__(self, *_: object) -> None:
        compiled = self.watch.waiting.seconds - self.compiled
        seconds = max(0.0, perf_counter() - self.begun - compiled)
        self.watch.seconds += seconds
        self.watch.certificate_seconds += seconds if self.certificate else 0.0


def notices_to(listener: Listener) -> AbstractContextManager[None]:
    """Pass notices to a function inside the block, instead of printing them to stderr."""
    return _set(_listener, listener)


def _print(text: str) -> None:
    if sys.stderr is not None:  # None in programs started without stderr
        print(f"frankwolfe: {text}", file=sys.stderr, flush=True)
