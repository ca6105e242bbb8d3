"""Certificates: what they claim is true by exact arithmetic, and what somebody changed is found."""

import subprocess
import sys
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

import frankwolfe as fw
from frankwolfe.certificates.verifier import LOSSES, SETS, examine
from tests.fuzz.certificates import KINDS, attend

LOSS_NAMES = {
    "Squared": "squared",
    "Huber": "huber",
    "Logistic": "logistic",
    "SquaredHinge": "squared-hinge",
    "ModifiedHuber": "modified-huber",
    "Poisson": "poisson",
    "Gamma": "gamma",
    "Tweedie": fw.losses.Tweedie(1.3),
}
AMOUNTS, LABELS = ("Poisson", "Gamma", "Tweedie"), ("Logistic", "Hinge", "SquaredHinge", "ModifiedHuber")
D = 8
CONSTRAINTS = [
    fw.L1Ball(1.0),
    fw.NonNegativeL1Ball(1.0),
    fw.Simplex(1.0),
    fw.L2Ball(1.0),
    fw.Box(-0.3, 0.4),
    fw.Budget(-0.3, np.where(np.arange(D) < 2, np.inf, 0.5), 1.0),
    fw.CappedSimplex(0.3, 1.0),
    fw.GroupBall(np.arange(D) // 3, 1.0),
]


def drawn(seed, loss, n=60):
    """Rows, targets and weights, in units that differ from column to column."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, D)) * 10.0 ** rng.integers(-2, 3, size=D)
    y = X @ rng.normal(size=D)
    y += 2.0 * np.abs(y).mean() * rng.normal(size=n)
    if loss in AMOUNTS:
        X /= 100.0
        y = (np.exp(X[:, 0]) * rng.gamma(1.0, size=n)).round(1) + (0.1 if loss == "Gamma" else 0.0)
    return X, np.sign(y) if loss in LABELS else y, rng.random(n) * (rng.random(n) < 0.9)


def certified(seed, loss, constraint, intercept=False, side=None):
    """Return a certificate with the data, and the result."""
    X, y, weights = drawn(seed, loss)
    problem = fw.Problem(X, y, LOSS_NAMES[loss], constraint, sample_weight=weights, intercept=intercept, side=side)
    result = fw.minimize(problem, tol=1e-8, max_passes=300)
    return fw.certificate(problem, result), X, y, weights, result


def test_a_bound_that_binds_on_one_side_does_not_loosen_the_claim():
    """A weight that may only be negative gains nothing by growing, however much its column would pull it up."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, D))
    y = np.sign(X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=60))
    constraint = fw.Budget(-np.inf, np.where(np.arange(D) == 0, 0.0, np.inf), 2.0)
    result = fw.minimize(fw.Problem(X, y, "logistic", constraint), tol=1e-9)
    claim = fw.certificate(fw.Problem(X, y, "logistic", constraint), result)
    assert result.x[0] == 0.0
    assert claim.gap <= result.gap + 1e-12
    assert fw.verify(claim, X, y).proven


def test_every_known_set_is_tried():
    assert {type(constraint).__name__ for constraint in CONSTRAINTS} == set(SETS)
    assert set(LOSS_NAMES) | {"Hinge", "Pinball"} == set(LOSSES)


@pytest.mark.parametrize("constraint", CONSTRAINTS, ids=lambda part: type(part).__name__)
@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_a_true_certificate_is_proven(loss, constraint):
    intercept = (list(LOSS_NAMES).index(loss) + list(SETS).index(type(constraint).__name__)) % 2 == 0  # takes turns
    found, X, y, weights, result = certified(1, loss, constraint, intercept)
    report = fw.verify(found, X, y, weights)
    assert report.proven, report.message
    assert report.gap <= result.gap + 1e-10 * result.zero_value
    assert report.objective.low - 1e-9 * result.fun <= result.fun <= report.objective.high + 1e-9 * result.fun


