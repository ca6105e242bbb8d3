"""The documentation keeps its word: links point at what they name, quoted code is the tested code, examples run."""

import importlib.util
import re
import shlex
import sys
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import frankwolfe as fw
from frankwolfe.cli import main

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
FOLDERS = ("src", "docs", "benchmarks", "examples", "tests")
FILES = [f"/{path.relative_to(ROOT).as_posix()}" for folder in FOLDERS for path in (ROOT / folder).rglob("*")]
FILES += [f"/{path.name}" for path in ROOT.iterdir()]
PROSE = [page for page in PAGES if page.name != "CHANGELOG.md"]  # which may name what is gone
PROSE += sorted(path for folder in FOLDERS[:-1] for path in (ROOT / folder).rglob("*.py"))


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
    files = ("tests/own_parts.py", "src/frankwolfe/methods/estimates/sag.py")
    tested = "".join((ROOT / file).read_text(encoding="utf-8") for file in files)
    blocks = code_blocks(ROOT / "docs" / "extending.md")
    quoted = [block for block in blocks if block.startswith(("class ", "@defaults_from"))]
    assert len(quoted) == 8
    for block in quoted:
        assert block in tested


def test_every_method_is_in_the_table_of_methods():
    page = (ROOT / "docs" / "methods.md").read_text(encoding="utf-8")
    lines = [line for line in page.partition("## How many")[0].splitlines() if line.startswith("| `")]
    cells = " ".join(line.split("|")[1] for line in lines)
    assert set(fw.methods.METHODS) == set(re.findall(r"`([^`]+)`", cells))


def test_the_readmes_first_example_runs():
    mpl.use("Agg")
    names = {}
    exec(code_blocks(ROOT / "README.md")[0], names)
    result = names["result"]
    assert result.success
    told = re.search(r"result.nonzeros  # (\d+) of (\d+) features", code_blocks(ROOT / "README.md")[0])
    assert (result.nonzeros, result.x.size) == (int(told[1]), int(told[2]))


def test_the_readmes_commands_and_what_python_reads_of_them(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2)).round(3)
    words = ["yes" if row.sum() + 0.5 * rng.normal() > 0.0 else "no" for row in X]
    lines = [f"{a},{b},{word}" for (a, b), word in zip(X, words, strict=True)]
    (tmp_path / "patients.csv").write_text("\n".join(["age,pressure,outcome", *lines]) + "\n")
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    commands = [line for line in page.splitlines() if line.startswith("frankwolfe ") and "patients.csv" in line]
    assert [command.split()[1] for command in commands] == ["info", "fit", "predict"]
    names = {"fw": fw}
    with fw.python_mode():
        for command in commands:
            outcome = CliRunner().invoke(main, shlex.split(command)[1:])
            assert outcome.exit_code == 0, outcome.output
        exec(code_blocks(ROOT / "README.md")[1], names)
    assert names["model"].classes.tolist() == ["no", "yes"]
    assert names["model"].run.success
    assert len((tmp_path / "predictions.csv").read_text().splitlines()) == 31


def test_an_index_gets_no_link_that_leads_nowhere(monkeypatch):
    # hatchling is there when a package is built, and nowhere else
    interface = SimpleNamespace(MetadataHookInterface=object)
    monkeypatch.setitem(sys.modules, "hatchling.metadata.plugin.interface", interface)
    place = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    hook = importlib.util.module_from_spec(place)
    place.loader.exec_module(hook)
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    links = re.findall(r"\]\((?!http)([^)]+)\)", page)
    assert len(links) > 10
    bare = hook.long_description(page)
    assert re.findall(r"\]\((?!http)", bare) == []
    assert "![" not in bare
    assert "More on the command line, and examples that end in pictures" in bare
    whole = hook.long_description(page, "https://files.example/v1/")
    assert re.findall(r"\]\((?!http)", whole) == []
    assert all(f"](https://files.example/v1/{link})" in whole for link in links)
    assert whole.count("![") == page.count("![")


def clicks(folder):
    """Write the file that the page on stores reads."""
    rng = np.random.default_rng(0)
    lines = [f"{y} " + " ".join(f"{j}:{rng.normal() + y:.3f}" for j in (1, 2, 3)) for y in (-1, 1) for _ in range(50)]
    (folder / "clicks.svm").write_text("\n".join(lines) + "\n")
    return {}


def rows_and_labels(folder):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    return {"X": X, "y": np.sign(X[:, 0] + 0.3 * rng.normal(size=30))}


def sales(folder):
    names = ["price", "tv_a", "tv_b", "radio", "search", "season"]
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(80, 6)), columns=names)
    y = X.to_numpy() @ [-1.0, 0.5, 0.5, 0.2, 0.0, 1.0] + 0.1 * np.random.default_rng(1).normal(size=80)
    return {"fw": fw, "X": X, "y": y, "sales": y}


def panel(folder):
    rng = np.random.default_rng(0)
    donors = rng.normal(size=(50, 8)).cumsum(axis=0)
    return {"fw": fw, "donors": donors, "treated": donors[:, :3].mean(axis=1) + 0.1 * rng.normal(size=50)}


GIVEN = {
    "checkpoints.md": rows_and_labels,
    "index.md": sales,
    "policy-effect.md": panel,
    "price-sign.md": sales,
    "stores.md": clicks,
}
"""What the code of a page takes for granted."""

