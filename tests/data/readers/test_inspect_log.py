"""Inspect's logs, in both forms; two of them and a folder of two were written by inspect-ai 0.3.285 itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import crowdcore as cc
from crowdcore.core.errors import CrowdError, DataError
from crowdcore.data.unpack import is_archive
from crowdcore.data.uploads import store_upload, unpacked_folder
from testkit.judge_files import inspect_log, write_eval, zip_zstandard

WRITTEN = Path(__file__).parent / "inspect"
GRADES = {f"s{k}": {"grade": "CI"[k % 2], "grade1": "C", "grade2": "CI"[k > 2]} for k in range(4)}


def said(dataset: Any) -> dict[tuple[str, str], str]:
    """(Worker, task) -> label."""
    who, what = dataset.worker_ids[dataset.worker], dataset.task_ids[dataset.task]
    return {(a, b): dataset.classes[label] for a, b, label in zip(who, what, dataset.label, strict=True)}


def saved(log: dict[str, Any], folder: Path, form: str = "eval", name: str = "log") -> Path:
    file = folder / f"{name}.{form}"
    if form == "eval":
        return write_eval(log, file)
    file.write_text(json.dumps(log), encoding="utf-8")
    return file


def test_a_log_of_graders_that_inspect_wrote() -> None:
    found = cc.data.examine(WRITTEN / "sums.eval")
    assert [finding.code for finding in found.report.questions] == ["scorers-as-judges"]  # `includes` is no model
    graded = found.dataset(accept=True)
    assert {*graded.worker_ids} == {"includes", "mockllm/judge-a", "mockllm/judge-b"}
    assert graded.classes == ("I", "C") and graded.n_tasks == 8 and graded.n_annotations == 24
    assert (graded.gold < 0).all()  # the target answers the question, and is no verdict


def test_a_folder_of_models_that_inspect_wrote_opens_at_once() -> None:
    answered = cc.read_dataset(WRITTEN / "parity")
    assert {*answered.worker_ids} == {"mockllm/m1", "mockllm/m2"} and answered.classes == ("A", "B")
    assert [answered.classes[c] for c in answered.gold] == ["A", "B", "A", "B"]
    assert [label for (who, _), label in sorted(said(answered).items()) if who.endswith("m1")] == ["A", "B", "A", "B"]


@pytest.mark.parametrize("form", ["eval", "json"])
def test_graders_of_one_kind_open_without_a_question(form: str, tmp_path: Path) -> None:
    graded = cc.read_dataset(saved(inspect_log(GRADES), tmp_path, form))
    assert [*graded.worker_ids] == ["grade", "grade1", "grade2"] and graded.classes == ("I", "C")
    assert said(graded)["grade", "s1"] == "I" and said(graded)["grade1", "s1"] == "C"
    assert graded.media.columns["text"].tolist()[0] == "text of s0"


def test_each_epoch_is_an_output_of_its_own(tmp_path: Path) -> None:
    graded = cc.read_dataset(saved(inspect_log(GRADES, epochs=2), tmp_path))
    assert graded.n_tasks == 8 and "s3 / epoch 2" in graded.task_ids


def test_several_models_and_scorers_are_asked_about(tmp_path: Path) -> None:
    for model in ("m1", "m2"):
        saved(inspect_log(GRADES, model), tmp_path, name=model)
    found = cc.data.examine(tmp_path)
    assert [finding.code for finding in found.report.questions] == ["scorers-as-judges"]
    assert "m2 / s0" in found.dataset(accept=True).task_ids
    models = cc.read_dataset(tmp_path, worker="model", accept=True)
    assert [*models.worker_ids] == ["m1", "m2"] and models.classes == ("wrong", "right")


def test_the_same_model_run_twice_gives_outputs_of_its_own(tmp_path: Path) -> None:
    for name in ("first", "second"):
        saved(inspect_log(GRADES), tmp_path, name=name)
    assert cc.read_dataset(tmp_path).n_tasks == 8


def test_free_answers_are_right_or_wrong_and_gold_says_so(tmp_path: Path) -> None:
    for model, rights in (("m1", "CIPI"), ("m2", "CCIN")):
        scores = {f"s{k}": {"match": {"value": v, "answer": f"{model} {k}"}} for k, v in enumerate(rights)}
        saved(inspect_log(scores, model), tmp_path, name=model)
    found = cc.data.examine(tmp_path)
    assert "outcomes" in [finding.code for finding in found.report.findings]
    right = found.dataset()
    assert {*right.classes} == {"right", "wrong", "partial", "no answer"}
    assert {right.classes[c] for c in right.gold} == {"right"}


def test_answers_scored_otherwise_than_the_target_says_are_no_answers(tmp_path: Path) -> None:
    for model in ("m1", "m2"):
        scores = {f"s{k}": {"match": {"value": "I", "answer": "A"}} for k in range(4)}
        saved(inspect_log(scores, model), tmp_path, name=model)
    assert cc.read_dataset(tmp_path).classes == ("wrong", "right")


def test_errors_and_missing_scores_are_counted(tmp_path: Path) -> None:
    log = inspect_log({**GRADES, "s8": {"grade": float("nan"), "grade1": None, "grade2": "C"}})
    log["samples"].append({"id": "s9", "epoch": 1, "input": "x", "target": "", "error": {"message": "no connection"}})
    found = cc.data.examine(saved(log, tmp_path, "json"))
    lost = {finding.code: finding.left_out for finding in found.report.changes}
    assert lost == {"sample-error": 3, "no-score": 2}
    assert found.report.n_rows == 18 and found.report.n_annotations == 13
    with pytest.raises(DataError):
        found.dataset()


def test_values_of_several_questions_are_asked_about(tmp_path: Path) -> None:
    scores = {f"s{k}": {n: {"clear": k % 3 + 1, "true": k % 2} for n in ("rubric", "rubric1")} for k in range(6)}
    found = cc.data.examine(saved(inspect_log(scores), tmp_path))
    assert [finding.code for finding in found.report.questions] == ["several-questions"]
    assert cc.read_dataset(saved(inspect_log(scores), tmp_path), question="true").classes == ("0", "1")


def test_a_scorer_of_other_words_is_left_out_and_asked_about(tmp_path: Path) -> None:
    scores = {key: {**given, "grade3": 0.25 * int(key[1])} for key, given in GRADES.items()}
    found = cc.data.examine(saved(inspect_log(scores), tmp_path))
    assert [f.left_out for f in found.report.questions if f.code == "other-words"] == [4]
    assert "grade3" not in found.dataset(accept=True).worker_ids


def test_numbers_of_single_models_are_no_verdicts(tmp_path: Path) -> None:
    file = saved(inspect_log({f"s{k}": {"bleu": k / 7} for k in range(5)}), tmp_path)
    with pytest.raises(DataError, match="right"):
        cc.read_dataset(file)


def test_gold_is_a_field_of_the_metadata(tmp_path: Path) -> None:
    file = saved(inspect_log(GRADES, metadata={"human": "I"}), tmp_path)
    assert {*cc.read_dataset(file, gold="human").gold} == {0}


@pytest.mark.parametrize("samples", [[], None, {}])
def test_a_log_without_samples_says_so(samples: Any, tmp_path: Path) -> None:
    with pytest.raises(CrowdError, match="No sample"):
        cc.read_dataset(saved(inspect_log({}) | {"samples": samples}, tmp_path, "json"))


def test_an_empty_log_beside_others_is_named(tmp_path: Path) -> None:
    saved(inspect_log(GRADES), tmp_path, name="full")
    saved(inspect_log({}, status="error"), tmp_path, name="empty")
    found = cc.data.examine(tmp_path)
    assert [f.examples for f in found.report.findings if f.code == "empty-logs"] == [("empty",)]


def test_one_judge_alone_is_no_panel(tmp_path: Path) -> None:
    file = saved(inspect_log({"s1": {"grade": "C"}, "s2": {"grade": "I"}}), tmp_path)
    assert "one-judge" in [finding.code for finding in cc.data.examine(file).report.findings]


def test_a_damaged_member_is_refused(tmp_path: Path) -> None:
    zip_zstandard({"header.json": b"{}", "samples/a.json": b"{}"}, tmp_path / "log.eval", damaged=True)
    with pytest.raises(DataError, match="checksum"):
        cc.read_dataset(tmp_path / "log.eval")


def test_an_upload_is_unpacked_as_the_app_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CROWDCORE_WORKSPACE", str(tmp_path))
    with (WRITTEN / "sums.eval").open("rb") as content:
        stored = store_upload("sums.eval", content)
    assert is_archive(stored)
    assert cc.read_dataset(unpacked_folder(stored), accept=True).n_annotations == 24


def test_gold_that_no_sample_has_is_refused_and_samples_without_a_name_stay_apart(tmp_path: Path) -> None:
    log = inspect_log({"s1": {"g": "C", "g1": "I"}, "s2": {"g": "C", "g1": "C"}})
    for sample in log["samples"]:
        sample["id"] = None
    file = tmp_path / "log.json"
    file.write_text(json.dumps(log))
    assert cc.read_dataset(file).n_tasks == 2
    with pytest.raises(cc.SettingError, match="metadata"):
        cc.read_dataset(file, gold="humen")
