"""``python -m tests.fuzz.certificates --seed 5 --cases 2000``: true certificates are proven, changed ones are not.

The problems are those of the fuzz: degenerate data, units of any size, all methods. For each, a certificate is written
and must be proven. Then one of its numbers, or a target, changes: by a relative 1e-6, or by the least larger power of
ten for which one of its claims ceases to be true. Such a certificate must fail.

What is true is found a second time from the definitions, by rational arithmetic for squares over polytopes, and by
mpmath's intervals of 200 bits for everything else. Both numbers of `verify` must be on the right sides of these.
"""

import argparse
import warnings
from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from mpmath import iv
from scipy import sparse

import frankwolfe as fw
from frankwolfe.certificates.verifier import LOSSES, OUTSIDE, SETS, examine
from tests.fuzz.cases import make
from tests.fuzz.checks import FEASIBLE
from tests.reference.sets import violation

iv.prec = 200
NEVER = iv.mpf("inf")
KINDS = ("weights", "dual", "target", "objective", "optimum", "intercept", "multipliers", "set.radius")
"""What is changed; one of them in each certificate, by turns, or the next that it has."""
CHANGES = [sign * 10.0**k for k in range(-6, 1) for sign in (1.0, -1.0)]


@dataclass
class Written:
    """A certificate and its data."""

    claim: Any
    X: Any
    y: np.ndarray
    sample_weight: Any
    offset: Any

    def verdict(self):
        """Return what `verify` says."""
        return fw.verify(self.claim, self.X, self.y, self.sample_weight, offset=self.offset)

    def changed(self, kind, amount):
        """Return the certificate with one number changed by a relative amount: the largest of an array."""
        facts, arrays = self.claim.facts, self.claim.arrays
        if kind in ("objective", "optimum"):
            return replace(self, claim=replace(self.claim, facts={**facts, kind: facts[kind] * (1.0 + amount)}))
        array = np.array(self.y if kind == "target" else arrays.get(kind, 0.0), dtype=float)
        array.flat[int(np.argmax(np.abs(array)))] *= 1.0 + amount
        if kind == "target":
            return replace(self, y=array)
        return replace(self, claim=replace(self.claim, arrays={**arrays, kind: array} if kind in arrays else arrays))


# --- what is true -----------------------------------------------------------------------------------------------------


def greatest(values):
    """Return the largest of some fractions or intervals."""
    values = list(values)
    if all(isinstance(value, Fraction) for value in values):
        return max(values)
    return iv.mpf([max(iv.mpf(value).a for value in values).a, max(iv.mpf(value).b for value in values).b])


def below(x, y):
    """Return whether a number is surely below another; mpmath raises ValueError where intervals overlap."""
    try:
        return bool(x < y)
    except ValueError:
        return False


def log(x):
    return iv.log(iv.mpf(x))


def entropy(q):
    """Return ``q log q - q``."""
    return q * iv.log(q) - q if below(0, q) else iv.mpf(0)


def half_deviance(z, y, power):
    """Return half a deviance at the mean ``exp(z)``, by its definition for each power."""
    mean = iv.exp(iv.mpf(z))
    s, u = iv.mpf(2.0 - power), iv.mpf(power - 1.0)
    if power == 1.0:
        return mean - y * z + (entropy(y) if y > 0 else 0)
    if power == 2.0:
        return z + y / mean - log(y) - 1
    least = iv.exp(s * log(y)) / (s * u) if y > 0 else 0
    return mean**s / s + y * mean**-u / u - least


def deviance_conjugate(a, y, power):
    """Return ``a z`` less half the deviance at a prediction whose derivative is nearly ``a``: a bound from below."""
    low, high = iv.mpf(-2000), iv.mpf(2000)
    if y == 0 and not below(0, a):
        return NEVER if below(a, 0) else iv.mpf(0)
    for _ in range(120):
        z = iv.mpf(((low + high) / 2).mid)
        slope = iv.exp(z * (2.0 - power)) - y * iv.exp(z * (1.0 - power))
        low, high = (low, z) if below(a, slope) else (z, high)
    return a * low - half_deviance(low, y, power)


def within(a, low, high, value):
    """Return a conjugate; infinity surely outside of its domain."""
    return NEVER if below(a, low) or below(high, a) else value


