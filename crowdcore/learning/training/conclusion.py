"""Combine trained replicas into one result: choice of start, arrays in dataset order, notes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from crowdcore.analysis.recovery.recovered import effective_confusion, names_at_risk
from crowdcore.core.settings import Settings
from crowdcore.core.types import AnyArray, FloatArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.learning.base import CrowdMethod
from crowdcore.learning.results.result import TrainingResult
from crowdcore.learning.settings import TrainSettings
from crowdcore.learning.training.loop import Replica
from crowdcore.learning.training.outcome import Outcome
from crowdcore.learning.training.problem import Problem
from crowdcore.learning.training.schedule import Session
from crowdcore.learning.training.versions import versions


def conclude(
    problem: Problem,
    method: type[CrowdMethod],
    training: TrainSettings,
    settings: Settings,
    trained: Sequence[tuple[Replica, Outcome]],
    session: Session,
) -> TrainingResult:
    """One result of the replicas that were trained: of every seed the start with the lower training loss."""
    dataset = problem.dataset
    seeds = tuple(dict.fromkeys(replica.seed for replica, _ in trained))
    won, start_loss = _choose(trained, seeds)
    outcome = Outcome.join([o for _, o in won])

    def aligned(omega: AnyArray) -> AnyArray:
        """ω aligned with the dataset's annotations, NaN where the model has none."""
        out = np.full((*omega.shape[:-1], dataset.n_annotations), np.nan, omega.dtype)
        out[..., problem.annotation] = omega
        return out

    idle = problem.labels_per_worker == 0

    def parts(of: Mapping[str, AnyArray]) -> dict[str, AnyArray]:
        """What was recovered; nothing is known of the weight of a worker who labelled no training task."""
        weight = {k: np.where(idle, np.nan, v) for k, v in of.items() if k == "worker_weight"}
        return {k: aligned(v) if k == "omega" else v for k, v in of.items()} | weight

    split = np.concatenate([np.full(s.stop - s.start, k, np.int8) for k, s in enumerate(problem.splits.values())])
    work = problem.n_train_annotations * float(sum((o.last_epoch + 1).sum() for _, o in trained))
    seconds = float(sum(o.seconds.sum() for _, o in trained))
    recovered = {at: parts(of) for at, of in outcome.recovered.items()}
    return TrainingResult(
        dataset=dataset.name,
        fingerprint=dataset.fingerprint,
        classes=dataset.classes,
        method=method.name,
        settings=settings.model_dump(),
        training=session.used(training).model_dump(),
        seeds=seeds,
        task=problem.order,
        split=split,
        gold=problem.gold,
        valid_label=problem.valid_label,
        validated_on=problem.validated_on,
        curves=outcome.history,
        selected_epoch=outcome.selected_epoch + 1,
        last_epoch=outcome.last_epoch + 1,
        probabilities=outcome.predicted,
        model=outcome.model,
        preparation=problem.preparation,
        input_shape=problem.input_shape,
        n_workers=problem.n_workers,
        inputs=problem.rows.fingerprint,
        sentence=None if dataset.sentences is None else dataset.sentences.of_task[problem.order],
        **recovered["selected"],
        last=recovered["last"],
        kept_epochs=outcome.kept_epochs,
        kept=parts(outcome.kept),
        names=outcome.names,
        start=tuple(str(getattr(r.settings, "start", "")) for r, _ in won),
        start_loss=start_loss,
        seconds=seconds,
        annotations_per_second=work / seconds if seconds else 0.0,
        tried=(),
        device=session.device_name,
        versions=versions(),
        notes=(
            *problem.notes,
            *method.notes(problem, settings),
            *session.notes,
            *_start_notes([r for r, _ in won], start_loss),
            *_name_notes(dataset, recovered["selected"], training),
        ),
    )


def _choose(
    trained: Sequence[tuple[Replica, Outcome]], seeds: Sequence[int]
) -> tuple[list[tuple[Replica, Outcome]], dict[str, FloatArray]]:
    """Of every seed the start with the lowest final training loss; and start -> (S,) that loss where several ran."""
    own = [[pair for pair in trained if pair[0].seed == seed] for seed in seeds]
    won = [min(pairs, key=lambda pair: float(pair[1].final_loss[0])) for pairs in own]
    if len(trained) == len(seeds):
        return won, {}
    losses: dict[str, FloatArray] = {}
    for s, pairs in enumerate(own):
        for replica, outcome in pairs:
            start = str(getattr(replica.settings, "start", ""))
            losses.setdefault(start, np.full(len(seeds), np.nan))[s] = outcome.final_loss[0]
    return won, losses


def _name_notes(dataset: CrowdDataset, recovered: Mapping[str, AnyArray], training: TrainSettings) -> list[str]:
    """What to know of the classes' names where labels alone cannot give them."""
    own = recovered.get("worker_confusion")
    if own is None or training.names != "as-trained":
        return []
    shared = recovered.get("common_confusion"), recovered.get("omega"), recovered.get("group")
    risks = names_at_risk(dataset, effective_confusion(dataset, own, *shared))
    listed = ", ".join(f"{dataset.classes[a]!r} (most often {dataset.classes[b]!r})" for a, b in risks[:3])
    more = f" and {len(risks) - 3} more" if len(risks) > 3 else ""
    if not risks:
        return []
    return [
        f"By the recovered confusions, tasks of some classes mostly get another label: {listed}{more}. Labels alone "
        "cannot name such classes; names='validation-gold' matches them with gold of the validation split."
    ]


def _start_notes(won: Sequence[Replica], losses: Mapping[str, FloatArray]) -> list[str]:
    if not losses:
        return []
    table = np.stack(list(losses.values()))
    count = Counter(str(getattr(r.settings, "start", "")) for r in won)
    lead = float(np.median(np.nanmax(table, 0) - np.nanmin(table, 0)))
    words = ", ".join(f"{start} for {n} of {len(won)} seeds" for start, n in count.most_common())
    return [f"Lower training loss of the starts that were tried: {words}; the losses differ by {lead:.3g} (median)."]
