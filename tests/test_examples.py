"""The examples run, say what they found, and end in a picture; the gallery's page names them all."""

import re
import runpy
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

FOLDER = Path(__file__).parent.parent / "examples"
SCRIPTS = sorted(path.name for path in FOLDER.glob("*.py") if path.name != "gallery.py")


@pytest.mark.parametrize("script", SCRIPTS)
def test_examples_end_in_a_picture(script, tmp_path, monkeypatch, capsys):
    picture = tmp_path / "picture.png"
    monkeypatch.setattr(sys, "argv", [script, "--small", "--out", str(picture)])
    monkeypatch.syspath_prepend(str(FOLDER))  # as for a script, that imports what lies beside it
    with plt.rc_context():
        runpy.run_path(str(FOLDER / script), run_name="__main__")
        plt.close("all")
    assert f"Picture: {picture}" in capsys.readouterr().out
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_the_gallery_names_every_example_and_each_has_a_title():
    page = (FOLDER / "README.md").read_text(encoding="utf-8")
    for script in SCRIPTS:
        assert f"[{script}]({script})" in page
        title, line, *_ = (FOLDER / script).read_text(encoding="utf-8").removeprefix('"""').splitlines()
        assert line == "=" * len(title), (
            f"{script}: the gallery needs a title, underlined, as the docstring's first line"
        )


def test_the_gallerys_pictures_are_there_and_small():
    page = (FOLDER / "README.md").read_text(encoding="utf-8")
    pictures = re.findall(r"!\[[^]]+\]\(([^)]+)\)", page)
    assert len(pictures) == 4
    assert {f"{Path(name).stem}.py" for name in pictures} <= set(SCRIPTS)
    for name in pictures:
        content = (FOLDER / name).read_bytes()
        assert content.startswith(b"\x89PNG")
        assert len(content) < 100_000
