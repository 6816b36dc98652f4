"""Round trips of written files: tasks for tools, tables and datasets."""

from __future__ import annotations

import json
import re
import tempfile
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given, settings, strategies as st
from markdown_it import MarkdownIt

import crowdcore as cc
from crowdcore.core.errors import DataError, SettingError
from crowdcore.data import (
    Media,
    RatingDataset,
    from_frame,
    read_dataset,
    write_folder,
    write_import,
    write_long,
    write_wide,
)
from crowdcore.data.writers.imports import TOOLS
from crowdcore.data.writers.tables import ENDINGS, write_table
from tests.data.crowds import assert_same, crowds

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
    """Accepted predictions are read by our reader, under the tasks' names where the export keeps them as ids."""
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
    values = {image.get("name"): [tag.get("label") for tag in image] for image in root.iter("image")}
    assert values == {f"{i}.png": [name] for i, name in enumerate(named(crowd, fit))}
    with pytest.raises(DataError, match="images"):
        write_import(crowd, tmp_path / "tags.xml", "cvat", fit)


def test_hugging_face_reads_class_and_soft_labels(crowd, fit, tmp_path) -> None:
    datasets = pytest.importorskip("datasets", reason="its reader is not installed")
    file = write_import(crowd, tmp_path / "labels.parquet", "huggingface", fit)
    rows = datasets.Dataset.from_parquet(str(file), cache_dir=str(tmp_path / "cache"))
    assert rows.features["label"].names == list(crowd.classes)
    assert rows["label"][:] == fit.labels.tolist()
    np.testing.assert_allclose(rows["soft_label"][:], fit.posterior, rtol=1e-6)
    assert rows["text"][:] == list(TEXTS.values())


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
    with pytest.raises(DataError, match="`task`"):
        write_import(crowd, tmp_path / "x", "argilla", tasks=pd.DataFrame({"item": ["a"]}))


def test_a_dataset_that_shows_nothing_names_its_tasks(crowd, fit, tmp_path) -> None:
    records = json.loads(write_import(replace(crowd, media=None), tmp_path / "r.json", "argilla", fit).read_text())
    assert [record["fields"] for record in records] == [{"text": "a"}, {"text": "b"}, {"text": "c"}]


FEW = settings(max_examples=12, deadline=None)


@FEW
@given(crowds(), st.sampled_from(["parquet", "csv"]))
def test_folder_round_trip(ds, table):
    with tempfile.TemporaryDirectory() as folder:
        path = write_folder(ds, Path(folder) / "crowd", table=table)
        assert_same(read_dataset(path), ds)
        assert sorted(p.name for p in Path(folder).iterdir()) == ["crowd"]


@FEW
@given(crowds(media=False), st.sampled_from(["parquet", "csv"]))
def test_long_round_trip(ds, table):
    """A long file keeps the annotations, and gold and split of annotated tasks; ids come in order of appearance."""
    assume(not all(re.fullmatch(r"-?[0-9]+(\.0+)?", name) for name in ds.classes))  # 1.0 needs its list of classes
    with tempfile.TemporaryDirectory() as folder:
        path = write_long(ds, Path(folder) / f"crowd.{table}")
        again = read_dataset(path, classes=ds.classes, accept=True)
    assert annotations(again) == annotations(ds)
    used = ds.task_ids[ds.annotated]
    assert list(again.task_ids) == list(used)
    np.testing.assert_array_equal(again.gold, ds.gold[ds.annotated] if ds.has_gold else -np.ones(len(used)))
    np.testing.assert_array_equal(again.split, ds.split[ds.annotated])


@FEW
@given(crowds(media=False))
def test_frame_round_trip(ds):
    again = from_frame(ds.annotations, classes=ds.classes, accept=True)
    assert annotations(again) == annotations(ds)


def annotations(ds) -> list[tuple[str, str, str]]:
    """Task, worker and label of each annotation, in order."""
    ids, worker = list(ds.task_ids), list(ds.worker_ids)
    return [(ids[i], worker[r], ds.classes[c]) for i, r, c in zip(ds.task, ds.worker, ds.label, strict=True)]


@pytest.mark.parametrize(
    ("name", "table"), [("labelme", "parquet"), ("cifar10s", "csv"), ("anaesthesia", "csv"), ("leaves", "parquet")]
)
def test_real_data_round_trip(data_folder, tmp_path, name, table):
    ds = read_dataset(data_folder / name)
    again = read_dataset(write_folder(ds, tmp_path / name, table=table))
    assert again.fingerprint == ds.fingerprint
    if ds.features is not None:
        np.testing.assert_array_equal(again.features[:100], ds.features[:100])


