"""Label Studio's exports: JSON, CSV and JSON-MIN."""

from __future__ import annotations

import numpy as np
import pytest

from crowdcore.core.errors import DataError
from crowdcore.data import MappingError, examine, read_dataset
from testkit import exports


def choice(*choices, name="sentiment", **more):
    result = {"from_name": name, "to_name": "text", "type": "choices", "value": {"choices": list(choices)}}
    return {"result": [result], **more}


EXPORT = [
    {
        "id": 7,
        "data": {"text": "fine", "image": "a.png"},
        "annotations": [
            choice("pos", completed_by=3, lead_time=1.5, created_at="2024-01-01T00:00:00Z"),
            choice("neg", completed_by={"id": 4, "email": "ann@example.org"}, lead_time=2),
            choice("pos", completed_by=9, ground_truth=True),
        ],
        "predictions": [],
    },
    {"id": 8, "data": {"text": "bad"}, "annotations": [choice("neg", completed_by=3), choice(completed_by=4)]},
    {"id": 9, "data": {"text": "?"}, "annotations": [choice("pos", completed_by=3, was_cancelled=True)]},
    {"id": 10, "data": {}, "annotations": []},
]


def test_annotations_gold_and_media(write):
    found = examine(write(EXPORT))
    ds = found.dataset(accept=True)
    assert found.report.format == "label-studio"
    assert [tuple(map(str, row)) for row in ds.annotations[["task", "worker", "label"]].to_numpy()] == [
        ("7", "3", "pos"),
        ("7", "ann@example.org", "neg"),
        ("8", "3", "neg"),
    ]
    assert list(ds.task_ids) == ["7", "8", "9", "10"]
    assert ds.gold.tolist() == [1, -1, -1, -1]
    assert ds.media.columns["text"].fillna("-").tolist() == ["fine", "bad", "?", "-"]
    np.testing.assert_array_equal(ds.extra["seconds"], [1.5, 2.0, np.nan])
    assert ds.extra["timestamp"].fillna("-").tolist() == ["2024-01-01T00:00:00Z", "-", "-"]
    changes = {f.code: (f.rows, f.left_out) for f in found.report.changes}
    assert changes == {
        "no-choice": ((2,), 1),
        "skipped": ((3,), 1),
        "workers-without-labels": ((), 0),
        "ground-truth": ((1,), 1),
    }


def test_several_choices_are_left_out_on_acceptance(write):
    entries = [*EXPORT, {"id": 11, "data": {"text": "x"}, "annotations": [choice("pos", "neg", completed_by=1)]}]
    finding = next(f for f in examine(write(entries)).report.changes if f.code == "several-choices")
    assert (finding.rows, finding.left_out) == ((5,), 1)
    assert read_dataset(write(entries), accept=True).n_annotations == 3
    assert read_dataset(write(entries), accept=True, multi_select="keep").classes == ("neg", "neg|pos", "pos")


def test_contradicting_ground_truths_are_no_gold(write):
    truths = [choice(label, completed_by=who, ground_truth=True) for who, label in ((1, "pos"), (2, "neg"))]
    entries = [{"id": 1, "data": {}, "annotations": [*truths, choice("pos", completed_by=3)]}]
    found = examine(write(entries))
    (finding,) = [f for f in found.report.changes if f.code == "gold-contradicts"]
    assert (finding.count, finding.rows) == (1, (1,))
    assert found.dataset(accept=True).gold.tolist() == [-1]
    assert (
        examine(
            write([{**entries[0], "annotations": [truths[0], truths[0], entries[0]["annotations"][2]]}])
        ).report.n_gold
        == 1
    )


def test_ids_keep_every_digit_and_unknown_controls_are_refused(write):
    entries = [
        {"id": n, "data": {}, "annotations": [choice("pos", completed_by=2**60 + 1)]} for n in (123456789.0, 2**60 + 1)
    ]
    data = read_dataset(write(entries))
    assert list(data.task_ids) == ["123456789", str(2**60 + 1)]
    assert list(data.worker_ids) == [str(2**60 + 1)]
    with pytest.raises(MappingError, match=r"^No control called 'tone' holds choices .*'sentiment'"):
        examine(write(entries), label="tone")


def test_relations_and_junk_are_counted_as_regions(write):
    entry = {"id": 1, "data": {}, "annotations": [choice("pos", completed_by=1), choice("neg", completed_by=2)]}
    entry["annotations"][0]["result"] += [{"type": "relation", "from_id": "a", "to_id": "b"}, 5]
    (finding,) = examine(write([entry])).report.changes
    assert (finding.code, finding.count, finding.left_out) == ("region", 2, 0)


