"""Biases of judges: position, length, and authorship of an answer."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from crowdcore.analysis.panels.families import model_families
from crowdcore.analysis.statistics import divide
from crowdcore.core.errors import DataError, SettingError
from crowdcore.core.shown import Shown
from crowdcore.core.types import BoolArray, FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.doors import door

POSITION, LENGTH, OWN = "position", "length", "own answers"
_USUAL = {
    POSITION: "swapped|flipped|reversed|is_swapped|shown_first|position|order",
    LENGTH: "length|answer_length|response_length|n_tokens|tokens|n_words|words|n_chars|characters",
    OWN: "author|answer_model|response_model|generator|answered_by|written_by|model",
}
_FEWEST = 30  # tasks of a judge from which an effect is estimated
_TIE = re.compile(r"tie\b.*|draw|equal|both.*|neither|a=b|c", re.IGNORECASE)
_BY_GOLD = "Answers of one class by gold are compared: among them, longer ones may yet be better ones."
_WITHOUT = (
    "Without gold, the effect of the position is true where positions were drawn at random; length and own answers "
    "need gold, as better answers may be longer."
)


@dataclass(frozen=True, eq=False)
class PanelLeanings(Shown):
    """Biases of each judge: one row per judge and attribute.

    Attributes:
        worker_ids: (n_workers,) names of the workers.
        worker: (k,) number of each row's judge.
        what: (k,) position, length or own answers.
        effect: (k,) by how much it raises the label, from 0 (first class) to 1 (last class): the position's second
            value for its first, one standard deviation of log length, an answer of the judge's own family.
        low, high: (k,) its interval, at 5 % over all rows together, by tasks.
        n: (k,) tasks.
        flips, orders: (n_workers,) pairs of labels of one judge on one task in both positions, and how many differ.
        changes, repeats: (n_workers,) the same of labels whose position is equal or unknown.
        classes: names of the classes.
        columns: column of each attribute.
        sides: values of the position's column; effects are of the second beside the first.
        by_gold: whether answers of one true class are compared; else the position alone is judged.
    """

    worker_ids: pd.Index[str]
    worker: IntArray
    what: tuple[str, ...]
    effect: FloatArray
    low: FloatArray
    high: FloatArray
    n: IntArray
    flips: IntArray
    orders: IntArray
    changes: IntArray
    repeats: IntArray
    classes: tuple[str, ...]
    columns: dict[str, str]
    sides: tuple[str, ...]
    by_gold: bool

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences about the meaning of the effects and their basis."""
        terms = ", ".join(f"{what} by {column!r}" for what, column in self.columns.items())
        notes = [f"Points by which labels move from {self.classes[0]} to {self.classes[-1]}: {terms}."] if terms else []
        if POSITION in self.columns:
            notes.append(
                f"Position: where {self.columns[POSITION]!r} is {self.sides[1]} beside {self.sides[0]}. Labels must "
                f"name the answers, not the places where they were shown."
            )
        if self.columns:
            notes.append(_BY_GOLD if self.by_gold else _WITHOUT)
        return tuple(notes)

    def frame(self) -> pd.DataFrame:
        """One row per judge and attribute, in points; the largest sure effect first."""
        ends = {f"points{end}": 100 * of for end, of in (("", self.effect), (" low", self.low), (" high", self.high))}
        columns = {"worker": self.worker_ids[self.worker], "moved by": self.what, **ends, "tasks": self.n}
        sure = np.where(self.low * self.high > 0, np.minimum(np.abs(self.low), np.abs(self.high)), 0)
        return pd.DataFrame(columns).iloc[np.lexsort((-np.abs(self.effect), -sure))].reset_index(drop=True)

    def flips_frame(self) -> pd.DataFrame:
        """One row per judge with repeated labels: shares that differ, in both positions and otherwise."""
        counts = {"both positions": self.orders, "repeats": self.repeats}
        shares = {"flips": divide(self.flips, self.orders), "changes": divide(self.changes, self.repeats)}
        frame = pd.DataFrame({"worker": self.worker_ids, **counts, **shares})
        return frame[self.orders + self.repeats > 0].reset_index(drop=True)


