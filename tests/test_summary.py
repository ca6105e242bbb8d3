"""What a summary shows, as text, as HTML and as a frame."""

from dataclasses import replace

import numpy as np
import pytest

import frankwolfe as fw
from frankwolfe.summary import Summary, proven

NAMES = ["price", "tv<1>", "rent"]


def test_the_largest_weights_come_first_and_zeros_are_counted():
    shown = str(Summary("A model", NAMES, np.array([0.5, -2.0, 0.0]), facts={"rows": "10"}, certificate="Proven."))
    assert shown.splitlines()[3].split() == ["tv<1>", "-2"]
    assert shown.splitlines()[4].split() == ["price", "0.5"]
    assert "2 of 3 weights are not zero." in shown
    assert shown.endswith("Proven.")
    assert "rent" not in shown


def test_few_of_many_weights_are_shown():
    text = str(Summary("A model", [f"x{j}" for j in range(50)], np.arange(50.0), most=3))
    assert "49 of 50 weights are not zero; the largest 3 are shown." in text
    assert "x49" in text
    assert "x46" not in text


def test_only_rules_that_bind_are_listed_the_dearest_first():
    prices = {"price <= 0": 0.5, "rent >= 0": 0.0, "radius": 2.0}
    found = Summary("A model", NAMES, np.ones(3), prices=prices)
    assert list(found.binding) == ["radius", "price <= 0"]
    assert "rent >= 0" not in str(found)


def test_few_of_many_rules_are_listed():
    found = Summary("A model", NAMES, np.ones(3), prices={f"rule {k}": k + 1.0 for k in range(9)}, most=3)
    assert "6 more rules bind, at lower prices." in str(found)
    assert "6 more rules bind, at lower prices." in found._repr_html_()
    assert "rule 8" in str(found)
    assert "rule 5" not in str(found)


@pytest.mark.parametrize(
    ("constraint", "rules"),
    [
        (fw.Simplex(), {"sum of all weights"}),
        (fw.CappedSimplex(0.6), {"x0 <= 0.6", "sum of all weights"}),
        (fw.NonNegativeL1Ball(1.0), {"radius"}),
        (fw.Budget([0.0, -0.1, 0.0], 0.7, 1.0), {"radius", "x0 <= 0.7", "x1 >= -0.1"}),
        (fw.Box([0.0, -0.1, 0.0], 1.0), {"x0 <= 1", "x1 >= -0.1"}),
    ],
    ids=["Simplex", "CappedSimplex", "NonNegativeL1Ball", "Budget", "Box"],
)
@pytest.mark.usefixtures("interpreted")
def test_a_set_lists_the_bounds_that_it_was_given(constraint, rules):
    problem = fw.Problem(np.eye(3), [3.0, -2.0, 1.0], "squared", constraint)
    assert set(fw.minimize(problem, tol=1e-9).summary().binding) == rules


@pytest.mark.usefixtures("interpreted")
def test_an_estimator_takes_the_names_of_columns_that_come_without():
    model = fw.FrankWolfeRegressor(radius=1.0).fit(np.eye(3), [3.0, -2.0, 1.0])
    assert "tv<1>" in str(model.summary(NAMES))
    assert "x1" not in str(model.summary(NAMES))
    with pytest.raises(ValueError, match="2 names for 3 columns"):
        model.summary(NAMES[:2])


def test_html_is_escaped():
    html = Summary("<b>", NAMES, np.ones(3), prices={"price <= 0": 1.0})._repr_html_()
    assert "tv&lt;1&gt;" in html
    assert "price &lt;= 0" in html
    assert "&lt;b&gt;" in html


def test_frames_hold_all_weights():
    frame = Summary("A model", NAMES, np.array([0.5, -2.0, 0.0])).to_frame()
    assert frame.index.tolist() == ["tv<1>", "price", "rent"]
    assert frame["weight"].tolist() == [-2.0, 0.5, 0.0]
    several = Summary("A model", NAMES, np.ones((3, 2)), outputs=["a", "b"])
    assert several.to_frame().shape == (3, 2)
    assert str(several).splitlines()[2].split() == ["weight", "a", "b"]


def test_the_sentence_never_claims_more_than_is_proven():
    problem = fw.Problem(np.eye(3), [3.0, -2.0, 1.0], "squared", fw.L1Ball(1.0))
    with fw.python_mode():
        found = fw.minimize(problem)

    def sentence(rules=False, **changes):
        return proven(replace(found, gap=changes.pop("gap", 1e-5), tolerance=1e-4, **changes), rules)

    assert sentence().startswith("Proven: no weights in the set")
    assert "satisfy all rules" in sentence(rules=True)
    assert "above the tolerance of 0.0001" in sentence(status=fw.Status.STALLED)
    assert "Proven" not in sentence(convex=False)
    assert sentence(gap=np.inf).startswith("Nothing is proven")
