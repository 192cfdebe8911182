"""Per-scrape samples of a trial, from what a collector says of itself when it ends."""

from __future__ import annotations

from typing import Any


def per_scrape(
    trial: int, closing: dict[str, Any], began_ns: int, window_ns: int
) -> list[dict[str, Any]]:
    """One row per scrape: its beginning since the window's and the agent's CPU up to its end.

    ``cpu_ns`` is the difference to the scrape before; the first stamp has none to differ from.
    """
    times = closing.get("scrape_at_ns", [])
    spent = closing.get("scrape_cpu_ns", [])
    first = int(closing.get("scrapes", 0)) - len(times) + 1
    return [
        {
            "trial": trial,
            "scrape": first + index,
            "at_ns": at - began_ns,
            "cpu_ns": cpu - spent[index - 1] if index else None,
            "in_window": int(0 <= at - began_ns < window_ns),
        }
        for index, (at, cpu) in enumerate(zip(times, spent, strict=False))
    ]
