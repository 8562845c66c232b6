"""Many jobs in parallel processes, where one that dies takes only its own job with it.

``concurrent.futures`` gives up on every pending job when a worker dies and cannot say which one
killed it; here each worker has a pipe of its own, so a death is known, attributed and survived.
Processes are spawned: OpenCL drivers do not survive a fork.
"""

from __future__ import annotations

import multiprocessing
import signal
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import Any, Generic, TypeVar

Job = TypeVar("Job")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Died:
    """What is known of a job whose process did not live to give a result."""

    reason: str


@dataclass
class _Worker(Generic[Job]):
    """A process, this end of its pipe, and the job that it has."""

    process: Any
    pipe: Connection
    job: Job | None = None
    since: float = field(default_factory=time.monotonic)


def run_all(
    function: Callable[[Job], Result],
    jobs: Sequence[Job],
    processes: int,
    seconds: float | None = None,
) -> Iterator[tuple[Job, Result | Died]]:
    """``function`` of every job, in ``processes`` processes, in the order in which they finish.

    ``function`` is a module's; it and what it takes and gives can be pickled; it raises nothing.
    ``seconds``: how long one job may take.
    """
    waiting = deque(jobs)
    context = multiprocessing.get_context("spawn")
    workers: list[_Worker[Job]] = []
    try:
        while waiting or any(worker.job is not None for worker in workers):
            _hand_out(context, function, waiting, workers, processes)
            for worker in _ready(workers, seconds):
                job, result = worker.job, _result(worker, seconds)
                worker.job = None
                if isinstance(result, Died):
                    workers.remove(worker)
                if job is not None:
                    yield job, result
    finally:
        for worker in workers:
            _end(worker)


def _hand_out(
    context: Any, function: Callable, waiting: deque, workers: list[_Worker], processes: int
) -> None:
    """Give every idle worker a job; start workers up to the number there is work for."""
    busy = sum(worker.job is not None for worker in workers)
    while len(workers) < min(processes, busy + len(waiting)):
        ours, theirs = context.Pipe()
        process = context.Process(target=_work, args=(function, theirs), daemon=True)
        process.start()
        theirs.close()
        workers.append(_Worker(process, ours))
    for worker in workers:
        if worker.job is None and waiting:
            worker.job, worker.since = waiting.popleft(), time.monotonic()
            try:
                worker.pipe.send(worker.job)
            except OSError:
                # The process is gone already; its end of the pipe says so when it is waited for.
                continue


def _ready(workers: list[_Worker], seconds: float | None) -> list[_Worker]:
    """The busy workers that have a result, are dead, or took too long."""
    busy = [worker for worker in workers if worker.job is not None]
    patience = None
    if seconds is not None:
        patience = max(0.0, min(worker.since for worker in busy) + seconds - time.monotonic())
    heard = wait([worker.pipe for worker in busy], patience)
    late = time.monotonic() - (seconds or float("inf"))
    return [worker for worker in busy if worker.pipe in heard or worker.since <= late]


def _result(worker: _Worker, seconds: float | None) -> Any:
    if not worker.pipe.poll():
        _end(worker)
        return Died(f"took longer than {seconds:g} s")
    try:
        return worker.pipe.recv()
    except (EOFError, OSError):
        worker.process.join()
        return Died(_cause(worker.process.exitcode))


def _cause(code: int | None) -> str:
    if code is not None and code < 0:
        name = signal.Signals(-code).name
        memory = ", most likely for want of memory" if -code == signal.SIGKILL else ""
        return f"its process was ended by {name}{memory}"
    return f"its process ended with exit status {code}"


def _end(worker: _Worker) -> None:
    worker.process.terminate()
    worker.process.join(5)
    if worker.process.is_alive():
        worker.process.kill()
        worker.process.join()
    worker.pipe.close()


def _work(function: Callable[[Any], Any], pipe: Connection) -> None:
    """What a worker does: take a job, give its result, until the other end is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        try:
            job = pipe.recv()
        except EOFError:
            return
        pipe.send(function(job))
