"""Data files: the same numbers from every format, and a line number for whatever is wrong."""

import numpy as np
import polars as pl
import pytest
from scipy import sparse

from frankwolfe.io.read import Features, encoded, kind_of_target, read_data
from frankwolfe.losses import as_loss
from tests.tables import frame, labels, numbers, svmlight, write

X, SIGNAL = numbers()


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.csv.bz2", "a.parquet", "anything", "a.tsv", "a.psv"])
def test_columns_come_as_they_are(name, tmp_path):
    table = frame(X, y=labels(SIGNAL), w=np.arange(60) + 1, id=[f"r{i}" for i in range(60)])
    separator = {"a.tsv": "\t", "a.psv": "|"}.get(name)
    content = table.write_csv(separator=separator) if separator else table
    found = read_data(write(tmp_path / name, content), ["y"], "w", ["id"])
    np.testing.assert_array_equal(found.X, X)
    assert found.features == Features(["x0", "x1", "x2", "x3"], 0, 4)
    assert found.targets.tolist() == labels(SIGNAL).tolist()
    assert found.weights.tolist() == list(range(1, 61))


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("name", ["a.svm", "a9a", "a.libsvm.bz2", "a.gz"])
def test_svmlight_comes_as_it_is(name, first, tmp_path):
    sparse_rows = np.where(np.abs(X) > 0.8, X, 0.0)
    text = "# made by hand\n" + svmlight(sparse_rows, SIGNAL, first)
    found = read_data(write(tmp_path / name, text))
    assert sparse.issparse(found.X)
    np.testing.assert_array_equal(found.X.toarray(), sparse_rows)
    np.testing.assert_allclose(found.targets, SIGNAL, rtol=1e-5)
    assert found.features == Features(None, first, 4)


def test_svmlight_columns_keep_their_numbers_where_the_first_is_missing(tmp_path):
    """A file counted from 0 in which column 0 happens to be empty looks like one counted from 1."""
    counted_from_zero = Features(None, 0, 4)
    path = write(tmp_path / "later.svm", "1 1:5 3:7\n-1 2:1\n")
    found = read_data(path, features=counted_from_zero)
    assert found.X.toarray().tolist() == [[0.0, 5.0, 0.0, 7.0], [0.0, 0.0, 1.0, 0.0]]
    beyond = write(tmp_path / "beyond.svm", "1 1:5 9:7\n")  # never seen when the model was fitted: no weight
    assert read_data(beyond, features=counted_from_zero).X.toarray().tolist() == [[0.0, 5.0, 0.0, 0.0]]
    with pytest.raises(ValueError, match="has a column 0, but columns were counted from 1"):
        read_data(write(tmp_path / "zero.svm", "1 0:5\n"), features=Features(None, 1, 4))


def test_columns_are_found_by_name_in_any_order(tmp_path):
    path = write(tmp_path / "a.csv", "z,b,y,a\n9,2,no,1\n8,4,yes,3\n")
    found = read_data(path, ["y"], features=Features(["a", "b"], 0, 2))
    assert found.X.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert found.targets.tolist() == ["no", "yes"]


@pytest.mark.parametrize("target", ["y", "gone"])
def test_a_model_needs_no_targets(target, tmp_path):
    path = write(tmp_path / "a.csv", "a,y\n1,\n3,2\n")
    assert read_data(path, [target], features=Features(["a"], 0, 1)).targets is None


def test_a_column_without_a_name_may_be_left_out(tmp_path):
    path = write(tmp_path / "a.csv", ",b,y\n0,2,0\n1,1,1\n")
    assert read_data(path, ["y"], ignore=[""]).X.tolist() == [[2.0], [1.0]]


def test_blank_lines_spaces_and_quotes_are_no_matter(tmp_path):
    path = write(tmp_path / "a.csv", '\ufeffa,b,y\n 1 ,2,"x\ny"\n\n3, 4,z\n\n')
    found = read_data(path, ["y"])
    assert found.X.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert found.targets.tolist() == ["x\ny", "z"]


def test_near_names_are_suggested(tmp_path):
    path = write(tmp_path / "a.csv", "age,income,y\n1,2,3\n")
    with pytest.raises(ValueError, match="no column of weights 'incone'; did you mean 'income'"):
        read_data(path, ["y"], "incone")
    with pytest.raises(ValueError, match="no column 'agee'; did you mean 'age'"):
        read_data(path, ["y"], features=Features(["agee"], 0, 1))


def test_rows_of_a_parquet_file_are_numbered(tmp_path):
    path = write(tmp_path / "a.parquet", pl.DataFrame({"a": [1.0, None], "y": [1, 2]}))
    with pytest.raises(ValueError, match="row 2: column 'a' is empty"):
        read_data(path, ["y"])


