"""The benchmark in benchopt's layout: its objective, data and solvers run on stand-ins for benchopt's classes."""

import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent.parent / "benchmarks" / "l1_ball"
SOLVE = """
from loading import HERE, load

objective, dataset = load(HERE / "objective.py").get_instance(), load(HERE / "datasets/simulated.py").get_instance()
objective.set_data(**dataset.get_data())
for name in ("auto", "sfw"):
    solver = load(HERE / f"solvers/{name}.py").get_instance()
    facts = objective.get_objective()
    assert solver.skip(**facts) == (False, None)
    solver.set_objective(**facts)
    solver.run_once(1.0)
    tolerance = float("inf")
    for _ in range(4):
        tolerance = solver.get_next(tolerance)
    solver.run(tolerance)
    judged = objective.evaluate_result(**solver.get_result())
    assert -1e-12 <= judged["suboptimality"] <= tolerance * objective.zero_value, (name, judged)
    assert judged["norm"] <= 1.0 + 1e-12
"""


def test_solvers_meet_the_tolerance_as_the_objective_judges_it():
    subprocess.run([sys.executable, "-c", SOLVE], cwd=FOLDER, check=True)
