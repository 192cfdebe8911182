"""Synthetic runs, made once a session: they take the time, the tests only read them."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import synthetic

from analysis.figures import kinds
from analysis.report import process


@pytest.fixture(scope="session")
def quick_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six blocks, two levels, four arms; read-only."""
    return synthetic.quick(tmp_path_factory.mktemp("raw") / "processes" / "quick")


@pytest.fixture
def no_ink(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers and texts of the figures, but no drawing: that has its own tests."""
    bare = [replace(kind, draw=lambda *_: None) for kind in kinds.KINDS]
    monkeypatch.setattr(kinds, "KINDS", bare)
    monkeypatch.setattr(kinds, "render", lambda figure: {})


@pytest.fixture(scope="session")
def processed(
    quick_run: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[dict[str, Any], Path]:
    """Summary and folder of everything that follows from it; read-only."""
    out = tmp_path_factory.mktemp("processed") / "quick"
    return process(quick_run, out), out
