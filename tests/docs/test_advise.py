"""docs/advise.md: its commands are ones, and its way from Prometheus to a fleet's file works."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

from cli.advise import arguments, calibrated, fleet
from cli.advise.fleet import Node

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "advise.md").read_text(encoding="utf-8")
#: Answers as Prometheus would.
CURL = """#!/bin/bash
case "$*" in
  *node_processes_pids*) rows='b 610|a 600' ;;
  *'rate(node_context_switches_total[1h])'*) rows='a 2310.5|b 1.2e+03' ;;
  *node_processes_threads*) rows='a 1200|b 900' ;;
esac
printf '{"data":{"result":['
printf '%s\\n' "$rows" | tr '|' '\\n' | while read -r node value; do
  printf '%s{"metric":{"instance":"%s:9100"},"value":[1,"%s"]}' "$comma" "$node" "$value"
  comma=,
done
printf ']}}'
"""


def test_every_command_of_the_page_is_one() -> None:
    lines = re.findall(r"^(?:sudo )?\./study advise.*$", PAGE, re.M)
    assert len(lines) == 3
    for line in lines:
        arguments.parse(shlex.split(line, comments=True)[2:])


def test_the_way_from_prometheus_gives_a_fleet(tmp_path: Path) -> None:
    (script,) = re.findall(r"^```bash\n(.*?)^```$", PAGE, re.M | re.S)
    curl = tmp_path / "curl"
    curl.write_text(CURL)
    curl.chmod(0o755)
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=tmp_path,
        env={"PATH": f"{tmp_path}:/usr/bin:/bin", "PROMETHEUS": "http://prometheus:9090"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    nodes = fleet.read(tmp_path / "fleet.csv")
    assert nodes == [Node("a:9100", 600, 2310.5, 1200), Node("b:9100", 610, 1200, 900)]


def test_the_calibrated_file_is_where_it_says() -> None:
    assert str(calibrated.FILE.relative_to(ROOT)) in PAGE
    assert len(PAGE.splitlines()) <= 60
