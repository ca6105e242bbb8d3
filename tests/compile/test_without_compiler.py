"""Small problems are solved by NumPy and SciPy alone: a new process does not import numba."""

import subprocess
import sys

PROGRAM = """
import sys
import numpy as np
from scipy import sparse
import frankwolfe as fw

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 8))
scores = X @ rng.normal(size=(8, 3)) + rng.normal(size=(60, 3))
few = sparse.csr_array(np.where(np.abs(X) > 0.5, X, 0.0))
"""

LOSSES = """
targets = {
    "logistic": np.sign(scores[:, 0]),
    "squared": scores[:, 0],
    "huber": scores[:, 0],
    "multinomial": scores.argmax(axis=1),
}
for loss, y in targets.items():
    weights = 24 if loss == "multinomial" else 8
    groups = fw.GroupBall(np.arange(weights) // 4, 3.0)
    balls = [fw.L1Ball(5.0), fw.Simplex(5.0), fw.Box(-1.0, 1.0), fw.L2Ball(2.0), groups]
    if loss == "multinomial":
        balls.append(fw.TraceBall(3.0))
    for ball in balls:
        for data in (X, few):
            result = fw.minimize(fw.Problem(data, y, loss, ball, intercept=INTERCEPT), tol=1e-6)
            assert result.success, (loss, ball, result.message)
"""

ESTIMATORS = """
for y in (np.sign(scores[:, 0]), scores.argmax(axis=1)):
    model = fw.FrankWolfeClassifier(radius=5.0).fit(X, y)
    model.predict(X), model.predict_proba(X)
fw.FrankWolfeRegressor(radius=5.0).fit(X, scores[:, 0]).predict(few)
fw.radius_path(X, np.sign(scores[:, 0]), radii=[1.0, 5.0])
"""


CHECK = """
assert "numba" not in sys.modules, "numba was imported"
"""


def test_small_problems_need_no_compiler():
    plain, centred = (LOSSES.replace("INTERCEPT", word) for word in ("False", "True"))
    program = CHECK.join([PROGRAM, plain, centred, ESTIMATORS, ""])
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
