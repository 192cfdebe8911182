"""What holds for every test, and what takes so long that tests share it."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from analysis import report

# These machines are slow and shared: how long an example takes says nothing about the code.
settings.register_profile("any", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any")

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def shipped_again(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """data/processed made anew from every shipped run and no other in data/raw; read-only."""
    folder = tmp_path_factory.mktemp("again")
    tracked = subprocess.run(
        ["git", "ls-files", "data/raw/*/trials.csv"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    for run in sorted((ROOT / name).parent for name in tracked.splitlines()):
        study = folder / "raw" / run.parent.name
        study.mkdir(parents=True, exist_ok=True)
        (study / run.name).symlink_to(run)
    index = report.process_all(folder / "raw", folder / "processed")
    assert not index["errors"]
    return folder / "processed"
