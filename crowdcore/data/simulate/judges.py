"""Panels of judges who err together: items hard for all, blind spots of the whole panel and of families."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy.special import expit, logit

from crowdcore.core.settings import Share, setting
from crowdcore.core.types import AnyArray, IntArray
from crowdcore.data.dataset import CrowdDataset, SimulatedTruth
from crowdcore.data.simulate.base import ClassSimulation, Crowd, TaskSource


class Judges(ClassSimulation):
    """Every judge judges every item; judges of a family follow one another in turn: 1, 2, 3, 1, 2, 3 …

    Each item has another class that it may be taken for, the same for all. Some items mislead the whole panel, and
    some one family: a misled judge gives that class with probability ``pull``. On other items judge j is right
    with probability ``σ(logit(skill) + s_j + opinion · e_i)``, where ``s_j`` is the judge's own and the ease ``e_i`` of
    the item is the same for all; else the label is any other class. ``truth.group`` holds the families, and
    ``truth.settings["misled"]`` the numbers of the items that mislead the panel (the first list) and each family.
    """

    name: ClassVar[str] = "judges"
    title: ClassVar[str] = "Panel of judges who err together"
    paper: ClassVar[str] = "Kim et al.: Correlated Errors in Large Language Models, ICML 2025 (what it describes)"

    n_workers: int = setting(9, "Judges", "Judges, m.", ge=1)
    families: int = setting(3, "Families", "Families of judges.", ge=1)
    skill: float = setting(
        0.88, "Skill", "Share of right labels on an item of usual difficulty that misleads nobody.", gt=0, lt=1
    )
    skill_spread: float = setting(0.3, "Spread of skill (logits)", "Standard deviation between judges.", ge=0)
    opinion: float = setting(
        0.7, "One opinion (logits)", "Standard deviation of how hard an item is, for all judges alike.", ge=0
    )
    shared: Share = setting(0.06, "Shared blind spots", "Share of the items that mislead the whole panel.")
    family: Share = setting(0.12, "Blind spots of a family", "Share of the items that mislead one family, for each.")
    pull: Share = setting(0.85, "Pull", "Probability that a judge who is misled is wrong.")
    missing: Share = setting(0.0, "Missing verdicts", "Share of the verdicts that are missing.")

    def _annotate(self, tasks: CrowdDataset, labelled: IntArray, rng: np.random.Generator) -> Crowd:
        n, m, n_classes = len(labelled), self.n_workers, tasks.n_classes
        true = tasks.gold[labelled]
        foil = (true + rng.integers(1, max(n_classes, 2), n)) % n_classes
        group = np.arange(m) % self.families
        panel, kin = rng.random(n) < self.shared, rng.random((self.families, n)) < self.family
        ease, own = rng.standard_normal(n), rng.standard_normal(m)
        confusion = np.zeros((m, n_classes, n_classes))
        labels = np.empty((n, m), np.int32)
        for j in range(m):
            chance = self._chances(true, foil, panel | kin[group[j]], ease, own[j], n_classes)
            below = chance.cumsum(1)
            drawn = (rng.random((n, 1)) * below[:, -1:] >= below).sum(1)
            labels[:, j] = np.minimum(drawn, n_classes - 1)
            np.add.at(confusion[j], true, chance)
        rows = confusion.sum(2, keepdims=True)
        confusion = np.where(rows > 0, confusion / np.where(rows > 0, rows, 1), np.eye(n_classes))
        given = rng.random((n, m)) >= self.missing
        at, worker = np.nonzero(given)
        misled = [np.flatnonzero(items) for items in (panel, *kin)]
        about = {"misled": [labelled[items].tolist() for items in misled]}
        truth = SimulatedTruth(worker_confusion=confusion, group=group, settings=about)
        return Crowd(labelled[at], worker.astype(np.int32), labels[at, worker], truth, m)

    def _chances(
        self, true: IntArray, foil: IntArray, misled: AnyArray, ease: AnyArray, own: float, n_classes: int
    ) -> AnyArray:
        """(n, C) probability of each label."""
        rows = np.arange(len(true))
        right = expit(logit(self.skill) + self.skill_spread * own + self.opinion * ease)
        right = np.where(misled, 1 - self.pull, right) if n_classes > 1 else np.ones(len(true))
        other = np.where(misled, 0, (1 - right) / max(n_classes - 1, 1))
        chance = np.repeat(other[:, None], n_classes, 1)
        chance[rows, foil] += np.where(misled, 1 - right, 0)
        chance[rows, true] = right
        return np.asarray(chance)


def judges(source: TaskSource, **settings: Any) -> CrowdDataset:
    """A panel of judges who err together; settings are the fields of `Judges`.

    Examples:
        >>> import numpy as np
        >>> panel = judges((None, np.arange(100) % 2), n_workers=4, families=2)
        >>> panel.n_workers, panel.truth.group.tolist()
        (4, [0, 1, 0, 1])
    """
    return Judges(**settings).run(source)
