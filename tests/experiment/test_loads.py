"""Loads of known use fit their trial, whatever its interval and window."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiment import fidelity, loads, workloads

intervals = st.integers(10, 20_000)
scrapes = st.integers(1, 60)


def option(load: loads.Load, name: str, default: int = 0) -> int:
    words = dict(zip(load.arguments[::2], load.arguments[1::2], strict=True))
    return int(words.get(name, default))


def planned(workload: str, interval_ms: int, windows: int) -> dict[str, object]:
    return {
        "kind": "fidelity",
        "workload": workload,
        "interval_ms": interval_ms,
        "window_s": interval_ms * windows / 1000,
        "processes": None,
    }


@given(workload=st.sampled_from(loads.KNOWN_USE), interval_ms=intervals, windows=scrapes)
def test_a_load_that_lives_on_is_seen_once_more(
    workload: str, interval_ms: int, windows: int
) -> None:
    load = loads.known_use(planned(workload, interval_ms, windows))
    assert load.seconds > 0 and load.delay_s >= 0
    assert all(int(value) >= 0 for value in load.arguments[1::2])
    if load.watched_s is None:
        assert option(load, "--hold-ms") > interval_ms
    else:  # still at work at the last scrape, which is half an interval before the end
        assert interval_ms / 1000 < load.watched_s < option(load, "--cpu-ms") / 1000
        assert not option(load, "--hold-ms")


@given(interval_ms=st.integers(50, 20_000), windows=scrapes)
def test_what_exits_lives_between_two_scrapes(interval_ms: int, windows: int) -> None:
    load = loads.known_use(planned("exits", interval_ms, windows))
    assert option(load, "--every-ms") == interval_ms
    assert option(load, "--together", 1) == 1
    born_ms = load.delay_s * 1000
    assert 0 < born_ms and born_ms + 1.5 * option(load, "--cpu-ms") < interval_ms


@given(children=st.integers(1, 1000))
def test_children_are_as_many_as_planned(children: int) -> None:
    trial = planned("children", 1000, 3) | {"children": children}
    load = loads.known_use(trial)
    assert (option(load, "--count"), option(load, "--cpu-ms")) == (children, 50)
    assert load.seconds >= children * 0.05 / 2


def test_without_a_workload_it_is_the_steady_one_of_old_plans() -> None:
    trial = planned("steady", 1000, 3)
    old = {key: value for key, value in trial.items() if key != "workload"}
    assert loads.known_use(old) == loads.known_use(trial)
    assert workloads.programs(old) == {"spin"}
    with pytest.raises(KeyError):
        loads.known_use(trial | {"workload": "idle"})


@given(
    steps=st.lists(
        st.tuples(st.integers(1, 10**9), st.integers(0, 10**9)), min_size=2, max_size=30
    ),
    share=st.floats(0, 1),
)
def test_use_between_two_notes_lies_between_them(
    steps: list[tuple[int, int]], share: float
) -> None:
    notes, at, used = [], 0, 0
    for later, more in steps:
        at, used = at + later, used + more
        notes.append([at, used])
    first, last = notes[0], notes[-1]
    moment = first[0] + int(share * (last[0] - first[0]))
    found = fidelity.used_at(notes, moment)
    assert first[1] <= found <= last[1]
    before = max(n[1] for n in notes if n[0] <= moment)
    after = min(n[1] for n in notes if n[0] >= moment)
    assert before <= found <= after
    for outside in (first[0] - 1, last[0] + 1):
        with pytest.raises(ValueError, match="not at work"):
            fidelity.used_at(notes, outside)
