"""The documentation keeps its word: links point at what they name, quoted code is the tested code, examples run."""

import re
import sys
from pathlib import Path

import matplotlib as mpl
import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])


def code_blocks(page):
    return re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.S)


def test_the_papers_page_points_at_the_right_lines(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    import relink

    page = relink.PAGE.read_text(encoding="utf-8")
    assert len(relink.LINK.findall(page)) > 25
    assert relink.relinked(page) == page, "run python docs/relink.py"
    sys.modules.pop("relink")


def test_quoted_parts_are_the_tested_ones():
    tested = (ROOT / "tests" / "own_parts.py").read_text(encoding="utf-8")
    quoted = [block for block in code_blocks(ROOT / "docs" / "extending.md") if block.startswith("class ")]
    assert len(quoted) == 6
    for block in quoted:
        assert block in tested


def test_the_readmes_first_example_runs():
    mpl.use("Agg")
    names = {}
    exec(code_blocks(ROOT / "README.md")[0], names)
    result = names["result"]
    assert result.success
    assert 0 < result.nonzeros < 30


def test_the_examples_of_structured_sets_run():
    mpl.use("Agg")
    names = {}
    for block in code_blocks(ROOT / "docs" / "structure.md"):
        exec(block, names)
    names["plt"] = __import__("matplotlib.pyplot").pyplot
    assert len(names["plt"].get_fignums()) >= 3
    names["plt"].close("all")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_within_the_project_lead_somewhere(page):
    for target in re.findall(r"\]\((?!http)([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target
