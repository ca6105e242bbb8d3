"""Run many cases in worker processes; count, and say how to run again what failed."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent

CASE_SECONDS = 60
"""A case that works longer has failed: something does not end. Compiling may take ten times as long.

It is the processor's time: other processes do not count. One that waits for ever would show in the count of cases."""


def attend(seed, number):
    """Make, run and check one case; return what became of it as plain data."""
    from tests.fuzz import bands, cases, conditions
    from tests.fuzz.examine import examine

    def late(*_):
        raise TimeoutError("does not end")

    signal.signal(signal.SIGPROF, late)
    told, begun = f"case {number}", time.perf_counter()
    try:
        kinds = (kind for kind in (conditions, bands) if number % kind.EVERY == kind.EVERY - 1)
        case = next(kinds, cases).make(seed, number)
        told = str(case)
        signal.setitimer(signal.ITIMER_PROF, CASE_SECONDS * (10 if case.compiled else 1))
        outcome = examine(case) if isinstance(case, cases.Case) else case.examine()
        names, failures, facts = case.names, outcome.failures, outcome.facts
    except Exception as error:  # whatever it is, it is this case's
        names, failures, facts = {}, [("error", f"{type(error).__name__}: {error}")], []
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    seconds = time.perf_counter() - begun
    return {"number": number, "told": told, "names": names, "failures": failures, "facts": facts, "seconds": seconds}


def work(seed, first, cases, stride, until, attend=attend):
    """Do a worker's share, a line of JSON for each case; the number of a case is written before it is begun."""
    for number in range(first, cases, stride):
        if time.time() > until:
            break
        print(json.dumps({"begun": number}), flush=True)
        print(json.dumps(attend(seed, number)), flush=True)


class Worker:
    """A process that works through every ``stride``-th case; one that dies is replaced and its case has failed."""

    def __init__(self, seed, first, cases, stride, until, module="tests.fuzz"):
        self.module, self.seed, self.cases, self.stride, self.until = module, seed, cases, stride, until
        self.begun, self.written = first - stride, b""
        self._start(first)

    def _start(self, first):
        share = [self.seed, first, self.cases, self.stride, self.until]
        command = [sys.executable, "-m", self.module, "--work", *map(str, share)]
        # one thread each: the workers are the parallelism
        threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT, env={**os.environ, **threads})
        assert self.process.stdout is not None
        os.set_blocking(self.process.stdout.fileno(), False)

    def end(self):
        """End the process."""
        assert self.process.stdout is not None
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def news(self):
        """Cases that have ended since the last call, and whether there will be more."""
        assert self.process.stdout is not None
        ended = self.process.poll() is not None
        self.written += self.process.stdout.read() or b""
        *lines, self.written = self.written.split(b"\n")
        found = []
        for line in map(json.loads, lines):
            if "begun" in line:
                self.begun = line["begun"]
            else:
                found.append(line)
        if not ended or self.process.returncode == 0:
            return found, not ended
        told = {"number": self.begun, "told": "", "names": {}, "facts": [], "seconds": 0.0}
        found.append({**told, "failures": [("crash", f"the process ended with code {self.process.returncode}")]})
        self.written = b""
        self.end()
        self._start(self.begun + self.stride)
        return found, True


def run(seed, cases, minutes, workers, shown=20, module="tests.fuzz"):
    """Run cases 0, 1, ... of a seed; print failures as they come and tables at the end; return their number."""
    begun = time.time()
    until = begun + 60.0 * minutes if minutes else float("inf")
    crew = [Worker(seed, k, cases, workers, until, module) for k in range(workers)]
    tallies = defaultdict(Counter, {name: Counter() for name in ("check", "fact")})
    done, failed, slowest, last = 0, 0, (0.0, 0), begun
    try:
        while crew:
            for worker in list(crew):
                found, more = worker.news()
                if not more:
                    worker.end()
                    crew.remove(worker)
                for case in found:
                    done += 1
                    slowest = max(slowest, (case["seconds"], case["number"]))
                    failed += bool(case["failures"])
                    _count(tallies, case)
                    if case["failures"] and failed <= shown:
                        print(describe(seed, case, module), flush=True)
            if time.time() - last > 30.0:
                last = time.time()
                print(f"{done} cases, {failed} failed, {last - begun:.0f} s", flush=True)
            time.sleep(0.05)
    finally:
        for worker in crew:
            worker.end()
    print(summary(tallies, done, failed, time.time() - begun, slowest))
    return failed if done else 1


def _count(tallies, case):
    for name, value in case["names"].items():
        tallies[name][value] += 1
    tallies["fact"].update(case["facts"])
    tallies["check"].update({check for check, _ in case["failures"]})


def describe(seed, case, module="tests.fuzz"):
    """Say what failed, and how to run it again, in a line or two."""
    said = "; ".join(f"{check}: {sentence}" for check, sentence in case["failures"])
    kind = " --conditions" if "conditions" in case["names"] else ""
    again = f"python -m {module} --seed {seed}{kind} --case {case['number']}"
    return f"FAILED {again}\n    {said}\n    {case['told']}"


def summary(tallies, done, failed, seconds, slowest):
    """Return the tables of what was run."""
    lines = [f"{done} cases in {seconds:.0f} s, {failed} failed; the slowest, {slowest[1]}, took {slowest[0]:.1f} s"]
    for name, tally in tallies.items():
        title = {"check": "failures by check", "fact": "what happened"}.get(name, f"cases by {name}")
        counts = ", ".join(f"{key} {count}" for key, count in tally.most_common()) or "none"
        lines.append(f"{title}: {counts}")
    return "\n".join(lines)
