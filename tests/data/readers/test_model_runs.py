"""Folders of lm-evaluation-harness and lines of Every Eval Ever, after their published schemas (both install large)."""

from __future__ import annotations

from pathlib import Path

import pytest

import crowdcore as cc
from crowdcore.core.errors import CrowdError, DataError, SettingError
from testkit.judge_files import instance, lm_sample, lm_text, write_lines

TIME = "2026-01-02T03-04-05.678901"
CHOSEN = {"org__m1": (0, 1, 1, 0), "org__m2": (0, 1, 0, 0), "org__m3": (1, 1, 1, 0)}


def harness(folder: Path, task: str = "boolq", options: tuple[str, ...] = ("no", "yes")) -> Path:
    for model, chosen in CHOSEN.items():
        lines = [lm_sample(k, choice, k % 2, options) for k, choice in enumerate(chosen)]
        write_lines(lines, folder / model / f"samples_{task}_{TIME}.jsonl")
    return folder


def test_a_folder_is_a_panel_of_models(tmp_path: Path) -> None:
    panel = cc.read_dataset(harness(tmp_path))
    assert [*panel.worker_ids] == [*CHOSEN] and panel.classes == ("no", "yes")
    assert panel.n_tasks == 4 and [panel.classes[c] for c in panel.gold] == ["no", "yes", "no", "yes"]
    assert panel.label.tolist() == [0, 0, 1, 1, 1, 1, 1, 0, 1, 0, 0, 0]
    assert panel.media.columns["text"].tolist()[1] == "question 1"


def test_options_that_differ_are_letters(tmp_path: Path) -> None:
    for model, chosen in CHOSEN.items():
        lines = [lm_sample(k, choice, k % 2, (f"no {k}", f"yes {k}")) for k, choice in enumerate(chosen)]
        write_lines(lines, tmp_path / model / "samples_arc.jsonl")
    assert cc.read_dataset(tmp_path).classes == ("A", "B")


def test_a_target_may_be_the_text_of_an_option(tmp_path: Path) -> None:
    for model, chosen in CHOSEN.items():
        lines = [lm_sample(k, c, ["no", "yes"][k % 2], acc=float(c == k % 2)) for k, c in enumerate(chosen)]
        write_lines(lines, tmp_path / model / "samples_boolq.jsonl")
    assert (cc.read_dataset(tmp_path).gold == [0, 1, 0, 1]).all()


def test_several_tasks_keep_their_items_apart(tmp_path: Path) -> None:
    both = cc.read_dataset(harness(harness(tmp_path), "rte"))
    assert both.n_tasks == 8 and "rte / 3" in both.task_ids
    assert cc.read_dataset(tmp_path, question="rte", accept=True).n_tasks == 4
    with pytest.raises(SettingError):
        cc.read_dataset(tmp_path, question="mmlu")


def test_several_files_of_one_folder_are_models_where_their_documents_are_the_same(tmp_path: Path) -> None:
    for model, chosen in CHOSEN.items():
        lines = [lm_sample(k, choice, k % 2) for k, choice in enumerate(chosen)]
        write_lines(lines, tmp_path / f"samples_boolq_{model}.jsonl")
    assert [*cc.read_dataset(tmp_path).worker_ids] == ["m1", "m2", "m3"]


def test_results_name_the_model(tmp_path: Path) -> None:
    write_lines([lm_sample(k, k % 2, k % 2) for k in range(4)], tmp_path / f"samples_boolq_{TIME}.jsonl")
    (tmp_path / f"results_{TIME}.json").write_text('{"model_name": "org/m7"}')
    found = cc.data.examine(tmp_path)
    assert [*found.dataset().worker_ids] == ["org/m7"]
    assert "one-judge" in [finding.code for finding in found.report.findings]


