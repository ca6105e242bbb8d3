"""Time that runs wait for compiled code: it is counted, and announced where it is long."""

import json
import os
import subprocess
import sys
from collections import Counter, namedtuple
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import sleep

import numpy as np
import pytest

import frankwolfe as fw
from frankwolfe.compile import waiting as module
from frankwolfe.compile.waiting import Waiting, notices_to
from frankwolfe.display import Progress
from frankwolfe.running.limits import Stopwatch
from frankwolfe.solvers.corrective import fully_corrective as corrective

ROOT = Path(__file__).parents[2]

Stats = namedtuple("Stats", "cache_path cache_misses")


class Dispatcher:
    """What numba tells of a kernel."""

    def __init__(self, path="somewhere"):
        self.stats = Stats(path, Counter())

    def compile(self, wait, seconds=0.05, misses=1):
        """Load or compile, which takes some time."""
        with wait.loading(self):
            self.stats.cache_misses["signature"] += misses
            sleep(seconds)


@pytest.fixture
def impatient(monkeypatch):
    """Have notices come soon."""
    monkeypatch.delenv("FRANKWOLFE_QUIET")
    monkeypatch.setattr(module, "NOTICE_AFTER", 0.005)
    monkeypatch.setattr(module, "POLL", 0.005)


def test_a_run_says_once_that_it_compiles(impatient, capsys):
    wait, kernel = Waiting("'sfw' for Logistic"), Dispatcher()
    for _ in range(3):
        kernel.compile(wait)
    assert capsys.readouterr().err == (
        "frankwolfe: compiling 'sfw' for Logistic: this happens once, later runs load it from disk\n"
    )


def test_short_compilations_add_up(impatient, monkeypatch, capsys):
    monkeypatch.setattr(module, "NOTICE_AFTER", 0.15)
    wait, kernel = Waiting(), Dispatcher()
    kernel.compile(wait, 0.1)
    assert capsys.readouterr().err == ""
    kernel.compile(wait, 0.2)
    assert "compiling" in capsys.readouterr().err


def test_what_is_not_kept_on_disk_is_said_so(impatient, capsys):
    Dispatcher(path=None).compile(Waiting())
    assert "once in a process" in capsys.readouterr().err


def test_loading_and_quiet_runs_say_nothing(impatient, monkeypatch, capsys):
    Dispatcher().compile(Waiting(), misses=0)
    with notices_to(lambda notice: None):
        Dispatcher().compile(Waiting())
    monkeypatch.setenv("FRANKWOLFE_QUIET", "1")
    Dispatcher().compile(Waiting())
    assert capsys.readouterr().err == ""


def test_the_progress_bar_shows_the_notice(impatient, capsys):
    pytest.importorskip("tqdm")
    wait, bar = Waiting("this"), Progress(True, "sfw", 10.0)
    wait.listener = bar.tell
    Dispatcher().compile(wait)
    bar.close()
    said = capsys.readouterr().err
    assert "frankwolfe: compiling this: this happens once" in said
    assert any("passes [" in line and "compiling this" in line for line in said.replace("\n", "\r").split("\r"))


def test_time_of_several_threads_is_counted_once():
    wait = Waiting()
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: Dispatcher().compile(wait, 0.1, misses=0), range(4)))
    assert 0.1 <= wait.seconds < 0.35


def test_compilation_in_the_middle_of_a_run_is_not_charged_to_the_method():
    watch = Stopwatch(waiting=Waiting())
    with watch.charged():
        Dispatcher().compile(watch.waiting, 0.2)
    assert watch.compile_seconds >= 0.2
    assert watch.seconds < 0.1


def test_rounds_warm_up_only_the_model_that_they_begin_with(monkeypatch):
    def refuse(*args):
        raise AssertionError("no model of many columns is needed")

    monkeypatch.setattr(corrective, "ColumnModel", refuse)
    monkeypatch.setattr(corrective, "is_new_kind", lambda *kind: True)
    X, y = np.eye(4), np.array([1.0, -1.0, 1.0, 1.0])
    with fw.python_mode():
        assert fw.minimize(fw.Problem(X, y, "squared", fw.L1Ball(1.0)), "corrective").success


PROGRAM = """
import json, sys
from time import perf_counter
import frankwolfe as fw
import frankwolfe.run, frankwolfe.solvers.corrective

if sys.argv[1] == "warm-up":
    seconds = fw.warm_up(losses=["squared"])
    print(json.dumps({"seconds": seconds}))
else:
    from frankwolfe.compile.kernels import compile_above

    X, y = [[1.0, 2.0], [3.0, -1.0], [0.5, 0.5]], [1.0, -1.0, 1.0]
    problem = fw.Problem(X, y, "squared", fw.L1Ball(1.0))
    begun = perf_counter()
    with compile_above(0):
        result = fw.minimize(problem)
    taken = perf_counter() - begun
    modules = [name for name in sys.modules if name == "scipy.optimize"]
    print(json.dumps({"taken": taken, "compile": result.compile_seconds, "run": result.seconds, "modules": modules}))
"""


def test_warm_up_serves_later_processes_which_then_wait_little_and_tell_how_long(tmp_path):
    def python(what):
        environment = {name: value for name, value in os.environ.items() if name != "FRANKWOLFE_QUIET"}
        finished = subprocess.run(
            [sys.executable, "-W", "error", "-c", PROGRAM, what],
            capture_output=True,
            text=True,
            check=True,
            cwd=ROOT,
            env=environment | {"NUMBA_CACHE_DIR": str(tmp_path)},
        )
        return json.loads(finished.stdout), finished.stderr

    warmed, said = python("warm-up")
    assert "frankwolfe: compiling 'corrective' for Squared over L1Ball: this happens once" in said
    files = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.nb?")}
    fitted, said = python("fit")
    assert said == ""
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.nb?")} == files  # nothing was compiled
    assert fitted["compile"] < 0.5 * warmed["seconds"]
    # all but a tenth of a second: the rest is not compilation
    assert fitted["taken"] - 0.1 <= fitted["compile"] + fitted["run"] <= fitted["taken"]
    assert fitted["modules"] == []


def test_warm_up_leaves_out_what_does_not_fit():
    names = []
    with fw.python_mode():
        fw.warm_up(
            losses=["squared", fw.MultitaskSquared()],
            constraints=["trace"],
            methods=["fw"],
            callback=lambda done, total, name: names.append(f"{done}/{total} {name}"),
        )
        assert names == [
            "0/4 fw MultitaskSquared TraceBall dense",
            "1/4 fw MultitaskSquared TraceBall dense intercept",
            "2/4 fw MultitaskSquared TraceBall sparse",
            "3/4 fw MultitaskSquared TraceBall sparse intercept",
        ]
        with pytest.raises(ValueError, match="outputs"):
            fw.warm_up(losses=["squared"], constraints=["trace"])
        with pytest.raises(ValueError, match="loss"):
            fw.warm_up(losses=["logistc"])
