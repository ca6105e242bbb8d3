"""Engineering: which sensors does a model need?
=============================================

Each sensor has several features, and a group ball keeps or drops them together.

A machine has many sensors. Each one yields a mean, a trend and a spread, so dropping single features saves nothing: a
sensor is only saved if all of its features have weight zero. The ball of the group lasso does that. The path over its
radius shows the order in which sensors become useful, and every model on it is certified.
"""

import matplotlib.pyplot as plt
import numpy as np
from gallery import BLUE, GREY, ORANGE, arguments, save

import frankwolfe as fw

USEFUL = {2: [1.0, 0.6, 0.0], 5: [-0.8, 0.0, 0.5], 11: [0.4, 0.3, -0.4]}


def machine(n, sensors, seed=0):
    """Return three features of each sensor, that go together, and the wear of the machine."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, sensors, 3)) + 0.7 * rng.normal(size=(n, sensors, 1))
    wear = sum(X[:, sensor] @ weights for sensor, weights in USEFUL.items())
    return X.reshape(n, -1), wear + 1.0 * rng.normal(size=n)


def main():
    given = arguments(__doc__, "sensor_groups.png")
    sensors = 16
    X, y = machine(200 if given.small else 600, sensors)
    new, wear = machine(2_000, sensors, seed=1)
    groups = np.arange(X.shape[1]) // 3
    radii = np.linspace(0.1, 6.0, 8 if given.small else 24)
    path = fw.radius_path(X, y, loss="squared", constraint=fw.GroupBall(groups, 1.0), radii=radii, tol=1e-6)
    weights = path.coefs.toarray()
    sizes = np.linalg.norm(weights.reshape(len(radii), sensors, 3), axis=2)
    errors = np.mean((weights @ new.T - wear) ** 2, axis=1)
    best = int(np.argmax(errors <= 1.1 * errors.min()))  # the smallest radius with nearly the least error
    kept = np.flatnonzero(sizes[best])
    print(f"radius {radii[best]:.2f}: {len(kept)} of {sensors} sensors; the largest proven gap is {max(path.gaps):.1e}")

    figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 3.8), layout="constrained")
    for sensor in range(sensors):
        useful = sensor in USEFUL
        left.plot(radii, sizes[:, sensor], color=BLUE if useful else GREY, lw=2 if useful else 0.8)
    left.plot([], [], color=BLUE, label="sensors that matter")
    left.plot([], [], color=GREY, label="the others")
    left.set(xlabel="radius", ylabel="size of a sensor's weights", title="Sensors come in whole")
    left.legend(frameon=False)
    right.plot(radii, errors, color=ORANGE, lw=2)
    right.axvline(radii[best], color="black", lw=0.8, ls=":")
    right.set(xlabel="radius", ylabel="mean squared error on new data", title="A radius that is large enough")
    save(figure, given.out)


if __name__ == "__main__":
    main()
