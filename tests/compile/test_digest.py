"""The names of cached kernels contain a digest of all sources from which their machine code can come."""

import ast
import importlib
import pkgutil
import shutil
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType
from typing import NamedTuple

import numpy as np

import frankwolfe as fw
from frankwolfe.compile import kernels
from frankwolfe.compile.kernels import SHARED, Kernel, _all_in_digest, _in_digest, is_shared
from frankwolfe.compile.part import is_part_class
from frankwolfe.compile.verbs import VARIANTS
from frankwolfe.solvers import loop
from frankwolfe.solvers.corrective.active_atoms import SparseBlock

PACKAGE = Path(fw.__file__).parent
OPTIONAL = {
    "frankwolfe.__main__",
    "frankwolfe.cli",
    "frankwolfe.cluster",
}  # these need extras, and hold no compiled code


def modules():
    """All modules of the package."""
    names = [found.name for found in pkgutil.walk_packages(fw.__path__, "frankwolfe.")]
    return [importlib.import_module(name) for name in names if ".".join(name.split(".")[:2]) not in OPTIONAL]


def compiled_functions():
    """All functions that numba may compile, in the package: kernels, routines, and methods that verbs call."""
    verbs = {function.__name__ for function, variants in VARIANTS.items() if not variants}
    for variants in VARIANTS.values():
        yield from variants
    for module in modules():
        for value in vars(module).values():
            if isinstance(value, Kernel):
                yield value.python
            if is_part_class(value) and value.__module__ == module.__name__:
                yield from (
                    getattr(value, name) for name in verbs if isinstance(getattr(value, name, None), FunctionType)
                )


def global_names(code):
    """Names of a code object, and of the functions inside it."""
    inner = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return {*code.co_names, *code.co_freevars}.union(*map(global_names, inner))


@cache
def names_of(module):
    """For each global name of a module: the names in the expression that defines it, or where it is imported from."""
    found = {}
    for statement in ast.parse(Path(importlib.import_module(module).__file__).read_text()).body:
        if isinstance(statement, ast.ImportFrom | ast.Import):
            home = getattr(statement, "module", None)
            for alias in statement.names:
                found[alias.asname or alias.name] = (home or alias.name, alias.name)
        elif isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
            used = [node.id for node in ast.walk(statement.value) if isinstance(node, ast.Name)]
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            for node in (node for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)):
                found[node.id] = used
    return found


@cache
def homes(module, name):
    """All modules of the package that determine the value of a global name of a module."""
    if module.partition(".")[0] != "frankwolfe":
        return frozenset()
    origin = names_of(module).get(name, [])
    if isinstance(origin, tuple):
        return homes(*origin)
    return frozenset({module}).union(*(homes(module, used) for used in origin if used != name))


def outside(function, shared=is_shared):
    """Modules that a compiled function depends on, and that the digest of its kernels does not cover."""
    module = function.__module__
    used = set().union(*(homes(module, name) for name in global_names(function.__code__)))
    return {home for home in used - {module} if not shared(home)}


def test_compiled_code_comes_from_digested_sources_alone():
    functions = set(compiled_functions())
    assert len(functions) > 300
    found = {function: outside(function) for function in functions}
    assert {f"{function.__module__}.{function.__qualname__}": f for function, f in found.items() if f} == {}


def test_what_is_missing_from_the_digest_is_found():
    assert outside(loop.advance.python, lambda module: module != "frankwolfe.compile.verbs") == {
        "frankwolfe.compile.verbs"
    }
    assert homes("frankwolfe.objective.intercept", "EPSILON") == {"frankwolfe.objective.tasks"}


def test_digest_changes_with_each_source_it_covers(tmp_path, monkeypatch):
    copy = tmp_path / "frankwolfe"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(kernels, "__file__", str(copy / "compile" / "kernels.py"))
    digest = kernels.source_digest.__wrapped__  # without the memory, which would hide the change
    file = str(copy / "solvers" / "loop.py")
    before = digest(file)
    assert digest(file) == before
    for name in ("losses/scalar.py", "methods/estimates/sag.py", "problem/linear_bounds.py", "solvers/loop.py"):
        path = copy / name
        path.write_text(path.read_text() + "\n# changed\n")
        assert digest(file) != before, name
        before = digest(file)
    renamed = copy / "linalg" / "argmax_.py"  # in the same place in order: only the name differs
    (copy / "linalg" / "argmax.py").rename(renamed)
    assert digest(file) != before
    before = digest(file)
    for name in ("cli/fit_commands.py", "solvers/stepwise.py", "solvers/task_steps.py"):
        path = copy / name
        path.write_text(path.read_text() + "\n# changed\n")
    assert digest(file) == before


class Elsewhere(NamedTuple):
    """A part that no digest covers."""

    values: np.ndarray


def test_kernels_on_parts_outside_of_the_digest_are_not_cached():
    module = loop.advance.python.__module__
    for kind in (fw.L1Ball, fw.Logistic, fw.methods.SagTable):
        assert _in_digest(kind, module), kind
    for kind in (Elsewhere, SparseBlock):
        assert not _in_digest(kind, module), kind
    assert _in_digest(SparseBlock, SparseBlock.__module__)
    assert not _all_in_digest((fw.L1Ball(1.0), (1.0, Elsewhere(np.zeros(2)))), module)


def test_every_shared_source_exists():
    for name in SHARED:
        assert (PACKAGE / name).exists(), name
