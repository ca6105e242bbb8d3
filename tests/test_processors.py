"""A short slice of ``make test-processors``."""

import pytest

from tests.processors import SLICE, run


@pytest.mark.parametrize("setting", ["generic-without-features", "python"])  # those that differ most from the others
def test_a_slice_of_the_numeric_tests(setting):
    code, _ = run(setting, SLICE, workers=0)
    assert code == 0
