"""Spans of characters as tags of tokens: offsets, overlaps, and the exports of four tools."""

from __future__ import annotations

import json
import random
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, strategies as st

from crowdcore.core.errors import DataError
from crowdcore.data import examine, read_dataset
from crowdcore.data.readers import _marked_texts, _tokens as _spans
from crowdcore.data.readers._tokens import Span, Text, tag
from crowdcore.data.tags import TagScheme, find_spans
from testkit import exports
from tests.data.readers.test_exports import examined, mutate_document, mutate_text

TEXT = "Ann met Bob in New York."  # Ann 0…3, met 4…7, Bob 8…11, in 12…14, New 15…18, York 18…23
PER, LOC = [0, 3, "PER"], [15, 23, "LOC"]
WHOLE = {"ann": [PER, LOC], "ben": [LOC], "eve": []}


def spans_of(given, names=("start", "end")):
    return [dict(zip((*names, "label"), span, strict=True)) for span in given]


def doccano(crowd, field="label"):
    return [{"id": 7, "text": TEXT, field: given, "username": worker} for worker, given in crowd.items()]


def doccano_old(crowd):
    """Labels are numbers, and users with nothing marked do not occur."""
    numbers = {"PER": 1, "LOC": 2}
    entries = [
        {"id": 1, "label": numbers[label], "start_offset": start, "end_offset": end, "user": list(crowd).index(who) + 1}
        for who, given in crowd.items()
        for start, end, label in given
    ]
    return [{"id": 7, "text": TEXT, "meta": {}, "annotations": entries}]


def prodigy(crowd):
    """As ``db-out`` writes ner_manual: https://prodi.gy/docs/api-interfaces#ner_manual."""
    cuts = [(0, 3), (4, 7), (8, 11), (12, 14), (15, 18), (19, 23), (23, 24)]
    tokens = [{"text": TEXT[a:b], "start": a, "end": b, "id": n, "ws": True} for n, (a, b) in enumerate(cuts)]
    return [
        {
            "text": TEXT, "_input_hash": 7, "_task_hash": 70, "tokens": tokens, "_view_id": "ner_manual",
            "spans": [span | {"token_start": 0, "token_end": 0} for span in spans_of(given)],
            "answer": "accept", "_timestamp": 1_700_000_000, "_annotator_id": worker, "_session_id": worker,
        }
        for worker, given in crowd.items()
    ]  # fmt: skip


def label_studio(crowd):
    """https://labelstud.io/guide/task_format with the control Labels on Text."""
    return [
        {
            "id": 7, "data": {"text": TEXT}, "predictions": [], "drafts": [],
            "annotations": [
                {
                    "id": n, "completed_by": {"id": n, "email": worker}, "was_cancelled": False, "ground_truth": False,
                    "result": [
                        {
                            "id": "x", "from_name": "label", "to_name": "text", "type": "labels", "origin": "manual",
                            "value": {"start": start, "end": end, "text": TEXT[start:end], "labels": [label]},
                        }
                        for start, end, label in given
                    ],
                }
                for n, (worker, given) in enumerate(crowd.items(), 1)
            ],
        }
    ]  # fmt: skip


def argilla(crowd):
    """``dataset.records.to_json`` with a SpanQuestion."""
    given = [{"value": spans_of(given), "user_id": worker} for worker, given in crowd.items()]
    return [{"id": "7", "fields": {"text": TEXT}, "responses": {"spans": given}, "suggestions": {}}]


def argilla_flat(crowd):
    """``dataset.records.to_datasets().to_json``."""
    return [
        {
            "id": "7", "text": TEXT, "spans.responses": [spans_of(given) for given in crowd.values()],
            "spans.responses.users": list(crowd), "spans.responses.status": ["submitted"] * len(crowd),
        }
    ]  # fmt: skip


TOOLS = {
    "doccano": doccano,
    "prodigy": prodigy,
    "label-studio": label_studio,
    "argilla": argilla,
    "argilla flat": argilla_flat,
}


@pytest.fixture
def write(write):
    return lambda records, name="export.jsonl": write(records, name)


def tags(dataset, worker):
    table = dataset.annotations[dataset.annotations["worker"] == worker]
    return dict(zip(table["task"].str.partition(":")[2].astype(int), table["label"], strict=True))


