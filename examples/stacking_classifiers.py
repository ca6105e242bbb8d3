"""Stacking: the best mixture of classifiers
=========================================

Which average of five classifiers predicts best? The one of least log-loss, proven.

Each classifier predicts probabilities for rows that it has not learnt from. ``ProbabilityMixer`` finds the weights,
none negative and with a sum of one, whose average of these probabilities has the least log-loss. That problem is
convex, so the answer is certified; it needs no second classifier on top, and its weights are shares.
"""

import matplotlib.pyplot as plt
from gallery import BLUE, GREY, ORANGE, arguments, save
from sklearn.datasets import make_classification
from sklearn.ensemble import ExtraTreesClassifier, GradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_predict, train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import frankwolfe as fw


def members(small):
    """Return the classifiers to be mixed."""
    return {
        "logistic": make_pipeline(StandardScaler(), LogisticRegression()),
        "boosting": GradientBoostingClassifier(n_estimators=10 if small else 60, random_state=0),
        "naive Bayes": GaussianNB(),
        "neighbours": make_pipeline(StandardScaler(), KNeighborsClassifier(25)),
        "trees": ExtraTreesClassifier(20 if small else 150, min_samples_leaf=3, random_state=0),
    }


def main():
    given = arguments(__doc__, "stacking_classifiers.png")
    X, y = make_classification(
        300 if given.small else 1200,
        15,
        n_informative=8,
        n_classes=2,
        n_clusters_per_class=2,
        flip_y=0.05,
        random_state=2,
    )
    X, X_new, y, y_new = train_test_split(X, y, test_size=0.4, random_state=0)
    models = members(given.small)
    held_out = [cross_val_predict(model, X, y, cv=5, method="predict_proba") for model in models.values()]
    mixer = fw.ProbabilityMixer().fit(held_out, y)
    print(f"log-loss {mixer.log_loss_:.4f}, at most {mixer.gap_:.1e} above the least of all mixtures")

    unseen = [model.fit(X, y).predict_proba(X_new) for model in models.values()]
    losses = {name: log_loss(y_new, found) for name, found in zip(models, unseen, strict=True)}
    losses |= {"average": log_loss(y_new, sum(unseen) / len(unseen))}
    losses |= {"mixture": log_loss(y_new, mixer.predict_proba(unseen))}
    for name, loss in losses.items():
        print(f"{name:>18}: log-loss {loss:.3f} on rows kept back")

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
    left.bar(list(models), mixer.weights_, color=BLUE)
    left.set(ylabel="share", title=f"Shares of the members (certified to {mixer.gap_:.0e})")
    left.tick_params(axis="x", rotation=20)
    right.barh(
        list(losses)[::-1], list(losses.values())[::-1], color=([GREY] * len(models) + ["#5d636b", ORANGE])[::-1]
    )
    right.set(xlabel="log-loss on rows kept back", xlim=(0.0, None))
    save(figure, given.out)


if __name__ == "__main__":
    main()
