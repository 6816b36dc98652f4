"""Exports of doccano, LightTag, Argilla, Prodigy and SageMaker."""

from __future__ import annotations

import json
from zlib import crc32

import pandas as pd
import pytest

from crowdcore.core.errors import DataError
from crowdcore.data import MappingError, examine, read_dataset
from testkit import exports

OPTIONS = [{"id": "SPORT", "text": "Sport"}, {"id": "POLITICS", "text": "Politics"}, {"id": "OTHER"}]


def line(text, who, answer="accept", accept=(), **more):
    number = crc32(text.encode())  # Python's own hash differs from process to process, and may be equal
    return {
        "text": text, "_input_hash": number, "_task_hash": number + 1, "options": OPTIONS,
        "_annotator_id": who, "answer": answer, "accept": list(accept), "_timestamp": 1_700_000_000, **more,
    }  # fmt: skip


@pytest.fixture
def write_lines(write):
    return lambda records: write(records, "export.jsonl")


def test_choices(write_lines):
    records = [
        line("goal", "db-ann", accept=["SPORT"]),
        line("goal", "db-bob", accept=["OTHER"]),
        line("vote", "db-ann", accept=["POLITICS"]),
        line("vote", "db-bob", answer="ignore"),
    ]
    found = examine(write_lines(records))
    ds = found.dataset(accept=True)
    assert found.report.format == "prodigy"
    assert ds.classes == ("SPORT", "POLITICS", "OTHER")
    assert ds.label.tolist() == [0, 2, 1]
    assert list(ds.worker_ids) == ["db-ann", "db-bob"]
    assert ds.media.columns["text"].tolist() == ["goal", "vote"]
    assert ds.extra["timestamp"].tolist() == ["2023-11-14T22:13:20Z"] * 3
    (skipped,) = found.report.changes
    assert (skipped.code, skipped.rows, skipped.left_out) == ("skipped", (4,), 1)


def test_accepted_and_rejected_suggestions(write_lines):
    records = [
        {"text": "goal", "label": "SPORT", "_input_hash": 1, "_task_hash": 11, "_annotator_id": who, "answer": answer}
        for who, answer in (("ann", "accept"), ("bob", "reject"), ("eve", "ignore"))
    ]
    ds = read_dataset(write_lines(records), accept=True)
    assert ds.classes == ("accept", "reject")
    assert ds.label.tolist() == [0, 1]
    assert list(ds.task_ids) == ["11"]


def test_what_is_left_out_needs_acceptance(write_lines):
    records = [
        line("goal", "ann", accept=["SPORT"]),
        line("goal", "bob", accept=["SPORT", "OTHER"]),
        line("vote", "ann", answer="reject"),
        line("vote", "bob", accept=[]),
    ]
    found = examine(write_lines(records))
    assert {f.code: f.rows for f in found.report.changes} == {
        "several-choices": (2,), "rejected": (3,), "no-choice": (4,), "workers-without-labels": ()
    }  # fmt: skip
    assert found.dataset(accept=True).n_annotations == 1


def test_the_session_stands_in_for_the_annotator(write_lines):
    record = line("goal", None, accept=["SPORT"], _session_id="2024-s1")
    assert list(read_dataset(write_lines([record])).worker_ids) == ["2024-s1"]


SPANS = [{"start": 0, "end": 4, "label": "ORG"}]


@pytest.mark.parametrize("more", [{"_view_id": "ner_manual"}, {"spans": SPANS}, {"_view_id": "blocks"}])
def test_marked_spans_are_no_accepted_suggestions(write_lines, more):
    marked = {"text": "goal", "_input_hash": 1, "_annotator_id": "ann", "answer": "accept", **more}
    refused = r"^(These lines hold regions or texts that workers drew|No worker marked a span in a text)"
    if "spans" in more:
        assert examine(write_lines([marked])).report.classes == ("O", "B-ORG", "I-ORG")
    else:
        with pytest.raises(DataError, match=refused):
            examine(write_lines([marked]))
    records = [marked, line("goal", "bob", accept=["SPORT"])]
    report = examine(write_lines(records)).report
    assert {f.code: f.left_out for f in report.changes} == {"no-class": 1, "workers-without-labels": 0}
    if "spans" in more:
        report = examine(write_lines(records), label="spans").report
        assert {f.code: f.left_out for f in report.changes} == {"other-question": 1, "workers-without-labels": 0}


