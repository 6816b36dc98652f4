"""Crowds whose workers, mistakes and true classes are all known, to score sentences about them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit, logit
from scipy.stats import norm

from crowdcore.core.types import AnyArray, BoolArray, FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset
from testkit.planted import honest_crowd

SPAMMER, ADVERSARY, COPIES, CONFUSED, FALLS = "spammer", "adversary", "copies", "confused", "falls"


@dataclass(frozen=True, eq=False)
class Known:
    """A crowd and the truth behind it.

    Attributes:
        dataset: with gold, which a share of the tasks may have wrong.
        true: (n_tasks,) true classes.
        planted: planted pattern -> its workers; all others are honest.
        effect: percentage points of a planted worker's labels that the plan spoils or copies.
        shared: (true, given) of a mistake of the guideline, None without one.
        carriers: (n_workers,) True for workers who make it.
    """

    dataset: CrowdDataset
    true: IntArray
    planted: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    effect: float = 0.0
    shared: tuple[int, int] | None = None
    carriers: BoolArray | None = None

    @property
    def honest(self) -> BoolArray:
        """(n_workers,) True for workers who were not planted."""
        honest = np.ones(self.dataset.n_workers, bool)
        honest[[worker for workers in self.planted.values() for worker in workers]] = False
        return honest

    def without_gold(self) -> Known:
        """The same crowd without gold."""
        unknown = np.full(self.dataset.n_tasks, -1, np.int32)
        return replace(self, dataset=replace(self.dataset, gold=unknown))


def make(
    task: AnyArray,
    worker: AnyArray,
    label: AnyArray,
    true: IntArray,
    n_workers: int,
    n_classes: int,
    time: AnyArray,
    *,
    gold: IntArray | None = None,
    name: str = "class {}",
    **known: Any,
) -> Known:
    """A crowd of annotations in any order; ``name`` is that of each class."""
    order = np.argsort(task, kind="stable")
    dataset = CrowdDataset(
        "known",
        tuple(name.format(c) for c in range(n_classes)),
        pd.Index([f"t{i}" for i in range(len(true))]),
        pd.Index([f"w{r:02d}" for r in range(n_workers)]),
        np.asarray(task)[order].astype(np.int32),
        np.asarray(worker)[order].astype(np.int32),
        np.asarray(label)[order].astype(np.int32),
        gold=np.asarray(true if gold is None else gold, np.int32),
        extra=pd.DataFrame({"timestamp": 1_700_000_000 + 20 * np.asarray(time)[order]}),
    )
    return Known(dataset, np.asarray(true), **known)


def drawn(
    n_tasks: int, n_workers: int, per_task: int, rng: np.random.Generator, even: bool
) -> tuple[IntArray, IntArray]:
    """Task and worker of each label; workers are unequally busy unless ``even``."""
    busy = np.zeros(n_workers) if even else np.log(rng.gamma(1.5, 1, n_workers) + 0.2)
    chosen = np.argsort(-(busy + rng.gumbel(size=(n_tasks, n_workers))), 1)[:, :per_task]
    return np.repeat(np.arange(n_tasks), chosen.shape[1]), chosen.ravel()


def ability(skill: tuple[float, float], n_workers: int, n_classes: int, rng: np.random.Generator) -> FloatArray:
    """(n_workers,) logits of skills whose accuracy on an ordinary task is uniform in ``skill``."""
    informed = (rng.uniform(*skill, n_workers) - 1 / n_classes) / (1 - 1 / n_classes)
    return np.asarray(logit(np.clip(informed, 0.02, 0.98)))


def honest(
    rng: np.random.Generator,
    *,
    n_tasks: int = 300,
    wrong_gold: float = 0.0,
    wrong_class: int | None = None,
    **settings: Any,
) -> Known:
    """`honest_crowd`; a share ``wrong_gold`` of gold is wrong, of one class only where ``wrong_class`` is given."""
    crowd = honest_crowd(rng, n_tasks=n_tasks, **settings)
    gold, n = crowd.gold.copy(), crowd.n_classes
    of = np.arange(n_tasks) if wrong_class is None else np.flatnonzero(crowd.gold == wrong_class)
    bad = rng.choice(of, min(len(of), round(wrong_gold * n_tasks)), replace=False)
    gold[bad] = (gold[bad] + (rng.integers(1, n, len(bad)) if wrong_class is None else 1)) % n
    return Known(replace(crowd, gold=gold), crowd.gold)


def teams(rng: np.random.Generator, *, n_tasks: int = 400, n_classes: int = 3, per_task: int = 3) -> Known:
    """Four fixed teams of four; each labels a block of its own classes and difficulty."""
    n_workers, block = 16, np.arange(n_tasks) * 4 // n_tasks
    prior = rng.dirichlet(np.ones(n_classes), 4)
    true = (prior[block].cumsum(1) < rng.random((n_tasks, 1))).sum(1).clip(max=n_classes - 1)
    member = np.argsort(rng.random((n_tasks, 4)), 1)[:, :per_task]
    task, worker = np.repeat(np.arange(n_tasks), per_task), (4 * block[:, None] + member).ravel()
    hard = rng.normal(0, 1, 4)[block] + rng.normal(0, 0.7, n_tasks)
    able = ability((0.55, 0.95), n_workers, n_classes, rng)
    right = rng.random(len(task)) < 1 / n_classes + (1 - 1 / n_classes) * expit(able[worker] - hard[task])
    label = np.where(right, true[task], (true[task] + rng.integers(1, n_classes, len(task))) % n_classes)
    return make(task, worker, label, true, n_workers, n_classes, rng.permutation(len(task)))


def in_time(
    rng: np.random.Generator, how: str, *, n_tasks: int = 600, n_workers: int = 12, n_classes: int = 4
) -> Known:
    """Tasks in one order: all but one worker learn, or tasks harden, also with sensitivities of the workers' own."""
    true = rng.integers(0, n_classes, n_tasks)
    task, worker = drawn(n_tasks, n_workers, 6, rng, True)
    when, noise = task / n_tasks, rng.normal(0, 0.7, n_tasks)[task]
    if how == "others learn":
        gain = np.where(np.arange(n_workers) == 0, 0.0, 2.5)[worker]
        strength = np.where(
            worker == 0, 3.5, ability((0.6, 0.85), n_workers, n_classes, rng)[worker] + gain * (when - 0.5)
        )
    else:
        slope = rng.uniform(0.4, 1.6, n_workers)[worker] if how == "tasks harden, own slopes" else 1.0
        strength = ability((0.6, 0.95), n_workers, n_classes, rng)[worker] - slope * (3 * (when - 0.5) + noise)
        noise = 0.0
    right = rng.random(len(task)) < 1 / n_classes + (1 - 1 / n_classes) * expit(strength - noise)
    label = np.where(right, true[task], (true[task] + rng.integers(1, n_classes, len(task))) % n_classes)
    return make(task, worker, label, true, n_workers, n_classes, 20 * task + worker)


