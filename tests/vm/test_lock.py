"""What differs from the lock is said in words that name package and versions."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from vm import image, lock
from vm.problem import Problem


def package(name: str, version: str = "1.0", sha256: str = "a") -> dict[str, str]:
    return {"name": name, "version": version, "architecture": "amd64", "sha256": sha256 * 64}


LOCKED: dict[str, Any] = {
    "image": {
        "packages": [package("libc6"), package("linux-image-6.1.0-37-cloud-amd64", "6.1.137-1")],
        "layers": {"python3-psutil": [package("python3-psutil")]},
        "sysroot": [package("libbpf-dev")],
        "files": {"initrd.cpio": "1", "python3-psutil.cpio": "2", "vmlinuz": "3"},
    },
    "compilers": [package("clang-14", "1:14.0.6-12")],
    "programs": {"proc_stat": "4", "spin": "5"},
}


@pytest.fixture
def here() -> dict[str, Any]:
    return copy.deepcopy(LOCKED)


def test_nothing_differs_from_itself_also_without_its_layers(here: dict[str, Any]) -> None:
    assert lock.differences(here, LOCKED) == []
    here["image"]["layers"].clear()
    del here["image"]["files"]["python3-psutil.cpio"]
    assert lock.differences(here, LOCKED) == []


def test_a_newer_kernel_is_told_with_both_releases(here: dict[str, Any]) -> None:
    here["image"]["packages"][1] = package("linux-image-6.1.0-38-cloud-amd64", "6.1.140-1", "b")
    here["image"]["files"]["vmlinuz"] = "other"
    assert lock.differences(here, LOCKED) == [
        "linux-image-6.1.0-38-cloud-amd64 6.1.140-1 here, linux-image-6.1.0-37-cloud-amd64"
        " 6.1.137-1 when the digest was made"
    ]
    here["image"]["packages"][1]["name"] = "linux-image-6.1.0-37-cloud-amd64"
    assert lock.differences(here, LOCKED) == [
        "linux-image-6.1.0-37-cloud-amd64 6.1.140-1 here, 6.1.137-1 when the digest was made"
    ]


def test_packages_that_came_or_went_are_told(here: dict[str, Any]) -> None:
    here["image"]["packages"][0] = package("libc7")
    here["image"]["layers"]["python3-psutil"][0]["version"] = "2.0"
    assert lock.differences(here, LOCKED) == [
        "libc6 1.0 not here, but when the digest was made",
        "libc7 1.0 here, not when the digest was made",
        "python3-psutil 2.0 here, 1.0 when the digest was made",
    ]


def test_a_rebuilt_package_of_the_same_version_is_told(here: dict[str, Any]) -> None:
    here["image"]["sysroot"][0] = package("libbpf-dev", sha256="b")
    assert lock.differences(here, LOCKED) == [
        "libbpf-dev 1.0: another build of it than when the digest was made"
    ]


def test_a_compiler_is_the_same_on_a_host_of_another_architecture(here: dict[str, Any]) -> None:
    here["compilers"][0] |= {"architecture": "arm64", "sha256": "c" * 64}
    assert lock.differences(here, LOCKED) == []
    here["compilers"][0]["version"] = "1:14.0.6-13"
    assert lock.differences(here, LOCKED) == [
        "clang-14 1:14.0.6-13 here, 1:14.0.6-12 when the digest was made"
    ]


def test_other_code_or_sources_are_told_once_all_packages_are_the_same(
    here: dict[str, Any],
) -> None:
    here["image"]["files"]["initrd.cpio"] = "other"
    assert lock.differences(here, LOCKED) == [
        "initrd.cpio: made by other code in vm/ out of the same packages"
    ]
    here = copy.deepcopy(LOCKED)
    here["programs"]["spin"] = "other"
    assert lock.differences(here, LOCKED) == ["programs built from other sources: spin"]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"6.1-x86_64": '])
def test_a_damaged_lock_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "images.lock.json"
    with pytest.raises(Problem, match="images.lock.json is missing or damaged"):
        lock.read("6.1", "x86_64", path)
    path.write_text(text)
    with pytest.raises(Problem, match="images.lock.json is missing or damaged"):
        lock.read("6.1", "x86_64", path)


def test_the_shipped_lock_holds_all_four_guests_and_no_address() -> None:
    for kernel, architecture in image.GUESTS:
        held = lock.read(kernel, architecture)
        assert held["image"]["architecture"] == architecture
        assert set(held["image"]["layers"]) == set(lock.LAYERS)
        assert all(len(package["sha256"]) == 64 for package in held["image"]["packages"])
        assert lock.differences(held, held) == []
    assert "://" not in json.dumps(json.loads(lock.PATH.read_text()))
