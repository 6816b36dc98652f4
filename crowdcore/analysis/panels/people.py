"""Judges beside people on the same items: agreement, confusions, and the alternative-annotator test."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import stdtr

from crowdcore.analysis.panels.families import is_model
from crowdcore.analysis.panels.moments import vote_table
from crowdcore.analysis.statistics import check_share, divide, wilson_interval
from crowdcore.core.counts import confusion_counts, vote_counts
from crowdcore.core.errors import DataError, SettingError
from crowdcore.core.shown import Shown
from crowdcore.core.types import AnyArray, BoolArray, FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.doors import door

_FEWEST = 30  # items of a person beside whom a judge is tested
_WINS = 0.5  # winning rate from which the test is passed
_TRIED = 3  # least number of people for the test
_PEOPLE = {"human", "person", "people", "user", "annotator", "expert", "annotation"}
_MODELS = {"model", "llm", "llm_judge", "ai", "machine", "judge", "bot", "eval", "api", "code"}
_CALLED = re.compile(r"(?:^|[^a-z])(?:judge|llm|model|bot|ai|grader|scorer)(?![a-z])")


def who_are_people(dataset: CrowdDataset, people: str | Iterable[str] | None = None) -> BoolArray:
    """(n_workers,) whether each worker is a person.

    Args:
        people: names of the people, or a further column of the annotations that distinguishes people and models; None:
            such a column, else the workers without names of language models.

    Raises:
        SettingError: an unknown name, or a column that does not distinguish people and models.
    """
    names = pd.Index(dataset.worker_ids.astype(str))
    columns = {} if dataset.extra is None else {str(name): dataset.extra[name] for name in dataset.extra}
    if isinstance(people, str):
        if people not in columns:
            raise SettingError("people", f"name workers, or a column ({', '.join(columns) or 'there is none'})", people)
        flags = _people_by_column(dataset, columns[people])
        if flags is None:
            raise SettingError("people", "be a column that calls each worker a person or a model", people)
        return flags
    if people is not None:
        given = [str(name) for name in people]
        if strange := [name for name in given if name not in names]:
            raise SettingError("people", "name workers", strange[0])
        return np.asarray(names.isin(given))
    by_column = (flags for column in columns.values() if (flags := _people_by_column(dataset, column)) is not None)
    return next(by_column, np.array([not is_model(name) and not _CALLED.search(name.lower()) for name in names]))


def _people_by_column(dataset: CrowdDataset, column: pd.Series) -> BoolArray | None:
    """Workers whom a column calls people; None if it is silent on one, contradicts itself, or has other values."""
    words = column.astype(str).str.strip().str.casefold()
    if not words.isin(_PEOPLE | _MODELS).all():
        return None
    share = np.bincount(dataset.worker, words.isin(_PEOPLE), dataset.n_workers) / dataset.labels_per_worker
    return share == 1 if np.isin(share, (0, 1)).all() and 0 < (share == 1).sum() < dataset.n_workers else None


@dataclass(frozen=True, eq=False)
class PanelPeople(Shown):
    """Judges beside people; m judges, h people, C classes.

    Attributes:
        worker_ids: (n_workers,) names of everybody.
        judges: (m,) numbers of the judges.
        people: (h,) numbers of the people.
        n: (m,) items that the judge and at least one person judged, and on which people's vote is no tie.
        agreement, low, high: (m,) share of these on which the judge gives people's vote; 95 % interval (Wilson).
        kappa: (m,) Cohen's κ of that.
        confusion: (m, C, C) items by people's vote and the judge's label.
        wins: (m,) winning rate ω: share of the people whom the judge replaces at no more than ``epsilon`` loss, by t
            tests with Benjamini & Yekutieli's correction at 5 %; NaN without anybody to test beside.
        advantage: (m,) mean over people of the probability that the judge agrees with the others at least as well.
        tested: (m,) people whom the judge was tested beside.
        epsilon: cost of a person beside a judge, in agreement.
        against: (k,) numbers of the items whose judges, two or more, all contradict people's vote: first those on
            which people are right by gold, then by the number of people behind the vote.
        right: (k,) whether people are right there: 1, 0, or -1 without gold.
        table: (n_tasks, n_workers) labels of everybody, -1 = none.
    """

    worker_ids: pd.Index[str]
    judges: IntArray
    people: IntArray
    n: IntArray
    agreement: FloatArray
    low: FloatArray
    high: FloatArray
    kappa: FloatArray
    confusion: FloatArray
    wins: FloatArray
    advantage: FloatArray
    tested: IntArray
    epsilon: float
    against: IntArray
    right: IntArray
    classes: tuple[str, ...]
    task_ids: pd.Index[str]
    table: AnyArray

    @property
    def notes(self) -> tuple[str, ...]:
        """Caveats."""
        notes = [
            f"The alternative-annotator test asks whether a judge may stand for one of these people: it passes if it "
            f"wins {_WINS:g} of them at ε = {self.epsilon:g}. Usual are .2 beside experts, .1 beside crowd workers; "
            f"it does not say that people are right."
        ]
        if (most := int(self.tested.max(initial=0))) < _TRIED:
            notes.append(f"Only {most} people share {_FEWEST} items with others and a judge: that is too few to pass.")
        return tuple(notes)

    @property
    def passes(self) -> BoolArray:
        """(m,) whether the judge passes the alternative-annotator test."""
        return (self.wins >= _WINS) & (self.tested >= _TRIED)

    def frame(self) -> pd.DataFrame:
        """One row per judge, who wins most first."""
        ends = {"same as people low": self.low, "same as people high": self.high}
        test = {"winning rate": self.wins, "advantage": self.advantage, "people tested": self.tested}
        columns = {
            "worker": self.worker_ids[self.judges],
            "tasks": self.n,
            "same as people": self.agreement,
            **ends,
            "kappa": self.kappa,
        }
        frame = pd.DataFrame({**columns, **test, "passes": self.passes})
        order = np.lexsort((-np.nan_to_num(self.advantage), -np.nan_to_num(self.wins)))
        return frame.iloc[order].reset_index(drop=True)

    def confusion_frame(self) -> pd.DataFrame:
        """One row per people's vote and judges' label, of all judges together: count, and the most frequent judge."""
        a, b = np.nonzero(self.confusion.sum(0) * ~np.eye(len(self.classes), dtype=bool))
        counts, names = self.confusion[:, a, b], np.array(self.classes, object)
        share = divide(counts.sum(0), self.confusion.sum((0, 2))[a])
        most = self.worker_ids.to_numpy()[self.judges[counts.argmax(0)]] if len(a) else np.empty(0, object)
        columns = {"people": names[a], "judges": names[b], "labels": counts.sum(0).astype(int), "share": share}
        frame = pd.DataFrame({**columns, "most by": most})
        return frame.sort_values("labels", ascending=False, kind="stable", ignore_index=True)

    def items(self) -> pd.DataFrame:
        """Items on which all judges contradict people's vote, by number."""
        names = np.array([*self.classes, ""], object)
        of_people, of_judges = (
            vote_counts(*_long(self.table[self.against][:, group]), len(self.against), len(self.classes))
            for group in (self.people, self.judges)
        )
        sides = np.array(["", "judges", "people"], object)[self.right + 1]
        counts = {"for it": of_people.max(1).astype(int), "of people": of_people.sum(1).astype(int)}
        columns = {"task": self.task_ids[self.against], "people": names[of_people.argmax(1)], **counts}
        judged = {
            "judges": names[of_judges.argmax(1)],
            "wrong judges": of_judges.sum(1).astype(int),
            "who is right": sides,
        }
        return pd.DataFrame({**columns, **judged}, index=self.against)


