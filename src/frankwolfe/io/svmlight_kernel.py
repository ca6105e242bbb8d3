"""A line of an svmlight file, in plain Python: what it says, or what is wrong with it."""

import math
import re
from typing import NamedTuple

import numpy as np

from frankwolfe.compile.kernels import kernel
from frankwolfe.compile.verbs import routine

LARGEST_INDEX = 2**31 - 1
"""Column numbers are 32-bit integers."""

_NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


class Line(NamedTuple):
    """What a line says."""

    target: float
    indices: list[int]
    values: list[float]


def finite_number(token: bytes) -> float | None:
    """Return a number, or None for what is no finite one. Python's underscores and names of infinity are none."""
    value = float(token) if _NUMBER.fullmatch(token) else math.nan
    return value if math.isfinite(value) else None


def parse_line(line: bytes) -> Line | None:
    """Read ``target index:value ... # remark``; None for a line without a target.

    Examples
    --------
    >>> parse_line(b"+1 qid:7 2:0.5 10:3 # first")
    Line(target=1.0, indices=[2, 10], values=[0.5, 3.0])
    >>> parse_line(b"1 3:1 2:1")
    Traceback (most recent call last):
    ...
    ValueError: index 2 comes after 3: indices must increase
    """
    tokens = line.partition(b"#")[0].split()
    if not tokens:
        return None
    target = finite_number(tokens[0])
    if target is None and b"," in tokens[0]:
        raise ValueError(
            f"the target {_shown(tokens[0])} is not one number: several labels for a row are not supported, write a "
            "file for each label"
        )
    if target is None:
        raise ValueError(f"the target {_shown(tokens[0])} is not a finite number")
    indices: list[int] = []
    values: list[float] = []
    for pair in tokens[1:]:
        if not pair.startswith(b"qid:"):
            index, value = _parse_pair(pair)
            if indices and index <= indices[-1]:
                raise ValueError(f"index {index} comes after {indices[-1]}: indices must increase")
            indices.append(index)
            values.append(value)
    return Line(target, indices, values)


def _parse_pair(pair: bytes) -> tuple[int, float]:
    index, colon, text = pair.partition(b":")
    if not (colon and index.isdigit()):
        raise ValueError(f"{_shown(pair)} is not of the form index:value")
    if len(index) > 10 or int(index) > LARGEST_INDEX:
        raise ValueError(f"index {_shown(index)} is too large: columns are numbered up to {LARGEST_INDEX:,}")
    value = finite_number(text)
    if value is None:
        raise ValueError(f"the value in {_shown(pair)} is not a finite number")
    return int(index), value


def _shown(token: bytes, most: int = 60) -> str:
    text = token.decode("utf-8", "replace")
    return repr(text) if len(text) <= most else f"{text[:most]!r}... ({len(text):,} characters)"


LEAST_POWER, LARGEST_POWER = -342, 308
"""Below the least power of ten, 19 digits round to zero; above the largest they are too many for a double."""

DIGITS = 19
"""How many digits an unsigned 64-bit integer holds whatever they are."""

SMALL_POWERS = np.array([10.0**q for q in range(23)])
"""The powers of ten that are doubles."""


def _leading_bits(q: int) -> int:
    """Return the leading 128 bits of ``5^q``, rounded down; up where 64 bits hold ``5^-q``, so that ties come out."""
    if q >= 0:
        power = 5**q
        shift = power.bit_length() - 128
        return power >> shift if shift > 0 else power << -shift
    power = 5**-q
    return (1 << (power.bit_length() + 127)) // power + (power < 2**64)


_POWERS = [_leading_bits(q) for q in range(LEAST_POWER, LARGEST_POWER + 1)]
UPPER = np.array([power >> 64 for power in _POWERS], dtype=np.uint64)
LOWER = np.array([power & (2**64 - 1) for power in _POWERS], dtype=np.uint64)


