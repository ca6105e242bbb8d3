"""The tournament: costs, profiles and rankings by hand, runs that resume, failures, the kappa family, the page."""

import os
import subprocess
import sys
from dataclasses import replace
from math import exp, log

import numpy as np
import pytest

import frankwolfe as fw
from frankwolfe.experiments.tournament import pool
from frankwolfe.experiments.tournament.catalogue import CATALOGUE, collected, named
from frankwolfe.experiments.tournament.kappa_effect import rank_correlation
from frankwolfe.experiments.tournament.kappa_family import TAILS, kappa_member, levels
from frankwolfe.experiments.tournament.organise import is_deterministic
from frankwolfe.experiments.tournament.outcome import Entry
from frankwolfe.experiments.tournament.profiles import Costs, first_below, performance_profile
from frankwolfe.experiments.tournament.ranking import against, log_ratios, rank
from frankwolfe.experiments.tournament.run_files import described
from frankwolfe.experiments.tournament.runs import Budget, Facts, Run, Task
from frankwolfe.experiments.tournament.verdicts import when_right
from tests import cases

# --- costs, profiles, rankings: by hand -----------------------------------------------------------------------

INF = np.inf


def by_hand():
    """Two contenders and a reference on a problem of its own and two of a family, one seed, a budget of 10."""
    values = np.array([[1.0, 8.0, INF], [4.0, 2.0, 5.0], [2.0, 1.0, 1.0]])[:, :, None]
    contends = np.array([True, True, False])
    return Costs(["a", "b", "ref"], contends, ["p", "f1", "f2"], ["p", "f", "f"], values, np.full(3, 10.0))


def test_a_cost_is_read_between_the_points_that_enclose_it():
    passes, gap = np.array([0.0, 1.0, 4.0, 16.0]), np.array([1.0, 0.1, 0.1, 0.001])
    assert first_below(passes, gap, 0.01) == pytest.approx(8.0)  # half way on both logarithmic axes
    assert first_below(passes, gap, 0.1) == 1.0
    assert first_below(passes, gap, 2.0) == 0.0  # the start is good enough
    assert first_below(passes, gap, 1e-4) == INF
    assert first_below(passes, np.array([1.0, INF, 0.1, 0.0]), 0.01) == 16.0  # no logarithm to go by


def test_profile_by_hand():
    # ratios to the best contender: a 1, 4, never; b 4, 1, 1; ref 2, 1/2, 1/5. Weights: 1/2 for p, 1/4 for each f
    profile = performance_profile(by_hand(), [1.0, 3.9, 4.0, 100.0])
    np.testing.assert_allclose(profile.shares["a"], [0.5, 0.5, 0.75, 0.75])
    np.testing.assert_allclose(profile.shares["b"], [0.5, 0.5, 1.0, 1.0])
    np.testing.assert_allclose(profile.shares["ref"], [0.5, 1.0, 1.0, 1.0])


def test_ranking_by_hand():
    logs = log_ratios(by_hand())
    # a on f2 did not get there: twice the budget of 10, over the best cost 5
    np.testing.assert_allclose(logs[0], [0.0, (log(4.0) + log(20.0 / 5.0)) / 2.0])
    np.testing.assert_allclose(logs[1], [log(4.0), 0.0])
    standings = {each.method: each for each in rank(by_hand())}
    assert [each.method for each in rank(by_hand())] == ["ref", "a", "b"]
    assert (standings["a"].rank, standings["b"].rank, standings["ref"].rank) == (1, 1, None)
    assert standings["a"].ratio == pytest.approx(2.0)
    # resampling two families gives one of them twice, or both: the interval reaches from the one to the other
    assert (standings["a"].low, standings["a"].high) == pytest.approx((1.0, 4.0))
    assert (standings["a"].rank_low, standings["a"].rank_high) == (1, 2)
    assert (standings["a"].reached, standings["a"].first) == (0.75, 0.5)
    assert standings["ref"].ratio == pytest.approx(exp((log(2.0) + (log(0.5) + log(0.2)) / 2.0) / 2.0))
    (versus_b,) = [each for each in against(by_hand(), "a") if each.other == "b"]
    assert (versus_b.ratio, versus_b.verdict) == (pytest.approx(1.0), "undecided")


