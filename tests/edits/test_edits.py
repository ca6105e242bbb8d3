"""A short slice of ``make edits``, and that it notices what it is for."""

import pytest

import frankwolfe as fw
from tests.edits import attend as attending
from tests.edits.attend import attend
from tests.edits.subjects import RUNS, STORES, subjects
from tests.fuzz.runner import describe

pytestmark = pytest.mark.usefixtures("interpreted")

ROUNDS = 6
"""Edits of each file that are made here: about 120 in all. Compiled code would run into what is not refused."""


@pytest.fixture(autouse=True, scope="module")
def interpreted_throughout():
    with fw.python_mode():
        yield


@pytest.mark.parametrize("name", list(subjects()))
def test_a_slice(name):
    first, stride = list(subjects()).index(name), len(subjects())
    for number in range(first, first + ROUNDS * stride, stride):
        case = attend(7, number)
        assert not case["failures"], describe(7, case, "tests.edits")


def test_there_are_enough():
    assert ROUNDS * len(subjects()) >= 100
    assert len(STORES) >= 4
    assert len(RUNS) >= 12


@pytest.mark.parametrize(
    ("error", "check"),
    [(ValueError("no name"), "unnamed"), (KeyError("x"), "KeyError"), (AssertionError("success"), "AssertionError")],
)
def test_what_is_no_answer_is_noticed(error, check, monkeypatch):
    def use(path):
        raise error

    made, edit, _ = subjects()["model, plain"]
    monkeypatch.setattr(attending, "subjects", lambda: {"model, plain": (made, edit, use)})
    monkeypatch.setattr(attending, "_KNOWN", {"model, plain"})
    assert [name for name, _ in attend(0, 0)["failures"]] == [check]
