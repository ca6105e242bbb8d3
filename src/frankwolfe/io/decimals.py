"""Decimal numbers to the nearest double, compiled: the same bits as Python's ``float``.

A number is ``m * 10^q`` with an integer ``m``. Where ``m`` has at most 53 bits and ``10^|q|`` is a double, one product
or quotient of doubles rounds only once, and so rightly (Clinger, How to read floating point numbers accurately, 1990).
Else ``m`` is multiplied by the leading 128 bits of ``5^q`` (Lemire, Number parsing at a gigabyte per second, 2021).
This decides nearly always. Where it does not, the caller asks Python.
"""

import numpy as np

from frankwolfe.compile.verbs import routine

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
