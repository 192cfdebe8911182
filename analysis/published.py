"""What the articles claim of the measured cells; the numbers are in published.yml."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import yaml

from analysis.measures import LEFT_ALONE

# "About 100", "about 600": given to the nearest hundred. A machine that has 118 processes of its
# own is still about 100; 60 is not, and 500 is not about 600.
NEAR, NEAR_SHARE = 50, 0.25
PUBLISHED_YML = Path(__file__).with_name("published.yml")


@functools.cache
def _articles() -> list[dict[str, Any]]:
    loaded: list[dict[str, Any]] = yaml.safe_load(PUBLISHED_YML.read_text(encoding="utf-8"))
    return loaded


def article_of(study: str) -> dict[str, Any] | None:
    """The article that a study reproduces, or None for a study of our own."""
    return next((entry for entry in _articles() if entry["study"] == study), None)


def claim_at(study: str, level: int) -> dict[str, Any] | None:
    """The article's claim about a process level (LEFT_ALONE: the machine as it is)."""
    article = article_of(study)
    for claim in article["claims"] if article else []:
        claimed = LEFT_ALONE if claim["processes"] is None else int(claim["processes"])
        apart = abs(level - claimed)
        if apart == 0 or (level > 0 < claimed and apart <= min(NEAR, NEAR_SHARE * claimed)):
            found: dict[str, Any] = claim
            return found
    return None