@door
def panel_leanings(
    dataset: CrowdDataset, *, position: str | None = None, length: str | None = None, author: str | None = None
) -> PanelLeanings:
    """Measure whether judges prefer what is shown first, longer answers or their own family's, and repeat their labels.

    Labels are numbers from 0 to 1 in the order of the classes, a tie being half. They are regressed on each column
    within true classes, with standard errors by task, as a judge who is right prefers longer answers where these are
    right more often. Without gold on 30 tasks of the typical judge, only the position is tested.

    Args:
        dataset: judges of answers, with further columns of the annotations.
        position: column of two values, such as whether the two answers were swapped; the second one is the later in
            the alphabet, or True.
        length: column with the length of the judged answer, or the longer side's less the shorter one's.
        author: column with the model that wrote the judged answer.

    Raises:
        DataError: no such column, and no task labelled twice by one judge, or more than two classes besides ties.
        SettingError: no such column, or not of this kind.
    """
    columns = _columns(dataset, {POSITION: position, LENGTH: length, OWN: author})
    score, true = _values(dataset)[dataset.label], dataset.gold[dataset.task]
    each = np.bincount(dataset.worker[true >= 0], minlength=dataset.n_workers)
    by_gold = bool(each.any()) and int(np.median(each[dataset.labels_per_worker > 0])) >= _FEWEST
    rows = []
    x = {what: _MAKE[what](dataset, column) for what, column in columns.items() if by_gold or what == POSITION}
    for what, of in x.items():
        usable = np.isfinite(of) & ((true >= 0) | (not by_gold))
        for j in np.unique(dataset.worker):
            some = usable & (dataset.worker == j)
            tasks = len(np.unique(dataset.task[some]))
            slope = _slope(of[some], score[some], dataset.task[some], true[some] if by_gold else 0 * true[some])
            if tasks >= _FEWEST and np.isfinite(slope[1]):
                rows.append((j, what, *slope, tasks))
    same = _repeated(dataset, x.get(POSITION))
    if not rows and not sum(part.sum() for part in same):
        raise DataError(
            f"{dataset.name} has no column of position, or with gold of length or author, that tells of 30 tasks of a "
            f"judge, and no repeated labels"
        )
    worker, what_of, effect, error, tasks_of = zip(*rows, strict=True) if rows else ((),) * 5
    far = stdtrit(np.maximum(np.array(tasks_of) - 1, 1), 1 - 0.025 / max(len(rows), 1)) * np.array(error)
    return PanelLeanings(
        worker_ids=dataset.worker_ids,
        worker=np.array(worker, np.int64),
        what=tuple(what_of),
        effect=np.array(effect, float),
        low=np.array(effect, float) - far,
        high=np.array(effect, float) + far,
        n=np.array(tasks_of, np.int64),
        flips=same[0],
        orders=same[1],
        changes=same[2],
        repeats=same[3],
        classes=_ends(dataset),
        sides=_sides(dataset, columns.get(POSITION)),
        columns={what: column for what, column in columns.items() if what in what_of},
        by_gold=by_gold,
    )


def _columns(dataset: CrowdDataset, named: dict[str, str | None]) -> dict[str, str]:
    """Map each attribute to its column: as named, else by its usual name where it is of that kind."""
    extra = pd.DataFrame() if dataset.extra is None else dataset.extra
    columns = {}
    for what, column in named.items():
        if column is not None and column not in extra:
            raise SettingError(what, f"be a further column ({', '.join(map(str, extra)) or 'there is none'})", column)
        usual = re.compile(_USUAL[what])
        names = [column] if column is not None else [str(name) for name in extra if usual.fullmatch(str(name).lower())]
        fitting = [name for name in names if _is_of_kind(what, extra[name])]
        if column is not None and not fitting:
            kinds = {POSITION: "hold two values", LENGTH: "hold numbers", OWN: "hold names"}
            raise SettingError(what, kinds[what], column)
        if fitting:
            columns[what] = fitting[0]
    return columns