def test_cases_that_nobody_reaches_and_runs_that_were_not_made_say_nothing():
    costs = by_hand()
    costs.values[:2, 1:] = INF
    standings = {each.method: each for each in rank(costs)}
    assert (standings["a"].ratio, standings["b"].ratio) == pytest.approx((1.0, 4.0))
    costs.values[1] = np.nan
    standings = {each.method: each for each in rank(costs)}
    assert standings["b"].rank is None
    assert np.isnan(standings["b"].ratio)
    assert np.isnan(performance_profile(costs, [1.0]).shares["b"][0])


def test_rank_correlation_is_spearmans():
    from scipy.stats import spearmanr

    x, y = np.random.default_rng(0).normal(size=(2, 20))
    y = np.round(x + y, 1)  # some ties
    found = rank_correlation(x, y)
    assert found.value == pytest.approx(spearmanr(x, y).statistic)
    assert found.low < found.value < found.high
    assert found.clear
    assert np.isnan(rank_correlation(x[:5], y[:5]).value)  # too few
    assert not rank_correlation(x, np.ones(20)).clear


# --- the kappa family -----------------------------------------------------------------------------------------


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("kind", TAILS)
def test_the_family_differs_in_kappa_alone(kind):
    n = 400
    members = [kappa_member(kind, float(share), n, d=10).problem for share in levels(n, 5)]
    assert [member.kappa() / n for member in members] == pytest.approx(np.geomspace(1.5 / n, 1.0, 5).tolist(), rel=1e-6)
    for member in members:
        X = np.asarray(member.design)
        np.testing.assert_allclose(np.linalg.norm(X, axis=0), np.sqrt(n), rtol=1e-12)
        assert np.linalg.cond(X.T @ X) < 3.0
        best = fw.minimize(member, tol=1e-9)
        multiplier = np.abs(member.gradient(best.x)).max() / np.abs(member.gradient(np.zeros(10))).max()
        assert multiplier == pytest.approx(0.2, rel=1e-4)  # so much does the ball bind, in all of them
    heights = [member.zero_value for member in members]
    assert max(heights) < 1.2 * min(heights)


def test_a_kappa_that_cannot_be_is_refused():
    with pytest.raises(ValueError, match="above 1 / n"):
        kappa_member("power", 0.001, n=100)


# --- runs -----------------------------------------------------------------------------------------------------


def small():
    """Two problems that an interpreted run takes milliseconds on."""
    return {
        "logistic": cases.problem(fw.Logistic(), fw.L1Ball(2.0)),
        "sigmoid": cases.problem(fw.Sigmoid(), fw.L1Ball(2.0)),
    }


def play(**options):
    return fw.tournament(
        **{"problems": small(), "methods": ["sfw", "fw"], "seeds": 2, "max_passes": 5, "jobs": 1, **options}
    )


def without_time(found):
    return {name: column for name, column in found.table().items() if "seconds" not in name}


@pytest.mark.usefixtures("interpreted")
def test_every_method_meets_every_problem_and_chance_gets_its_seeds():
    found = play()
    assert [(run.problem, run.method, run.seed) for run in found.runs] == [
        (problem, *run) for problem in small() for run in (("sfw", 0), ("sfw", 1), ("fw", 0))
    ]
    assert found.missing == 0
    assert found.failures == []
    facts = found.entries["logistic"].facts
    best = fw.minimize(small()["logistic"], tol=1e-11, max_passes=1000)
    assert facts.lower_bound - 1e-12 <= best.fun <= facts.best + 1e-12
    assert facts.best - facts.lower_bound <= 1e-9 * facts.zero_value
    assert np.isnan(found.entries["sigmoid"].facts.best)
    run = found.of("logistic", "sfw")[0]
    plain = fw.minimize(small()["logistic"], "sfw", tol=0, max_passes=5, random_state=0)
    for column in ("passes", "fun", "gap", "fw_gap"):  # nothing that is measured changes the run
        np.testing.assert_array_equal(run.columns[column], plain.trace[column])
    np.testing.assert_array_equal(run.columns["oracle_calls"], plain.trace.nit)
    assert (np.diff(run.columns["seconds"]) >= 0.0).all()
    costs = found.costs(1e-2)
    assert (costs.of("fw")[0] == costs.of("fw")[0, 0]).all()  # one run stands for both seeds
    assert costs.problems == ["logistic"]


def test_methods_are_taken_from_the_table():
    deterministic = {name for name, method in fw.METHODS.items() if is_deterministic(method)}
    assert deterministic >= {"fw", "away", "pairwise", "blended-pairwise", "auto"}
    assert not deterministic & {"sfw", "momentum", "stochastic-pairwise"}