@pytest.mark.parametrize("tool", list(TOOLS))
class TestEveryTool:
    def test_spans_become_tags_of_every_annotator(self, tool, write):
        path = write(TOOLS[tool](WHOLE), "export.json" if tool == "label-studio" else "export.jsonl")
        imported = examine(path, unmarked="keep")
        ds = imported.dataset()
        assert imported.report.format == tool.partition(" ")[0]
        assert list(ds.sentences.words) == ["Ann", "met", "Bob", "in", "New", "York", "."]
        assert (list(ds.sentences.ids), ds.task_ids[0]) == (["7"], "7:1")
        assert ds.classes == ("O", "B-LOC", "I-LOC", "B-PER", "I-PER")
        assert list(tags(ds, "ann").values()) == ["B-PER", "O", "O", "O", "B-LOC", "I-LOC", "O"]
        assert list(tags(ds, "ben").values()) == ["O", "O", "O", "O", "B-LOC", "I-LOC", "O"]
        assert list(tags(ds, "eve").values()) == ["O"] * 7
        assert imported.report.n_rows == 21 == ds.n_annotations

    def test_faults_are_told_with_what_would_be_right_and_left_out_with_consent(self, tool, write):
        crowd = {"ann": [PER, [19, 22, "LOC"], [20, 40, "LOC"], [9, 8, "PER"]], "ben": [PER, LOC, [19, 23, "ORG"]]}
        records = TOOLS[tool](crowd)
        if tool == "label-studio":
            for entry in (r["value"] for a in records[0]["annotations"] for r in a["result"]):
                del entry["text"]
        imported = examine(write(records, "export.json"))
        by_code = {f.code: f for f in imported.report.changes}
        assert set(by_code) == {"span-in-token", "span-outside", "span-empty", "span-overlap"}
        assert "LOC at 19…22, 'Yor'" in by_code["span-in-token"].sentence
        assert "LOC at 20…40" in by_code["span-outside"].sentence
        assert "PER at 9…8" in by_code["span-empty"].sentence
        assert "ORG at 19…23, 'York', overlaps LOC at 15…23" in by_code["span-overlap"].sentence
        assert [by_code[code].left_out for code in by_code] == [f.left_out for f in imported.report.changes]
        assert sum(f.left_out for f in imported.report.changes) == 3  # York and the full stop, Bob
        with pytest.raises(DataError, match="imported"):
            imported.dataset()
        ds = imported.dataset(accept=True)
        assert tags(ds, "ann") == {1: "B-PER", 2: "O", 4: "O", 5: "O"}
        assert list(tags(ds, "ben").values()) == ["B-PER", "O", "O", "O", "B-LOC", "I-LOC", "O"]


def test_rows_are_the_lines_of_the_file(write):
    report = examine(write([*doccano({"ann": [PER]}), *doccano({"ben": [[1, 3, "PER"]]})])).report
    (change,) = report.changes
    assert (change.code, change.rows, change.left_out) == ("span-in-token", (2,), 1)


@pytest.mark.parametrize("field", ["label", "labels", "entities"])
def test_texts_without_a_span_are_unseen_for_doccano_unless_told(field, write):
    path = write(doccano(WHOLE, field))
    (unmarked, idle) = examine(path).report.changes
    assert (unmarked.code, unmarked.rows, unmarked.left_out) == ("unmarked", (3,), 7)
    assert idle.code == "workers-without-labels"
    assert read_dataset(path, unmarked="keep").n_workers == 3


def test_doccanos_folder_of_users(tmp_path):
    (tmp_path / "crowd").mkdir()
    for record in doccano(WHOLE):
        worker = record.pop("username")
        (tmp_path / "crowd" / f"{worker}.jsonl").write_text(json.dumps(record), encoding="utf-8")
    ds = read_dataset(tmp_path / "crowd", accept=True)
    assert list(ds.worker_ids) == ["ann", "ben"]
    assert tags(ds, "ben")[5] == "B-LOC"


def test_doccanos_old_lines_and_those_with_relations(write):
    ds = read_dataset(write(doccano_old(WHOLE)))
    assert (ds.classes, ds.n_annotations) == (("O", "B-1", "I-1", "B-2", "I-2"), 14)
    entities = spans_of([PER, LOC], ("start_offset", "end_offset"))
    relation = {"id": 1, "from_id": 0, "to_id": 1, "type": "lives in"}
    record = {"id": 7, "text": TEXT, "entities": entities, "relations": [relation], "username": "ann"}
    (change,) = examine(write([record])).report.changes
    assert (change.code, change.left_out) == ("relation", 0)


