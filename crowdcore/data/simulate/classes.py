"""Crowds for classes: CoNAL's noise, CCC's patterns, binary workers, a few diverse annotators, a crowd of any size."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from crowdcore.core.errors import SettingError
from crowdcore.core.settings import Share, setting
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset, SimulatedTruth
from crowdcore.data.rows import Rows
from crowdcore.data.simulate import base as confusions
from crowdcore.data.simulate.base import (
    ClassSimulation,
    Crowd,
    TaskSource,
    as_tasks,
    assign,
    choose_workers,
    draw_labels,
    wrong_classes,
)

_BLOCK = 4096  # tasks whose features are projected at once


class CommonNoise(ClassSimulation):
    """Settings and equations of CoNAL's noise (Chu et al. 2021, "Synthesizing annotations").

    ``s_i^r ~ Bernoulli(ω_i^r)``; with s = 1 the label is drawn from row ``z_i`` of the common confusion π^g, with
    s = 0 from that of the worker's own π^r. ``ω_i^r = σ(u_r · v_i + bias)``, where ``v_i = W^v x_i`` (a random
    embedding for tasks without features) and ``u_r`` are hidden; they are scaled so that ``u · v`` has the
    standard deviation ``omega_spread`` over the annotations, and the bias is solved so that the mean of ω is
    ``proportion``. Strength is the off-diagonal mass of every confused row; individual confusions are asymmetric.
    """

    n_workers: int = setting(30, "Workers", "Workers, R.", ge=1)
    per_task: float = setting(3.0, "Labels per task (mean)", "Labels per task on average.", gt=0)
    spread: Literal["even", "binomial"] = setting(
        "even",
        "Spread of labels over tasks",
        "The same number of labels for each task, or binomial around the average.",
    )
    workload: Literal["equal", "beta"] = setting(
        "equal",
        "Spread of labels over workers",
        "Workers label equally often, or ∝ Beta(1.5, 3) as in CCC, so that some label little.",
    )
    pattern: Literal["asymmetric", "symmetric"] = setting(
        "asymmetric",
        "Common confusion",
        "Common confusion: each class to another one, or random pairs into each other.",
    )
    targets: tuple[int, ...] | None = setting(
        None,
        "Class that each class is confused with",
        "The class that each class is confused with (itself: never confused), instead of a random pattern.",
    )
    common_strength: Share = setting(
        0.4, "Common strength (share of wrong labels)", "Off-diagonal mass of a row of the common confusion."
    )
    individual_strength: Share = setting(
        0.7, "Individual strength (share of wrong labels)", "Off-diagonal mass of a row of each worker's own confusion."
    )
    strength_spread: Share = setting(
        0.0,
        "Spread of individual strength",
        "Standard deviation of the workers' individual strengths, cut off at 0 and 1.",
    )
    proportion: Share = setting(
        0.5, "Proportion of common confusion (mean ω)", "Mean probability ω of using the common confusion."
    )
    omega_spread: float = setting(
        1.0, "Spread of ω (logits)", "Standard deviation of u·v, i.e. how much ω varies.", ge=0
    )
    embedding: int = setting(20, "Embedding size", "Dimension of the hidden embeddings u and v.", ge=1)

    def _annotate(self, tasks: CrowdDataset, labelled: IntArray, rng: np.random.Generator) -> Crowd:
        common = confusions.flip(self._targets(tasks.n_classes, rng), self.common_strength)
        strengths = np.clip(rng.normal(self.individual_strength, self.strength_spread, self.n_workers), 0, 1)
        individual = np.stack([confusions.flip(confusions.other_class(tasks.n_classes, rng), s) for s in strengths])
        weights = rng.beta(1.5, 3.0, self.n_workers) if self.workload == "beta" else None
        task, worker = assign(labelled, self.n_workers, self.per_task, self.spread, rng, weights)
        affinity = self._affinity(tasks, labelled, task, worker, rng)
        bias = omega_bias(affinity, self.proportion)
        omega = expit(affinity + bias)
        used_common = rng.random(len(task)) < omega
        which = np.where(used_common, self.n_workers, worker)
        label = draw_labels(np.concatenate([individual, common[None]]), which, tasks.gold[task], rng)
        truth = SimulatedTruth(
            worker_confusion=individual,
            common_confusion=common,
            omega=omega,
            used_common=used_common,
            settings={"bias": bias if np.isfinite(bias) else None},
        )
        return Crowd(task, worker, label, truth, self.n_workers)

    def _targets(self, n_classes: int, rng: np.random.Generator) -> IntArray:
        if self.targets is None:
            choose = confusions.other_class if self.pattern == "asymmetric" else confusions.paired_class
            return choose(n_classes, rng)
        target = np.asarray(self.targets)
        if len(target) != n_classes or target.min() < 0 or target.max() >= n_classes:
            raise SettingError("targets", f"hold {n_classes} class numbers below {n_classes}", self.targets)
        return target

    def _affinity(
        self, tasks: CrowdDataset, labelled: IntArray, task: IntArray, worker: IntArray, rng: np.random.Generator
    ) -> FloatArray:
        """(n_annotations,) u_r · v_i, mean 0 and standard deviation ``omega_spread`` over the annotations."""
        rows = tasks.features or (tasks.media.images if tasks.media else None)
        if rows is None:
            v: FloatArray = rng.standard_normal((len(labelled), self.embedding))
        else:
            v = _project(rows, labelled, rng.standard_normal((int(np.prod(rows.shape[1:])), self.embedding)))
        u = rng.standard_normal((self.n_workers, self.embedding))
        at = np.searchsorted(labelled, task)
        affinity = np.zeros(len(task))
        for k in range(self.embedding):
            affinity += u[worker, k] * v[at, k]
        deviation = float(affinity.std())
        scale = self.omega_spread / deviation if deviation > 0 else 0.0
        return np.asarray(scale * (affinity - affinity.mean()))


def omega_bias(affinity: FloatArray, proportion: float) -> float:
    """The bias b at which the mean of σ(affinity + b) is ``proportion`` (-∞ at 0, ∞ at 1)."""
    if proportion in (0.0, 1.0):
        return float(np.inf if proportion else -np.inf)
    reach = float(np.abs(affinity).max(initial=0.0)) + abs(float(np.log(proportion / (1 - proportion)))) + 1.0
    return float(brentq(lambda b: float(expit(affinity + b).mean()) - proportion, -reach, reach, xtol=1e-12))


def _project(rows: Rows, tasks: IntArray, weights: FloatArray) -> FloatArray:
    """(len(tasks), d): flattened rows times ``weights``, each column standardised; never all rows at once."""
    out = np.empty((len(tasks), weights.shape[1]))
    for begin in range(0, len(tasks), _BLOCK):
        block = rows[tasks[begin : begin + _BLOCK]]
        out[begin : begin + _BLOCK] = block.reshape(len(block), -1).astype(np.float64) @ weights
    deviation = out.std(0)
    return np.asarray((out - out.mean(0)) / np.where(deviation > 0, deviation, 1.0))


class Conal(CommonNoise):
    """CoNAL's noise on tasks that are given; the equations are in `CommonNoise`."""

    name: ClassVar[str] = "conal"
    title: ClassVar[str] = "Common and individual confusions (CoNAL)"
    paper: ClassVar[str] = "Chu, Ma, Wang: Learning from Crowds by Modeling Common Confusions, AAAI 2021"


