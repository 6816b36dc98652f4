"""Containers: compressed files, archives, workbooks, matrices, folders of tables."""

from __future__ import annotations

import bz2
import gzip
import lzma
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from crowdcore.core.errors import DataError
from crowdcore.data import examine, read_dataset, unpack, write_folder
from testkit.crowds import simulate_crowd
from tests.data.pictures import write_pictures
from tests.data.reading.read_case import ANIMALS, CASES, CROWD, check, chosen, path_of, placed, read_case, table

CSV = b"task,worker,label\n" + b"".join(
    b"t%d,w%d,%s\n" % (t, w, b"ab"[t % 2 :][:1]) for t in range(9) for w in range(3)
)


def zipped(**files: bytes) -> Callable[[Path], Path]:
    def made(folder: Path) -> Path:
        with zipfile.ZipFile(folder / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in files.items():
                archive.writestr(name, content)
        return folder / "a.zip"

    return made


def array(values: Any, packed: bool = False) -> Callable[[Path], Path]:
    def made(folder: Path) -> Path:
        path = folder / ("m.npz" if packed else "m.npy")
        np.savez(path, answers=values) if packed else np.save(path, values, allow_pickle=True)
        return path

    return made


FOUR = np.random.default_rng(0).integers(0, 4, (30, 5)).astype(float)
FOUR[::3, 1] = np.nan
RECORDS = [("task", "i4"), ("worker", "U3"), ("label", "U3")]
TAGS = "Anna B-PER\nwent O\n\nRome B-LOC\n"
FRAME = pd.concat(pd.read_csv(f).assign(worker=f.stem) for f in sorted((CASES / "file-per-annotator/folder").iterdir()))
ANSWER_AND_TRUTH = {name: pd.read_csv(path_of("answer-and-truth") / f"{name}.csv") for name in ("answer", "truth")}

READ: dict[str, tuple[Any, ...]] = {
    **{case: (case, {"crowd": CROWD, "changes": {}, "classes": ("0", "1", "2") if case == "matrix-npy" else ANIMALS})
       for case in ("excel-long", "gzip", "matrix-npy", "file-per-annotator", "file-per-annotator-zip", "doccano-zip",
                    "answer-and-truth")},
    **{f"an archive of {inside}": (
        zipped(**{inside: CSV, "__MACOSX/._votes.csv": b"x"}), {"changes": {}, "name": "a", "n_annotations": 27})
       for inside in ("votes.csv", "one/votes.csv", "one/two/votes.csv")},
    **{sentence: (zipped(**files), {"refused": None, "match": sentence}) for files, sentence in (
        ({"../votes.csv": CSV}, "outside the archive's folder"),
        ({"votes.csv.gz": gzip.compress(CSV)}, "packed once more|holds no dataset"),
        ({"notes.md": b"x"}, "no rows"), ({"a.csv": CSV, "b.csv": b"x,y\n1,2\n"}, "do not belong together"))},
    "sheets are asked for": (
        lambda folder: workbook(folder / "two.xlsx", {"First": CSV.decode(), "Second": CSV.decode(), "Empty": ""}),
        {"refused": "sheet", "choices": [{"sheet": "First"}, {"sheet": "Second"}]},
        *(({"sheet": sheet}, {"n_annotations": 27}) for sheet in ("First", "Second"))),
    "the only sheet with rows": (
        lambda folder: workbook(folder / "one.xlsx", {"About": "x", "Votes": CSV.decode()}),
        {"n_annotations": 27, "changes": {}, "findings": {"sheet": {"level": "note"}}}),
    "no such sheet": ("excel-long", ({"sheet": "nowhere"}, {"refused": None, "choices": [{"sheet": "Sheet1"}]})),
    "whole numbers of a sheet": (
        lambda folder: workbook(folder / "n.xlsx", {"S": "task,worker,label\n1,7,0\n1,8,1\n2,7,1\n"}, numbers=True),
        {"task_ids": ["1", "2"], "classes": ("0", "1")}),
    **{f"a matrix of numbers, {missing} is missing, {packed}": (
        array(np.nan_to_num(FOUR, nan=missing), packed), {"size": (30, 5, 140), "classes": ("0", "1", "2", "3")})
       for missing in (-1, np.nan) for packed in (False, True)},
    "minus one, zero and one": (
        array(np.random.default_rng(0).integers(-1, 2, (30, 4))), {"doubts": ["minus-one"],
        "asked": {"minus-one": [{"missing": ["-1"]}, {"missing": ["0"]}]}},
        ({"missing": ["-1"]}, {"classes": ("0", "1")}), ({"missing": ["0"]}, {"classes": ("-1", "1")})),
    "records with names": (
        array(np.array([(1, "ann", "a"), (1, "ben", "b"), (2, "ann", "b")], RECORDS)), {"worker_ids": ["ann", "ben"]}),
    **{f"no matrix {k}": (array(values), {"refused": None, "match": "never unpickled|not a matrix"})
       for k, values in enumerate((np.array([{"a": 1}], object), np.zeros((3, 2, 2)), np.zeros(5)))},
    "two columns under unknown names": (
        ("folder", {f"{who}.csv": table(part[["task", "label"]].to_numpy(), "bild", "tier")
                    for who, part in FRAME.groupby("worker")}), {"crowd": CROWD}),
    "parts of one table": (
        ("folder", {f"part-{k:05d}.csv": part.to_csv(index=False) for k,
        (_, part) in enumerate(FRAME.groupby("task"))}),
        {"crowd": CROWD}),
    **{f"answers and truth under the names {names}": (
        ("folder", {"x.csv": table(ANSWER_AND_TRUTH["answer"].to_numpy(), *names[:3]),
                    "y.csv": table(ANSWER_AND_TRUTH["truth"].to_numpy(), *names[3:])}), {"crowd": CROWD, "n_gold": 24})
       for names in (("question", "worker", "answer", "question", "truth"), ("q", "w", "a", "q", "t"),
                     ("item", "who", "said", "nr", "is"))},
    "tags of each worker": (
        ("folder", {"ann.conll": TAGS, "ben.conll": TAGS.replace("B-LOC", "O")}),
        {"size": (3, 2, 6), "n_sentences": 2}),
    "other tokens": (
        ("folder", {"ann.conll": TAGS, "ben.conll": TAGS.replace("went", "goes")}),
        {"refused": None, "match": r"'ben'.*row 2"}),
}  # fmt: skip


@pytest.mark.parametrize("name", READ)
def test_what_is_read(name: str, tmp_path: Path, temporary: Path) -> None:
    content, *steps = READ[name]
    check(placed(tmp_path, content), *steps)
    assert isinstance(content, str) or list(temporary.iterdir()) == []


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
    write_pictures(tmp_path / "a", [0, 1])
    (tmp_path / "votes.csv.gz").write_bytes(
        gzip.compress(b"task,worker,label,image\n1,w1,x,a/p000.png\n2,w1,y,a/p001.png\n")
    )
    assert "unusable-images" not in {f.code for f in examine(tmp_path / "votes.csv.gz").report.findings}


def test_an_archive_of_a_dataset_folder_whose_features_are_read_later(tmp_path: Path) -> None:
    crowd = simulate_crowd(30)
    write_folder(crowd, tmp_path / "crowd")
    np.save(tmp_path / "crowd" / "features.npy", np.arange(crowd.n_tasks * 2.0).reshape(-1, 2))
    files = {f"crowd/{f.name}": f.read_bytes() for f in (tmp_path / "crowd").iterdir()}
    dataset = read_dataset(zipped(**files)(tmp_path))
    assert dataset.n_annotations == crowd.n_annotations
    assert np.asarray(dataset.features[np.array([3])])[0].tolist() == [6, 7]


def test_a_cell_far_away_does_not_take_all_memory(tmp_path: Path) -> None:
    with zipfile.ZipFile(path_of("excel-long")) as old, zipfile.ZipFile(tmp_path / "far.xlsx", "w") as new:
        for name in old.namelist():
            far = b'<row r="1048576"><c r="XFD1048576" t="n"><v>1</v></c></row></sheetData>'
            new.writestr(name, old.read(name).replace(b"</sheetData>", far))
    check(tmp_path / "far.xlsx", {"refused": None, "match": "much"})


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


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "json", "parquet"])
def test_a_file_for_each_worker(suffix: str, tmp_path: Path) -> None:
    for worker, part in FRAME.groupby("worker"):
        part, path = part[["task", "label"]], tmp_path / f"{worker}.{suffix}"
        if suffix in ("csv", "tsv"):
            part.to_csv(path, sep="\t" if suffix == "tsv" else ",", index=False)
        elif suffix == "parquet":
            part.to_parquet(path)
        else:
            part.to_json(path, orient="records", lines=suffix == "jsonl")
    (tmp_path / "README.txt").write_text("who labelled what")
    check(tmp_path, {"crowd": CROWD})


