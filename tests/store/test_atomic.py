"""Files that are there whole or not at all."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from frankwolfe.store import files as atomic
from frankwolfe.store.files import replacing

KILLED = """
import os, sys
from frankwolfe.store.files import replacing
with replacing(sys.argv[1]) as stream:
    stream.write(b"half")
    stream.flush()
    os._exit(1)
"""


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_what_a_killed_writer_has_left_goes_with_the_next(tmp_path):
    for name in ("a", "a.b"):
        subprocess.run([sys.executable, "-c", KILLED, tmp_path / name], check=False)
    assert len(names(tmp_path)) == 2
    with replacing(tmp_path / "a") as stream:
        stream.write(b"whole")
    other, own = names(tmp_path)
    assert own == "a"
    assert other.startswith(".a.b.")


def test_what_others_are_writing_stays(tmp_path):
    path = tmp_path / "a"
    with replacing(path) as first:
        with replacing(path) as second:
            second.write(b"second")
        first.write(b"first")
    assert path.read_bytes() == b"first"

    def write(number):
        with replacing(path) as stream:
            stream.write(b"%d" % number)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(200)))
    assert names(tmp_path) == ["a"]


def test_a_file_that_another_writer_is_about_to_remove_is_begun_anew(tmp_path, monkeypatch):
    taken, take_lock = [], atomic.take_lock

    def contested(handle):
        if not taken:  # the other writer has the lock already, and removes the file a moment later
            taken.extend(tmp_path.iterdir())
            raise BlockingIOError
        take_lock(handle)

    monkeypatch.setattr(atomic, "take_lock", contested)
    with replacing(tmp_path / "a") as stream:
        taken[0].unlink()
        stream.write(b"whole")
    assert (tmp_path / "a").read_bytes() == b"whole"
    assert names(tmp_path) == ["a"]
