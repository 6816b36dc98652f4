"""`train` and `sweep`: from a dataset of any kind of label and settings to results."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypedDict, Unpack, cast

from torch import nn

from crowdcore import aggregation
from crowdcore.aggregation.base import Aggregator
from crowdcore.core.errors import SettingError
from crowdcore.core.settings import Settings
from crowdcore.core.shown import progress
from crowdcore.core.types import AnyArray
from crowdcore.data.by_name import ByTask
from crowdcore.data.doors import DatasetLike, as_dataset
from crowdcore.data.ratings import Labelled, RatingDataset
from crowdcore.data.settings import need_classes
from crowdcore.learning import backbones, methods
from crowdcore.learning.base import CrowdMethod
from crowdcore.learning.embedding import with_inputs
from crowdcore.learning.learners import usual_method
from crowdcore.learning.ratings.result import RatingsResult
from crowdcore.learning.results.result import TrainingResult
from crowdcore.learning.settings import SEEDS, TrainSettings, drop_retired
from crowdcore.learning.training.device import numeric_kernels, resolve_device
from crowdcore.learning.training.events import EpochEvent, Event, Listener, NoteEvent
from crowdcore.learning.training.loop import Replica
from crowdcore.learning.training.problem import Problem, make_problem
from crowdcore.learning.training.schedule import Job, Session, conclude, run_jobs
from crowdcore.learning.trials import train_chosen


class TrainKeywords(TypedDict, total=False):
    """Fields of `TrainSettings`, then those of the methods' own settings; see there for bounds and defaults.

    Settings of a method from another package go in as ``**{"name": value}``, a ``dict[str, Any]``.
    """

    epochs: int
    batch_size: int
    lr: float
    optimizer: Literal["adam", "sgd"]
    momentum: float
    weight_decay: float
    schedule: Literal["constant", "cosine", "step"]
    patience: int | None
    select_on: Literal["auto", "gold", "crowd", "consensus", "holdout", "none"]
    names: Literal["as-trained", "validation-gold"]
    holdout: float
    backbone: str | Callable[..., nn.Module]
    backbone_settings: dict[str, Any]
    standardise: bool | Literal["auto"]
    augment: Literal["no", "affine", "affine+flip", "crop", "crop+flip"]
    precision: Literal["float32", "bfloat16"]
    deterministic: bool
    aggregator: str | type[Aggregator] | Aggregator
    aggregator_settings: dict[str, Any]
    alternate: int
    balance: float | None
    chosen: str
    combine: Literal["weight", "bias", "weight+bias"]
    connection: Literal["mw", "vw", "vw+b", "s", "b", "s+b"]
    correction_rate: float
    dimensions: int
    e_step: Literal["epoch", "batch"]
    embedding: int
    folds: int
    gamma: float
    initial_scale: float
    label_smoothing: float
    leave_one_out: bool
    meta_layers: Literal["all", "last"]
    meta_size: int | None
    mixing_epochs: float
    n_groups: int
    noise_lr: float
    normalise: Literal["none", "worker", "both"]
    omega_input: Literal["features", "task"]
    omega_lr: float
    pooling: float
    prior: Literal["uniform", "votes"]
    rank: int | None
    regularisation: float
    rename: bool
    right: float
    rounds: int
    shared: float | None
    sharpening: float | None
    shrinkage: float
    smoothing: float
    sparsity: float
    start: Literal["identity", "votes", "dawid-skene", "trace", "best-of"]
    start_epochs: float
    strength: float
    targets: Literal["soft", "hard"]
    trust: float
    unlabelled: Literal["no", "validation", "all"]
    variant: Literal["mixture", "paper", "authors", "a", "b"]
    volume: Literal["f", "w"]
    vote_epochs: float
    warm_up: float


Learnt: TypeAlias = TrainingResult | RatingsResult


def method_for(dataset: Labelled, name: str | type[CrowdMethod]) -> type[CrowdMethod]:
    """Return the method for a dataset's kind of labels, by name or class.

    Raises:
        SettingError: there is none.
    """
    return methods.get(name, dataset.kind)


def train(
    dataset: DatasetLike,
    method: str | type[CrowdMethod] | None = None,
    *,
    features: ByTask | None = None,
    seeds: int | Sequence[int] = SEEDS,
    device: str = "auto",
    worker_features: AnyArray | None = None,
    accept: bool = False,
    on_event: Listener | None = None,
    should_stop: Callable[[], bool] | None = None,
    checkpoint: Path | str | None = None,
    checkpoint_every: int = 10,
    **settings: Unpack[TrainKeywords],
) -> TrainingResult | Any:
    """Train a network and a model of its crowd from features and raw annotations, all seeds side by side.

    Args:
        dataset: tasks with features, images or texts (see `with_inputs`); annotations on the training tasks.
        method: one of `methods.names`, by default conal, of sentences crowd-layer; of ratings crowd-layer (default;
            ``connection="s"``, ``"b"`` or ``"s+b"``), dl-em, dl-mean, dl-true, doctor-net or wdn; or your own class.
        features: a row per task, to learn from; see `CrowdDataset.with_features`.
        seeds: how many replicas (seeds 0, 1, …), or which seeds.
        device: "auto", "cpu", "cuda", "cuda:1".
        worker_features: (n_workers, F) features of the workers, for methods that use them.
        accept: leave out tasks whose image file or text cannot be used; ``notes`` of the result say which.
        on_event: called with an `EpochEvent` after every epoch, and with a `NoteEvent` for each note; None: a bar shows
            the progress in notebooks and terminals.
        should_stop: called after every epoch, and before resuming from a checkpoint; True ends the run with the result
            so far.
        checkpoint: a folder to keep the state in; when it holds one of the same run, training goes on from there.
        checkpoint_every: epochs between two checkpoints.
        settings: fields of `TrainSettings` (epochs, batch_size, lr, backbone, …) and of the method's own settings.
            A backbone is a name, or your own: a class or function that makes a network, or a network itself, of which
            each replica trains a copy with new random weights (pass a function to start from weights of your own).

    Returns:
        Histories, accuracies, predictions and recovered confusions of all replicas; for ratings a `RatingsResult` with
        errors, and the workers' biases, scales or precisions as far as the method has them.

    Raises:
        SettingError: unknown method or setting, a value out of bounds, a device that is not here.
        DataError: no features or annotations, NaN, too few tasks, nothing to validate on; image files or texts that
            cannot be used, without ``accept``.
        DivergedError: a loss became NaN or enormous.

    Examples:
        >>> import crowdcore as cc
        >>> result = cc.learning.train(cc.load_dataset("demo"), method="dl-mv", seeds=2, epochs=1)
        >>> result.accuracy("test", at="selected").shape
        (2,)
    """
    dataset = as_dataset(dataset)
    dataset = dataset if features is None else dataset.with_features(features)
    if isinstance(method, list | tuple):
        raise SettingError("method", "be a single one", method, "`{m: train(dataset, m) for m in …}` trains several.")
    keep = None if checkpoint is None else (Path(checkpoint), checkpoint_every)
    method, numbers = method or usual_method(dataset), seed_numbers(seeds)
    with progress() if on_event is None else nullcontext(lambda share, words: None) as set_progress:

        def show(event: Event) -> None:
            if isinstance(event, EpochEvent):
                set_progress(event.done, f"{event.method}, {event.at}")

        listen = on_event or show
        fits = _train(dataset, method, [settings], numbers, device, worker_features, accept, listen, should_stop, keep)
    return fits[0]


def train_ratings(dataset: RatingDataset, method: str = "crowd-layer", **settings: Any) -> RatingsResult:
    """`train` for ratings."""
    return cast(RatingsResult, train(dataset, method, **settings))


def sweep(
    dataset: DatasetLike,
    method: str | type[CrowdMethod],
    over: Mapping[str, Sequence[Any]],
    *,
    seeds: int | Sequence[int] = SEEDS,
    device: str = "auto",
    worker_features: AnyArray | None = None,
    accept: bool = False,
    on_event: Listener | None = None,
    should_stop: Callable[[], bool] | None = None,
    **settings: Unpack[TrainKeywords],
) -> list[TrainingResult]:
    """Train every combination of some settings; those marked as swept (such as λ) share one pass with the seeds.

    Args:
        over: setting -> values, e.g. ``{"regularisation": [0, 1e-6, 1e-5, 1e-4]}``.
        settings: what all combinations share; the other arguments are those of `train`.

    Returns:
        One result per combination, the last setting varying fastest.
    """
    points = [{**settings, **dict(zip(over, values, strict=True))} for values in itertools.product(*over.values())]
    numbers = seed_numbers(seeds)
    crowd = need_classes(as_dataset(dataset))
    return _train(crowd, method, points, numbers, device, worker_features, accept, on_event, should_stop, None)


def usual_settings(dataset: Labelled) -> dict[str, Any]:
    """Return the trainer's defaults for a dataset: the network that reads its words."""
    return {"backbone": "tagger"} if dataset.of_words else {}


