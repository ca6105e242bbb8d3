"""Kill processes at random moments, start them again, and compare what they end with."""

import os
import random
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

from tests.soak.scenarios import SCENARIOS

MOST_KILLS = 8
"""Kills after which a piece of work is left to end by itself."""

LATEST = 60.0
"""Seconds that a process may take to end by itself."""


def begin(scenario, folder):
    """Start the work in a process of its own; return its number."""
    sys.stdout.flush()
    process = os.fork()
    if process:
        return process
    code = 1
    try:
        with (folder / "errors").open("w", encoding="utf-8") as errors:
            os.dup2(errors.fileno(), 2)
            try:
                scenario.work(folder)
                code = 0
            except BaseException:
                traceback.print_exc()
                sys.stderr.flush()
    finally:
        os._exit(code)


def ended(process, seconds):
    """Wait for a process, so long at most; return its exit code, or None if it goes on."""
    until = time.perf_counter() + seconds
    while True:
        found, status = os.waitpid(process, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        if time.perf_counter() > until:
            return None
        time.sleep(0.0005)


def kill(process):
    """End a process as the system does, without a word."""
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)


def undisturbed(scenario):
    """Return what the work ends with when nobody kills it, and how long it takes."""
    scenario.prepare()
    with tempfile.TemporaryDirectory() as name:
        folder, begun = Path(name), time.perf_counter()
        code = ended(begin(scenario, folder), LATEST)
        if code != 0:
            raise RuntimeError(f"it fails when nobody kills it: {(folder / 'errors').read_text(encoding='utf-8')}")
        return scenario.outcome(folder), time.perf_counter() - begun


def story(scenario, expected, duration, rng, tally):
    """Kill the work again and again until it ends; return what is wrong with that, if anything."""
    most = rng.randint(1, MOST_KILLS)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for kills in range(most + 1):
            process = begin(scenario, folder)
            code = ended(process, LATEST if kills == most else rng.uniform(0.0, 1.2 * duration))
            if code is None and kills == most:
                kill(process)
                return "it does not end"
            if code is not None:
                break
            kill(process)
            tally["kills"] += 1
            tally["in mid-write"] += any(folder.glob(".*.unfinished"))
            try:
                scenario.check(folder)
            except Exception as error:
                return f"what was left is not whole: {error}"
        if code != 0:
            return f"it fails: {(folder / 'errors').read_text(encoding='utf-8')}"
        found = scenario.outcome(folder)
        other = [name for name in expected.keys() | found.keys() if expected.get(name) != found.get(name)]
        return f"it ends otherwise after {kills} kills: {sorted(other)}" if other else None


def run(seed, kills, minutes=0.0, only=""):
    """Go through the scenarios in turn until there were so many kills; print what happened; return the failures."""
    begun, rng, tally, failures = time.time(), random.Random(seed), Counter(), 0
    names = [name for name in SCENARIOS if only in name]
    rng.shuffle(names)
    known = {}
    while names and tally["kills"] < kills and not (minutes and time.time() - begun > 60.0 * minutes):
        name = names[tally["stories"] % len(names)]
        if name not in known:
            known[name] = undisturbed(SCENARIOS[name])
        wrong = story(SCENARIOS[name], *known[name], rng, tally)
        tally["stories"] += 1
        if wrong is not None:
            failures += 1
            print(f"FAILED {name}: {wrong}", flush=True)
    seconds = time.time() - begun
    print(
        f"{tally['kills']} kills in {tally['stories']} stories of {len(known)} scenarios, "
        f"{tally['in mid-write']} in mid-write, {failures} failed, {seconds:.0f} s (seed {seed})"
    )
    return failures or not names