def test_a_suggested_span_is_accepted_or_rejected(write_lines):
    records = [
        {"text": "goal", "_task_hash": 11, "_view_id": "ner", "spans": SPANS, "_annotator_id": who, "answer": answer}
        for who, answer in (("ann", "accept"), ("bob", "reject"))
    ]
    assert read_dataset(write_lines(records)).classes == ("accept", "reject")


def test_choices_and_suggestions_in_one_file_are_asked_for(write_lines):
    binary = {"text": "goal", "label": "SPORT", "_task_hash": 11, "_annotator_id": "ann", "answer": "accept"}
    records = [binary, line("goal", "ann", accept=["SPORT"])]
    with pytest.raises(MappingError, match=r"'answer'.*'accept'.*label="):
        examine(write_lines(records))
    assert read_dataset(write_lines(records), label="answer", accept=True).classes == ("accept", "reject")
    assert read_dataset(write_lines(records), label="accept", accept=True).n_classes == 3
    with pytest.raises(MappingError, match="'tone'"):
        examine(write_lines(records), label="tone")


def test_refusals(write_lines):
    with pytest.raises(DataError, match=r"1 annotation.*skipped"):
        examine(write_lines([line("goal", "ann", answer="ignore")]))
    record = {"answer": "accept", "_annotator_id": "ann", "label": "X"}
    with pytest.raises(DataError, match=r"line.*row 1"):
        examine(write_lines([record]))


def test_an_option_without_id_may_not_be_called_as_another(write_lines):
    options = [{"id": "sport", "text": "Sport"}, {"text": "sport"}, {"text": "other-text"}]
    with pytest.raises(DataError, match=r"'sport'.*row 1"):
        examine(write_lines([line("goal", "ann", accept=["sport"], options=options)]))
    apart = [{"id": 1, "text": "Sport"}, {"id": 2.0, "text": "1"}, {"text": "other-text"}]
    assert read_dataset(write_lines([line("goal", "ann", accept=[2], options=apart)])).classes == (
        "1",
        "2",
        "other-text",
    )
    with pytest.raises(DataError, match=r"option.*row 1"):
        examine(write_lines([line("goal", "ann", accept=["sport"], options=[{"id": None}])]))


def test_an_id_that_means_something_else_in_other_lines_is_told(write_lines):
    records = [
        line("goal", "ann", accept=[0], options=[{"id": 0, "text": "Sport"}, {"id": 1, "text": "Other"}]),
        line("vote", "ann", accept=[0], options=[{"id": 0, "text": "Politics"}, {"id": 1, "text": "Other"}]),
    ]
    (change,) = examine(write_lines(records)).report.changes
    assert (change.code, change.rows, change.examples) == ("option-texts", (1, 2), ("0",))
    assert "'0' is 'Sport' and 'Politics'." in str(change)


def test_users_are_the_names_of_the_files(tmp_path):
    data = examine(exports.write(tmp_path)["doccano"]).dataset(accept=True)
    assert list(data.worker_ids) == ["ann", "bob", "eve"]
    assert list(data.task_ids) == ["1", "2"]


def test_csv_files_join_labels_by_a_hash(tmp_path):
    (tmp_path / "crowd").mkdir()
    for who, label in (("ann", "pos"), ("bob", "pos#neg"), ("eve", "neg")):
        (tmp_path / "crowd" / f"{who}.csv").write_text(f"id,text,label\n1,great film,{label}\n", encoding="utf-8")
    report = examine(tmp_path / "crowd").report
    assert report.format == "doccano"
    assert [f.code for f in report.changes] == ["several-choices", "workers-without-labels"]
    assert report.classes == ("neg", "pos")


def test_one_file_of_all_users_names_no_worker(write):
    path = write(exports.lines([{"id": 1, "text": "great film", "label": ["pos"], "Comments": []}]), "all.jsonl")
    with pytest.raises(DataError, match="doccano"):
        examine(path)