def test_folders_with_keys_as_hive_writes_them(tmp_path: Path) -> None:
    for (worker, label), part in FRAME.groupby(["worker", "label"]):
        folder = tmp_path / f"worker={worker}" / f"label={label}"
        folder.mkdir(parents=True)
        part[["task"]][:1].to_parquet(folder / "0.parquet")
        part[["task"]][1:].to_parquet(folder / "1.parquet")
    check(tmp_path, {"crowd": CROWD})


def test_a_dataset_folder_stays_one(tmp_path: Path) -> None:
    write_folder(simulate_crowd(30), tmp_path / "crowd")
    shutil.copy(path_of("gzip"), tmp_path / "crowd" / "votes.csv.gz")
    check(tmp_path / "crowd", {"format": "folder"})


CYRILLIC = "task,worker,label\n1,Анна,негатив\n2,Борис,позитив\n"


def test_an_encoding_is_asked_for() -> None:
    imported = read_case("cyrillic-cp1251")
    assert "позитив" in imported.report.classes
    check("cyrillic-cp1251", {"doubts": ["encoding-guessed"], "first": {"encoding": "cp1251"}},
          *((choice, {"crowd": CROWD}) for choice in chosen(imported.report.questions[0].remedies)))  # fmt: skip


@pytest.mark.parametrize(
    ("encoding", "text"),
    [("cp1251", CYRILLIC), ("koi8-r", CYRILLIC), ("cp866", CYRILLIC),
     ("cp1250", "task,worker,label\n1,ann,żółty\n"),
     ("gb18030", "task,worker,label\n1,张伟,积极\n2,王芳,消极\n"),
     ("cp1253", "task,worker,label\n1,Άννα,θετικό\n"),
     ("shift_jis", "task,worker,label\n1,田中,肯定\n2,すずき,否定\n"),
     ("cp1256", "task,worker,label\n1,منى,سلبي\n")],
)  # fmt: skip
def test_the_right_one_is_among_those_asked_for(encoding: str, text: str, tmp_path: Path) -> None:
    (tmp_path / "votes.csv").write_bytes(text.encode(encoding))
    (question,) = [f for f in examine(tmp_path / "votes.csv").report.findings if f.level == "question"]
    assert encoding in [remedy.value for remedy in question.remedies]
    opened = examine(tmp_path / "votes.csv", encoding=encoding).report
    assert set(opened.classes) <= set(text.replace("\n", ",").split(","))


@pytest.mark.parametrize("words", [("René", "café"), ("Jürgen", "häßlich – “gut”"), ("Zoë", "Ærø")])
def test_western_letters_are_not_asked_about(words: tuple[str, str], tmp_path: Path) -> None:
    worker, label = words
    (tmp_path / "votes.csv").write_bytes(f"task,worker,label\n1,{worker},{label}\n2,{worker},x\n".encode("cp1252"))
    assert not [f for f in examine(tmp_path / "votes.csv").report.findings if f.level == "question"]
