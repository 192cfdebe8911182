"""The doctor: tries, says one line, leaves nothing behind, whatever is missing."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import struct
import subprocess
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from experiment import arms, doctor, kernel, needs
from experiment.probes import Check, bpf, build, cgroups, machine

ROOT = Path(__file__).resolve().parents[2]
PYTHON = "/usr/bin/python3"
PROGRAM = (
    "import json, sys; sys.path.insert(0, sys.argv[1]); from experiment import doctor;"
    "json.dump(doctor.report({}), sys.stdout)"
)
AS_ROOT = os.geteuid() == 0
#: Mounts of its own; in a user namespace of its own when that takes no root.
PRIVATE = ["unshare", "-m"] if AS_ROOT else ["unshare", "-rm"]


def need_namespaces(*unshare: str) -> None:
    """Skip, with the kernel's reason, where such namespaces may not be made."""
    done = subprocess.run([*unshare, "true"], capture_output=True, text=True, timeout=30)
    if done.returncode:
        pytest.skip(f"unavailable: {' '.join(unshare)}: {done.stderr.strip()}")


def examine(*prefix: str) -> dict[str, Any]:
    """The report of a separate, isolated interpreter, which must not complain."""
    done = subprocess.run(
        [*prefix, PYTHON, "-I", "-S", "-B", "-c", PROGRAM, str(ROOT)],
        capture_output=True,
        text=True,
        timeout=120,
        cwd="/",
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def with_mounts(*commands: str) -> dict[str, Any]:
    """The report where these mounts were made first; they vanish with the process."""
    need_namespaces(*PRIVATE)
    script = "; ".join(["set -e", *commands, 'exec "$@"'])
    return examine(*PRIVATE, "sh", "-c", script, "sh")


def find(report: dict[str, Any], name: str) -> dict[str, str]:
    found: list[dict[str, str]] = [c for c in report["checks"] if c["id"] == name]
    assert len(found) == 1
    return found[0]


def well_formed(report: dict[str, Any]) -> None:
    assert set(report) == {"checks", "instrument", "arms_possible"}
    assert report["instrument"] in ("cgroup2", "cgroup1", "systemd", "schedstat")
    assert set(report["arms_possible"]) == set(arms.NEEDS)
    for answer in report["arms_possible"].values():
        assert answer["possible"] == (answer["reason"] == "")
    for check in report["checks"]:
        assert set(check) == {"id", "status", "text", "cure"}
        assert check["status"] in ("ok", "warn", "missing")
        assert check["text"]
        assert "\n" not in check["text"] + check["cure"]
        assert (check["status"] == "ok") == (check["cure"] == ""), check
        assert "could not be checked" not in check["text"], check


def state() -> dict[str, Any]:
    """What the doctor could leave behind."""
    mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8")
    statistics = Path("/proc/sys/kernel/bpf_stats_enabled").read_text() if AS_ROOT else ""
    return {"mounts": mounts, "programs": own_programs(), "statistics": statistics}


def own_programs() -> int:
    """Programs the doctor has loaded and not let go. The kernel frees them a moment later."""
    if not AS_ROOT:
        return 0
    until = time.monotonic() + 10
    while True:
        count = 0
        for number in kernel.program_ids():
            with contextlib.suppress(FileNotFoundError):
                descriptor = kernel.open_program(number)
                count += kernel.program_info(descriptor).name == "probetax"
                os.close(descriptor)
        if not count or time.monotonic() > until:
            return count
        time.sleep(0.05)


def test_it_needs_the_standard_library_alone_and_leaves_nothing() -> None:
    before = state()
    well_formed(examine())
    assert state() == before


def test_in_process_it_leaves_no_descriptor_and_no_child() -> None:
    before, children = os.listdir("/proc/self/fd"), psutil.Process().children()
    doctor.report({})
    assert len(os.listdir("/proc/self/fd")) == len(before)
    assert set(psutil.Process().children()) <= set(children)


def test_without_root_it_says_what_is_lost() -> None:
    prefix = (
        ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        if AS_ROOT
        else ["env", "PATH=/nonexistent"]
    )
    program = shutil.which(prefix[0])
    assert program is not None
    report = examine(program, *prefix[1:])
    well_formed(report)
    rights = find(report, "rights")
    assert rights["status"] == "missing"
    assert "not root" in rights["text"]
    assert "/proc still run" in rights["cure"]
    assert not report["arms_possible"]["bpf"]["possible"]
    assert "not permitted" in report["arms_possible"]["bpf"]["reason"]


def test_capabilities_of_a_user_namespace_do_not_count() -> None:
    need_namespaces("unshare", "-r")
    report = examine("unshare", "-r")
    well_formed(report)
    assert find(report, "rights")["status"] == "missing"
    assert "user namespace" in find(report, "rights")["cure"]


def test_no_btf_is_one_line_of_its_own() -> None:
    report = with_mounts("[ ! -d /sys/kernel/btf ] || mount -t tmpfs none /sys/kernel/btf")
    well_formed(report)
    btf = find(report, "btf")
    assert btf["status"] == "missing"
    assert "the kernel has no BTF" in btf["text"]
    assert report["arms_possible"]["btf"] == {"possible": False, "reason": btf["text"]}
    assert find(report, "libbpf")["status"] == ("missing" if bpf.libbpf() is None else "ok")


def test_no_library_is_another_answer_than_no_btf(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bpf, "libbpf", lambda: None)
    check = bpf.check_libbpf()
    assert (check.status, check.cure) == ("missing", "apt-get install libbpf1")
    assert "BTF" not in check.text


def test_a_library_too_old_for_the_kernels_btf(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if bpf.libbpf() is None:
        pytest.skip("unavailable: libbpf is not installed")
    # A type of a kind no library knows: what an old library meets in a new kernel's BTF.
    strings = b"\0"
    kind = struct.pack("=III", 0, 31 << 24, 0)
    header = struct.pack("=HBBIIIII", 0xEB9F, 1, 0, 24, 0, len(kind), len(kind), len(strings))
    path = tmp_path / "vmlinux"
    path.write_bytes(header + kind + strings)
    monkeypatch.setattr(bpf, "_BTF", str(path))
    assert bpf.check_btf().status == "ok"
    check = bpf.check_libbpf()
    assert check.status == "missing"
    assert "too old" in check.text


def test_without_cgroups_another_instrument_is_named() -> None:
    report = with_mounts("mount -t tmpfs none /sys/fs/cgroup")
    well_formed(report)
    assert find(report, "cgroups")["status"] == "missing"
    assert report["instrument"] in ("systemd", "schedstat")
    assert report["instrument"] in find(report, "instrument")["text"]


def test_another_pid_namespace_is_detected() -> None:
    flags = ["-p"] if AS_ROOT else ["-r", "-p"]
    need_namespaces("unshare", *flags, "-f", "--mount-proc")
    report = examine("unshare", *flags, "-f", "--mount-proc")
    well_formed(report)
    check = find(report, "pid_namespace")
    assert check["status"] == "missing"
    assert "not the initial one" in check["text"]


def test_loading_is_tried_and_no_program_stays() -> None:
    check = bpf.check_loading()
    allowed = bpf.capabilities() & {"CAP_SYS_ADMIN", "CAP_BPF"}
    if allowed:
        assert check.status == "ok" or check.cure
    else:
        assert (check.status, check.cure) == ("missing", bpf._GAIN_RIGHTS[AS_ROOT])
    assert own_programs() == 0


def test_a_probe_that_breaks_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> Check:
        raise ZeroDivisionError("of\nall things")

    monkeypatch.setattr(machine, "check_clock", broken)
    report = doctor.report({})
    check = find(report, "clock")
    assert check["status"] == "missing"
    assert check["text"] == "could not be checked: of all things"


# The parts


@pytest.mark.parametrize(
    ("lines", "mode"),
    [
        ("30 24 0:26 / {0}/v2 rw - cgroup2 cgroup2 rw", "unified"),
        (
            "30 24 0:26 / {0}/v2 rw shared:9 - cgroup2 none rw\n"
            "31 24 0:27 / {0}/a\\040b rw - cgroup cgroup rw,cpu,cpuacct",
            "hybrid",
        ),
        ("31 24 0:27 / {0}/a\\040b rw - cgroup cgroup rw,cpu,cpuacct", "legacy"),
        ("31 24 0:27 / {0}/hidden rw - cgroup2 cgroup2 rw", "none"),
        ("garbage\n\n1 2 - x", "none"),
        ("", "none"),
    ],
)
def test_hierarchies(tmp_path: Path, lines: str, mode: str) -> None:
    for folder in ("v2", "a b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "cgroup.procs").touch()
    (tmp_path / "a b" / "cpuacct.usage").touch()
    found = cgroups.hierarchies(lines.format(tmp_path))
    assert found.mode == mode
    assert (found.v2 is not None) == (mode in ("unified", "hybrid"))
    assert found.cpuacct == (str(tmp_path / "a b") if mode in ("hybrid", "legacy") else None)


@pytest.mark.parametrize(
    ("found", "writable", "systemd", "wanted"),
    [
        (cgroups.Hierarchies("hybrid", "/v2", "/v1"), {"/v2", "/v1"}, True, "cgroup2"),
        (cgroups.Hierarchies("hybrid", "/v2", "/v1"), {"/v1"}, True, "cgroup1"),
        (cgroups.Hierarchies("legacy", None, "/v1"), {"/v1"}, False, "cgroup1"),
        (cgroups.Hierarchies("unified", "/v2", None), set(), True, "systemd"),
        (cgroups.Hierarchies("none", None, None), set(), False, "schedstat"),
    ],
)
def test_the_instrument_is_the_first_that_works(
    monkeypatch: pytest.MonkeyPatch,
    found: cgroups.Hierarchies,
    writable: set[str],
    systemd: bool,
    wanted: str,
) -> None:
    monkeypatch.setattr(cgroups, "hierarchies", lambda: found)
    monkeypatch.setattr(cgroups, "writable", lambda folder: folder in writable)
    monkeypatch.setattr(cgroups, "_counts_cpu", lambda folder: folder is not None)
    monkeypatch.setattr(cgroups, "systemd_scopes", lambda: systemd)
    assert cgroups.choose()[0] == wanted


@pytest.mark.parametrize(
    ("distribution", "machine_name", "release", "package"),
    [
        ("debian", "x86_64", "6.1.0-31-amd64", "linux-headers-6.1.0-31-amd64"),
        ("debian", "x86_64", "6.1.0-31-cloud-amd64", "linux-headers-6.1.0-31-cloud-amd64"),
        ("debian", "aarch64", "6.1.0-31-arm64", "linux-headers-6.1.0-31-arm64"),
        ("debian", "x86_64", "6.18.44-custom", "linux-headers-amd64"),
        ("debian", "aarch64", "5.15.167.4-microsoft-standard-WSL2", "linux-headers-arm64"),
        ("ubuntu", "x86_64", "6.8.0-51-generic", "linux-headers-6.8.0-51-generic"),
        ("ubuntu", "aarch64", "6.8.0-1021-aws", "linux-headers-6.8.0-1021-aws"),
        ("ubuntu", "x86_64", "6.18.44", "linux-headers-generic"),
    ],
)
def test_the_headers_package_is_named(
    monkeypatch: pytest.MonkeyPatch,
    distribution: str,
    machine_name: str,
    release: str,
    package: str,
) -> None:
    monkeypatch.setattr(build, "distribution", lambda: {"ID": distribution})
    monkeypatch.setattr("platform.machine", lambda: machine_name)
    assert build.headers_package(release) == package


def test_bcc_that_cannot_be_imported(tmp_path: Path) -> None:
    fake = tmp_path / "python3"
    fake.write_text("#!/bin/sh\necho 'Traceback' >&2\necho 'no module bcc' >&2\nexit 1\n")
    fake.chmod(0o755)
    check = build.check_bcc(str(fake))
    assert check.status == "missing"
    assert "(no module bcc)" in check.text
    assert check.cure == "apt-get install python3-bpfcc"
    assert build.check_bcc(str(tmp_path / "absent")).status == "missing"


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("ffffffff81000000 D kernel_cpustat\n", "ok"),
        ("0000000000000000 D kernel_cpustat\n", "missing" if AS_ROOT else "warn"),
        ("ffffffff81000000 t kernel_cpustat_cpu_fetch\n", "missing"),
        ("", "missing"),
    ],
)
def test_data_symbols(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, line: str, status: str
) -> None:
    path = tmp_path / "kallsyms"
    path.write_text(line, encoding="ascii")
    address = bpf.symbol_address("kernel_cpustat", str(path))
    monkeypatch.setattr(bpf, "symbol_address", lambda name: address)
    assert bpf.check_kallsyms().status == status


def test_wsl(monkeypatch: pytest.MonkeyPatch) -> None:
    release = "5.15.167.4-microsoft-standard-WSL2"
    monkeypatch.setattr(machine, "read", lambda path: release)
    check = machine.check_place()
    assert check.status == "warn"
    assert "WSL" in check.text


def test_too_little_room_for_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "number", lambda path: 4096 if "pid_max" in path else None)
    check = machine.check_processes()
    assert check.status == "warn"
    assert "kernel.pid_max is 4096" in check.text


def test_unmet_needs_are_told_with_their_reasons() -> None:
    works = [Check(name, "ok", name) for names in needs.NEEDS.values() for name in names]
    possible = needs.possible(works)
    arm = {"name": "timer", "needs": ["bpf", "kallsyms_data"]}
    assert needs.unmet(arm, possible) == []
    broken = [c for c in works if c.id != "kallsyms_data"]
    broken.append(Check("kallsyms_data", "missing", "no kernel_cpustat", "another kernel"))
    assert needs.unmet(arm, needs.possible(broken)) == ["no kernel_cpustat"]