def test_old_exports_name_the_user(tmp_path):
    path = tmp_path / "file.json1.jsonl"
    record = {
        "id": 1, "text": "great film", "meta": {}, "annotation_approver": None,
        "annotations": [
            {"id": 1, "label": 2, "user": 1, "created_at": "2020-01-01T00:00:00Z"}, {"id": 2, "label": 3, "user": 2},
            {"id": 3, "label": 2, "user": 3}, {"id": 4, "label": 3, "user": 3},
            {"id": 5, "label": 3, "user": 4, "start_offset": 0, "end_offset": 5},
        ],
    }  # fmt: skip
    path.write_text(exports.lines([record]), encoding="utf-8")
    report = examine(path).report
    assert (report.classes, report.n_annotations, report.n_rows) == (("2", "3"), 2, 4)
    assert {f.code: f.left_out for f in report.changes if f.left_out} == {"several-choices": 1, "no-class": 1}


def test_who_saw_and_who_classified(tmp_path):
    found = examine(exports.write(tmp_path)["lighttag.json"])
    assert {f.code: (f.count, f.left_out) for f in found.report.changes} == {
        "region": (1, 0), "several-choices": (1, 1), "no-choice": (1, 1), "workers-without-labels": (1, 0)
    }  # fmt: skip
    assert found.dataset(accept=True).extra["timestamp"].tolist() == ["2020-03-01T10:00:00Z"] * 4


def test_tags_alone_are_no_classes(tmp_path):
    path = tmp_path / "tags.json"
    examples = [{**example, "classifications": []} for example in exports.LIGHTTAG["examples"]]
    path.write_text(json.dumps({"examples": examples}), encoding="utf-8")
    with pytest.raises(DataError, match=r"choice.*1 region.*6 annotations"):
        examine(path)


def test_parquet_of_a_dataset(tmp_path):
    """`to_datasets().to_parquet` keeps lists."""
    path = tmp_path / "records.parquet"
    pd.DataFrame(exports.ARGILLA_FLAT).to_parquet(path)
    found = examine(path)
    assert (found.report.format, found.report.n_rows, found.report.n_annotations) == ("argilla", 6, 4)
    assert {f.code: (f.count, f.left_out) for f in found.report.changes} == {
        "prediction": (1, 0), "discarded": (1, 1), "draft": (1, 1)
    }  # fmt: skip


def test_json_that_says_no_status_is_told(write):
    warnings = [f.code for f in examine(write(exports.ARGILLA)).report.findings if f.level == "warning"]
    assert warnings == ["status-unknown"]


def test_several_questions_and_other_answers(write):
    records = json.loads(json.dumps(exports.ARGILLA))
    records[0]["responses"]["spans"] = [{"value": [{"start": 0, "end": 5, "label": "x"}], "user_id": "u"}]
    with pytest.raises(MappingError, match=r"'sentiment'.*'spans'.*label="):
        examine(write(records))
    assert examine(write(records), label="sentiment").report.n_annotations == 5
    assert examine(write(records), label="spans").report.classes == ("O", "B-x", "I-x")


def test_records_of_argilla_1(write):
    responses = [
        {"user_id": who, "status": status, "values": {"sentiment": {"value": value}}}
        for who, value, status in (("u1", "pos", "submitted"), ("u2", "neg", "submitted"), ("u3", "neg", "discarded"))
    ]
    report = examine(write([{"id": "r1", "fields": {"text": "great film"}, "responses": responses}])).report
    assert (report.n_annotations, report.n_rows, report.classes) == (2, 3, ("neg", "pos"))


def test_suggestions_alone_are_no_annotations(write):
    with pytest.raises(DataError, match="response"):
        examine(write([{**record, "responses": {}} for record in exports.ARGILLA]))


# https://docs.aws.amazon.com/sagemaker/latest/dg/sms-data-output.html, "Worker response"
RESPONSE = {
    "acceptanceTime": "2021-03-08T23:05:40Z", "submissionTime": "2021-03-08T23:05:49.111Z", "timeSpentInSeconds": 9.2,
    "workerId": "private.us-east-1.A", "workerMetadata": {"identityData": {"sub": "x"}},
    "answerContent": {"crowd-image-classifier": {"label": "cat"}},
}  # fmt: skip


