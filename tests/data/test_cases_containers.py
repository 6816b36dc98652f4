"""Containers: compressed files, archives, workbooks, matrices, folders of tables."""

from __future__ import annotations

import bz2
import gzip
import lzma
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from crowdcore.core.errors import DataError
from crowdcore.data import examine, read_dataset, unpack, write_folder
from testkit.crowds import simulate_crowd
from tests.data.reading.read_case import ANIMALS, CASES, CROWD, path_of, read_case, summary

CSV = b"task,worker,label\n" + b"".join(
    b"t%d,w%d,%s\n" % (t, w, b"ab"[t % 2 :][:1]) for t in range(9) for w in range(3)
)


@pytest.mark.parametrize(
    "case",
    ["excel-long", "gzip", "matrix-npy", "file-per-annotator", "file-per-annotator-zip", "doccano-zip",
     "answer-and-truth"],
)  # fmt: skip
def test_cases(case: str) -> None:
    found = read_case(case)
    assert summary(found) == CROWD
    assert not found.report.changes
    assert found.report.classes == (("0", "1", "2") if case == "matrix-npy" else ANIMALS)


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which files are unpacked."""
    (tmp_path / "unpacked").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "unpacked"))
    return tmp_path / "unpacked"


def zstd(raw: bytes) -> bytes:
    return pa.Codec("zstd").compress(raw, asbytes=True)


PACKERS = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress, "zst": zstd}


@pytest.mark.parametrize(("suffix", "kind"), [*zip(PACKERS, ("csv", "jsonl", "json", "parquet"), strict=True)])
def test_compressed_files(suffix: str, kind: str, tmp_path: Path, temporary: Path) -> None:
    (tmp_path / "plain.csv").write_bytes(CSV)
    frame = pd.read_csv(tmp_path / "plain.csv")
    inner = tmp_path / f"votes.{kind}"
    if kind == "csv":
        inner.write_bytes(CSV)
    elif kind == "parquet":
        frame.to_parquet(inner)
    else:
        frame.to_json(inner, orient="records", lines=kind == "jsonl")
    packed = tmp_path / f"votes.{kind}.{suffix}"
    packed.write_bytes(PACKERS[suffix](inner.read_bytes()))
    dataset = read_dataset(packed)
    assert dataset.name == "votes"
    assert dataset.fingerprint == read_dataset(inner).fingerprint
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("suffix", PACKERS)
def test_compressed_files_that_are_cut_off_or_too_large(suffix, tmp_path, temporary, monkeypatch):
    packed = tmp_path / f"votes.csv.{suffix}"
    packed.write_bytes(PACKERS[suffix](CSV * 40)[:-9])
    with pytest.raises(DataError, match="damaged"):
        examine(packed)
    monkeypatch.setattr(unpack, "EXPANDED", 1 << 20)
    packed.write_bytes(PACKERS[suffix](bytes(2 << 20)))
    with pytest.raises(DataError, match="unpacks"):
        examine(packed)
    assert list(temporary.iterdir()) == []


def test_images_beside_a_compressed_table_are_found(tmp_path: Path) -> None:
    from tests.data.pictures import write_pictures

    write_pictures(tmp_path / "a", [0, 1])
    (tmp_path / "votes.csv.gz").write_bytes(
        gzip.compress(b"task,worker,label,image\n1,w1,x,a/p000.png\n2,w1,y,a/p001.png\n")
    )
    assert "unusable-images" not in {f.code for f in examine(tmp_path / "votes.csv.gz").report.findings}


class TestArchives:
    def packed(self, tmp_path: Path, **files: bytes) -> Path:
        with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in files.items():
                archive.writestr(name, content)
        return tmp_path / "a.zip"

    @pytest.mark.parametrize("inside", ["votes.csv", "one/votes.csv", "one/two/votes.csv"])
    def test_of_one_table(self, inside: str, tmp_path: Path, temporary: Path) -> None:
        dataset = read_dataset(self.packed(tmp_path, **{inside: CSV, "__MACOSX/._votes.csv": b"x"}))
        assert (dataset.name, dataset.n_annotations) == ("a", 27)
        assert list(temporary.iterdir()) == []

    def test_of_a_dataset_folder_whose_features_are_read_later(self, tmp_path: Path) -> None:
        crowd = simulate_crowd(30)
        write_folder(crowd, tmp_path / "crowd")
        np.save(tmp_path / "crowd" / "features.npy", np.arange(crowd.n_tasks * 2.0).reshape(-1, 2))
        files = {f"crowd/{f.name}": f.read_bytes() for f in (tmp_path / "crowd").iterdir()}
        dataset = read_dataset(self.packed(tmp_path, **files))
        assert dataset.n_annotations == crowd.n_annotations
        assert np.asarray(dataset.features[np.array([3])])[0].tolist() == [6, 7]

    @pytest.mark.parametrize(
        ("files", "sentence"),
        [
            ({"../votes.csv": CSV}, "outside the archive's folder"),
            ({"votes.csv.gz": gzip.compress(CSV)}, "packed once more|holds no dataset"),
            ({"notes.md": b"x"}, "no rows"),
            ({"a.csv": CSV, "b.csv": b"x,y\n1,2\n"}, "do not belong together"),
        ],
    )
    def test_refusals(self, files: dict[str, bytes], sentence: str, tmp_path: Path, temporary: Path) -> None:
        with pytest.raises(DataError, match=sentence):
            examine(self.packed(tmp_path, **files))
        assert list(temporary.iterdir()) == []


class TestWorkbooks:
    def test_a_sheet_is_asked_for_and_each_choice_opens(self, tmp_path: Path) -> None:
        path = workbook(tmp_path / "two.xlsx", {"First": CSV.decode(), "Second": CSV.decode(), "Empty": ""})
        with pytest.raises(DataError) as asked:
            examine(path)
        assert asked.value.code == "sheet"
        assert [(r.setting, r.value) for r in asked.value.remedies] == [("sheet", "First"), ("sheet", "Second")]
        for remedy in asked.value.remedies:
            assert read_dataset(path, sheet=remedy.value).n_annotations == 27

    def test_the_only_sheet_with_rows_is_read(self, tmp_path: Path) -> None:
        report = examine(workbook(tmp_path / "one.xlsx", {"About": "x", "Votes": CSV.decode()})).report
        assert report.n_annotations == 27
        assert [(f.code, f.level) for f in report.findings] == [("sheet", "note")]

    def test_no_such_sheet(self) -> None:
        with pytest.raises(DataError) as refused:
            read_case("excel-long", sheet="nowhere")
        assert [r.value for r in refused.value.remedies] == ["Sheet1"]

    def test_a_cell_far_away_does_not_take_all_memory(self, tmp_path: Path) -> None:
        with zipfile.ZipFile(path_of("excel-long")) as old, zipfile.ZipFile(tmp_path / "far.xlsx", "w") as new:
            for name in old.namelist():
                far = b'<row r="1048576"><c r="XFD1048576" t="n"><v>1</v></c></row></sheetData>'
                new.writestr(name, old.read(name).replace(b"</sheetData>", far))
        with pytest.raises(DataError, match="much"):
            examine(tmp_path / "far.xlsx")

    def test_whole_numbers_stay_whole(self, tmp_path: Path) -> None:
        path = workbook(tmp_path / "n.xlsx", {"S": "task,worker,label\n1,7,0\n1,8,1\n2,7,1\n"}, numbers=True)
        dataset = read_dataset(path)
        assert (dataset.task_ids.tolist(), dataset.classes) == (["1", "2"], ("0", "1"))


SPACE = "http://schemas.openxmlformats.org"
KIND = f"{SPACE}/officeDocument/2006/relationships"


def related(*links: tuple[str, str]) -> str:
    inside = "".join(f'<Relationship Id="r{k}" Type="{KIND}/{t}" Target="{to}"/>' for k, (t, to) in enumerate(links))
    return f'<Relationships xmlns="{SPACE}/package/2006/relationships">{inside}</Relationships>'


def workbook(path: Path, sheets: dict[str, str], numbers: bool = False) -> Path:
    """An Excel workbook of sheets given as CSV."""

    def cell(text: str) -> str:
        is_number = numbers and text.isdigit()
        return f"<c><v>{text}</v></c>" if is_number else f'<c t="inlineStr"><is><t>{text}</t></is></c>'

    named = "".join(f'<sheet name="{name}" sheetId="{k + 1}" r:id="r{k}"/>' for k, name in enumerate(sheets))
    main, links = f"{SPACE}/spreadsheetml/2006/main", [("worksheet", f"worksheets/{k}.xml") for k in range(len(sheets))]
    with zipfile.ZipFile(path, "w") as out:
        out.writestr("[Content_Types].xml", f'<Types xmlns="{SPACE}/package/2006/content-types"/>')
        out.writestr("_rels/.rels", related(("officeDocument", "xl/workbook.xml")))
        out.writestr("xl/_rels/workbook.xml.rels", related(*links))
        out.writestr(
            "xl/workbook.xml", f'<workbook xmlns="{main}" xmlns:r="{KIND}"><sheets>{named}</sheets></workbook>'
        )
        for k, text in enumerate(sheets.values()):
            rows = "".join(f"<row>{''.join(map(cell, line.split(',')))}</row>" for line in text.splitlines())
            out.writestr(
                f"xl/worksheets/{k}.xml", f'<worksheet xmlns="{main}"><sheetData>{rows}</sheetData></worksheet>'
            )
    return path


class TestMatrices:
    @pytest.mark.parametrize("missing", [-1, np.nan])
    @pytest.mark.parametrize("packed", [False, True])
    def test_of_numbers(self, missing: float, packed: bool, tmp_path: Path) -> None:
        array = np.random.default_rng(0).integers(0, 4, (30, 5)).astype(float)
        array[::3, 1] = missing
        path = tmp_path / ("m.npz" if packed else "m.npy")
        np.savez(path, answers=array) if packed else np.save(path, array)
        dataset = read_dataset(path)
        assert (dataset.n_tasks, dataset.n_workers, dataset.n_annotations) == (30, 5, 140)
        assert dataset.classes == ("0", "1", "2", "3")

    def test_what_is_missing_among_minus_one_zero_and_one(self, tmp_path: Path) -> None:
        array = np.random.default_rng(0).integers(-1, 2, (30, 4))
        np.save(tmp_path / "m.npy", array)
        report = examine(tmp_path / "m.npy").report
        (asked,) = [f for f in report.findings if f.level == "question"]
        classes = [read_dataset(tmp_path / "m.npy", missing=r.value, accept=True).classes for r in asked.remedies]
        assert (asked.code, classes) == ("minus-one", [("0", "1"), ("-1", "1")])

    def test_records_with_names(self, tmp_path: Path) -> None:
        kind = [("task", "i4"), ("worker", "U3"), ("label", "U3")]
        np.save(tmp_path / "r.npy", np.array([(1, "ann", "a"), (1, "ben", "b"), (2, "ann", "b")], kind))
        assert read_dataset(tmp_path / "r.npy").worker_ids.tolist() == ["ann", "ben"]

    @pytest.mark.parametrize("array", [np.array([{"a": 1}], object), np.zeros((3, 2, 2)), np.zeros(5)])
    def test_refusals(self, array: np.ndarray, tmp_path: Path) -> None:
        np.save(tmp_path / "x.npy", array, allow_pickle=True)
        with pytest.raises(DataError, match=r"never unpickled|not a matrix"):
            examine(tmp_path / "x.npy")


class TestFolders:
    def write(self, folder: Path, **files: str) -> Path:
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
        return folder

    def crowd(self) -> pd.DataFrame:
        return pd.concat(
            pd.read_csv(file).assign(worker=file.stem)
            for file in sorted((CASES / "file-per-annotator/folder").iterdir())
        )

    @pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "json", "parquet"])
    def test_a_file_for_each_worker(self, suffix: str, tmp_path: Path) -> None:
        for who, part in self.crowd().groupby("worker"):
            part, path = part[["task", "label"]], tmp_path / f"{who}.{suffix}"
            if suffix in ("csv", "tsv"):
                part.to_csv(path, sep="\t" if suffix == "tsv" else ",", index=False)
            elif suffix == "parquet":
                part.to_parquet(path)
            else:
                part.to_json(path, orient="records", lines=suffix == "jsonl")
        (tmp_path / "README.txt").write_text("who labelled what")
        assert summary(examine(tmp_path)) == CROWD

    def test_two_columns_under_unknown_names(self, tmp_path: Path) -> None:
        for who, part in self.crowd().groupby("worker"):
            part[["task", "label"]].set_axis(["bild", "tier"], axis=1).to_csv(tmp_path / f"{who}.csv", index=False)
        assert summary(examine(tmp_path)) == CROWD

    def test_parts_of_one_table(self, tmp_path: Path) -> None:
        for k, (_, part) in enumerate(self.crowd().groupby("task")):
            part.to_csv(tmp_path / f"part-{k:05d}.csv", index=False)
        assert summary(examine(tmp_path)) == CROWD

    def test_folders_with_keys_as_hive_writes_them(self, tmp_path: Path) -> None:
        for (who, label), part in self.crowd().groupby(["worker", "label"]):
            folder = tmp_path / f"worker={who}" / f"label={label}"
            folder.mkdir(parents=True)
            part[["task"]][:1].to_parquet(folder / "0.parquet")
            part[["task"]][1:].to_parquet(folder / "1.parquet")
        assert summary(examine(tmp_path)) == CROWD

    @pytest.mark.parametrize("names", [("question", "worker", "answer", "question", "truth"), ("q", "w", "a", "q", "t"),
                                       ("item", "who", "said", "nr", "is")])  # fmt: skip
    def test_answers_and_truth_under_any_names(self, names: tuple[str, ...], tmp_path: Path) -> None:
        folder = path_of("answer-and-truth")
        pd.read_csv(folder / "answer.csv").set_axis(names[:3], axis=1).to_csv(tmp_path / "x.csv", index=False)
        pd.read_csv(folder / "truth.csv").set_axis(names[3:], axis=1).to_csv(tmp_path / "y.csv", index=False)
        found = examine(tmp_path)
        assert summary(found) == CROWD
        assert found.report.n_gold == 24

    def test_tags_of_each_worker(self, tmp_path: Path) -> None:
        ann = "Anna B-PER\nwent O\n\nRome B-LOC\n"
        dataset = read_dataset(self.write(tmp_path, **{"ann.conll": ann, "ben.conll": ann.replace("B-LOC", "O")}))
        assert (dataset.n_tasks, dataset.n_workers, dataset.n_annotations) == (3, 2, 6)
        assert len(dataset.sentences) == 2

    def test_other_tokens_are_refused(self, tmp_path: Path) -> None:
        ann = "Anna B-PER\nwent O\n\nRome B-LOC\n"
        with pytest.raises(DataError, match=r"'ben'.*row 2"):
            examine(self.write(tmp_path, **{"ann.conll": ann, "ben.conll": ann.replace("went", "goes")}))

    def test_a_dataset_folder_stays_one(self, tmp_path: Path) -> None:
        write_folder(simulate_crowd(30), tmp_path / "crowd")
        shutil.copy(path_of("gzip"), tmp_path / "crowd" / "votes.csv.gz")
        assert examine(tmp_path / "crowd").report.format == "folder"


CYRILLIC = "task,worker,label\n1,Анна,негатив\n2,Борис,позитив\n"


class TestEncodings:
    def test_case(self) -> None:
        found = read_case("cyrillic-cp1251")
        (asked,) = [f for f in found.report.findings if f.code == "encoding-guessed"]
        assert asked.level == "question"
        assert asked.remedies[0].value == "cp1251"
        assert "позитив" in found.report.classes
        for remedy in asked.remedies:
            assert summary(read_case("cyrillic-cp1251", encoding=remedy.value)) == CROWD

    @pytest.mark.parametrize(
        ("encoding", "text"),
        [("cp1251", CYRILLIC), ("koi8-r", CYRILLIC), ("cp866", CYRILLIC),
         ("cp1250", "task,worker,label\n1,ann,żółty\n"),
         ("gb18030", "task,worker,label\n1,张伟,积极\n2,王芳,消极\n"),
         ("cp1253", "task,worker,label\n1,Άννα,θετικό\n"),
         ("shift_jis", "task,worker,label\n1,田中,肯定\n2,すずき,否定\n"),
         ("cp1256", "task,worker,label\n1,منى,سلبي\n")],
    )  # fmt: skip
    def test_the_right_one_is_among_those_asked_for(self, encoding: str, text: str, tmp_path: Path) -> None:
        (tmp_path / "votes.csv").write_bytes(text.encode(encoding))
        (asked,) = [f for f in examine(tmp_path / "votes.csv").report.findings if f.level == "question"]
        assert encoding in [remedy.value for remedy in asked.remedies]
        opened = examine(tmp_path / "votes.csv", encoding=encoding).report
        assert set(opened.classes) <= set(text.replace("\n", ",").split(","))

    @pytest.mark.parametrize("words", [("René", "café"), ("Jürgen", "häßlich – “gut”"), ("Zoë", "Ærø")])
    def test_western_letters_are_not_asked_about(self, words: tuple[str, str], tmp_path: Path) -> None:
        who, label = words
        (tmp_path / "votes.csv").write_bytes(f"task,worker,label\n1,{who},{label}\n2,{who},x\n".encode("cp1252"))
        assert not [f for f in examine(tmp_path / "votes.csv").report.findings if f.level == "question"]
