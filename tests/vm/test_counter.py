"""The counter against a program that can be counted by hand, on real machines of both kinds."""

import json
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from experiment.backends import guests
from vm import cpio, hardware, image, machine, toolchain

ROOT = Path(__file__).resolve().parents[2]
ARCHITECTURES = ("x86_64", "aarch64")
LOOP = Path(__file__).with_name("known_loop.c")
SCRIPT = """
import json, subprocess
words = ["/usr/bin/busybox", "grep", "-E", " (_stext|_etext)$", "/proc/kallsyms"]
found = subprocess.run(words, capture_output=True, text=True).stdout
bounds = {line.split()[2]: int(line.split()[0], 16) for line in found.splitlines()}
modules = open("/proc/modules").read()
ended = subprocess.run(["/build/known_loop"]).returncode
with open("/run/result/seen.json", "w") as file:
    json.dump({"bounds": bounds, "modules": modules, "ended": ended}, file)
"""


def compiled(made, to):
    """The loop for a guest, by the compiler of all guests' programs."""
    folder, _ = toolchain.build()
    environment = {
        "PATH": os.environ["PATH"],
        "GUEST_TARGET": f"{made.inputs['architecture']}-linux-gnu",
        "GUEST_SYSROOT": str(made.sysroot),
    }
    options = [
        "-O2",
        "-ffreestanding",
        "-nostdlib",
        "-static",
        "-fno-pic",
        "-o",
        str(to),
        str(LOOP),
    ]
    subprocess.run([str(folder / "guest-cc"), *options], check=True, env=environment)
    return to.read_bytes()


def boot(architecture, folder):
    """The outcome of a guest that runs the loop, and its image."""
    made = image.build("6.1", architecture)
    segment = folder / "segment.cpio"
    command = ["/usr/bin/python3", "-I", "-S", "-c", SCRIPT]
    with open(segment, "wb") as out:
        cpio.write(
            out,
            [
                cpio.file("init", (ROOT / "vm/guest/init").read_bytes(), 0o755),
                cpio.file("command.json", json.dumps(command).encode()),
                cpio.file("build/known_loop", compiled(made, folder / "loop"), 0o755),
            ],
        )
    (folder / "boot").mkdir()
    outcome = machine.boot(
        made,
        [made.initrd, segment],
        memory_mb=machine.MEMORY_MB,
        seed=1,
        deadline_s=240,
        folder=folder / "boot",
    )
    return outcome, made


@pytest.fixture(scope="module")
def booted(tmp_path_factory):
    """Both kinds of machine, side by side."""
    guests.make_plugin(ROOT, tmp_path_factory.mktemp("counter"))
    toolchain.build()
    with ThreadPoolExecutor() as pool:
        waiting = {a: pool.submit(boot, a, tmp_path_factory.mktemp(a)) for a in ARCHITECTURES}
        return {architecture: made.result() for architecture, made in waiting.items()}


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_known_number_of_instructions_is_counted_to_the_last(booted, architecture):
    outcome, made = booted[architecture]
    seen = json.loads(outcome.files["seen.json"])
    assert seen["ended"] == 0
    assert seen["modules"] == "", "what is not the kernel's text would not be BPF alone"
    first, end = hardware.kernel_text(made.system_map)
    assert first <= seen["bounds"]["_stext"] < seen["bounds"]["_etext"] < end
    marks = outcome.marks[-6:]
    assert [mark.value for mark in marks] == [0, 1, 2, 3, 4, 5]
    begin, loop, before, after, string, strung = marks
    x86 = architecture == "x86_64"
    assert loop.user - begin.user == 2_000_000 + (1 if x86 else 2)
    assert after.user - before.user == 2, "a load that faults is begun twice"
    assert 100 < after.kernel - before.kernel < 50_000, "the fault itself"
    assert strung.user - string.user == (1_001 if x86 else 0), "each repetition, and the last look"
    assert begin.bpf == strung.bpf == 0
