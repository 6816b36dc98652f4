"""Look up what callers give by name: values by task, workers and classes, in the order and numbers of a dataset."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from crowdcore.core.errors import SettingError, did_you_mean
from crowdcore.core.types import AnyArray, IntArray
from crowdcore.data.rows import Rows

if TYPE_CHECKING:
    from crowdcore.data.dataset import CrowdDataset, IndexTable

ByTask: TypeAlias = "pd.Series[Any] | pd.DataFrame | Mapping[Any, Any] | ArrayLike"
"""Values by the ids of tasks, or an array with one for each task in the dataset's order."""
WorkerLike: TypeAlias = "str | int | np.integer[Any]"
"""A worker's id, or number."""


def by_task(dataset: IndexTable, values: Any, argument: str) -> AnyArray:
    """(n_tasks, …) values in the order of the tasks; those given by task are looked up, tasks without one are missing.

    Args:
        values: a series, mapping or frame by the ids of tasks (the index, or a column ``task``), whose other tasks are
            missing; or an array, tensor or list with a row for each task.
        argument: name of ``values`` in a refusal.
    """
    values = in_pandas(values)
    if not isinstance(values, pd.Series | pd.DataFrame):
        array = np.asarray(values.detach().cpu() if hasattr(values, "detach") else values)
        if array.ndim == 0 or len(array) != dataset.n_tasks:
            must = f"be a series by task, or have a row for each of the {dataset.n_tasks:,} tasks"
            raise SettingError(argument, must, type(values).__name__ if array.ndim == 0 else array.shape)
        return array
    index = values.index.map(str)
    unknown = index[~index.isin(dataset.task_ids)]
    if len(unknown):
        remedy = "If its rows are the tasks in their order, pass `.to_numpy()`."
        raise SettingError(argument, f"be indexed by tasks of {dataset.name}", unknown[0], remedy)
    if index.has_duplicates:
        raise SettingError(argument, "name each task once", index[index.duplicated()][0])
    return values.set_axis(index).reindex(dataset.task_ids).to_numpy()


def feature_rows(dataset: IndexTable, features: Any, named: bool = False) -> Rows:
    """A row of numbers for each task, as `by_task` takes them; tasks that are not named have none.

    ``named``: refuse rows that do not name their tasks, since the order of the tasks is not known yet.
    """
    given = (
        pd.DataFrame.from_dict(dict(features), orient="index") if isinstance(features, Mapping) else in_pandas(features)
    )
    by_id = isinstance(given, pd.Series | pd.DataFrame)
    if named and not by_id:
        must = "be a frame by task here, as the order of the tasks is not known yet"
        remedy = "`dataset.with_features` takes rows in the order of `dataset.task_ids`."
        raise SettingError("features", must, type(features).__name__, remedy)
    rows = by_task(dataset, given, "features")
    if rows.dtype.kind not in "fiub":
        raise SettingError("features", "hold numbers only", str(rows.dtype))
    rows = rows.reshape(len(rows), -1) if rows.ndim == 1 else rows
    features_of_tasks = Rows.from_array(rows)
    if by_id and (missing := np.isnan(rows).all(tuple(range(1, rows.ndim)))).any():
        features_of_tasks = Rows((rows,), np.where(missing, -1, 0).astype(np.int8), features_of_tasks.row_of)
    return features_of_tasks


def in_pandas(values: Any) -> Any:
    """A mapping as a series, any frame as one of pandas indexed by its column ``task``; anything else as it is."""
    if isinstance(values, Mapping):
        return pd.Series(values)
    if hasattr(values, "columns") and hasattr(values, "to_pandas"):
        values = values.to_pandas()
    return values.set_index("task") if isinstance(values, pd.DataFrame) and "task" in values else values


def class_numbers(dataset: IndexTable, values: Any, argument: str) -> IntArray:
    """(n_tasks,) int32 class of each task, -1 where it is missing, of names or numbers as `by_task` takes them.

    Whole numbers in a NumPy array are the classes' numbers. Elsewhere they must not be mistaken for names.
    """
    classes, given = dataset.label_names, by_task(dataset, values, argument)
    if given.ndim != 1:
        raise SettingError(argument, "hold one class for each task", given.shape)
    missing = pd.isna(given)
    known = given[~missing]
    numeric = given.dtype.kind in "iufb" or all(isinstance(value, int | float | np.number) for value in known)
    out = np.full(dataset.n_tasks, -1, np.int32)
    if not numeric:
        codes = pd.Index(classes).get_indexer(pd.Index(known).map(str))
        if (codes < 0).any():
            wrong = str(known[codes < 0][0])
            remedy = f"{did_you_mean(wrong, classes)}Leave out tasks whose class is unknown."
            raise SettingError(argument, f"hold classes of {dataset.name}", wrong, remedy)
        out[~missing] = codes
        return out
    numbers = known.astype(np.float64)
    fits = (numbers == np.round(numbers)) & (numbers >= -1) & (numbers < len(classes))
    if not fits.all():
        raise SettingError(argument, f"hold classes below {len(classes)}", known[~fits][0])
    ordered = tuple(map(str, range(len(classes))))
    doubtful = classes != ordered and all(name.lstrip("-").isdecimal() for name in classes)
    if doubtful and not isinstance(values, np.ndarray) and (numbers >= 0).any():
        must = "hold the classes' names as text, as they are whole numbers, but not 0, 1, 2 …"
        raise SettingError(argument, must, known[numbers >= 0][0])
    out[~missing] = numbers
    return out


def worker_number(dataset: IndexTable, worker: WorkerLike, argument: str = "worker") -> int:
    """The number of a worker given by id or number."""
    return int(worker_numbers(dataset, worker, argument)[0])


def worker_numbers(dataset: IndexTable, workers: Any, argument: str = "workers") -> IntArray:
    """Distinct numbers of one or several workers given by ids or numbers.

    Whole numbers of NumPy are the workers' numbers. Others must not be mistaken for ids.
    """
    given = np.asarray([workers] if isinstance(workers, str) or np.ndim(workers) == 0 else workers)
    ids = dataset.worker_ids.get_indexer(pd.Index(given).map(str) if len(given) else pd.Index([], dtype=object))
    numbers, known = ids, ids >= 0
    if given.dtype.kind in "iu":
        numbers, known = given, (given >= 0) & (given < dataset.n_workers)
        other = (
            known & (ids >= 0) & (ids != given) if not isinstance(workers, np.ndarray | np.integer) else known & False
        )
        if other.any():
            worker_id = given[other][0].item()
            must = f"be ids as text: {worker_id} is number {worker_id}, and another worker's id"
            raise SettingError(argument, must, worker_id)
    if not known.all():
        wrong = given[~known][0].item()
        near = did_you_mean(str(wrong), dataset.worker_ids)
        raise SettingError(argument, f"be among the {dataset.n_workers} workers", wrong, near)
    return np.unique(numbers.astype(np.int64))


def class_number(dataset: CrowdDataset, argument: str, which: str | int) -> int:
    """Number of a class given by name or number; a name wins where classes are called "0", "1", …"""
    if isinstance(which, str) and which in dataset.classes:
        return dataset.classes.index(which)
    if not isinstance(which, str) and 0 <= which < dataset.n_classes:
        return int(which)
    shown = ", ".join(dataset.classes[:12]) + (", …" if dataset.n_classes > 12 else "")
    raise SettingError(argument, f"be a class or its number below {dataset.n_classes}", which, f"Classes: {shown}.")


def names_of(names: Iterable[str], numbers: IntArray) -> AnyArray:
    """(n,) names by number; None where the number is -1."""
    return np.array([*names, None], object)[numbers]
