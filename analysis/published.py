"""What the articles claim of the measured cells, for tables and figures, from claims.yml."""

from __future__ import annotations

from typing import Any

from analysis.claims.data import ledger
from analysis.measures import LEFT_ALONE

# "About 100", "about 600": given to the nearest hundred. A machine that has 118 processes of its
# own is still about 100; 60 is not, and 500 is not about 600.
NEAR, NEAR_SHARE = 50, 0.25


def article_of(study: str) -> dict[str, Any] | None:
    """The article that a study reproduces, or None for a study of our own.

    Keys title, machine, protocol, proc and ebpf (the arms that follow its algorithms),
    headline_processes, claims: [{id, processes, proc_percent_core, proc_sd, ..., ratio}].
    """
    book = ledger()
    for source in book.sources:
        if study in source.studies:
            claims = [
                {
                    "id": claim.id,
                    "processes": claim.cell["processes"],
                    **{k.replace("_sd_percent_core", "_sd"): v for k, v in claim.published.items()},
                }
                for claim in book.claims
                if claim.cell is not None and claim.cell["study"] == study
            ]
            about = {key: getattr(source, key) for key in ("title", "machine", "protocol")}
            return {**about, **source.studies[study], "claims": claims}
    return None


def number_of(study: str, measure: str, threads: int | None) -> dict[str, float]:
    """What a source printed of one measure of its table beside so many threads.

    Keys ratio, top and ebpf, as far as it gives them; empty for another study or measure.
    """
    found: dict[str, float] = {}
    for claim in ledger().claims:
        c = claim.criterion
        if (c["study"], c.get("measure"), c.get("stress_threads")) != (study, measure, threads):
            continue
        for name, value in claim.published.items():
            found[name.partition("_")[0]] = value
    return found


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
