"""The compiled reader of svmlight against plain Python: the same bits and mistakes, whatever blocks and threads."""

import gzip
import struct
import tracemalloc
from fractions import Fraction
from random import Random

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import frankwolfe as fw
from frankwolfe.io import svmlight
from frankwolfe.io.read import read_data
from tests.tables import write


def rows_of(path, threads=1, block=2**22):
    """Return what the compiled reader finds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(svmlight, "SMALL", 0)
        patch.setattr(svmlight, "BLOCK", block)
        return svmlight._read_rows(path, threads)


def assert_same(found, expected):
    for mine, other in zip(found, expected, strict=True):
        assert mine.dtype == other.dtype
        assert mine.tobytes() == other.tobytes()  # -0.0 is not 0.0 here


def plainly(path):
    with fw.python_mode():
        return svmlight._read_rows(path, threads=1)


def numbers_read(tmp_path, texts):
    """Return numbers as the compiled reader reads them, each as a target."""
    return rows_of(write(tmp_path / "numbers", "".join(f"{text} 1:1\n" for text in texts))).targets


def assert_exact(tmp_path, texts):
    expected = np.array([float(text) for text in texts])
    found = numbers_read(tmp_path, texts)
    wrong = np.flatnonzero(found.view(np.int64) != expected.view(np.int64))
    assert not wrong.size, [(texts[k], found[k], expected[k]) for k in wrong[:5]]


def halfway_texts(random, count):
    """Return decimals exactly between two doubles, and a digit to either side: the hardest to round."""
    texts = []
    while len(texts) < count:
        bits = random.getrandbits(63)
        low, high = (struct.unpack("<d", struct.pack("<Q", bits + step))[0] for step in (0, 1))
        if not high < np.inf:  # infinity and NaN are up there
            continue
        middle = (Fraction(low) + Fraction(high)) / 2
        digits = decimal_digits(middle)
        texts += [digits, digits.replace("e", "1e"), shortened(digits, random.randint(15, 25))]
    return texts


def decimal_digits(number):
    """Return all digits of a binary fraction, as ``d.ddde-k``."""
    power = number.denominator.bit_length() - 1
    digits = str(number.numerator * 5**power)
    return f"{digits[0]}.{digits[1:] or '0'}e{len(digits) - 1 - power}"


def shortened(text, digits):
    mantissa, power = text.split("e")
    return f"{mantissa[: digits + 1]}e{power}"


def test_numbers_halfway_between_doubles_are_rounded_as_python_does(tmp_path):
    assert_exact(tmp_path, halfway_texts(Random(0), 3000))


def test_random_bits_of_any_length_come_back(tmp_path):
    random = Random(1)
    doubles = [struct.unpack("<d", struct.pack("<Q", random.getrandbits(64)))[0] for _ in range(20_000)]
    finite = [value for value in doubles if abs(value) < np.inf]
    assert_exact(tmp_path, [form(value) for value in finite for form in (repr, "{:.16e}".format, "{:.18e}".format)])
    assert_exact(tmp_path, [f"{random.getrandbits(random.randint(1, 90))}e{random.randint(-345, 280)}" for _ in finite])


ODD_NUMBERS = [
    *("0", "-0", "+0.0", "-0e5", "0e999999999999", "1e-999999999999", "5e-324", "2e-324", "3e-324", "2.5e-324"),
    *("1.7976931348623157e308", "2.2250738585072014e-308", "2.2250738585072011e-308", "4.9406564584124654e-324"),
    *("9007199254740993", "9007199254740992.5", "18446744073709551615", "18446744073709551616", "1" + "0" * 300),
    *("0." + "0" * 400 + "1", "0." + "0" * 300 + "123456789", "1" * 40, "1." + "0" * 50, "1." + "0" * 50 + "1"),
    *("123456789012345", "1234567890123456", "0.000001", ".5", "5.", "+.5e+1", "1E5", "1e+05", "1e-05", "00012.500"),
    *(
        "8.988465674311579e307",
        "7.2057594037927933e16",
        "9355950000000000000",
        "1e22",
        "1e23",
        "123456789012345678e-40",
    ),
]


def test_odd_numbers(tmp_path):
    assert_exact(tmp_path, ODD_NUMBERS)
    found = rows_of(write(tmp_path / "values", "".join(f"1 7:{text} # {text}\n" for text in ODD_NUMBERS)))
    assert_same([found.values], [np.array([float(text) for text in ODD_NUMBERS])])


NO_NUMBERS = [
    *(
        "",
        ".",
        "+",
        "-",
        "e5",
        "1e",
        "1e+",
        "1..2",
        "1.2.3",
        "--1",
        "1_000",
        "0x10",
        "inf",
        "-Infinity",
        "nan",
        "1e400",
    ),
    *("1,5", "1d5", "1:2", "\u0663", "1\x00", "9" * 400, "1e5e5", "1.5x"),
]


@pytest.mark.parametrize("text", NO_NUMBERS)
def test_what_is_no_number_is_refused_by_both_readers(text, tmp_path):
    path = write(tmp_path / "data", f"1 1:2\n# remark\n\n-1 1:1 5:{text}\n1 1:2\n")
    for reader in (rows_of, plainly):
        with pytest.raises(ValueError, match=r"data, line 4: ") as found:
            reader(path)
        assert "is not a finite number" in str(found.value) or "index:value" in str(found.value)


MISTAKES = {
    "1 3:1 2:1": "index 2 comes after 3",
    "1 3:1 3:1": "index 3 comes after 3",
    "1 2147483648:1": "index '2147483648' is too large: columns are numbered up to 2,147,483,647",
    "1 99999999999999999999999:1": "is too large",
    "1 -1:1": "'-1:1' is not of the form index:value",
    "1 1.5:1": "not of the form index:value",
    "1 1": "'1' is not of the form index:value",
    "1 1 :2": "'1' is not of the form index:value",
    "1 :2": "':2' is not of the form index:value",
    "1 a:2": "'a:2' is not of the form index:value",
    "1 1:2,3:4": "is not a finite number",
    "yes 1:2": "the target 'yes' is not a finite number",
    "1,2 1:2": "the target '1,2' is not one number",
    "1:2 3:4": "the target '1:2' is not a finite number",
    "nan 1:2": "the target 'nan' is not a finite number",
    "1\r-1 1:2": "'-1' is not of the form index:value",
    "1 " + "x" * 100_000: "100,000 characters",
}


@pytest.mark.parametrize("line", MISTAKES)
@pytest.mark.parametrize("end", ["\n", "\r\n", ""])
def test_mistakes_are_the_same_in_both_readers(line, end, tmp_path):
    path = write(tmp_path / "data", f"1 1:2{end or chr(10)}" * 3 + line + end)
    for reader in (rows_of, plainly):
        with pytest.raises(ValueError, match=r"data, line 4: ") as found:
            reader(path)
        assert MISTAKES[line] in str(found.value)
        assert len(str(found.value)) < 500


token = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.integers(-(10**25), 10**25).map(str),
    st.sampled_from(["0.5", "1", "-.25", "3e2", "7.", "+4"]),
)
space = st.sampled_from([" ", "  ", "\t", " \x0b", "\x0c"])


@st.composite
def line(draw):
    kind = draw(st.integers(0, 9))
    if kind == 0:
        return draw(st.sampled_from(["", "  ", "# remark 1:2", "\t#"]))
    indices = sorted(draw(st.sets(st.integers(0, 2**31 - 1), max_size=6)))
    words = [draw(token), *(["qid:3"] if kind == 1 else []), *(f"{index}:{draw(token)}" for index in indices)]
    return "".join(word + draw(space) for word in words) + ("# 9:9" if kind == 2 else "")


@given(st.lists(line(), max_size=12), st.sampled_from(["\n", "\r\n"]), st.booleans(), st.integers(1, 80), st.booleans())
@example(["1 1:2"], "\n", False, 1, True)
def test_any_text_is_read_as_plain_python_reads_it(tmp_path_factory, lines, end, ended, block, mark):
    text = ("\ufeff" if mark else "") + end.join(lines) + (end if ended else "")
    folder = tmp_path_factory.mktemp("any")
    path = write(folder / "data", text)
    packed = write(folder / "data.gz", text)
    expected = plainly(packed)
    assert_same(rows_of(packed, threads=2, block=block), expected)
    if path.stat().st_size:
        assert_same(rows_of(path, threads=2, block=block), expected)


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A file that is large enough for the compiled reader, with remarks, blank lines and query numbers."""
    rng = np.random.default_rng(0)
    lines = ["# made by a test", ""]
    for row in range(8000):
        indices = np.flatnonzero(rng.random(40) < 0.2) + 1
        pairs = [
            f"{index}:{value!r}" for index, value in zip(indices, rng.normal(size=len(indices)).tolist(), strict=True)
        ]
        lines += [" ".join([str(row % 3), *(["qid:1"] if row % 5 == 0 else []), *pairs])] + [""] * (row % 7 == 0)
    path = tmp_path_factory.mktemp("large") / "data.svm"
    path.write_text("\n".join(lines))
    assert path.stat().st_size > svmlight.SMALL
    return path