@pytest.mark.parametrize("loss", [fw.losses.Hinge(), fw.losses.Pinball(0.3)], ids=["hinge", "pinball"])
def test_kinked_losses_are_proven_too(loss):
    X, y, _ = drawn(3, type(loss).__name__)
    problem = fw.Problem(X, y, loss, fw.L1Ball(1.0))
    report = fw.verify(fw.certificate(problem, fw.minimize(problem, "shcgm", max_passes=200)), X, y)
    assert report.proven, report.message


def test_linear_conditions_are_part_of_the_proof():
    side = fw.LinearBounds(np.array([np.ones(D), np.arange(D)]), [0.2, -np.inf], [0.2, 1.0])
    found, X, y, weights, result = certified(2, "Squared", fw.L1Ball(1.0), True, side)
    assert result.success
    report = fw.verify(found, X, y, weights)
    assert report.proven
    assert report.gap <= result.gap + 1e-9 * result.zero_value
    outside = replace(found, arrays={**found.arrays, "side.upper": np.array([0.2, -100.0])})
    assert "outside" in fw.verify(outside, X, y, weights).message


def fractions(values):
    return [Fraction(float(value)) for value in np.ravel(values)]


@pytest.mark.parametrize("seed", range(5))
def test_both_numbers_are_within_their_errors_by_rational_arithmetic(seed):
    found, X, y, weights, _ = certified(seed, "Squared", fw.L1Ball(1.0))
    objective, optimum, _ = examine(found, X, y, weights)
    rows, y, p = [fractions(row) for row in X], fractions(y), fractions(weights)
    w, c, total = fractions(found.arrays["weights"]), fractions(found.arrays["dual"]), sum(p)
    errors = [sum(x * v for x, v in zip(row, w, strict=True)) - target for row, target in zip(rows, y, strict=True)]
    true = sum(pi * e * e for pi, e in zip(p, errors, strict=True)) / (2 * total)
    assert objective.low <= true <= objective.high
    pulls = [sum(c[i] * rows[i][j] for i in range(len(p))) for j in range(D)]
    conjugates = sum(c[i] * (c[i] * total / p[i] / 2 + y[i]) for i in range(len(p)) if p[i])
    assert optimum.low <= -conjugates - max(map(abs, pulls)) <= optimum.high


def test_both_numbers_are_within_their_errors_with_many_digits():
    found, X, y, weights, _ = certified(4, "Logistic", fw.L2Ball(1.0))
    objective, optimum, _ = examine(found, X, y, weights)
    with localcontext() as context:
        context.prec = 60
        exactly = np.vectorize(lambda value: Decimal(float(value)), otypes=[object])
        X, y, p = exactly(X), exactly(y), exactly(weights) / sum(exactly(weights))
        w, c = exactly(found.arrays["weights"]), exactly(found.arrays["dual"])
        values = [(1 + (-m).exp()).ln() for m in y * (X @ w)]
        assert Decimal(float(objective.low)) <= p @ values <= Decimal(float(objective.high))
        pull = c @ X
        q = -y * c / np.where(p > 0, p, 1)
        entropy = sum(pi * sum(e * e.ln() for e in (qi, 1 - qi) if e > 0) for pi, qi in zip(p, q, strict=True))
        bound = -entropy - (pull @ pull).sqrt()
        assert Decimal(float(optimum.low)) <= bound <= Decimal(float(optimum.high))


def deviance(z, y, power):
    """Return half a deviance at a mean ``exp(z)``, from its definition, with many digits."""
    s, u = 2 - power, power - 1
    mean = z.exp()
    if power == 1:
        return mean - y + (y * (y / mean).ln() if y else 0)
    if power == 2:
        return y / mean - 1 - (y / mean).ln()
    return mean**s / s - (y**s / s if y else 0) + (y * mean**-u / u - y**s / u if y else 0)