def graders(rng: np.random.Generator, *, n_tasks: int = 300, n_workers: int = 20, per_task: int = 6) -> Known:
    """Five ordered classes by workers who are strict or lenient (shifts of sd .6) and unequally exact."""
    z, limits = rng.normal(0, 1.3, n_tasks), np.array([-1.5, -0.5, 0.5, 1.5])
    task, worker = drawn(n_tasks, n_workers, per_task, rng, False)
    lean, noise = rng.normal(0, 0.6, n_workers), 0.6 * rng.uniform(0.5, 1.5, n_workers)
    label = np.searchsorted(limits, z[task] + lean[worker] + noise[worker] * rng.normal(size=len(task)))
    return make(task, worker, label, np.searchsorted(limits, z), n_workers, 5, rng.permutation(len(task)), name="{}")


def two_skills(rng: np.random.Generator, *, n_tasks: int = 300, per_task: int = 10, n_classes: int = 4) -> Known:
    """Skills of two dimensions: some tasks suit some workers."""
    n_workers, true = 20, rng.integers(0, n_classes, n_tasks)
    task, worker = drawn(n_tasks, n_workers, per_task, rng, False)
    taste, kind = rng.normal(0, 1, (n_workers, 2)), rng.normal(0, 1, (n_tasks, 2))
    strength = ability((0.6, 0.9), n_workers, n_classes, rng)[worker] + 1.2 * (taste[worker] * kind[task]).sum(1)
    right = rng.random(len(task)) < 1 / n_classes + (1 - 1 / n_classes) * expit(strength)
    step = np.where(rng.random(len(task)) < 0.5, rng.integers(1, n_classes, n_tasks)[task], 0)
    step = np.where(step == 0, rng.integers(1, n_classes, len(task)), step)
    label = np.where(right, true[task], (true[task] + step) % n_classes)
    return make(task, worker, label, true, n_workers, n_classes, rng.permutation(len(task)))


def panel(rng: np.random.Generator, *, n_judges: int = 6, n_tasks: int = 350, correlation: float = 0.33) -> Known:
    """Judges who label all items with two classes; their mistakes correlate by a trait of the item."""
    true = rng.integers(0, 2, n_tasks)
    accuracy = rng.uniform(0.62, 0.82, n_judges)
    load = np.sqrt(np.sin(np.pi / 2 * correlation))  # mistakes of about a half correlate so if what is behind them does
    latent = load * rng.normal(size=(n_tasks, 1)) + np.sqrt(1 - load**2) * rng.normal(size=(n_tasks, n_judges))
    wrong = latent < norm.ppf(1 - accuracy)
    label = np.where(wrong, 1 - true[:, None], true[:, None])
    task, worker = np.repeat(np.arange(n_tasks), n_judges), np.tile(np.arange(n_judges), n_tasks)
    return make(task, worker, label.ravel(), true, n_judges, 2, rng.permutation(len(task)))