@pytest.mark.usefixtures("interpreted")
def test_an_interrupted_tournament_goes_on_where_it_was(tmp_path, monkeypatch):
    whole = play()

    def interrupt(progress):
        if progress.done == 3:
            raise KeyboardInterrupt

    done = []
    real = pool.performed
    monkeypatch.setattr(pool, "performed", lambda task, *rest: done.append(task) or real(task, *rest))
    broken = play(out=tmp_path, callback=interrupt)
    assert (len(done), broken.missing) == (3, 5)
    assert "5 missing" in repr(broken)
    found = play(out=tmp_path)
    assert len(done) == 8
    assert len(set(done)) == 8
    for name, column in without_time(whole).items():
        np.testing.assert_array_equal(without_time(found)[name], column, err_msg=name)
    again = play(out=tmp_path)
    assert len(done) == 8
    assert again.table()["seconds"] == found.table()["seconds"]  # as they were stored
    play(out=tmp_path, max_passes=6)  # other settings: all runs again, but not what does not depend on them
    assert len(done) == 8 + 6
    damaged = next((tmp_path / "runs").glob("logistic--fw--0--*.json"))
    damaged.write_text(damaged.read_text()[:100])
    play(out=tmp_path)
    play(out=tmp_path, max_passes=6)
    assert len(done) == 8 + 6 + 1


@pytest.mark.usefixtures("interpreted")
def test_other_data_is_another_problem(tmp_path):
    first = play(out=tmp_path, methods=["fw"])
    X, y = cases.table(fw.Logistic())
    other = fw.Problem(2.0 * X, y, "logistic", fw.L1Ball(2.0))
    second = fw.tournament({"logistic": other}, ["fw"], max_passes=5, jobs=1, out=tmp_path)
    assert second.runs[0].columns["fun"][-1] != first.runs[0].columns["fun"][-1]


def test_what_decides_a_run_is_described_alike_in_every_process():
    program = (
        "from frankwolfe.experiments.tournament.run_files import described; import frankwolfe as fw, json, numpy as np;"
        "print(json.dumps(described([fw.Box(np.zeros(3), np.ones(3)), fw.METHODS['stochastic-pairwise'], max])))"
    )
    told = [
        subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout
        for _ in range(2)
    ]
    assert told[0] == told[1]
    assert "DampedStep" in told[0]
    assert described(fw.Box(np.zeros(2), np.ones(2))) != described(fw.Box(np.zeros(2), np.array([1.0, 2.0])))
    assert described(is_deterministic).endswith("organise.is_deterministic")
    assert described([lambda: 0]) != described([lambda: 0])


class Broken(fw.OpenLoop):
    """A step rule that breaks."""

    def length(self, move, samples, gradient, iterate, t):
        raise ArithmeticError("no such step")


@pytest.mark.usefixtures("interpreted")
def test_a_method_that_fails_is_reported_and_stops_nothing(tmp_path):
    broken = fw.METHODS["fw"]._replace(step=Broken(), name="broken")
    found = play(methods=["sfw", broken, "away"], out=tmp_path)
    assert {(run.problem, run.method) for run in found.failures} == {("logistic", "broken"), ("sigmoid", "broken")}
    assert "ArithmeticError: no such step" in found.failures[0].error
    standings = {each.method: each for each in found.ranking(1e-2)}
    assert standings["broken"].reached == 0.0
    assert len(found.of("logistic", "sfw")) == 2
    found.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "ArithmeticError: no such step" in page
    assert "2 pieces of work" in page


class Deadly(fw.L1Ball):
    """A ball that ends any process that it is sent to."""

    def __reduce__(self):
        return os._exit, (3,)


def test_a_process_that_ends_costs_one_piece_of_work():
    alive = fw.Problem(np.eye(3), np.ones(3), loss=fw.Cauchy(1.0), constraint=fw.L1Ball(1.0))
    deadly = alive.over(Deadly(1.0))
    chains = [[Task("deadly", None), Task("deadly", None, 1)], [Task("alive", None)]]
    found = dict(pool.in_processes(chains, {"deadly": deadly, "alive": alive}, Budget(), jobs=2))
    assert [facts.error for task, facts in found.items() if task.problem == "deadly"] == [
        "its process ended with code 3"
    ] * 2
    facts = found[Task("alive", None)]
    assert (facts.error, facts.n, facts.zero_value) == ("", 3, alive.zero_value)
    assert "OMP_NUM_THREADS" in os.environ  # as it was before


def test_what_cannot_be_sent_is_told():
    class Local(fw.L1Ball):
        pass

    problem = cases.problem(fw.Logistic(), Local(1.0))
    with pytest.raises(TypeError, match=r"'mine' cannot be sent to other processes .* jobs=1"):
        fw.tournament({"mine": problem}, ["fw"], jobs=2)