def prediction_of(a, y, power):
    """Return the prediction at which the deviance has the slope ``a``, which is inside the domain of slopes."""
    low, high = Decimal(-50), Decimal(50)
    for _ in range(150):
        z = (low + high) / 2
        above = (z * (2 - power)).exp() - y * (z * (1 - power)).exp() > a
        low, high = (low, z) if above else (z, high)
    return low


@pytest.mark.parametrize("loss", AMOUNTS)
def test_deviances_are_within_their_errors_with_many_digits(loss):
    X, y, weights = drawn(4, loss, n=12)
    y *= 10.0 ** np.arange(-6, 6)
    problem = fw.Problem(X, y, LOSS_NAMES[loss], fw.L1Ball(20.0), weights, offset=np.log(y + 0.1) + X[:, 1])
    found = fw.certificate(problem, fw.minimize(problem, max_passes=3))
    objective, optimum, _ = examine(found, X, y, weights, problem.offset)
    power = Decimal({"Poisson": 1.0, "Gamma": 2.0}.get(loss, 1.3))
    with localcontext() as context:
        context.prec = 60
        exactly = np.vectorize(lambda value: Decimal(float(value)), otypes=[object])
        X, y, p = exactly(X), exactly(y), exactly(weights) / sum(exactly(weights))
        offset, w, a = exactly(problem.offset), exactly(found.arrays["weights"]), exactly(np.ones(12))
        a[p > 0] = exactly(found.arrays["dual"])[p > 0] / p[p > 0]
        values = [deviance(z, target, power) for z, target in zip(X @ w + offset, y, strict=True)]
        assert Decimal(float(objective.low)) <= p @ values <= Decimal(float(objective.high))
        at = [prediction_of(*pair, power) for pair in zip(a, y, strict=True)]
        conjugates = [ai * z - deviance(z, target, power) for ai, z, target in zip(a, at, y, strict=True)]
        bound = -(p @ (np.array(conjugates) - a * offset)) - 20 * max(abs((p * a) @ X))
        assert Decimal(float(optimum.low)) <= bound <= Decimal(float(optimum.high))


def test_amounts_that_a_loss_does_not_take_prove_nothing():
    for loss, below in (("Poisson", -1.0), ("Gamma", 0.0), ("Tweedie", -1e-300)):
        found, X, y, weights, _ = certified(6, loss, fw.L1Ball(1.0))
        y[0] = below
        assert f"{loss} needs targets" in fw.verify(found, X, y, weights).message
    y[0] = 0.0
    for name, value in (("loss.power", 2.5), ("loss.power", 0.5), ("loss.split", np.full(len(y), np.nan))):
        other = replace(found, arrays={**found.arrays, name: np.array(value)})
        _, optimum, _ = examine(other, X, y, weights)
        assert not optimum.low > -np.inf


def changed(found, name, at, factor=1.0 + 1e-6):
    """Return the certificate with one number of an array changed."""
    array = found.arrays[name].copy()
    array[at] *= factor
    return replace(found, arrays={**found.arrays, name: array})


@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_what_somebody_changed_is_found(loss):
    found, X, y, weights, result = certified(5, loss, fw.L1Ball(1.0), True)
    room = 1e-6 * result.fun
    claims = [replace(found, facts={**found.facts, "objective": found.facts["objective"] - room})]
    claims.append(replace(found, facts={**found.facts, "optimum": found.facts["optimum"] + room}))
    claims.append(replace(found, facts={**found.facts, "intercept": False}))
    for claim in claims:
        assert not fw.verify(claim, X, y, weights).proven
    other_X, other_y = X.copy(), y.copy()
    other_X[3, 2] = np.nextafter(X[3, 2], np.inf)
    other_y[4] = -y[4]
    assert "not the data of the certificate: X is another" in fw.verify(found, other_X, y, weights).message
    assert not fw.verify(found, X, other_y, weights).proven
    assert not fw.verify(found, X, y, weights[::-1].copy()).proven
    heavy = int(np.argmax(np.abs(found.arrays["weights"])))
    assert "outside" in fw.verify(changed(found, "weights", heavy, 1.5), X, y, weights).message
    assert not fw.verify(changed(found, "weights", heavy, 0.9), X, y, weights).proven
    large = int(np.argmax(np.abs(found.arrays["dual"])))
    assert "do not sum to zero" in fw.verify(changed(found, "dual", large), X, y, weights).message


