"""Files for the tools that people label in: what each tool's reader, or ours of its format, finds in them."""

from __future__ import annotations

import json
from dataclasses import replace
from xml.etree import ElementTree as ET

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import crowdcore as cc
from crowdcore.core.errors import DataError, SettingError
from crowdcore.data import Media, read_dataset, write_import
from crowdcore.data.writers.imports import TOOLS

TEXTS = {0: "good <b>film</b>", 1: "bad, “film”", 2: "so so"}


@pytest.fixture
def crowd():
    rows = [("a", "ann", "yes"), ("a", "ben", "yes"), ("b", "ann", "no"), ("b", "ben", "no"), ("c", "ann", "no")]
    ds = cc.from_frame(pd.DataFrame(rows, columns=["task", "worker", "label"]))
    return replace(ds, media=Media(columns=pd.DataFrame({"text": TEXTS})))


@pytest.fixture
def fit(crowd):
    return cc.aggregation.DawidSkene(smoothing=0.1).fit(crowd)


def of_images(crowd):
    return replace(crowd, media=Media(columns=pd.DataFrame({"image": {i: f"{i}.png" for i in range(3)}})))


def named(crowd, fit) -> list[str]:
    return [crowd.classes[label] for label in fit.labels]


def test_label_studio(crowd, fit, tmp_path) -> None:
    tasks = json.loads(write_import(crowd, tmp_path / "tasks.json", "label-studio", fit).read_text())
    interface = ET.parse(tmp_path / "tasks.xml").getroot()
    item, choices = interface
    assert [task["data"][item.get("value")[1:]] for task in tasks] == list(TEXTS.values())
    offered = [choice.get("value") for choice in choices]
    for task, label, shares in zip(tasks, named(crowd, fit), fit.posterior, strict=True):
        [prediction] = task["predictions"]
        [result] = prediction["result"]
        assert (result["from_name"], result["to_name"]) == (choices.get("name"), item.get("name"))
        assert result["value"]["choices"] == [label] and label in offered
        assert prediction["score"] == pytest.approx(shares.max())


def test_label_studio_answers_come_back(crowd, fit, tmp_path) -> None:
    """What people then accept is read by our reader, under the tasks' names where the export keeps them as ids."""
    tasks = json.loads(write_import(crowd, tmp_path / "tasks.json", "label-studio", fit).read_text())
    for task in tasks:
        task |= {
            "id": task["data"]["task"],
            "annotations": [{"completed_by": 7, "result": task["predictions"][0]["result"]}],
        }
        del task["predictions"]
    (tmp_path / "export.json").write_text(json.dumps(tasks))
    again = read_dataset(tmp_path / "export.json")
    assert list(again.task_ids) == list(crowd.task_ids)
    assert [again.classes[label] for label in again.label] == named(crowd, fit)


def test_argilla_answers_come_back(crowd, fit, tmp_path) -> None:
    records = json.loads(write_import(crowd, tmp_path / "records.json", "argilla", fit).read_text())
    assert [record["suggestions"]["label"]["value"] for record in records] == named(crowd, fit)
    assert {tuple(record) for record in records} == {
        ("id", "fields", "metadata", "suggestions", "responses", "vectors")
    }
    for record in records:
        value = record.pop("suggestions")["label"]["value"]
        record["responses"] = {"label": [{"value": value, "user_id": "u", "status": "submitted"}]}
    (tmp_path / "export.json").write_text(json.dumps(records))
    again = read_dataset(tmp_path / "export.json")
    assert [again.classes[label] for label in again.label] == named(crowd, fit)


def test_prodigy_answers_come_back(crowd, fit, tmp_path) -> None:
    file = write_import(crowd, tmp_path / "tasks.jsonl", "prodigy", fit)
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    answered = [line | {"answer": "accept", "_annotator_id": "me", "_view_id": "choice"} for line in lines]
    (tmp_path / "export.jsonl").write_text("\n".join(map(json.dumps, answered)))
    again = read_dataset(tmp_path / "export.jsonl")
    assert set(again.classes) == set(crowd.classes)
    assert {t: again.classes[c] for t, c in zip(again.task_ids[again.task], again.label, strict=True)} == dict(
        zip(TEXTS.values(), named(crowd, fit), strict=True)
    )


def test_doccano_answers_come_back(crowd, fit, tmp_path) -> None:
    file = write_import(crowd, tmp_path / "tasks.jsonl", "doccano", fit)
    lines = [json.loads(line) | {"id": k + 1} for k, line in enumerate(file.read_text().splitlines())]
    (tmp_path / "project").mkdir()
    for user in ("ann", "ben"):
        (tmp_path / "project" / f"{user}.jsonl").write_text("\n".join(map(json.dumps, lines)))
    again = read_dataset(tmp_path / "project")
    assert [again.classes[label] for label in again.label] == [name for name in named(crowd, fit) for _ in range(2)]


