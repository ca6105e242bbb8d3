"""Everything specific to numba: registration of verbs, linking of callees into one kernel, checked cache files.

This file is imported at the first compiled call. It contains all code that depends on numba's internals, and was
written for numba 0.68 with llvmlite 0.50.
"""

import gc
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
from numba.core.cpu import CPUContext
from numba.extending import intrinsic, overload
from numba.np import arrayobj

from frankwolfe.compile.kernels import sources_changed, waiting
from frankwolfe.compile.verbs import RELAXED, VARIANTS, call_back, chosen, hint, where

RELAXED_ARITHMETIC = {"reassoc"}
"""LLVM may reorder the additions of a `relaxed` routine, and nothing else: no fused products, no reciprocals in place
of quotients. All other code rounds as written, so that results are the same on every processor.
"""


def jit(function: Callable, cache: bool) -> Any:
    """Return numba's dispatcher of a kernel. Raise RuntimeError if ``cache`` is True and no folder is writable."""
    options: Any = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
    compiler = KernelCompiler if cache else UncachedCompiler
    dispatcher: Any = numba.njit(cache=cache, pipeline_class=compiler, **options)(function)
    if cache:
        dispatcher._cache._cache_file = CheckedCacheFile.instead_of(dispatcher._cache._cache_file)
    load = dispatcher._compile_for_args  # numba calls it for a new signature: it loads, or compiles

    def timed_load(*args: Any, **kwargs: Any) -> Any:
        with waiting().counted():
            return load(*args, **kwargs)

    dispatcher._compile_for_args = timed_load
    return dispatcher


def has_type(value: Any) -> bool:
    """Return whether numba has a type for a value. For others numba may raise any kind of error."""
    try:
        return numba.typeof(value) is not None
    except Exception:
        return False


# --- one kernel, one piece of machine code -------------------------------------------------------------------------

# numba optimises and compiles every function that a kernel calls, once on its own and again inside each of its callers.
# Python never calls these functions. Here they are only linked, and the kernel as a whole is optimised and compiled
# once, which takes half the time or less.

COUNTING = ("NRT_incref", "NRT_decref")
"""Functions of numba's runtime that count references to an array."""


class LinkedLibrary(JITCodeLibrary):
    """The code of a function that only compiled code calls: linked into its callers, and compiled with them."""

    class codegen:
        """Replacement of the code generator, which numba calls to store an address in code that is never loaded."""

        @staticmethod
        def set_env(name: str, environment: Any) -> None:
            """Do nothing: `KernelCompiler` sets the environments of the whole kernel."""

    def finalize(self) -> None:
        """Link the callees of the function, without optimising or generating machine code."""
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
        """Add a module. The wrapper is stored and added after all other modules are linked."""
        if ir_module.name == "wrapper":
            self.wrapper = ir_module
        else:
            super().add_ir_module(ir_module)

    def finalize(self) -> None:
        """Link, optimise and compile the kernel.

        The wrapper holds references to all arrays while the kernel runs. A kernel that neither allocates nor returns an
        array therefore need not count references, which would take up to a third of the time of a step of `sfw`.
        """
        link_callees(self)
        functions = [function.name for function in self._final_module.functions]
        runtime = {name for name in (*functions, *self.wrapper.globals) if name.startswith("NRT_")}
        others = "NRT_Free NRT_MemInfo_call_dtor NRT_MemInfo_data_fast NRT_adapt_ndarray_from_python"
        if runtime <= {*COUNTING, *others.split()}:
            self._stop_counting()
        for function in self._final_module.functions:
            # No other module calls these functions, so LLVM may inline and delete them. Those of numba's runtime are
            # needed by name.
            if function.linkage == binding.Linkage.linkonce_odr and not function.name.lower().startswith("nrt_"):
                function.linkage = "internal"
        super().add_ir_module(self.wrapper)
        super().finalize()

    def _stop_counting(self) -> None:
        """Replace the functions that count references by empty ones."""
        empty = (f"define void @{name}(ptr %array) alwaysinline {{ ret void }}" for name in COUNTING)
        module, plain = binding.parse_assembly("\n".join(empty)), self._final_module
        module.name, module.triple, module.data_layout = plain.name, plain.triple, plain.data_layout
        module.link_in(plain)  # existing definitions take precedence
        for name in COUNTING:
            module.get_function(name).linkage = "internal"
        self._final_module = module


def link_callees(library: JITCodeLibrary) -> None:
    """Add the code of all functions that a library calls."""
    for callee in dict.fromkeys(library._linking_libraries):
        library._reload_init.update(callee._reload_init)
        library._final_module.link_in(callee._get_module_for_linking(), preserve=True)