def _long(table: AnyArray) -> tuple[IntArray, IntArray]:
    """Rows and labels of a table's entries."""
    row, column = np.nonzero(table >= 0)
    return row, table[row, column].astype(np.int64)


@door
def panel_people(
    dataset: CrowdDataset, people: str | Iterable[str] | None = None, *, epsilon: float = 0.2
) -> PanelPeople:
    """Compare judges with people: κ, confusions, items on which all judges contradict people, and a test.

    The alternative-annotator test (Calderon, Reichart & Dror, ACL 2025) leaves out each person in turn. On each item,
    the judge and the person are compared by their agreement with the others. A judge wins against a person if it is at
    least as good no more than ``epsilon`` less often than the person, significantly (t test, at 5 % over all people by
    Benjamini & Yekutieli). The test needs 30 items of a person that others judged, too.

    Args:
        people: as of `who_are_people`.
        epsilon: cost of a person, in agreement.

    Raises:
        DataError: all workers are people, or none, or no item has labels of both.
        SettingError: an unknown name, or a column that does not distinguish people and models.

    Examples:
        >>> import numpy as np, pandas as pd
        >>> import crowdcore as cc
        >>> rng, names = np.random.default_rng(0), ["ann", "ben", "cid", "gpt-4o"]
        >>> wrong = [rng.permutation(100) % 5 == 0 for _ in names]
        >>> rows = [(i, w, "ab"[i % 2 ^ bool(s[i])]) for w, s in zip(names, wrong) for i in range(100)]
        >>> result = panel_people(cc.from_frame(pd.DataFrame(rows, columns=["task", "worker", "label"])))
        >>> result.worker_ids[result.people].tolist(), result.wins.tolist()
        (['ann', 'ben', 'cid'], [1.0])
    """
    check_share(epsilon=epsilon)
    person = who_are_people(dataset, people) & (dataset.labels_per_worker > 0)
    judge = ~person & (dataset.labels_per_worker > 0)
    if not person.any() or not judge.any():
        missing = "no people" if not person.any() else "no judges"
        raise DataError(f"{dataset.name} has {missing} among its workers", "Say who are people: by names or a column.")
    table, n_classes = vote_table(dataset), dataset.n_classes
    votes = vote_counts(*_long(table[:, person]), dataset.n_tasks, n_classes)
    best = votes.max(1)
    vote = np.where((best > 0) & ((votes == best[:, None]).sum(1) == 1), votes.argmax(1), -1)
    rows = np.flatnonzero(vote >= 0)
    of_judges = table[:, judge]
    row, column = np.nonzero(of_judges[rows] >= 0)
    if not len(row):
        raise DataError(f"{dataset.name} has no item that both people and judges judged")
    m, label = int(judge.sum()), of_judges[rows[row], column].astype(np.int64)
    counts = confusion_counts(row, column, label, vote[rows], m, n_classes)
    n, agreed = counts.sum((1, 2)), counts.trace(axis1=1, axis2=2)
    chance = divide((counts.sum(1) * counts.sum(2)).sum(1), n**2)
    share = divide(agreed, n)
    low, high = wilson_interval(np.nan_to_num(share), np.maximum(n, 1), 0.95)
    tested = [_alternative(of_judges[:, j], table[:, person], votes, epsilon) for j in range(m)]
    wins, advantage, n_tested = (np.array(part) for part in zip(*tested, strict=True))
    given = of_judges[rows] >= 0
    against = rows[(given.sum(1) > 1) & ~(of_judges[rows] == vote[rows, None]).any(1)]
    gold = dataset.gold[against]
    right = np.where(gold < 0, -1, gold == vote[against])
    order = np.lexsort((against, -best[against], -right))
    return PanelPeople(
        worker_ids=dataset.worker_ids,
        judges=np.flatnonzero(judge),
        people=np.flatnonzero(person),
        n=n.astype(np.int64),
        agreement=share,
        low=np.where(n > 0, low, np.nan),
        high=np.where(n > 0, high, np.nan),
        kappa=divide(share - chance, 1 - chance),
        confusion=counts,
        wins=wins,
        advantage=advantage,
        tested=n_tested,
        epsilon=epsilon,
        against=against[order],
        right=right[order],
        classes=dataset.classes,
        task_ids=dataset.task_ids,
        table=table,
    )