def test_regions_predictions_and_drafts_are_reported(write):
    box = {"from_name": "box", "type": "rectanglelabels", "value": {"x": 1, "rectanglelabels": ["Car"]}}
    word = {"from_name": "sentiment", "type": "choices", "value": {"start": 0, "end": 4, "choices": ["neg"]}}
    mixed = choice("pos", completed_by=1)
    mixed["result"] += [box, word]
    entry = {"id": 1, "data": {}, "annotations": [mixed, choice("neg", completed_by=2)]}
    report = examine(write([{**entry, "predictions": [{"id": 1}, {"id": 2}], "drafts": [{"id": 3}]}])).report
    assert {f.code: (f.count, f.left_out) for f in report.changes} == {
        "region": (2, 0), "prediction": (2, 0), "draft": (1, 1)
    }  # fmt: skip
    assert (report.n_rows, report.n_annotations) == (3, 2)


def test_ratings_and_comparisons(write):
    def answer(kind, key, value, who):
        return {"completed_by": who, "result": [{"from_name": kind, "type": kind, "value": {key: value}}]}

    rated = [{"id": 1, "data": {}, "annotations": [answer("rating", "rating", n, n) for n in (3, 4)]}]
    with pytest.raises(MappingError, match=r"^No annotation holds choices, only ratings .*'rating'.*label=") as caught:
        examine(write(rated))
    assert caught.value.roles == {"task": "id", "worker": "completed_by"}
    assert read_dataset(write(rated), label="rating").classes == ("3", "4")
    pairs = [{"id": 1, "data": {}, "annotations": [answer("pairwise", "selected", s, s) for s in ("left", "right")]}]
    assert read_dataset(write(pairs)).classes == ("left", "right")


def test_several_controls_are_asked_for(write):
    entry = {"id": 1, "data": {}, "annotations": [{"completed_by": 1, "result": []}]}
    for name, label in (("tone", "calm"), ("topic", "sport")):
        entry["annotations"][0]["result"] += choice(label, name=name)["result"]
    with pytest.raises(MappingError, match=r"^Several controls hold choices .*'tone', 'topic'.*label=") as caught:
        read_dataset(write([entry]))
    assert caught.value.columns == ("tone", "topic")
    report = examine(write([entry]), label="topic").report
    assert (report.classes, report.columns) == (("sport",), ("id", "completed_by", "tone", "topic"))
    assert "the answers to 'tone' are not" in next(f for f in report.findings if f.code == "other-questions").sentence


@pytest.mark.parametrize(
    ("entries", "sentence"),
    [
        ([{"id": 1, "data": {}, "annotations": []}], "No annotation holds choices"),
        (
            [{"id": 1, "data": {}, "annotations": [{"result": [{"type": "rectanglelabels", "value": {"x": 1}}]}]}],
            "No annotation holds choices; there are rectanglelabels",
        ),
        ([EXPORT[0], {"id": 2}], r"This entry has no `data` or no `annotations` \(export.json, row 2\)"),
        (
            [EXPORT[0], {"id": 2, "data": {}, "annotations": [5]}],
            r"An annotation is not a record \(export.json, row 2\)",
        ),
        ([EXPORT[0], EXPORT[0]], "names '7' twice, in rows 1 and 2"),
        ([{"id": 1, "data": {}, "annotations": [choice("a")]}], "The worker is missing in every row"),
    ],
)
def test_refusals(write, entries, sentence):
    with pytest.raises(DataError, match=sentence):
        examine(write(entries))


def test_the_old_word_for_annotations(write):
    entries = [{"id": 1, "data": {}, "completions": [choice("a", completed_by=1), choice("b", completed_by=2)]}]
    assert read_dataset(write(entries)).n_annotations == 2


def test_times_are_no_labels(tmp_path):
    data = examine(exports.write(tmp_path)["label-studio-table.csv"]).dataset(accept=True)
    assert data.extra["seconds"].tolist() == [5.25] * 4
    assert data.extra["timestamp"].tolist() == ["2024-01-01T10:00:00Z"] * 4


def test_a_control_is_named_where_there_may_be_several(write):
    records = [{**record, "source": "imdb"} for record in exports.STUDIO_MIN]
    with pytest.raises(MappingError, match=r"Which column holds the choices is not certain .*'sentiment', 'source'"):
        examine(write(records))
    assert examine(write(records), label="sentiment").report.n_annotations == 4


def test_spans_and_missing_answers_are_reported(write):
    records = [dict(record) for record in exports.STUDIO_MIN]
    records[0]["sentiment"] = [{"start": 0, "end": 5, "labels": ["pos"]}]
    del records[1]["sentiment"]
    report = examine(write(records)).report
    assert {f.code: f.rows for f in report.changes if f.left_out} == {
        "no-class": (1,), "no-choice": (2,), "several-choices": (3,)
    }  # fmt: skip
