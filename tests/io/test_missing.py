"""No row and no value is lost without a word: missing targets, missing features, empty rows, blank lines."""

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from frankwolfe.cli import main
from frankwolfe.io.read import Features, encoded, kind_of_target, read_data
from frankwolfe.losses import as_loss
from tests.tables import write

AB = Features(["a", "b"], 0, 2)


@pytest.mark.parametrize("word", ["NA", "", "nan", "NaN", "n/a", "?", "null", "  ", "#N/A"])
@pytest.mark.parametrize("others", [("1.5", "2.5", "3.5"), ("yes", "no", "no")])
def test_a_missing_target_is_refused(word, others, tmp_path):
    cells = [others[0], word, others[1], word, others[2]]
    path = write(tmp_path / "a.csv", "a,y\n" + "".join(f"{row},{cell}\n" for row, cell in enumerate(cells)))
    with pytest.raises(ValueError, match=r"line 3: column 'y' .*The target is missing in 2 of 5 rows: .*remove them"):
        read_data(path, ["y"])


def test_numbers_among_which_is_a_word_are_no_classes(tmp_path):
    path = write(tmp_path / "a.csv", "a,y\n1,1.5\n2,oops\n3,3.5\n4,none\n")
    words = r"2 numbers and 2 other values \(the first is 'oops' in line 3\): .*--loss multinomial"
    found = read_data(path, ["y"])
    with pytest.raises(ValueError, match=words):
        kind_of_target(found.targets, found.place)
    outcome = CliRunner().invoke(main, ["fit", str(path), "-t", "y", "-o", str(tmp_path / "m.npz")])
    assert outcome.exit_code == 2
    assert "the first is 'oops' in line 3" in outcome.stderr
    assert not (tmp_path / "m.npz").exists()
    _, classes = encoded(found.targets, as_loss("multinomial"), "multinomial", found.place)  # if the user says so
    assert classes.tolist() == ["1.5", "3.5", "none", "oops"]


@pytest.mark.parametrize("blank", [",,", '"","",""', " , ,", "NA,NA,NA"])
def test_a_row_of_empty_cells_is_a_row(blank, tmp_path):
    path = write(tmp_path / "a.csv", f"a,b,y\n1,2,0\n{blank}\n3,4,1\n")
    with pytest.raises(ValueError, match=r"line 3: column 'y' .*The target is missing in 1 of 3 rows"):
        read_data(path, ["y"])
    with pytest.raises(
        ValueError,
        match=r"line 3: column 'a' .*in 1 of 3 rows; by column: 'a' 1, 'b' 1\. Fill them with --missing mean",
    ):
        read_data(path, ["y"], features=AB)


def test_a_row_of_empty_cells_is_a_row_in_parquet_too(tmp_path):
    table = pl.DataFrame({"a": [1.0, None, 3.0], "b": [1.0, None, 3.0], "y": [1.0, None, 2.0]})
    with pytest.raises(ValueError, match=r"row 2: column 'a' is empty.*in 1 of 3 rows"):
        read_data(write(tmp_path / "a.parquet", table), ["y"], features=AB)


def test_missing_features_are_counted_by_column(tmp_path):
    path = write(tmp_path / "a.csv", "a,b,c,y\n1,2,1,0\n3,,1,1\n?,NA,1,1\n4,5,1,0\n")
    with pytest.raises(ValueError, match=r"line 3: column 'b' is empty.* 2 of 4 rows; by column: 'a' 1, 'b' 2\. "):
        read_data(path, ["y"])
    assert read_data(path, ["y"], ignore=["a", "b"]).X.shape == (4, 1)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_blank_lines_are_no_rows_in_fit_and_predict(end, tmp_path):
    lines = ["", "a,b,y", "1,2,0", "", "3,4,1", "", "", "5,6,1", "", ""]
    path = write(tmp_path / "a.csv", end.join(lines))
    fitted, predicted = read_data(path, ["y"]), read_data(path, ["y"], features=AB)
    np.testing.assert_array_equal(fitted.X, [[1, 2], [3, 4], [5, 6]])
    np.testing.assert_array_equal(predicted.X, fitted.X)
    np.testing.assert_array_equal(predicted.targets, [0, 1, 1])
    assert [fitted.place(row) for row in range(3)] == ["line 3", "line 5", "line 8"]


def test_blank_lines_and_empty_rows_are_told_apart(tmp_path):
    path = write(tmp_path / "a.csv", "a,b,y\n\n1,2,0\n\n,,\n3,4,1\n\n")
    with pytest.raises(ValueError, match=r"line 5: column 'a' is empty.* in 1 of 3 rows"):
        read_data(path, ["y"], features=AB)


def test_blank_lines_and_remarks_in_svmlight_are_no_rows(tmp_path):
    path = write(tmp_path / "a.svm", "# remark\n\n1 1:2 # more\n  \n-1\n# remark\n1 2:3\n\n")
    found = read_data(path)
    np.testing.assert_array_equal(found.X.toarray(), [[2, 0], [0, 0], [0, 3]])
    np.testing.assert_array_equal(found.targets, [1, -1, 1])
    np.testing.assert_array_equal(read_data(path, features=found.features).X.toarray(), found.X.toarray())


def test_targets_that_are_missing_only_cost_a_model_its_score(tmp_path):
    path = write(tmp_path / "a.csv", "a,b,y\n1,2,NA\n3,4,1\n")
    found = read_data(path, ["y"], features=AB)
    assert found.targets is None
    assert found.X.tolist() == [[1, 2], [3, 4]]


@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20),
    st.sampled_from(["{!r}", "{:.17e}", " {!r} ", '"{!r}"', "{:+.3f}", "{:.0f}"]),
)
def test_every_cell_is_what_python_reads(tmp_path_factory, values, form):
    texts = [form.format(value) for value in values]
    lines = "".join(f"{text},{row}\n" for row, text in enumerate(texts))
    path = write(tmp_path_factory.mktemp("cells") / "a.csv", "a,y\n" + lines)
    expected = [float(text.strip().strip('"')) for text in texts]
    assert read_data(path, ["y"]).X[:, 0].tolist() == expected
