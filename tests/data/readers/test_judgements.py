"""What judges and models say: exports of tools, logs of Inspect, samples of benchmarks."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

import crowdcore as cc
from crowdcore.core.errors import CrowdError, DataError, SettingError
from crowdcore.data import examine
from crowdcore.data.unpack import is_archive
from crowdcore.data.uploads import store_upload, unpacked_folder
from testkit import exports
from testkit.judge_files import inspect_log, instance, lm_sample, lm_text, write, write_eval, write_lines, zip_zstandard

TWO = {
    "promptfoo": ("fail", "pass"),
    "mlflow": ("fail", "pass"),
    "langfuse": ("fail", "pass"),
    "verdicts": ("fail", "pass"),
}


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    return write(tmp_path / "files")


@pytest.mark.parametrize("name", TWO)
def test_two_judges_of_two_items_open_at_once(name: str, files: dict[str, Path]) -> None:
    panel = cc.read_dataset(files[name])
    assert [*panel.worker_ids] == ["j1", "j2"] and panel.classes == ("fail", "pass")
    assert panel.label.tolist() == [1, 0, 1, 1]
    assert (panel.gold == (1 if name == "verdicts" else -1)).all()


def test_scores_that_may_be_questions_are_asked_about(files: dict[str, Path]) -> None:
    found = cc.data.examine(files["braintrust"])
    assert [finding.code for finding in found.report.questions] == ["scorers-as-judges"]
    assert [*found.dataset(accept=True).worker_ids] == ["j1", "j2"]
    assert cc.read_dataset(files["braintrust"], question="j1").n_workers == 1


def test_the_second_order_of_a_pair_is_turned_back(files: dict[str, Path]) -> None:
    panel = cc.read_dataset(files["judge-bench"])
    assert [*panel.worker_ids] == ["j1", "j2"] and panel.classes == ("A<B", "A>B")
    assert [panel.classes[c] for c in panel.label] == ["A>B", "A<B", "A<B", "A<B"]
    assert panel.classes[panel.gold[0]] == "A>B"
    assert [*panel.extra["swapped"].astype(str)] == ["False", "True"] * 2


def test_people_and_models_of_the_alternative_annotator_test(files: dict[str, Path]) -> None:
    panel = cc.read_dataset(files["alt-test"])
    assert [*panel.worker_ids] == ["ann", "ben", "gpt"] and panel.classes == ("no", "yes")


def test_expectations_are_gold_and_what_was_overridden_is_left_out(tmp_path: Path) -> None:
    def entry(name: str, by: str, **more: object) -> dict[str, object]:
        return {"assessment_name": name, "source": {"source_type": "HUMAN", "source_id": by}, **more}

    traces = [
        {"trace_id": f"t{k}", "assessments": [
            entry("ok", "ann", feedback={"value": "yes"}), entry("ok", "gpt", feedback={"value": "no"}),
            entry("ok", "gpt", feedback={"value": "yes"}, valid=False),
            entry("ok", "ann", expectation={"value": "yes"}),
            entry("tone", "gpt", feedback={"value": k}),
        ]}
        for k in range(3)
    ]  # fmt: skip
    found = cc.data.examine(write_lines(traces, tmp_path / "traces.jsonl"))
    assert {f.code: f.left_out for f in found.report.changes} == {"several-questions": 3, "discarded": 3}
    panel = found.dataset(accept=True)
    assert panel.n_annotations == 6 and {panel.classes[c] for c in panel.gold} == {"yes"}


def test_ungraded_outputs_are_counted(files: dict[str, Path]) -> None:
    document = json.loads(files["promptfoo"].read_text())
    document["results"]["results"].append({"testIdx": 9, "promptIdx": 0, "provider": "x", "error": "no answer"})
    files["promptfoo"].write_text(json.dumps(document))
    found = cc.data.examine(files["promptfoo"])
    assert sum(finding.left_out for finding in found.report.findings) == 1 and found.report.n_rows == 5


def test_a_label_beside_a_score_stays_the_label(tmp_path: Path) -> None:
    (tmp_path / "votes.csv").write_text("judge,item,label,score\na,1,x,0.5\nb,1,y,0.25\na,2,x,0.75\nb,2,x,1\n")
    assert cc.read_dataset(tmp_path / "votes.csv").classes == ("x", "y")


@pytest.mark.parametrize(("words", "order"), [("good bad", "bad good"), ("APPROVE REJECT", "REJECT APPROVE")])
def test_verdicts_of_a_plain_table_are_in_their_order(words: str, order: str, tmp_path: Path) -> None:
    rows = [f"{judge},{k},{word}" for k in range(4) for judge, word in zip("ab", words.split(), strict=True)]
    (tmp_path / "verdicts.csv").write_text("\n".join(["judge,item,verdict", *rows]))
    assert " ".join(cc.read_dataset(tmp_path / "verdicts.csv").classes) == order


def test_two_words_that_are_not_known_are_asked_about(tmp_path: Path) -> None:
    (tmp_path / "verdicts.csv").write_text("judge,item,verdict\na,1,civil\nb,1,toxic\na,2,civil\nb,2,toxic\n")
    asked = cc.data.examine(tmp_path / "verdicts.csv").report.questions
    assert [finding.code for finding in asked] == ["unknown-verdicts"]
    answered = cc.data.examine(tmp_path / "verdicts.csv", classes=asked[0].remedies[0].value)
    assert not answered.report.questions and answered.dataset().classes == ("toxic", "civil")


def test_questions_as_items_of_a_plain_table(tmp_path: Path) -> None:
    rows = [f"why {k}?,{who},{(k + j) % 2},{k % 2}" for k in range(4) for j, who in enumerate(("a", "b"))]
    (tmp_path / "grades.csv").write_text("\n".join(["question,grader,score,gold", *rows]))
    panel = cc.read_dataset(tmp_path / "grades.csv")
    assert panel.n_tasks == 4 and (panel.gold >= 0).all() and (panel.label == panel.gold[panel.task]).sum() == 4


def test_scores_of_a_csv(tmp_path):
    path = tmp_path / "judgments.csv"
    names = ["question_id", "model", "judge", "user_prompt", "judgment", "score"]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, names, extrasaction="ignore")
        writer.writeheader()
        writer.writerows({**record, "judge": f"judge-{n % 2}"} for n, record in enumerate(exports.MT_BENCH))
    found = examine(path)
    assert found.report.format == "mt-bench"
    data = found.dataset(accept=True)
    assert data.classes == ("7", "8")
    assert list(data.task_ids) == ["1 / alpaca", "2 / alpaca"]
    assert list(data.worker_ids) == ["judge-0", "judge-1"]
    assert {f.code: f.rows for f in found.report.changes} == {"no-score": (4,)}


@pytest.mark.parametrize(
    "record",
    [
        {"assessments": [{"worker": "a", "label": "x"}, {"worker": "b", "label": "y"}]},
        {"input": "i", "output": "o", "scores": {"a": "x", "b": "y"}},
    ],
)
def test_labels_that_only_look_like_a_tools_are_read_as_they_were(record: dict, tmp_path: Path) -> None:
    file = write_lines([{"id": k, **record} for k in range(3)], tmp_path / "labels.jsonl")
    found = cc.data.examine(file)
    assert found.report.format == "nested" and [*found.dataset(accept=True).worker_ids] == ["a", "b"]


def test_one_judge_of_all_is_not_the_worker(tmp_path: Path) -> None:
    rows = [f"{who},i{k},alice,{'yn'[k % 2]}" for who in ("ann", "ben") for k in range(4)]
    (tmp_path / "votes.csv").write_text("\n".join(["annotator,item,judge,verdict", *rows]))
    assert [*cc.read_dataset(tmp_path / "votes.csv").worker_ids] == ["ann", "ben"]


def test_outputs_without_scores_are_no_question_and_no_judge(files: dict[str, Path], tmp_path: Path) -> None:
    rows = [{"id": f"r{k}", "input": "i", "output": "o", "scores": {"j1": 1, "j2": k % 2}} for k in range(4)]
    rows[0]["scores"] = rows[2]["scores"] = None
    found = cc.data.examine(write_lines(rows, tmp_path / "rows.jsonl"))
    assert found.report.format == "braintrust" and found.report.questions[0].sentence.startswith("2 scores")
    assert {f.code: f.left_out for f in found.report.changes}["no-score"] == 2
    document = json.loads(files["promptfoo"].read_text())
    document["results"]["results"][0]["gradingResult"] = None
    files["promptfoo"].write_text(json.dumps(document))
    assert [f.code for f in cc.data.examine(files["promptfoo"]).report.changes] == ["no-score"]


def test_what_is_not_named_is_counted_and_taken_for_no_other(tmp_path: Path) -> None:
    score = {"name": "ok", "value": 1, "source": "API", "authorUserId": "a"}
    rows = [{**score, "traceId": item} for item in ("t1", None, "t2")]
    found = cc.data.examine(write_lines(rows, tmp_path / "scores.jsonl"))
    assert found.report.n_rows == 3 and [(f.code, f.left_out) for f in found.report.changes] == [("no-item", 1)]
    traces = [{"trace_id": t, "assessments": [{"assessment_name": "ok", "source": {"source_id": "j"},
               "feedback": {"value": "yes"}}]} for t in ("2", None)]  # fmt: skip
    assert cc.read_dataset(write_lines(traces, tmp_path / "traces.jsonl")).n_tasks == 2


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


def test_letters_of_options_that_helm_wrote(tmp_path: Path) -> None:
    lines = [instance(k, m, " " + "ABCD"[k % 4], f"{k % 4} of {k}", "mmlu") for k in range(8) for m in ("m1", "m2")]
    for line in lines:
        options = [f"{c} of {line['sample_id']}" for c in range(4)]
        line["input"]["choices"], line["evaluation"]["is_correct"] = options, True
    panel = cc.read_dataset(write_lines(lines, tmp_path / "helm_mmlu.jsonl"))
    assert panel.classes == ("A", "B", "C", "D") and (panel.label == panel.gold[panel.task]).all()


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
