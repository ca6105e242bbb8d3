"""Lines of an svmlight file to arrays, compiled. Numbers that are hard to read, and mistakes, are left to Python."""

import numpy as np

from frankwolfe.compile.kernels import kernel
from frankwolfe.compile.verbs import routine
from frankwolfe.io.decimals import digit_of, read_decimal, read_digits, read_short
from frankwolfe.io.svmlight_lines import LARGEST_INDEX

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