def partly(rng: np.random.Generator, crowd: Callable[[np.random.Generator], Known], share: float = 0.2) -> Known:
    """A crowd of which only a share of the tasks has gold."""
    known = crowd(rng)
    there = rng.random(known.dataset.n_tasks) < share
    return replace(known, dataset=replace(known.dataset, gold=np.where(there, known.dataset.gold, -1)))


def planted(rng: np.random.Generator, what: str, *, n_classes: int = 4, n_tasks: int = 400) -> Known:
    """An honest crowd of 15 workers with six labels a task, one of whom (of the pair: two) does ``what``."""
    crowd = honest(rng, n_tasks=n_tasks, n_workers=15, n_classes=n_classes, per_task=6, skill=(0.65, 0.95), even=True)
    ds, true = crowd.dataset, crowd.true
    assert ds.extra is not None
    when, label = ds.extra["timestamp"].to_numpy(), ds.label.copy()
    task, worker, mine = ds.task, ds.worker, np.flatnonzero(ds.worker == 0)
    guess = rng.integers(n_classes, size=len(label))
    late = np.argsort(np.argsort(when[mine])) / len(mine)
    role, effect = {
        "spams": (SPAMMER, 100.0),
        "always answers the same": (SPAMMER, 100.0),
        "answers the opposite": (ADVERSARY, 100.0),
        "answers 30 % wrong on purpose": (ADVERSARY, 30.0),
        "copies all": (COPIES, 100.0),
        "copies half": (COPIES, 50.0),
        "confuses a pair": (CONFUSED, 60.0 / n_classes),
        "guesses in the second half": (FALLS, 50.0),
        "guesses in the last fifth": (FALLS, 20.0),
        "declines slowly": (FALLS, 28.0),
    }[what]
    if what == "spams":
        label[mine] = guess[mine]
    elif what == "always answers the same":
        label[mine] = n_classes - 1
    elif role == ADVERSARY:
        turned = mine[rng.random(len(mine)) < effect / 100]
        label[turned] = (true[task[turned]] + 1) % n_classes
    elif role == CONFUSED:
        taken = mine[(true[task[mine]] == 0) & (rng.random(len(mine)) < 0.6)]
        label[taken] = 1
    elif what == "declines slowly":
        right = rng.random(len(mine)) < 0.95 - 0.57 * late
        label[mine] = np.where(
            right, true[task[mine]], (true[task[mine]] + rng.integers(1, n_classes, len(mine))) % n_classes
        )
    elif role == FALLS:
        spoiled = mine[late >= (0.5 if effect == 50 else 0.8)]
        label[spoiled] = guess[spoiled]
    if role != COPIES:
        return replace(crowd, dataset=replace(ds, label=label), planted={role: (0,)}, effect=effect)
    source, kept = np.flatnonzero(worker == 1), np.flatnonzero(worker != 0)
    own = np.where(rng.random(len(source)) < 0.8, true[task[source]], guess[source])
    copy = np.where(rng.random(len(source)) < effect / 100, label[source], own)
    rows = np.r_[kept, source]
    return make(
        task[rows],
        np.r_[worker[kept], np.zeros(len(source), int)],
        np.r_[label[kept], copy],
        true,
        15,
        n_classes,
        rng.permutation(len(rows)),
        planted={COPIES: (0, 1)},
        effect=effect,
    )


def guideline(rng: np.random.Generator, *, n_classes: int = 5, n_tasks: int = 400, n_workers: int = 20) -> Known:
    """A third of the honest workers call class 0 class 1 in 70 % of the tasks, as their guideline says."""
    crowd = honest(
        rng, n_tasks=n_tasks, n_workers=n_workers, n_classes=n_classes, per_task=6, skill=(0.7, 0.95), even=True
    )
    ds, carriers = crowd.dataset, np.arange(n_workers) < round(0.35 * n_workers)
    misled = carriers[ds.worker] & (crowd.true[ds.task] == 0) & (rng.random(ds.n_annotations) < 0.7)
    label = np.where(misled, 1, ds.label).astype(np.int32)
    return replace(crowd, dataset=replace(ds, label=label), shared=(0, 1), carriers=carriers)


