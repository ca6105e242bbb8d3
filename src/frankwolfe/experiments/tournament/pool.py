"""Work in parallel processes that may fail: an error, or the end of a process, costs one run and no more.

Each process uses one thread, so that as many runs as there are cores do not stand in each other's way.
"""

import multiprocessing
import os
import pickle
import signal
import tempfile
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from frankwolfe.experiments.tournament.runs import Budget, Facts, Run, Task, performed
from frankwolfe.linalg.threads import VARIABLES
from frankwolfe.problem import Problem

GRACE_SECONDS = 300.0
"""What a piece of work may take beyond its budget of seconds: to compile, to evaluate its trace."""

Outcome = tuple[Task, Run | Facts]


def in_turn(chains: Sequence[Sequence[Task]], problems: Mapping[str, Problem], budget: Budget) -> Iterator[Outcome]:
    """Do all work in this process."""
    for task in (task for chain in chains for task in chain):
        yield task, performed(task, problems[task.problem], budget)


def in_processes(
    chains: Sequence[Sequence[Task]], problems: Mapping[str, Problem], budget: Budget, jobs: int
) -> Iterator[Outcome]:
    """Do all work in processes; results come as they are ready.

    Parameters
    ----------
    chains : sequence of sequences of Task
        The pieces of a chain are done one after the other by one process: what the first compiles serves the others.
    problems : mapping of str to Problem
        By name.
    budget : Budget
        Of every run.
    jobs : int
        How many processes.
    """
    waiting = deque(deque(chain) for chain in chains if chain)
    with tempfile.TemporaryDirectory(prefix="frankwolfe-") as folder:
        for number, key in enumerate(problems):
            (Path(folder) / f"{number}.pickle").write_bytes(_pickled(key, problems[key]))
        paths = {key: str(Path(folder) / f"{number}.pickle") for number, key in enumerate(problems)}
        workers = [Worker(paths, budget) for _ in range(min(jobs, len(waiting)))]
        try:
            for worker in workers:
                worker.take(waiting.popleft() if waiting else deque())
            while busy := [worker for worker in workers if worker.task is not None]:
                wait([worker.connection for worker in busy], timeout=1.0)
                for worker in busy:
                    if (outcome := worker.outcome()) is not None:
                        yield outcome
                        worker.take(worker.chain or (waiting.popleft() if waiting else deque()))
        finally:
            for worker in workers:
                worker.end()


def _pickled(key: str, problem: Problem) -> bytes:
    try:
        return pickle.dumps(problem, protocol=5)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise TypeError(
            f"the problem {key!r} cannot be sent to other processes ({error}): define its parts in a module of their "
            "own, or pass jobs=1"
        ) from error


class Worker:
    """A process that does one piece of work at a time, and is replaced if it ends.

    Parameters
    ----------
    paths : dict of str to str
        Where the problems lie, by name.
    budget : Budget
        Of every run.
    """

    def __init__(self, paths: dict[str, str], budget: Budget):
        self._paths, self._budget = paths, budget
        self.task: Task | None = None
        self.chain: deque[Task] = deque()
        self._limit, self._ready = float("inf"), False
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")  # a forked process would inherit threads in mid-work
        self.connection, theirs = context.Pipe()
        self._process = context.Process(target=serve, args=(theirs, self._paths, self._budget), daemon=True)
        with _one_thread_each(), _deaf_to_ctrl_c():
            self._process.start()
        theirs.close()
        self._ready = False

    def take(self, chain: deque[Task]) -> None:
        """Begin with the first piece of a chain, if there is one."""
        self.chain, self.task = chain, None
        if chain:
            self.task = chain.popleft()
            self._limit = time.monotonic() + self._budget.max_seconds + GRACE_SECONDS
            self._send()

    def _send(self) -> None:
        try:
            self.connection.send(self.task)
        except OSError:
            pass  # it has ended: `outcome` will see that
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            assert self.task is not None
            words = f"the method {self.task.name!r} cannot be sent to other processes ({error}): pass jobs=1"
            raise TypeError(words) from error

    def outcome(self) -> Outcome | None:
        """Return what has come of the work, if it is done, or if its process has ended or takes far too long."""
        task = self.task
        assert task is not None
        try:
            while self.connection.poll():
                told = self.connection.recv()
                if told is not None:
                    return task, told
                self._ready = True
        except (EOFError, OSError):
            return task, task.failure(self._replaced())
        if time.monotonic() > self._limit:
            why = f"it did not end within {self._budget.max_seconds + GRACE_SECONDS:g} seconds, compilation included"
            self._replaced()
            return task, task.failure(why)
        return None

    def _replaced(self) -> str:
        """Start another process instead of one that has ended, or will not; say how it ended."""
        ready = self._ready
        self.end(patience=5.0 if ready else 1.0)
        code = self._process.exitcode
        if not ready:
            raise RuntimeError(
                f"a process ended, with code {code}, before it could begin: in a script, call tournament under "
                '`if __name__ == "__main__":`, or pass jobs=1'
            )
        self._start()
        return f"its process ended with code {code}"

    def end(self, patience: float = 0.0) -> None:
        """End the process, at once or after a while."""
        self._process.join(patience)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        self.connection.close()


def serve(connection: Connection, paths: dict[str, str], budget: Budget) -> None:
    """Do what is asked for until nobody asks any more. This is what a worker process runs."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # also where the process was started by a thread
    connection.send(None)  # it has come up
    loaded: dict[str, Problem] = {}
    try:
        while True:
            task: Task = connection.recv()
            connection.send(_served(task, paths, budget, loaded))
    except (EOFError, OSError):
        pass


def _served(task: Task, paths: dict[str, str], budget: Budget, loaded: dict[str, Problem]) -> Any:
    if task.problem not in loaded:
        loaded.clear()  # one at a time: work comes problem by problem
        try:
            loaded[task.problem] = pickle.loads(Path(paths[task.problem]).read_bytes())
        except Exception as error:
            return task.failure(f"the problem could not be read in another process: {error}")
    return performed(task, loaded[task.problem], budget)


@contextmanager
def _deaf_to_ctrl_c() -> Iterator[None]:
    """Let processes that are started inside the block ignore Ctrl-C, from their first moment: it is for this one."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Let processes that are started inside the block use one thread each."""
    before = {name: os.environ.get(name) for name in VARIABLES}
    os.environ.update(dict.fromkeys(VARIABLES, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
