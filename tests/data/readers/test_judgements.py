"""Judgments of MT-bench, and exports of tools that judge models, after their published schemas."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

import crowdcore as cc
from crowdcore.data import examine
from testkit import exports
from testkit.judge_files import write, write_lines

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
