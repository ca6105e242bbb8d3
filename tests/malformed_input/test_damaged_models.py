"""Model files that are damaged, cut off or made by hand: one ValueError that names the file, or the very same model."""

import io
import json
import zipfile

import numpy as np
import pytest
from scipy import sparse

import frankwolfe as fw
from frankwolfe.model.preparation import Preparation
from frankwolfe.store.files import LARGEST
from tests import cases


@pytest.fixture(scope="module")
def model():
    """A model with everything that a file can hold."""
    X, y = cases.table(fw.Logistic(), d=4)
    problem = fw.Problem(X, y, "logistic", fw.L1Ball(2.0), intercept=True)
    with fw.python_mode():
        result = fw.minimize(problem, "fw", tol=1.0, max_passes=9)
    ready = Preparation({1: ("blue", "red", None)}, np.zeros(1), np.ones(1), np.full(1, 2.0))
    names = ["size", "colour"]
    return fw.FittedModel.of(problem, result, classes=["no", "yes"], features=names, target=["y"], preparation=ready)


@pytest.fixture(scope="module")
def whole(model, tmp_path_factory):
    """The bytes of its file."""
    path = tmp_path_factory.mktemp("model") / "model.npz"
    model.save(path)
    return path.read_bytes()


def same(one, other):
    """Whether two models are alike in all that matters."""
    arrays = [(getattr(part, name) for part in (one, other)) for name in ("weights", "intercept", "classes")] + [
        (getattr(part.preparation, name) for part in (one, other)) for name in ("fill", "center", "scale")
    ]
    plain = [
        (part.loss, part.constraint, part.run, part.features, part.target, part.versions, part.preparation.categories)
        for part in (one, other)
    ]
    return plain[0] == plain[1] and all(np.array_equal(*pair) for pair in arrays)


def refused(content, tmp_path, words=""):
    """Hold that a file of these bytes is refused, and return what is said."""
    path = tmp_path / "broken.npz"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="cannot be read as a model") as caught:
        fw.load_model(path)
    assert str(path) in str(caught.value)
    assert words in str(caught.value)
    return str(caught.value)


def test_the_model_itself_comes_back(model, whole, tmp_path):
    path = tmp_path / "model.npz"
    path.write_bytes(whole)
    assert same(fw.load_model(path), model)


def test_flipped_bits_are_refused_or_change_nothing(model, whole, tmp_path):
    path, refusals, kept = tmp_path / "model.npz", 0, 0
    places = range(0, len(whole), 3)
    for at in places:
        path.write_bytes(whole[:at] + bytes([whole[at] ^ (1 << at % 8)]) + whole[at + 1 :])
        try:
            found = fw.load_model(path)
        except ValueError as error:
            refusals += str(path) in str(error)
        else:
            assert same(found, model)  # a date, or another field of the archive that nobody reads
            kept += 1
    assert refusals + kept == len(places)
    assert refusals > 0.7 * len(places)


def test_files_that_were_cut_off_are_refused(whole, tmp_path):
    for length in range(0, len(whole), 29):
        refused(whole[:length], tmp_path)
    for length in range(len(whole) - 30, len(whole)):
        refused(whole[:length], tmp_path)


def test_blocks_of_zeros_are_refused(whole, tmp_path):
    for start in range(0, len(whole), 256):
        zeros = bytes(len(whole[start : start + 256]))
        if whole[start:].strip(b"\0"):  # an archive ends with zeros, which may be a block of their own
            refused(whole[:start] + zeros + whole[start + 256 :], tmp_path)


def arrays_of(whole):
    with np.load(io.BytesIO(whole)) as stored:
        return {name: stored[name] for name in stored.files}


def packed(arrays):
    stream = io.BytesIO()
    np.savez_compressed(stream, **arrays)
    return stream.getvalue()


def changed(whole, **values):
    """Return a file with other values: of arrays, or of what the model says of itself, by path."""
    arrays = arrays_of(whole)
    about = json.loads(str(arrays["about"]))
    for name, value in values.items():
        if name in arrays:
            arrays[name] = np.asarray(value)
            continue
        *path, last = name.split("__")
        inner = about if name == "arrays" else about["values"]
        for step in path:
            inner = inner[step]
        inner[last] = value
    arrays["about"] = np.array(json.dumps(about))
    return packed(arrays)


LOSS = {"part": "Logistic", "fields": {}}
BALL = {"part": "L1Ball", "fields": {"radius": 2.0}}