def conal(source: TaskSource, **settings: Any) -> CrowdDataset:
    """Label the training tasks of ``source`` with CoNAL's noise; settings are the fields of `Conal`."""
    return Conal(**settings).run(source)


class Synthetic(CommonNoise):
    """Tasks ``x_i ~ N(μ_{z_i}, I)`` with ``μ_c ~ N(0, separation² I)`` and uniform classes, then CoNAL's noise.

    The paper gives 10,000 tasks, 6 classes and the splits 8,000/1,000/1,000, of which only train is annotated;
    it gives neither the number of features nor the distance of the means.
    """

    name: ClassVar[str] = "synthetic"
    title: ClassVar[str] = "CoNAL's Synthetic (Gaussian classes)"
    paper: ClassVar[str] = "Chu, Ma, Wang: Learning from Crowds by Modeling Common Confusions, AAAI 2021"
    makes_tasks: ClassVar[bool] = True

    n_tasks: int = setting(10_000, "Tasks", "Tasks in all, N.", ge=3)
    n_valid: int = setting(1_000, "Validation tasks", "Of these, for validation.", ge=0)
    n_test: int = setting(1_000, "Test tasks", "Of these, for testing.", ge=0)
    n_classes: int = setting(6, "Classes", "Classes, C.", ge=2)
    n_features: int = setting(20, "Features", "Features of a task.", ge=1)
    separation: float = setting(
        1.0,
        "Separation of classes (noise deviations)",
        "Standard deviation of the class means; 1 = that of the noise.",
        ge=0,
    )

    def _tasks(self, rng: np.random.Generator) -> CrowdDataset:
        if self.n_valid + self.n_test >= self.n_tasks:
            raise SettingError("n_tasks", f"exceed n_valid + n_test = {self.n_valid + self.n_test}", self.n_tasks)
        means = self.separation * rng.standard_normal((self.n_classes, self.n_features))
        gold = rng.integers(self.n_classes, size=self.n_tasks)
        gold[: self.n_classes] = np.arange(self.n_classes)[: self.n_tasks]  # every class occurs
        features = (means[gold] + rng.standard_normal((self.n_tasks, self.n_features))).astype(np.float32)
        split = np.repeat([0, 1, 2], [self.n_tasks - self.n_valid - self.n_test, self.n_valid, self.n_test])
        return as_tasks((features, gold), self.name, split)


