"""Spellings that may be one name, and labels that name several: found, named, merged or left out on request."""

from __future__ import annotations

import unicodedata
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings, strategies as st

import crowdcore as cc
from crowdcore.core.errors import DataError, SettingError
from crowdcore.data import SimulatedTruth, examine, read_dataset
from crowdcore.data.dictionary import strings
from crowdcore.data.reading.spellings import find_multi_selects, fold
from testkit.crowds import simulate_crowd


@pytest.fixture
def csv(tmp_path):
    def write(labels, workers=None, gold=None):
        rows = ["task,worker,label" + ",gold" * (gold is not None)]
        for i, label in enumerate(labels):
            cells = [f"t{i}", workers[i] if workers else f"w{i % 3}", label, *([gold[i]] if gold else [])]
            rows.append(",".join(f'"{cell.replace(chr(34), chr(34) * 2)}"' for cell in cells))
        path = tmp_path / "votes.csv"
        path.write_text("\n".join(rows) + "\n", encoding="utf-8")
        return path

    return write


CATS = ["cat", "cat", "cat", "Cat", "CAT ", "dog", "cafe", "caf\u00e9", "cafe\u0301", "\uff44og"]


def test_spellings_are_found_and_named_but_kept_apart(csv):
    report = examine(csv(CATS)).report
    assert set(report.classes) == {"cat", "Cat", "CAT", "dog", "\uff44og", "cafe", "caf\u00e9"}
    (finding,) = [f for f in report.findings if f.code == "label-variants"]
    assert finding.level == "warning"
    assert "'CAT' (1), 'Cat' (1) and 'cat' (3)" in finding.sentence or "'Cat' (1), 'CAT' (1) and" in finding.sentence
    assert finding.remedies[0].setting == "merge_classes"
    found = {group.name: dict(zip(group.spellings, group.counts, strict=True)) for group in report.variants}
    assert found == {
        "cat": {"cat": 3, "Cat": 1, "CAT ": 1},
        "dog": {"dog": 1, "\uff44og": 1},
        "caf\u00e9": {"cafe": 1, "caf\u00e9": 1, "cafe\u0301": 1},
    }
    assert not any(group.merged for group in report.variants)


def test_what_is_read_without_its_blanks_is_named_with_what_it_becomes(csv):
    told = [
        f for f in examine(csv([" cat", " dog", "cow"], ["w1", " w1", "w2"])).report.findings if f.code == "trimmed"
    ]
    assert [(f.level, f.count, f.column, f.examples) for f in told] == [
        ("note", 1, "worker", (" w1",)), ("note", 2, "label", (" cat", " dog"))
    ]  # fmt: skip
    assert told[1].sentence.endswith("spelling: ' cat' is read as 'cat'; ' dog' is read as 'dog'")


def test_merging_is_a_change_that_names_what_becomes_what(csv):
    path = csv(CATS)
    report = examine(path, merge_classes="variants").report
    assert report.classes == ("caf\u00e9", "cat", "dog")
    (change,) = [f for f in report.changes if f.code == "merged-label-variants"]
    assert change.rows == (4, 5, 7, 10)
    assert "into 'cat'" in change.sentence
    assert all(group.merged for group in report.variants)
    with pytest.raises(DataError, match="accept"):
        read_dataset(path, merge_classes="variants")
    merged = read_dataset(path, merge_classes="variants", accept=True)
    assert Counter(merged.classes[c] for c in merged.label) == {"cat": 5, "dog": 2, "caf\u00e9": 3}


def test_only_some_are_merged_and_a_class_can_be_renamed(csv):
    path = csv(CATS)
    report = examine(path, merge_classes={"kitty": ["cat", "Cat", "CAT"]}).report
    assert set(report.classes) == {"kitty", "dog", "\uff44og", "cafe", "caf\u00e9"}
    assert {group.name: group.merged for group in report.variants} == {
        "kitty": True,
        "dog": False,
        "caf\u00e9": False,
    }
    (kept,) = [f for f in report.findings if f.code == "label-variants"]
    assert "cat" not in kept.sentence.casefold()


def test_gold_and_class_list_follow(csv):
    path = csv(["cat", "Cat", "dog", "Cat"], gold=["CAT", "cat", "dog", ""])
    merged = read_dataset(path, merge_classes="variants", accept=True)
    assert merged.classes == ("Cat", "dog")
    assert merged.gold.tolist() == [0, 0, 1, -1]
    listed = read_dataset(path, merge_classes="variants", classes=["dog", "cat"], accept=True)
    assert listed.classes == ("dog", "cat")
    assert listed.label.tolist() == [1, 1, 0, 1]
    assert listed.gold.tolist() == [1, 1, 0, -1]


