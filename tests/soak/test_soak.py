"""A short slice of ``make soak``, and that it notices what it is for."""

import subprocess
import sys

import pytest

from tests.fuzz.runner import ROOT

BROKEN = """
from tests.soak import runner, scenarios
from tests.soak.scenarios import Scenario

def count(folder):
    import time
    file = folder / "count"
    for _ in range(40):
        number = int(file.read_text()) if file.exists() else 0
        file.write_text("x" * 1000)
        time.sleep(0.002)
        file.write_text(str(number + 1))

def whole(folder):
    if (folder / "count").exists():
        int((folder / "count").read_text())

def outcome(folder):
    return {"count": (folder / "count").read_bytes()}

runner.SCENARIOS = {"broken": Scenario(lambda: None, count, whole, outcome)}
print("found", runner.run(seed=0, kills=12))
"""


def soak(*command):
    return subprocess.run([sys.executable, *command], capture_output=True, text=True, cwd=ROOT, check=False)


def test_a_slice():
    finished = soak("-m", "tests.soak", "--seed", "0", "--kills", "12")
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert " 0 failed" in finished.stdout


def test_a_fault_on_a_cluster():
    pytest.importorskip("distributed", reason="dask is not installed")
    finished = soak("-m", "tests.soak", "--only", "cluster: the connection cut", "--kills", "1")
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert "1 faults on a cluster, 0 failed" in finished.stdout


def test_work_that_leaves_halves_is_noticed():
    finished = soak("-c", BROKEN)
    assert "what was left is not whole" in finished.stdout, finished.stdout + finished.stderr