def _alternative(judge: AnyArray, people: AnyArray, votes: FloatArray, epsilon: float) -> tuple[float, float, int]:
    """Winning rate, advantage probability and people tested of a judge (n,) beside people (n, h) with their votes."""
    items = np.flatnonzero((judge >= 0) & (votes.sum(1) > 1))
    p, better = list[float](), list[float]()
    for k in range(people.shape[1]):
        some = items[people[items, k] >= 0]
        if len(some) < _FEWEST:
            continue
        own = people[some, k].astype(np.int64)
        by_judge, by_person = votes[some, judge[some]] - (judge[some] == own), votes[some, own] - 1
        lost = np.sign(by_person - by_judge)  # 1[person at least as good] - 1[judge at least as good]
        error = float(lost.std(ddof=1)) / np.sqrt(len(some))
        gap = float(lost.mean()) - epsilon
        p.append(float(stdtr(len(some) - 1, gap / error)) if error else float(gap >= 0))
        better.append(float((by_judge >= by_person).mean()))
    if not p:
        return np.nan, np.nan, 0
    h = len(p)
    steps = 0.05 * np.arange(1, h + 1) / h / (1 / np.arange(1, h + 1)).sum()
    below = np.flatnonzero(np.sort(p) <= steps)
    return float(below[-1] + 1 if len(below) else 0) / h, float(np.mean(better)), h
