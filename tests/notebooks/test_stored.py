"""The notebooks as they are stored: prose and calls, no outputs, parameters as declared."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import nbformat
import pytest

from cli import parameters

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))
STATEMENTS = (
    ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda | ast.For | ast.While
)
LOOPS = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


def read(path: Path) -> Any:
    return nbformat.read(path, as_version=4)


def code(path: Path) -> list[Any]:
    return [cell for cell in read(path).cells if cell.cell_type == "code"]


def parameters_cell(path: Path) -> Any:
    tagged = [cell for cell in code(path) if "parameters" in cell.metadata.get("tags", [])]
    assert len(tagged) == 1
    return tagged[0]


def test_one_notebook_for_each_study_and_one_that_drives() -> None:
    assert {path.stem for path in NOTEBOOKS} == {"run", *parameters.STUDIES}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_is_valid_and_stored_without_outputs(path: Path) -> None:
    nbformat.validate(read(path))
    for cell in code(path):
        assert cell.outputs == []
        assert cell.execution_count is None
    assert "output_type" not in path.read_text()


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_holds_only_prose_and_calls(path: Path) -> None:
    for cell in code(path):
        for node in ast.walk(ast.parse(cell.source)):
            assert not isinstance(node, STATEMENTS | LOOPS), ast.unparse(node)
        assert not any(line.startswith(("%", "!")) for line in cell.source.splitlines())


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_its_parameters_are_the_declared_ones_with_their_defaults(path: Path) -> None:
    source = parameters_cell(path).source
    assert source.startswith("# Parameters"), "how a misspelt one is found"
    namespace: dict[str, Any] = {}
    exec(source, {}, namespace)
    values = {name: value for name, value in namespace.items() if name != "run"}
    own = parameters.resolve(values)
    assert own == parameters.resolve({})
    if path.stem == "run":
        assert list(namespace) == list(parameters.declared())


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_cell_after_the_parameters_checks_them(path: Path) -> None:
    cells = code(path)
    after = cells[cells.index(parameters_cell(path)) + 1]
    assert "globals()" in after.source
    assert "activate .venv" in after.source, "another environment's kernel is told so"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_its_last_cell_proves_by_files_that_it_is_done(path: Path) -> None:
    assert "session.finish(" in code(path)[-1].source
