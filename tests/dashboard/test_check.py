"""The page Check: rules from the form, the address or a file; what it says is what `crowdcore check` says."""

from __future__ import annotations

from pathlib import Path

import pytest

import crowdcore as cc
from crowdcore import analysis
from crowdcore.analysis.checks.rules import LIMITS, recommended, rules_of, rules_yaml
from crowdcore.analysis.verdicts import VERDICT_WORDS
from crowdcore.core.errors import CrowdError
from crowdcore.data.writers import write_folder
from crowdcore.exhibits import view
from dashboard.components.rules_form import NOTHING, read_rules, rules_of_file, spell_rules
from testkit.crowds import simulate_crowd
from tests.dashboard.app_page import field, open_page, words


def verdicts(test) -> dict[str, int]:
    """How many rules got which verdict, as the page says it."""
    assert not test.exception
    assert not test.error
    return {metric.label: int(metric.value) for metric in test.metric}


def test_recommended_rules_are_checked_at_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CROWDCORE_DATA", str(tmp_path))
    write_folder(simulate_crowd(120), tmp_path / "crowd")
    test = open_page("check", dataset="crowd", names="shown")
    found = cc.check(cc.load_dataset("crowd"), reference="gold")
    for verdict, number in verdicts(test).items():
        assert number == sum(VERDICT_WORDS.get(o.verdict, o.verdict) == verdict.lower() for o in found.outcomes)
    assert sum(verdicts(test).values()) == len(LIMITS)
    assert all(o.sentence in words(test) for o in found.outcomes)
    assert "crowdcore check crowd --rules rules.yaml --junit check.xml --html check.html" in words(test)


def test_a_changed_limit_is_kept_in_the_address_and_an_empty_one_is_not_checked() -> None:
    test = open_page("check", dataset="demo", rules=["min_krippendorff_alpha=0.9", "min_class_percent=1"])
    assert verdicts(test) == {"Fail": 1, "Undecided": 0, "Pass": 1}
    field(test, "Min krippendorff alpha").set_value(0.4).run()
    assert test.query_params["rules"] == ["min_krippendorff_alpha=0.4", "min_class_percent=1"]
    assert verdicts(test) == {"Fail": 0, "Undecided": 0, "Pass": 2}
    field(test, "Min krippendorff alpha").set_value(None).run()
    assert verdicts(test) == {"Fail": 0, "Undecided": 0, "Pass": 1}
    assert "min_krippendorff_alpha: " not in words(test)
    field(test, "Min class percent").set_value(None).run()
    assert not test.exception
    assert "limit something" in test.error[0].value


def test_a_rule_that_cannot_be_is_one_sentence() -> None:
    for rule in ("min_krippendorff_alpha=7", "min_krippendorff_alpha=x", "alpha=1", "level=nan"):
        test = open_page("check", dataset="demo", rules=[rule, "min_class_percent=1"])
        assert not test.exception
        assert len(test.error) == 1


def test_workers_of_a_failed_rule_are_links_by_the_names_that_may_be_read() -> None:
    address = {"dataset": "demo", "rules": ["max_spamming_workers_percent=1"]}
    shown = {link.proto.label for link in open_page("check", names="shown", **address).get("page_link")}
    assert {"w24", "w35"} <= shown
    hidden = {link.proto.label for link in open_page("check", names="hidden", **address).get("page_link")}
    assert not {"w24", "w35"} & hidden
    assert sum(label.startswith("worker ") for label in hidden) == 2


def test_the_downloaded_rules_check_the_same_from_the_command_line(tmp_path: Path) -> None:
    values = read_rules(["min_annotation_accuracy_percent=65", "labels_per_task=4", "max_shared_mistakes=2.5"])
    rules = rules_of(values)
    seen = view(cc.load_dataset("demo"), "majority-vote")
    named = rules_yaml(rules.model_copy(update={"reference": seen.reference}))
    (tmp_path / "rules.yaml").write_text(named)
    read = analysis.read_rules(tmp_path / "rules.yaml")
    assert read == rules.model_copy(update={"reference": "majority-vote"})
    there = cc.check(seen.dataset, read)
    here = cc.check(seen.dataset, rules, reference=seen.truth)
    assert there.frame().equals(here.frame())
    texts, reference = rules_of_file("rules.yaml", named.encode())
    assert rules_of(read_rules(texts)) == rules
    assert reference == "majority-vote"


def test_the_address_holds_what_differs() -> None:
    assert read_rules([]) == {**read_rules([NOTHING]), **recommended()}
    assert spell_rules(read_rules([])) == [f"{name}={recommended()[name]}" for name in LIMITS]
    assert spell_rules(dict.fromkeys(LIMITS)) == [NOTHING]
    spaced = read_rules(["aggregator=dawid-skene smoothing=0.1", "min_class_percent=1"])
    assert rules_of(spaced).aggregator == "dawid-skene smoothing=0.1"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("rules.yaml", b"min_alpha: 1"),
        ("rules.yaml", b"\xff\xfe"),
        ("rules.toml", b"= 1"),
        ("rules.json", b"[1]"),
        ("rules.txt", b"min_class_percent: 1"),
        ("rules.yaml", b"#" * 200_000),
    ],
)
def test_a_bad_file_is_refused(name: str, content: bytes) -> None:
    with pytest.raises(CrowdError):
        rules_of_file(name, content)
