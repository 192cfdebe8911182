"""Every kind of wrong parameter is fatal, in one line that names it and what would be right."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli import parameters
from cli.__main__ import measuring
from cli.problem import Problem

# as papermill's -p hands them over: false stays text, 1e3 is a float, nan is nan, None is missing
WRONG = [
    ("study", "proceses", "processes"),
    ("study", "", "processes"),
    ("study", 3, "processes"),
    ("study", [], "empty"),
    ("study", "processes,processes", "each once"),
    ("preset", "quik", "did you mean 'quick'"),
    ("preset", True, "quick"),
    ("runs", "ten", "whole number"),
    ("runs", 1e3, "whole number"),
    ("runs", True, "whole number"),
    ("runs", 0, "from 2"),
    ("runs", -4, "from 2"),
    ("runs", 10**9, "to 200"),
    ("window_s", "false", "a number"),
    ("window_s", math.nan, "a number"),
    ("window_s", math.inf, "a number"),
    ("window_s", 0, "a number"),
    ("window_s", False, "a number"),
    ("interval_ms", 0.5, "whole number"),
    ("interval_ms", 1, "from 10"),
    ("process_counts", "100,many", "whole number"),
    ("process_counts", [100, 100], "each once"),
    ("process_counts", [100.0], "whole number"),
    ("process_counts", 1_000_000, "30,000"),
    ("arms", "", "names of arms"),
    ("arms", 7, "names of arms"),
    ("seed", -1, "from 0"),
    ("seed", "010x", "whole number"),
    ("backend", "there", "here"),
    ("minutes", "nan", "a number"),
    ("minutes", 0.0, "a number"),
    ("resume", "false", "True, False"),
    ("resume", "yes", "True, False"),
    ("resume", 1, "True, False"),
    ("output", "", "path of a folder"),
    ("output", 12, "path of a folder"),
    ("output", "~nobody-of-this-name/data", "a user of this machine"),
]


@pytest.mark.parametrize(("name", "value", "cure"), WRONG)
def test_a_wrong_value_is_fatal(name: str, value: Any, cure: str) -> None:
    with pytest.raises(Problem) as caught:
        parameters.resolve({name: value})
    text = str(caught.value)
    assert text.startswith(f"parameter {name} is ") and cure in text
    assert "\n" not in text


@pytest.mark.parametrize(
    ("name", "meant"),
    [("n_proc", "known: "), ("run", "'runs'"), ("windows_s", "'window_s'"), ("Preset", "'preset'")],
)
def test_an_unknown_name_is_fatal_and_hints(name: str, meant: str) -> None:
    with pytest.raises(Problem, match="unknown parameter") as caught:
        parameters.resolve({name: 1})
    assert meant in str(caught.value)


def test_every_problem_is_told_at_once() -> None:
    with pytest.raises(Problem) as caught:
        parameters.resolve({"runs": "x", "seed": -1, "n_proc": 2})
    assert len(str(caught.value).splitlines()) == 3


def test_defaults_are_in_force_where_nothing_or_none_is_given() -> None:
    values = parameters.resolve({"runs": None, "output": None})
    assert values["study"] == ["processes", "gauges"]
    assert values["preset"] == "quick"
    assert values["runs"] is None
    assert values["output"].name == "data"
    assert list(values) == list(parameters.declared())


@pytest.mark.parametrize(
    ("given_value", "resolved"),
    [("100,600", [100, 600]), ([100, 600], [100, 600]), (600, [600]), ("600", [600])],
)
def test_lists_come_as_text_too(given_value: Any, resolved: list[int]) -> None:
    assert parameters.resolve({"process_counts": given_value})["process_counts"] == resolved


def test_runs_and_minutes_exclude_each_other() -> None:
    with pytest.raises(Problem, match="not both"):
        parameters.resolve({"runs": 8, "minutes": 3})


@given(
    st.dictionaries(
        st.sampled_from(list(parameters.declared())),
        st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.text()),
    )
)
def test_whatever_is_given_resolves_or_is_a_problem(values: dict[str, Any]) -> None:
    try:
        resolved = parameters.resolve(values)
    except Problem as problem:
        assert str(problem)
    else:
        assert parameters.resolve(parameters.plain(resolved)) == resolved


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("false", False),
        ("True", True),
        ("10", 10),
        ("0.5", 0.5),
        ("None", None),
        ("010", "010"),
        ("1_000", "1_000"),
        ("1e3", "1e3"),
        ("nan", "nan"),
        ("100,600", "100,600"),
    ],
)
def test_the_command_line_reads_only_plain_values(text: str, value: Any) -> None:
    assert parameters.from_text(text) == value
    assert type(parameters.from_text(text)) is type(value)


def test_options_and_papermill_style_say_the_same() -> None:
    long = measuring("run", ["processes", "--window-s", "2", "--process-counts", "100,600"])
    short = measuring(
        "run", ["processes", "-p", "window_s", "2", "-p", "process_counts", "100,600"]
    )
    assert long == short == {"study": "processes", "window_s": 2, "process_counts": "100,600"}


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["--run", "3"], "--runs"),
        (["--presets=quick"], "--preset"),
        (["--window_s", "3"], "--window-s"),
        (["-p", "window_s"], "--help"),
        (["processes", "--study", "gauges"], "twice"),
    ],
)
def test_wrong_options_are_a_problem(words: list[str], hint: str) -> None:
    with pytest.raises(Problem) as caught:
        measuring("run", words)
    assert hint in str(caught.value) and "\n" not in str(caught.value)


def test_a_relative_output_becomes_absolute(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    assert parameters.resolve({"output": "here"})["output"] == tmp_path / "here"
