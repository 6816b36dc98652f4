"""Every row is an annotation or is reported; spellings and side columns are kept."""

from __future__ import annotations

import unicodedata
from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings, strategies as st

import crowdcore as cc
from crowdcore.core.errors import DataError, SettingError
from crowdcore.data import SimulatedTruth, examine, from_frame, read_dataset, write_folder, write_long
from crowdcore.data.dictionary import counted_sorted, strings
from crowdcore.data.reading.numbering import Annotations, find_repeats, reduce_repeats
from crowdcore.data.reading.spellings import find_multi_selects, fold
from testkit.crowds import simulate_crowd
from tests.data.reading.read_case import check, placed, table


def codes(report) -> dict[str, str]:
    return {finding.code: finding.level for finding in report.findings}


def test_rows_that_do_not_add_up_are_refused_as_a_fault_of_ours(write, monkeypatch):
    from crowdcore.data.readers.long import LongTable

    honest = LongTable.read
    monkeypatch.setattr(LongTable, "read", lambda *of: replace(honest(*of), n_rows=7))
    sentence = "The reader 'long' lost count: of 7 rows 2 became annotations and 0 are reported as left out"
    with pytest.raises(DataError, match=f"{sentence}"):
        examine(write("task,worker,label\nt1,w1,a\nt1,w2,b\n"))


def test_a_row_with_several_faults_is_left_out_once(write):
    path = write("task,worker,label\nt1,w1,a\n,,z\n,w1,\nt1,w1,z\nt1,w1,b\nt1,w1,b\n")
    report = examine(path, classes=["a", "b"], repeats="majority").report
    left_out = {f.code: f.left_out for f in report.findings if f.left_out}
    assert left_out == {"missing-task": 2, "label-outside-classes": 1, "repeats": 2}
    assert (report.n_rows, report.n_annotations, report.n_left_out) == (6, 1, 5)
    assert report.as_dict()["findings"][0]["left_out"] == 2
    assert report.frame()["left_out"].sum() == 5


def test_no_task_with_two_labels(write):
    rows = "".join(f"{i},w{i % 3},{'ab'[i % 2]}\n" for i in range(12))
    report = examine(write("id,worker,label\n" + rows)).report
    assert codes(report)["no-shared-tasks"] == "warning"
    assert "no-shared-tasks" not in codes(examine(write("id,worker,label\n" + rows + "1,w2,a\n")).report)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 9), st.integers(0, 3)), max_size=30), st.booleans())
def test_sorting_is_stable(triples, numbered):
    table = np.array(triples, np.int32).reshape(-1, 3)
    rows = np.arange(len(table)) * 10 if numbered else None
    given_ = Annotations(rows, *table.T)
    order = np.argsort(table[:, 0], kind="stable")
    want, got = given_.at(order), given_.sort(6)
    for part in ("task", "worker", "label"):
        np.testing.assert_array_equal(getattr(got, part), getattr(want, part), part)
        assert getattr(got, part).dtype == np.int32
    np.testing.assert_array_equal(np.arange(len(table)) if got.rows is None else got.rows, want.rows)


def test_numbers_written_in_several_ways_are_kept_apart_with_a_warning(write):
    report = examine(write("task,worker,label\n1,ann,1\n2,ann,1.0\n3,ann,01\n4,ann,one\n5,ann,2\n")).report
    assert report.classes == ("01", "1", "1.0", "2", "one")
    (warning,) = [finding for finding in report.findings if finding.code == "same-number"]
    assert (warning.level, warning.examples) == ("warning", ("01", "1", "1.0"))
    assert [remedy.setting for remedy in warning.remedies] == ["merge_classes"]


def test_all_labels_that_look_missing_are_named(write):
    report = examine(write("task,worker,label\nt1,w1,NA\nt2,w1,cat\nt3,w1,None\n")).report
    (warning,) = [finding for finding in report.findings if finding.code == "looks-missing"]
    assert [(remedy.setting, remedy.value) for remedy in warning.remedies] == [("missing", ["NA", "None"])]


TRIPLES = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 2)), max_size=25)


def columns(triples):
    table = np.array(sorted(triples, key=lambda t: t[0]), dtype=np.int32).reshape(-1, 3)
    return table[:, 0], table[:, 1], table[:, 2]


@settings(max_examples=200)
@given(TRIPLES)
def test_finding(triples):
    task, worker, label = columns(triples)
    groups = defaultdict(list)
    for row, pair in enumerate(zip(task, worker, strict=True)):
        groups[pair].append(row)
    several = {pair: rows for pair, rows in groups.items() if len(rows) > 1}
    repeats = find_repeats(task, worker, label, 3)
    by_task = {
        (task[rows[0]], worker[rows[0]]): rows.tolist()
        for rows in np.split(repeats.rows, repeats.start[1:-1])
        if len(rows)
    }
    assert by_task == several
    assert repeats.n_repeats == sum(len(rows) - 1 for rows in several.values())
    assert repeats.contradicting.sum() == sum(len({label[r] for r in rows}) > 1 for rows in several.values())


