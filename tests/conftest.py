"""Shared set-up of the tests."""

import pytest
from hypothesis import HealthCheck, settings

import frankwolfe as fw

settings.register_profile("suite", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")


@pytest.fixture
def interpreted():
    """Run the test's kernels as plain Python."""
    with fw.python_mode():
        yield
