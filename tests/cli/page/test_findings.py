"""The verdicts of the page: what a claim, a contrast and the sessions say of themselves."""

from __future__ import annotations

from typing import Any

from cli.page import findings


def claim(**more: Any) -> dict[str, Any]:
    return {
        "id": "A-1",
        "run": None,
        "what": "x",
        "published_text": "2×",
        "verdict": "holds",
        "condition": "",
        "measured": {"text": "3× [2, 4]"},
        "reason": "same direction",
        "generalises": "over blocks",
        "beforehand": True,
        **more,
    }


def test_a_claim_says_over_what_it_speaks_and_whether_its_criterion_is_younger() -> None:
    blind, seen = findings.claims([claim(), claim(beforehand=False)])
    assert blind["because"] == "same direction; generalises over blocks"
    assert "older than the criterion" in seen["because"]
    (unmeasured,) = findings.claims([claim(measured=None, beforehand=None)])
    assert unmeasured["because"] == "same direction" and unmeasured["measured"] == "—"


def test_a_reason_that_only_repeats_p_is_left_out() -> None:
    contrast = {"numerator": "a", "denominator": "b", "measure": "headline", "processes": 1200,
                "ratio": {"estimate": 2.0, "low": 1.5, "high": None}, "p_adjusted": 0.01,
                "verdict": "dearer"}  # fmt: skip
    summary = {"study": "s", "preset": "p", "run": "r", "cells": [], "a_a": None}
    for why, because in (
        ("adjusted p = 0.0029", ""),
        ("adjusted p = 0.2; 9 %", "adjusted p = 0.2; 9 %"),
    ):
        (row,) = findings.contrasts([{**summary, "contrasts": [{**contrast, "why": why}]}])
        assert row["because"] == because
        assert row["ratio"] == "2.00× [1.50, ∞]" and row["at"] == "1,200 processes"


def test_sessions_name_those_that_do_not_count() -> None:
    pooled = {
        "ratio": {"estimate": 2.0, "low": 1.0, "high": 4.0},
        "n_sessions": 2,
        "verdict": "dearer",
    }
    each = [{"ratio": {"estimate": 2.0, "low": 1.0, "high": 4.0}, "reason": ""},
            {"reason": "only 2 of 12 blocks"}]  # fmt: skip
    entry = {"id": "c", "pooled": pooled, "per_session": each, "generalises": "over 2 sessions"}
    group = {"study": "s", "preset": "p", "runs": ["1", "2"], "contrasts": [entry]}
    (row,) = findings.sessions([group])
    assert "only 2 of 12 blocks" in row["each"] and row["because"] == "generalises over 2 sessions"
    (alone,) = findings.sessions([{**group, "contrasts": [{**entry, "pooled": None}]}])
    assert alone["verdict"] == "too few sessions"
