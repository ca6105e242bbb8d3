"""Disturb runs on a cluster at random moments: each ends with the right answer, or with one clear error and goes on."""

import faulthandler
import random
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

import frankwolfe as fw
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
        except fw.ClusterError as error:
            found = error
        finally:
            over.set()
            disturber.join()
        stage.heal()
        if isinstance(found, fw.ClusterError):
            tally["errors"] += 1
            tally["with checkpoint"] += path.exists()
            print(f"  {fault}, {kind}: {found}", flush=True)
            found = wrong_with(solved(stage, kind, path), optimum)
        return found


def run(seed, faults, minutes=0.0, only=""):
    """Go through the faults in turn until there were so many; print what happened; return the failures."""
    begun, rng, tallies, failures = time.time(), random.Random(seed), {}, 0
    names = [name for name in FAULTS if only in name]
    with tempfile.TemporaryDirectory() as folder:
        stage = Stage(Path(folder))
        known = {}
        for kind in PROBLEMS:
            optimum = fw.minimize(problem_of(stage, kind, local=True), tol=1e-10).fun
            solved(stage, kind, Path(folder) / "unread")  # compiled on the workers
            (Path(folder) / "unread").unlink()
            started = time.time()
            solved(stage, kind, Path(folder) / "unread")
            (Path(folder) / "unread").unlink()
            known[kind] = optimum, time.time() - started
        count = 0
        while names and count < faults and not (minutes and time.time() - begun > 60.0 * minutes):
            fault, kind = names[count % len(names)], rng.choice([*PROBLEMS])
            tally = tallies.setdefault(fault, Counter())
            faulthandler.dump_traceback_later(LATEST, exit=True)
            try:
                wrong = story(stage, fault, kind, *known[kind], rng, tally)
            except Exception as error:
                stage.heal()
                wrong = f"{type(error).__name__}: {error}"
            faulthandler.cancel_dump_traceback_later()
            count += 1
            tally["stories"] += 1
            if wrong is not None:
                failures += 1
                tally["failed"] += 1
                print(f"FAILED {fault}, {kind}: {wrong}", flush=True)
        stage.close()
    for fault, tally in tallies.items():
        print(
            f"{fault}: " + ", ".join(f"{tally[name]} {name}" for name in ("stories", *sorted({*tally} - {"stories"})))
        )
    print(f"{count} faults on a cluster, {failures} failed, {time.time() - begun:.0f} s (seed {seed})")
    return failures or not names
