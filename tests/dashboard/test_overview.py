"""Pages of the dataset: verdicts on Overview, marking labels on Review, and rules on Check."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import crowdcore as cc
from crowdcore import analysis, load_dataset
from crowdcore.analysis.checks.rules import LIMITS, recommended, rules_of, rules_yaml
from crowdcore.analysis.verdicts import VERDICT_WORDS
from crowdcore.core.errors import CrowdError
from crowdcore.data.writers import write_folder
from crowdcore.exhibits import view
from crowdcore.marks import add_mark, current_marks
from dashboard.components.rules_form import NOTHING, read_rules, rules_of_file, spell_rules
from testkit.crowds import simulate_crowd
from tests.dashboard.app_page import button, field, open_page, table, words


def links(test, label: str) -> list[str]:
    return [link.proto.query_string for link in test.get("page_link") if link.proto.label == label]


def test_planted_workers_and_shared_mistakes_are_told_with_links() -> None:
    test = open_page("overview", dataset="demo", names="shown")
    assert not test.error
    shown = words(test)
    assert "w04 on " in table(test, "reason")["reason"].str.cat()
    assert "“one” “seven”" in shown
    metrics = {metric.label: metric.value for metric in test.metric}
    assert metrics["Remove"] == "2"
    assert "worker=w35" in links(test, "w35")[0]
    assert table(test, "κ low")["verdict"].iloc[0] == "remove"


def test_a_file_on_the_command_line_is_opened_with_its_questions(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "votes.csv"
    file.write_text("item,rater,answer\n1,ann,cat\n1,bob,dog\n2,ann,cat\n")
    monkeypatch.setattr("sys.argv", ["app.py", str(file)])
    test = open_page("overview")
    assert not test.error
    assert "votes.csv" in words(test)
    assert [button.label for button in test.button if button.label == "Open it"]


def test_a_threshold_comes_from_the_address() -> None:
    test = open_page("overview", dataset="demo", trust="95")
    assert next(slider.value for slider in test.slider if slider.label.startswith("Trust")) == 95
    assert int(next(metric.value for metric in test.metric if metric.label == "Trust")) < 33


def test_a_worker_s_page_has_verdict_partners_and_message() -> None:
    test = open_page("annotators", dataset="demo", view="One worker", worker="w05", names="shown")
    assert not test.error
    assert "w04 on " in words(test)
    assert table(test, "other")["other"].iloc[0] == "w04"
    assert "your 170 labels" in words(test)


def test_who_cannot_be_judged_is_not_said_to_be_fine(data_folder: object) -> None:
    test = open_page("overview", dataset="labelme")
    text = "No fault was found in any worker. The labels of 19 of 59 workers do not tell."
    assert text in [message.value for message in test.success]
    assert "Review gold that may be wrong" in {link.proto.label for link in test.get("page_link")}
    assert "Review tasks to relabel" not in {link.proto.label for link in test.get("page_link")}
    assert "Review ambiguous tasks" not in {link.proto.label for link in test.get("page_link")}
    assert table(test, "reason")["verdict"].iloc[0] == "undecided"


def test_where_nobody_can_be_judged_there_is_no_praise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = replace(simulate_crowd(30, n_workers=1, per_task=1), gold=None)
    write_folder(alone, tmp_path / "alone")
    monkeypatch.setenv("CROWDCORE_DATA", str(tmp_path))
    test = open_page("overview", dataset="alone")
    assert not test.success
    assert any("how good any worker" in message.value for message in test.info)


def test_labels_behind_a_cell_are_marked_commented_and_unmarked() -> None:
    demo = load_dataset("demo")
    test = open_page("review", dataset="demo", true="one", given="seven", names="shown")
    assert not test.error
    listed = table(test, "label")
    assert set(listed["label"]) == {"seven"}
    assert set(listed["gold"]) == {"one"}
    task, worker = listed["task"].iloc[0], listed["worker"].iloc[0]
    next(box for box in test.text_input if box.label == "Comment").input("no foot")
    button(test, "one").click().run()
    mark = current_marks(demo)[task]
    assert (mark.says, mark.truth, mark.worker, mark.comment) == ("wrong", "one", worker, "no foot")
    assert (table(test, "label")["mark"] == "wrong").any()
    assert test.query_params["task"] != task
    button(test, "Right").click().run()
    button(test, "Unclear").click().run()
    assert sorted(m.says for m in current_marks(demo).values()) == ["right", "unclear", "wrong"]
    button(test, "Undo").click().run()
    assert len(current_marks(demo)) == 2
    button(test, "Undo").click().run()
    button(test, "Undo").click().run()
    button(test, "Undo").click().run()  # nothing is left to undo
    assert not test.exception
    assert current_marks(demo) == {}


def test_marks_become_the_reference_of_every_page() -> None:
    demo = load_dataset("demo")
    for number in range(30):
        add_mark(demo, str(demo.task_ids[number]), demo.classes[demo.gold[number]])
    test = open_page("review", dataset="demo", by="task", names="hidden")
    assert "Marked tasks: 30" in words(test)
    assert not any(worker in table(test, "most given").to_csv() for worker in demo.worker_ids)
    button(test, "Use as reference").click().run()
    assert next(box for box in test.sidebar.selectbox if box.label == "Reference").value == "reviewed"


@pytest.mark.parametrize("page", ["overview", "annotators"])
def test_pages_draw_with_reviewed_gold(page: str) -> None:
    demo = load_dataset("demo")
    for number in range(30):
        add_mark(demo, str(demo.task_ids[number]), demo.classes[demo.gold[number]])
    test = open_page(page, dataset="demo", reference="reviewed")
    assert not test.error
    assert not test.warning or "no reference" not in words(test)


def test_a_gone_class_in_the_address_and_no_labels_are_told() -> None:
    test = open_page("review", dataset="demo", true="nine", given="one", show="marked")
    assert "No label matches" in words(test)


def test_the_glossary_lists_what_tooltips_say() -> None:
    test = open_page("glossary", dataset="demo")
    assert "κ low" in table(test, "meaning")["column"].tolist()


def test_marks_are_taken_from_a_file_and_its_faults_are_listed() -> None:
    test = open_page("review", dataset="demo", names="shown")
    content = b"task,right class,comment\ndigit-0001,seven,a bar\nno-task,one,\n"
    test.get("file_uploader")[0].upload("marks.csv", content, "text/csv").run()
    assert not test.exception
    assert table(test, "fault")["column"].tolist() == ["task"]
    button(test, "Take 1 mark").click().run()
    assert current_marks(load_dataset("demo"))["digit-0001"].comment == "a bar"


def verdicts(test) -> dict[str, int]:
    """Return the number of rules with each verdict, as the page shows it."""
    assert not test.exception
    assert not test.error
    return {metric.label: int(metric.value) for metric in test.metric}


def test_recommended_rules_are_checked_at_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CROWDCORE_DATA", str(tmp_path))
    write_folder(simulate_crowd(120), tmp_path / "crowd")
    test = open_page("check", dataset="crowd", names="shown")
    check = cc.check(cc.load_dataset("crowd"), reference="gold")
    for verdict, number in verdicts(test).items():
        assert number == sum(VERDICT_WORDS.get(o.verdict, o.verdict) == verdict.lower() for o in check.outcomes)
    assert sum(verdicts(test).values()) == len(LIMITS)
    assert all(o.sentence in words(test) for o in check.outcomes)
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
