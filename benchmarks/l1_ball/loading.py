"""Find the classes of this benchmark by file, as benchopt does.

Run as a program it prints what there is as JSON. The race asks it in a process of its own, because on Linux a process
inherits its parent's peak of memory: a parent that had imported every peer would spoil the measurement.
"""

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import base

HERE = Path(__file__).parent


def load(path):
    """Return the class that a file defines. Raises ImportError where it needs a package that is not installed."""
    base.install()
    if str(HERE) not in sys.path:
        sys.path.insert(0, str(HERE))  # for benchmark_utils
    spec = importlib.util.spec_from_file_location(f"l1_ball_{path.parent.name}_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, {"datasets": "Dataset", "solvers": "Solver"}.get(path.parent.name, "Objective"))


def catalogue():
    """Return the datasets and solvers with all their parameters, found in a process of its own."""
    return json.loads(subprocess.run([sys.executable, __file__], check=True, capture_output=True).stdout)


def variants(path):
    """Return one entry for each combination of parameters; an absent peer has one, named as its file says."""
    try:
        part = load(path)
    except ImportError:
        name = re.search(r'^    name = "(.*)"', path.read_text(encoding="utf-8"), re.MULTILINE)[1]
        return [{"path": str(path), "name": name, "parameters": {}, "label": name}]
    return [
        {"path": str(path), "name": part.name, "parameters": parameters, "label": part.label(**parameters)}
        for parameters in part.grid()
    ]


def main():
    found = {
        kind: [entry for path in sorted((HERE / kind).glob("*.py")) for entry in variants(path)]
        for kind in ("datasets", "solvers")
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
