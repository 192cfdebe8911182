"""What top, mpstat and the records say of each CPU, and what is known of it."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiment import core_reports
from experiment.core_reports import TOGETHER, Report, against, form, printed, used_by

TOP = """top - 10:24:{second:02} up  1:06,  0 user,  load average: 13.63, 10.04, 10.02
Tasks:   1 total,   0 running,   1 sleeping,   0 stopped,   0 zombie
{cpus}
MiB Mem :  24151.5 total,  19483.2 free,    438.7 used,   4544.9 buff/cache

  PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND
    1 root      10 -10   36956   9344   6128 S   0.0   0.0   0:01.65 %Cpu7 : 1.0 id
"""
MPSTAT_NAMES = "%usr %nice %sys %iowait %irq %soft %steal %guest %gnice %idle".split()
tenths = st.integers(0, 1000)


def top_cpu(name: str, idle: int, waits: int, mark: str = ".") -> str:
    def shown(value: int) -> str:
        return f"{value // 10:3}{mark}{value % 10}"

    busy = 1000 - idle - waits
    return (
        f"%Cpu{name:<3}: {shown(busy)} us,  0{mark}0 sy,  0{mark}0 ni,{shown(idle)} id,"
        f" {shown(waits)} wa,  0{mark}0 hi,  0{mark}0 si,  0{mark}0 st"
    )


@given(
    reports=st.lists(
        st.dictionaries(st.integers(0, 4095), tenths, min_size=1, max_size=6),
        min_size=1,
        max_size=4,
    ),
    beside=st.integers(1, 3),
    mark=st.sampled_from(".,"),
)
def test_top_says_of_each_cpu_what_its_idle_column_leaves(
    reports: list[dict[int, int]], beside: int, mark: str
) -> None:
    lines = []
    for second, idle in enumerate(reports):
        entries = [top_cpu(str(cpu), tenth, 0, mark) for cpu, tenth in idle.items()]
        cpus = "\n".join(
            "   ".join(entries[n : n + beside]) for n in range(0, len(entries), beside)
        )
        text = TOP.format(second=second, cpus=cpus)
        lines += [(1000 * second, line) for line in text.splitlines()]
    found = printed("top", lines)
    assert [(r.since_ns, r.at_ns) for r in found] == [
        (1000 * n, 1000 * (n + 1)) for n in range(len(reports) - 1)
    ]
    for report, idle in zip(found, reports[1:], strict=True):
        assert report.active == pytest.approx({cpu: 100 - t / 10 for cpu, t in idle.items()})


def test_plain_top_knows_all_cpus_together_alone() -> None:
    lines = []
    for second, idle in enumerate((1000, 805)):
        text = TOP.format(second=second, cpus=top_cpu("(s)", idle, 0))
        lines += [(second, line) for line in text.splitlines()]
    (report,) = printed("top", lines)
    assert report.active == {TOGETHER: pytest.approx(19.5)}


def test_a_hundred_percent_without_a_blank_before_it_is_read() -> None:
    cpu = "%Cpu0  :  0.0 us,  0.0 sy,  0.0 ni,100.0 id,  0.0 wa,  0.0 hi,  0.0 si,  0.0 st"
    lines = [(n, line) for n in range(2) for line in TOP.format(second=n, cpus=cpu).splitlines()]
    (report,) = printed("top", lines)
    assert report.active == {0: 0.0}


@given(idle=tenths, data=st.data())
def test_waiting_for_a_disk_is_not_active(idle: int, data: st.DataObject) -> None:
    waits = data.draw(st.integers(0, 1000 - idle))
    text = TOP.format(second=0, cpus=top_cpu("0", idle, waits))
    lines = [(n, line) for n in range(2) for line in text.splitlines()]
    (report,) = printed("top", lines)
    assert report.active[0] == pytest.approx(100 - (idle + waits) / 10)


def mpstat(clock: str, idle: dict[int, float]) -> list[str]:
    def row(name: str, value: float) -> str:
        cells = [100 - value, *(0.0 for _ in MPSTAT_NAMES[1:-1]), value]
        return f"{clock} {name:>7} " + " ".join(f"{cell:8.2f}" for cell in cells)

    head = f"{clock}     CPU    " + "   ".join(MPSTAT_NAMES)
    return ["", head, row("all", 50), *(row(str(cpu), value) for cpu, value in idle.items())]


@given(
    clock=st.sampled_from(["10:25:05", "10:25:05 AM", "12:00:00 PM"]),
    idle=st.dictionaries(st.integers(0, 4095), st.integers(0, 10_000), min_size=1, max_size=6),
)
def test_mpstat_is_read_in_either_clock(clock: str, idle: dict[int, int]) -> None:
    shares = {cpu: value / 100 for cpu, value in idle.items()}
    text = ["Linux 6.18.44 (vm)  12/01/26  _x86_64_  (2 CPU)"]
    lines = [(0, line) for line in [*text, *mpstat(clock, shares)]]
    lines += [(7, line) for line in mpstat(clock, shares)]
    average = [line.replace(clock, "Average:") for line in mpstat(clock, dict.fromkeys(idle, 1.0))]
    lines += [(9, line) for line in average]
    (report,) = printed("mpstat", lines)
    assert (report.since_ns, report.at_ns) == (0, 7), "the average at the end is no report"
    assert report.active == pytest.approx({cpu: 100 - s for cpu, s in shares.items()}, abs=1e-6)


@given(st.text())
def test_what_is_no_report_is_none(text: str) -> None:
    for how in core_reports.PRINTED:
        assert printed(how, [(0, line) for line in text.splitlines()]) == []


def test_records_give_percent_of_their_own_interval() -> None:
    record = '{"scrape":1,"at_ns":5000,"interval_ns":2000,"cores":{"0":500,"17":2000}}\n'
    assert core_reports.read_records(record) == [Report(3000, 5000, {0: 25.0, 17: 100.0})]


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"at_ns":1}', '{"at_ns":1,"interval_ns":0,"cores":{"0":1}}']
)
def test_records_of_another_form_are_an_error(text: str) -> None:
    with pytest.raises(ValueError):
        core_reports.read_records(text)


notes = st.lists(
    st.tuples(st.integers(1, 10**6), st.integers(0, 10**6)), min_size=1, max_size=20
).map(lambda steps: list(itertools.accumulate(steps, lambda a, b: (a[0] + b[0], a[1] + b[1]))))


@given(notes, st.floats(0, 1))
def test_use_grows_with_time_between_notes(notes: list[tuple[int, int]], share: float) -> None:
    at = notes[0][0] + round(share * (notes[-1][0] - notes[0][0]))
    assert notes[0][1] <= used_by(notes, at) <= notes[-1][1]
    for moment, used in notes:
        assert used_by(notes, moment) == used
    assert math.isnan(used_by(notes, notes[0][0] - 1))
    assert math.isnan(used_by(notes, notes[-1][0] + 1))


def test_known_is_the_load_and_all_else_on_that_cpu() -> None:
    cpus: dict[str, Any] = {
        "0": {"own": [[0, 0], [1000, 200]], "others": [[0, 50], [1000, 150]]},
        "2": {"own": [[0, 0], [1000, 500]], "others": [[0, 0], [1000, 0]]},
    }
    rows = against([Report(0, 500, {0: 31.0, 2: 49.0, TOGETHER: 40.0, 3: 1.0})], cpus)
    assert [(r["scrape"], r["cpu"], r["known_percent"], r["reported_percent"]) for r in rows] == [
        (0, TOGETHER, 40.0, 40.0),
        (0, 0, 30.0, 31.0),
        (0, 2, 50.0, 49.0),
    ]


@pytest.mark.parametrize("since, at", [(-1, 500), (500, 1001)])
def test_a_report_that_begins_before_or_ends_after_the_load_is_left_out(
    since: int, at: int
) -> None:
    flat = [[0, 0], [1000, 0]]
    assert against([Report(since, at, {0: 1.0})], {"0": {"own": flat, "others": flat}}) == []


@pytest.mark.parametrize(
    "arm, how",
    [
        ({"command": ["top", "-b"], "dump": False}, "top"),
        ({"command": ["/usr/bin/mpstat"], "dump": False}, "mpstat"),
        ({"command": ["x"], "dump": True, "study": "cores"}, "records"),
        ({"command": ["x"], "dump": True, "study": "gauges"}, None),
        ({"command": ["x"], "dump": False, "study": "cores"}, None),
    ],
)
def test_how_an_arm_is_read(arm: dict[str, Any], how: str | None) -> None:
    assert form(arm) == how