NUMBERS = st.floats(-1e9, 1e9, allow_subnormal=True).map(lambda x: x + 0.0)


@st.composite
def rated(draw, repeats=False):
    """Ratings of any numbers in a range that just holds them; tasks and workers without ratings, and gold."""
    n_tasks, n_workers = draw(st.integers(1, 6)), draw(st.integers(2, 4))
    cells = st.tuples(st.integers(0, n_tasks - 1), st.integers(0, n_workers - 1))
    given = sorted(draw(st.lists(cells, min_size=1, max_size=20, unique=not repeats)))
    numbers = draw(st.lists(NUMBERS, min_size=len(given), max_size=len(given)))
    low, high = min(numbers), max(numbers) + 1
    gold = draw(st.lists(st.just(np.nan) | st.floats(low, high), min_size=n_tasks, max_size=n_tasks))
    ids = [pd.Index([f"{kind}{i}" for i in range(n)]) for kind, n in (("t", n_tasks), ("w", n_workers))]
    task, worker = (np.array(part) for part in zip(*given, strict=True))
    return RatingDataset("rated", low, high, *ids, task, worker, np.array(numbers), gold=np.array(gold) + 0.0)


def ratings(ds, tasks=None):
    return [(ds.task_ids[t], ds.worker_ids[w], r) for t, w, r in zip(ds.task, ds.worker, ds.rating, strict=True)]


@FEW
@given(rated(repeats=True), st.sampled_from(["parquet", "csv"]))
def test_folder(ds, table):
    with tempfile.TemporaryDirectory() as folder:
        again = cc.read_ratings(write_folder(ds, Path(folder) / "rated", table=table))
    assert again.fingerprint == ds.fingerprint
    assert (again.low, again.high) == (ds.low, ds.high)


@FEW
@given(rated(repeats=True), st.sampled_from(["parquet", "csv"]))
def test_long(ds, table):
    with tempfile.TemporaryDirectory() as folder:
        again = cc.read_ratings(write_long(ds, Path(folder) / f"rated.{table}"), ds.low, ds.high)
    assert ratings(again) == ratings(ds)
    np.testing.assert_array_equal(again.gold, ds.gold[ds.annotated])


@FEW
@given(rated(), st.sampled_from(["parquet", "csv"]))
def test_wide(ds, table):
    with tempfile.TemporaryDirectory() as folder:
        path = write_wide(ds, Path(folder) / f"rated.{table}")
        workers = [str(worker) for worker in ds.worker_ids]
        again = cc.read_ratings(path, ds.low, ds.high, workers=workers, missing=[], accept=True)
    assert ratings(again) == ratings(ds)
    assert list(again.task_ids) == list(ds.task_ids)
    np.testing.assert_array_equal(again.gold, ds.gold)


def test_words_split_and_further_columns_stay_in_a_folder(tmp_path):
    frame = pd.DataFrame({"task": ["a", "a", "b"], "worker": ["x", "y", "x"], "label": ["good", "bad", "fair"]})
    frame["seconds"] = [1.5, 2.5, 3.5]
    ds = cc.ratings_from_frame(frame, levels=["bad", "fair", "good"], gold={"a": "good"})
    again = cc.read_ratings(write_folder(ds, tmp_path / "words"))
    assert (again.levels, again.low, again.high) == (("bad", "fair", "good"), 1, 3)
    assert again.rating.tolist() == [3, 1, 2]
    pd.testing.assert_frame_equal(again.annotations, ds.annotations)
    assert again.fingerprint == ds.fingerprint


def test_what_a_wide_table_cannot_hold(tmp_path):
    ids = pd.Index(["a"]), pd.Index(["gold", "x"])
    with pytest.raises(DataError, match="'gold'"):
        write_wide(RatingDataset("r", 0, 1, *ids, np.array([0]), np.array([0]), np.array([1.0])), tmp_path / "r.csv")
    twice = RatingDataset("r", 0, 1, ids[0], pd.Index(["x"]), np.zeros(2, int), np.zeros(2, int), np.zeros(2))
    with pytest.raises(DataError, match="rated"):
        write_wide(twice, tmp_path / "r.csv")


def test_the_real_ones(data_folder, tmp_path):
    movies = cc.load_ratings("movie_reviews", accept=True)
    assert cc.read_ratings(write_folder(movies, tmp_path / "movies")).fingerprint == movies.fingerprint


def test_classes_are_no_ratings():
    with pytest.raises(DataError, match="three"):
        cc.load_ratings("demo")