def refuse_shapes(source, target):
    """Raise the error for assigning an array to a slice of another shape.

    numba's own error message includes the shapes, and its formatting takes a second or two to compile.
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

    cached = True

    def compile_extra(self, func: Any) -> Any:
        """Compile a function, with its callees as `LinkedLibrary`. The caller holds numba's global lock.

        The collector would take a tenth of the time: numba makes millions of objects, of which few are garbage.
        """
        generator, collecting = self.state.targetctx.codegen(), gc.isenabled()
        self.state.library = KernelLibrary(generator, func.__qualname__)
        self.state.library.enable_object_caching()
        gc.disable()
        try:
            with (
                waiting().compiling(self.cached),
                _replaced(generator, "_library_class", LinkedLibrary),
                _replaced(arrayobj, "raise_with_shape_context", refuse_shapes),
                _replaced(CPUContext, "create_cfunc_wrapper", lambda *_: None),  # of callees, for callers written in C
            ):
                found = super().compile_extra(func)
        finally:
            if collecting:
                gc.enable()
        for environment in found._find_referenced_environments():
            generator.set_env(environment.env_name, environment)
        return found


class UncachedCompiler(KernelCompiler):
    """Compiles a kernel that is not cached on disk."""

    cached = False


# --- verbs and routines --------------------------------------------------------------------------------------------

_known: set[Callable] = set()
_teaching = Lock()


def teach_numba() -> None:
    """Register with numba all verbs and routines that are not registered yet."""
    if len(_known) == len(VARIANTS):
        return
    # several threads may call a kernel for the first time at once
    with waiting().counted(), _teaching:
        if not _known:
            overload(where, strict=False)(lambda condition, a, b: chosen)
            overload(refuse_shapes)(lambda source, target: refuse_shapes)
            _teach_hint()
            _teach_call_back()
        for function, variants in VARIANTS.items():
            if function not in _known:
                options: Any = {"fastmath": RELAXED_ARITHMETIC if function in RELAXED else False}
                overload(function, strict=False, jit_options=options)(_resolver(function.__name__, variants))
        _known.update(VARIANTS)


def _resolver(name: str, variants: tuple[Callable, ...]) -> Callable:
    """Return the function that numba calls with the types of a call's arguments, to learn what to compile for it."""

    def resolve(*args):
        if variants:
            return variants[-1] if isinstance(args[-1], types.Array) else variants[0]
        if isinstance(args[0], types.NamedTuple | types.NamedUniTuple):
            return getattr(args[0].instance_class, name, None)
        return None

    return resolve


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


def _teach_call_back() -> None:
    """Compile `verbs.call_back` to a call of the function at the address."""

    def call(typingctx, address, argument, result):
        def lower(context, builder, signature, args):
            arrays = [
                arrayobj.make_array(kind)(context, builder, found)
                for kind, found in zip(signature.args[1:], args[1:], strict=True)
            ]
            pointers = [builder.bitcast(array.data, cgutils.voidptr_t) for array in arrays]
            kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, cgutils.voidptr_t])
            builder.call(builder.inttoptr(args[0], kind.as_pointer()), pointers)
            return context.get_dummy_value()

        return types.void(address, argument, result), lower

    instruction: Any = intrinsic(call)

    @overload(call_back, strict=False)
    def _(address, argument, result):
        def called(address, argument, result):
            instruction(address, argument, result)

        return called


# --- cache files ---------------------------------------------------------------------------------------------------

# numba does not verify its cache files. A damaged index raises errors of any kind, damaged machine code crashes the
# process, and two processes that write at once can store the code of one signature under the name of another. Here
# every file ends with a digest of its content, and code is stored together with its key.

DIGEST_BYTES = sha256().digest_size


class CheckedCacheFile(IndexDataCacheFile):
    """Index and data files of a kernel, each with a digest at its end. Unpickling ignores trailing bytes."""

    @classmethod
    def instead_of(cls, plain: IndexDataCacheFile) -> "CheckedCacheFile":
        """Return checked files at the same paths as numba's own."""
        checked = cls.__new__(cls)
        checked.__dict__.update(plain.__dict__)
        return checked

    def save(self, key: Any, data: Any) -> None:
        """Store code together with its key, replacing damaged files, unless its sources may have changed meanwhile."""
        if not sources_changed():
            super().save(key, (key, data))

    def load(self, key: Any) -> Any:
        """Return the code stored for a key, or None if it is missing, damaged, or has another key."""
        stored = super().load(key)
        return stored[1] if stored is not None and stored[0] == key else None

    def _load_index(self) -> dict:
        if not _is_whole(self._index_path):
            return {}
        try:
            return super()._load_index()
        except Exception:  # an intact file may refer to classes that no longer exist: pickle may raise anything
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
    """Return whether a file matches its digest. True for a file that cannot be opened, which numba handles itself."""
    try:
        content = Path(path).read_bytes()
    except OSError:
        return True
    return sha256(content[:-DIGEST_BYTES]).digest() == content[-DIGEST_BYTES:]
