"""Streams: learn from rows that come once
=======================================

``partial_fit`` learns in constant memory, and the weights never leave their set.

Chunks of clicks arrive, and none is kept. After each one the model is compared, on rows kept back, with a batch fit
that has seen many chunks at once. The prequential loss, of rows before they are learnt, needs no rows kept back, and
tells nearly the same.
"""

import matplotlib.pyplot as plt
import numpy as np
from gallery import BLUE, GREY, ORANGE, arguments, save

import frankwolfe as fw

RADIUS = 5.0


def clicks(n, rng, d=30):
    """Return rows and whether there was a click; eight features matter."""
    effects = np.zeros(d)
    effects[:8] = [1.2, -1.0, 0.8, -0.6, 0.5, -0.4, 0.3, 0.2]
    X = rng.normal(size=(n, d))
    return X, (X @ effects - 1.0 + rng.logistic(size=n) > 0.0).astype(int)


def loss(model, X, y):
    """Return the mean logistic loss."""
    return np.logaddexp(0.0, (1 - 2 * y) * model.decision_function(X)).mean()


def main():
    given = arguments(__doc__, "rows_as_they_come.png")
    rng, chunks, rows = np.random.default_rng(0), 20 if given.small else 200, 1000
    kept_back = clicks(20_000, rng)
    batch = loss(fw.FrankWolfeClassifier(radius=RADIUS).fit(*clicks(20_000, rng)), *kept_back)

    model, losses, chunk_losses, weights = fw.FrankWolfeClassifier(radius=RADIUS), [], [], []
    for _ in range(chunks):
        model.partial_fit(*clicks(rows, rng), classes=[0, 1])
        assert fw.L1Ball(RADIUS).contains(model.coef_[0])
        losses.append(loss(model, *kept_back))
        chunk_losses.append(model.chunk_loss_)
        weights.append(model.coef_[0].copy())
    print(f"{model.n_samples_seen_:,} rows: loss {losses[-1]:.4f} on rows kept back; a batch fit has {batch:.4f}")
    print(f"prequential loss {model.prequential_loss_:.4f}")
    print(f"estimated gap {model.gap_estimate_:.3f} +- {model.gap_error_:.3f}")

    seen = rows * np.arange(1, chunks + 1)
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
    left.semilogx(seen, chunk_losses, color=GREY, lw=1, label="each chunk, before it is learnt")
    left.semilogx(seen, losses, color=BLUE, lw=2, label="rows kept back")
    left.axhline(batch, color=ORANGE, ls="--", label="batch fit to 20,000 rows")
    left.set(xlabel="rows so far", ylabel="mean loss")
    left.legend(frameon=False)
    right.semilogx(seen, np.array(weights)[:, :8], color=BLUE, lw=1.5)
    right.semilogx(seen, np.array(weights)[:, 8:], color=GREY, lw=0.8)
    right.set(xlabel="rows so far", ylabel="weight", title="Eight features matter (blue), the others do not")
    save(figure, given.out)


if __name__ == "__main__":
    main()
