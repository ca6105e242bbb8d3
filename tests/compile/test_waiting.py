"""Time that runs wait for compiled code: it is counted, and announced where it is long."""

import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier, Event
from time import sleep

import numpy as np
import pytest

import frankwolfe as fw
from frankwolfe.compile import kernels as module
from frankwolfe.compile.kernels import Stopwatch, Waiting, notices_to
from frankwolfe.display import Progress
from frankwolfe.solvers.corrective import fully_corrective as corrective

ROOT = Path(__file__).parents[2]


def compile_kernel(wait, until=None, cached=True):
    """Compile until an event has happened, or for a moment."""
    with wait.compiling(cached):
        sleep(0.03) if until is None else until.wait(60.0)


@pytest.fixture
def impatient(monkeypatch):
    """Have notices come soon; return the event that one has been printed."""
    monkeypatch.delenv("FRANKWOLFE_QUIET")
    monkeypatch.setattr(module, "NOTICE_AFTER", 0.005)
    printed, print_text = Event(), module._print
    monkeypatch.setattr(module, "_print", lambda text: (print_text(text), printed.set()))
    return printed


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still: a list of its time, which the test moves on."""
    time = [0.0]
    monkeypatch.setattr(module, "perf_counter", lambda: time[0])
    return time


def test_a_run_says_once_that_it_compiles(impatient, capsys):
    wait = Waiting("'sfw' for Logistic")
    compile_kernel(wait, until=impatient)
    for _ in range(2):
        compile_kernel(wait)
    assert capsys.readouterr().err == (
        "frankwolfe: compiling 'sfw' for Logistic: this happens once, later runs load it from disk\n"
    )


def test_short_compilations_add_up(impatient, monkeypatch, clock, capsys):
    monkeypatch.setattr(module, "NOTICE_AFTER", 100.0)
    wait = Waiting()
    for _ in range(2):
        with wait.compiling(cached=True):
            clock[0] += 60.0
        assert capsys.readouterr().err == ""
    compile_kernel(wait, until=impatient)
    assert "compiling" in capsys.readouterr().err


def test_what_is_not_kept_on_disk_is_said_so(impatient, capsys):
    compile_kernel(Waiting(), until=impatient, cached=False)
    assert "once in a process" in capsys.readouterr().err


def test_loading_and_quiet_runs_say_nothing(impatient, monkeypatch, capsys):
    with Waiting().counted():
        sleep(0.03)
    with notices_to(lambda notice: None):
        compile_kernel(Waiting())
    monkeypatch.setenv("FRANKWOLFE_QUIET", "1")
    compile_kernel(Waiting())
    assert capsys.readouterr().err == ""


def test_the_progress_bar_shows_the_notice(impatient, capsys):
    pytest.importorskip("tqdm")
    with Progress(True, "sfw", 10.0) as bar, notices_to(lambda notice: (bar.show_notice(notice), impatient.set())):
        compile_kernel(Waiting("this"), until=impatient)
    said = capsys.readouterr().err
    assert "frankwolfe: compiling this: this happens once" in said
    assert any("passes [" in line and "compiling this" in line for line in said.replace("\n", "\r").split("\r"))


def test_time_of_several_threads_is_counted_once(clock):
    wait = Waiting()
    all_inside = Barrier(4, action=lambda: clock.__setitem__(0, 2.0))

    def load(_):
        with wait.counted():
            all_inside.wait(60.0)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(load, range(4)))
    assert wait.seconds == 2.0


def test_compilation_in_the_middle_of_a_run_is_not_charged_to_the_method(clock):
    watch = Stopwatch(waiting=Waiting())
    with watch.charged():
        clock[0] += 0.25
        with watch.waiting.counted():
            clock[0] += 2.0
    assert (watch.compile_seconds, watch.seconds) == (2.0, 0.25)


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
    print(json.dumps(fw.warm_up(losses=["squared"])))
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

    _, said = python("warm-up")
    assert re.search(r"frankwolfe: compiling .+: this happens once", said)  # what it is depends on what took a second
    files = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.nb?")}
    fitted, said = python("fit")
    assert said == ""
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.nb?")} == files  # nothing was compiled
    assert fitted["compile"] > 0.0  # it was loaded
    assert fitted["compile"] + fitted["run"] <= fitted["taken"]  # and nothing is counted twice
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
