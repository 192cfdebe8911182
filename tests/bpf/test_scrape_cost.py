"""What a scrape costs depends on what there is to report, not on how much could be held."""

from __future__ import annotations

import statistics

import pytest

from tests.bpf.conftest import Start


@pytest.mark.parametrize(
    ("name", "option"), [("sched_switch", "--slots"), ("task_iter", "--entries")]
)
def test_nothing_of_a_scrape_grows_with_the_capacity(start: Start, name: str, option: str) -> None:
    """Walking a million empty slots would take some 500 microseconds."""
    typical = {}
    for capacity in (4096, 1 << 20):
        collector = start(name, 4, option, str(capacity), "--scrapes", "250")
        used = collector.finish(None)["scrape_cpu_ns"]
        typical[capacity] = statistics.median(
            after - before for before, after in zip(used, used[1:], strict=False)
        )
    small, large = typical.values()
    assert large < 1.5 * small + 60_000, typical
