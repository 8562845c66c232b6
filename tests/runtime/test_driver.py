"""Drivers are found with no variable set, with one set, by many processes, and their absence is told."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sonnx.runtime import driver, opencl, probe

LIST = """
import json
from sonnx.runtime import opencl
try:
    print(json.dumps([[c.platform, c.fault] for c in opencl.candidates()]))
except opencl.NoDeviceError as error:
    print(json.dumps(str(error)))
"""
FOLDER = """
import json, os
from sonnx.runtime import driver
driver.prepare()
print(json.dumps(os.environ["OCL_ICD_VENDORS"]))
"""
NO_WHEEL = "from sonnx.runtime import driver; driver.intel_library = lambda: None\n"


def start(code: str, **variables: str) -> object:
    """What a fresh process with these variables prints as JSON."""
    kept = {k: v for k, v in os.environ.items() if k not in ("OCL_ICD_VENDORS", "SONNX_DEVICE")}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=kept | variables, check=True
    )
    return json.loads(done.stdout)


def platforms(found: object) -> set[str]:
    assert isinstance(found, list), found
    return {platform for platform, fault in found if fault is None}


wheel = pytest.mark.skipif(driver.intel_library() is None, reason="intel-opencl-rt is not installed")


@wheel
def test_the_wheel_is_found_with_no_variable_set(tmp_path: Path) -> None:
    assert any("Intel" in name for name in platforms(start(LIST, SONNX_CACHE_DIR=str(tmp_path))))


@wheel
def test_the_wheel_joins_the_drivers_that_the_user_names(tmp_path: Path) -> None:
    vendors = tmp_path / "vendors"
    vendors.mkdir()
    (vendors / "broken.icd").write_text("/nowhere/libnothing.so\n")
    found = platforms(start(LIST, SONNX_CACHE_DIR=str(tmp_path / "cache"), OCL_ICD_VENDORS=str(vendors)))
    assert len(found) == 1 and "Intel" in found.pop()
    made = list((tmp_path / "cache" / "vendors").iterdir())
    assert len(made) == 1 and {f.name for f in made[0].iterdir()} == {"broken.icd", "intel-wheel.icd"}


@wheel
def test_many_processes_share_one_folder_and_leave_nothing_else(tmp_path: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        folders = set(pool.map(lambda _: start(FOLDER, SONNX_CACHE_DIR=str(tmp_path)), range(8)))
    assert len(folders) == 1
    assert [str(p) for p in (tmp_path / "vendors").iterdir()] == list(folders)


@wheel
def test_a_cache_that_cannot_be_written_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    found = start(LIST, SONNX_CACHE_DIR=str(tmp_path / "file"), TMPDIR=str(tmp_path))
    assert any("Intel" in name for name in platforms(found))


def test_without_any_driver_the_message_says_what_to_install(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    message = start(NO_WHEEL + LIST, OCL_ICD_VENDORS=str(empty), SONNX_CACHE_DIR=str(tmp_path))
    assert isinstance(message, str)
    assert "no OpenCL driver" in message and "pip install" in message and "pocl-opencl-icd" in message


@pytest.mark.parametrize(
    ("value", "files"),
    [("one.icd", {"one.icd"}), ("", {"one.icd", "two.icd"}), ("libx.so.2", {"given.icd"}), ("none", set())],
)
def test_every_form_of_the_loaders_variable_is_read(tmp_path: Path, value: str, files: set[str]) -> None:
    for name in ("one", "two"):
        (tmp_path / f"{name}.icd").write_text(f"lib{name}.so\n")
    assert set(driver._icd_entries(tmp_path / value)) == files


def entry(device: object) -> opencl.OpenCLDevice:
    return opencl.OpenCLDevice(0, device)  # type: ignore[arg-type]


class FakeDevice:
    available = compiler_available = True
    name = "fake"
    driver_version = "1"

    class platform:
        name = "none"
        version = "1"


def test_a_driver_that_crashes_is_passed_over_and_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver, "cache_folder", lambda: tmp_path)
    crash = subprocess.CompletedProcess([], -11, "", "")
    monkeypatch.setattr(probe.subprocess, "run", lambda *a, **k: crash)
    assert "crashes" in (probe.fault(entry(FakeDevice())) or "")
    monkeypatch.setattr(probe.subprocess, "run", lambda *a, **k: subprocess.CompletedProcess([], 0, "\n", ""))
    assert probe.fault(entry(FakeDevice())) is None
    monkeypatch.setattr(probe.subprocess, "run", lambda *a, **k: pytest.fail("a good answer is kept"))
    assert probe.fault(entry(FakeDevice())) is None


def test_a_driver_that_hangs_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "cache_folder", lambda: tmp_path)

    def hang(command: list[str], **options: object) -> None:
        raise subprocess.TimeoutExpired(command, 1)

    monkeypatch.setattr(probe.subprocess, "run", hang)
    assert "does not end" in (probe.fault(entry(FakeDevice())) or "")


def test_a_device_is_chosen_by_index_kind_and_name() -> None:
    first = opencl.choose()
    assert opencl.choose(str(first.index)) is first
    assert opencl.choose(first.kind).kind == first.kind
    assert opencl.choose(first.platform[:5].upper()).platform == first.platform


def test_a_device_that_is_not_there_is_told_with_those_that_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(opencl.VARIABLE, "no such device")
    with pytest.raises(opencl.NoDeviceError, match=r"'no such device'.*there are: 0"):
        opencl.choose()