def split_settings(method: type[CrowdMethod], given: Mapping[str, Any]) -> tuple[TrainSettings, Settings]:
    """Split settings into the trainer's and the method's, with those of the method's variant filled in.

    Raises:
        SettingError: a setting that neither has, or a value out of bounds.
    """
    known = set(TrainSettings.model_fields) | set(method.Settings.model_fields)
    given = drop_retired(given, known)
    for name in given:
        if name not in known:
            raise SettingError(name, f"be a setting of the trainer or of {method.name!r}", given[name], _valid(method))
    variant = given.get("variant", getattr(method.Settings(), "variant", ""))
    chosen = {**method.variants.get(str(variant), {}), **given}
    own = method.Settings(**{k: v for k, v in chosen.items() if k in method.Settings.model_fields})
    return TrainSettings(**{k: v for k, v in chosen.items() if k in TrainSettings.model_fields}), own


def _valid(method: type[CrowdMethod]) -> str:
    own = ", ".join(method.Settings.model_fields) or "none"
    return f"The trainer's: {', '.join(TrainSettings.model_fields)}; the method's: {own}."


def seed_numbers(seeds: int | Sequence[int]) -> tuple[int, ...]:
    """Return the seeds of a count or a list.

    Raises:
        SettingError: no seed, a negative one, or one twice.
    """
    listed = tuple(range(seeds)) if isinstance(seeds, int) else tuple(int(s) for s in seeds)
    if not listed or min(listed) < 0 or len(set(listed)) < len(listed):
        raise SettingError("seeds", "be a positive number of seeds, or different non-negative seeds", seeds)
    return listed