VALUE = {
    "Squared": lambda z, y: (z - y) ** 2 / 2,
    "Huber": lambda z, y, delta: (
        (z - y) ** 2 / 2 if below(abs(z - y), delta) else delta * (abs(z - y) - iv.mpf(delta) / 2)
    ),
    "Pinball": lambda z, y, quantile: greatest([(1.0 - quantile) * (z - y), -quantile * (z - y)]),
    "Logistic": lambda z, y: iv.log(1 + iv.exp(-y * z)),
    "Hinge": lambda z, y: greatest([1 - y * z, iv.mpf(0)]),
    "SquaredHinge": lambda z, y: greatest([1 - y * z, iv.mpf(0)]) ** 2,
    "ModifiedHuber": lambda z, y: -4 * y * z if below(y * z, -1) else greatest([1 - y * z, iv.mpf(0)]) ** 2,
    "Poisson": lambda z, y: half_deviance(z, y, 1.0),
    "Gamma": lambda z, y: half_deviance(z, y, 2.0),
    "Tweedie": lambda z, y, power, split: half_deviance(z, y, power),
}
CONJUGATE = {
    "Squared": lambda a, y: a * a / 2 + a * y,
    "Huber": lambda a, y, delta: within(a, -delta, delta, a * a / 2 + a * y),
    "Pinball": lambda a, y, quantile: within(a, -quantile, 1.0 - quantile, a * y),
    "Logistic": lambda a, y: within(-y * a, 0, 1, entropy(-y * a) + entropy(1 + y * a) + 1),
    "Hinge": lambda a, y: within(y * a, -1, 0, y * a),
    "SquaredHinge": lambda a, y: within(y * a, -NEVER, 0, y * a + a * a / 4),
    "ModifiedHuber": lambda a, y: within(y * a, -4, 0, y * a + a * a / 4),
    "Poisson": lambda a, y: within(a, -y, NEVER, entropy(a + y) - (entropy(y) if y > 0 else 0)),
    "Gamma": lambda a, y: within(a, -NEVER, 1, entropy(1 - a) + a * log(y) + 1),
    "Tweedie": lambda a, y, power, split: deviance_conjugate(a, y, power),
}


def largest_product(name, v, given):
    """Return the largest ``<v, w>`` over a set."""
    d = len(v)

    def each(key):
        return np.broadcast_to(given[key], d).tolist()

    def spent(t, lower, upper):
        """Return what a budget at the price ``t`` and bounds allow."""
        gains = [
            greatest([vj * w - t * abs(w) for w in (low, high, type(vj)(min(max(0, low), high)))])
            for vj, low, high in zip(v, lower, upper, strict=True)
        ]
        return t * radius + sum(gains)

    number = type(v[0])
    radius = number(float(given.get("radius", 1.0)))
    if name == "L2Ball":
        return radius * iv.sqrt(sum(vj * vj for vj in v))
    if name == "Box":
        ends = zip(each("lower"), each("upper"), strict=True)
        return sum(greatest([number(low) * vj, number(high) * vj]) for vj, (low, high) in zip(v, ends, strict=True))
    if name == "GroupBall":
        groups = [[abs(v[j]) for j in np.flatnonzero(given["groups"] == g)] for g in range(len(given["weights"]))]
        flat = given["norm"] == np.inf
        norms = [sum(group) if flat else iv.sqrt(sum(vj * vj for vj in group)) for group in groups]
        return radius * greatest(norm / float(weight) for norm, weight in zip(norms, given["weights"], strict=True))
    if name in ("Budget", "CappedSimplex"):
        exact = name == "CappedSimplex"
        least = [0.0] * d if exact else [max(low, -float(given["radius"])) for low in each("lower")]
        most = [min(high, float(given["radius"])) for high in each("cap" if exact else "upper")]
        bounds = [list(map(number, ends)) for ends in (least, most)]
        prices = v if exact else [number(0), *map(abs, v)]
        return -greatest(-spent(t, *bounds) for t in prices)
    return radius * greatest({"L1Ball": map(abs, v), "Simplex": v}.get(name, [*v, number(0)]))