def synthetic(**settings: Any) -> CrowdDataset:
    """CoNAL's "Synthetic" dataset; settings are the fields of `Synthetic`."""
    return Synthetic(**settings).run()


# Table 4. Correlated patterns start with the same word as in the paper's text.
PATTERN_SETS: dict[str, tuple[str, str, str, str, str]] = {
    "IND-I": ("symmetrical 0.3", "symmetrical 0.5", "pair 0.6", "class-wise 1,3,4,6,8", "dummy"),
    "IND-II": ("symmetrical 0.4", "class-wise 2,5,9", "pair 0.6", "class-wise 0,6,8", "dummy"),
    "IND-III": ("pair 0.3", "pair 0.6", "class-wise 0,4,5", "class-wise 1,3,4,6,8", "dummy"),
    "IND-IV": ("symmetrical 0.3", "symmetrical 0.5", "symmetrical 0.7", "pair 0.5", "pair 0.3"),
    "COR-I": ("symmetrical 0.4", "class-wise 2,5,9", "dummy", "supportive", "opposite"),
    "COR-II": ("pair 0.5", "class-wise 0,6,8", "supportive", "opposite", "copy"),
    "COR-III": ("pair 0.4", "symmetrical 0.5", "opposite", "supportive", "copy"),
    "COR-IV": ("symmetrical 0.5", "pair 0.7", "pair 0.3", "opposite", "supportive"),
}
_CORRELATED = ("copy", "supportive", "opposite")
_Set = Literal["IND-I", "IND-II", "IND-III", "IND-IV", "COR-I", "COR-II", "COR-III", "COR-IV"]