@settings(max_examples=200)
@given(TRIPLES, st.sampled_from(["first", "last", "majority"]))
def test_reducing(triples, how):
    task, worker, label = columns(triples)
    repeats = find_repeats(task, worker, label, 3)
    kept = np.ones(len(task), bool)
    kept[reduce_repeats(repeats, label, how)] = False
    groups = defaultdict(list)
    for row, pair in enumerate(zip(task, worker, strict=True)):
        groups[pair].append(row)
    for rows in groups.values():
        votes = Counter(label[r] for r in rows)  # in order of appearance, which breaks ties
        winner = next(r for r in rows if label[r] == max(votes, key=votes.__getitem__))
        want = {"first": rows[0], "last": rows[-1], "majority": winner}[how]
        assert [r for r in rows if kept[r]] == [want]


@pytest.mark.parametrize("n", [0, 1])
def test_few_rows(n):
    nothing = np.zeros(n, np.int32)
    assert find_repeats(nothing, nothing, nothing, 1).n_repeats == 0


def test_blocks_of_tasks_find_the_same_repeats(monkeypatch):
    rng = np.random.default_rng(1)
    task = np.sort(rng.integers(0, 40, 300)).astype(np.int32)
    worker, label = (rng.integers(0, n, 300).astype(np.int32) for n in (9, 3))
    whole = find_repeats(task, worker, label, 9)
    monkeypatch.setattr("crowdcore.data.reading.numbering.BLOCK", 7)
    parts = find_repeats(task, worker, label, 9)
    for name in ("rows", "start", "contradicting"):
        np.testing.assert_array_equal(getattr(parts, name), getattr(whole, name), name)


def test_counts_of_sorted_codes_are_those_of_bincount(monkeypatch):
    codes = np.sort(np.random.default_rng(2).integers(0, 50, 200)).astype(np.int32)
    monkeypatch.setattr("crowdcore.data.dictionary.BLOCK", 16)
    np.testing.assert_array_equal(counted_sorted(codes, 60), np.bincount(codes, minlength=60))
    assert counted_sorted(codes[:0], 3).tolist() == [0, 0, 0]


def votes(labels: list[str], workers: list[str] | None = None, gold: list[str] | None = None) -> str:
    rows = [
        (f"t{i}", workers[i] if workers else f"w{i % 3}", label, *([gold[i]] if gold else []))
        for i, label in enumerate(labels)
    ]
    return table(rows, "task", "worker", "label", *["gold"] * bool(gold))


CATS = ["cat", "cat", "cat", "Cat", "CAT ", "dog", "cafe", "caf\u00e9", "cafe\u0301", "\uff44og"]
SPELLED = votes(CATS)
GOLDEN = votes(["cat", "Cat", "dog", "Cat"], gold=["CAT", "cat", "dog", ""])
PEOPLE = votes(["a", "b", "A", "b"], ["Ann", "ann", "ben", "ann"])
SEVERAL = ["cat", "dog", "cat|dog", "dog", "cat; dog", '["cat", "dog"]', "cat|dog"]
VARIANTS = {"merge_classes": "variants"}
FOUND = {"cat": {"cat": 3, "Cat": 1, "CAT ": 1}, "dog": {"dog": 1, "\uff44og": 1},
         "caf\u00e9": {"cafe": 1, "caf\u00e9": 1, "cafe\u0301": 1}}  # fmt: skip
