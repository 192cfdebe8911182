"""Made-up crossover runs, read and fitted once; nothing in them was measured."""

from __future__ import annotations

from pathlib import Path

import pytest
import synthetic_crossover as made

from analysis.crossover.outcome import Crossover, compute
from analysis.load import load_run
from analysis.measures import Measures


def _of(folder: Path, **options: object) -> Crossover:
    exact = bool(options.pop("exact", False))
    run = made.write(folder, made.plan(exact=exact), **options)  # type: ignore[arg-type]
    found = compute(Measures(load_run(run)))
    assert found is not None
    return found


@pytest.fixture(scope="session")
def quiet(tmp_path_factory: pytest.TempPathFactory) -> Crossover:
    """Without noise: the fit has to find the truth."""
    return _of(tmp_path_factory.mktemp("quiet") / "run")


@pytest.fixture(scope="session")
def live(tmp_path_factory: pytest.TempPathFactory) -> Crossover:
    """5 % of noise on every reader."""
    return _of(tmp_path_factory.mktemp("live") / "run", noise=0.05)


@pytest.fixture(scope="session")
def counted(tmp_path_factory: pytest.TempPathFactory) -> Crossover:
    """Instructions, three perturbations."""
    return _of(tmp_path_factory.mktemp("counted") / "run", noise=0.02, exact=True)
