"""Names a user types: near ones are suggested, those of other libraries are translated, and nothing else is guessed."""

import inspect
import re

import pytest
from sklearn.base import clone

import frankwolfe as fw
from frankwolfe import estimators
from frankwolfe.arguments.names import ALSO_CALLED, INSTEAD, advice, known_elsewhere, lookup, nearest
from frankwolfe.losses import LOSSES
from frankwolfe.methods.registry import METHODS
from frankwolfe.methods.steps import STEPS
from frankwolfe.sets.named import SETS

TABLES = {"method": METHODS, "loss": LOSSES, "constraint": SETS, "step": STEPS}
ESTIMATORS = [getattr(estimators, name) for name in estimators.__all__]


@pytest.mark.parametrize(
    ("argument", "typed", "meant"),
    [
        ("method", "sfv", "sfw"),
        ("method", "pairwse", "pairwise"),
        ("method", "Blended Pairwise", "blended-pairwise"),
        ("method", "pairwise-frank-wolfe", "pairwise"),
        ("loss", "squred", "squared"),
        ("loss", "multitask", "multitask-squared"),
        ("constraint", "non_negative_l1", "nonnegative-l1"),
        ("constraint", "l1-ball", "l1"),
        ("step", "shrot", "short"),
    ],
)
def test_a_near_name_is_suggested(argument, typed, meant):
    assert nearest(typed, TABLES[argument]) == f"; did you mean {meant!r}?"


@pytest.mark.parametrize("typed", ["newton", "xyz", "", "-", "q", "simulated-annealing", "gurobi"])
def test_a_far_name_is_not(typed):
    assert nearest(typed, METHODS) == ""


@pytest.mark.parametrize("argument", TABLES)
def test_every_name_that_advice_mentions_is_offered(argument):
    table = TABLES[argument]
    assert set(ALSO_CALLED[argument]) <= set(table)
    for own, foreign in ALSO_CALLED[argument].items():
        for name in foreign.split():
            with pytest.raises(
                ValueError, match=re.escape(f"unknown {argument} {name!r}: here it is called {own!r}. ")
            ):
                lookup(argument, name, table)
    for foreign, text, about in INSTEAD.get(argument, []):
        assert set(about.split()) <= set(table)
        assert "{}" in text
        for name in foreign.split():
            assert known_elsewhere(argument, name, table)


@pytest.mark.parametrize("argument", TABLES)
def test_no_advice_explains_away_what_is_offered(argument):
    """Neither by its name in the table nor by that of its class, and no name is explained in two ways."""
    table = TABLES[argument]
    kinds = (entry if isinstance(entry, type) else type(entry) for entry in table.values())
    offered = {*table, *(kind.__name__.lower().removesuffix("step") for kind in kinds)}
    called = [name for foreign in ALSO_CALLED[argument].values() for name in foreign.split()]
    others = {name for foreign, _, _ in INSTEAD.get(argument, []) for name in foreign.split()}
    assert not offered & {*called, *others}
    assert len(set(called)) == len(called)
    assert not others & set(called)


def test_advice_follows_the_table():
    with pytest.raises(ValueError, match="unknown loss 'quantile': here it is called 'pinball'"):
        lookup("loss", "quantile", LOSSES)
    with pytest.raises(ValueError, match="unknown step 'fixed': here it is called 'constant'"):
        lookup("step", "fixed", STEPS)
    assert "'pinball'" in known_elsewhere("loss", "mae", LOSSES)
    assert known_elsewhere("loss", "mae", ["huber"]) == "near it is 'huber'"  # another table, other advice
    assert known_elsewhere("loss", "quantile", ["huber"]) == ""


@pytest.mark.parametrize("name", ["squared_error", "absolute_error", "quantile", "log_loss", "epsilon_insensitive"])
def test_losses_of_scikit_learn_are_known(name):
    assert known_elsewhere("loss", name, LOSSES)


def test_what_is_known_elsewhere_is_not_taken_for_a_misspelling():
    problem = fw.Problem([[1.0], [2.0]], [1, -1], constraint=fw.L1Ball(1.0))
    with pytest.raises(ValueError, match="'svrg': here it is called 'l-svrg'") as told:
        fw.minimize(problem, "svrg")
    assert "did you mean" not in str(told.value)


