"""The names at the top level: few are listed, every loss and every set is found, and errors say where others are."""

import subprocess
import sys

import pytest

import frankwolfe as fw


def test_few_names_are_listed_and_all_of_them_exist():
    assert len(fw.__all__) == len(set(fw.__all__)) <= 48
    assert all(hasattr(fw, name) for name in fw.__all__)
    assert sorted(fw.__all__) == dir(fw)


@pytest.mark.parametrize("module", [fw.losses, fw.sets], ids=["losses", "sets"])
def test_every_loss_and_every_set_is_found_at_the_top(module):
    assert all(getattr(fw, name) is getattr(module, name) for name in module.__all__)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("SagTable", "it is frankwolfe.methods.SagTable"),
        ("ScaleWarning", "it is frankwolfe.exceptions.ScaleWarning"),
        ("L1Bal", "did you mean 'L1Ball'"),
        ("_L1Ball", "has no attribute '_L1Ball'"),
    ],
)
def test_an_unknown_name_is_an_error_that_says_where_to_look(name, hint):
    with pytest.raises(AttributeError, match=hint):
        getattr(fw, name)


def test_importing_the_package_imports_neither_numpy_nor_numba():
    code = "import sys, frankwolfe as fw; fw.__all__; assert not {'numpy', 'numba', 'scipy'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
