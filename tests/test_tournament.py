"""The tournament in benchmarks/ still runs; small settings, interpreted."""

import csv

import numpy as np
import pytest

pytest.importorskip("benchmarks.tournament", reason="benchmarks are not part of the source distribution")


@pytest.mark.usefixtures("interpreted")
def test_a_small_tournament(tmp_path, monkeypatch, capsys):
    from benchmarks.tournament import problems, runs
    from benchmarks.tournament.__main__ import main

    def small(kind, level):
        return problems.Case(f"small {level}", "kappa", problems.kappa_problem(kind, (level + 1) / 7, n=40, d=4))

    for level in range(problems.LEVELS):
        monkeypatch.setitem(problems.PROBLEMS, f"kappa-power-{level + 1}", lambda source, k=level: small("power", k))
    methods = ["fw", "sfw", "away", "auto"]
    names = ["kappa-power-*", "survey-simplex", "breast-cancer-sigmoid", "w8a"]
    monkeypatch.setenv("FRANKWOLFE_DATA", str(tmp_path))  # w8a is missing there
    settings = ["--seeds", "2", "--max-passes", "5", "--accuracies", "0.3", "--source", "stand-in", "--jobs", "1"]
    runs._case.cache_clear()
    found = main(["--problems", *names, "--methods", *methods, *settings, "--out", str(tmp_path)])
    runs._case.cache_clear()
    assert {run.problem for run in found.runs if run.error} == {"w8a"}
    assert set(methods) == {standing.method for standing in found.ranking(0.3, "passes")}
    assert all(standing.low <= standing.ratio <= standing.high for standing in found.ranking(0.3, "passes"))
    assert np.all(np.diff(found.profile(0.3, "passes", np.array([1.0, 2.0, 100.0])), axis=1) >= 0.0)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    for title in (
        "w8a.npz",
        "Ranking",
        "Performance profiles",
        "Problem by problem",
        "Does kappa matter?",
        "Non-convex losses",
    ):
        assert title in page
    with (tmp_path / "runs.csv").open(newline="") as stream:
        assert len(list(csv.DictReader(stream))) == 10 * 5
    assert "auto (reference)" in capsys.readouterr().out