@routine
def multiply(a, b):
    """Return the upper and the lower 64 bits of a product of two unsigned integers."""
    half, mask = np.uint64(32), np.uint64(0xFFFFFFFF)
    a_low, a_high, b_low, b_high = a & mask, a >> half, b & mask, b >> half
    low, high = a_low * b_low, a_high * b_high
    first = a_high * b_low
    second = a_low * b_high
    middle = (low >> half) + (first & mask) + (second & mask)
    return high + (first >> half) + (second >> half) + (middle >> half), (middle << half) | (low & mask)


@routine
def leading_zeros(m):
    """Return how many zero bits come before the first one of an unsigned integer that is not zero."""
    count = 0
    for step in (32, 16, 8, 4, 2, 1):
        if m >> np.uint64(64 - step) == np.uint64(0):
            m <<= np.uint64(step)
            count += step
    return count


@routine
def nearest_double(m, q):
    """Return the double nearest to ``m * 10^q``, and whether that is certain; ``m`` is unsigned and not zero."""
    if q < LEAST_POWER:
        return 0.0, True
    if q > LARGEST_POWER:
        return np.inf, True
    zeros = leading_zeros(m)
    m <<= np.uint64(zeros)
    upper, lower = multiply(m, UPPER[q - LEAST_POWER])
    if upper & np.uint64(0x1FF) == np.uint64(0x1FF):  # what is below may carry into the bits that count
        carried = multiply(m, LOWER[q - LEAST_POWER])[0]
        lower += carried
        if lower < carried:
            upper += np.uint64(1)
    if lower == np.uint64(0xFFFFFFFFFFFFFFFF) and not -27 <= q <= 55:
        return 0.0, False
    top = np.int64(upper >> np.uint64(63))
    shift = np.uint64(top + 9)
    bits = upper >> shift  # 54 of them: one more than a double has
    exponent = ((217706 * q) >> 16) + 63 + top - zeros + 1023
    if exponent <= 0:  # below the normal doubles there are fewer bits
        if 1 - exponent >= 64:
            return 0.0, True
        bits >>= np.uint64(1 - exponent)
        bits = (bits + (bits & np.uint64(1))) >> np.uint64(1)
        return np.uint64(bits).view(np.float64), True  # a carry makes it the first normal one, as it should
    halfway = lower <= np.uint64(1) and -4 <= q <= 23 and bits & np.uint64(3) == np.uint64(1)
    if halfway and bits << shift == upper:
        bits -= np.uint64(1)  # to even, which is down
    bits = (bits + (bits & np.uint64(1))) >> np.uint64(1)
    if bits >> np.uint64(53) != np.uint64(0):
        bits >>= np.uint64(1)
        exponent += 1
    if exponent >= 2047:
        return np.inf, True
    bits = (bits & np.uint64(0xFFFFFFFFFFFFF)) | (np.uint64(exponent) << np.uint64(52))
    return np.uint64(bits).view(np.float64), True


@routine
def to_double(m, q, cut):
    """Return the double nearest to ``m * 10^q``, or a little more if digits were ``cut``, and whether it is certain."""
    if m == np.uint64(0):
        return 0.0, True
    if not cut and m <= np.uint64(1 << 53) and -22 <= q <= 22:
        value = np.float64(np.int64(m))
        return (value / SMALL_POWERS[-q] if q < 0 else value * SMALL_POWERS[q]), True
    value, certain = nearest_double(m, q)
    if cut and certain:  # between m and m + 1: certain if both round to the same
        above, certain = nearest_double(m + np.uint64(1), q)
        certain = certain and value == above
    return value, certain


@routine
def digit_of(byte):
    """Return the digit that a byte stands for; 10 or more if it stands for none."""
    return np.uint64(byte) - np.uint64(48)