HOSTILE = [
    "[1pt]",
    "*",
    "a & b",
    "50 %",
    r"\input{x}",
    "a|b",
    "<b>x</b>",
    "w_1 _x_",
    "$x^2$ ~ #1 {y}",
    "two\nlines",
    "",
]
FRAME = pd.DataFrame({"who [x]": HOSTILE, "q_value": [-0.5, float("nan"), 1e-6, *range(8)], "n": range(11)})
TABLE = pa.Table.from_pandas(FRAME, preserve_index=False)
TEXTS_NUMBERS = ["-0.5", "–", "1e-06", *map(str, range(8))]


def shown(text: str) -> str:
    return " ".join(text.split())


def test_markdown_shows_every_cell_as_it_is(tmp_path) -> None:
    write_table(TABLE, file := tmp_path / "table.md")
    parsed = MarkdownIt("commonmark").enable("table").parse(file.read_text())
    inline = [token.children for token in parsed if token.type == "inline"]
    assert {part.type for cell in inline for part in cell} == {"text"}
    cells = ["".join(part.content for part in cell) for cell in inline]
    assert cells[:3] == list(FRAME.columns)
    assert cells[3::3] == [shown(cell) for cell in HOSTILE]
    assert cells[4::3] == TEXTS_NUMBERS


def test_latex_is_a_booktabs_table_with_nothing_unescaped(tmp_path) -> None:
    write_table(TABLE, file := tmp_path / "table.tex")
    lines = file.read_text().splitlines()
    assert lines[1] == r"\begin{tabular}{lrr}" and lines[-1] == r"\end{tabular}"
    assert [line for line in lines if line.endswith("rule")] == [r"\toprule", r"\midrule", r"\bottomrule"]
    rows = [line.removesuffix(r" \\") for line in lines if line.endswith(r" \\")]
    cells = [[plain(cell) for cell in re.split(r"(?<!\\) & ", row)] for row in rows]
    assert [row[0] for row in cells[1:]] == [shown(cell) for cell in HOSTILE]
    assert [row[1].replace("--", "–") for row in cells[1:]] == TEXTS_NUMBERS
    assert not any(row.startswith(("[", "*")) for row in rows)  # arguments of the line before


def plain(text: str) -> str:
    """Return the printed text of a cell."""
    words = {"backslash": "\\", "asciitilde": "~", "asciicircum": "^", "less": "<", "greater": ">", "bar": "|"}
    text = re.sub(r"\\text(\w+)\{\}", lambda found: words[found[1]], text.replace("$-$", "-"))
    return re.sub(r"\{([\[\]*])\}", r"\1", re.sub(r"\\([&%$#_{}])", r"\1", text))


def test_symbols_of_tables_are_commands_of_latex(tmp_path) -> None:
    write_table(pa.table({"κ": ["ω → 1 ± 2"]}), file := tmp_path / "table.tex")
    assert r"$\kappa$ \\" in file.read_text()
    assert r"$\omega$ $\rightarrow$ 1 $\pm$ 2 \\" in file.read_text()


def test_json_keeps_numbers_in_full_and_has_no_nan(tmp_path) -> None:
    frame = pd.DataFrame(
        {"x": [1 / 3, float("inf"), float("nan")], "day": pd.Timestamp("2026-01-02"), "of": [[1.5]] * 3}
    )
    write_table(pa.Table.from_pandas(frame, preserve_index=False), file := tmp_path / "table.json")
    rows = json.loads(file.read_text(), parse_constant=pytest.fail)
    assert [row["x"] for row in rows] == [1 / 3, None, None]
    assert rows[0]["day"].startswith("2026-01-02") and rows[0]["of"] == [1.5]


@pytest.mark.parametrize("ending", ENDINGS)
def test_an_empty_table_has_its_columns(ending: str, tmp_path) -> None:
    write_table(TABLE.slice(0, 0), file := tmp_path / f"table{ending}")
    assert file.stat().st_size
    assert ending in (".json", ".parquet") or "who" in file.read_text()


def test_escapes_for_terminals_are_not_written(tmp_path) -> None:
    for ending in (".md", ".tex", ".json"):
        write_table(pa.table({"worker": ["a\x1b[31m\x9bb"]}), file := tmp_path / f"table{ending}")
        assert not {"\x1b", "\x9b"} & set(file.read_text(encoding="utf-8"))


def test_another_ending_is_refused(tmp_path) -> None:
    with pytest.raises(SettingError, match=r"'table.doc'"):
        write_table(TABLE, tmp_path / "table.doc")
