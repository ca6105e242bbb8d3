"""How kernels are compiled, cached on disk and explained; and what is imported when."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numba
import numpy as np
import pytest
from numba.core.caching import FunctionCache, IndexDataCacheFile

import frankwolfe as fw
from frankwolfe.compile import kernels as compiled
from frankwolfe.compile.kernels import Kernel, kernel
from frankwolfe.compile.verbs import RELAXED
from frankwolfe.losses.base import fill_both, fill_conjugates
from frankwolfe.rows.dense import dot_row
from tests import cases
from tests.own_parts import LogCosh

ROOT = Path(__file__).parents[2]

RUN = """
import json, sys
import frankwolfe as fw
from frankwolfe.compile import kernels as compiled

if len(sys.argv) > 1:
    compiled.source_digest = lambda file: sys.argv[1]
from frankwolfe.losses.base import fill_both

X, y = [[1.0, 2.0], [3.0, -1.0], [0.5, 0.5]], [1, -1, 1]
problem = fw.Problem(X, y, loss="logistic", constraint=fw.L1Ball(1.0))
with compiled.compile_above(0):
    value = problem.value([0.5, 0.25])
stats = fill_both.cached.stats
print(json.dumps([sum(stats.cache_hits.values()), sum(stats.cache_misses.values()), value]))
"""
"""One kernel that takes a moment to compile: all of them are kept in the same way."""


def python(program, *arguments, **environment):
    """Run a program in a new process and return what it printed, read as JSON."""
    finished = subprocess.run(
        [sys.executable, "-W", "error", "-c", program, *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={**os.environ, **environment},
    )
    assert finished.returncode == 0, finished.stderr
    return json.loads(finished.stdout)


def files(folder):
    """All files below a folder, with their times of change."""
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


# --- the cache --------------------------------------------------------------------------------------------------


def test_second_process_finds_machine_code_until_a_source_changes(tmp_path):
    first, second, edited = (
        python(RUN, *digest, NUMBA_CACHE_DIR=str(tmp_path)) for digest in ((), (), ("digest of other sources",))
    )
    assert first == [0, 1, first[2]]
    assert second == [1, 0, first[2]]
    assert edited == first


@pytest.fixture
def cache_folder(tmp_path, monkeypatch):
    """Folder in which kernels made during the test are cached."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    return tmp_path


@pytest.fixture
def fresh():
    """A kernel for the losses that nothing has been compiled for yet."""
    return Kernel(fill_both.python)


def objective(kernel, loss):
    """Objective that a kernel finds, after a check that it is right."""
    problem = cases.problem(loss)
    w = np.full(problem.d, 0.1)
    samples = problem.samples
    z, losses, alpha = problem.objective.predict(w), np.empty(problem.n), np.empty(problem.n)
    kernel(samples.loss, z, samples.targets, losses, alpha)
    found = samples.weights @ losses
    expected = np.mean([loss.value(z, y) for z, y in zip(problem.X @ w, problem.y, strict=True)])
    assert found == pytest.approx(expected, rel=1e-12)
    return found


def test_own_parts_are_cached_and_others_are_not(cache_folder, fresh):
    objective(fresh, LogCosh())
    assert files(cache_folder) == {}
    assert "cached" not in vars(fresh)
    objective(fresh, fw.Squared())
    kept = files(cache_folder)
    assert kept
    objective(fresh, LogCosh())
    assert files(cache_folder) == kept


def test_nothing_is_cached_once_a_source_has_changed(cache_folder, monkeypatch, fresh):
    objective(fresh, fw.Squared())
    assert "cached" in vars(fresh)
    kept = files(cache_folder)
    monkeypatch.setattr(compiled, "IMPORTED", 0.0)  # as if all sources had been written since
    objective(fresh, fw.Huber(1.0))  # another signature of the same kernel
    other = Kernel(fill_both.python)
    objective(other, fw.Squared())
    assert other.cached is other.uncached
    assert files(cache_folder) == kept


def test_works_where_no_cache_can_be_kept(monkeypatch, fresh):
    monkeypatch.setattr(FunctionCache._impl_class, "_locator_classes", [])
    with pytest.raises(RuntimeError, match="no locator"):  # what the kernel has to cope with
        numba.njit(cache=True)(fresh.python)
    objective(fresh, fw.Squared())
    assert fresh.cached is fresh.uncached


