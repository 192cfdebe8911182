"""claims.yml is read strictly: what is not as declared is one line that names the place."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from analysis.claims.data import (
    CLAIMS_YML,
    KINDS,
    RULES,
    ClaimsError,
    checked,
    ledger,
    parse,
    unit_of,
)

TEXT = CLAIMS_YML.read_text(encoding="utf-8")
DOCUMENT: dict[str, Any] = yaml.safe_load(TEXT)


def claim(document: dict[str, Any], name: str = "PROC-3") -> dict[str, Any]:
    return next(entry for entry in document["claims"] if entry["id"] == name)


def refused(document: Any) -> str:
    with pytest.raises(ClaimsError) as caught:
        checked(document)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_all_34_claims_are_there_once_in_order() -> None:
    counts = {"PROC": 10, "CORE": 14, "SENSOR": 10}
    wanted = [f"{source}-{n}" for source, count in counts.items() for n in range(1, count + 1)]
    assert [entry.id for entry in ledger().claims] == wanted
    assert [source.key for source in ledger().sources] == list(counts)


def test_every_published_number_has_a_unit_and_every_claim_a_criterion_in_words() -> None:
    for entry in ledger().claims:
        assert entry.kind in KINDS
        assert entry.criterion["presets"] and ledger().rules[entry.criterion["rule"]]
        assert all(unit_of(name) for name in entry.published)
        if entry.kind in ("ratio", "level"):
            assert entry.published, entry.id


def test_published_ratios_are_those_of_the_published_values() -> None:
    """22 = 263.9 / 12.0; values of one digit leave a quarter open (1.3 of 0.03 and 0.02)."""
    checked = 0
    for entry in ledger().claims:
        numbers = {k: v for k, v in entry.published.items() if not k.endswith("sd_percent_core")}
        ratio = numbers.pop("ratio", None)
        if ratio is not None:
            assert max(numbers.values()) / min(numbers.values()) == pytest.approx(ratio, rel=0.25)
            checked += 1
    assert checked == 12


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d: claim(d).update(presest=[]), "claim PROC-3: unknown key 'presest'"),
        (lambda d: claim(d)["criterion"].update(expcet=[]), "did you mean 'expect'?"),
        (lambda d: claim(d)["criterion"].pop("contrast"), "key 'contrast' is missing"),
        (lambda d: claim(d)["criterion"].update(rule="ration"), "did you mean 'ratio'?"),
        (lambda d: claim(d)["criterion"].update(value="rato"), "'rato' is not among"),
        (lambda d: claim(d).update(kind="guess"), "claim PROC-3: unknown kind 'guess'"),
        (lambda d: claim(d).update(id="PORC-3"), "claim PORC-3: no source of this key"),
        (lambda d: claim(d).update(id="PROC-2"), "claim PROC-2: given twice"),
        (lambda d: claim(d)["published"].update(ratio="16.6"), "is '16.6', not a number"),
        (lambda d: claim(d)["published"].update(speed=3), "'speed' has no unit in its name"),
        (lambda d: claim(d).update(published=None), "'published' is None"),
        (lambda d: claim(d)["cell"].pop("study"), "claim PROC-3, cell: key 'study' is missing"),
        (lambda d: d["limits"].pop("misfit"), "limits: key 'misfit' is missing"),
        (lambda d: d["rules"].update(wish="x"), "rules: unknown key 'wish'"),
        (lambda d: d["sources"][0].update(auther="x"), "did you mean 'author'?"),
        (lambda d: d["sources"][0]["studies"]["processes"].pop("proc"), "source PROC, study proc"),
        (lambda d: d.update(declared="yesterday"), "declared: 'yesterday' is no UTC time"),
        (lambda d: d.update(claims={}), "the file: 'claims' is {}"),
        (lambda d: d["claims"].append("PROC-11"), "claim 35: not a mapping"),
    ],
)
def test_a_wrong_entry_is_one_line_with_its_place(change: Any, said: str) -> None:
    document = copy.deepcopy(DOCUMENT)
    change(document)
    assert said in refused(document)


def test_a_key_given_twice_and_a_text_that_is_not_yaml_are_refused() -> None:
    with pytest.raises(ClaimsError, match="'limits' is given twice"):
        parse(TEXT + "\nlimits: {}\n")
    with pytest.raises(ClaimsError, match="^not YAML: [^\n]*$"):
        parse("claims: [")
    assert "not a mapping" in refused(["claims"])


words = st.text("abcdefghijklmnopqrstuvwxyz_", min_size=1, max_size=12)


@given(at=st.integers(0, len(DOCUMENT["claims"]) - 1), key=words)
def test_no_unknown_key_of_any_claim_gets_through(at: int, key: str) -> None:
    document = copy.deepcopy(DOCUMENT)
    entry = document["claims"][at]
    known = {*RULES[entry["criterion"]["rule"]], *entry["criterion"]} | {"beside", "value"}
    if key not in known:
        entry["criterion"][key] = 1
        assert f"claim {entry['id']}, criterion: unknown key {key!r}" in refused(document)


def named_arms(value: Any) -> set[str]:
    """Every text in a criterion that stands where an arm does."""
    if isinstance(value, dict):
        places = ("numerator", "denominator", "arm", "rising", "flat", "pairs")
        here = {text for key in places for text in texts(value.get(key))}
        return here.union(*(named_arms(entry) for entry in value.values() if entry))
    return set()


def texts(value: Any) -> set[str]:
    if isinstance(value, str):
        return {value}
    return set().union(*map(texts, value)) if isinstance(value, list) else set()


def test_every_arm_named_for_a_study_that_exists_is_there() -> None:
    """A misspelt one would leave its claim `not yet measured` without a word. A study exists once
    it has presets: an arm may be there before anybody measures it."""
    root = CLAIMS_YML.parents[1]
    about = [yaml.safe_load(path.read_text()) for path in root.glob("bpf/*/*.yaml")]
    arms = {str(arm["name"]) for arm in about}
    studies = set(yaml.safe_load((root / "experiment" / "presets.yaml").read_text())["studies"])
    seen = set()
    for claim in DOCUMENT["claims"]:
        criterion = claim["criterion"]
        for part in (criterion, criterion.get("also"), criterion.get("calibrated")):
            if part and part["study"] in studies:
                wanted = named_arms({key: v for key, v in part.items() if key != "also"})
                assert wanted <= arms, (claim["id"], wanted - arms)
                seen |= wanted
    assert {"proc_stat", "bpf_timer", "sched_switch_published"} <= seen
