"""Layers only look down, and every module is found by its name."""

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

import frankwolfe

ROOT = Path(frankwolfe.__file__).parent

LAYERS = (
    ("exceptions", "lazy"),
    ("arguments", "compile"),
    ("linalg",),
    ("losses", "rows", "io"),
    ("store",),
    ("shards",),
    ("cluster",),
    ("sets",),
    ("objective", "theory"),
    ("problem", "advice"),
    ("methods",),
    ("result", "plots", "summary"),
    ("display",),
    ("solvers",),
    ("running",),
    ("run", "completion", "datasets"),
    ("best_subset", "certificates"),
    ("path", "without_budget"),
    ("model", "precompile"),
    ("estimators", "paper"),
    ("cli",),
)
"""Folders and modules at the top, the lowest layer first. Those of one layer do not import each other."""

RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}

MODULES = sorted(path.relative_to(ROOT) for path in ROOT.rglob("*.py"))


def imported(tree):
    """Top-level names of the package that are imported as a module is loaded; not those inside of functions."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("frankwolfe."):
            yield node.module.split(".")[1]
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.If):
            yield from imported(node)


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_a_module_imports_from_its_own_folder_or_from_layers_below(module):
    own = module.parts[0].removesuffix(".py")
    if own in ("__init__", "__main__"):
        return  # the one loads names from everywhere, when they are first used; the other is the command line
    above = {
        name
        for name in imported(ast.parse((ROOT / module).read_text(encoding="utf-8")))
        if name != own and RANK[name] >= RANK[own]
    }
    assert not above


def test_the_layers_name_everything_at_the_top():
    assert {module.parts[0].removesuffix(".py") for module in MODULES} - {"__init__", "__main__"} == set(RANK)


def test_the_page_on_architecture_draws_these_layers():
    page = (ROOT.parents[1] / "docs" / "architecture.md").read_text(encoding="utf-8")
    drawn = [
        re.match("    ([a-z_ ]*?)( {4,}|$)", line) for line in page.split("## Layers")[1].split("## ")[0].splitlines()
    ]
    rows = [set(found[1].split()) for found in drawn if found and found[1]]
    assert rows == [set(names) for names in reversed(LAYERS)]


def test_no_two_modules_have_one_name_and_few_are_at_the_top():
    names = Counter(module.stem for module in MODULES if module.stem not in ("__init__", "__main__", "base"))
    assert [name for name, count in names.items() if count > 1] == []
    assert sum(len(module.parts) == 1 for module in MODULES) <= 17  # __init__ and __main__ among them


# --- what a part can do is asked, not looked for ----------------------------------------------------------------------

PROBES = {
    "arguments/arrays.py": "frames of other libraries",
    "io/tables.py": "frames of other libraries, and what they hold",
    "store/write_rows.py": "frames of other libraries, and iterators of blocks",
    "compile/part.py": "the door: defaults are added to a class that lacks them, and what it has to bring is checked",
    "compile/numba_backend.py": "verbs: numba finds a part's method while it types a call",
    "methods/base.py": "the door for estimates, directions and step rules",
    "solvers/state.py": "parts, own ones among them, need not say what arrays of a checkpoint must be like",
    "sets/callbacks.py": "the door for plain Python objects, which are no parts",
    "certificates/verifier.py": "sparse matrices, without an import of SciPy",
    "shards/local.py": "what the operating system offers",
    "linalg/threads.py": "what the operating system offers",
}
"""Modules that look whether an attribute is there, and why. Elsewhere parts answer, by defaults if need be."""


def looks_for_attributes(tree):
    """Whether there is a call of ``hasattr``, or of ``getattr`` with a default."""
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and (node.func.id == "hasattr" or (node.func.id == "getattr" and len(node.args) == 3))
        for node in ast.walk(tree)
    )


def test_attributes_are_looked_for_at_the_doors_only():
    found = {
        module.as_posix()
        for module in MODULES
        if looks_for_attributes(ast.parse((ROOT / module).read_text(encoding="utf-8")))
    }
    assert found == set(PROBES)


@pytest.mark.parametrize(
    ("part", "home", "table"),
    [
        ("SquaredHinge", "losses/scalar.py", "losses/__init__.py"),
        ("Tukey", "losses/scalar.py", "losses/__init__.py"),
        ("OWLBall", "sets/sorted.py", "sets/sorted.py"),
        ("LpBall", "sets/smooth.py", "sets/smooth.py"),
        ("CoordinateAverage", "methods/estimates/sag.py", "methods/registry.py"),
        ("BlendedPairwise", "methods/directions.py", "methods/registry.py"),
        ("LogAdaptive", "methods/steps.py", "methods/steps.py"),
        ("Secant", "methods/steps.py", "methods/steps.py"),
    ],
)
def test_a_part_is_known_in_its_own_file_and_in_one_table(part, home, table):
    """The verifier knows losses and sets on its own: it shares no code with the rest."""
    word = re.compile(rf"\b{part}\b")
    found = {module.as_posix() for module in MODULES if word.search((ROOT / module).read_text(encoding="utf-8"))}
    assert found - {"certificates/verifier.py"} == {home, table}
