"""How often `auto` is not certified within a second: small problems over every set, with data of every scale.

    python benchmarks/sweep.py [--sets L2Ball TraceBall] [--losses squared] [--data scaled] [--radii 0.1 10]

23 sets x 3 losses x 3 kinds of data x 5 radii: 1,035 problems of 60 x 9 (Spectrahedron: 15 x 15 matrices), each run at
tol 1e-8. A problem fails if its gap is not certified, or takes more than a second (compiling excluded; a run that
is too slow gets a second try). Prints failures by set, data and radius, and a line for each of them with its reason:

- rounding: one unit in the last place of the weights changes the gap by more than the tolerance, and by more than a
  hundredth of itself, so hardly a better point can be told from its neighbours;
- slow: time ran out;
- stalled: the method gave up where rounding was not in the way.

At a radius of 1e5 (``--radii 1e5``) the first is the most frequent: there ``1e-8 F(0)`` is often less than what double
precision can tell.
"""

import argparse
from collections import Counter

import numpy as np

import frankwolfe as fw

ROWS, COLUMNS, CLASSES, SIDE = 60, 9, 4, 15

SQUARE = {"Spectrahedron": SIDE, "Birkhoff": 6}
"""Sets of square matrices, and their sides where there are several outputs."""

RADII = (0.1, 1.0, 10.0, 1e3, 1e4)

LOSSES = ("squared", "logistic", "multinomial")

DATA = {
    "plain": lambda X: X,
    "scaled": lambda X: X * np.random.default_rng(1).permutation(np.geomspace(1e-3, 1e3, X.shape[1])),
    "shifted": lambda X: X + 100.0,
}


def polytope(size, radius):
    """Random inequalities around zero within a box, and one equation."""
    rng = np.random.default_rng(size)
    A = np.vstack([rng.normal(size=(size, size)), np.eye(size), -np.eye(size)])
    b = radius * np.concatenate([rng.uniform(0.5, 1.0, size), np.full(2 * size, 1.5)])
    return fw.sets.Polytope(A, b, np.ones((1, size)), [0.0])


def overlapping(size):
    """Return groups of three, each sharing a coordinate with the next."""
    return [range(first, min(first + 3, size)) for first in range(0, size - 1, 2)]


def hull(size, radius):
    """Random points."""
    return fw.sets.ConvexHull(radius * np.random.default_rng(size).normal(size=(2 * size + 1, size)))


