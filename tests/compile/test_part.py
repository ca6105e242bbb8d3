"""Parts as values: equal only to their like, in dictionaries and after pickling too."""

import inspect
import pickle

import pytest

import frankwolfe as fw
from tests import cases

PARTS = [
    *cases.LOSSES,
    *cases.SETS,
    *cases.STEPS,
    *(method.estimate for method in fw.methods.METHODS.values()),
    fw.methods.Toward(),
]


@pytest.mark.parametrize("part", PARTS, ids=cases.name_of)
def test_equal_to_its_like_and_to_nothing_else(part):
    assert part == part._replace()
    assert hash(part) == hash(part._replace())
    assert part != tuple(part)
    assert all((part == other) == (type(part) is type(other) and tuple(part) == tuple(other)) for other in PARTS)
    assert pickle.loads(pickle.dumps(part)) == part


@pytest.mark.parametrize("part", PARTS, ids=cases.name_of)
def test_signatures_name_the_parameters(part):
    assert tuple(inspect.signature(type(part)).parameters) == part._fields


def test_sets_of_the_same_radius_differ():
    assert fw.L1Ball(1.0) != fw.Simplex(1.0)
    assert len({fw.L1Ball(1.0), fw.Simplex(1.0), fw.L2Ball(1.0)}) == 3
