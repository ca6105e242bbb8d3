"""``frankwolfe reproduce``, as a user meets it."""

import csv

import numpy as np
import pytest
from click.testing import CliRunner

import frankwolfe as fw
from frankwolfe.cli import main
from frankwolfe.datasets import RECIPES, bundled_breast_cancer, housing_like, text_like
from frankwolfe.paper import reproduce


@pytest.fixture(scope="module")
def small_run(tmp_path_factory):
    """A reproduction on small stand-ins, interpreted, and its output; all tests share it."""
    folder = tmp_path_factory.mktemp("out") / "reproduction"
    arguments = ["--source", "stand-in", "--quick", "--seeds", "1", "--passes", "3", "--out", str(folder)]
    small = {
        "breast-cancer": lambda: tuple(part[::3] for part in bundled_breast_cancer()),
        "rcv1": lambda: text_like(n=150, d=400, words=10),
        "california-housing": lambda: housing_like(n=150),
    }
    with pytest.MonkeyPatch.context() as patch, fw.python_mode():
        for key, make in small.items():
            patch.setitem(RECIPES, key, RECIPES[key]._replace(stand_in=make))
        patch.setattr(reproduce, "QUICK", reproduce.QUICK._replace(theory_seeds=2))
        return CliRunner().invoke(main, ["reproduce", *arguments]), folder


def test_reproduce_prints_tables_and_writes_its_files(small_run):
    outcome, folder = small_run
    assert outcome.exit_code == 0, outcome.output
    assert sorted(path.name for path in folder.iterdir()) == sorted(reproduce.FILES)
    for words in ("stand-in", "lu-freund", "F - F*", "ends lowest", "report.html"):
        assert words in outcome.output
    # a stand-in is never called by the original's name
    assert "RCV1" not in outcome.output
    assert "California" not in outcome.output


def test_traces_hold_every_run(small_run):
    _, folder = small_run
    with (folder / "traces.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert {row["method"] for row in rows} == {"sfw", "mokhtari", "lu-freund", "momentum", "fw"}
    assert {row["source"] for row in rows} == {"stand-in"}
    assert all(float(row["gap"]) >= float(row["suboptimality"]) - 1e-6 for row in rows)


def test_report_is_whole_and_says_where_data_comes_from(small_run):
    _, folder = small_run
    page = (folder / "report.html").read_text(encoding="utf-8")
    for words in (
        "Figure 1",
        "Table 1",
        "Table 2",
        "stopping rule",
        "measured against bound",
        "Non-convex",
        "stand-in",
    ):
        assert words in page
    assert (folder / "figure1.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (folder / "figure1.svg").read_text(encoding="utf-8")


def test_report_shows_in_a_browser_without_errors(small_run, browser):
    browser.set_window_size(1280, 900)
    browser.get_log("browser")  # what earlier pages left
    browser.get(f"file://{small_run[1] / 'report.html'}")
    widths = browser.execute_script("return [...document.images].map(image => image.naturalWidth)")
    assert len(widths) == 3 * 3 + 3
    assert min(widths) > 0  # all pictures are whole
    assert browser.get_log("browser") == []


@pytest.mark.parametrize("breaks_with", [KeyboardInterrupt, ValueError("spoilt")])
def test_a_run_that_breaks_off_leaves_what_was_there(breaks_with, monkeypatch, tmp_path):
    (tmp_path / "report.html").write_text("an earlier report")

    def investigate(*arguments):
        raise breaks_with

    monkeypatch.setattr(reproduce, "investigate", investigate)
    outcome = CliRunner().invoke(main, ["reproduce", "--quick", "--out", str(tmp_path)])
    assert outcome.exit_code != 0
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
    assert (tmp_path / "report.html").read_text() == "an earlier report"


def test_a_damaged_file_gives_one_line_and_no_report(monkeypatch, tmp_path):
    monkeypatch.setenv("FRANKWOLFE_DATA", str(tmp_path))
    np.savez(tmp_path / "breast_cancer.npz", X=np.ones((3, 2)), y=np.ones(3))
    outcome = CliRunner().invoke(main, ["reproduce", "--quick", "--out", str(tmp_path / "out")])
    assert outcome.exit_code == 2
    assert "breast_cancer.npz holds X of shape (3, 2)" in outcome.output
    assert "Traceback" not in outcome.output
    assert list((tmp_path / "out").iterdir()) == []


def test_mistakes_are_answered(tmp_path):
    runner = CliRunner()
    assert runner.invoke(main, ["reproduce", "--source", "web"]).exit_code == 2
    assert "stand-in" in runner.invoke(main, ["reproduce", "--source", "web"]).output
    assert runner.invoke(main, ["reproduce", "--seeds", "0"]).exit_code == 2
    assert runner.invoke(main, ["reproduc"]).exit_code == 2