def test_prodigys_tokens_count(write):
    record = prodigy({"ann": [[0, 7, "X"]]})[0]
    record["tokens"] = [{"start": 0, "end": 7}, {"start": 8, "end": 24}]
    ds = read_dataset(write([record]))
    assert list(ds.sentences.words) == ["Ann met", "Bob in New York."]


@pytest.mark.parametrize(("answer", "code"), [("reject", "rejected"), ("ignore", "skipped")])
def test_texts_that_were_not_accepted_are_left_out(answer, code, write):
    records = prodigy(WHOLE)
    records[1]["answer"] = answer
    change = examine(write(records)).report.changes[0]
    assert (change.code, change.rows, change.left_out) == (code, (2,), 7)


def test_ground_truth_of_label_studio_is_gold(write):
    records = label_studio(WHOLE)
    records[0]["annotations"][0]["ground_truth"] = True
    ds = examine(write(records, "e.json")).dataset(accept=True)
    assert [ds.classes[g] for g in ds.gold] == ["B-PER", "O", "O", "O", "B-LOC", "I-LOC", "O"]
    assert list(ds.worker_ids) == ["ben", "eve"]


def test_the_words_of_a_span_find_offsets_in_utf16_units_and_wrong_ones(write):
    records = label_studio({"ann": [[3, 6, "PER"]], "ben": [[2, 5, "PER"]]})
    records[0]["data"]["text"] = "\U0001d4b3 Bob"  # in UTF-16 units Bob is at 3…6, in characters at 2…5
    for annotation, text in zip(records[0]["annotations"], ("Bob", "Ann"), strict=True):
        annotation["result"][0]["value"]["text"] = text
    imported = examine(write(records, "e.json"))
    assert tags(imported.dataset(accept=True), "ann") == {1: "O", 2: "B-PER"}
    by_code = {f.code: f for f in imported.report.findings}
    assert by_code["span-utf16"].count == 1
    assert "ben: PER at 2…5: 'Bob'" in by_code["span-text"].sentence


def test_other_texts_under_the_same_name_and_texts_of_nothing(write):
    records = [*doccano({"ann": [PER]}), {"id": 7, "text": "Ben", "label": [[0, 3, "PER"]], "username": "ben"},
               {"id": 8, "text": " ", "label": [[0, 1, "PER"]], "username": "ann"}]  # fmt: skip
    report = examine(write(records)).report
    assert {f.code: (f.rows, f.left_out) for f in report.changes} == {
        "other-text": ((2,), 1), "no-text": ((3,), 0), "workers-without-labels": ((), 0)
    }  # fmt: skip


def test_nobody_marked_anything(write):
    with pytest.raises(DataError, match="marked"):
        examine(write(prodigy({"ann": [], "ben": []})))


@pytest.mark.parametrize("tool", list(TOOLS))
def test_damaged_exports(tool, tmp_path):
    form, chance, read = tool.partition(" ")[0], random.Random(tool), 0
    records = TOOLS[tool]({"ann": [PER, LOC, [16, 20, "LOC"]], "ben": [LOC]})
    text = exports.lines(records)
    for turn in range(60):
        path = tmp_path / "export.jsonl"
        written = mutate_text(text, chance) if turn % 3 == 0 else mutate_document(text, True, chance)[0]
        path.write_text(written, encoding="utf-8")
        read += examined(path, format=chance.choice((form, None))) is not None
    assert read > 10


@given(st.lists(st.integers(1, 4), min_size=1, max_size=6), st.integers(0, 2**32 - 1), st.sampled_from([3, 127, 300]))
def test_tags_come_in_the_order_of_the_tokens_whatever_their_type(lengths, seed, n_classes):
    rng = np.random.default_rng(seed)
    start = np.append(0, np.cumsum(lengths))
    text = rng.integers(0, len(lengths), 8)
    code = np.append(np.arange(n_classes), -1).astype(np.min_scalar_type(-n_classes - 1))
    given_tags = [rng.integers(-1, n_classes, lengths[k]) for k in text]
    tags = code[np.concatenate(given_tags)]
    token, row, ordered = _marked_texts._by_token(start, text, tags)
    want = sorted(
        (int(start[k] + place), answer, int(tag))
        for answer, (k, own) in enumerate(zip(text, given_tags, strict=True))
        for place, tag in enumerate(own)
    )
    assert [*zip(token.tolist(), row.tolist(), ordered.tolist(), strict=True)] == want
    assert {part.dtype for part in (token, row, ordered)} == {np.dtype(np.int32)}


