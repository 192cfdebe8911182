# SPDX-License-Identifier: MIT
"""CPU time per process with BCC, as its own tools do it: compiled at start, added up in a hash.

The current task inside the sched_switch tracepoint is the one that leaves, so its process id comes
from a helper and not from a structure: headers of another kernel do no harm.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))

from collector import Collector, Fact, Unavailable, need_initial_pid_namespace, run  # noqa: E402

PROGRAM = """
BPF_PERCPU_ARRAY(since, u64, 1);
BPF_HASH(cpu_ns, u32, u64, 16384);

TRACEPOINT_PROBE(sched, sched_switch)
{
    u64 now = bpf_ktime_get_ns();
    u32 process = bpf_get_current_pid_tgid() >> 32;
    int zero = 0;
    u64 *last = since.lookup(&zero);

    if (!last)
        return 0;
    if (*last && args->prev_pid)
        cpu_ns.increment(process, now - *last);
    *last = now;
    return 0;
}
"""


@contextmanager
def _captured_stderr() -> Iterator[list[str]]:
    """What the compiler and libbpf write to fd 2 meanwhile, as lines, once the block is left."""
    lines: list[str] = []
    saved = os.dup(2)
    with tempfile.TemporaryFile("w+", errors="replace") as file:
        os.dup2(file.fileno(), 2)
        try:
            yield lines
        finally:
            os.dup2(saved, 2)
            os.close(saved)
            file.seek(0)
            lines += [line.strip() for line in file if line.strip()]


def _cause(lines: list[str], error: BaseException) -> str:
    """The compiler's first error, or the verifier's last word, or what the exception says."""
    errors = [line for line in lines if "error:" in line]
    if errors:
        return errors[0]
    verdict = [line for line in lines if not line.startswith("processed ")]
    return f"{error}: {verdict[-1]}" if verdict else str(error)


class BccSchedSwitch:
    """Reads the whole table, then clears it."""

    name = "bcc_sched_switch"

    def open(self) -> None:
        need_initial_pid_namespace()
        try:
            from bcc import BPF
        except ImportError:
            raise Unavailable(
                f"{sys.executable} has no bcc; install Debian's or Ubuntu's python3-bpfcc"
            ) from None
        release = os.uname().release
        if (
            not Path(f"/lib/modules/{release}/build").exists()
            and not Path("/sys/kernel/kheaders.tar.xz").exists()
        ):
            raise Unavailable(
                f"no kernel headers at /lib/modules/{release}/build; install "
                f"linux-headers-{release}, or any linux-headers package and link it there"
            )
        failure: BaseException | None = None
        with _captured_stderr() as lines:
            try:
                self._table = BPF(text=PROGRAM)["cpu_ns"]
            except Exception as error:  # bcc raises bare Exception
                failure = error
        if os.environ.get("PROBETAX_VERBOSE"):
            print(*lines, sep="\n", file=sys.stderr)
        if failure is not None:
            raise Unavailable(_cause(lines, failure))

    def scrape(self) -> list[Fact]:
        facts: list[Fact] = [(pid.value, None, ran.value) for pid, ran in self._table.items()]
        self._table.clear()
        return facts

    def counts(self) -> Mapping[str, int | None]:
        return {}


if __name__ == "__main__":
    collector: Collector = BccSchedSwitch()
    run(collector)