# --- keyword arguments ------------------------------------------------------------------------------------------

MEANT = {
    "max_iter": "use max_passes",
    "n_iter": "use max_passes",
    "C": "use radius",
    "alpha": "use radius",
    "penalty": "use constraint",
    "l1_ratio": "choose one by constraint",
    "solver": "use method",
    "tolerance": "use tol",
    "seed": "use random_state",
    "intercept": "use fit_intercept",
    "dual": "leave it out",
    "normalize": "StandardScaler",
    "raduis": "did you mean 'radius'?",
    "nonsense": "Known: ",
}


@pytest.mark.parametrize("name", MEANT)
def test_estimators_point_at_their_own_parameters(name):
    for kind in (fw.FrankWolfeClassifier, fw.FrankWolfeRegressor):
        words = re.escape(f"{kind.__name__}() got an unexpected keyword argument {name!r}") + ".*" + MEANT[name]
        with pytest.raises(TypeError, match=words):
            kind(**{name: 1})
        with pytest.raises(
            ValueError, match=f"Invalid parameter {name!r} for estimator {kind.__name__}.*{MEANT[name]}"
        ):
            kind().set_params(**{name: 1})


@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_every_estimator_stays_what_scikit_learn_expects(kind):
    with pytest.raises(TypeError, match=f"{kind.__name__}.*'max_iter': use max_passes"):
        kind(max_iter=5)
    parameters = inspect.signature(kind).parameters
    assert all(p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL) for p in parameters.values())
    assert set(kind().get_params(deep=False)) == set(parameters)
    assert clone(kind(tol=0.5)).tol == 0.5
    assert kind.__init__.__doc__ == kind.__init__.__wrapped__.__doc__


def test_a_subclass_may_take_what_it_likes():
    class Mine(fw.FrankWolfeClassifier):
        def __init__(self, C=1.0):
            super().__init__(radius=C)
            self.C = C

    assert Mine(C=3.0).radius == 3.0
    with pytest.raises(TypeError, match=r"Mine.*'max_iter'"):
        Mine(max_iter=3)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda problem: fw.minimize(problem, max_iter=5), r"minimize\(\) got.*'max_iter': use max_passes"),
        (lambda problem: fw.minimize(problem, maxiter=5), "'maxiter': use max_passes"),
        (lambda problem: fw.minimize(problem, seed=5), "'seed': use random_state"),
        (lambda problem: fw.minimize(problem, verbose=1), "'verbose': use progress=True"),
        (lambda problem: fw.minimize(problem, learning_rate=0.1), "'learning_rate': use step"),
        (lambda problem: fw.minimize(problem, loss="logistic"), "'loss': it belongs to the problem"),
        (lambda problem: fw.minimize(problem, radius=2.0), "'radius': it belongs to the problem"),
        (lambda problem: fw.minimize(problem, bach_size=2), "did you mean 'batch_size'"),
        (lambda problem: fw.Problem([[1.0]], [1.0], radius=3.0), r"Problem\(\) got.*'radius': .*fw.L1Ball\(radius\)"),
        (lambda problem: fw.Problem([[1.0]], [1.0], penalty="l1"), "'penalty': use constraint"),
        (lambda problem: fw.Problem([[1.0]], [1.0], fit_intercept=True), "'fit_intercept': use intercept"),
        (lambda problem: fw.Problem([[1.0]], [1.0], weights=[1.0]), "'weights': use sample_weight"),
        (lambda problem: fw.radius_path([[1.0]], [1.0], alphas=[1.0]), "'alphas': "),
        (lambda problem: fw.completion_problem([0], [0], [1.0], (1, 1), C=3.0), "'C': the set says it"),
    ],
)
def test_functions_point_at_their_own_arguments(call, words):
    problem = fw.Problem([[1.0], [2.0]], [1, -1], constraint=fw.L1Ball(1.0))
    with pytest.raises(TypeError, match=words):
        call(problem)


def test_advice_always_names_something():
    assert advice("zzzz", ["tol", "radius"]) == ". Known: tol, radius"
