"""docs/add-a-collector.md works: its text, typed in as it stands, becomes an arm everywhere."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from analysis import report
from experiment import plan

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "add-a-collector.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    """A copy of the collectors with the page's folder in it."""
    root = tmp_path_factory.mktemp("clone")
    shutil.copytree(ROOT / "bpf", root / "bpf")
    files = re.findall(r"^`(bpf/\S+)`:\n\n```\w+\n(.*?)^```$", PAGE, re.M | re.S)
    assert [Path(name).suffix for name, _ in files] == [".py", ".yaml"]
    for name, text in files:
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text)
    return root


@pytest.mark.usefixtures("svg_alone")
def test_a_collector_of_one_folder_and_one_yaml_is_in_table_figure_and_fidelity(clone, tmp_path):
    present = sum(name.isdigit() for name in os.listdir("/proc"))
    made = plan.build(
        "processes",
        "smoke",
        root=clone,
        build_dir=ROOT / "bpf" / "build",
        python=sys.executable,
        system_python="/usr/bin/python3",
        present=present,
        arms=["null_agent", "proc_stat", "proc_schedstat"],
    )
    (tmp_path / "plan.json").write_text(json.dumps(made))
    run = tmp_path / "20240101T000000Z-test-00000000"
    runner = ["/usr/bin/python3", "-I", "-S", str(ROOT / "experiment")]
    subprocess.run([*runner, str(tmp_path / "plan.json"), str(run)], check=True, timeout=120)

    rows = pd.read_csv(run / "trials.csv").query("arm == 'proc_schedstat'")
    assert set(rows["status"]) == {"ok"}, rows["reason"].dropna().tolist()
    out = tmp_path / "out"
    report.process(run, out)
    title = "/proc schedstat"
    fidelity = rows[rows["kind"] == "fidelity"].iloc[0]
    assert fidelity["reported_ns"] / fidelity["known_ns"] == pytest.approx(1, abs=0.02)
    tables = "".join(p.read_text() for p in out.rglob("*table*.csv"))
    assert title in tables or "proc_schedstat" in tables
    figures = [p for p in out.rglob("*.svg") if title in p.read_text()]
    assert figures, "the new arm is in no figure"
    assert "proc_schedstat" in "".join(p.read_text() for p in out.rglob("*fidelity*.csv"))


def test_a_misspelt_key_in_its_yaml_is_one_line_with_file_and_key(clone):
    from experiment import arms

    file = clone / "bpf" / "schedstat" / "proc_schedstat.yaml"
    whole = file.read_text()
    file.write_text(whole.replace("language:", "langauge:"))
    with pytest.raises(arms.ArmError) as caught:
        arms.load_all(clone)
    file.write_text(whole)
    assert "proc_schedstat.yaml" in str(caught.value) and "langauge" in str(caught.value)
    assert "\n" not in str(caught.value)
