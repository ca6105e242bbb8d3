"""The examples run, say what they found, and end in a picture; the gallery's page names them all."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent / "examples"
SCRIPTS = sorted(path.name for path in FOLDER.glob("*.py") if path.name != "gallery.py")


@pytest.mark.parametrize("script", SCRIPTS)
def test_examples_end_in_a_picture(script, tmp_path):
    picture = tmp_path / "picture.png"
    command = [sys.executable, "-W", "error", str(FOLDER / script), "--small", "--out", str(picture)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ, timeout=120)
    assert done.returncode == 0, done.stderr
    assert f"Picture: {picture}" in done.stdout
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_the_gallery_names_every_example():
    page = (FOLDER / "README.md").read_text(encoding="utf-8")
    for script in SCRIPTS:
        assert f"[{script}]({script})" in page


def test_the_gallerys_pictures_are_there_and_small():
    page = (FOLDER / "README.md").read_text(encoding="utf-8")
    pictures = re.findall(r"!\[[^]]+\]\(([^)]+)\)", page)
    assert len(pictures) == 4
    assert {f"{Path(name).stem}.py" for name in pictures} <= set(SCRIPTS)
    for name in pictures:
        content = (FOLDER / name).read_bytes()
        assert content.startswith(b"\x89PNG")
        assert len(content) < 100_000
