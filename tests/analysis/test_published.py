"""The articles' claims as data."""

from __future__ import annotations

import pytest

from analysis.measures import LEFT_ALONE
from analysis.published import article_of, claim_at


@pytest.mark.parametrize(
    ("study", "level", "claim"),
    [
        ("processes", 100, "PROC-2"),
        ("processes", 118, "PROC-2"),
        ("processes", 60, None),
        ("processes", 500, None),
        ("processes", 560, "PROC-3"),
        ("processes", 600, "PROC-3"),
        ("processes", LEFT_ALONE, None),
        ("gauges", LEFT_ALONE, "PROC-1"),
        ("gauges", 600, None),
        ("crossover", 600, None),
    ],
)
def test_a_level_meets_the_claim_about_it(study: str, level: int, claim: str | None) -> None:
    found = claim_at(study, level)
    assert (found["id"] if found else None) == claim


def test_ratios_are_those_of_the_articles_means() -> None:
    """16.6 = 1.18 / 0.071 and 3.9 = 0.30 / 0.076; the gauges' 1.3 is of means with one digit."""
    article = article_of("processes")
    assert article is not None
    for claim in article["claims"]:
        means = claim["proc_percent_core"] / claim["ebpf_percent_core"]
        assert means == pytest.approx(claim["ratio"], rel=0.02)
