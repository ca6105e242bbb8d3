"""How kernels use numba: verbs made known to it, callees linked instead of compiled, cache files that are checked.

This file, imported with the first compiled call, holds everything that depends on numba's internals. It was written for
numba 0.68 with llvmlite 0.50.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from threading import Lock
from typing import Any

import numba
from llvmlite import binding, ir
from numba import types
from numba.core import cgutils
from numba.core.caching import IndexDataCacheFile
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.extending import intrinsic, overload
from numba.np import arrayobj

from frankwolfe.compile.verbs import RELAXED, ROUTINES, TWOFOLD, VERBS, ask, chosen, hint, where
from frankwolfe.compile.waiting import waiting

RELAXED_ARITHMETIC = {"reassoc"}
"""LLVM may reorder the additions of a `relaxed` routine, and nothing else: no fused products, no reciprocals in place
of quotients. All other code rounds as it is written, so that it means the same on every processor.
"""


def jit(function: Callable, cache: bool) -> Any:
    """Return numba's dispatcher of a kernel. Raise RuntimeError if a cache is wanted and no folder can be written."""
    options: Any = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
    dispatcher: Any = numba.njit(cache=cache, pipeline_class=KernelCompiler, **options)(function)
    if cache:
        dispatcher._cache._cache_file = CheckedCacheFile.instead_of(dispatcher._cache._cache_file)
    _watch(dispatcher)
    return dispatcher


def _watch(dispatcher: Any) -> None:
    """Count the time that a dispatcher takes to load or compile: numba calls this method for each new signature."""
    plain = dispatcher._compile_for_args

    def compile_for_args(*args: Any, **kwargs: Any) -> Any:
        with waiting().loading(dispatcher):
            return plain(*args, **kwargs)

    dispatcher._compile_for_args = compile_for_args


def has_type(value: Any) -> bool:
    """Return whether numba knows a type for a value; where it does not, it may fail with any kind of error."""
    try:
        return numba.typeof(value) is not None
    except Exception:
        return False


# --- one kernel, one piece of machine code -------------------------------------------------------------------------

# numba optimises every function that a kernel calls, and generates machine code for it, once by itself and again inside
# each of its callers. Nobody calls these functions from Python. Here they are only linked: the kernel as a whole is
# optimised and compiled once, which takes half the time or less.

COUNTING = ("NRT_incref", "NRT_decref")
"""Functions of numba's runtime that count references to an array."""

WITHOUT_ALLOCATION = {
    *COUNTING,
    "NRT_Free",
    "NRT_MemInfo_call_dtor",
    "NRT_MemInfo_data_fast",
    "NRT_adapt_ndarray_from_python",
}
"""Functions of numba's runtime that occur in kernels which neither allocate nor return an array."""

UNCOUNTED = "\n".join(f"define void @{name}(ptr %array) alwaysinline {{ ret void }}" for name in COUNTING)
"""What counts references in such kernels: nothing."""


class LinkedLibrary(JITCodeLibrary):
    """The code of a function that only compiled code calls: linked into its callers, and compiled with them."""

    class codegen:
        """Stands for the code generator, which numba asks to store an address in code that was never loaded."""

        @staticmethod
        def set_env(name: str, environment: Any) -> None:
            """Do nothing: `KernelCompiler` does it for the kernel as a whole."""

    def finalize(self) -> None:
        """Link what the function calls. Neither optimise it nor generate machine code."""
        self._raise_if_finalized()
        link_callees(self)
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Return 0: there is no machine code."""
        return 0


class KernelLibrary(JITCodeLibrary):
    """The code of a kernel: its function, all that it calls, and the wrapper that Python calls."""

    wrapper: Any = None

    def add_ir_module(self, ir_module: Any) -> None:
        """Add a module; the wrapper is kept back until all else is linked."""
        if ir_module.name == "wrapper":
            self.wrapper = ir_module
        else:
            super().add_ir_module(ir_module)

    def finalize(self) -> None:
        """Link, optimise and compile the kernel.

        The wrapper holds all arrays for as long as the kernel runs. A kernel that allocates and returns none need not
        count references to them, which would take up to a third of a step of `sfw`.
        """
        link_callees(self)
        functions = [function.name for function in self._final_module.functions]
        runtime = {name for name in (*functions, *self.wrapper.globals) if name.startswith("NRT_")}
        if runtime <= WITHOUT_ALLOCATION:
            self._stop_counting()
        for function in self._final_module.functions:
            # No other module calls them: LLVM may inline and delete them. It needs those of numba's runtime by name.
            if function.linkage == binding.Linkage.linkonce_odr and not function.name.lower().startswith("nrt_"):
                function.linkage = "internal"
        super().add_ir_module(self.wrapper)
        super().finalize()

    def _stop_counting(self) -> None:
        """Replace the functions that count references by empty ones."""
        module, plain = binding.parse_assembly(UNCOUNTED), self._final_module
        module.name, module.triple, module.data_layout = plain.name, plain.triple, plain.data_layout
        module.link_in(plain)  # definitions that are there already win
        for name in COUNTING:
            module.get_function(name).linkage = "internal"
        self._final_module = module


def link_callees(library: JITCodeLibrary) -> None:
    """Add the code of all functions that a library calls."""
    for callee in dict.fromkeys(library._linking_libraries):
        library._reload_init.update(callee._reload_init)
        library._final_module.link_in(callee._get_module_for_linking(), preserve=True)


def refuse_shapes(source, target):
    """Refuse to assign an array of one shape to a slice of another.

    numba's own message names the shapes, and the functions that write it take a second or two to compile.
    """
    raise ValueError("cannot assign an array to a slice of another shape")


@contextmanager
def _replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    """Replace an attribute inside the block."""
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


class KernelCompiler(Compiler):
    """Compiles a kernel as one piece."""

    def compile_extra(self, func: Any) -> Any:
        """Compile a function; those that it calls become a `LinkedLibrary`. numba's global lock is held."""
        generator = self.state.targetctx.codegen()
        self.state.library = KernelLibrary(generator, func.__qualname__)
        self.state.library.enable_object_caching()
        with (
            _replaced(generator, "_library_class", LinkedLibrary),
            _replaced(arrayobj, "raise_with_shape_context", refuse_shapes),
        ):
            found = super().compile_extra(func)
        for environment in found._find_referenced_environments():
            generator.set_env(environment.env_name, environment)
        return found