def test_a_slice_of_the_fuzz_of_certificates():
    found = list(filter(None, (attend(5, number) for number in range(60))))
    assert not [wrong for wrong, _ in found if wrong]
    assert {kind for _, kind in found} >= set(KINDS[:5])


def test_a_certificate_survives_a_file_and_is_the_same_for_sparse_rows(tmp_path):
    from scipy import sparse

    found, X, y, weights, _ = certified(6, "Logistic", fw.Budget(-0.3, np.inf, 1.0), True)
    found.save(tmp_path / "claim.npz")
    assert fw.load_certificate(tmp_path / "claim.npz").facts == found.facts
    assert fw.verify(tmp_path / "claim.npz", sparse.csr_array(X), y, weights).proven
    assert fw.verify(str(tmp_path / "claim.npz"), np.asfortranarray(X), y, weights).proven


def test_files_that_are_no_certificates_are_refused(tmp_path):
    (tmp_path / "text").write_text("w = 1")
    np.savez(tmp_path / "other.npz", facts=np.zeros(3))
    with pytest.raises(ValueError, match="not a certificate"):
        fw.load_certificate(tmp_path / "text")
    with pytest.raises(ValueError, match="not a certificate"):
        fw.verify(tmp_path / "other.npz", np.eye(2), [1.0, 2.0])
    with pytest.raises(FileNotFoundError):
        fw.load_certificate(tmp_path / "none")


def test_what_verify_does_not_know_gets_no_certificate():
    X, y, _ = drawn(0, "Squared")
    problem = fw.Problem(X, y, "squared", fw.sets.OWLBall(np.ones(D), 1.0))
    with pytest.raises(ValueError, match="set OWLBall: verify knows L1Ball"):
        fw.certificate(problem, fw.minimize(problem))
    cauchy = fw.Problem(X, y, "cauchy", fw.L1Ball(1.0))
    with pytest.raises(ValueError, match="loss Cauchy: verify knows"):
        fw.certificate(cauchy, fw.minimize(cauchy, max_passes=3))


def test_shapes_and_labels_that_do_not_fit_are_named():
    found, X, y, weights, _ = certified(7, "Logistic", fw.L1Ball(1.0))
    assert "X has shape (59, 8)" in fw.verify(found, X[1:], y, weights).message
    assert "targets -1 and +1" in fw.verify(found, X, 2.0 * y, weights).message
    assert "must not be negative" in fw.verify(found, X, y, -weights).message


def test_the_verifier_needs_numpy_alone():
    code = (
        "import sys, frankwolfe.certificates.verifier\n"
        "ours = {name for name in sys.modules if name.startswith('frankwolfe')}\n"
        "assert {name.rpartition('.')[2] for name in ours} == {'frankwolfe', 'lazy', 'certificates', 'verifier'}\n"
        "assert not {'scipy', 'numba', 'sklearn'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_sparse_rows_of_zeros_have_certificates():
    X, y = sparse.csr_array((5, 2)), np.array([1.0, 3.0, 2.0, 5.0, 4.0])
    problem, dense = (fw.Problem(Z, y, "squared", fw.L1Ball(1.0), intercept=True) for Z in (X, X.toarray()))
    found = fw.certificate(problem, fw.minimize(problem, tol=1e-9))
    assert fw.verify(found, X, y).proven
    assert found.facts["data"] == fw.certificate(dense, fw.minimize(dense, tol=1e-9)).facts["data"]
