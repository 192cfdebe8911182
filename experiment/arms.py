"""Arms are data: one YAML file per collector or agent, checked before anything is measured.

Built-in arms live in ``bpf/<folder>/<name>.yaml``; the study an arm belongs to is the key
``study`` of the file, not its folder. A user's own file, anywhere, follows the same schema.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from experiment import strict_yaml
from experiment.loads import KNOWN_USE

Arm = dict[str, Any]

#: What an arm may need; the doctor probes each of them.
NEEDS = ("bpf", "btf", "tracefs", "bcc", "headers", "kallsyms_data", "mpstat")
PLACEHOLDERS = ("build", "python", "system_python", "root", "interval_ms")
#: Studies whose arms another study measures too.
BORROWED = {
    "accounts": ("processes",),
    "crossover": ("processes",),
    "cores": ("processes", "gauges"),
}
_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")


class ArmError(ValueError):
    """One line: the file, the key, what is wrong and what would be right."""


def _is_name(value: object) -> bool:
    return isinstance(value, str) and _NAME.fullmatch(value) is not None


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value.strip() != "" and "\n" not in value


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(_is_text(item) for item in value)


def _is_blind_to(value: object) -> bool:
    return isinstance(value, dict) and all(
        load in KNOWN_USE and _is_text(why) for load, why in value.items()
    )


def _is_command(value: object) -> bool:
    return _is_texts(value) and bool(value)


def _is_needs(value: object) -> bool:
    return isinstance(value, list) and all(need in NEEDS for need in value)


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value <= 10_000


def _is_ready(value: object) -> bool:
    if value == "fd3":
        return True
    if not isinstance(value, dict) or list(value) != ["after_s"]:
        return False
    seconds = value["after_s"]
    return type(seconds) in (int, float) and 0 < seconds <= 600


def _one_of(*choices: str) -> Callable[[object], bool]:
    return lambda value: isinstance(value, str) and value in choices


_SOURCES = ("none", "proc", "ebpf")
_CONTEXTS = ("none", "own", "others", "both")
_REQUIRED: dict[str, tuple[Callable[[object], bool], str]] = {
    "name": (_is_name, "lower-case letters, digits and _, a letter first"),
    "study": (_is_name, "the name of a study, such as processes"),
    "title": (_is_text, "one line of text"),
    "summary": (_is_text, "one line of text"),
    "source": (_one_of(*_SOURCES), "one of " + ", ".join(_SOURCES)),
    "language": (_is_text, "one line of text"),
    "question": (_is_text, "one line of text"),
    "fields": (_is_texts, "a list of the fields it reads"),
    "command": (_is_command, "a list: the program and its arguments, each a text"),
}
_OPTIONAL: dict[str, tuple[Callable[[object], bool], str, object]] = {
    "differences": (_is_texts, "a list of texts", []),
    "blind_to": (
        _is_blind_to,
        "what it cannot see, one line of text for each of " + ", ".join(KNOWN_USE),
        {},
    ),
    "needs": (_is_needs, "a list of " + ", ".join(NEEDS), []),
    "context": (_one_of(*_CONTEXTS), "one of " + ", ".join(_CONTEXTS), "none"),
    "hook": (lambda v: v is None or _is_text(v), "the event that runs its programs, or null", None),
    "programs": (_is_count, "how many BPF programs it loads, 0 or more", 0),
    "ready": (_is_ready, "fd3, or {after_s: seconds}", "fd3"),
    "dump": (lambda v: isinstance(v, bool), "true or false", False),
    "sleeps_per_scrape": (
        lambda v: v is None or _is_count(v) and v != 0,
        "how often it goes to sleep per scrape, if it does not report its scrapes itself, or null",
        None,
    ),
}


def _check_command(path: Path, command: list[str]) -> None:
    for argument in command:
        try:
            parts = list(string.Formatter().parse(argument))
        except ValueError as error:
            raise ArmError(f"{path}: command: '{argument}': {error}; write {{{{ for {{") from None
        for _, field, spec, conversion in parts:
            if field is not None and (field not in PLACEHOLDERS or spec or conversion):
                known = ", ".join("{" + name + "}" for name in PLACEHOLDERS)
                raise ArmError(
                    f"{path}: command: unknown placeholder {{{field}}}; known are {known}"
                )


def load(path: Path) -> Arm:
    """Read and check one arm.

    Returns:
        The arm with every key of the schema; optional keys that the file leaves out have their
        default.

    Raises:
        ArmError: naming the file and the key.
    """
    try:
        document = strict_yaml.load(path)
    except strict_yaml.YamlError as error:
        raise ArmError(str(error)) from None
    known = [*_REQUIRED, *_OPTIONAL]
    for key in document:
        if key not in known:
            raise ArmError(f"{path}: unknown key '{key}'; known are {', '.join(known)}")
    arm: Arm = {}
    for key, (good, wanted) in _REQUIRED.items():
        if key not in document:
            raise ArmError(f"{path}: key '{key}' is missing; it must be {wanted}")
        arm[key] = _checked(path, key, document[key], good, wanted)
    for key, (good, wanted, default) in _OPTIONAL.items():
        arm[key] = _checked(path, key, document.get(key, default), good, wanted)
    _check_command(path, arm["command"])
    if arm["context"] in ("others", "both") and arm["hook"] is None:
        raise ArmError(
            f"{path}: key 'hook' is missing; context {arm['context']} needs the event that runs"
            " its programs, such as sched_switch"
        )
    if arm["context"] == "none" and arm["hook"] is not None:
        raise ArmError(f"{path}: hook: an arm with context none has no event; leave it out")
    return arm


def _checked(
    path: Path, key: str, value: object, good: Callable[[object], bool], wanted: str
) -> object:
    if not good(value):
        raise ArmError(f"{path}: {key}: {value!r} must be {wanted}")
    return value


def load_all(root: Path) -> dict[str, Arm]:
    """Every built-in arm, by name, in the order of their names.

    Raises:
        ArmError: for the first bad file, or for two files with one name.
    """
    arms: dict[str, Arm] = {}
    origin: dict[str, Path] = {}
    for path in sorted(root.glob("bpf/*/*.yaml")):
        arm = load(path)
        name = arm["name"]
        if name != path.stem:
            raise ArmError(f"{path}: name: {name!r} must be {path.stem!r}, like its file")
        if name in arms:
            raise ArmError(f"{path}: name: '{name}' is already taken by {origin[name]}")
        arms[name], origin[name] = arm, path
    return dict(sorted(arms.items()))


def belongs(arm: Mapping[str, Any], study: str) -> bool:
    """Whether a study may measure the arm; one that reads nothing serves every study."""
    return arm["study"] in (study, *BORROWED.get(study, ())) or arm["source"] == "none"


def select(
    study: str, names: Iterable[str], *, root: Path, known: Mapping[str, Arm] | None = None
) -> dict[str, Arm]:
    """Resolve names of built-in arms and paths of YAML files, in the order given.

    Raises:
        ArmError: an unknown or repeated name, a bad file, or an arm of another study.
    """
    known = load_all(root) if known is None else known
    chosen: dict[str, Arm] = {}
    for name in names:
        if "/" in name or name.endswith((".yaml", ".yml")):
            arm = load(Path(name))
            if arm["name"] in known and arm != known[arm["name"]]:
                raise ArmError(f"{name}: name: '{arm['name']}' is a built-in arm; choose another")
        elif name in known:
            arm = known[name]
        else:
            fitting = [other for other, arm in known.items() if belongs(arm, study)]
            raise ArmError(
                f"unknown arm '{name}'; {study} knows {', '.join(fitting) or 'none'}"
                " (or give the path of a YAML file)"
            )
        if not belongs(arm, study):
            raise ArmError(f"arm '{arm['name']}' belongs to study {arm['study']}, not to {study}")
        if arm["name"] in chosen:
            raise ArmError(f"arm '{arm['name']}' is given twice")
        chosen[arm["name"]] = arm
    return chosen