def test_workers_too(csv):
    path = csv(["a", "b", "a", "b"], workers=["Ann", "ann", "ben", "ann"])
    report = examine(path).report
    assert [f.code for f in report.findings if f.level == "warning"] == ["worker-variants"]
    assert report.n_workers == 3
    merged = read_dataset(path, merge_workers="variants", accept=True)
    assert list(merged.worker_ids) == ["ann", "ben"]
    assert merged.worker.tolist() == [0, 0, 1, 0]


def test_a_folder_with_lists_of_classes_and_workers(csv, tmp_path):
    path = csv(["a", "b", "A", "b"], workers=["Ann", "ann", "ben", "ann"])
    folder = cc.data.write_folder(read_dataset(path), tmp_path / "made")
    merged = read_dataset(folder, merge_classes="variants", merge_workers={"ann": ["Ann"]}, accept=True)
    assert (merged.classes, list(merged.worker_ids)) == (("A", "b"), ["ann", "ben"])


@pytest.mark.parametrize(
    ("merge", "match"),
    [
        ({"dog": ["cafee"]}, r"`merge_classes` must name what the file holds, but got 'cafee'. Did you mean 'cafe'"),
        ({"cat": ["Cat"], "dog": ["Cat"]}, "merge each name once"),
        ({"cat": ["Cat"], "dog": ["cat"]}, "merge each name once"),
        ({"": ["cat"]}, "merge each name once"),
        ("all", "`merge_classes"),
    ],
)
def test_merges_that_cannot_be(csv, merge, match):
    with pytest.raises(SettingError, match=match):
        examine(csv(CATS), merge_classes=merge)


def test_a_simulated_crowd_keeps_its_classes(tmp_path):
    crowd = replace(simulate_crowd(20), truth=SimulatedTruth(settings={"seed": 0}))
    first, second = crowd.classes[:2]
    with pytest.raises(DataError, match="simulated crowd"):
        read_dataset(cc.data.write_folder(crowd, tmp_path / "made"), merge_classes={first: [second]}, accept=True)


def test_combinations_are_found_kept_or_left_out(csv):
    labels = ["cat", "dog", "cat|dog", "dog", "cat; dog", '["cat", "dog"]', "cat|dog"]
    path = csv(labels, workers=["ann", "ben", *["ann"] * 5])
    report = examine(path).report
    (finding,) = [f for f in report.findings if f.code == "multi-select"]
    assert (finding.level, finding.count, finding.rows) == ("warning", 4, (3, 5, 6, 7))
    assert "'cat|dog' (2)" in finding.sentence
    report = examine(path, multi_select="drop").report
    assert [(f.code, f.rows) for f in report.changes] == [("label-outside-classes", (3, 5, 6, 7))]
    assert "4 labels that may name several classes would be left out" in report.changes[0].sentence
    assert report.n_rows == report.n_annotations + 4
    assert read_dataset(path, multi_select="drop", accept=True).classes == ("cat", "dog")
    assert "multi-select" not in {f.code for f in examine(path, classes=["cat", "dog", "cat|dog"]).report.findings}


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (["cat", "dog"], set()),
        (["Paris, France", "Rome, Italy"], set()),
        (["Paris, France", "Lyon, France"], set()),
        (["a,b", "a", "b"], {"a,b"}),
        (["Cat|Bird", "cat"], {"Cat|Bird"}),
        (["a|b", "b|c"], {"a|b", "b|c"}),
        (["yes", "no", "yes;"], set()),
        (["[1]", "[1, 2]"], {"[1]", "[1, 2]"}),
        (["[]", "a"], set()),
        (["[" * 100_000 + "]" * 100_000, "[a]"], set()),
    ],
)
def test_what_names_several_classes(names, found):
    assert find_multi_selects(names) == found


@settings(max_examples=200)
@given(st.text(max_size=8))
def test_folding_forgets_case_and_form(name):
    def key(text):
        return fold(strings([text]))[0].as_py()

    assert key(key(name)) == key(name)
    for form in ("NFC", "NFD"):
        assert key(unicodedata.normalize(form, name)) == key(name)
    assert key(f"  {name}\t") == key(name)
    if name.isascii():
        assert key(name.upper()) == key(name) == " ".join(name.lower().split())
