"""Annotators of the trace-regularisation paper: pairwise flippers, hammer-spammers and four diverse ones."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np

from crowdcore.core.errors import SettingError
from crowdcore.core.settings import Share, setting
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset, SimulatedTruth
from crowdcore.data.simulate import _draw as confusions
from crowdcore.data.simulate._draw import assign, draw_labels
from crowdcore.data.simulate.base import ClassSimulation, Crowd, TaskSource, wrong_classes

# CIFAR-10's classes that look alike: airplane-ship, automobile-truck, bird-frog, cat-dog, deer-horse.
_ALIKE = np.array([8, 9, 6, 5, 7, 3, 2, 4, 0, 1])
_DIVERSE = ("hammer-spammer", "semantic confuser", "neighbour confuser", "adversary")


class Tanno(ClassSimulation):
    """A few annotators with confusions of one kind (section 3.1).

    Pairwise flippers are right with probability ``skill``, else they give one class that is theirs for each true
    class; hammer-spammers are right with probability ``skill``, else uniform. The four diverse annotators are known
    from a picture (Fig. 2) and from their mean accuracy of 45 % only; here they are a hammer-spammer of that skill,
    one who takes a class for its look-alike with probability .45, one who takes it for either neighbour with
    probability .245 each, and an adversary who names the class three places further with probability .9: with the
    default skill, accuracies of .64, .55, .51 and .1.
    """

    name: ClassVar[str] = "tanno"
    title: ClassVar[str] = "Flippers, hammer-spammers, diverse workers (trace regularisation)"
    paper: ClassVar[str] = "Tanno et al.: Learning from Noisy Labels by Regularized Estimation, CVPR 2019, section 3.1"

    kind: Literal["pairwise-flipper", "hammer-spammer", "diverse"] = setting(
        "pairwise-flipper", "Kind of worker", "Diverse = the four of Fig. 2, for 10 classes."
    )
    skill: Share = setting(0.6, "Skill (share of correct labels)", "p of flippers and hammer-spammers.")
    n_workers: int | None = setting(None, "Workers", "How many; 5 if not given, and always 4 diverse ones.", ge=1)
    labels: Literal["dense", "one"] = setting(
        "dense", "Who labels a task", "Everybody labels every task, or one label a task."
    )

    def _annotate(self, tasks: CrowdDataset, labelled: IntArray, rng: np.random.Generator) -> Crowd:
        if self.kind == "diverse" and tasks.n_classes != 10:
            raise wrong_classes(tasks, "ten")
        confusion = self._confusions(tasks.n_classes, rng)
        n_workers = len(confusion)
        task, worker = assign(labelled, n_workers, n_workers if self.labels == "dense" else 1, "even", rng)
        label = draw_labels(confusion, worker, tasks.gold[task], rng)
        role = _DIVERSE if self.kind == "diverse" else (self.kind,) * n_workers
        return Crowd(task, worker, label, SimulatedTruth(worker_confusion=confusion, worker_role=role), n_workers)

    def _confusions(self, n_classes: int, rng: np.random.Generator) -> FloatArray:
        n_workers = self.n_workers or 5
        hammer_spammer = confusions.hammer_spammer(n_classes, self.skill)
        if self.kind == "hammer-spammer":
            return np.repeat(hammer_spammer[None], n_workers, axis=0)
        if self.kind == "pairwise-flipper":
            targets = [confusions.other_class(n_classes, rng) for _ in range(n_workers)]
            return np.stack([confusions.flip(target, 1 - self.skill) for target in targets])
        if self.n_workers not in (None, 4):
            raise SettingError("n_workers", "be 4 for the diverse workers", self.n_workers)
        neighbour = 0.51 * np.eye(10) + 0.245 * (np.roll(np.eye(10), 1, 1) + np.roll(np.eye(10), -1, 1))
        adversary = confusions.flip(np.roll(np.arange(10), -3), 0.9)
        return np.stack([hammer_spammer, confusions.flip(_ALIKE, 0.45), neighbour, adversary])


def tanno(source: TaskSource, **settings: Any) -> CrowdDataset:
    """Label tasks as the trace-regularisation paper does; settings are the fields of `Tanno`."""
    return Tanno(**settings).run(source)