def _train(
    dataset: Any,
    method_or_name: str | type[CrowdMethod],
    points: Sequence[Mapping[str, Any]],
    seeds: tuple[int, ...],
    device_name: str,
    worker_features: AnyArray | None,
    accept: bool,
    on_event: Listener | None,
    should_stop: Callable[[], bool] | None,
    checkpoint: tuple[Path, int] | None,
) -> list[Any]:
    method = method_for(dataset, method_or_name)
    points = [_name_networks({**usual_settings(dataset), **point}) for point in points]
    split = [split_settings(method, point) for point in points]
    device = resolve_device(device_name)
    listen, stop = on_event or (lambda event: None), should_stop or (lambda: False)
    n_read = len(dataset.notes)
    if not dataset.kind.numeric:
        dataset = with_inputs(dataset, accept, split[0][0].backbone, device_name)
    new_notes = dataset.notes[n_read:]
    for note in new_notes:
        listen(NoteEvent(note))
    if method.candidates:
        fit = partial(train, device=device_name, worker_features=worker_features)
        results = [
            train_chosen(fit, _problem(dataset, t, worker_features), method, point, seeds, listen, stop, checkpoint)
            for (t, _), point in zip(split, points, strict=True)
        ]
    else:
        session = Session(dataset, method, device, listen, stop, checkpoint)
        results = _together(session, dataset, split, seeds, worker_features)
    return [replace(result, crowd=dataset, notes=(*new_notes, *result.notes)) for result in results]


def _name_networks(settings: dict[str, Any]) -> dict[str, Any]:
    """Replace a network and an aggregator by their names."""
    if "backbone" in settings:
        settings["backbone"] = backbones.named(settings["backbone"])
    if not isinstance(settings.get("aggregator", ""), str):
        made = aggregation.get(settings["aggregator"])
        settings |= {"aggregator": made.name, "aggregator_settings": made.model_dump()}
    return settings


def _problem(dataset: Labelled, training: TrainSettings, worker_features: AnyArray | None, on: str = "cpu") -> Problem:
    return make_problem(dataset, training, backbones.wants_images(training.backbone), worker_features, on)


def _together(
    session: Session,
    dataset: Labelled,
    split: Sequence[tuple[TrainSettings, Settings]],
    seeds: tuple[int, ...],
    worker_features: AnyArray | None,
) -> list[Any]:
    """Train all points and seeds of one method; points with the same problem share it."""
    jobs = [Job(t, Replica(own, seed), k) for k, (t, own) in enumerate(split) for seed in seeds]
    problems: dict[str, Problem] = {}
    for training, _ in split:
        key = _problem_key(training)
        if key not in problems:
            problems[key] = _problem(dataset, training, worker_features, str(session.device))
            for note in problems[key].notes:
                session.listen(NoteEvent(note))

    def problem_of(training: TrainSettings) -> Problem:
        return replace(problems[_problem_key(training)], training=training)

    with numeric_kernels(any(t.deterministic for t, _ in split)):
        outcomes = run_jobs(session, jobs, problem_of)
    return [
        conclude(problem_of(training), session.method, training, own, point, session)
        for k, (training, own) in enumerate(split)
        if (point := [(j.replica, o) for j, o in outcomes if j.point == k])
    ]


def _problem_key(training: TrainSettings) -> str:
    fields = {"select_on", "names", "holdout", "standardise", "backbone"}
    return training.model_dump_json(include=fields)
