"""Rules by name: what texts mean, and one clear error for each that means nothing."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from frankwolfe.problem.rules import ColumnNames, Rules, read_condition

NAMES = ["price", "tv_a", "tv_b", "income", "rent", "my column", "age-1", "class", "µ"]
D = len(NAMES)


def read(text):
    return read_condition(text, ColumnNames(NAMES, D))


def row(condition):
    """Return a condition as a dense row with its bounds."""
    dense = np.zeros(D)
    dense[list(condition.coefficients)] = list(condition.coefficients.values())
    return dense, condition.lower, condition.upper


MEANINGS = {
    "income >= rent": ({"income": 1, "rent": -1}, 0, np.inf),
    "tv_a + tv_b == 1": ({"tv_a": 1, "tv_b": 1}, 1, 1),
    "2*tv_a - tv_b/4 <= 3 - price": ({"tv_a": 2, "tv_b": -0.25, "price": 1}, -np.inf, 3),
    "1 >= -(tv_a - 2 * (tv_b + 1)) * 3": ({"tv_a": 3, "tv_b": -6}, 5, np.inf),
    "`my column` <= `age-1`": ({"my column": 1, "age-1": -1}, -np.inf, 0),
    "`class` >= 1e-3": ({"class": -1}, -np.inf, -1e-3),
    "µ <= 1": ({"µ": 1}, -np.inf, 1),
    'sum("tv_*") == price': ({"tv_a": 1, "tv_b": 1, "price": -1}, 0, 0),
    "price + price - price <= 2": ({"price": 1}, -np.inf, 2),
    "+price <= -2": ({"price": 1}, -np.inf, -2),
}


@pytest.mark.parametrize("text", MEANINGS)
def test_a_text_is_the_row_that_it_says(text):
    coefficients, lower, upper = MEANINGS[text]
    (found,) = read(text)
    dense, low, high = row(found)
    wanted = np.array([coefficients.get(name, 0.0) for name in NAMES])
    if text == "`class` >= 1e-3" or text.startswith("1 >="):  # either sign of a row says the same
        pairs = [(wanted, lower, upper), (-wanted, -upper, -lower)]
        assert any((dense == w).all() and (low, high) == (lo, up) for w, lo, up in pairs)
    else:
        np.testing.assert_array_equal(dense, wanted)
        assert (low, high) == (lower, upper)


def test_chains_are_one_condition_for_each_comparison():
    first, second, third = read("0 <= tv_a <= tv_b == `my column`")
    assert [c.text for c in (first, second, third)] == ["0 <= tv_a", "tv_a <= tv_b", "tv_b == `my column`"]
    assert (first.lower, first.upper) in ((0.0, np.inf), (-np.inf, 0.0))
    assert (third.lower, third.upper) == (0.0, 0.0)


expressions = st.recursive(
    st.sampled_from(["price", "tv_a", "income", "2", "0.5", "-3"]),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+-"), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        st.tuples(st.sampled_from(["2", "-0.25"]), inner).map(lambda t: f"{t[0]} * {t[1]}"),
        inner.map(lambda t: f"({t}) / 4"),
    ),
    max_leaves=8,
)


@given(expressions, expressions, st.sampled_from(["<=", ">=", "=="]))
def test_a_condition_holds_where_its_text_holds(left, right, sign):
    text = f"{left} {sign} {right} + price"
    try:
        (found,) = read(text)
    except ValueError as error:
        assert "does not depend" in str(error)  # noqa: PT017 - weights may cancel
        return
    dense, lower, upper = row(found)
    for w in np.random.default_rng(0).integers(-3, 4, size=(5, D)) / 4.0:  # exact in binary
        values = dict(zip(NAMES, w, strict=True))
        truth = eval(text, {}, {name: values[name] for name in ("price", "tv_a", "income")})
        assert bool(lower <= dense @ w <= upper) == bool(truth)


MISTAKES = {
    "icnome >= rent": "no column 'icnome'; did you mean 'income'",
    "price < 0": "strict inequality has no best model; use <=",
    "price > 0": "use >=",
    "price = 0": "written with ==",
    "price => 0": "use <= and >=",
    "price != 0": "use <=, >= or ==",
    "price": "there is no comparison",
    "": "cannot be read",
    "price <=": "cannot be read",
    "price <= 0, rent <= 0": "one condition in each string",
    "price <= 0 and rent <= 0": "one condition in each string",
    "price * rent <= 1": "multiplies two weights",
    "price ** 2 <= 1": "is not linear",
    "1 / price <= 1": "divides by a weight",
    "price / 0 <= 1": "divides by zero",
    "abs(price) <= 1": "is not linear",
    "price <= True": "is not linear",
    "price <= 'a'": "is not linear",
    "price <= 1e999": "too large",
    "price <= nan": "no column 'nan'",
    "price - price <= 1": "does not depend on any weight",
    "1 <= 2": "does not depend on any weight",
    "my column <= 1": "backticks",
    "class <= 1": "backticks",
    'sum("radio_*") <= 1': "no column matches 'radio_*'",
    "sum(price) <= 1": "a pattern in quotation marks",
    "tv_a.b <= 1": "is not linear",
    "price[0] <= 1": "is not linear",
}


@pytest.mark.parametrize("text", MISTAKES)
def test_each_mistake_has_one_clear_error(text):
    with pytest.raises(ValueError, match=re.escape(MISTAKES[text])) as caught:
        read(text)
    assert repr(text) in str(caught.value)


def test_bounds_by_name_pattern_and_number():
    found = Rules.of(NAMES, D, {"price": (None, 0), "tv_*": (0, None), 3: (-1, 1)}, "rent <= 2")
    assert found.upper[0] == 0.0
    assert found.lower[1] == found.lower[2] == 0.0
    assert (found.lower[3], found.upper[3]) == (-1.0, 1.0)
    assert found.upper[4] == 2.0  # a condition on one weight is a bound
    assert found.rows == []
    assert found.bound_text(0, upper=True) == "price <= 0"
    assert found.bound_text(5, upper=False) == "`my column` >= -inf"


def test_bounds_for_all_columns():
    found = Rules.of(None, 3, (0, [1, 2, 3]), "x0 >= x2")
    assert found.lower.tolist() == [0, 0, 0]
    assert found.upper.tolist() == [1, 2, 3]
    assert found.rows[0].coefficients == {0: 1.0, 2: -1.0}


def test_negative_factors_turn_bounds_round():
    found = Rules.of(NAMES, D, None, ["-2 * price >= 4"])
    assert found.upper[0] == -2.0
    assert found.lower[0] == -np.inf


def test_monotone_levels_follow_the_data_or_the_tuple():
    ages = ["age_1", "age_3", "age_2"]
    found = Rules.of(ages, 3, monotone={"age_*": "increasing"})
    assert [c.text for c in found.rows] == ["age_1 <= age_3", "age_3 <= age_2"]
    found = Rules.of(ages, 3, monotone={("age_1", "age_2", "age_3"): "decreasing"})
    assert [c.text for c in found.rows] == ["age_1 >= age_2", "age_2 >= age_3"]
    w = np.array([3.0, 1.0, 2.0])  # age_1 = 3, age_3 = 1, age_2 = 2
    assert all(lower <= a @ w <= upper for a, lower, upper in (dense3(c) for c in found.rows))


def dense3(condition):
    dense = np.zeros(3)
    dense[list(condition.coefficients)] = list(condition.coefficients.values())
    return dense, condition.lower, condition.upper


def test_side_bounds_have_the_rows_and_their_names():
    found = Rules.of(NAMES, D, None, ["income >= rent", "tv_a + tv_b == 1"])
    side = found.side()
    A = side.A.toarray() if hasattr(side.A, "toarray") else side.A
    assert A[0, 3] == 1.0
    assert A[0, 4] == -1.0
    assert (side.lower[1], side.upper[1]) == (1.0, 1.0)
    assert list(side.names) == ["income >= rent", "tv_a + tv_b == 1"]
    assert Rules.of(NAMES, D).side() is None
    assert not Rules.of(NAMES, D)


def test_scaled_rules_say_the_same_of_scaled_weights():
    rng = np.random.default_rng(3)
    scale = rng.uniform(0.1, 10.0, D)
    found = Rules.of(NAMES, D, {"price": (-1, 2)}, ["2 * income - rent <= 3"])
    other = found.scaled(scale)
    for w in rng.normal(size=(20, D)) * 3.0:
        (a, low, high), (b, low2, high2) = row(found.rows[0]), row(other.rows[0])
        assert (low <= a @ w <= high) == (low2 <= b @ (w * scale) <= high2)
        assert (found.lower <= w).all() == (other.lower <= w * scale).all()


def test_a_name_that_two_columns_have():
    with pytest.raises(ValueError, match="2 columns are called 'a'"):
        Rules.of(["a", "a"], 2, None, ["a <= 1"])
    assert Rules.of(["a", "a"], 2, {1: (0, None)}).lower.tolist() == [-np.inf, 0.0]
