"""The rules of the layout: who may import whom, and what notebooks and the tree may hold."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PLANNING = {"plan.py", "presets.py", "arms.py", "strict_yaml.py", "overrides.py", "layout.py",
            "order.py", "parameters.py", "pilot.py", "power.py"}  # fmt: skip


def modules(folder):
    """Its modules, but for those that a machine runs inside itself, from the clone there."""
    found = sorted((ROOT / folder).rglob("*.py"))
    return [path for path in found if (folder, path.parent.name) != ("vm", "guest")]


def imports(path):
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    return {name.split(".")[0] for name in names}


@pytest.mark.parametrize(
    ("folder", "never"),
    [
        ("experiment", {"analysis", "cli"}),
        ("analysis", {"experiment", "cli"}),
        ("vm", {"analysis", "cli", "experiment"}),
    ],
)
def test_only_cli_imports_both_sides(folder, never):
    assert modules(folder)
    for path in modules(folder):
        assert not imports(path) & never, path


def test_the_runner_imports_the_standard_library_only():
    runner = [p for p in modules("experiment") if p.name not in PLANNING]
    assert len(runner) > 15
    for path in runner:
        others = {"vm"} if path.parent.name == "backends" else set()
        outside = imports(path) - sys.stdlib_module_names - {"experiment", "__future__"} - others
        assert not outside, (path, outside)


def test_machines_need_the_standard_library_only():
    for path in modules("vm"):
        outside = imports(path) - sys.stdlib_module_names - {"vm", "__future__"}
        assert not outside, (path, outside)


def test_modules_fit_in_a_head():
    for folder in ("cli", "experiment", "analysis", "vm"):
        for path in modules(folder):
            assert len(path.read_text().splitlines()) <= 300, path


def tracked():
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    return [ROOT / name for name in listed.stdout.decode().split("\0") if name]


def test_no_file_is_large_and_the_repository_is_small():
    sizes = {path: path.stat().st_size for path in tracked() if path.is_file()}
    assert max(sizes.values()) < 5_000_000
    assert sum(sizes.values()) < 60_000_000


def test_no_registry_address_stands_in_the_lock():
    lines = (ROOT / "requirements.lock").read_text().splitlines()
    assert any("--hash=sha256:" in line for line in lines)
    assert not [line for line in lines if re.search(r"https?://|^-i |^--index|^--find-links", line)]
