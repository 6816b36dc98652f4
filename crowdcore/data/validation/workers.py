"""Number the workers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crowdcore.core.errors import DataError
from crowdcore.core.types import IntArray
from crowdcore.data.dictionary import Codes, clean, natural_order, strings
from crowdcore.data.encoder import encode
from crowdcore.data.lookups import counted, renumber
from crowdcore.data.readers.base import Raw
from crowdcore.data.report import Finding, plural


def number_workers(
    raw: Raw, worker: Codes, keep: IntArray | None, became: Mapping[str, str]
) -> tuple[list[str], IntArray, list[Finding]]:
    """Number the workers that have a row that is kept: in the order of the list of workers, else naturally sorted.

    Args:
        raw: where they are from.
        worker: the cleaned column, after merging.
        keep: the rows that are kept, None = all.
        became: what names of the list were merged into.

    Returns:
        Their ids, (n rows,) int32 worker number (-1 = none), and what was noticed.

    Raises:
        DataError: the list of workers names one twice.
    """
    values = worker.values
    used = np.ones(len(values), bool)
    if keep is not None:
        used = counted(worker.codes[keep], len(values)) > 0
    listed = list(dict.fromkeys(became.get(name, name) for name in listed_workers(raw)))
    known = np.asarray(pc.is_in(values, value_set=strings(listed)))
    findings = []
    lost = np.flatnonzero(~used & ~known)
    if len(lost):
        examples = tuple(values[int(i)].as_py() for i in lost[:5])
        sentence = f"{plural(len(lost), 'worker')} without any label would be left out, such as {examples[0]!r}"
        findings.append(Finding("workers-without-labels", "change", sentence, len(lost), examples=examples))
    others = values.filter(pa.array(used & ~known)).to_pylist()
    ids = listed + [others[i] for i in natural_order(others)]
    place = np.asarray(pc.index_in(values, value_set=strings(ids)).fill_null(-1))
    return ids, renumber(worker.codes, place), findings


def listed_workers(raw: Raw) -> tuple[str, ...]:
    """The list of workers that came with the file, cleaned.

    Raises:
        DataError: it names one twice.
    """
    if raw.workers is None:
        return ()
    names = clean(encode(strings(raw.workers)), unescape=raw.workers_escaped, whole="all").codes
    if len(names.values) < len(names) or names.missing.any():
        raise DataError("The list of workers names one twice, or none in a row", file=raw.path)
    return tuple(names.values.to_pylist())