def test_chinese_characters_are_tokens_of_their_own():
    text = Text.of("我爱北京 and cafe\u0301s!")
    assert text.words() == ["我", "爱", "北", "京", "and", "cafe\u0301s", "!"]
    types = {}
    assert tag(text, [Span(2, 4, "LOC")], types).tags == [0, 0, 1, 2, 0, 0, 0]


@st.composite
def marked_texts(draw):
    """A text of words, and spans of whole words that do not overlap."""
    words = draw(st.lists(st.text("abcß\u0301北\U0001d4b3", min_size=1, max_size=4), min_size=1, max_size=12))
    text = Text.of(draw(st.sampled_from([" ", "  ", " \n"])).join(words))
    free, spans = 0, []
    while free < len(text) and draw(st.booleans()):
        first = draw(st.integers(free, len(text) - 1))
        last = draw(st.integers(first, len(text) - 1))
        spans.append((first, last + 1, draw(st.sampled_from("xyz"))))
        free = last + 1
    return text, spans


@given(marked_texts())
def test_tags_say_the_spans_they_were_made_of(drawn):
    text, spans = drawn
    types = {}
    marked = tag(text, [Span(text.start[a], text.end[b - 1], kind, None) for a, b, kind in spans], types)
    assert not marked.faults
    types.setdefault("x", len(types))
    scheme = TagScheme.of(("O", *(f"{part}-{kind}" for kind in types for part in "BI")))
    spans_again = find_spans(np.array(marked.tags), np.arange(len(text)) == 0, scheme)
    assert [*zip(spans_again.start, spans_again.end, (scheme.types[k] for k in spans_again.type), strict=True)] == spans


ANY = st.one_of(st.integers(-3, 12), st.none(), st.text(max_size=3), st.floats(), st.lists(st.integers(), max_size=2))


@given(st.text(max_size=10), st.lists(st.tuples(ANY, ANY, ANY, st.none() | st.text(max_size=4)), max_size=5))
def test_whatever_the_offsets_every_span_is_tagged_or_told(words, spans):
    text, types = Text.of(words), {}
    marked = tag(text, [Span(*span) for span in spans], types)
    assert len(marked.tags) == len(text)
    assert sum(lost for _, lost in marked.faults) == marked.tags.count(-1)
    begun = sum(t > 0 and t % 2 for t in marked.tags)
    assert begun + len(marked.faults) + marked.notes.get("span-twice", 0) == len(spans)


@st.composite
def spans_near_tokens(draw):
    """A text, maybe with a tool's tokens, and spans, most of which begin and end with a token."""
    text = Text.of(draw(st.text("ab \u0301北.", max_size=12)))
    if draw(st.booleans()) and text.text:
        edges = sorted(draw(st.sets(st.integers(0, len(text.text)), max_size=8)))
        text = Text.of(text.text, [*pairwise(edges)])  # such tokens may hold blanks
    begins, ends = ((*part, 0) for part in (text.start, text.end))
    near = st.sampled_from([*begins, *ends]) | st.integers(-1, 13) | st.booleans()
    words = st.none() | st.text("ab ", max_size=3) | st.just(...)
    label = st.sampled_from(["x", " x", "y", "e\u0301", "\u00e9", "", 1])
    spans = [Span(*span) for span in draw(st.lists(st.tuples(near, near, label, words), max_size=4))]
    return text, [s._replace(text=text.text[s.start : s.end]) if s.text is ... else s for s in spans]


@given(spans_near_tokens())
def test_spans_in_order_are_tagged_as_any_others(drawn):
    text, spans = drawn
    kinds, others = {}, {}
    marked = tag(text, spans, kinds)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_spans, "_tags_in_order", lambda *_: None)
        other = tag(text, spans, others)
    name = dict(enumerate(kinds))
    assert [(t % 2, name[(t - 1) // 2]) if t > 0 else t for t in marked.tags] == [
        (t % 2, [*others][(t - 1) // 2]) if t > 0 else t for t in other.tags
    ]
    assert (marked.faults, marked.notes, kinds.keys()) == (other.faults, other.notes, others.keys())
