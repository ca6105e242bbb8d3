"""What tests of the command line share."""

import pytest


@pytest.fixture
def desk(tmp_path, monkeypatch):
    """A folder to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