CASES: dict[str, tuple[Any, ...]] = {
    "spellings are found and named but kept apart": (
        SPELLED, {"classes": {"cat", "Cat", "CAT", "dog", "\uff44og", "cafe", "caf\u00e9"}, "findings": {
                  "label-variants": {"level": "warning"}}, "text": ("'cat' (3)", "'CAT' (1)", "'Cat' (1)")},
        (VARIANTS, {"classes": ("caf\u00e9", "cat", "dog"),
        "findings": {"merged-label-variants": {"level": "change", "rows": (4, 5, 7, 10)}},
                    "text": ("into 'cat'",), "labels": ["cat"] * 5 + ["dog"] + ["caf\u00e9"] * 3 + ["dog"]}),
        ({"merge_classes": {"kitty": ["cat", "Cat", "CAT"]}},
         {"classes": {"kitty", "dog", "\uff44og", "cafe", "caf\u00e9"},
         "findings": {"label-variants": {"level": "warning"}}}),
        *(({"merge_classes": merge}, {"refused": SettingError, "match": match}) for merge, match in (
            ({"dog": ["cafee"]}, r"`merge_classes` must name .*'cafee'. Did you mean 'cafe'"),
            ({"cat": ["Cat"], "dog": ["Cat"]}, "merge each name once"),
            ({"cat": ["Cat"], "dog": ["cat"]}, "merge each name once"),
            ({"": ["cat"]}, "merge each name once"), ("all", "`merge_classes")))),
    "gold and class list follow": (
        GOLDEN, (VARIANTS, {"classes": ("Cat", "dog"), "gold": [0, 0, 1, -1]}),
        ({**VARIANTS, "classes": ["dog", "cat"]},
        {"classes": ("dog", "cat"), "label": [1, 1, 0, 1], "gold": [1, 1, 0, -1]})),
    "workers too": (
        PEOPLE, {"n_workers": 3, "findings": {"worker-variants": {"level": "warning"}}},
        ({"merge_workers": "variants"}, {"worker_ids": ["ann", "ben"], "worker": [0, 0, 1, 0]})),
    "combinations are found, kept or left out": (
        votes(SEVERAL, ["ann", "ben", *["ann"] * 5]),
        {"findings": {"multi-select": {"level": "warning", "count": 4, "rows": (3, 5, 6, 7)}},
        "text": ("'cat|dog' (2)",)},
        ({"multi_select": "drop"}, {"changes": {"label-outside-classes": (3, 5, 6, 7)}, "n_rows": 7, "n_annotations": 3,
                                    "classes": ("cat", "dog")}),
        ({"classes": ["cat", "dog", "cat|dog"]}, {"lacks": {"multi-select"}})),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_spellings_and_combinations(name: str, tmp_path: Path) -> None:
    content, *steps = CASES[name]
    check(placed(tmp_path, content), *steps)


def test_variants_are_counted_and_say_whether_they_are_merged(write):
    path = write(SPELLED)

    def merged(**how):
        return {group.name: group.merged for group in examine(path, **how).report.variants}

    variants = examine(path).report.variants
    assert {g.name: dict(zip(g.spellings, g.counts, strict=True)) for g in variants} == FOUND
    assert merged() == dict.fromkeys(FOUND, False) and merged(**VARIANTS) == dict.fromkeys(FOUND, True)
    some = {"merge_classes": {"kitty": ["cat", "Cat", "CAT"]}}
    assert merged(**some) == {"kitty": True, "dog": False, "caf\u00e9": False}
    (kept,) = [f for f in examine(path, **some).report.findings if f.code == "label-variants"]
    assert "cat" not in kept.sentence.casefold()


def test_what_is_read_without_its_blanks_is_named_with_what_it_becomes(write):
    report = examine(write(votes([" cat", " dog", "cow"], ["w1", " w1", "w2"]))).report
    findings = [f for f in report.findings if f.code == "trimmed"]
    assert [(f.level, f.count, f.column, f.examples) for f in findings] == [
        ("note", 1, "worker", (" w1",)), ("note", 2, "label", (" cat", " dog"))
    ]  # fmt: skip
    assert findings[1].sentence.endswith("' cat' is read as 'cat'; ' dog' is read as 'dog'")


def test_a_folder_with_lists_of_classes_and_workers(write, tmp_path):
    folder = cc.data.write_folder(read_dataset(write(PEOPLE)), tmp_path / "made")
    merged = read_dataset(folder, merge_classes="variants", merge_workers={"ann": ["Ann"]}, accept=True)
    assert (merged.classes, list(merged.worker_ids)) == (("A", "b"), ["ann", "ben"])
    crowd = replace(simulate_crowd(20), truth=SimulatedTruth(settings={"seed": 0}))
    first, second = crowd.classes[:2]
    with pytest.raises(DataError, match="simulated crowd"):  # keeps its classes
        read_dataset(cc.data.write_folder(crowd, tmp_path / "planted"), merge_classes={first: [second]}, accept=True)


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


VOTES = {"task": ["t1", "t2", "t3"], "worker": ["a", "b", "a"], "label": ["x", "y", "x"]}


SIDES = "00501 00502 7/1.10 1.1 2/+5 5 -0/1 1.0 2/nan inf 1/0x10 1e3 /123456789012345678901 1 2/  /1.5  3/1.0 2.5 "


@pytest.mark.parametrize(
    "values",
    [[" 7", "7", "8"], ["9007199254740993", "", "9007199254740992"], *(cells.split(" ") for cells in SIDES.split("/"))],
)
@pytest.mark.parametrize("table", ["csv", "parquet"])
def test_text_keeps_its_characters(tmp_path, values, table):
    path = tmp_path / "votes.csv"
    pd.DataFrame({**VOTES, "code": values}).to_csv(path, index=False)
    ds = read_dataset(path)
    again = read_dataset(write_folder(ds, tmp_path / "again", table=table))
    for extra in (ds.extra, again.extra):
        codes = extra["code"]
        if all(isinstance(value, str) for value in codes):
            assert codes.tolist() == values
        else:  # numbers, because each is spelled as a number is written
            args = ["" if pd.isna(v) else str(v) for v in codes]
            assert args in (values, [f"{v}.0" if v and "." not in v else v for v in values])


def test_whole_numbers_beside_missing_ones_stay_whole(tmp_path):
    path = tmp_path / "votes.parquet"
    code = pa.array([2**53 + 1, None, 2**53])
    pq.write_table(pa.table({**VOTES, "code": code, "big": pa.array([2**64 - 1, None, 1], pa.uint64())}), path)
    for ds in (read_dataset(path), read_dataset(write_folder(read_dataset(path), tmp_path / "again"))):
        assert ds.extra["code"].tolist() == [2**53 + 1, pd.NA, 2**53]
        assert ds.extra["big"].tolist() == [2**64 - 1, pd.NA, 1]


def test_maps_lists_and_bytes_are_kept_in_parquet_and_refused_in_csv(tmp_path):
    path = tmp_path / "votes.parquet"
    columns = {
        "map": pa.array([[("a", 1)], None, []], pa.map_(pa.string(), pa.int64())),
        "bytes": pa.array([b"\xff", None, b"x"]),
        "list": pa.array([[1], None, []]),
    }
    for name, column in columns.items():
        pq.write_table(pa.table({**VOTES, name: column}), path)
        ds = read_dataset(path)
        again = read_dataset(write_folder(ds, tmp_path / name))
        assert pa.array(again.extra[name], from_pandas=True) == pa.array(ds.extra[name], from_pandas=True)
        with pytest.raises(DataError, match=f"'{name}'"):
            write_long(ds, tmp_path / "out.csv")
        assert not (tmp_path / "out.csv").exists()


def test_values_of_many_kinds_are_refused_in_a_sentence(tmp_path):
    ds = from_frame(pd.DataFrame(VOTES))
    odd = pd.DataFrame({"odd": [1, "x", object()]})
    with pytest.raises(DataError, match="'odd'"):
        write_folder(type(ds)(**{**vars(ds), "extra": odd}), tmp_path / "out")
    with pytest.raises(DataError, match="'gold'"):
        write_long(type(ds)(**{**vars(ds), "extra": odd.rename(columns={"odd": "gold"})}), tmp_path / "out.csv")


def test_a_side_column_named_as_one_of_ours_gets_another_name(tmp_path):
    path = tmp_path / "votes.csv"
    pd.DataFrame({**VOTES, "gold": ["u", "v", "w"], "truth": ["x", "y", "x"]}).to_csv(path, index=False)
    ds = read_dataset(path, gold="truth")
    assert ds.extra["gold_column"].tolist() == ["u", "v", "w"]
    again = read_dataset(write_folder(ds, tmp_path / "again"))
    assert again.extra["gold_column"].tolist() == ["u", "v", "w"]
    assert again.fingerprint == ds.fingerprint


def test_rows_are_those_of_the_file_after_accepting_changes(tmp_path, write):
    path = write("task,worker,label\nt2,a,x\nt1,a,\nt2,b,y\nt1,b,x\nt2,b,x\n", "votes.csv")
    ds = read_dataset(path, accept=True)
    assert list(zip(ds.task_ids[ds.task], ds.file_row, strict=True)) == [("t2", 1), ("t2", 3), ("t2", 5), ("t1", 4)]
    again = read_dataset(write_folder(ds, tmp_path / "again"))
    assert again.file_row.tolist() == [1, 3, 5, 4]
    assert "row 5)" in next(note for note in again.notes if "repeat" in note)
    assert pd.read_csv(write_long(ds, tmp_path / "out.csv"))["file_row"].tolist() == [1, 3, 5, 4]
    assert ds.where(ds.label == 0).file_row.tolist() == [1, 5, 4]


@pytest.mark.parametrize("rows", [[1, 2], [1.0, 2.0, 3.0]])
def test_rows_that_do_not_fit_are_refused(tmp_path, rows):
    folder = write_folder(from_frame(pd.DataFrame(VOTES)), tmp_path / "made")
    np.save(folder / "file_row.npy", np.array(rows))
    with pytest.raises(DataError, match=r"whole.*3 annotations"):
        read_dataset(folder)


def test_minus_one_in_a_class_list_is_a_class(tmp_path, write):
    path = write("task,worker,label,gold\nt1,a,-1.0,-1.0\nt2,a,1.0,1.0\n", "votes.csv")
    ds = read_dataset(path, classes=["-1.0", "1.0"])
    assert ds.gold.tolist() == [0, 1]
    for kind in ("csv", "parquet"):
        assert read_dataset(write_folder(ds, tmp_path / kind, table=kind)).fingerprint == ds.fingerprint