# --- verbs and routines --------------------------------------------------------------------------------------------

_known: set[Callable] = set()
_teaching = Lock()


def teach_numba() -> None:
    """Register every verb and routine that numba does not know yet."""
    if len(_known) == len(VERBS) + len(ROUTINES) + len(TWOFOLD):
        return
    # blocks of rows may meet a kernel for the first time in several threads
    with waiting().counted(), _teaching:
        if not _known:
            overload(where, strict=False)(lambda condition, a, b: chosen)
            overload(refuse_shapes)(lambda source, target: refuse_shapes)
            _teach_hint()
            _teach_ask()
        for function in VERBS:
            if function not in _known:
                _teach_verb(function)
        for function in TWOFOLD:
            if function not in _known:
                _teach_twofold(function)
        for function in ROUTINES:
            if function not in _known:
                _teach_routine(function)
        _known.update(VERBS, ROUTINES, TWOFOLD)


def _teach_verb(function: Callable) -> None:
    name = function.__name__

    def resolve(part, *args):
        if isinstance(part, types.NamedTuple | types.NamedUniTuple):
            return getattr(part.instance_class, name, None)
        return None

    overload(function, strict=False)(resolve)


def _teach_routine(function: Callable) -> None:
    options: Any = {"fastmath": RELAXED_ARITHMETIC if function in RELAXED else False}
    overload(function, strict=False, jit_options=options)(lambda *args: function)


def _teach_twofold(function: Callable) -> None:
    single, several = TWOFOLD[function]
    overload(function, strict=False)(lambda *args: several if isinstance(args[-1], types.Array) else single)


def _teach_hint() -> None:
    """Compile `verbs.hint` to the processor's prefetch instruction."""

    def prefetch(typingctx, array, k):
        def lower(context, builder, signature, args):
            found = arrayobj.make_array(signature.args[0])(context, builder, args[0])
            address = builder.bitcast(builder.gep(found.data, [args[1]]), cgutils.voidptr_t)
            word = ir.IntType(32)
            kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, word, word, word])
            call = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
            builder.call(call, [address, word(0), word(2), word(1)])  # to read, to the second cache, data
            return context.get_dummy_value()

        return types.void(array, k), lower

    instruction: Any = intrinsic(prefetch)

    @overload(hint, strict=False)
    def _(array, k):
        def hinted(array, k):
            instruction(array, k)

        return hinted


def _teach_ask() -> None:
    """Compile `verbs.ask` to a call of the address."""

    def call(typingctx, address, question, answer):
        def lower(context, builder, signature, args):
            arrays = [
                arrayobj.make_array(kind)(context, builder, found)
                for kind, found in zip(signature.args[1:], args[1:], strict=True)
            ]
            pointers = [builder.bitcast(array.data, cgutils.voidptr_t) for array in arrays]
            kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, cgutils.voidptr_t])
            builder.call(builder.inttoptr(args[0], kind.as_pointer()), pointers)
            return context.get_dummy_value()

        return types.void(address, question, answer), lower

    instruction: Any = intrinsic(call)

    @overload(ask, strict=False)
    def _(address, question, answer):
        def asked(address, question, answer):
            instruction(address, question, answer)

        return asked


# --- cache files ---------------------------------------------------------------------------------------------------

# numba trusts its files. A damaged index raises errors of any kind, damaged machine code ends the process, and two
# processes that write at once can leave the code of one signature under the name of another. Here every file ends with
# a digest of its content, and every piece of code is stored with its key.

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