def test_works_where_the_cache_cannot_be_written(cache_folder, monkeypatch, fresh):
    tried = []

    def full_disk(self, key, data):
        tried.append(key)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(IndexDataCacheFile, "save", full_disk)
    objective(fresh, fw.Squared())
    assert len(tried) == 1
    assert fresh.cached is fresh.uncached
    objective(fresh, fw.Squared())
    assert len(tried) == 1  # and does not try again


def test_works_where_the_cache_folder_is_gone(cache_folder, fresh):
    folder = Path(fresh.cached.stats.cache_path)
    shutil.rmtree(folder)
    folder.write_text("a file where the folder was")
    objective(fresh, fw.Squared())
    assert fresh.cached is fresh.uncached


def test_whole_run_without_a_cache():
    program = """
from numba.core.caching import FunctionCache
FunctionCache._impl_class._locator_classes = []
import json
import frankwolfe as fw
from frankwolfe.solvers import loop
problem = fw.Problem([[1.0, 2.0], [3.0, -1.0]], [1.0, -1.0], loss="squared", constraint=fw.L1Ball(1.0))
result = fw.minimize(problem, "fw", step="line-search", tol=1e-8)
print(json.dumps([result.success, loop.advance.cached is loop.advance.uncached]))
"""
    assert python(program) == [True, True]


def test_kernels_may_be_met_for_the_first_time_in_threads(tmp_path):
    program = """
import json
import numpy as np
import frankwolfe as fw
import frankwolfe.rows as blocks
from frankwolfe.shards.local import Threads
blocks.SMALL, blocks.LEAST, blocks.PER_COLUMN = 0, 20, 0
X = np.random.default_rng(0).normal(size=(80, 5))
problem = fw.Problem(X, np.sign(X[:, 0]), loss="logistic", constraint=fw.L1Ball(1.0)).own(Threads(4))
with fw.python_mode():
    expected = problem.evaluate(np.full(5, 0.1)).value
print(json.dumps([len(problem.objective.shards.blocks), problem.evaluate(np.full(5, 0.1)).value, expected]))
"""
    count, found, expected = python(program, NUMBA_CACHE_DIR=str(tmp_path))
    assert count > 4
    assert found == pytest.approx(expected, rel=1e-12)


# --- what is imported when --------------------------------------------------------------------------------------

IMPORTED = "print(json.dumps([name for name in ('numba', 'numpy', 'scipy') if name in sys.modules]))"


def test_import_is_light():
    assert python(f"import json, sys, frankwolfe; {IMPORTED}") == []


def test_python_mode_does_without_numba():
    program = f"""
import json, sys
import frankwolfe as fw
problem = fw.Problem([[1.0, 2.0], [3.0, -1.0], [0.0, 1.0]], [1, -1, 1], loss="logistic", constraint=fw.L1Ball(1.0))
with fw.python_mode():
    for method in fw.methods.METHODS:
        result = fw.minimize(problem, method, batch_size=2, tol=0.0, max_passes=4, random_state=0)
        result.trace.gap
{IMPORTED}
"""
    assert python(program) == ["numpy", "scipy"]


# --- Python mode ------------------------------------------------------------------------------------------------


class Talkative(NamedTuple):
    """A squared error that keeps a list of what it was asked: fine in Python, beyond numba."""

    heard: list
    targets = "real"

    def value(self, z, y):
        self.heard.append(f"value at {z:g}")
        return 0.5 * (z - y) ** 2

    def derivative(self, z, y):
        return z - y

    def curvature(self, z, y):
        return 1.0

    def smoothness(self):
        return 1.0


def test_python_mode_runs_what_numba_cannot_and_ends_with_its_block():
    heard = []
    problem = cases.problem(Talkative(heard), n=6, d=3)
    with fw.python_mode():
        fw.minimize(problem, "fw", tol=0.0, max_passes=2)
    assert heard[0] == "value at 0"
    with pytest.raises(TypeError, match="Talkative could not be compiled"):
        problem.value(np.zeros(3))


def test_python_mode_ends_with_an_error_too():
    def fail():
        with fw.python_mode():
            raise KeyError("inside")

    with pytest.raises(KeyError):
        fail()
    assert not compiled._interpreted.get()


# --- parts that cannot be compiled ------------------------------------------------------------------------------