def _is_of_kind(what: str, column: pd.Series) -> bool:
    numeric = pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
    if what == POSITION:
        return bool(column.nunique() == 2)
    return numeric if what == LENGTH else not numeric


def _ends(dataset: CrowdDataset) -> tuple[str, ...]:
    """Classes without ties."""
    names = dataset.classes
    return tuple(name for name in names if not (len(names) > 2 and _TIE.fullmatch(name))) or names


def _values(dataset: CrowdDataset) -> FloatArray:
    """(C,) numbers of the classes: 0, ½ for a tie, 1."""
    ends = _ends(dataset)
    if len(ends) != 2:
        raise DataError(
            f"{dataset.name} has {dataset.n_classes} classes: what moves judges is told of two, and of ties between"
        )
    return np.array([float(ends.index(name)) if name in ends else 0.5 for name in dataset.classes])


def _sides(dataset: CrowdDataset, column: str | None) -> tuple[str, ...]:
    if column is None or dataset.extra is None:
        return ()
    return tuple(sorted(map(str, dataset.extra[column].dropna().unique())))


def _position(dataset: CrowdDataset, column: str) -> FloatArray:
    assert dataset.extra is not None
    values = dataset.extra[column]
    codes = values.astype(str).where(values.notna()).astype("category").cat.codes.to_numpy(np.float64)
    return np.where(codes < 0, np.nan, codes)


def _length(dataset: CrowdDataset, column: str) -> FloatArray:
    assert dataset.extra is not None
    value = dataset.extra[column].to_numpy(np.float64)
    value = np.sign(value) * np.log1p(np.abs(value))
    return np.asarray((value - np.nanmean(value)) / max(float(np.nanstd(value)), 1e-9))


def _same_family(dataset: CrowdDataset, column: str) -> FloatArray:
    assert dataset.extra is not None
    author = dataset.extra[column].fillna("").astype(str).to_numpy()
    names = np.unique(np.r_[author, dataset.worker_ids.astype(str)])
    family = np.array(model_families(names), object)
    of_author = family[np.searchsorted(names, author)]
    of_judge = family[np.searchsorted(names, dataset.worker_ids.astype(str))][dataset.worker]
    return np.where(author == "", np.nan, (of_author == of_judge).astype(float))


_MAKE: dict[str, Callable[[CrowdDataset, str], FloatArray]] = {POSITION: _position, LENGTH: _length, OWN: _same_family}


def _slope(x: FloatArray, y: FloatArray, task: IntArray, group: IntArray) -> tuple[float, float]:
    """Slope of y on x within groups, and its standard error by clusters of a task; NaN where x does not vary."""
    n = np.maximum(np.bincount(group), 1)
    x, y = (of - (np.bincount(group, of) / n)[group] for of in (x, y))
    squares = float(x @ x)
    if squares < 1e-9:
        return np.nan, np.nan
    slope = float(x @ y) / squares
    sums = np.bincount(np.unique(task, return_inverse=True)[1], x * (y - slope * x))
    return slope, float(np.sqrt((sums**2).sum() * len(sums) / max(len(sums) - 1, 1)) / squares)


def _repeated(dataset: CrowdDataset, position: FloatArray | None) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """(n_workers,) counts of a judge's successive labels on a task: differing and all, with and without a swap."""
    order = np.lexsort((dataset.worker, dataset.task))
    task, worker, label = dataset.task[order], dataset.worker[order], dataset.label[order]
    again = (task[1:] == task[:-1]) & (worker[1:] == worker[:-1])
    differ, of = label[1:] != label[:-1], worker[1:]
    turned: BoolArray = np.zeros(len(again), bool)
    if position is not None:
        turned = np.abs(np.diff(position[order])) > 0
    parts = (again & turned & differ, again & turned, again & ~turned & differ, again & ~turned)
    first, second, third, fourth = (np.bincount(of[part], minlength=dataset.n_workers) for part in parts)
    return first, second, third, fourth