@pytest.mark.parametrize("packed", [False, True])
def test_blocks_and_threads_change_nothing(packed, large, tmp_path):
    path = tmp_path / "data.gz" if packed else large
    if packed:
        path.write_bytes(gzip.compress(large.read_bytes(), 1))
    expected = plainly(large)
    for threads, block in [(1, 2**22), (2, 10_000), (3, 777), (2, 500)]:
        assert_same(rows_of(path, threads, block), expected)


def test_memory_is_bounded_by_the_arrays(large):
    """Blocks are released as they are copied to their place."""
    rows_of(large, threads=2, block=20_000)  # loads the code
    tracemalloc.start()
    found = rows_of(large, threads=2, block=20_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2.3 * sum(part.nbytes for part in found)


def test_python_mode_reads_the_same(large):
    compiled = read_data(large)
    with fw.python_mode():
        interpreted = read_data(large)
    assert (compiled.X != interpreted.X).nnz == 0
    assert compiled.X.indices.dtype == interpreted.X.indices.dtype == np.int32
    assert compiled.X.has_canonical_format
    np.testing.assert_array_equal(compiled.targets, interpreted.targets)


@pytest.mark.parametrize("packed", [False, True])
def test_a_mistake_far_down_is_placed(packed, large, tmp_path):
    lines = large.read_text().split("\n")
    lines[7000] += " 3:1"
    path = tmp_path / "data"
    content = "\n".join(lines).encode()
    path.write_bytes(gzip.compress(content, 1) if packed else content)
    with pytest.raises(ValueError, match=r"data, line 7001: index 3 comes after"):
        read_data(path)


def test_a_truncated_stream_is_refused(large, tmp_path):
    packed = gzip.compress(large.read_bytes(), 1)
    path = tmp_path / "data"
    for kept in (0.5, 0.99):
        path.write_bytes(packed[: int(kept * len(packed))])
        with pytest.raises(ValueError, match="damaged, or not whole"):
            read_data(path)


def test_wide_rows_are_recognised(tmp_path):
    """The first line alone is longer than what is looked at to tell formats apart."""
    path = write(tmp_path / "data", "1 " + " ".join(f"{index}:0.125" for index in range(1, 20_000)) + "\n-1 1:1\n")
    assert read_data(path).X.shape == (2, 19_999)