@routine
def read_digits(text, at, m):
    """Append digits to an integer, modulo 2^64; return it, and the place of the first byte that is no digit.

    Places are unsigned: numba looks whether a signed one counts from the end, at every byte.
    """
    digit = digit_of(text[at])
    while digit < np.uint64(10):
        m = m * np.uint64(10) + digit
        at += np.uint64(1)
        digit = digit_of(text[at])
    return m, at


@routine
def read_short(text, at):
    """Read a number of at most 15 digits and no exponent, and the place after it; else return the place it begins at.

    Nearly all numbers in files are short. `read_decimal` is apart, since its many cases slow each other down.
    """
    one, start = np.uint64(1), at
    negative = text[at] == 45  # -
    if negative:
        at += one
    first = at
    m, at = read_digits(text, at, np.uint64(0))
    digits, decimals = at - first, np.uint64(0)
    if text[at] == 46:  # .
        at += one
        point = at
        m, at = read_digits(text, at, m)
        decimals = at - point
        digits += decimals
    if digits == np.uint64(0) or digits > np.uint64(15):
        return 0.0, start
    value = np.float64(np.int64(m))
    if decimals != np.uint64(0):
        value /= SMALL_POWERS[decimals]  # both are exact, so this rounds once
    return (-value if negative else value), at


@routine
def read_decimal(text, at):
    """Read a number of any length that begins at a place in a text; a byte of no number must come after it.

    Returns
    -------
    value : float
        The number.
    after : uint64
        Place of the first byte that does not belong to it.
    certain : bool
        Whether it is a number, and the nearest double is known.
    """
    one = np.uint64(1)
    negative = text[at] == 45  # -
    if negative or text[at] == 43:  # +
        at += one
    start = at
    m, at = read_digits(text, at, np.uint64(0))
    digits, q = np.int64(at - start), np.int64(0)
    if text[at] == 46:  # .
        point = at + one
        m, at = read_digits(text, point, m)
        q = -np.int64(at - point)
        digits -= q
    if text[at] == 101 or text[at] == 69:  # e, E
        power, after = read_power(text, at + one)
        if after == at:
            return 0.0, at, False
        at, q = after, q + power
    if digits == 0:
        return 0.0, at, False
    cut = digits > DIGITS
    if cut:
        m, dropped, cut = read_leading_digits(text, start)
        q += dropped
    value, certain = to_double(m, q, cut)
    return (-value if negative else value), at, certain


@routine
def read_leading_digits(text, at):
    """Return the first 19 digits that count, how many digits come after them, and whether any of those is not zero."""
    m, kept, dropped, cut = np.uint64(0), 0, 0, False
    while True:
        digit = digit_of(text[at])
        if digit < np.uint64(10):
            if kept < DIGITS:
                m = m * np.uint64(10) + digit
                kept += m != np.uint64(0)
            else:
                dropped += 1
                cut = cut or digit != np.uint64(0)
        elif text[at] != 46:  # .
            return m, dropped, cut
        at += np.uint64(1)


@routine
def read_power(text, at):
    """Return the power of ten after an ``e``, and the place after it; if there is none, the place of the ``e``."""
    one, start = np.uint64(1), at
    negative = text[at] == 45
    if negative or text[at] == 43:
        at += one
    first, power = at, np.int64(0)
    while digit_of(text[at]) < np.uint64(10):
        if power < 100_000:  # which is beyond all doubles
            power = power * 10 + np.int64(digit_of(text[at]))
        at += one
    return (-power if negative else power), (at if at > first else start - one)


DONE, LONG, MISTAKE, UNCERTAIN = 0, 1, 2, 3
"""How reading ends: with the text; at a number that is not short; at a mistake; at a number only Python can read."""

AT, ROWS, ENTRIES, WITHIN, LAST = range(5)
"""What a state holds: place in the text, rows and entries so far, whether within a row, and the last index in it."""


@kernel
def count_lines(text):
    """Return how many line ends and colons a text has: bounds on its rows and entries."""
    lines = entries = 0
    for k in range(text.size):
        lines += text[k] == 10
        entries += text[k] == 58
    return lines, entries