class Moody(NamedTuple):
    """A step rule whose length is a number or a word: no single type."""

    def length(self, move, samples, gradient, iterate, t):
        return "far" if t > 5 else 0.5


def test_what_cannot_be_compiled_is_named_with_a_way_out():
    method = fw.methods.Method(fw.methods.SagTable(), fw.methods.Toward(), Moody(), name="moody")
    with pytest.raises(TypeError) as caught:
        fw.minimize(cases.problem(), method, max_passes=1)
    message = str(caught.value)
    assert message.startswith("Moody could not be compiled")
    assert "python_mode" in message
    assert caught.value.__cause__ is not None
    assert type(caught.value.__cause__).__module__.startswith("numba")


def test_field_that_numba_cannot_type_is_explained_too():
    # numba gives up on an empty list before it compiles anything, with an error of another kind
    with pytest.raises(TypeError, match="Talkative could not be compiled"):
        cases.problem(Talkative([]), n=6, d=3).value(np.zeros(3))


def test_other_errors_pass_through(fresh):
    with pytest.raises(TypeError, match="argument") as caught:
        fresh(1.0)
    assert "could not be compiled" not in str(caught.value)


# --- arithmetic -----------------------------------------------------------------------------------------------------

RELAXED_FLAGS = re.compile(r"\bf(?:add|sub|mul|div|cmp|neg)\b(?: (?:reassoc|arcp|contract|nsz|nnan|ninf|afn|fast))+")


def test_only_dot_products_of_dense_rows_may_be_reordered():
    assert {function.__name__ for function in RELAXED} == {"dot_row", "dot_centred_row"}


def test_sums_round_as_they_are_written():
    weights, targets = np.full(3, 1.0 / 3.0), np.array([1.0, -1.0, 2.0])
    fill_conjugates(fw.Huber(0.5), 0.1 * weights, targets, weights.copy())  # numba learns the verbs
    fill_conjugates.uncached(fw.Huber(0.5), 0.1 * weights, targets, weights.copy())
    (code,) = fill_conjugates.uncached.inspect_llvm().values()
    assert "fadd" in code
    assert not RELAXED_FLAGS.findall(code)


def test_a_dot_product_of_a_dense_row_is_reordered_and_nothing_more():
    values, v, z = np.ones((3, 4)), np.ones(4), np.empty(3)

    @kernel
    def products(rows, v, z):
        for i in range(len(z)):
            z[i] = dot_row(rows, i, v) / 3.0

    products(values, v, z)
    products.uncached(values, v, z)
    (code,) = products.uncached.inspect_llvm().values()
    flags = {flag for found in RELAXED_FLAGS.findall(code) for flag in found.split()[1:]}
    assert flags == {"reassoc"}
    assert "fdiv reassoc" not in code


@kernel
def _add_one(values):
    tail = values[1:]
    tail += 1.0
    return tail[0]


@kernel
def _tail(values):
    return values[1:]


@kernel
def _sum_of_squares(values):
    return (values * values).sum()


@kernel
def _assign(values, others):
    values[:] = others


def _counts(function):
    """Whether the compiled function itself, without its wrapper, counts references."""
    code = str(next(iter(function.uncached.overloads.values())).library._final_module)
    body = code[re.search(r"^define [^\n]*@_ZN5tests", code, re.MULTILINE).start() :]
    return "@NRT_incref" in body[: body.index("\n}")] or "@NRT_decref" in body[: body.index("\n}")]


def test_references_are_counted_only_where_a_kernel_allocates_or_returns_an_array():
    values = np.arange(3.0)
    before = sys.getrefcount(values)
    assert _add_one.uncached(values) == 2.0
    assert _sum_of_squares.uncached(values) == 13.0
    assert sys.getrefcount(values) == before
    tail = _tail.uncached(values)
    assert sys.getrefcount(values) > before  # the view holds its array
    del values
    np.testing.assert_array_equal(tail, [2.0, 3.0])
    assert [_counts(each) for each in (_add_one, _sum_of_squares, _tail)] == [False, True, True]


def test_arrays_of_other_shapes_are_refused():
    _assign(values := np.zeros(3), np.ones(3))
    np.testing.assert_array_equal(values, np.ones(3))
    with pytest.raises(ValueError, match="another shape"):
        _assign(values, np.ones(2))
