"""Runs, machines and commands of the page, from manifests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from cli.page import origin


def run(folder: Path, name: str, boot: str, cpu: str, **more: Any) -> dict[str, Any]:
    manifest = {
        "fingerprint": {"boot": boot, "cpu_model": cpu, "versions": {"clang": None}},
        "plan": {"seed": 7, "estimate": {"minutes": 3.4}},
        **more,
    }
    target = folder / "raw" / "gauges" / name
    target.mkdir(parents=True)
    (target / "manifest.json").write_text(json.dumps(manifest))
    return {"study": "gauges", "run": name, "preset": "quick", "machine": cpu,
            "started_utc": "2026-11-30T16:12:34Z"}  # fmt: skip


def test_boots_of_one_machine_are_counted_and_machines_kept_apart(tmp_path: Path) -> None:
    runs = [
        run(tmp_path, "1", "a", "x"),
        run(tmp_path, "2", "b", "x"),
        run(tmp_path, "3", "c", "y"),
    ]
    one, other = origin.machines(runs, tmp_path)
    assert one["runs"] == "gauges quick, gauges quick; 2 boots" and other["title"] == "y"
    assert {"key": "versions.clang", "value": "—"} in one["rows"]
    assert one["anchor"] != other["anchor"]


def test_a_run_names_the_commit_that_measured_it_where_that_is_known(tmp_path: Path) -> None:
    source = {"commit": "0123456789abcdef", "changed": True}
    named = origin.of_run(run(tmp_path, "1", "a", "x", source=source), tmp_path)
    assert named.endswith("measured 2026-11-30 16:12 UTC, by commit 0123456789ab with changes")
    assert "commit" not in origin.of_run(run(tmp_path, "2", "a", "x"), tmp_path)


def test_each_run_has_its_command(tmp_path: Path) -> None:
    rows = origin.again([run(tmp_path, "1", "a", "x")], tmp_path)
    assert rows[-1]["command"] == "./study run gauges --preset quick --seed 7"
    assert rows[-1]["minutes"] == "3"
