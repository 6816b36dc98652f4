"""Layout of records that hold the labels of several workers, recognised by the first records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal

from crowdcore.data.columns import ALIASES, PEOPLE, RATING_ALIASES, plain
from crowdcore.data.settings import ReadSettings
from crowdcore.data.tables.json_table import name_in

COUNTER = {"count", "counts", "counter", "votes", "tally", "dist", "distribution", "histogram", "freq", "frequency"}
_ONE = ("worker", "label")
_FEW = 20  # different labels that are never too many

Record = Mapping[str, Any]
Kind = Literal["records", "map", "lists", "places", "counts"]


@dataclass(frozen=True)
class Layout:
    """The field of a record that holds labels.

    Args:
        kind: a list of ``records``; a ``map`` of worker to label; ``lists`` of workers and of labels; ``places``
            without a worker; ``counts`` of each label.
        field: the field, or the list of labels.
        worker, label: keys of its records, or the list of workers.
        task: the key of its records that names the task; None: the outer record is the task.
        sure: whether no other layout is likely.
        questions: keys of its records that may all be the label, one of which has to be chosen.
    """

    kind: Kind
    field: str
    worker: str | None = None
    label: str | None = None
    task: str | None = None
    sure: bool = True
    questions: tuple[str, ...] = ()

    @property
    def may_turn(self) -> bool:
        """True if no name shows that the records are tasks and their entries workers."""
        words = {*plain(self.worker or "").split("_")}
        unnamed = self.worker is not None and not is_named(self.worker, "worker") and not words & PEOPLE
        return self.kind in ("map", "places") or (self.kind == "records" and unnamed)


def is_named(name: str, role: str) -> bool:
    """Return whether a name, or its last words, is an alias of a role, also in the plural."""
    words = plain(name).split("_")
    single = [*words[:-1], words[-1].removesuffix("s")]
    known = (*ALIASES[role], *(RATING_ALIASES if role == "label" else ()))
    return any("_".join(part[-k:]) in known for part in (words, single) for k in range(1, len(words) + 1))


def entries(value: Any) -> list[Any]:
    """Entries of a field: records with plain values, or plain values; pairs are records with the names 1 and 2."""
    columns = isinstance(value, Mapping) and all(isinstance(v, list) for v in value.values())
    if columns and len({len(v) for v in value.values()}) == 1:  # as Arrow and the Hub write lists of records
        value = [dict(zip(value, row, strict=True)) for row in zip(*value.values(), strict=True)]
    by_worker = {w: inner for w, inner in value.items() if inner is not None} if isinstance(value, Mapping) else {}
    if by_worker and all(map(_is_labelled, by_worker.values())):
        value = [{"worker": worker, **inner} for worker, inner in by_worker.items()]
    one = isinstance(value, Mapping) and all(any(is_named(name, role) for name in value) for role in _ONE)
    if one and not any(map(_is_nested, value.values())):  # the record of one annotation
        value = [value]
    if not isinstance(value, list):
        return []
    return [_flat(entry) for entry in value]


def _is_labelled(value: Any) -> bool:
    """Return whether a value is a record of plain values with a label."""
    labelled = isinstance(value, Mapping) and any(is_named(name, "label") for name in value)
    return labelled and not any(map(_is_nested, value.values()))


def _flat(entry: Any) -> Any:
    if isinstance(entry, list | tuple):
        return {str(k): part for k, part in enumerate(entry, 1)}
    if not isinstance(entry, Mapping):
        return entry
    flat: dict[str, Any] = {}
    for name, value in entry.items():
        flat |= {f"{name}.{k}": v for k, v in value.items()} if isinstance(value, Mapping) else {name: value}
    return flat


def find_layout(records: Sequence[Record], settings: ReadSettings) -> Layout | None:
    """The field with the labels; None if there is none, or each record has one worker and one label."""
    fields = {name: [r[name] for r in records if r.get(name) is not None] for name in dict.fromkeys(chain(*records))}
    if all(any(is_named(n, role) and not any(map(_is_nested, v)) for n, v in fields.items()) for role in _ONE):
        return None
    nested = {n: v for n, v in fields.items() if v and all(isinstance(x, list | Mapping) for x in v)}
    listed = {name: [entries(value) for value in values] for name, values in nested.items()}
    inside = {n: v for n, v in listed.items() if any(v) and all(isinstance(e, Mapping) for part in v for e in part)}
    by_person = any(is_named(n, "worker") and not any(map(_is_nested, v)) for n, v in fields.items())
    each = ((name, parts, len(records), by_person, settings) for name, parts in inside.items())
    layouts = [layout for parts in each if (layout := _of_records(*parts))]
    if layouts:
        return min(layouts, key=lambda layout: layout.kind != "records")
    maps = {n: v for n, v in nested.items() if n not in listed or not any(listed[n])}
    maps = {n: v for n, v in maps.items() if any(isinstance(name_in(value), Mapping) for value in v)}
    for name, values in maps.items():
        plain_map = all(isinstance(m, Mapping) and not any(map(_is_nested, m.values())) for m in values)
        if plain_map and any(values) and (layout := _of_map(name, values, settings)):
            return layout
    plainly = {n: v for n, v in listed.items() if any(v) and n not in inside and not any(map(_is_nested, chain(*v)))}
    flat = [name for name in fields if name not in nested]
    return _of_lists(plainly, records, settings) or _places(plainly, flat, settings)


def _is_nested(value: Any) -> bool:
    return isinstance(value, list | Mapping)


def _distinct(values: Iterable[Any]) -> int:
    return len({str(value) for value in values if value is not None})


def _few(values: Iterable[Any]) -> bool:
    """Return whether there are at least two different values, and few enough to be labels."""
    given = [value for value in values if value is not None]
    return 1 < _distinct(given) <= max(_FEW, len(given) // 10)


def _of_records(
    name: str, parts: list[list[Record]], n_records: int, by_person: bool, settings: ReadSettings
) -> Layout | None:
    """The keys of worker and label in the records of a field, and that of the task if there is one record.

    ``by_person``: the outer records name a worker, so that their entries are tasks.
    """
    every = list(chain(*parts))
    keys = [k for k in dict.fromkeys(chain(*every)) if any(e.get(k) is not None for e in every)]
    several = max(map(len, parts)) > 1
    once = {k: all(_distinct(e.get(k) for e in part) == len(part) for part in parts) for k in keys}

    def key(setting: object) -> str | None:
        return next((k for k in keys if setting in (k, f"{name}.{k}")), None) if setting else None

    tasks = [k for k in keys if is_named(k, "task") and not PEOPLE & {*plain(k).split("_")}]
    again = [k for k in keys if once[k] and _distinct(e.get(k) for e in every) < len(every)]
    task = key(settings.task) or (next(iter(tasks), None) if n_records == 1 else None)
    worker = key(settings.worker) or next((k for k in keys if is_named(k, "worker") and k != task), None)
    if worker is None and several and n_records > 1:
        task = key(settings.task) or next(iter([*tasks, *(again if by_person else ())]), None)
        own = next((k for k in keys if is_named(k, "label") and k != task), None)
        if task in again and own is not None:
            return Layout("records", name, None, own, task)
    if worker is None and several:
        likely = [k for k in again if k != task and not is_named(k, "label")]
        worker = min(likely, key=lambda k: _distinct(e.get(k) for e in every), default=None)
    rest = [k for k in keys if k not in (worker, task)]
    label = key(settings.question) or key(settings.label) or next((k for k in rest if is_named(k, "label")), None)
    if label is None:
        few = [k for k in rest if _few(e.get(k) for e in every) and not once[k]]
        if len(few) > 1 and worker is not None:
            return Layout("records", name, worker, None, task, True, tuple(f"{name}.{k}" for k in few))
        label = few[0] if few else None
    if label is None or (worker is None and (task is not None or not several)):
        return None
    return Layout("records" if worker is not None else "places", name, worker, label, task, worker is not None)


def _of_lists(plainly: dict[str, list[list[Any]]], records: Sequence[Record], settings: ReadSettings) -> Layout | None:
    """Two lists of the same length in each record, one of which names workers."""
    sizes = {name: [len(r[name]) if r.get(name) else 0 for r in records] for name in plainly}
    workers = [n for n in plainly if settings.worker == n or (settings.worker is None and is_named(n, "worker"))]
    workers = [n for n in workers if not is_named(n, "label") or settings.worker == n] or [
        n for n, parts in plainly.items() if settings.worker is None and _like_workers(parts)
    ]
    for worker in workers:
        same = {n: sum(a == b for a, b in zip(sizes[n], sizes[worker], strict=True)) for n in plainly}
        labels = [n for n in plainly if n != worker and 5 * same[n] > 4 * len(records)]  # others are refused row by row
        labels = [n for n in labels if settings.label in (None, n)]
        labels.sort(key=lambda n: (not is_named(n, "label"), _distinct(chain(*plainly[n]))))
        if labels:
            return Layout("lists", labels[0], worker, labels[0])
    return None


def _like_workers(parts: list[list[Any]]) -> bool:
    """Return whether values differ in each list and recur in others."""
    every = list(chain(*parts))
    different = all(_distinct(part) == len(part) for part in parts) and all(isinstance(v, str) for v in every)
    return different and max(map(len, parts)) > 1 and 2 * _distinct(every) <= len(every)


def _of_map(name: str, maps: list[Record], settings: ReadSettings) -> Layout | None:
    """A map of workers to labels, or of labels to counts; None for other maps, such as the text of a task."""
    if settings.format in ("counts", "nested"):
        return Layout("counts" if settings.format == "counts" else "map", name)
    numbers = [v for m in maps for v in m.values() if v is not None]
    marks = {k: {isinstance(m[k], bool) for m in maps if m.get(k) is not None} for k in chain(*maps)}
    if len(marks) == 1 or ({True} in marks.values() and {False} in marks.values()):
        return None  # fields of the record, which are no workers
    if not _few(v for m in maps for v in m.values()) and not {*plain(name).split("_")} & COUNTER:
        return None
    whole = all(isinstance(v, int | float) and not isinstance(v, bool) and v >= 0 for v in numbers)
    words = {*plain(name).split("_")}
    if not whole or words & {w for alias in ALIASES["worker"] for w in (alias, f"{alias}s")}:
        return Layout("map", name)
    if words & COUNTER:
        return Layout("counts", name)
    names, sums = {*chain(*maps)}, {round(sum(v for v in m.values() if v is not None), 6) for m in maps}
    few = len(names) <= _FEW and len(maps) > 2
    if few and len(sums) == 1 and _distinct(map(str, maps)) > 1:
        return Layout("counts", name)
    same = all(sum(v is not None for v in m.values()) == len(names) for m in maps)
    return Layout("map", name, sure=not (few and same and max(numbers, default=0) > len(names)))


def _places(plainly: dict[str, list[list[Any]]], flat: list[str], settings: ReadSettings) -> Layout | None:
    """A list of labels whose workers are not named; under any name if it has the same length everywhere."""
    if settings.label in plainly:
        return Layout("places", settings.label, sure=False)
    likely = []
    if any(is_named(field, "worker") for field in flat):
        return None
    for name, parts in plainly.items():
        repeats = any(_distinct(part) < len(part) for part in parts)
        named, even = is_named(name, "label"), len({*map(len, parts)}) == 1
        even = even and not any(is_named(field, "label") for field in flat)
        if _few(chain(*parts)) and repeats and (named or even):
            likely.append((not named, name))
    return Layout("places", min(likely)[1], sure=False) if likely else None
