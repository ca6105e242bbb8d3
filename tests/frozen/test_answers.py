"""Answers are the recorded ones: to rounding for stochastic methods, within certificates for exact ones."""

import pytest

from tests.frozen import problems, record

RECORDED = record.recorded()
IN_MEMORY = [
    case
    for family in (problems.of_methods, problems.of_sets, problems.of_losses, problems.of_outputs)
    for case in family()
    if case.name in RECORDED
]


def differing(case):
    return record.differences(case, record.answer(case), RECORDED[case.name])


@pytest.mark.parametrize("case", IN_MEMORY, ids=lambda case: case.name)
def test_answers_in_memory_are_the_recorded_ones(case):
    assert not differing(case)


def test_answers_from_stores_are_the_recorded_ones(tmp_path):
    cases = [case for case in problems.of_stores(tmp_path) if case.name in RECORDED]
    assert len(cases) > 20
    wrong = {case.name: found for case in cases if (found := differing(case))}
    assert not wrong