def truth(written):
    """Return the objective of the model and the bound that the dual point proves, as fractions or intervals."""
    facts, arrays, X = written.claim.facts, written.claim.arrays, written.X
    X = X.toarray() if sparse.issparse(X) else np.asarray(X)
    rational = facts["loss"] == "Squared" and facts["set"] not in ("L2Ball", "GroupBall")

    def numbers(values):
        return [Fraction(value) if rational else iv.mpf(value) for value in np.ravel(values).astype(float).tolist()]

    def part(kind):
        found = {name.partition(".")[2]: array for name, array in arrays.items() if name.startswith(f"{kind}.")}
        return {name: array if array.ndim else float(array) for name, array in found.items()}

    n, d = X.shape
    p = numbers(np.ones(n) if written.sample_weight is None else written.sample_weight)
    rows, weight, y = [numbers(row) for row in X], sum(p), numbers(written.y)
    offset = numbers(np.zeros(n) if written.offset is None else written.offset)
    w, c, linear = (numbers(arrays.get(name, np.zeros(d))) for name in ("weights", "dual", "linear"))
    (b,) = numbers(arrays["intercept"])
    value, conjugate = VALUE[facts["loss"]], CONJUGATE[facts["loss"]]
    counted = [i for i in range(n) if p[i] > 0]
    z = [sum(x * wj for x, wj in zip(row, w, strict=True)) + b + o for row, o in zip(rows, offset, strict=True)]
    objective = sum(p[i] * value(z[i], y[i], **part("loss")) for i in counted) / weight
    objective += sum(q * wj for q, wj in zip(linear, w, strict=True))
    if facts["intercept"] and sum(map(Fraction, arrays["dual"].tolist())) != 0:
        return objective, -NEVER
    conjugates = sum(p[i] * conjugate(c[i] * weight / p[i], y[i], **part("loss")) for i in counted) / weight
    bound = sum(ci * o for ci, o in zip(c, offset, strict=True)) - conjugates
    r = [sum(c[i] * rows[i][j] for i in range(n)) + linear[j] for j in range(d)]
    if "side.A" in arrays:
        A, m = [numbers(row) for row in arrays["side.A"]], numbers(arrays["multipliers"])
        r = [r[j] + sum(row[j] * mk for row, mk in zip(A, m, strict=True)) for j in range(d)]
        for mk, low, high in zip(m, arrays["side.lower"], arrays["side.upper"], strict=True):
            bound -= mk * float(high if mk > 0 else low) if mk != 0 else 0
    return objective, bound - largest_product(facts["set"], [-rj for rj in r], part("set"))


# --- one case ---------------------------------------------------------------------------------------------------------


def write(case):
    """Return the certificate of a case, or None if it has none."""
    problem = case.problem()
    known = type(problem.loss).__name__ in LOSSES and type(problem.constraint).__name__ in SETS
    if not known or problem.outputs:
        return None
    result = fw.minimize(problem, case.method, **case.options)
    if not np.isfinite(result.gap) or (case.side and result.violation > FEASIBLE):
        return None
    try:
        claim = fw.certificate(problem, result)
    except ValueError:  # a gap far below the rounding of the slopes' sum
        return None
    X = case.X if sparse.issparse(case.X) else np.asarray(case.X)
    return Written(claim, X, np.asarray(case.y, dtype=float), case.sample_weight, case.offset)


def is_false(written, constraint):
    """Return whether a claim is surely not true, or does not follow from the dual point."""
    objective, bound = truth(written)
    facts, w = written.claim.facts, written.claim.arrays["weights"]
    outside = violation(constraint, w) > 2.0 * OUTSIDE
    return outside or below(facts["objective"], objective) or below(bound, facts["optimum"])


def attend(seed, number):
    """Return a sentence on what is wrong with a case, and the kind of its change; None without a certificate."""
    case = make(seed, number)
    with warnings.catch_warnings(), fw.python_mode():
        warnings.simplefilter("error")
        written = write(case)
        if written is None:
            return None
        report = written.verdict()
        if not report.proven:
            return f"a true certificate: {report.message}", "none"
        objective, bound = truth(written)
        numbers = examine(written.claim, written.X, written.y, written.sample_weight, written.offset)
        if below(objective, float(numbers[0].low)) or below(float(numbers[0].high), objective):
            return f"the objective is {objective}, said to be in {numbers[0]}", "none"
        if below(bound, float(numbers[1].low)):
            return f"the bound is {bound}, said to be in {numbers[1]}", "none"
        first = KINDS[number % len(KINDS)]
        for kind in KINDS[KINDS.index(first) :] + KINDS:
            for amount in [-2.0] if kind == "target" and case.loss.targets == "labels" else CHANGES:
                other = written.changed(kind, amount)
                same = kind == "target" and np.array_equal(other.y, written.y)
                if same or not (kind == "target" or is_false(other, case.constraint)):
                    continue
                report = other.verdict()
                return (f"{kind} changed by {amount:g}: {report.message}" if report.proven else ""), kind
    return "no change of it matters", "none"


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.certificates", description=__doc__)
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    number, failed, kinds = 0, 0, Counter()
    while kinds.total() < given.cases:
        try:
            found = attend(given.seed, number)
        except Exception as error:
            found = f"{type(error).__name__}: {error}", "none"
        if found is not None:
            kinds[found[1]] += 1
            failed += bool(found[0])
            if found[0]:
                print(f"FAILED seed {given.seed}, case {number}: {found[0]}", flush=True)
        number += 1
    changes = ", ".join(f"{count} of {kind}" for kind, count in kinds.items())
    print(f"{given.cases} certificates and as many changed ones ({changes}), {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
