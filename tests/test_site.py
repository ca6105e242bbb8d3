"""The site: every public name is in the reference with an example, anchors exist, and the first pages' code runs."""

import re
import sys
from inspect import ismodule
from pathlib import Path

import numpy as np
import pytest

import frankwolfe as fw
from tests.site import faults

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.glob("*.md"), *(DOCS / "reference").glob("*.md")])


def defined(module):
    """Return the public names that a module without ``__all__`` defines."""
    parts = vars(module).items()
    return [name for name, part in parts if name[0] != "_" and getattr(part, "__module__", "") == module.__name__]


def public_names():
    """Yield every public name once, with its object: ``fw.L1Ball`` is ``fw.sets.L1Ball``."""
    parts = {*fw.losses.__all__, *fw.sets.__all__}
    tops = [name for name in fw.__all__ if name not in parts and not ismodule(getattr(fw, name))]
    others = {"theory": defined(fw.theory), "exceptions": defined(fw.exceptions)}
    homes = {"losses": fw.losses.__all__, "sets": fw.sets.__all__, "methods": fw.methods.__all__}
    for home, names in {"": tops, **homes, **others}.items():
        place = getattr(fw, home) if home else fw
        yield from ((f"frankwolfe.{home}.{name}".replace("..", "."), getattr(place, name)) for name in names)


def test_every_public_name_is_in_the_reference_with_an_example():
    listed = []
    for page in (DOCS / "reference").glob("*.md"):
        for block in re.findall(r"```{eval-rst}\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.S):
            module = re.search(r"currentmodule:: (\S+)", block)[1]
            listed += [
                f"{module}.{name}"
                for name in re.findall(r"^   (\w+)$|py:data:: (\w+)", block, re.M)
                for name in name
                if name
            ]
    names = dict(public_names())
    assert sorted(listed) == sorted(names)
    assert len(names) > 100
    assert [name for name, value in names.items() if not isinstance(value, dict) and ">>>" not in value.__doc__] == []


def test_broken_links_and_foreign_addresses_of_a_site_are_found(tmp_path):
    (tmp_path / "other.html").write_text('<h1 id="here">Other</h1>')
    (tmp_path / "index.html").write_text(
        '<a href="other.html#here">fine</a> <a href="https://example.org">fine</a> <a href="#there">no anchor</a>'
        '<a href="other.html#gone">no anchor</a> <a href="gone.html">no page</a> <img src="gone.png">'
        '<script src="https://example.org/code.js"></script>'
    )
    found = faults(tmp_path)
    assert [line.split()[2:4] for line in found] == [
        ["to", "#there,"], ["to", "other.html#gone,"], ["to", "gone.html,"], ["to", "gone.png,"],
        ["https://example.org/code.js", "from"],
    ]  # fmt: skip


def test_the_gallery_groups_its_examples_by_field(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS))
    import conf

    sys.modules.pop("conf")
    scripts = [path for path in (ROOT / "examples").glob("*.py") if path.name != "gallery.py"]
    titles = [path.read_text(encoding="utf-8").removeprefix('"""').partition("\n")[0] for path in scripts]
    assert len(titles) >= 18
    shown = [
        f'\n.. raw:: html\n\n    <div class="sphx-glr-thumbcontainer" tooltip="">\n\n'
        f'      <div class="sphx-glr-thumbnail-title">{title}</div>\n    </div>\n'
        for title in titles
    ]
    page = conf.grouped(f"Gallery\n=======\n\n{conf.OPEN}{''.join(shown)}\n{conf.CLOSE}\n.. toctree::\n")
    assert page.startswith("Gallery\n=======\n\nMarketing\n---------\n")
    assert page.endswith(".. toctree::\n")
    assert page.count("thumbnail-title") == len(titles)
    assert page.count(conf.OPEN) == page.count(conf.CLOSE) == len(conf.FIELDS)
    with pytest.raises(LookupError, match="add it to FIELDS"):
        conf.grouped(conf.OPEN + shown[0].replace(titles[0], "Cooking: soup") + conf.CLOSE)


def anchors(page):
    """Anchors of a page's headings, as forges and MyST make them."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.S)
    return {
        re.sub(r"[^\w\- ]", "", line).strip().lower().replace(" ", "-") for line in re.findall(r"^#+ (.*)$", text, re.M)
    }


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_to_headings_find_them(page):
    for path, anchor in re.findall(r"\]\((?!http)([^)#]*)#([^)]+)\)", page.read_text(encoding="utf-8")):
        if not path.endswith(".py"):
            assert anchor in anchors(page.parent / path if path else page), f"{path}#{anchor}"


def blocks(name):
    return re.findall(r"```python\n(.*?)```", (DOCS / name).read_text(encoding="utf-8"), flags=re.S)


def rounded(line):
    """Return the first two words of a line, numbers to two digits: the others depend on the path of a run."""
    return [f"{float(word):.2g}" if re.fullmatch(r"-?\d+\.\d+", word) else word for word in line.split()[:2]]


def test_getting_started_runs_and_prints_what_it_shows(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in blocks("start.md"):
        exec(block, names)
    said = [rounded(line) for line in capsys.readouterr().out.splitlines()]
    shown = re.findall(r"```text\n(.*?)```", (DOCS / "start.md").read_text(encoding="utf-8"), flags=re.S)
    assert len(shown) == 3
    for line in "".join(shown).replace("...\n", "").splitlines():
        assert rounded(line) in said
    assert names["model"].result_.success
    assert names["again"].predict(names["X"]).shape == (442,)


def test_the_code_for_people_from_other_libraries_runs():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    y = X @ [0.5, 0.2, 0.2, 0.1] + 0.1 * rng.normal(size=60)
    years = rng.uniform(0.5, 2.0, 60)
    names = {"X": X, "y": y, "labels": y > 0.0, "counts": rng.poisson(years), "years": years}
    for block in blocks("coming-from.md"):
        exec(block, names)
        assert "result" not in names or names["result"].success