def test_free_texts_are_right_or_wrong_and_one_filter_is_read(tmp_path: Path) -> None:
    for model, rights in (("m1", (1, 0, 1)), ("m2", (1, 1, 0))):
        lines = [lm_text(k, f"{k * r}", bool(r), rule) for rule in ("strict", "loose") for k, r in enumerate(rights)]
        write_lines(lines, tmp_path / model / f"samples_gsm8k_{TIME}.jsonl")
    found = cc.data.examine(tmp_path)
    assert found.report.n_rows == 12 and found.report.n_left_out == 6
    right = found.dataset()
    assert right.classes == ("wrong", "right") and {*right.gold} == {1} and right.label.sum() == 4
    with pytest.raises(SettingError):
        cc.read_dataset(tmp_path, label="bleu")


def test_a_choice_that_contradicts_its_score_is_not_taken_for_the_answer(tmp_path: Path) -> None:
    for model, chosen in CHOSEN.items():
        lines = [lm_sample(k, choice, k % 2, acc=float(choice != k % 2)) for k, choice in enumerate(chosen)]
        write_lines(lines, tmp_path / model / "samples_boolq.jsonl")
    assert cc.read_dataset(tmp_path).classes == ("wrong", "right")


def test_an_empty_file_beside_others_changes_nothing(tmp_path: Path) -> None:
    write_lines([], harness(tmp_path) / "org__m9" / "samples_boolq.jsonl")
    found = cc.data.examine(tmp_path)
    assert found.dataset().n_workers == 3
    assert [f.count for f in found.report.findings if f.code == "empty-files"] == [1]


def test_a_missing_score_and_a_huge_text_are_counted(tmp_path: Path) -> None:
    lines = [lm_sample(k, 1, 1, filtered_resps=[["x" * 1_000_000]] if k == 3 else []) for k in range(4)]
    write_lines(lines, harness(tmp_path) / "org__m4" / "samples_boolq.jsonl")
    assert {f.code: f.left_out for f in cc.data.examine(tmp_path).report.changes} == {
        "no-score": 4,
        "workers-without-labels": 0,
    }


@pytest.mark.parametrize("parts", [("boolq",), ("boolq", "rte")])
def test_every_eval_ever(parts: tuple[str, ...], tmp_path: Path) -> None:
    lines = [
        instance(k, model, ("no", "yes")[(k + skill) % 2], ("no", "yes")[k % 2], part)
        for part in parts
        for skill, model in enumerate(("org/m1", "org/m2"))
        for k in range(6)
    ]
    panel = cc.read_dataset(write_lines(lines, tmp_path / "instances.jsonl"))
    assert [*panel.worker_ids] == ["org/m1", "org/m2"] and panel.n_tasks == 6 * len(parts)
    right = (panel.label == panel.gold[panel.task]).astype(int)
    assert [right[panel.worker == w].mean() for w in (0, 1)] == [1, 0]


def test_scores_between_are_asked_about(tmp_path: Path) -> None:
    lines = [instance(k, m, f"a{k}", "b") | {"evaluation": {"score": k / 9}} for m in ("m1", "m2") for k in range(6)]
    file = write_lines(lines, tmp_path / "instances.jsonl")
    with pytest.raises(DataError, match="right"):
        cc.read_dataset(file)
    with pytest.raises(CrowdError):
        cc.read_dataset(write_lines([], tmp_path / "none" / "instances.jsonl"))


def test_a_damaged_file_of_a_folder_is_not_passed_over(tmp_path: Path) -> None:
    name = "samples_boolq_2026-01-02T03-04-05.678901.jsonl"
    write_lines([lm_sample(k, k % 2, k % 2) for k in range(4)], tmp_path / "m1" / name)
    (tmp_path / "m2").mkdir()
    (tmp_path / "m2" / name).write_text("not found\n")
    with pytest.raises(cc.DataError, match="not JSON"):
        cc.read_dataset(tmp_path)


def test_one_sample_without_a_target_does_not_make_all_answers_scores(tmp_path: Path) -> None:
    name = "samples_boolq_2026-01-02T03-04-05.678901.jsonl"
    for model in ("m1", "m2"):
        write_lines([lm_sample(k, k % 2, k % 2 if k else None) for k in range(100)], tmp_path / model / name)
    panel = cc.read_dataset(tmp_path)
    assert panel.classes == ("no", "yes") and (panel.gold >= 0).sum() == 99