def tickets(rng: np.random.Generator, *, n_classes: int = 6, n_tasks: int = 1000, n_workers: int = 40) -> Known:
    """Support tickets: a spammer, a copying pair, a decline from 95 to 20 %, and a confusion that 13 workers share."""
    true = rng.choice(n_classes, n_tasks, p=rng.dirichlet(np.full(n_classes, 12)))
    skill, role = rng.uniform(0.72, 0.95, n_workers), rng.permutation(n_workers)
    spammer, copier, copied, falls = (int(worker) for worker in role[:4])
    carriers = np.isin(np.arange(n_workers), role[4:17])
    a, b = (int(c) for c in rng.choice(n_classes, 2, replace=False))
    room, rows = np.full(n_workers, 100.0), []
    for k, task in enumerate(rng.permutation(n_tasks)):
        chosen = [int(r) for r in rng.choice(n_workers, 4, replace=False, p=room.clip(1) / room.clip(1).sum())]
        room[chosen] -= 1
        if copied in chosen and copier not in chosen and rng.random() < 0.85:
            chosen[next(j for j, r in enumerate(chosen) if r != copied)] = copier
        given: dict[int, int] = {}
        for r in sorted(chosen, key=lambda r: r == copier):
            if r == spammer:
                label = rng.integers(n_classes)
            elif r == copier and copied in given:
                label = given[copied] if rng.random() < 0.97 else rng.integers(n_classes)
            elif carriers[r] and true[task] == a and rng.random() < 0.7:
                label = b
            elif rng.random() < (0.95 - 0.75 * k / n_tasks if r == falls else skill[r]):
                label = true[task]
            else:
                label = (true[task] + rng.integers(1, n_classes)) % n_classes
            given[r] = int(label)
            rows.append((task, r, label, 120 * k + rng.integers(30)))
    task, worker, label, time = np.array(rows).T
    roles = {SPAMMER: (spammer,), COPIES: (copier, copied), FALLS: (falls,)}
    return make(
        *(task, worker, label, true, n_workers, n_classes, time),
        planted=roles,
        effect=28.0,
        shared=(a, b),
        carriers=carriers,
    )


Kind = Callable[[np.random.Generator], Known]
HONEST: Mapping[str, Kind] = {
    "plain, 2 classes": partial(honest, n_classes=2, n_tasks=500, skill=(0.6, 0.95)),
    "plain, 4 classes": honest,
    "plain, 6 classes, dense": partial(honest, n_classes=6, n_tasks=200, per_task=20),
    "unequal tasks, 2 classes": partial(
        honest, n_classes=2, n_tasks=300, per_task=20, skill=(0.6, 0.95), difficulty=2.0
    ),
    "own foils": partial(honest, n_tasks=400, per_task=6, difficulty=1.5, foils=0.8),
    "unequal classes": partial(honest, prior=(0.7, 0.15, 0.1, 0.05)),
    "few labels": partial(honest, n_classes=6, n_tasks=600, n_workers=50, per_task=3, skill=(0.4, 0.95)),
    "teams on blocks": teams,
    "others learn": partial(in_time, how="others learn"),
    "tasks harden": partial(in_time, how="tasks harden"),
    "tasks harden, own slopes": partial(in_time, how="tasks harden, own slopes"),
    "strict and lenient": graders,
    "strict and lenient, dense": partial(graders, n_tasks=200, per_task=20),
    "skill of two dimensions": two_skills,
    "skill of two dimensions, dense": partial(two_skills, n_tasks=200, per_task=20),
    "plain, a fifth of gold": partial(partly, crowd=honest),
    "2 % wrong gold": partial(honest, n_tasks=400, per_task=10, wrong_gold=0.02),
    "2 % wrong gold of one class": partial(honest, n_tasks=400, per_task=10, wrong_gold=0.02, wrong_class=0),
    "guideline": guideline,
    "guideline, dense": partial(guideline, n_tasks=200, n_workers=15),
    "panel of 6": panel,
    "panel of 24": partial(panel, n_judges=24, correlation=0.27),
}
"""Kinds of crowds in which nobody is to be accused; the mistake of a guideline is not its carriers' fault."""

_PLANS = (
    *("spams", "always answers the same", "answers the opposite", "answers 30 % wrong on purpose", "copies all"),
    *("copies half", "confuses a pair", "guesses in the second half", "guesses in the last fifth", "declines slowly"),
)
PLANTED: Mapping[str, Kind] = {
    "tickets": tickets,
    "tickets, 4 classes": partial(tickets, n_classes=4),
    "tickets, a fifth of gold": partial(partly, crowd=tickets),
    **{f"{plan}, {n} classes": partial(planted, what=plan, n_classes=n) for plan in _PLANS for n in (2, 4)},
}
"""Kinds of crowds in which somebody is to be named, and nobody else."""
PARTLY = {"plain, a fifth of gold", "tickets, a fifth of gold"}
"""Kinds that differ from others by their gold alone."""