@kernel
def parse_lines(text, targets, ends, indices, values, state):
    """Read lines ``target index:value ... # remark`` into arrays; the last byte of the text must be a line end.

    Parameters
    ----------
    text : array of uint8
        The lines.
    targets, ends : array
        Where the target of each row goes, and the number of entries up to its end.
    indices, values : array
        Where the entries go.
    state : array of five int64
        Where to begin, and where it ended.

    Returns
    -------
    int
        `DONE`, `MISTAKE` or `UNCERTAIN`. In the last case the place is that of the number.
    """
    status = parse_short(text, targets, ends, indices, values, state)
    while status == LONG:
        value, after, certain = read_decimal(text, np.uint64(state[AT]))
        if not certain or not ends_token(text[after]):
            return UNCERTAIN
        if not np.isfinite(value):
            return MISTAKE
        keep_number(value, targets, indices, values, state)
        state[AT] = np.int64(after)
        status = parse_short(text, targets, ends, indices, values, state)
    return status


@routine
def keep_number(value, targets, indices, values, state):
    """Put a number where it belongs: among the targets, or, within a row, among the values of the entries."""
    if state[WITHIN] != 0:
        values[state[ENTRIES]] = value
        state[LAST] = indices[state[ENTRIES]]
        state[ENTRIES] += 1
    else:
        targets[state[ROWS]] = value
        state[WITHIN] = 1


@routine
def parse_short(text, targets, ends, indices, values, state):
    """Read lines until a number is not short. Long ones are read outside this loop, which is faster without them."""
    one, ten, most = np.uint64(1), np.uint64(10), np.uint64(LARGEST_INDEX)
    at, size, rows, entries = np.uint64(state[AT]), np.uint64(text.size), state[ROWS], np.uint64(state[ENTRIES])
    within, least = state[WITHIN] != 0, np.uint64(state[LAST] + 1)
    status = DONE
    while at < size:
        byte = text[at]
        if within and digit_of(byte) < ten:
            token = at
            index, at = read_digits(text, at, np.uint64(0))
            if text[at] != 58 or index < least or index > most or at > token + ten:
                at, status = token, MISTAKE
                break
            at += one
            indices[entries] = np.int32(index)
            value, after = read_short(text, at)
            if after == at or not ends_token(text[after]):
                status = LONG
                break
            at = after
            values[entries] = value
            entries += one
            least = index + one
        elif byte == 32 or is_space(byte):
            at += one
        elif byte == 10:
            at += one
            if within:
                ends[rows] = np.int64(entries)
                rows += 1
                within, least = False, np.uint64(0)
        elif byte == 35:  # a remark goes on to the end of the line
            while text[at] != 10:
                at += one
        elif not within:  # as above, written out: reading is slower where a routine does this for both
            value, after = read_short(text, at)
            if after == at or not ends_token(text[after]):
                status = LONG
                break
            at = after
            targets[rows] = value
            within = True
        elif is_query(text, at):
            while not ends_token(text[at]):
                at += one
        else:
            status = MISTAKE
            break
    state[AT], state[ROWS], state[ENTRIES] = np.int64(at), rows, np.int64(entries)
    state[WITHIN], state[LAST] = within, np.int64(least) - 1
    return status


@routine
def is_space(byte):
    """Whether a byte separates tokens within a line."""
    return byte == 32 or byte == 9 or byte == 13 or byte == 11 or byte == 12


@routine
def ends_token(byte):
    """Whether a byte comes after a token: a space, the end of the line, or a remark."""
    return byte == 32 or byte == 10 or is_space(byte) or byte == 35


@routine
def is_query(text, at):
    """Whether ``qid:`` is at a place. The last byte of a text is a line end, so nothing is read beyond it."""
    one = np.uint64(1)
    if text[at] != 113 or text[at + one] != 105:
        return False
    return text[at + one + one] == 100 and text[at + one + one + one] == 58
