"""A verdict on every worker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
import pandas as pd

from crowdcore.analysis.coordinated.copying import Copies, Copying, copies, copying, no_copying, possible_copies
from crowdcore.analysis.coordinated.groups import Group, group_of
from crowdcore.analysis.coordinated.workers import linked_workers
from crowdcore.analysis.mistakes.significance import GuidelineMistakes, guideline_mistakes
from crowdcore.analysis.reference import Reference, ReferenceLike, resolve_reference
from crowdcore.analysis.statistics import check_share, holm
from crowdcore.analysis.verdicts import CONFUSED, REMOVE, TRUST
from crowdcore.analysis.verdicts.drift import Drift, drift
from crowdcore.analysis.verdicts.peers import Peers, only_peers, peer_beliefs
from crowdcore.analysis.verdicts.skill import (
    ENOUGH,
    Confused,
    SkillEvidence,
    common_mistakes,
    confused_cells,
    labels_needed,
    no_knowledge,
    skill_evidence,
)
from crowdcore.analysis.workers.lean import is_ordered, places
from crowdcore.analysis.workers.quality import WithoutEach, without_each
from crowdcore.analysis.workers.speed import WorkerSpeed, worker_speed
from crowdcore.core.shown import Shown
from crowdcore.core.types import AnyArray, BoolArray, FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.doors import door

WorkerVerdict: TypeAlias = Literal["remove", "check", "train", "watch", "underpowered", "trust"]
WORKER_VERDICTS: Mapping[WorkerVerdict, str] = {
    "remove": "shows no knowledge",
    "check": "copies or acts with others, drifts, or is weak",
    "train": "makes one mistake again and again",
    "watch": "may be falling, copying or confusing two classes, which chance or others' mistakes explain, too",
    "underpowered": "the labels do not decide",
    "trust": "good, and nothing else found",
}
"""Verdicts on workers, the most urgent first, with what they mean."""
GUESSING, DRIFTING, TOGETHER = 2 / 9, 2 / 9, 5 / 9
"""Shares of the level for the three accusations: guessing, drifting, acting with others."""
_OPPONENTS = 3  # up to so many others who contradict a worker may be wrong themselves
_SIGN, _ALIKE = 0.05, 0.1  # p-values below which labels show knowledge or a fall is possible; and for possible copies


@dataclass(frozen=True, eq=False)
class WorkerVerdicts(Shown):
    """Verdicts with their evidence; arrays (n_workers,).

    Attributes:
        verdict: (n_workers,) str, a key of `WORKER_VERDICTS`.
        n_annotations: labels given.
        judged: labels that could be judged.
        skill: κ, 0 for guessing and 1 for a perfect worker; see `skill_evidence`.
        low, high: ends of its 95 % interval.
        typical: the median worker's skill, weighted by labels.
        remove_below, trust_above: skill below which a worker is removed, and above which a worker is trusted.
        p_remove: p-value of "skill at least ``remove_below``" after Holm over workers.
        favourite, favourite_share: the label given most often, -1 without labels; its share of the worker's labels.
        needed: approximate number of labels for a narrow enough interval; NaN for all but the underpowered.
        only_peer: without gold, the only worker whose labels judge this one's (neither is accused); else -1.
        confused: the surest confusion of each worker, and ``train`` (n_workers,) where it is one to train on.
        copies: the most suspicious partner of each worker.
        groups: workers who copy (`coordinated_workers`).
        guideline: mistakes of the guideline, for which no worker is to blame.
        drift: changes over time; None without times.
        drifts: (n_workers,) bool, worse than before beyond chance.
        may_fall: (n_workers,) bool, p < .05 before any correction.
        may_confuse: (n_workers,) bool, a confusion of two classes by the labels of few others only.
        alike: the partner of each worker who may copy, though chance may explain it.
        speed: seconds per answer; None without them. It gives reasons, not verdicts.
        without: how the majority vote changes without the worker.
        reference: what confusions were counted against.
        truth: what counted as the truth, in words.
        control: how multiple testing is controlled, in words.
    """

    verdict: AnyArray
    n_annotations: IntArray
    judged: FloatArray
    skill: FloatArray
    low: FloatArray
    high: FloatArray
    typical: float
    remove_below: float
    trust_above: float
    p_remove: FloatArray
    favourite: IntArray
    favourite_share: FloatArray
    needed: FloatArray
    only_peer: IntArray
    confused: Confused
    train: BoolArray
    copies: Copies
    groups: tuple[Group, ...]
    guideline: GuidelineMistakes
    drift: Drift | None
    drifts: BoolArray
    may_fall: BoolArray
    may_confuse: BoolArray
    alike: Copies
    speed: WorkerSpeed | None
    without: WithoutEach
    worker_ids: pd.Index[str]
    classes: tuple[str, ...]
    reference: str
    truth: str
    control: str

    def frame(self) -> pd.DataFrame:
        """A row for each worker: worker, verdict, skill with its 95 % interval (low, high) and n_annotations."""
        columns = ("verdict", "skill", "low", "high", "n_annotations")
        return pd.DataFrame({"worker": self.worker_ids, **{key: getattr(self, key) for key in columns}})

    @property
    def together(self) -> BoolArray:
        """(n_workers,) bool, whether the worker is in a group that copies."""
        return group_of(self.groups, len(self.verdict)) >= 0

    @property
    def may_copy(self) -> BoolArray:
        """(n_workers,) bool, whether the worker agrees with another one as much as one in ten does by chance."""
        return self.alike.partner >= 0

    @property
    def accused(self) -> BoolArray:
        """(n_workers,) bool, whether the worker is flagged as a spammer, as drifting, or as acting with others."""
        return np.asarray((self.verdict == "remove") | self.together | self.drifts)


@dataclass(frozen=True, eq=False)
class WorkerEvidence(Shown):
    """Evidence of verdicts on workers, independent of the thresholds.

    Attributes:
        dataset, truth, peers: the annotations, what confusions are counted against, and what judges each label.
        skill, pairs: evidence of each worker's skill, and of copying of every two workers.
        only_peer, groups, guideline, drift, speed, without: as in `WorkerVerdicts`.
        level: probability that any honest worker is accused.
    """

    dataset: CrowdDataset
    truth: Reference
    peers: Peers
    only_peer: IntArray
    skill: SkillEvidence
    pairs: Copying
    groups: tuple[Group, ...]
    guideline: GuidelineMistakes
    drift: Drift | None
    speed: WorkerSpeed | None
    without: WithoutEach
    level: float

    def verdicts(self, *, remove: float, trust: float, confused: float) -> WorkerVerdicts:
        """Decide at these thresholds, as `worker_verdicts` explains.

        Raises:
            SettingError: shares outside 0 … 1.
        """
        check_share(remove=remove, trust=trust, confused=confused)
        dataset, evidence, changes = self.dataset, self.skill, self.drift
        n, level = dataset.n_workers, self.level
        typical, (low, high) = evidence.typical(), evidence.interval()
        remove_below, trust_above = remove * max(typical, 0.0), trust * max(typical, 0.0)
        alone, able = self.only_peer >= 0, evidence.room >= ENOUGH
        tested = evidence.below(remove * evidence.usual()) if remove_below > 0 else np.full(n, np.nan)
        p_remove = holm(np.where(able, tested, np.nan))
        removed = ~alone & (p_remove <= GUESSING * level)
        ordered = is_ordered(dataset)
        for r in np.flatnonzero(removed):
            removed[r] = no_knowledge(self.peers, int(r), ordered=ordered) > _SIGN
        shared = self.guideline.cells
        if self.truth.checked:  # a mistake that most workers make is nobody's own
            shared = shared | common_mistakes(self.peers, confused)
        cells = confused_cells(self.peers, n, confused, level, shared)
        train = ~alone & (cells.q_value <= level)
        opponents = self.peers.opponents(np.where(train, cells.true, -1), cells.given)
        may_confuse = train & (not self.truth.checked) & ~(opponents > _OPPONENTS)
        train &= ~may_confuse
        none = np.zeros(n, bool)
        drifts = none if changes is None else ~alone & (changes.adjusted <= DRIFTING * level)
        may_fall = none if changes is None else ~alone & (changes.p_value < _SIGN)
        alike = possible_copies(self.pairs, n, _ALIKE)
        alike = replace(alike, partner=np.where(alone, -1, alike.partner))
        flagged = (group_of(self.groups, n) >= 0) | drifts
        sure = np.where(alone, low * np.abs(low), low)  # of two, each knows at least the product of what both know
        good = (remove_below > 0) & (sure > np.where(alone, trust, trust_above))
        weak = (remove_below > 0) & (high < trust_above)
        verdict = np.select(
            [
                removed,
                flagged,
                train,
                ~alone & weak,
                may_fall | may_confuse | (alike.partner >= 0),
                good & (~alone | good[self.only_peer]),
            ],
            ["remove", "check", "train", "check", "watch", "trust"],
            "underpowered",
        )
        enough = labels_needed(evidence, low, high, remove_below, trust_above)
        given = np.zeros((n, dataset.n_classes))
        np.add.at(given, (dataset.worker, dataset.label), 1)
        total = dataset.labels_per_worker
        favourite = np.where(total > 0, given.argmax(1), -1)
        return WorkerVerdicts(
            verdict,
            total,
            evidence.n,
            evidence.skill,
            low,
            high,
            typical,
            remove_below,
            trust_above,
            p_remove,
            favourite,
            given.max(1) / np.maximum(total, 1),
            np.where(~alone & (verdict == "underpowered"), enough, np.nan),
            self.only_peer,
            cells,
            train,
            copies(self.pairs, self.groups, n, TOGETHER * level),
            self.groups,
            self.guideline,
            changes,
            drifts,
            may_fall,
            may_confuse,
            alike,
            self.speed,
            self.without,
            dataset.worker_ids,
            dataset.classes,
            self.truth.name,
            self.peers.sentence,
            control_in_words(dataset, level),
        )


@door
def worker_evidence(
    dataset: CrowdDataset,
    reference: ReferenceLike = None,
    pairs: Copying | None = None,
    peers: Peers | None = None,
    guideline: GuidelineMistakes | None = None,
    *,
    level: float = 0.05,
) -> WorkerEvidence:
    """Collect the evidence of verdicts on workers: the costly part of `worker_verdicts`.

    Args:
        reference: as in `worker_verdicts`.
        pairs: `copying` by this reference, if computed already; not needed for a crowd that tags tokens.
        peers: `peer_beliefs` by this reference, if computed already.
        guideline: `guideline_mistakes` of these peers, if computed already.
        level: probability that any honest worker is accused.

    Raises:
        DataError: no usable reference, or arrays too large.
        SettingError: a level outside 0 … 1.
    """
    check_share(level=level)
    truth = resolve_reference(dataset, reference)
    peers = peer_beliefs(dataset, truth) if peers is None else peers
    independent = not dataset.kind.sequential  # tokens of a sentence are not: coordination is not tested
    if pairs is None:
        pairs = copying(dataset, truth) if independent else no_copying()
    groups = linked_workers(dataset, pairs, TOGETHER * level)[0]
    return WorkerEvidence(
        dataset,
        truth,
        peers,
        np.full(dataset.n_workers, -1) if truth.checked else only_peers(dataset),
        skill_evidence(peers, dataset.n_workers),
        pairs,
        groups,
        guideline or guideline_mistakes(peers, places(dataset), checked=truth.checked, level=level),
        drift(dataset, peers),
        worker_speed(dataset),
        without_each(dataset, truth),
        level,
    )


@door
def worker_verdicts(
    dataset: CrowdDataset,
    reference: ReferenceLike = None,
    *,
    remove: float = REMOVE,
    trust: float = TRUST,
    confused: float = CONFUSED,
    level: float = 0.05,
) -> WorkerVerdicts:
    """Decide whom to trust, train, check or remove, or that the labels do not decide.

    Let κ be a worker's skill (`skill_evidence`) and κ* the typical one (median over labels). In this order:

    - **remove**: ``κ >= remove · κ_r*`` is rejected after Holm's correction, with κ_r* the typical skill, or that of
      the others on the worker's own tasks if it is smaller; and the labels show no knowledge of any kind
      (`no_knowledge`): a worker who is strict, lenient or mixes up classes knows something;
    - **check**: copies (`coordinated_workers`), or became worse (`drift`);
    - **train**: a confusion of at least the share ``confused`` of a class, surely more frequent than among the others
      and than the worker's other mistakes (`confused_cells`), and not one of the guideline (`guideline_mistakes`);
    - **check**: the interval of κ lies below ``trust · κ*``, so that the worker is weak;
    - **watch**: a fall with p < 0.05 before any correction; a partner as similar as one worker in ten has by chance;
      or, without gold, a confusion by the labels of few others only (`Peers.opponents`);
    - **trust**: the interval of κ lies above ``trust · κ*``;
    - **underpowered**: it contains ``trust · κ*``; or there is no gold, and only one other worker shares tasks with
      this one: where the two differ, either may be wrong. If they err independently, the skill of each is at least the
      product of both: they are trusted, both or neither, if the square of the lower limit is above ``trust``.

    Args:
        reference: gold judges by gold; anything else by the other workers' labels, weighed by confusions that are
            counted against it.
        remove, trust: shares of the typical skill below which labels are worthless, and above which they are good.
        confused: share of a class from which a confusion is worth training.
        level: probability that any honest worker is accused (two ninths for guessing, two for drifting, five for
            `coordinated_workers`), and share of false confusions to train on.

    Raises:
        DataError: no usable reference, or arrays too large.
        SettingError: shares outside 0 … 1.

    Examples:
        >>> import crowdcore as cc
        >>> result = cc.analysis.worker_verdicts(cc.load_dataset("demo"))
        >>> result.worker_ids[result.verdict == "remove"].tolist()
        ['w24', 'w35']
    """
    return worker_evidence(dataset, reference, level=level).verdicts(remove=remove, trust=trust, confused=confused)


_CONTROL = (
    "In at most {percent:g} of 100 honest crowds is anybody flagged as guessing, falling or copying, as far as the "
    "others' labels say how hard a task is. Of the confusions to train on, at most {percent:g} % are false on average."
)
_OF_TOKENS = (
    "The tests count tokens as independent, though those of a sentence are not: take verdicts and intervals as hints. "
    "For the same reason, coordination is not tested."
)


def control_in_words(dataset: CrowdDataset, level: float) -> str:
    """Sentence on what the level bounds; for a crowd that tags tokens, that it bounds nothing."""
    return (_OF_TOKENS if dataset.kind.sequential else _CONTROL).format(percent=100 * level)