BY_HAND = {
    "weights that are NaN": ({"weights": [1.0, np.nan, 0.0, 0.0]}, "weights must be finite"),
    "an infinite intercept": ({"intercept": np.inf}, "intercept must be finite"),
    "too few weights": ({"weights": [1.0, 2.0]}, "weights must be numbers of shape (4,)"),
    "too many weights": ({"weights": np.zeros(10**6)}, "array weights is larger than 4 numbers"),
    "words for weights": ({"weights": ["a", "b", "c", "d"]}, "weights must be numbers"),
    "three classes": ({"classes": ["a", "b", "c"]}, "Logistic has 2 classes, got 3"),
    "a loss in the set's place": ({"constraint": LOSS}, "Logistic is not a constraint set"),
    "a set in the loss's place": ({"loss": BALL}, "loss"),
    "no part at all": ({"loss": 3}, "loss"),
    "a part that is none": ({"loss": {"part": "minimize", "fields": {}}}, "minimize is not a loss or set"),
    "a radius below zero": ({"constraint__fields__radius": -1.0}, "radius must be positive"),
    "a radius that is NaN": ({"constraint__fields__radius": float("nan")}, "radius must be finite"),
    "a field too many": ({"constraint__fields__colour": 1.0}, "colour"),
    "one name only": ({"features__names": ["size"]}, "1 names, but there are 2 columns"),
    "names that are none": ({"features__names": [1, 2]}, "its names is not a list of strings"),
    "the same name twice": ({"features__names": ["size", "size"]}, "two columns are called 'size'"),
    "a number of columns that is none": ({"features__number": "many"}, "numbers of columns"),
    "a billion columns": ({"features__number": 10**9, "features__names": None}, "not 999999999 finite"),
    "scales below zero": ({"scale": [-1.0]}, "scales are not all positive"),
    "means that are NaN": ({"fill": [np.nan]}, "fill is not 1 finite numbers"),
    "categories of no column": ({"categories": [[7, ["a", "b", "c"]]]}, "categories for column 7"),
    "the same category twice": ({"categories": [[1, ["a", "a", "b"]]]}, "not different words"),
    "a run without a gap": ({"run": {"fun": 1.0}}, "'gap' is missing in it"),
    "a tolerance without end": ({"run__tolerance": 10**400}, "too large"),
    "a gap that is a word": ({"run__gap": "small"}, "field gap of its run is 'small'"),
    "an end that is none": ({"run__status": "fine"}, "'fine' is not a valid Status"),
    "success without a proof": ({"run__status": "converged", "run__gap": float("nan")}, "claims success with a gap"),
    "a target that is none": ({"target": 3}, "its target is not a list of strings"),
    "an array that is not listed": ({"arrays": ["weights"]}, "list of arrays and the arrays differ"),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_what_does_not_fit_together_is_refused(name, whole, tmp_path):
    values, words = BY_HAND[name]
    refused(changed(whole, **values), tmp_path, words)


@pytest.mark.parametrize("name", ["weights", "classes", "scale", "about"])
def test_an_array_that_is_gone_is_missed(name, whole, tmp_path):
    arrays = arrays_of(whole)
    del arrays[name]
    refused(packed(arrays), tmp_path, name)


def test_deep_nesting_is_refused(whole, tmp_path):
    arrays = arrays_of(whole)
    refused(packed(arrays | {"about": np.array("[" * 100_000)}), tmp_path)
    set_in_set = '{"part": "Scaled", "fields": {"factor": 1.0, "base": ' * 5_000 + "1" + "}}" * 5_000
    text = str(arrays["about"]).replace(json.dumps(BALL), set_in_set)
    assert len(text) > 100_000
    refused(packed(arrays | {"about": np.array(text)}), tmp_path)


def entry(name, content, **options):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content, **options)
    return stream.getvalue()


def header(shape):
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": "<f8", "fortran_order": False, "shape": shape})
    return stream.getvalue()


def test_small_files_of_large_arrays_are_not_unpacked(whole, tmp_path):
    claimed = bytearray(entry("about.npy", header((4,)) + bytes(32)))
    at = claimed.rindex(b"PK\x01\x02") + 24  # where the directory tells the size of the content
    claimed[at : at + 4] = (LARGEST - 1).to_bytes(4, "little")
    refused(bytes(claimed), tmp_path)
    refused(entry("about.npy", header((10**15,)) + bytes(64)), tmp_path)  # the header lies
    many = io.BytesIO()
    with zipfile.ZipFile(many, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in arrays_of(whole):
            archive.writestr(f"{name}.npy", b"")
    directory = bytearray(many.getvalue())
    at = -1
    while (at := directory.find(b"PK\x01\x02", at + 1)) >= 0:
        directory[at + 24 : at + 28] = (2**31).to_bytes(4, "little")
    refused(bytes(directory), tmp_path, "GiB; a model's may take 4")


def test_encrypted_archives_are_refused(whole, tmp_path):
    content = bytearray(whole)
    for magic, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = -1
        while (at := content.find(magic, at + 1)) >= 0:
            content[at + flags] |= 1
    refused(bytes(content), tmp_path, "is encrypted")


def test_sparse_parts_with_indices_out_of_range_are_refused(tmp_path):
    X, y = cases.table(fw.Squared(), d=3)
    polytope = fw.Polytope(sparse.csr_array(np.vstack([np.eye(3), -np.eye(3)])), np.ones(6))
    problem = fw.Problem(X, y, "squared", polytope)
    with fw.python_mode():
        result = fw.minimize(problem, "fw", tol=0, max_passes=1)
    path = tmp_path / "model.npz"
    fw.FittedModel.of(problem, result).save(path)
    whole = path.read_bytes()
    arrays = arrays_of(whole)
    pieces = json.loads(str(arrays["about"]))["values"]["constraint"]["fields"]["A"]["sparse"]
    refused(changed(whole, **{pieces[1]: arrays[pieces[1]] + 10**6}), tmp_path, "indices")