def test_targets_that_are_neither_numbers_nor_words_are_refused(tmp_path):
    path = write(tmp_path / "a.parquet", pl.DataFrame({"a": [1.0, 2.0], "y": [1.0, float("nan")]}))
    with pytest.raises(ValueError, match=r"row 2: column 'y' holds nan, which is not a finite number. The target"):
        read_data(path, ["y"])
    path = write(tmp_path / "b.parquet", pl.DataFrame({"a": [1.0, 2.0], "y": [[1], [2]]}))
    with pytest.raises(ValueError, match="column 'y' holds no numbers"):
        read_data(path, ["y"])


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"a\.csv does not exist"):
        read_data(tmp_path / "a.csv")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        read_data(tmp_path)


@pytest.mark.parametrize(
    ("targets", "kind"),
    [
        ([0.0, 1.0], "two classes"),
        (["a", "b"], "two classes"),
        ([True, False], "two classes"),
        (["a", "b", "c"], "classes"),
        ([1.0, 2.0, 3.0], "numbers"),
        ([[1.0, 2.0]], "rows"),
    ],
)
def test_kinds_of_targets(targets, kind):
    assert kind_of_target(np.array(targets)) == kind


@pytest.mark.parametrize(
    ("targets", "classes"),
    [
        ([3.0, 7.0, 3.0], [3, 7]),
        (["b", "a", "b"], ["a", "b"]),
        ([True, False, True], [False, True]),
        ([0.5, 1.0, 0.5], [0.5, 1.0]),
    ],
)
def test_two_classes_of_any_kind(targets, classes):
    y, found = encoded(np.array(targets), as_loss("logistic"), "logistic", str)
    assert found.tolist() == classes
    assert [classes[int(label > 0)] for label in y] == targets


def test_targets_that_do_not_fit_are_told():
    def fit(targets, loss):
        return encoded(np.array(targets), as_loss(loss), loss, lambda row: f"line {row + 2}")

    with pytest.raises(ValueError, match=r"3 classes \(a, b, c\), and the logistic loss takes two: use the multi"):
        fit(["a", "b", "c"], "logistic")
    with pytest.raises(ValueError, match="such as squared"):
        fit([1.0, 2.0, 3.0], "squared-hinge")
    with pytest.raises(ValueError, match="one class only, a"):
        fit(["a", "a"], "logistic")
    with pytest.raises(ValueError, match="huber loss takes numbers, but the target in line 3 is 'x'"):
        fit(["1", "x"], "huber")
    with pytest.raises(ValueError, match="takes one target column, not 2"):
        fit([[1.0, 2.0]], "squared")


def test_a_guess_from_the_first_rows_is_no_promise(tmp_path):
    """Types are guessed from the first thousand rows: what comes later counts as much."""
    head = "".join(f"{row},{row},true,,{row % 2}\n" for row in range(1500))
    path = write(tmp_path / "a.csv", "a,b,c,d,y\n" + head + "0.5,1e3,false,7.5,1\n")
    found = read_data(path, ["y"], ignore=["d"])
    assert found.X[-1].tolist() == [0.5, 1000.0, 0.0]
    assert found.X[1000].tolist() == [1000.0, 1000.0, 1.0]
    late = write(tmp_path / "late.csv", "a,y\n" + "1,2\n" * 1500 + "oops,3\n")
    with pytest.raises(ValueError, match="line 1502: column 'a' holds 'oops'"):
        read_data(late, ["y"])
    with pytest.raises(ValueError, match="line 2: column 'd' is empty"):
        read_data(path, ["y"])


INTEGERS = [2**53, -(2**53), 2**60]


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.parquet"])
def test_integers_are_kept_or_refused(name, tmp_path):
    exact = write(tmp_path / name, pl.DataFrame({"id": INTEGERS, "size": [1e20, 0.1, 3.0], "y": [0, 1, 2]}))
    assert read_data(exact, ["y"]).X[:, 0].tolist() == INTEGERS
    rounded = write(tmp_path / name, pl.DataFrame({"id": [1, 2**60, 2**60 + 1], "y": [0, 1, 2]}))
    with pytest.raises(ValueError, match=rf"a\.\w+.*: column 'id' holds {2**60 + 1}, an integer beyond 2\^53"):
        read_data(rounded, ["y"])
    assert read_data(rounded, ["y"], ignore=["id"], features=Features(["y"], 0, 1)).X.shape == (3, 1)


@pytest.mark.parametrize("text", ["1,2 1:1\n", "1 1:1\n0,2 1:1\n", "1,2 1:1\n3 1:1\n"])
def test_several_labels_of_a_row_are_refused(text, tmp_path):
    path = write(tmp_path / "a.svm", text)
    with pytest.raises(ValueError, match=r"a\.svm, line [12]: the target '[01],2' is not one number: several labels"):
        read_data(path)