# --- problems and arguments -----------------------------------------------------------------------------------


def test_names_of_problems():
    assert named(["survey-*"]) == ["survey-l1", "survey-simplex"]
    with pytest.raises(ValueError, match="did you mean 'survey-l1'"):
        named(["survey-11"])
    found, absent = collected(["survey-l1", "w8a"], "stand-in", quick=False)
    assert [case.key for case in found] == ["survey-l1"]
    assert "FRANKWOLFE_DATA" in absent[0]
    assert sum(key.startswith("kappa-") for key in CATALOGUE) == 14


def test_stand_ins_are_called_so():
    found, _ = collected(["breast-cancer", "california-housing", "housing-*"], "stand-in", quick=False)
    assert all("stand-in" in case.title for case in found)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"methods": ["swf"]}, "did you mean 'sfw'"),
        ({"methods": ["fw", "fw"]}, "two methods are called 'fw'"),
        ({"accuracies": [2.0]}, "between 0 and 1"),
        ({"problems": {}}, "no problem to play"),
        ({"problems": cases.problem()}, "a mapping of names"),
        ({"problems": {"a": 1}}, r"problems\['a'\] must be a fw.Problem"),
        ({"n_jobs": 3}, "did you mean 'jobs'"),
    ],
)
def test_mistakes_are_answered(options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        play(**options)


# --- what is said ---------------------------------------------------------------------------------------------


def told(costs_of):
    """A tournament in which methods reach 1e-2, 1e-3 and 1e-4 at given passes, on problems by name."""
    runs, entries = [], {}
    for problem, methods in costs_of.items():
        facts = Facts(problem, n=100, d=5, zero_value=1.0, best=0.0, lower_bound=0.0, kappa_share=0.5)
        entries[problem] = Entry(problem, problem.title(), "", "own", problem, facts)
        for method, passes in methods.items():
            columns = dict.fromkeys(("gap", "fw_gap", "fun"), np.array([1.0, 1e-2, 1e-3, 1e-4]))
            columns |= dict.fromkeys(("passes", "seconds", "oracle_calls"), np.array([0.0, *passes]))
            runs.append(Run(problem, method, 0, "", "max-passes", 1, columns))
    names = list(next(iter(costs_of.values())))
    budget = Budget(100.0)
    return fw.Tournament(entries, names, frozenset({"auto"}) & set(names), 1, runs, 0, (1e-2, 1e-3, 1e-4), budget)


def test_sentences_follow_the_measurements():
    found = told(
        {
            "text": {"sfw": (1.0, 6.0, 60.0), "fw": (4.0, 8.0, 16.0), "auto": (5.0, 6.0, 7.0)},
            "table": {"sfw": (1.0, 8.0, 80.0), "fw": (2.0, 4.0, 8.0), "auto": (5.0, 6.0, 7.0)},
        }
    )
    said = " ".join(when_right(found))
    first = "on 2 of 2 problems at 0.01 (text and table), on 1 of 2 problems at 0.001 (text)"
    assert f"By passes, sfw is the fastest contender {first} and on 0 of 2 problems at 0.0001." in said
    assert "1 at 0.01, 1.4 at 0.001, 6.1 at 0.0001: the more digits are asked for, the farther it falls behind" in said
    assert "At 0.0001 it is a good choice, within a factor 2 of the passes of the best contender, on none" in said
    assert "it is not on text (3.8 times fw) and table (10 times fw)" in said
    assert "auto, the reference, takes less time than sfw on 0 of 2 problems at 0.01, 1 of 2" in said
    other = " ".join(when_right(told({"text": {"sfw": (9.0, 9.5, 10.0), "fw": (1.0, 3.0, 9.0)}})))
    assert "the nearer it comes to the best" in other
    assert "nothing can be said" in when_right(told({"text": {"fw": (1.0, 2.0, 3.0)}}))[0]


def test_a_failed_optimum_leaves_the_rest_of_the_page(tmp_path):
    found = told({"text": {"sfw": (1.0, 6.0, 60.0), "fw": (4.0, 8.0, 16.0)}})
    entries = {**found.entries, "bad": Entry("bad", "Bad", "", "own", "bad", Facts("bad", error="MemoryError: gone"))}
    replace(found, entries=entries).report(tmp_path / "page.html")
    assert "MemoryError: gone" in (tmp_path / "page.html").read_text(encoding="utf-8")