class Ccc(ClassSimulation):
    """Five patterns with ``per_pattern`` workers each (CCC, "Generation of two confusions" and Table 4).

    Independent: *symmetrical ε* errs uniformly with probability ε; *pair ε* gives the next class with probability ε;
    *class-wise c…* is always right on these classes and uniform on others; *dummy* is uniform. Correlated workers
    follow one other worker (drawn once, among those of the independent patterns, so that nobody follows in a
    circle), by the label that worker gives the same task, shown or not: *copy* gives the same label; *supportive*
    is right where that one is, else uniform; *opposite* is right where that one is wrong, else uniform. Each task
    gets ``per_task`` workers, drawn one after the other with weights from Beta(``alpha``, ``beta``).
    """

    name: ClassVar[str] = "ccc"
    title: ClassVar[str] = "Pattern sets IND and COR with few-label workers (CCC)"
    paper: ClassVar[str] = "Zhang et al.: Coupled Confusion Correction, AAAI 2024, Table 4"

    patterns: _Set = setting("IND-I", "Pattern set", "Pattern set of Table 4 (10 classes).")
    per_pattern: int = setting(50, "Workers per pattern", "Workers of each of the five patterns.", ge=1)
    per_task: int = setting(3, "Labels per task", "Labels per task, k.", ge=1)
    alpha: float = setting(1.5, "α of the workload", "α of the Beta distribution of the workers' weights.", gt=0)
    beta: float = setting(3.0, "β of the workload", "β of the Beta distribution of the workers' weights.", gt=0)

    def _annotate(self, tasks: CrowdDataset, labelled: IntArray, rng: np.random.Generator) -> Crowd:
        if tasks.n_classes != 10:
            raise wrong_classes(tasks, "ten")
        patterns = PATTERN_SETS[self.patterns]
        n_workers = self.per_pattern * len(patterns)
        group = np.repeat(np.arange(len(patterns)), self.per_pattern)
        kind = np.array([p.split()[0] for p in patterns])[group]
        follows = np.isin(kind, _CORRELATED)
        leader = np.arange(n_workers)
        leader[follows] = rng.choice(np.flatnonzero(~follows), int(follows.sum()))
        own = np.stack([np.eye(10) if p in _CORRELATED else _confusion(p) for p in patterns])[group]
        weights = rng.beta(self.alpha, self.beta, n_workers)

        task = np.repeat(labelled, self.per_task)
        worker = choose_workers(len(labelled), n_workers, self.per_task, rng, weights).ravel()
        # The label of a leader on a task is drawn once, however many workers follow it.
        key, at = np.unique(task.astype(np.int64) * n_workers + leader[worker], return_inverse=True)
        own_label = draw_labels(own, key % n_workers, tasks.gold[key // n_workers], rng)[at]
        true = tasks.gold[task]
        anything = rng.integers(10, size=len(task))
        kinds = kind[worker]
        right = np.where(kinds == "supportive", own_label == true, own_label != true)
        label = np.where(np.isin(kinds, ("supportive", "opposite")), np.where(right, true, anything), own_label)
        truth = SimulatedTruth(
            worker_confusion=np.stack([_confusion_of_kind(kind[r], own[leader[r]]) for r in range(n_workers)]),
            group=group,
            worker_role=tuple(
                f"{patterns[group[r]]} of w{leader[r] + 1:0{len(str(n_workers))}d}"
                if follows[r]
                else patterns[group[r]]
                for r in range(n_workers)
            ),
        )
        return Crowd(task, worker, label, truth, n_workers)


def _confusion(pattern: str) -> FloatArray:
    """(10, 10) of an independent pattern."""
    kind, _, value = pattern.partition(" ")
    if kind == "symmetrical":
        return confusions.symmetrical(10, float(value))
    if kind == "pair":
        return confusions.flip(confusions.next_class(10), float(value))
    return confusions.class_wise(10, tuple(int(c) for c in value.split(",")) if value else ())


def _confusion_of_kind(kind: str, leader: FloatArray) -> FloatArray:
    """(10, 10) confusion of a worker of this kind, given that of the worker followed (or the worker's own)."""
    if kind not in ("supportive", "opposite"):
        return leader
    right = np.diag(leader) if kind == "supportive" else 1 - np.diag(leader)
    return np.asarray(right[:, None] * np.eye(10) + (1 - right)[:, None] / 10)


def ccc(source: TaskSource, **settings: Any) -> CrowdDataset:
    """Label 10-class tasks by one of CCC's pattern sets; settings are the fields of `Ccc`."""
    return Ccc(**settings).run(source)


class Rodrigues(ClassSimulation):
    """Every worker r labels every task: 1 with probability α_r where z = 1, 0 with probability β_r where z = 0."""

    name: ClassVar[str] = "rodrigues"
    title: ClassVar[str] = "Binary workers (crowd layer)"
    paper: ClassVar[str] = "Rodrigues, Pereira: Deep Learning from Crowds, AAAI 2018, Image classification"

    sensitivity: tuple[Share, ...] = setting(
        (0.6, 0.9, 0.5, 0.9, 0.9),
        "Sensitivity of each worker",
        "α_r, P(label 1 | class 1) of each worker.",
        min_length=1,
    )
    specificity: tuple[Share, ...] = setting(
        (0.7, 0.8, 0.5, 0.2, 0.9),
        "Specificity of each worker",
        "β_r, P(label 0 | class 0) of each worker.",
        min_length=1,
    )

    def _annotate(self, tasks: CrowdDataset, labelled: IntArray, rng: np.random.Generator) -> Crowd:
        if tasks.n_classes != 2:
            raise wrong_classes(tasks, "two")
        alpha, beta = np.array(self.sensitivity), np.array(self.specificity)
        if len(alpha) != len(beta):
            raise SettingError("specificity", f"have one value for each of the {len(alpha)} workers", self.specificity)
        confusion = np.stack([np.stack([beta, 1 - beta], 1), np.stack([1 - alpha, alpha], 1)], 1)
        task = np.repeat(labelled, len(alpha))
        worker = np.tile(np.arange(len(alpha), dtype=np.int32), len(labelled))
        label = draw_labels(confusion, worker, tasks.gold[task], rng)
        return Crowd(task, worker, label, SimulatedTruth(worker_confusion=confusion), len(alpha))


def rodrigues(source: TaskSource, **settings: Any) -> CrowdDataset:
    """Label binary tasks as the crowd-layer paper does; settings are the fields of `Rodrigues`."""
    return Rodrigues(**settings).run(source)


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


class Large(ClassSimulation):
    """Worker r is right on class c with probability ``a_rc ~ Beta(7, 3)``; half of the rest goes to one class of
    that worker's own, the other half uniformly to all others. 10⁷ annotations take seconds.
    """

    name: ClassVar[str] = "large"
    title: ClassVar[str] = "Any size, for benchmarks"
    paper: ClassVar[str] = "-"
    makes_tasks: ClassVar[bool] = True

    n_tasks: int = setting(2_000_000, "Tasks", "Tasks, N.", ge=1)
    n_workers: int = setting(500, "Workers", "Workers, R.", ge=1)
    n_classes: int = setting(10, "Classes", "Classes, C.", ge=2)
    per_task: int = setting(5, "Labels per task", "Labels per task.", ge=1)

    def _tasks(self, rng: np.random.Generator) -> CrowdDataset:
        gold = rng.integers(self.n_classes, size=self.n_tasks, dtype=np.int32)
        gold[0] = self.n_classes - 1
        return as_tasks((None, gold), self.name)

    def _annotate(self, tasks: CrowdDataset, labelled: IntArray, rng: np.random.Generator) -> Crowd:
        shape = (self.n_workers, self.n_classes)
        right = rng.beta(7, 3, shape)
        wrong = 1 - right
        own = (np.arange(self.n_classes) + rng.integers(1, self.n_classes, shape)) % self.n_classes
        confusion = np.repeat((wrong / (2 * (self.n_classes - 1)))[:, :, None], self.n_classes, axis=2)
        r, c = np.indices(shape)
        confusion[r, c, own] += wrong / 2
        confusion[r, c, c] = right
        task = np.repeat(labelled.astype(np.int32), self.per_task)
        worker = choose_workers(len(labelled), self.n_workers, self.per_task, rng).ravel()
        label = draw_labels(confusion, worker, tasks.gold[task], rng)
        return Crowd(task, worker, label, SimulatedTruth(worker_confusion=confusion), self.n_workers)


def large(
    n_tasks: int = 2_000_000, n_workers: int = 500, n_classes: int = 10, per_task: int = 5, seed: int = 0
) -> CrowdDataset:
    """A simulated crowd for benchmarks; the default has 10⁷ annotations."""
    return Large(n_tasks=n_tasks, n_workers=n_workers, n_classes=n_classes, per_task=per_task, seed=seed).run()
