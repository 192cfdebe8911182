"""Synthetic runs, made once a session: they take the time, the tests only read them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import synthetic


@pytest.fixture(scope="session")
def quick_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six blocks, two levels, four arms; read-only."""
    return synthetic.quick(tmp_path_factory.mktemp("raw") / "processes" / "quick")