def responses(*labels):
    return {
        "answers": [
            {
                **RESPONSE,
                "workerId": f"private.us-east-1.{n}",
                "answerContent": {"crowd-image-classifier": {"label": label}},
            }
            for n, label in enumerate(labels)
        ]
    }


@pytest.fixture
def job(tmp_path):
    """A job's output: a file for each of two objects."""
    for task, labels in (("0", ("cat", "dog")), ("1", ("dog", "dog"))):
        folder = tmp_path / "annotations" / "worker-response" / "iteration-1" / task
        folder.mkdir(parents=True)
        (folder / "2021-03-08_23:06:49.json").write_text(json.dumps(responses(*labels)), encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    "part", ["", "annotations", "annotations/worker-response", "annotations/worker-response/iteration-1"]
)
def test_a_folder_of_responses(job, part):
    found = examine(job / part)
    assert (found.report.format, found.report.n_rows) == ("sagemaker", 4)
    data = found.dataset()
    assert list(data.task_ids) == ["0", "1"]
    assert data.label.tolist() == [0, 1, 1, 1]
    assert data.extra["seconds"].tolist() == [9.2] * 4
    assert data.extra["timestamp"].tolist() == ["2021-03-08T23:05:49.111000Z"] * 4


def test_one_response_file_is_one_task(job):
    file = next((job / "annotations").rglob("0/*.json"))
    assert list(examine(file).dataset().task_ids) == ["0"]


def test_the_manifest_is_refused_with_the_remedy(tmp_path):
    path = tmp_path / "output.manifest"
    about = {
        "class-name": "cat",
        "human-annotated": "yes",
        "confidence": 0.9,
        "type": "groundtruth/image-classification",
    }
    path.write_text(
        json.dumps({"source-ref": "s3://b/1.png", "job": 0, "job-metadata": about}) + "\n", encoding="utf-8"
    )
    with pytest.raises(DataError, match="consolidated"):
        examine(path)


def test_a_manifest_to_which_the_answers_of_all_workers_were_passed_on(tmp_path):
    """As the sample of a post-annotation function in aws-samples/aws-sagemaker-ground-truth-recipe does."""
    path = tmp_path / "output.manifest"
    about = {"type": "groundtruth/custom", "job-name": "job", "human-annotated": "yes"}
    lines = [
        {
            "source-ref": f"s3://b/{task}.png", "job-metadata": about,
            "job": {
                "annotationsFromAllWorkers": [
                    {
                        "workerId": f"private.us-east-1.{who}",
                        "annotationData": {"content": json.dumps({"reply": {"label": label}})},
                    }
                    for who, label in zip("AB", labels, strict=True)
                ]
            },
        }
        for task, labels in (("1", ("cat", "dog")), ("2", ("dog", "dog")))
    ]  # fmt: skip
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    data = examine(path).dataset()
    assert list(data.task_ids) == ["s3://b/1.png", "s3://b/2.png"]
    assert data.label.tolist() == [0, 1, 1, 1]
    assert data.media.columns["image"].tolist() == list(data.task_ids)


def test_radio_buttons(tmp_path):
    path = tmp_path / "response.json"
    answers = [
        {**RESPONSE, "workerId": who, "answerContent": {"yes": {"on": who == "A"}, "no": {"on": who == "B"}}}
        for who in "AB"
    ]
    path.write_text(json.dumps({"answers": answers}), encoding="utf-8")
    assert examine(path, label="buttons").dataset().classes == ("no", "yes")


def test_several_elements_are_asked_for(tmp_path):
    path = tmp_path / "response.json"
    answer = {**RESPONSE, "answerContent": {"animal": {"label": "cat"}, "sure": {"yes": True, "no": False}}}
    path.write_text(json.dumps({"answers": [answer]}), encoding="utf-8")
    with pytest.raises(MappingError, match="'animal', 'sure'"):
        examine(path)
    assert examine(path, label="sure").report.classes == ("yes",)
    boxes = {**RESPONSE, "answerContent": {"boundingBox": {"boundingBoxes": [{"label": "cat", "left": 1}]}}}
    path.write_text(json.dumps({"answers": [boxes]}), encoding="utf-8")
    with pytest.raises(DataError, match="choice"):
        examine(path)
