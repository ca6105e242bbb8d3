"""``frankwolfe tournament``, as a user meets it."""

import csv

import pytest
from click.testing import CliRunner

import frankwolfe as fw
from frankwolfe.cli import main
from frankwolfe.experiments.tournament import organise

SMALL = ["--problems", "survey-simplex", "--methods", "sfw,fw", "--methods", "auto", "--seeds", "1", "--jobs", "1"]


@pytest.fixture(scope="module")
def small_run(tmp_path_factory):
    """One small tournament, interpreted, and what it printed."""
    folder = tmp_path_factory.mktemp("out") / "tournament"
    with fw.python_mode():
        outcome = CliRunner().invoke(main, ["tournament", *SMALL, "--max-passes", "5", "--out", str(folder)])
    return outcome, folder


def test_it_prints_a_ranking_and_writes_its_files(small_run):
    outcome, folder = small_run
    assert outcome.exit_code == 0, outcome.output
    assert sorted(path.name for path in folder.iterdir()) == ["report.html", "runs", "runs.csv"]
    for words in ("auto (reference)", "by seconds", "sfw is the fastest contender", "report.html"):
        assert words in outcome.output
    with (folder / "runs.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["method"] for row in rows] == ["sfw", "fw", "auto"]
    assert float(rows[0]["passes to 0.01"]) > 0.0


def test_the_page_draws_in_a_browser_without_errors(small_run, browser):
    browser.set_window_size(1280, 900)
    browser.get_log("browser")  # what earlier pages left
    browser.get(f"file://{small_run[1] / 'report.html'}")
    for chart in ("profile-0", "profile-1", "profile-2", "problem-survey-simplex"):
        assert len(browser.find_elements("css selector", f"#chart-{chart} .line")) == 3, chart
    assert browser.get_log("browser") == []


def test_ctrl_c_keeps_what_is_done_and_says_how_to_go_on(tmp_path, monkeypatch):
    real = organise.in_turn

    def interrupted(*arguments):
        yield next(real(*arguments))
        raise KeyboardInterrupt

    arguments = ["tournament", *SMALL, "--max-passes", "1", "--out", str(tmp_path)]
    with fw.python_mode():
        monkeypatch.setattr(organise, "in_turn", interrupted)
        outcome = CliRunner().invoke(main, arguments)
        assert outcome.exit_code == 1
        assert "the same command goes on" in outcome.output
        assert not (tmp_path / "report.html").exists()
        kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "runs").iterdir()}
        assert len(kept) == 1
        monkeypatch.setattr(organise, "in_turn", real)
        assert CliRunner().invoke(main, arguments).exit_code == 0
    assert all(path.stat().st_mtime_ns == when for path, when in kept.items())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--problems", "survey-11"], "did you mean 'survey-l1'"),
        (["--methods", "swf"], "did you mean 'sfw'"),
        (["--accuracies", "few"], "separated by commas"),
        (["--accuracies", "3"], "between 0 and 1"),
        (["--seeds", "0"], "--seeds"),
    ],
)
def test_mistakes_are_answered(arguments, words, tmp_path):
    outcome = CliRunner().invoke(main, ["tournament", *arguments, "--out", str(tmp_path / "out")])
    assert outcome.exit_code == 2
    assert words in outcome.output
    assert "Traceback" not in outcome.output
