"""Write tasks with proposed labels as files that annotation tools import."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol
from xml.etree import ElementTree as ET

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from crowdcore.core.errors import DataError, SettingError, did_you_mean, either
from crowdcore.core.spelling import visible
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.dataset import SPLITS, CrowdDataset
from crowdcore.data.dictionary import unescape
from crowdcore.data.doors import door
from crowdcore.data.settings import MEDIA
from crowdcore.data.writers.tables import replacing

_QUESTION = "label"  # the control, question or column that holds the class


class Inferred(Protocol):
    """Source of proposed labels: the fit of an aggregator, or a reference."""

    @property
    def labels(self) -> IntArray:
        """(n_tasks,) class numbers, -1 for none."""

    @property
    def posterior(self) -> FloatArray | None:
        """(n_tasks, C) probabilities, if there are some."""


@dataclass(frozen=True, eq=False)
class Proposal:
    """A task to be shown by a tool.

    Args:
        number: of the task.
        task: its name.
        kind: text, image or audio.
        shown: the text, or the path or address of the file; the task's name if the dataset has neither.
        label: the proposed class, "" for none.
        shares: (C,) probabilities, if known.
        score: that of the proposed class, if known.
        workers: planned workers, if any.
    """

    number: int
    task: str
    kind: str
    shown: str
    label: str
    shares: list[float] | None
    score: float | None
    workers: list[str]

    @property
    def facts(self) -> dict[str, Any]:
        """Facts to show beside the proposal."""
        facts = {"task": self.task, "score": self.score, "workers": ", ".join(self.workers)}
        return {name: value for name, value in facts.items() if value not in (None, "")}


@door
def write_import(
    dataset: CrowdDataset,
    path: str | Path,
    to: str,
    inferred: Inferred | None = None,
    *,
    tasks: pd.DataFrame | Sequence[str] | Path | str | None = None,
) -> Path:
    """Write tasks with proposed labels as a file that a tool imports.

    Args:
        dataset: dataset of the tasks.
        path: the file; replaced at once if it exists.
        to: ``label-studio`` (JSON tasks with predictions, and the labelling interface beside them as .xml), ``argilla``
            (JSON records with suggestions), ``prodigy`` (JSON lines of `choice`), ``doccano`` (JSON lines), ``cvat``
            (tags of images, XML 1.1), ``huggingface`` (Parquet with a class label and soft labels for `datasets`), or
            ``lewidi`` (JSON with the workers' labels and soft labels).
        inferred: source of the proposed labels, such as the fit of an aggregator; without it, tasks have no proposal.
        tasks: only these, in this order: names, or a table (or its file) with the column task and maybe worker, such
            as a list to relabel, of next labels or of actions; default: every task with labels.

    Raises:
        SettingError: no such tool, or a task that the dataset does not have.
        DataError: tags of tokens, tasks without images for CVAT, or names that the format cannot hold.

    Examples:
        >>> import crowdcore as cc, tempfile
        >>> fit = cc.aggregation.MajorityVote().fit("demo")
        >>> file = write_import("demo", tempfile.mkdtemp() + "/tasks.json", "label-studio", fit, tasks=["digit-0001"])
        >>> json.loads(file.read_text())[0]["predictions"][0]["result"][0]["value"]
        {'choices': ['zero']}
    """
    path = Path(path)
    if to not in TOOLS:
        raise SettingError("to", f"be {either(TOOLS)}", to, did_you_mean(to, TOOLS))
    if dataset.kind.sequential:
        raise DataError(f"{dataset.name} tags tokens, but these files hold classes", "Write CoNLL: `write_conll`.")
    content = TOOLS[to](dataset, _proposals(dataset, inferred, tasks))
    with replacing(path) as temporary:
        if isinstance(content, str):
            temporary.write_text(content, encoding="utf-8")
        else:
            pq.write_table(content, temporary)
    if to == "label-studio":
        path.with_suffix(".xml").write_text(_interface(dataset), encoding="utf-8")
    return path


def _proposals(dataset: CrowdDataset, inferred: Inferred | None, tasks: Any) -> list[Proposal]:
    if isinstance(tasks, pd.DataFrame | Path | str):
        workers = _workers(planned(tasks))
    else:
        listed = dataset.task_ids[dataset.annotated] if tasks is None else tasks
        workers = {str(name): [] for name in listed}
    numbers = dataset.task_ids.astype(str).get_indexer(pd.Index(list(workers), dtype=str))
    if (numbers < 0).any():
        raise SettingError("tasks", f"be tasks of {dataset.name}", list(workers)[int(np.argmin(numbers))])
    labels = np.full(dataset.n_tasks, -1) if inferred is None else np.asarray(inferred.labels)
    posterior = None if inferred is None else inferred.posterior
    kind, shown = _task_contents(dataset)

    def proposal(number: int, name: str) -> Proposal:
        label, soft = int(labels[number]), None if posterior is None else posterior[number].tolist()
        soft = None if soft is None or np.isnan(soft).any() else soft
        proposed = dataset.classes[label] if label >= 0 else ""
        score = soft[label] if soft and proposed else None
        return Proposal(number, name, kind, shown.get(number) or name, proposed, soft, score, workers[name])

    return [proposal(number, name) for number, name in zip(numbers.tolist(), workers, strict=True)]


def planned(given: pd.DataFrame | Path | str) -> pd.DataFrame:
    """The table itself, or that in a file written by `write_table`."""
    if isinstance(given, pd.DataFrame):
        return given
    try:
        if Path(given).suffix.lower() == ".parquet":
            return pd.read_parquet(given)
        frame = pd.read_csv(given, dtype=str, keep_default_na=False)
    except (ValueError, pa.ArrowException) as error:
        raise DataError("This is no table of tasks", "Give a .csv or .parquet file.", file=Path(given)) from error
    return pd.DataFrame({name: unescape(pa.array(frame[name], pa.large_string())).to_pylist() for name in frame})


def _workers(table: pd.DataFrame) -> dict[str, list[str]]:
    """Task -> the workers beside it, of a list of tasks, of assignments, or of actions."""
    if {"what", "name"} <= set(table.columns):
        table = table[table["what"] == "task"].rename(columns={"name": "task"})
    if "task" not in table:
        raise DataError("The table has no column `task`", "Name the column of the tasks so.")
    workers: dict[str, list[str]] = {}
    for task, worker in zip(table["task"], table.get("worker", pd.Series("", table.index)), strict=True):
        workers.setdefault(str(task), []).extend([] if pd.isna(worker) or worker == "" else [str(worker)])
    return workers


def _task_contents(dataset: CrowdDataset) -> tuple[str, dict[int, str]]:
    """The kind of media of the tasks, and task number -> its text or file."""
    columns = None if dataset.media is None else dataset.media.columns
    kind = next((name for name in MEDIA if columns is not None and name in columns), "text")
    known = pd.Series(dtype=object) if columns is None or kind not in columns else columns[kind].dropna()
    return kind, dict(zip(known.index.tolist(), map(str, known), strict=True))


def _label_studio(dataset: CrowdDataset, proposals: Iterable[Proposal]) -> str:
    tasks = []
    for p in proposals:
        choice = {"id": f"p{p.number}", "type": "choices", "from_name": _QUESTION, "to_name": p.kind}
        result = [{**choice, "value": {"choices": [p.label]}}]
        prediction = {"model_version": "crowdcore", "result": result, **({} if p.score is None else {"score": p.score})}
        data: dict[str, Any] = p.facts
        tasks.append({"data": data | {p.kind: p.shown}, "predictions": [prediction] if p.label else []})
    return _document(tasks)


def _interface(dataset: CrowdDataset) -> str:
    """Label Studio's labelling interface for these tasks."""
    view, (kind, _) = ET.Element("View"), _task_contents(dataset)
    ET.SubElement(view, kind.capitalize(), name=kind, value=f"${kind}")
    choices = ET.SubElement(view, "Choices", name=_QUESTION, toName=kind)
    for name in dataset.classes:
        ET.SubElement(choices, "Choice", value=name)
    return _xml(view)


def _argilla(dataset: CrowdDataset, proposals: Iterable[Proposal]) -> str:
    def record(p: Proposal) -> dict[str, Any]:
        suggested = {_QUESTION: {"value": p.label, "score": p.score, "agent": "crowdcore"}} if p.label else {}
        metadata = {"workers": ", ".join(p.workers)} if p.workers else {}
        parts = {"fields": {p.kind: p.shown}, "metadata": metadata, "suggestions": suggested}
        return {"id": p.task, **parts, "responses": {}, "vectors": {}}

    return _document([record(p) for p in proposals])


def _prodigy(dataset: CrowdDataset, proposals: Iterable[Proposal]) -> str:
    options = [{"id": name, "text": name} for name in dataset.classes]
    return _lines(
        {p.kind: p.shown, "options": options, "accept": [p.label] if p.label else [], "meta": p.facts}
        for p in proposals
    )


def _doccano(dataset: CrowdDataset, proposals: Iterable[Proposal]) -> str:
    return _lines({"text": p.shown, _QUESTION: [p.label] if p.label else [], **p.facts} for p in proposals)


def _cvat(dataset: CrowdDataset, proposals: Iterable[Proposal]) -> str:
    if _task_contents(dataset)[0] != "image":
        raise DataError(f"{dataset.name} names no images, but CVAT finds tasks by them", "Read a column `image`.")
    root = ET.Element("annotations")
    ET.SubElement(root, "version").text = "1.1"
    task = ET.SubElement(ET.SubElement(root, "meta"), "task")
    ET.SubElement(task, "name").text = dataset.name
    labels = ET.SubElement(task, "labels")
    for name in dataset.classes:
        label = ET.SubElement(labels, "label")
        ET.SubElement(label, "name").text, ET.SubElement(label, "type").text = name, "tag"
    for number, p in enumerate(proposals):
        image = ET.SubElement(root, "image", id=str(number), name=p.shown)
        if p.label:
            ET.SubElement(image, "tag", label=p.label, source="auto")
    return _xml(root)


def _huggingface(dataset: CrowdDataset, proposals: Iterable[Proposal]) -> pa.Table:
    number = {name: c for c, name in enumerate(dataset.classes)}
    listed, (kind, _), (text, share) = list(proposals), _task_contents(dataset), (pa.string(), pa.float32())
    words, shares = ({"dtype": dtype, "_type": "Value"} for dtype in ("string", "float32"))
    columns: dict[str, tuple[list[Any], pa.DataType, dict[str, Any]]] = {
        "task": ([p.task for p in listed], text, words),
        kind: ([p.shown for p in listed], text, words),
        _QUESTION: (
            [number.get(p.label) for p in listed],
            pa.int64(),
            {"names": list(dataset.classes), "_type": "ClassLabel"},
        ),
        "soft_label": ([p.shares for p in listed], pa.list_(share), {"feature": shares, "_type": "Sequence"}),
        "workers": ([p.workers for p in listed], pa.list_(text), {"feature": words, "_type": "Sequence"}),
    }
    features = {name: feature for name, (_, _, feature) in columns.items()}
    metadata = {"huggingface": json.dumps({"info": {"features": features}})}
    table = pa.table({name: pa.array(values, kind) for name, (values, kind, _) in columns.items()})
    return table.replace_schema_metadata(metadata)


def _lewidi(dataset: CrowdDataset, proposals: Iterable[Proposal]) -> str:
    odd = next((n for n in (*dataset.classes, *map(str, dataset.worker_ids)) if "," in n or n != n.strip()), None)
    if odd is not None:
        raise DataError(f"{odd!r} cannot be one of several names between commas", "Rename it.")
    items = {}
    for p in proposals:
        rows = slice(dataset.task_start[p.number], dataset.task_start[p.number + 1])
        given = [dataset.classes[label] for label in dataset.label[rows]]
        part = dataset.split[p.number]
        items[p.task] = {
            "text": p.shown,
            "number of annotations": len(given),
            "annotations": ",".join(given),
            "annotators": ",".join(map(str, dataset.worker_ids[dataset.worker[rows]])),
            "hard_label": p.label,
            "soft_label": dict(zip(dataset.classes, p.shares, strict=True)) if p.shares else {},
            **({"split": SPLITS[part]} if part >= 0 else {}),
        }
    return _document(items)


def _document(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1) + "\n"


def _lines(records: Iterable[dict[str, Any]]) -> str:
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def _xml(root: ET.Element) -> str:
    ET.indent(root)
    return visible(ET.tostring(root, encoding="unicode")) + "\n"


TOOLS: dict[str, Callable[[CrowdDataset, list[Proposal]], str | pa.Table]] = {
    "label-studio": _label_studio,
    "argilla": _argilla,
    "prodigy": _prodigy,
    "doccano": _doccano,
    "cvat": _cvat,
    "huggingface": _huggingface,
    "lewidi": _lewidi,
}
"""Name of each tool -> content of its file."""
