"""What is recorded of an answer, and how two records are compared."""

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from tests.frozen.problems import Frozen

FILE = Path(__file__).parent / "answers.json"
DIGITS = 1e-10
"""How far an answer may be from the recorded one, relative to its scale: rounding, and nothing else."""


def answer(case: Frozen) -> dict[str, Any]:
    """Run a case and return its record."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of runs that end before they converge
        result = case.run()
    found: dict[str, Any] = {
        "status": result.status.name.lower() if hasattr(result.status, "name") else str(result.status),
        "fun": float(result.fun),
        "gap": float(result.gap),
        "scale": float(result.tolerance) if case.exact else None,
        "reads": result.reads,
    }
    if not case.exact:
        found |= {"nit": result.nit, "passes": result.passes, "x": dense(result.x).ravel().tolist()}
        found["intercept"] = np.atleast_1d(result.intercept).tolist()
    return found


def dense(x: Any) -> np.ndarray:
    """Return weights as an array, also where they are factors."""
    return np.asarray(x.toarray() if hasattr(x, "toarray") else x, dtype=float)


def differences(case: Frozen, now: dict[str, Any], then: dict[str, Any]) -> list[str]:
    """Return what differs between an answer and the recorded one."""
    wrong = [f"{key}: {now[key]}, recorded {then[key]}" for key in ("status", "nit") if now.get(key) != then.get(key)]
    size = max(abs(then["fun"]), 1e-300)
    if case.exact:
        # both are certified, so each objective is at least the other's lower bound
        for one, other in ((now, then), (then, now)):
            if not one["fun"] - one["gap"] <= other["fun"] + DIGITS * size:
                wrong.append(f"bounds contradict each other: {now}, recorded {then}")
        if then["status"] == "converged" and abs(now["fun"] - then["fun"]) > then["gap"] + now["gap"] + DIGITS * size:
            wrong.append(f"fun: {now['fun']!r}, recorded {then['fun']!r}")
        if then["reads"] is not None and now["reads"] > then["reads"] + 1e-9:
            wrong.append(f"reads: {now['reads']}, recorded {then['reads']}")
        return wrong
    for key in ("fun", "gap", "passes", "x", "intercept", "reads"):
        one, other = (np.asarray(record[key], dtype=float) for record in (now, then))
        near = max(np.abs(other[np.isfinite(other)]).max(initial=0.0), size if key == "gap" else 0.0)
        if one.shape != other.shape or not np.allclose(one, other, rtol=0.0, atol=DIGITS * near, equal_nan=True):
            wrong.append(f"{key}: {now[key]}, recorded {then[key]}")
    return wrong


def recorded() -> dict[str, dict[str, Any]]:
    """Return the recorded answers by name."""
    return json.loads(FILE.read_text()) if FILE.exists() else {}


def write(answers: dict[str, dict[str, Any]]) -> None:
    """Write the answers, one to a line: a change shows which ones it has changed."""
    lines = [f"{json.dumps(name)}: {json.dumps(found)}" for name, found in answers.items()]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")
