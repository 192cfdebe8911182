"""Which version measured: what git knows of the folder, and nothing where it knows nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from experiment.source import source


def git(folder: Path, *words: str) -> str:
    identity = ["-c", "user.name=nobody", "-c", "user.email=nobody@localhost"]
    done = subprocess.run(
        ["git", *identity, "-C", str(folder), *words], check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    if shutil.which("git") is None:
        pytest.skip("unavailable: no git here")
    (tmp_path / "data" / "raw").mkdir(parents=True)
    (tmp_path / "data" / "schema.json").write_text("{}")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "first")
    return tmp_path


def test_the_commit_is_told_and_whether_the_code_differs_from_it(clone: Path) -> None:
    commit = git(clone, "rev-parse", "HEAD")
    assert source(clone) == {"commit": commit, "changed": False}
    (clone / "data" / "raw" / "trials.csv").write_text("a run, which is no change of the code")
    assert source(clone) == {"commit": commit, "changed": False}
    (clone / "new.py").write_text("")
    assert source(clone) == {"commit": commit, "changed": True}


def test_another_users_folder_is_read_all_the_same(clone: Path) -> None:
    if os.geteuid():
        pytest.skip("unavailable: needs root (another user's folder)")
    for path in (clone, *clone.rglob("*")):
        os.chown(path, 65534, 65534, follow_symlinks=False)
    assert source(clone) is not None


def test_what_git_does_not_know_has_no_version(clone: Path) -> None:
    inside = clone / "unpacked"
    (inside / "data").mkdir(parents=True)
    (inside / "data" / "schema.json").write_text("{}")
    assert source(inside) is None
    shutil.rmtree(clone / ".git")
    assert source(clone) is None
