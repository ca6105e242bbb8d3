"""Parse svmlight lines in compiled code: tokens to arrays, decimal numbers to the nearest double.

A line that this parser cannot handle is left to `frankwolfe.io.svmlight.parse_line`: a mistake, a number with more than
19 significant digits, a very large or small power of ten, or a decimal within 2^-100 of a tie between two doubles.

Positions are unsigned integers: for signed ones numba checks at every byte whether they count from the end.
"""

import numpy as np

from frankwolfe.compile.kernels import kernel
from frankwolfe.compile.verbs import routine

LARGEST_INDEX = 2**31 - 1
"""Column numbers are 32-bit integers."""

LARGEST_POWER = 280
"""Largest ``|q|`` such that ``m * 10^q`` for ``m`` up to ``10^19``, and its rounding errors, are normal doubles."""


def _power_of_ten(q: int) -> tuple[float, float]:
    """Return the double nearest to ``10^q``, and the double nearest to its error."""
    top, bottom = (10**q, 1) if q >= 0 else (1, 10**-q)
    nearest = top / bottom  # quotients of integers are correctly rounded
    n, d = nearest.as_integer_ratio()
    return nearest, (top * d - n * bottom) / (bottom * d)


POWERS, POWER_ERRORS = np.array([_power_of_ten(q) for q in range(-LARGEST_POWER, LARGEST_POWER + 1)]).T.copy()
"""``10^q = POWERS + POWER_ERRORS`` to 106 bits, for ``q`` from ``-LARGEST_POWER`` on."""

EXACT_POWERS = np.array([10.0**q for q in range(16)])


@kernel
def parse_lines(text, targets, ends, indices, values, state):
    """Parse lines ``target index:value ... # remark`` up to the first one that is left to Python.

    Parameters
    ----------
    text : array of uint8
        The lines. The last byte is a line end.
    targets, ends : array
        Receive the target of each row, and the number of entries up to its end.
    indices, values : array
        Receive the entries.
    state : array of three int64
        Position, rows and entries so far. Updated; the position is the start of a line.

    Returns
    -------
    bool
        Whether the end of the text was reached.
    """
    one, ten, most = np.uint64(1), np.uint64(10), np.uint64(LARGEST_INDEX)
    start, rows, entries = np.uint64(state[0]), np.uint64(state[1]), np.uint64(state[2])
    size, before = np.uint64(text.size), entries
    at, within, least = start, False, np.uint64(0)
    while at < size:
        byte = text[at]
        if within and digit_of(byte) < ten:
            token = at
            index, at = read_digits(text, at, np.uint64(0))
            if text[at] != 58 or index < least or index > most or at > token + ten:
                break
            at += one
            value, after = read_number(text, at)
            if after == at:
                break
            at = after
            indices[entries] = np.int32(index)
            values[entries] = value
            entries += one
            least = index + one
        elif is_space(byte):
            at += one
        elif byte == 10:
            at += one
            if within:
                ends[rows] = np.int64(entries)
                rows += one
                within, least = False, np.uint64(0)
            start, before = at, entries
        elif byte == 35:  # a remark
            while text[at] != 10:
                at += one
        elif not within:
            value, after = read_number(text, at)
            if after == at:
                break
            at = after
            targets[rows] = value
            within = True
        elif is_query(text, at):
            while not ends_token(text[at]):
                at += one
        else:
            break
    state[0], state[1], state[2] = np.int64(start), np.int64(rows), np.int64(before)
    return start == size


@routine
def read_number(text, at):
    """Parse a number. Return it and the position after it, or the same position if Python must parse it."""
    one, start = np.uint64(1), at
    negative = text[at] == 45  # -
    if negative or text[at] == 43:  # +
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
    if digits == np.uint64(0):
        return 0.0, start
    if ends_token(text[at]) and digits <= np.uint64(15):
        # both are exact, so the quotient rounds once
        value = np.float64(np.int64(m)) / EXACT_POWERS[decimals]
    else:
        value, at = read_long(text, first, at, m, np.int64(digits), -np.int64(decimals))
        if not ends_token(text[at]):
            return 0.0, start
    return (-value if negative else value), at


@routine
def read_long(text, first, at, m, digits, q):
    """Return the double nearest to ``m * 10^(q + e)``, where ``e`` is the exponent at a position, if there is one.

    Return also the position after the exponent. ``digits`` is the number of digits of ``m`` in the text, from the
    position ``first`` on, with leading zeros. If Python must parse the number, return the position of one of its
    digits: the caller recognises it because no number ends there.
    """
    one, least, most = np.uint64(1), np.int64(-LARGEST_POWER), np.int64(LARGEST_POWER)
    if text[at] == 101 or text[at] == 69:  # e, E
        at += one
        negative = text[at] == 45
        if negative or text[at] == 43:
            at += one
        power, after = read_digits(text, at, np.uint64(0))
        if after == at or after > at + np.uint64(4):
            return 0.0, first
        q += -np.int64(power) if negative else np.int64(power)
        at = after
    zero = first
    while text[zero] == 48 or text[zero] == 46:
        digits -= text[zero] == 48
        zero += one
    if digits == 0:
        return 0.0, at
    if digits > 19 or q < least or q > most:
        return 0.0, zero
    # m = a + b and 10^q = power + error to 106 bits, so m * 10^q = a * power + (a * error + b * power) + ...
    # The rounding error of a * power is known exactly (Dekker 1971). The rounding errors of the other terms are below
    # 2^-102 of the product. If the sum rounds to the same double at both ends of a margin of 2^-100, it is correct.
    power, error = POWERS[q + most], POWER_ERRORS[q + most]
    a = np.float64(m)
    b = np.float64(np.int64(m - np.uint64(a)))
    product = a * power
    rest = product_error(a, power, product) + (a * error + b * power)
    margin = product * 2.0**-100
    value = product + (rest - margin)
    return value, (at if value == product + (rest + margin) else zero)


@routine
def product_error(a, b, product):
    """Return ``a * b - product`` exactly, where ``product`` is the double nearest to ``a * b`` (Dekker 1971)."""
    wide = 134217729.0 * a
    a_high = wide - (wide - a)
    a_low = a - a_high
    wide = 134217729.0 * b
    b_high = wide - (wide - b)
    b_low = b - b_high
    return a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)


@routine
def digit_of(byte):
    """Return the digit of an ASCII byte; 10 or more if the byte is not a digit."""
    return np.uint64(byte) - np.uint64(48)


@routine
def read_digits(text, at, m):
    """Append decimal digits to the integer ``m``, modulo 2^64. Return it, and the position after the digits."""
    digit = digit_of(text[at])
    while digit < np.uint64(10):
        m = m * np.uint64(10) + digit
        at += np.uint64(1)
        digit = digit_of(text[at])
    return m, at


@routine
def is_space(byte):
    """Return whether a byte separates tokens within a line."""
    return byte == 32 or byte == 9 or byte == 13 or byte == 11 or byte == 12


@routine
def ends_token(byte):
    """Return whether a byte may follow a token: a space, the end of the line, or a remark."""
    return byte == 32 or byte == 10 or is_space(byte) or byte == 35


@routine
def is_query(text, at):
    """Return whether ``qid:`` is at a position. The text ends with a line end, so nothing is read beyond it."""
    one = np.uint64(1)
    if text[at] != 113 or text[at + one] != 105:
        return False
    return text[at + one + one] == 100 and text[at + one + one + one] == 58
