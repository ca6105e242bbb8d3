"""Disturb runs on a cluster at random moments: each ends with the right answer, or with one clear error and goes on."""

import faulthandler
import random
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

import frankwolfe as fw
from frankwolfe.solvers.corrective import fully_corrective
from tests.soak.cluster_faults import FAULTS, PROBLEMS, Stage, problem_of

TOLERANCE = 1e-8

LATEST = 180.0
"""Seconds after which a story hangs."""


def solved(stage, kind, path):
    """Pose a problem and solve it, or go on from a checkpoint that is there."""
    problem = problem_of(stage, kind)
    if path.exists():
        return fw.resume(path, problem)
    return fw.minimize(problem, tol=TOLERANCE, checkpoint=path, checkpoint_every=0.0)


def wrong_with(result, optimum):
    """Return what is wrong with a result, if anything."""
    if not result.success:
        return f"it ends {result.status}: {result.message}"
    if abs(result.fun - optimum) > 3.0 * TOLERANCE:
        return f"a wrong answer: {result.fun!r}, not {optimum!r}"
    return None


def story(stage, fault, kind, optimum, duration, rng, tally):
    """Do something to the cluster while a problem is solved; return what is wrong with how that ends, if anything."""
    delay, chances = rng.uniform(0.0, 1.1 * duration), random.Random(rng.random())

    def disturb():
        time.sleep(delay)
        tally["in time"] += not over.is_set()
        FAULTS[fault](stage, chances)

    with tempfile.TemporaryDirectory() as name:
        path, over = Path(name) / "run.ckpt", threading.Event()
        disturber = threading.Thread(target=disturb)
        disturber.start()
        try:
            found = wrong_with(solved(stage, kind, path), optimum)
        except fw.exceptions.ClusterError as error:
            found = error
        finally:
            over.set()
            disturber.join()
        stage.heal()
        if isinstance(found, fw.exceptions.ClusterError):
            tally["errors"] += 1
            tally["with checkpoint"] += path.exists()
            print(f"  {fault}, {kind}: {found}", flush=True)
            found = wrong_with(solved(stage, kind, path), optimum)
        return found


def known_of(stage, kind):
    """Return the optimum of a problem, and how long a run takes that nobody disturbs."""
    optimum = fw.minimize(problem_of(stage, kind, local=True), tol=1e-10).fun
    for number in range(2):  # the workers compile in the first one
        started = time.time()
        solved(stage, kind, stage.folder / f"{kind}-{number}.ckpt")
    return optimum, time.time() - started


def told(stage, fault, kind, known, rng, tally):
    """Go through a story, whatever it ends with; say whether it failed."""
    faulthandler.dump_traceback_later(LATEST, exit=True)
    try:
        wrong = story(stage, fault, kind, *known, rng, tally)
    except Exception as error:
        stage.heal()
        wrong = f"{type(error).__name__}: {error}"
    faulthandler.cancel_dump_traceback_later()
    tally["stories"] += 1
    if wrong is not None:
        tally["failed"] += 1
        print(f"FAILED {fault}, {kind}: {wrong}", flush=True)
    return wrong is not None


def run_on_cluster(seed, faults, minutes=0.0, only=""):
    """Go through the faults in turn until there were so many; print what happened; return the failures."""
    begun, rng, known, failures, count = time.time(), random.Random(seed), {}, 0, 0
    tallies = {name: Counter() for name in FAULTS if only in f"cluster: {name}"}
    fully_corrective.LEAST_ENTRIES = dict.fromkeys(
        fully_corrective.LEAST_ENTRIES, 0
    )  # small data begins with samples too
    names = [*tallies]
    with tempfile.TemporaryDirectory() as folder:
        stage = Stage(Path(folder))
        while names and count < faults and not (minutes and time.time() - begun > 60.0 * minutes):
            fault, kind = names[count % len(names)], rng.choice([*PROBLEMS])
            if kind not in known:
                known[kind] = known_of(stage, kind)
            failures += told(stage, fault, kind, known[kind], rng, tallies[fault])
            count += 1
        stage.close()
    for fault, tally in tallies.items():
        print(f"cluster: {fault}: " + ", ".join(f"{number} {name}" for name, number in tally.items()))
    print(f"{count} faults on a cluster, {failures} failed, {time.time() - begun:.0f} s (seed {seed})")
    return failures or not names
