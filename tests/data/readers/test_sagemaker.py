"""SageMaker Ground Truth's worker responses."""

from __future__ import annotations

import json

import pytest

from crowdcore.core.errors import DataError
from crowdcore.data import MappingError, examine

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
    with pytest.raises(
        DataError, match=r"^This is output.manifest: one consolidated label .*worker-response of the same"
    ):
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
    with pytest.raises(DataError, match=r"^No worker's answer is a choice"):
        examine(path)