TESTED_ELSEWHERE = {"cli", "cluster", "coming-from", "conditions", "extending", "ranges", "side-constraints", "start"}
RUNNING = [page for page in PAGES if page.parent == ROOT / "docs" and page.stem not in TESTED_ELSEWHERE]


STOCHASTIC = {"checkpoints", "methods", "reproducibility", "stochastic-pairwise", "streams"}


@pytest.mark.parametrize("page", [page for page in RUNNING if code_blocks(page)], ids=lambda page: page.name)
def test_the_code_of_a_page_runs(page, tmp_path, monkeypatch):
    mpl.use("Agg")
    monkeypatch.chdir(tmp_path)
    names = GIVEN.get(page.name, lambda folder: {})(tmp_path)
    with fw.python_mode() if page.stem in STOCHASTIC else nullcontext():  # which takes less time than to compile
        for block in code_blocks(page):
            exec(block, names)
    for name in ("result", "portfolio", "hedged"):
        assert name not in names or names[name].success or names[name].status == "passes"
    __import__("matplotlib.pyplot").pyplot.close("all")


def test_the_page_of_benchmarks_shows_the_records(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import record

    written = record.PAGE.read_text(encoding="utf-8")
    assert written == record.page(), "run python benchmarks/record.py --page"
    assert {path.stem for path in record.RECORDS.glob("*.json")} <= set(record.BENCHMARKS)
    for benchmark in record.BENCHMARKS.values():
        assert (ROOT / "benchmarks" / benchmark.command.split()[0]).exists()
    assert record.shown("case   passes\nw8a  3\n\nall certified") == (
        "| case | passes |\n| --- | --- |\n| w8a | 3 |\n\n```text\nall certified\n```"
    )
    assert record.shown("a | b\n---|---\n1 | 2") == "| a | b |\n| ---|--- |\n| 1 | 2 |"
    sys.modules.pop("record")


def test_the_examples_of_side_constraints_run():
    names = {}
    for block in code_blocks(ROOT / "docs" / "side-constraints.md"):
        exec(block, names)
    assert names["result"].success
    assert names["result"].violation <= 1e-2
    assert names["found"].success
    below = names["target"] <= names["X"] @ names["found"].x + names["found"].intercept
    assert np.mean(below) == pytest.approx(0.9, abs=0.02)


def test_the_examples_of_rules_by_name_run_and_print_what_the_page_shows(capsys):
    names, page = {}, ROOT / "docs" / "conditions.md"
    for block in code_blocks(page):
        exec(block, names)
    shown = re.search(r"```\n(FrankWolfeRegressor.*?)\.\.\.\n```", page.read_text(encoding="utf-8"), flags=re.S)[1]
    said = capsys.readouterr().out
    assert said.startswith(shown)
    assert "cannot hold together" in said
    gained = (names["model"].result_.fun - names["looser"].result_.fun) / 0.01
    assert gained == pytest.approx(names["prices"]["price <= 0"], rel=0.05)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_within_the_project_lead_somewhere(page):
    for target in re.findall(r"\]\((?!http)([^)#]+)", page.read_text(encoding="utf-8")):
        if target != "gallery/index.rst":  # the site makes it from the examples
            assert (page.parent / target).exists(), target


def unknown_names(text):
    """Names ``frankwolfe.x.y`` and ``fw.x`` in a text that stand for nothing."""
    return [name for name in re.findall(r"(?<![\w./])(?:frankwolfe|fw)(?:\.[A-Za-z_]\w*)+", text) if not stands(name)]


def stands(name):
    found, place = fw, "frankwolfe"
    for word in name.split(".")[1:]:
        place = f"{place}.{word}"
        if not hasattr(found, word):
            try:
                importlib.import_module(place)
            except ImportError:
                return False
        found = getattr(found, word)
    return True


def unknown_files(text):
    """Names of Python files and pages in a text that are none of the project's, with or without their folders."""
    named = [name.lstrip("./") for name in re.findall(r"[\w./-]*\w\.(?:py|md)\b", text)]
    return [name for name in named if not any(path.endswith(f"/{name}") for path in FILES)]


def test_what_a_text_names_and_is_not_there_is_found():
    text = "`frankwolfe.rows.csr.Centred`, `frankwolfe.rows.dense.Dense`, `fw.L1Ball`, `fw.L3Ball`, `frankwolfe.rowz`"
    assert unknown_names(text) == ["frankwolfe.rows.csr.Centred", "fw.L3Ball", "frankwolfe.rowz"]
    text = (
        "`moves/steps.py`, `methods/steps.py`, [here](../src/frankwolfe/rows/csr.py#L12), `sets/rows.py`, docs/none.md"
    )
    assert unknown_files(text) == ["moves/steps.py", "sets/rows.py", "docs/none.md"]


@pytest.mark.parametrize("page", PROSE, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_names_and_files_that_are_mentioned_are_there(page):
    text = page.read_text(encoding="utf-8")
    assert unknown_names(text) == []
    assert unknown_files(text) == []


def test_the_example_of_ranges_prints_what_the_page_shows(capsys):
    page = ROOT / "docs" / "ranges.md"
    for block in code_blocks(page):
        exec(block, {})
    shown = page.read_text(encoding="utf-8").split("```text\n")[1].split("```")[0]
    said = capsys.readouterr().out
    assert [line.split()[:2] for line in said.splitlines()] == [line.split()[:2] for line in shown.splitlines()]
