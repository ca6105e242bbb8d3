"""The cluster of the other tests."""

from tests.cluster.conftest import client

__all__ = ["client"]
