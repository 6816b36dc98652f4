"""Every row is an annotation or is reported; spellings and side columns are kept."""

from __future__ import annotations

import unicodedata
from collections import Counter, defaultdict
from dataclasses import replace

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
    (found,) = [finding for finding in report.findings if finding.code == "same-number"]
    assert (found.level, found.examples) == ("warning", ("01", "1", "1.0"))
    assert [remedy.setting for remedy in found.remedies] == ["merge_classes"]


def test_all_labels_that_look_missing_are_named(write):
    report = examine(write("task,worker,label\nt1,w1,NA\nt2,w1,cat\nt3,w1,None\n")).report
    (found,) = [finding for finding in report.findings if finding.code == "looks-missing"]
    assert [(remedy.setting, remedy.value) for remedy in found.remedies] == [("missing", ["NA", "None"])]


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
    found = {
        (task[rows[0]], worker[rows[0]]): rows.tolist()
        for rows in np.split(repeats.rows, repeats.start[1:-1])
        if len(rows)
    }
    assert found == several
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
    assert told[1].sentence.endswith("' cat' is read as 'cat'; ' dog' is read as 'dog'")


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
    assert {group.name: group.merged for group in report.variants} == {"kitty": True, "dog": False, "caf\u00e9": False}
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
            said = ["" if pd.isna(v) else str(v) for v in codes]
            assert said in (values, [f"{v}.0" if v and "." not in v else v for v in values])


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
    for table in ("csv", "parquet"):
        assert read_dataset(write_folder(ds, tmp_path / table, table=table)).fingerprint == ds.fingerprint
