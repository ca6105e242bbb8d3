"""Rows on disk: a folder of shards, and how they are read."""
