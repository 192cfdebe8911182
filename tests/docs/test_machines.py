"""docs/machines.md gives commands that exist."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "machines.md").read_text(encoding="utf-8")


def test_every_command_of_the_disk_image_is_one() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "vm.disk", "--help"], cwd=ROOT, capture_output=True, text=True
    )
    listed = set(re.findall(r"^    (\w+)  ", done.stdout, re.M))
    assert set(re.findall(r"python -m vm\.disk (\w+)", PAGE)) == listed


def test_the_folders_are_those_of_the_machines() -> None:
    assert "/home/vagrant/probetax" in (ROOT / "Vagrantfile").read_text()
    assert "own=/opt/probetax" in (ROOT / "vm" / "lima.sh").read_text()
    assert "PROBETAX_BOX" in PAGE and "PROBETAX_BOX" in (ROOT / "Vagrantfile").read_text()