SETS = {
    "L1Ball": lambda size, radius: fw.L1Ball(radius),
    "Simplex": lambda size, radius: fw.Simplex(radius),
    "NonNegativeL1Ball": lambda size, radius: fw.sets.NonNegativeL1Ball(radius),
    "L2Ball": lambda size, radius: fw.L2Ball(radius),
    "LpBall(1.5)": lambda size, radius: fw.sets.LpBall(1.5, radius),
    "LpBall(3)": lambda size, radius: fw.sets.LpBall(3.0, radius),
    "Ellipsoid": lambda size, radius: fw.sets.Ellipsoid(np.diag(np.linspace(0.5, 2.0, size)) + 0.3, radius),
    "Box": lambda size, radius: fw.Box(-0.5 * radius, radius),
    "LinfBall": lambda size, radius: fw.sets.LinfBall(radius),
    "MonotoneBox": lambda size, radius: fw.sets.MonotoneBox(-radius, radius),
    "GroupBall": lambda size, radius: fw.GroupBall(np.arange(size) // 3, radius),
    "GroupBall(inf)": lambda size, radius: fw.GroupBall(np.arange(size) // 3, radius, np.inf),
    "LatentGroupBall": lambda size, radius: fw.sets.LatentGroupBall(overlapping(size), radius),
    "KSupportBall": lambda size, radius: fw.sets.KSupportBall(3, radius),
    "KSupportBall(inf)": lambda size, radius: fw.sets.KSupportBall(3, radius, np.inf),
    "OWLBall": lambda size, radius: fw.sets.OWLBall(np.linspace(2.0, 0.5, size), radius),
    "TraceBall": lambda size, radius: fw.TraceBall(radius, (3, 3) if size == COLUMNS else None),
    "Spectrahedron": lambda size, radius: fw.sets.Spectrahedron(radius),
    "Birkhoff": lambda size, radius: fw.sets.Scaled(fw.sets.Birkhoff(int(size**0.5)), radius),
    "Polytope": polytope,
    "ConvexHull": hull,
    "Product": lambda size, radius: fw.sets.Product(
        [fw.L2Ball(radius), fw.L1Ball(radius)], [size - size // 2, size // 2]
    ),
    "Translated": lambda size, radius: fw.sets.Translated(fw.sets.LpBall(1.5, radius), np.linspace(-0.2, 0.2, size)),
}
"""Sets by the number of weights and a radius."""


def table(columns, loss, classes):
    """Return X with entries of ordinary size, and targets: noisy, so that no weights fit them all."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, columns))
    if loss == "multinomial":
        noise = rng.gumbel(size=(ROWS, classes))
        return X, np.argmax(X @ rng.normal(size=(columns, classes)) + noise, axis=1)
    signal = X @ rng.normal(size=columns) + rng.normal(size=ROWS)
    return X, np.where(signal > 0.0, 1.0, -1.0) if loss == "logistic" else signal


def pose(name, loss, data, radius):
    """Return one problem of the sweep."""
    several, side = loss == "multinomial", SQUARE.get(name)
    columns, outputs = COLUMNS, CLASSES if several else 1
    if side is not None:  # a square weight matrix, laid out flat where there is one output
        columns, outputs = (side, side) if several else (SIDE * SIDE if name == "Spectrahedron" else COLUMNS, 1)
    X, y = table(columns, loss, outputs)
    return fw.Problem(
        DATA[data](X), y, fw.losses.Multinomial(outputs) if several else loss, SETS[name](columns * outputs, radius)
    )


def solve(problem, tol, seconds, tries):
    """Return the result of `auto`; a run that was too slow is repeated, for others may have been at work."""
    for _ in range(tries):
        result = fw.minimize(problem, tol=tol, max_passes=1e6, max_seconds=seconds, random_state=0, trace=0)
        if result.status is not fw.Status.MAX_SECONDS:
            break
    return result


def reason(problem, result, tol, neighbours=9):
    """Say why a problem was not certified, by how much the gap changes where the weights change by their last bit.

    What the gap of neighbours *is* would not tell: around a point that is merely bad all of them are bad.
    """
    rng, x = np.random.default_rng(0), np.asarray(result.x, np.float64)
    changes = []
    for _ in range(neighbours):
        ends = rng.choice([-np.inf, np.inf], size=x.shape)
        near = np.where(rng.random(x.shape) < 2 / 3, np.nextafter(x, ends), x)
        changes.append(abs(problem.gap(near) - result.gap))
    change = np.median(changes) / problem.zero_value
    if change > max(tol, 0.01 * result.gap / problem.zero_value):
        return f"rounding: the last bit of the weights changes the gap by about {change:.0e} F(0)"
    return "slow" if result.status is fw.Status.MAX_SECONDS else "stalled"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--losses", nargs="+", choices=LOSSES, default=list(LOSSES))
    parser.add_argument("--data", nargs="+", choices=DATA, default=list(DATA))
    parser.add_argument("--radii", nargs="+", type=float, default=list(RADII))
    parser.add_argument("--tol", type=float, default=1e-8)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--tries", type=int, default=2, help="runs of a problem that is too slow")
    parser.add_argument("--verbose", action="store_true", help="a line for each problem")
    args = parser.parse_args()
    failed, count = [], 0
    for name in args.sets:
        for loss in args.losses:
            for data in args.data:
                for radius in args.radii:
                    problem = pose(name, loss, data, radius)
                    result = solve(problem, args.tol, args.seconds, args.tries)
                    count += 1
                    line = (
                        f"{name}, {loss}, {data}, radius {radius:g}: {result.status.name.lower()}, gap "
                        f"{result.gap / problem.zero_value:.1e} F(0), {result.passes:g} passes, {result.seconds:.2f} s"
                    )
                    if not result.success:
                        why = reason(problem, result, args.tol)
                        line = f"{line}; {why}"
                        failed.append((name, data, f"{radius:g}", loss, why.split(":")[0], line))
                    if args.verbose:
                        print(line, flush=True)
    print(f"{len(failed)} of {count} problems not certified at tol {args.tol:g} within {args.seconds:g} s\n")
    for place, title in enumerate(("set", "data", "radius", "loss", "reason")):
        print(f"| {title} | failures |\n|---|---|")
        for key, number in Counter(each[place] for each in failed).most_common():
            print(f"| {key} | {number} |")
        print()
    for each in failed:
        print(each[-1])


if __name__ == "__main__":
    main()
