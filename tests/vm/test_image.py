"""Images out of a tiny suite: what is in them, when they are made anew, and what goes wrong."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import signal
import stat
import time
from pathlib import Path

import pytest

from tests.vm import cpio_reader
from tests.vm.suite import KERNEL, LOADER, TRIPLET, Suite, small_archive, suite
from vm import cache, image
from vm.problem import Problem

__all__ = ["small_archive", "suite"]  # fixtures


def make(suite: Suite, *packages: str) -> image.Image:
    return image.build("6.1", "x86_64", suite.cache, packages)


def test_an_image_holds_what_guests_need_and_nothing_else(suite: Suite) -> None:
    made = make(suite)
    assert made.kernel.read_bytes()[0x202:0x206] == b"HdrS"
    assert made.system_map.read_text().splitlines()[1] == "ffffffff83000000 B _end"
    found = {name: head for name, head, _ in cpio_reader.members(made.initrd.read_bytes())}
    files = {name for name, head in found.items() if not stat.S_ISDIR(head["mode"])}
    libraries = {f"usr/lib/{TRIPLET}/{name}" for name in (
        "libc.so.6", "libc-2.36.so", "ld.so", "libbpf.so.1", "libgcc_s.so.1")}  # fmt: skip
    assert files == libraries | {
        *("bin", "lib", "lib64", "sbin", f"usr/{str(LOADER).lstrip('/')}"),
        *("dev/console", "dev/null", "etc/group", "etc/passwd", "etc/os-release"),
        *("usr/bin/busybox", "usr/bin/python3", "usr/bin/python3.11", "usr/bin/sh", "usr/bin/top"),
        *("usr/lib/os-release", "usr/lib/python3.11/os.py", "usr/lib/terminfo/d/dumb"),
    }
    assert {"proc", "sys", "run", "tmp"} <= found.keys()


def test_links_lead_to_the_same_files_once_all_is_below_usr(suite: Suite) -> None:
    made = make(suite)
    members = cpio_reader.members(made.initrd.read_bytes())
    links = {name: data.decode() for name, head, data in members if stat.S_ISLNK(head["mode"])}
    assert links["lib"] == "usr/lib"
    assert links[f"usr/lib/{TRIPLET}/libc.so.6"] == "libc-2.36.so"
    assert links[f"usr/{str(LOADER).lstrip('/')}"] == f"/usr/lib/{TRIPLET}/ld.so"
    sysroot = made.sysroot
    assert (sysroot / f"usr/lib/{TRIPLET}/libbpf.so").resolve().read_bytes() == b"libbpf\n"
    assert os.readlink(sysroot / f"usr/lib/{TRIPLET}/libz.so") == "libz.so.1", "stays inside"
    assert [path.name for path in sysroot.rglob("*.a")] == ["libyaml.a"], "the rest is shared"


def test_the_inputs_name_every_package_that_a_byte_comes_from(suite: Suite) -> None:
    made = make(suite, "python3-psutil")
    names = [package["name"] for package in made.inputs["packages"]]
    assert names == ["base-files", "busybox", "libbpf1", "libc6", "libgcc-s1", "ncurses-base",
                     "procps", "python3.11", KERNEL]  # fmt: skip
    assert made.inputs["kernel_release"] == "6.1.0-9-cloud-amd64"
    assert [package["name"] for package in made.inputs["layers"]["python3-psutil"]] == [
        "python3-psutil"
    ]
    assert all(len(package["sha256"]) == 64 for package in made.inputs["packages"])
    assert made.digest == image.digest(json.loads(json.dumps(made.inputs)))
    layer = cpio_reader.members(made.layers["python3-psutil"].read_bytes())
    assert layer[-1][0] == "usr/lib/python3/dist-packages/psutil/__init__.py"


def test_a_layer_may_hold_a_program_and_leaves_the_base_as_it_is(suite: Suite) -> None:
    plain, made = make(suite), make(suite, "sysstat")
    names = [name for name, *_ in cpio_reader.members(made.layers["sysstat"].read_bytes())]
    assert "usr/bin/mpstat" in names and "usr/bin/sar" not in names
    assert made.initrd.read_bytes() == plain.initrd.read_bytes()


def test_the_same_packages_give_the_same_bytes(suite: Suite) -> None:
    first = make(suite, "python3-psutil")
    elsewhere = image.build("6.1", "x86_64", suite.cache / "b", ["python3-psutil"])
    assert elsewhere.digest == first.digest
    assert elsewhere.initrd.read_bytes() == first.initrd.read_bytes()


def test_a_newer_package_gives_another_digest(suite: Suite) -> None:
    first = make(suite)
    suite.release("procps", "1.1")
    assert make(suite).digest == first.digest, "what is cached stays"
    second = image.build("6.1", "x86_64", suite.cache / "b")
    assert second.digest != first.digest
    assert second.initrd.read_bytes() == first.initrd.read_bytes()


def test_a_cached_image_needs_no_network_and_no_mmdebstrap(
    suite: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert image.cached("6.1", "x86_64", suite.cache) is None
    made = make(suite)
    monkeypatch.setenv("PATH", "/nowhere")
    began = time.process_time()
    assert image.cached("6.1", "x86_64", suite.cache) == made
    assert make(suite) == made
    assert time.process_time() - began < 0.5
    assert suite.calls() == 1


@pytest.mark.parametrize("name", ["initrd.cpio", "vmlinuz", "inputs.json", "sizes.json"])
def test_a_damaged_image_is_made_again(suite: Suite, name: str) -> None:
    made = make(suite)
    path = made.kernel.parent / name
    os.truncate(path, path.stat().st_size - 1)
    assert image.cached("6.1", "x86_64", suite.cache) is None
    assert make(suite) == made
    assert suite.calls() == 2


def test_a_killed_build_leaves_nothing_that_counts(suite: Suite) -> None:
    (suite.folder / "slow").touch()
    builder = multiprocessing.get_context("fork").Process(target=make, args=(suite,))
    builder.start()
    deadline = time.monotonic() + 20
    while not (suite.folder / "pid").exists() or not (suite.folder / "pid").read_text():
        assert time.monotonic() < deadline and builder.is_alive()
        time.sleep(0.02)
    child = int((suite.folder / "pid").read_text())
    assert builder.pid
    os.kill(builder.pid, signal.SIGKILL)
    builder.join()
    while Path(f"/proc/{child}").exists():
        assert time.monotonic() < deadline, "mmdebstrap outlived its parent"
        time.sleep(0.02)
    assert image.cached("6.1", "x86_64", suite.cache) is None
    (suite.folder / "slow").unlink()
    made = make(suite)
    left = sorted(path.name for path in (suite.cache / "images").iterdir())
    assert left == [made.kernel.parent.name, f"{made.kernel.parent.name}.lock"]


def test_two_builds_at_once_make_one_image(suite: Suite) -> None:
    fork = multiprocessing.get_context("fork")
    builders = [fork.Process(target=make, args=(suite,)) for _ in range(3)]
    for builder in builders:
        builder.start()
    for builder in builders:
        builder.join(60)
        assert builder.exitcode == 0
    assert suite.calls() == 1


SAYINGS = {
    "no network": "Err:1 http://mirror suite InRelease\n"
    "E: Failed to fetch http://mirror/suite/InRelease  Temporary failure resolving 'mirror'\n",
    "no space left": "E: Write error - write (28: No space left on device)\n",
    "Unable to locate package python3.11": "E: Unable to locate package python3.11\n",
    "it just ended": "it just ended\n",
}


@pytest.mark.parametrize("expected", SAYINGS)
def test_why_nothing_was_fetched_is_one_line(suite: Suite, expected: str) -> None:
    (suite.folder / "says").write_text(SAYINGS[expected])
    with pytest.raises(Problem, match=expected) as caught:
        make(suite)
    assert "\n" not in str(caught.value)
    left = [path.name for path in (suite.cache / "images").iterdir()]
    assert len(left) == 1 and left[0].endswith(".lock")


def test_a_missing_mmdebstrap_is_named_as_a_package(suite: Suite) -> None:
    (suite.folder / "bin/mmdebstrap").unlink()
    if shutil.which("mmdebstrap"):
        os.environ["PATH"] = str(suite.folder / "bin")  # the fixture puts it back
    with pytest.raises(Problem, match="apt-get install --no-install-recommends mmdebstrap"):
        make(suite)


def test_a_full_disk_is_named_with_the_way_out(
    suite: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, files: object) -> str:
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr(image, "_segment", full)
    with pytest.raises(Problem, match="no space left below .*: free 1 GB there, or set XDG_CACHE"):
        make(suite)
    assert [path.suffix for path in (suite.cache / "images").iterdir()] == [".lock"]


def test_a_place_that_cannot_be_written_to_is_named(suite: Suite) -> None:
    suite.cache.write_text("a file, not a folder")
    with pytest.raises(Problem, match="cannot write below .*: set XDG_CACHE_HOME"):
        make(suite)


@pytest.mark.parametrize(
    ("kernel", "architecture", "known"),
    [("5.10", "x86_64", "6.1, 6.12"), ("6.1", "riscv", "x86_64, aarch64")],
)
def test_an_unknown_guest_is_refused_with_those_known(
    kernel: str, architecture: str, known: str
) -> None:
    with pytest.raises(Problem, match=f"known: .*{known}"):
        image.build(kernel, architecture)


def test_a_layer_without_modules_is_refused(suite: Suite) -> None:
    with pytest.raises(Problem, match="python3-empty of bookworm holds nothing for a layer"):
        make(suite, "python3-empty")


def test_the_cache_lies_where_others_lie(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert cache.default() == Path("/somewhere/probetax")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative: to be ignored")
    monkeypatch.setenv("HOME", "/home/me")
    assert cache.default() == Path("/home/me/.cache/probetax")
