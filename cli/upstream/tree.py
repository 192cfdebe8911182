"""What a clone of the article's repository holds for us: which programs, and for which study."""

from __future__ import annotations

import hashlib
import subprocess
from dataclasses import dataclass
from pathlib import Path

from cli.problem import Problem

FOLDER = "proc-vs-ebpf"
WANTED = "a clone of hyperredstart/hello-ebpf, or its folder proc-vs-ebpf"


@dataclass(frozen=True)
class Program:
    """One of the clone's collectors, and the arm that it becomes.

    ``against`` is the arm of ours that does the same; ``files`` are what it is built from.
    """

    name: str
    study: str
    title: str
    ebpf: bool
    hook: str | None
    against: str
    files: tuple[str, ...]
    fields: tuple[str, ...]
    needs: tuple[str, ...] = ()

    @property
    def arm(self) -> str:
        """Its name as an arm."""
        return f"upstream_{self.name}"


PROGRAMS = (
    Program("proc_pids", "processes", "upstream, /proc polling", False, None, "proc_stat",
            ("proc_pids.c",), ("cpu_time",)),
    Program("ebpf_pids", "processes", "upstream, eBPF", True, "sched_switch",
            "sched_switch_published", ("ebpf_pids.c", "task.bpf.c"), ("thread_id", "cpu_time"),
            ("bpf", "btf", "tracefs")),
    Program("proc_poller", "gauges", "upstream, /proc/stat", False, None, "proc_files",
            ("proc_poller.c", "common.h"), ("cpu_time_by_mode",)),
    Program("ebpf_collector", "gauges", "upstream, eBPF timer", True, "bpf_timer", "bpf_timer",
            ("ebpf_collector.c", "cpustat.bpf.c", "common.h"), ("cpu_time_by_mode",),
            ("bpf", "btf", "kallsyms_data")),
)  # fmt: skip
#: Arms of ours that are measured beside them, by study.
OURS = {
    "processes": ("null_agent", "proc_stat", "sched_switch_published", "sched_switch"),
    "gauges": ("null_agent", "proc_files", "bpf_timer"),
}


@dataclass(frozen=True)
class Tree:
    """The folder with the sources, their digest, and the commit if git knows one."""

    folder: Path
    digest: str
    commit: str

    @property
    def sources(self) -> list[Path]:
        """What the build reads, in order of their names: generated and compiled files are not."""
        return _sources(self.folder)


def of_study(study: str) -> list[Program]:
    """The clone's collectors that answer a study's question."""
    return [program for program in PROGRAMS if program.study == study]


def find(path: Path, programs: list[Program]) -> Tree:
    """The sources at or below a path. Raises Problem if it is no clone with these programs."""
    folder = path / FOLDER if (path / FOLDER).is_dir() else path
    wanted = ["Makefile", *(file for program in programs for file in program.files)]
    try:
        if not folder.is_dir():
            raise Problem(f"{path} is not a folder: give {WANTED}")
        gone = [name for name in dict.fromkeys(wanted) if not (folder / name).is_file()]
        if gone:
            raise Problem(f"{path} is not {WANTED}: {', '.join(gone)} not in {folder}")
        content = [file.name.encode() + b"\0" + file.read_bytes() for file in _sources(folder)]
    except OSError as error:
        raise Problem(f"{path} cannot be read ({error.strerror}): give {WANTED}") from None
    return Tree(folder, hashlib.sha256(b"\0".join(content)).hexdigest(), _commit(folder))


def _sources(folder: Path) -> list[Path]:
    made = ("vmlinux.h", ".skel.h")
    return sorted(
        file
        for file in folder.iterdir()
        if file.is_file()
        and (file.name == "Makefile" or file.suffix in (".c", ".h"))
        and not file.name.endswith(made)
    )


def _commit(folder: Path) -> str:
    # a clone of another user's is read all the same: nothing in it is executed by this
    words = ["git", "-c", "safe.directory=*", "-C", str(folder), "rev-parse", "--short=12", "HEAD"]
    try:
        done = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    except OSError:
        return "unknown"
    return done.stdout.strip() if done.returncode == 0 else "unknown"
