"""What holds for every test, and what takes so long that tests share it."""

import contextlib
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from analysis import report
from analysis.figures import kinds, style
from tests.lanes import LANES, lane_of, lanes_in

# These machines are slow and shared: how long an example takes says nothing about the code.
settings.register_profile("any", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any")

ROOT = Path(__file__).resolve().parents[1]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--lane", choices=LANES, help="only the tests of a lane: see tests/lanes.py")


def _interrupted(number: int, frame: object) -> None:
    for each in (signal.SIGINT, signal.SIGTERM):  # a second one must not stop the cleaning up
        signal.signal(each, lambda *_: None)
    raise KeyboardInterrupt


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("lane", default=None):
        # A shell starts what it puts in the background deaf to Ctrl-C, and children inherit that.
        # However a lane is ended, what its tests have started ends with it.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, _interrupted)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    lane = config.getoption("lane", default=None)
    if lane and collection_path.suffix == ".py":
        return lane not in lanes_in(collection_path.relative_to(ROOT).as_posix()) or None
    return None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    lane = config.getoption("lane", default=None)
    if lane:
        others = [item for item in items if lane_of(item.nodeid) != lane]
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if lane_of(item.nodeid) == lane]


@contextlib.contextmanager
def only_svg() -> Iterator[None]:
    """Figures are drawn as SVG; the other files are there and empty."""
    with pytest.MonkeyPatch.context() as patch:
        for kind in ("png", "pdf"):
            patch.setitem(style.FORMATS, kind, lambda figure: b"")
        yield


@pytest.fixture
def svg_alone() -> Iterator[None]:
    """For tests that look at nothing else of a figure."""
    with only_svg():
        yield


@pytest.fixture(scope="session")
def shipped_again(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """data/processed made anew from every shipped run and no other in data/raw; read-only.

    PDF and PNG, which are not shipped and take more than half of the time, are drawn of the first
    figure of each name only.
    """
    folder = tmp_path_factory.mktemp("again")
    tracked = subprocess.run(
        ["git", "ls-files", "data/raw/*/trials.csv"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    for run in sorted((ROOT / name).parent for name in tracked.splitlines()):
        study = folder / "raw" / run.parent.name
        study.mkdir(parents=True, exist_ok=True)
        (study / run.name).symlink_to(run)
    (folder / "drawn").mkdir()
    whole = kinds.write

    def write(to: Path, name: str, *about: Any) -> list[Path]:
        try:
            (folder / "drawn" / name).mkdir()
        except FileExistsError:
            with only_svg():
                return whole(to, name, *about)
        return whole(to, name, *about)

    with pytest.MonkeyPatch.context() as patch:  # inherited by the workers, which are forked
        patch.setattr(kinds, "write", write)
        index = report.process_all(folder / "raw", folder / "processed")
    assert not index["errors"]
    return folder / "processed"
