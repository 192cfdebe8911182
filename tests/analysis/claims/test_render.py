"""The ledger's files say what the entries say, whole, and in one order."""

from __future__ import annotations

import csv
import io
from typing import Any

from analysis.claims import judge, ledger, render


def entries() -> list[dict[str, Any]]:
    return judge({"runs": [], "sessions": []})


def answered() -> list[dict[str, Any]]:
    """Entries of which two have an answer that is made up here."""
    made = entries()
    made[2]["beforehand"] = False
    made[2]["generalises"] = "over blocks of one run"
    number = {"estimate": 20.0, "low": 18.0, "high": 23.0, "n": 12, "unit": "×", "text": "20×"}
    made[2] |= {"verdict": "holds", "measured": number, "table": "processes/r/tables/verdicts.md"}
    made[7] |= {"verdict": "holds when…", "condition": "a node has 600 processes, idle"}
    return made


def test_the_csv_has_one_row_a_claim_and_empty_fields_for_what_is_missing() -> None:
    rows = list(csv.DictReader(io.StringIO(render.csv(answered()))))
    assert [row["id"] for row in rows] == [claim.id for claim in ledger().claims]
    assert (rows[2]["measured_estimate"], rows[2]["measured_unit"]) == ("20", "×")
    assert rows[0]["measured_estimate"] == rows[0]["run"] == ""
    assert all(row["criterion"] and row["verdict"] for row in rows)


def test_the_page_names_every_claim_and_every_source() -> None:
    text = render.page(ledger(), answered())
    table = [line for line in text.splitlines() if line.startswith("| ")]
    for claim in ledger().claims:
        assert sum(line.startswith(f"| {claim.id}: ") for line in table) == 1
    for source in ledger().sources:
        assert f"## {source.title}" in text
    assert "34 claims: 1 `holds`, 1 `holds when…`, 32 `not yet measured`" in text


def test_the_short_form_has_the_measured_ones_and_names_the_rest_in_a_line() -> None:
    text = render.compact(answered(), lambda path: f"there/{path}")
    rows = [line for line in text.splitlines() if line.startswith("| PROC")]
    assert [row.split(":")[0] for row in rows] == ["| PROC-3", "| PROC-8"]
    assert "[table](there/processes/r/tables/verdicts.md)" in rows[0]
    assert "holds when a node has 600 processes, idle" in rows[1]
    assert "older than the criteria, which were thus not blind to them: PROC-3." in text
    assert "Each verdict generalises over blocks of one run (PROC-3)." in text
    waiting = next(line for line in text.splitlines() if line.startswith("Not yet measured"))
    assert "CORE-1 to CORE-14 (study `cores`)" in waiting
    assert "PROC-4, PROC-6, PROC-10 (study `crossover`)" in waiting


def test_what_did_not_hold_says_why_in_the_short_form_too() -> None:
    made = answered()
    made[0] |= {"verdict": "not testable here", "reason": "EPERM"}
    assert "| not testable here: EPERM |" in render.compact(made)


def test_without_a_measured_claim_there_is_no_empty_table() -> None:
    text = render.compact(entries())
    assert "|" not in text and text.startswith("Not yet measured: ")
    assert text.endswith("Of 34 claims: 34 `not yet measured`.\n")


def test_without_links_the_files_are_named() -> None:
    assert "`processes/r/tables/verdicts.md`" in render.compact(answered())