def test_cvat_has_a_tag_for_each_image(crowd, fit, tmp_path) -> None:
    images = of_images(crowd)
    root = ET.parse(write_import(images, tmp_path / "tags.xml", "cvat", fit)).getroot()
    assert [label.findtext("name") for label in root.iter("label")] == list(crowd.classes)
    found = {image.get("name"): [tag.get("label") for tag in image] for image in root.iter("image")}
    assert found == {f"{i}.png": [name] for i, name in enumerate(named(crowd, fit))}
    with pytest.raises(DataError, match="names no images"):
        write_import(crowd, tmp_path / "tags.xml", "cvat", fit)


def test_hugging_face_reads_class_and_soft_labels(crowd, fit, tmp_path) -> None:
    datasets = pytest.importorskip("datasets", reason="its reader is not installed")
    file = write_import(crowd, tmp_path / "labels.parquet", "huggingface", fit)
    found = datasets.Dataset.from_parquet(str(file), cache_dir=str(tmp_path / "cache"))
    assert found.features["label"].names == list(crowd.classes)
    assert found["label"][:] == fit.labels.tolist()
    np.testing.assert_allclose(found["soft_label"][:], fit.posterior, rtol=1e-6)
    assert found["text"][:] == list(TEXTS.values())


def test_hugging_face_schema(crowd, fit, tmp_path) -> None:
    table = pq.read_table(write_import(crowd, tmp_path / "labels.parquet", "huggingface", fit))
    features = json.loads(table.schema.metadata[b"huggingface"])["info"]["features"]
    assert list(features) == table.column_names
    assert features["label"] == {"names": list(crowd.classes), "_type": "ClassLabel"}


def test_lewidi_comes_back_with_every_worker(crowd, fit, tmp_path) -> None:
    file = write_import(crowd, tmp_path / "labels.json", "lewidi", fit)
    again = read_dataset(file)
    for name in ("task_ids", "worker_ids"):
        assert list(getattr(again, name)) == list(getattr(crowd, name))
    assert (again.task == crowd.task).all() and (again.worker == crowd.worker).all()
    items = json.loads(file.read_text())
    assert sum(items["a"]["soft_label"].values()) == pytest.approx(1)
    with pytest.raises(DataError, match="between commas"):
        write_import(replace(crowd, classes=("no, never", "yes")), file, "lewidi", fit)


@pytest.mark.parametrize("to", TOOLS)
def test_a_plan_gives_its_tasks_in_order_with_their_workers(to, crowd, tmp_path) -> None:
    plan = pd.DataFrame({"task": ["c", "a", "c"], "worker": ["ben", "ann", "cid"]})
    text = write_import(of_images(crowd), tmp_path / "next.x", to, tasks=plan).read_bytes().decode(errors="replace")
    assert text.index("2.png") < text.index("0.png") and "1.png" not in text
    assert to in ("cvat", "huggingface", "lewidi") or '"workers": "ben, cid"' in text


def test_lists_of_other_commands_are_taken_as_files(crowd, tmp_path) -> None:
    actions = pd.DataFrame({"what": ["worker", "task"], "name": ["ann", "b"], "action": ["remove", "relabel"]})
    actions.to_csv(tmp_path / "actions.csv", index=False)
    write_import(crowd, tmp_path / "tasks.jsonl", "prodigy", tasks=tmp_path / "actions.csv")
    [line] = (tmp_path / "tasks.jsonl").read_text().splitlines()
    assert json.loads(line)["meta"] == {"task": "b"} and json.loads(line)["accept"] == []
    assert write_import(crowd, tmp_path / "none.jsonl", "doccano", tasks=actions.head(1)).read_text() == ""


def test_what_does_not_fit_is_refused(crowd, tmp_path) -> None:
    with pytest.raises(SettingError, match="label-studio"):
        write_import(crowd, tmp_path / "x", "labelstudio")
    with pytest.raises(SettingError, match="be tasks of"):
        write_import(crowd, tmp_path / "x", "argilla", tasks=["z"])
    with pytest.raises(DataError, match="no column `task`"):
        write_import(crowd, tmp_path / "x", "argilla", tasks=pd.DataFrame({"item": ["a"]}))


def test_a_dataset_that_shows_nothing_names_its_tasks(crowd, fit, tmp_path) -> None:
    records = json.loads(write_import(replace(crowd, media=None), tmp_path / "r.json", "argilla", fit).read_text())
    assert [record["fields"] for record in records] == [{"text": "a"}, {"text": "b"}, {"text": "c"}]
