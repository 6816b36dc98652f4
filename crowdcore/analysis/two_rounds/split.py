"""Two rounds in one dataset: joined from two datasets, or separated by a column, a date or halves of the crowd."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from crowdcore.analysis.verdicts.drift import times
from crowdcore.core.errors import DataError, SettingError
from crowdcore.core.types import BoolArray, IntArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.doors import door
from crowdcore.data.times import TIME

ROUND, HALVES, DATE = "round", "halves", "date"


@door
def join_rounds(first: CrowdDataset, second: CrowdDataset) -> CrowdDataset:
    """Join the annotations of two datasets, with a column ``round`` (1 or 2); equal ids are the same task or worker.

    Raises:
        DataError: no class in common, or a task whose gold differs between the two.

    Examples:
        >>> import crowdcore as cc
        >>> ds = cc.load_dataset("demo")
        >>> cc.analysis.join_rounds(ds, ds).extra["round"].value_counts().to_dict()
        {1: 5254, 2: 5254}
    """
    if not set(first.classes) & set(second.classes):
        raise DataError(
            f"{first.name} and {second.name} have no class in common: {first.classes[0]}, … and {second.classes[0]}, …",
            "Compare rounds of the same task.",
        )
    classes = pd.Index(first.classes).append(pd.Index(second.classes)).unique()
    tasks = first.task_ids.append(second.task_ids).unique()
    workers = first.worker_ids.append(second.worker_ids).unique()
    gold: IntArray = np.full(len(tasks), -1, np.int32)
    parts = []
    for number, of in enumerate((first, second), 1):
        at, label = tasks.get_indexer(of.task_ids), classes.get_indexer(pd.Index(of.classes))
        known = np.flatnonzero(of.gold >= 0)
        there, new = at[known], label[of.gold[known]]
        differ = (gold[there] >= 0) & (gold[there] != new)
        if differ.any():
            task = tasks[there[differ][0]]
            raise DataError(
                f"Gold of task {task} differs: {classes[gold[there[differ][0]]]} in {first.name}, "
                f"{classes[new[differ][0]]} in {second.name}",
                "Equal ids are the same task: rename the tasks of one round, or correct the gold.",
            )
        gold[there] = new
        rows = pd.DataFrame({"task": at[of.task], "label": label[of.label], ROUND: number})
        rows["worker"] = workers.get_indexer(of.worker_ids)[of.worker]
        parts.append(rows if of.extra is None else rows.join(of.extra.drop(columns=ROUND, errors="ignore")))
    both = pd.concat(parts, ignore_index=True).sort_values("task", kind="stable", ignore_index=True)
    task, worker, label = (both[name].to_numpy(np.int32) for name in ("task", "worker", "label"))
    extra = both.drop(columns=["task", "worker", "label"])
    name = first.name if first.name == second.name else f"{first.name} and {second.name}"
    return CrowdDataset(name, tuple(classes), tasks, workers, task, worker, label, gold, extra=extra)


@door
def in_second(dataset: CrowdDataset, by: str = "", at: str = "") -> tuple[BoolArray, tuple[str, str]]:
    """(n_annotations,) bool, whether each annotation is of the second round, and the names of the two rounds.

    Args:
        by: ``"date"`` (the column ``timestamp``), another column of the annotations, or ``"halves"`` of the crowd,
            drawn by the seed ``at`` to see the effect of chance; default: the column ``round``.
        at: the date or number at which the second round begins, or the column's value for it; default: the median of
            dates and numbers, the second of a column's two values.

    Raises:
        SettingError: no such column or value, or none is given and there is no column ``round``.
        DataError: the column has no two values, or one round would be empty.
    """
    if by == HALVES:
        if at and not at.isdecimal():
            raise SettingError("at", "be a whole number, the seed that halves the crowd", at)
        active = np.flatnonzero(dataset.labels_per_worker)
        if len(active) < 2:
            raise DataError(
                f"Halves of a crowd take two workers or more, but {dataset.name} has {len(active)}",
                "Split it by a date or another column, or compare it with another dataset.",
            )
        drawn: BoolArray = np.zeros(dataset.n_workers, bool)
        drawn[np.random.default_rng(int(at or 0)).permutation(active)[: len(active) // 2]] = True
        return _check(dataset, drawn[dataset.worker], ("one half of the workers", "the other half"))
    known = [] if dataset.extra is None else list(map(str, dataset.extra))
    by = by or (ROUND if ROUND in known else "")
    name = TIME if by == DATE else by
    if dataset.extra is None or name not in known:
        choices = ", ".join(
            [*(DATE if name == TIME else name for name in known), f"{HALVES} (to see what chance does)"]
        )
        if not by:
            raise SettingError("by", f"say what separates the rounds, one of {choices}", "nothing")
        raise SettingError("by", f"be one of {choices}, as the annotations have no column {name!r}", by)
    column = dataset.extra[name]
    if by == DATE or pd.api.types.is_datetime64_any_dtype(column):
        return _by_date(dataset, at)
    values = sorted(column.dropna().unique())
    if len(values) == 2 or not pd.api.types.is_numeric_dtype(column):
        return _by_value(dataset, by, column, values, at)
    try:
        edge = float(at) if at else float(np.median(column.dropna()))
    except ValueError:
        raise SettingError("at", f"be a number, as {by} holds numbers", at) from None
    return _check(dataset, column.to_numpy(float) >= edge, (f"{by} below {edge:g}", f"{by} from {edge:g}"))


def _by_value(
    dataset: CrowdDataset, by: str, column: pd.Series[Any], values: list[Any], at: str
) -> tuple[BoolArray, tuple[str, str]]:
    names = [str(value) for value in values]
    if not at and len(values) != 2:
        raise SettingError("at", f"say which value of {by} is the second round, as there are {len(values)}", "nothing")
    if at and at not in names:
        raise SettingError("at", f"be a value of {by}: {', '.join(names[:8])}", at)
    at = at or names[1]
    other = next((name for name in names if name != at), "") if len(names) == 2 else f"not {at}"
    return _check(dataset, (column.astype("str") == at).to_numpy(bool), (f"{by} {other}", f"{by} {at}"))


def _by_date(dataset: CrowdDataset, at: str) -> tuple[BoolArray, tuple[str, str]]:
    moment = times(dataset)
    if moment is None or np.isnan(moment).all():
        raise DataError(f"{dataset.name} has no times that can be read in the column {TIME}", "Use ISO 8601.")
    assert dataset.extra is not None
    edge, shown = float(np.nanmedian(moment)), at
    numbers = pd.api.types.is_numeric_dtype(dataset.extra[TIME].dtype)
    if at:
        try:
            edge = float(at) if numbers else pd.Timestamp(at, tz="UTC").timestamp()
        except ValueError:
            raise SettingError("at", "be a time as the column has them, such as 2024-05-31", at) from None
    else:
        shown = f"{edge:g}" if numbers else pd.Timestamp(edge, unit="s").isoformat(sep=" ", timespec="minutes")
    return _check(dataset, moment >= edge, (f"before {shown}", f"from {shown}"))


def _check(dataset: CrowdDataset, second: BoolArray, names: tuple[str, str]) -> tuple[BoolArray, tuple[str, str]]:
    if second.all() or not second.any():
        empty = names[0] if second.all() else names[1]
        raise DataError(
            f"No annotation of {dataset.name} falls into “{empty}”",
            "Choose another value at which the second round begins.",
        )
    return second, names
