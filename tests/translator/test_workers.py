"""A job that dies, hangs or is interrupted takes nothing else with it."""

from __future__ import annotations

import os
import signal
import time

import pytest
from sonnx.translator.workers import Died, run_all


def square(number: int) -> int:
    return number * number


def kill_at_three(number: int) -> int:
    if number == 3:
        os.kill(os.getpid(), signal.SIGSEGV)
    return number


def exit_at_three(number: int) -> int:
    if number == 3:
        os._exit(7)
    return number


def sleep_at_three(number: int) -> int:
    if number == 3:
        time.sleep(60)
    return number


def test_every_job_gives_its_result() -> None:
    assert sorted(run_all(square, range(10), 3)) == [(n, n * n) for n in range(10)]


def test_no_jobs_start_no_process() -> None:
    assert list(run_all(square, [], 3)) == []


@pytest.mark.parametrize(
    ("function", "seconds", "reason"),
    [
        (kill_at_three, None, "SIGSEGV"),
        (exit_at_three, None, "exit status 7"),
        (sleep_at_three, 3, "longer than 3 s"),
    ],
)
def test_a_death_is_known_and_the_others_go_on(function, seconds: float | None, reason: str) -> None:
    results = dict(run_all(function, range(6), 2, seconds))
    died = results.pop(3)
    assert isinstance(died, Died) and reason in died.reason
    assert results == {n: n for n in (0, 1, 2, 4, 5)}


def test_one_process_survives_a_death_too() -> None:
    results = dict(run_all(kill_at_three, range(6), 1))
    assert isinstance(results[3], Died) and len(results) == 6
