"""Settings apart from what a run remembers, and what an estimate says of itself."""

from typing import NamedTuple

import numpy as np
import pytest

import frankwolfe as fw
from frankwolfe.methods.lifecycle import Abilities, Setting
from tests import cases

PARTS = list(
    dict.fromkeys(part for method in cases.METHODS for part in (method.estimate, method.direction, method.step))
)


# --- settings and states ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", PARTS, ids=cases.name_of)
def test_a_constructor_shows_settings_only(part):
    assert all(isinstance(value, float) for value in part)


@pytest.mark.parametrize("part", PARTS, ids=cases.name_of)
def test_every_run_has_a_state_of_its_own(part):
    problem = cases.problem()
    setting = Setting(problem.samples, 3, problem.default_start(), problem.constraint)
    one, other = (part.for_run(setting) for _ in range(2))
    for mine, yours in zip(one, other, strict=True):
        assert not (isinstance(mine, np.ndarray) and np.shares_memory(mine, yours))


@pytest.mark.parametrize("method", cases.METHODS, ids=cases.name_of)
def test_a_state_has_the_table_that_its_estimate_promises(method):
    problem, abilities = cases.problem(), method.estimate.abilities
    state = method.estimate.for_run(Setting(problem.samples, 3, problem.default_start(), problem.constraint))
    assert abilities.has_table == ("alpha" in state._fields)
    if abilities.exact_table:
        state.renew(np.arange(problem.n))
        np.testing.assert_array_equal(state.alpha, np.arange(problem.n))


class Silent(NamedTuple):
    """Follows the gradient, but does not say what it can do."""

    def refresh(self, samples, iterate, gradient, batch, t):
        pass

    def follow(self, samples, move, gradient, batch, t):
        pass


class Forgetful(NamedTuple):
    """Makes something for a run that is no state."""

    abilities = Abilities()

    def for_run(self, setting):
        return fw.Toward()


@pytest.mark.parametrize(
    ("estimate", "message"),
    [
        (Silent(), "method.estimate: Silent does not say what it can do: give it a property abilities"),
        (fw.Toward(), "Toward does not say what it can do"),
        (fw.L1Ball(1.0), "L1Ball does not say what it can do"),
        (fw.Logistic(), "method.estimate: Logistic is not a gradient estimate: it has no method refresh, follow"),
        (fw.SagTable, r"write SagTable\(...\)"),
        (Forgetful(), "Forgetful.for_run: Toward is not the state of an estimate: it has no method refresh, follow"),
    ],
    ids=str,
)
def test_what_is_no_estimate_is_refused(estimate, message):
    with pytest.raises(TypeError, match=message):
        fw.minimize(cases.problem(), fw.Method(estimate))


def test_what_is_no_direction_or_step_rule_is_refused():
    with pytest.raises(TypeError, match="Logistic is not a direction: it has no method choose"):
        fw.minimize(cases.problem(), fw.Method(fw.SagTable(), fw.Logistic()))
    with pytest.raises(TypeError, match="Logistic is not a step rule: it has no method length"):
        fw.minimize(cases.problem(), fw.Method(fw.SagTable(), fw.Toward(), fw.Logistic()))
