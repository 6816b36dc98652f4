"""True classes that are given by task, beside the annotations or as the labels of one worker."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow.compute as pc

from crowdcore.core.errors import DataError, SettingError, did_you_mean
from crowdcore.data.dictionary import Codes, clean
from crowdcore.data.readers.base import Raw, RawTasks
from crowdcore.data.report import Finding, make_change, plural


def with_gold(raw: Raw, task: Codes, gold: Codes, where: str) -> Raw:
    """Add true classes to what was read.

    Args:
        raw: the annotations.
        task: (n,) tasks, each once.
        gold: (n,) their classes.
        where: what the tasks of the annotations are in, such as ``frame``.

    Raises:
        DataError: a task stands twice.
    """
    about = raw.tasks or RawTasks(raw.task, False)
    ids, key = clean(about.task, whole="mixed").codes, clean(task, whole="mixed").codes
    twice = np.flatnonzero(np.bincount(key.codes[key.codes >= 0], minlength=len(key.values)) > 1)
    if len(twice):
        raise DataError(f"`gold` names task {key.values[int(twice[0])].as_py()!r} twice")
    value = np.full(len(key.values) + 1, -1, np.int32)
    value[key.codes] = np.where(key.missing, -1, gold.codes)
    place = np.asarray(pc.index_in(ids.values, value_set=key.values).fill_null(-1))
    given = value[np.append(place, -1)[ids.codes]]
    absent = len(key.values) - len(np.unique(place[place >= 0]))
    findings = raw.findings
    if absent:
        what = f"Gold of {plural(absent, 'task')} outside the {where}"
        findings = (*findings, make_change("gold-not-listed", what, "be left out", count=absent))
    return replace(raw, tasks=replace(about, gold=Codes(gold.values, given)), findings=findings)


def gold_of_worker(raw: Raw, name: str) -> Raw:
    """The rows of all workers but one, whose labels become the gold.

    Raises:
        SettingError: there is no such worker, or a column holds the gold.
        DataError: it labelled a task twice.
    """
    names = pc.utf8_trim_whitespace(raw.worker.values)
    one = np.append(np.asarray(pc.equal(names, name.strip())), False)[raw.worker.codes]
    if not one.any():
        remedy = did_you_mean(name, names[:1000].to_pylist())
        raise SettingError("gold_worker", "name a worker of the file", name, remedy)
    if raw.tasks is not None and raw.tasks.gold is not None:
        raise SettingError("gold_worker", "be left out where a column holds the gold", name)
    rows = np.flatnonzero(one)
    what = f"{plural(len(rows), 'label')} of the worker {name!r} {'was' if len(rows) == 1 else 'were'} read as the gold"
    others = raw.keep(np.flatnonzero(~one), Finding("gold-worker", "note", what, len(rows), left_out=len(rows)))
    return with_gold(others, raw.task.take(rows), raw.label.take(rows), "other labels")
