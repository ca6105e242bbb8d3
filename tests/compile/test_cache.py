"""A cache of compiled code that was damaged: no crash, no wrong number, and the next process finds it mended."""

import numba
import pytest

from frankwolfe.compile.kernels import Kernel


def weighted(x, y):
    return 3.0 * x + y


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """Files of a kernel compiled for two signatures, by their content."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    kernel = Kernel(weighted)
    assert kernel(2.0, 1.0) == 7.0
    assert kernel(2, 1) == 7.0
    found = {path: path.read_bytes() for path in tmp_path.rglob("*.nb*")}
    assert sorted(path.suffix for path in found) == [".nbc", ".nbc", ".nbi"]
    return found


def restore(cache):
    for path, content in cache.items():
        path.write_bytes(content)


def hits(kernel):
    return sum(kernel.cached.stats.cache_hits.values())


def flipped(content, at):
    return content[:at] + bytes([content[at] ^ (1 << at % 8)]) + content[at + 1 :]


def damages(content):
    """Yield what may have become of a file."""
    for k in range(7):
        yield flipped(content, k * (len(content) - 1) // 6)
    for k in range(3):
        yield content[: k * len(content) // 3]
    yield bytes(len(content))
    yield content + b"more"
    yield b"a note in its place"


@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
def test_damaged_files_are_compiled_again_and_mended(suffix, cache):
    path = next(path for path in cache if path.suffix == suffix and "2.nbc" not in path.name)
    for damaged in damages(cache[path]):
        restore(cache)
        path.write_bytes(damaged)
        kernel = Kernel(weighted)
        assert kernel(2.0, 1.0) == 7.0
        assert hits(kernel) == 0
        again = Kernel(weighted)
        assert again(2.0, 1.0) == 7.0
        assert hits(again) == 1


def test_code_of_another_signature_is_not_run(cache):
    code = sorted(path for path in cache if path.suffix == ".nbc")
    for path, other in zip(code, reversed(code), strict=True):  # as if two processes had written at once
        path.write_bytes(cache[other])
    kernel = Kernel(weighted)
    assert (kernel(2.0, 1.0), kernel(2, 1)) == (7.0, 7.0)
    assert hits(kernel) == 0


def test_whole_files_are_used(cache):
    kernel = Kernel(weighted)
    assert (kernel(2.0, 1.0), kernel(2, 1)) == (7.0, 7.0)
    assert hits(kernel) == 2


def test_code_that_is_gone_is_compiled_again(cache):
    gone = [path for path in cache if path.suffix == ".nbc"]
    for path in gone:
        path.unlink()
    kernel = Kernel(weighted)
    assert (kernel(2.0, 1.0), kernel(2, 1)) == (7.0, 7.0)
    assert all(path.exists() for path in gone)
