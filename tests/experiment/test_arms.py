"""Arm files: whole ones load, broken ones end in one line that names file and key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from experiment import arms, needs
from experiment.arms import ArmError

WHOLE: dict[str, Any] = {
    "name": "proc_stat",
    "study": "processes",
    "title": "/proc polling",
    "summary": "Reads every /proc/<pid>/stat.",
    "source": "proc",
    "language": "C",
    "question": "CPU time of every process since the previous scrape",
    "fields": ["pid", "start_time", "cpu_time"],
    "command": ["{build}/proc_stat", "--interval-ms", "{interval_ms}"],
}
ROOT = Path(__file__).resolve().parents[2]


def write(folder: Path, text: object, name: str = "proc_stat") -> Path:
    path = folder / f"{name}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    words = text if isinstance(text, str) else yaml.safe_dump(text)
    path.write_text(words, encoding="utf-8")
    return path


def refusal(path: Path) -> str:
    with pytest.raises(ArmError) as caught:
        arms.load(path)
    text = str(caught.value)
    assert "\n" not in text
    assert str(path) in text
    return text


def test_the_projects_own_arms_are_whole() -> None:
    known = arms.load_all(ROOT)
    assert {"null_agent", "proc_stat", "sched_switch_published", "sched_switch"} <= set(known)
    assert {arm["study"] for arm in known.values()} >= {"processes", "gauges"}
    for arm in known.values():
        assert (arm["source"] == "ebpf") == bool(arm["programs"]), arm["name"]


def test_a_blind_spot_is_a_listed_difference() -> None:
    """What a fidelity trial forgives is said where a reader of the arm looks for it."""
    for arm in arms.load_all(ROOT).values():
        for why in arm["blind_to"].values():
            assert any(text.startswith(why) for text in arm["differences"]), (arm["name"], why)


def test_optional_keys_get_their_defaults(tmp_path: Path) -> None:
    arm = arms.load(write(tmp_path, WHOLE))
    assert {key: arm[key] for key in WHOLE} == WHOLE
    assert (arm["needs"], arm["context"], arm["hook"], arm["programs"]) == ([], "none", None, 0)
    assert (arm["ready"], arm["dump"], arm["differences"]) == ("fd3", False, [])
    assert arm["blind_to"] == {}


@pytest.mark.parametrize("key", sorted(WHOLE))
def test_a_missing_key_is_named(tmp_path: Path, key: str) -> None:
    rest = {other: value for other, value in WHOLE.items() if other != key}
    assert f"key '{key}' is missing" in refusal(write(tmp_path, rest))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("name", "Proc-Stat"),
        ("name", 7),
        ("title", ""),
        ("title", "two\nlines"),
        ("summary", ["a"]),
        ("source", "kernel"),
        ("source", ["proc"]),
        ("fields", "pid"),
        ("fields", [1]),
        ("command", []),
        ("command", "proc_stat --interval-ms 1000"),
        ("command", ["sleep", 5]),
        ("needs", ["bfp"]),
        ("needs", "bpf"),
        ("context", "kernel"),
        ("hook", 5),
        ("programs", -1),
        ("programs", True),
        ("programs", "2"),
        ("ready", "fd4"),
        ("ready", {"after_s": "2"}),
        ("ready", {"after_s": 0}),
        ("ready", {"after": 2}),
        ("dump", "yes"),
        ("dump", 1),
        ("differences", None),
        ("blind_to", ["children"]),
        ("blind_to", {"childs": "never seen"}),
        ("blind_to", {"children": ""}),
    ],
)
def test_a_mistyped_key_is_named(tmp_path: Path, key: str, value: object) -> None:
    assert f"{key}: " in refusal(write(tmp_path, WHOLE | {key: value}))


def test_an_unknown_key_is_named_with_the_known_ones(tmp_path: Path) -> None:
    text = refusal(write(tmp_path, WHOLE | {"comand": ["x"]}))
    assert "unknown key 'comand'" in text
    assert "command" in text


@pytest.mark.parametrize(
    ("argument", "words"),
    [
        ("{intervall}", "unknown placeholder {intervall}"),
        ("{}", "unknown placeholder {}"),
        ("{build", "command: '{build'"),
        ("{build!r}", "unknown placeholder"),
        ("{interval_ms:5}", "unknown placeholder"),
    ],
)
def test_placeholders(tmp_path: Path, argument: str, words: str) -> None:
    assert words in refusal(write(tmp_path, WHOLE | {"command": ["x", argument]}))


def test_braces_can_be_doubled(tmp_path: Path) -> None:
    arm = arms.load(write(tmp_path, WHOLE | {"command": ["awk", "{{print}}"]}))
    assert arm["command"] == ["awk", "{{print}}"]


def test_a_hook_goes_with_its_context(tmp_path: Path) -> None:
    assert "key 'hook' is missing" in refusal(write(tmp_path, WHOLE | {"context": "others"}))
    assert "hook: " in refusal(write(tmp_path, WHOLE | {"hook": "sched_switch"}))
    both = {"context": "both", "hook": "sched_switch"}
    assert arms.load(write(tmp_path, WHOLE | both))["hook"] == "sched_switch"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "one mapping"),
        ("- a\n- b\n", "one mapping"),
        ("name: [", "line 1"),
        ("name: a\nname: b\n", "line 2 key 'name' is given twice"),
        ("? [a, b]\n: c\n", "a key must be plain text"),
        ("name: !!python/object:os.system x\n", "could not determine a constructor"),
        ("a: 2020-13-45\n", "not YAML"),
        ("a: \x01\n", "not YAML"),
    ],
)
def test_what_is_not_an_arm_file(tmp_path: Path, text: str, words: str) -> None:
    assert words in refusal(write(tmp_path, text))


def test_unreadable_files(tmp_path: Path) -> None:
    assert "No such file" in refusal(tmp_path / "absent.yaml")
    assert "Is a directory" in refusal(tmp_path)
    path = tmp_path / "latin.yaml"
    path.write_bytes(b"title: caf\xe9\n")
    assert "not UTF-8" in refusal(path)


def test_on_and_off_stay_words(tmp_path: Path) -> None:
    arm = arms.load(write(tmp_path, yaml.safe_dump(WHOLE) + "differences: [on, off, yes]\n"))
    assert arm["differences"] == ["on", "off", "yes"]


@given(
    document=st.dictionaries(
        st.sampled_from(sorted([*WHOLE, "needs", "ready", "x"])),
        st.none() | st.booleans() | st.integers() | st.text() | st.lists(st.text()),
        max_size=12,
    )
)
@settings(max_examples=150, deadline=None)
def test_any_mapping_loads_or_is_refused_in_one_line(
    tmp_path_factory: pytest.TempPathFactory, document: dict[str, Any]
) -> None:
    path = write(tmp_path_factory.mktemp("arm"), WHOLE | document)
    try:
        arm = arms.load(path)
    except ArmError as error:
        assert "\n" not in str(error)
    else:
        assert set(arm) == {
            *WHOLE,
            "sleeps_per_scrape",
            "differences",
            "blind_to",
            "needs",
            "context",
            "hook",
            "programs",
            "ready",
            "dump",
        }


# Selecting


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write(tmp_path / "bpf" / "processes", WHOLE)
    write(
        tmp_path / "bpf" / "processes",
        WHOLE | {"name": "null_agent", "source": "none"},
        "null_agent",
    )
    write(tmp_path / "bpf" / "gauges", WHOLE | {"name": "files", "study": "gauges"}, "files")
    return tmp_path


def test_all_are_found_by_name(root: Path) -> None:
    assert list(arms.load_all(root)) == ["files", "null_agent", "proc_stat"]


def test_selecting_keeps_the_order_given(root: Path, tmp_path: Path) -> None:
    mine = write(tmp_path / "elsewhere", WHOLE | {"name": "mine"}, "any-file-name")
    chosen = arms.select("processes", [str(mine), "proc_stat", "null_agent"], root=root)
    assert list(chosen) == ["mine", "proc_stat", "null_agent"]


def test_an_arm_that_reads_nothing_serves_every_study(root: Path) -> None:
    assert list(arms.select("gauges", ["null_agent", "files"], root=root)) == [
        "null_agent",
        "files",
    ]


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["nobody"], "unknown arm 'nobody'; processes knows null_agent, proc_stat"),
        (["files"], "belongs to study gauges, not to processes"),
        (["proc_stat", "proc_stat"], "given twice"),
        (["/nowhere/x.yaml"], "/nowhere/x.yaml: No such file"),
    ],
)
def test_bad_selections(root: Path, names: list[str], words: str) -> None:
    with pytest.raises(ArmError, match=words):
        arms.select("processes", names, root=root)


def test_a_users_arm_cannot_pass_for_a_built_in_one(root: Path, tmp_path: Path) -> None:
    mine = write(tmp_path / "elsewhere", WHOLE | {"title": "mine"}, "proc_stat")
    with pytest.raises(ArmError, match="'proc_stat' is a built-in arm"):
        arms.select("processes", [str(mine)], root=root)


def test_names_follow_files_and_are_unique(root: Path) -> None:
    wrong = write(root / "bpf" / "processes", WHOLE | {"name": "other"}, "some")
    with pytest.raises(ArmError, match="'other' must be 'some'"):
        arms.load_all(root)
    wrong.unlink()
    write(root / "bpf" / "extra", WHOLE)
    with pytest.raises(ArmError, match="'proc_stat' is already taken by"):
        arms.load_all(root)


def test_every_need_of_an_arm_is_probed() -> None:
    assert set(needs.NEEDS) == set(arms.NEEDS)
