"""Settings of the trainer, of networks and of methods for ratings. No torch here."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Literal, NamedTuple

from pydantic import Field

from crowdcore.core.settings import Settings, setting

SEEDS = 6
"""Default number of seeds: the fewest with which a test over seeds can find a difference at 5 %."""

swept: dict[str, Any] = {"swept": True}
"""``Field(..., json_schema_extra=swept)``: replicas of one stack may differ in this setting."""

RETIRED: Mapping[str, tuple[Any, str]] = {
    "feed": ("auto", "inputs are kept on the device where they fit"),
    "stack": ("auto", "replicas train side by side where it pays"),
    "record": (True, "steps are recorded where it pays"),
    "restart_optimizer": (False, "conal with variant='authors' restarts the optimiser by itself"),
    "holdout_seed": (0, "the same tasks are held out in every run"),
    "networks": (1, "several networks predicted no better than one"),
}
"""Settings of earlier releases -> default, and what happens now; calls and recorded runs may still name them."""


def drop_retired(settings: Mapping[str, Any], known: Collection[str] = ()) -> dict[str, Any]:
    """Drop `RETIRED` settings, except those that a method has itself; warn of values that differ from the default."""
    for name, value in settings.items():
        if name in RETIRED and name not in known and value != RETIRED[name][0]:
            warnings.warn(f"The setting {name!r} has no effect any more: {RETIRED[name][1]}.", DeprecationWarning, 2)
    return {name: value for name, value in settings.items() if name not in RETIRED or name in known}


class Execution(NamedTuple):
    """Ways to carry out training, which tests and benchmarks compare; users need not choose.

    Attributes:
        feed: keep inputs on the device, or gather every batch on the host ("stream").
        stack: train replicas side by side ("all"), one after another ("none"), or as it pays.
        record: record a step once and replay it, where the run is long enough.
        holdout_seed: seed of the draw of held-out tasks.
        brief: predict tasks only, by fewer fits: workers are neither counted nor decomposed.
    """

    feed: Literal["auto", "device", "stream"] = "auto"
    stack: Literal["auto", "all", "none"] = "auto"
    record: bool = True
    holdout_seed: int = 0
    brief: bool = False


_USUAL = Execution()
_execution: ContextVar[Execution] = ContextVar("execution", default=_USUAL)


def execution() -> Execution:
    """Return the way in which training is carried out now."""
    return _execution.get()


@contextmanager
def executing(**changes: Any) -> Iterator[None]:
    """Carry out training in another way, inside a ``with``."""
    token = _execution.set(execution()._replace(**changes))
    try:
        yield
    finally:
        _execution.reset(token)


class TrainSettings(Settings):
    """Settings of the trainer; those of a method are a model of their own next to it."""

    epochs: int = setting(100, "Epochs", "Passes over the training tasks.", ge=1)
    batch_size: int = setting(64, "Batch size (tasks)", "Tasks per step, each with all its annotations.", ge=1)
    lr: float = setting(1e-3, "Learning rate", "Learning rate.", gt=0)
    optimizer: Literal["adam", "sgd"] = setting("adam", "Optimiser", "Optimiser.")
    momentum: float = setting(0.9, "Momentum", "Momentum (SGD).", ge=0, lt=1)
    weight_decay: float = setting(0.0, "Weight decay", "L2 penalty on all parameters, added to the gradient.", ge=0)
    schedule: Literal["constant", "cosine", "step"] = setting(
        "constant",
        "Learning-rate schedule",
        "Learning rate over epochs: constant, cosine to 0, or times 0.1 at 1/2 and 3/4.",
    )
    patience: int | None = setting(
        None, "Patience (epochs)", "Stop a replica after this many epochs without a better validation accuracy.", ge=1
    )
    select_on: Literal["auto", "gold", "crowd", "consensus", "holdout", "none"] = setting(
        "auto",
        "What selects the epoch",
        "What selects the epoch: gold of the valid split, or of held-out train tasks (holdout); crowd "
        "labels held out, those of the valid split (consensus) if it has any (crowd); or nothing: the last epoch.",
    )
    names: Literal["as-trained", "validation-gold"] = setting(
        "as-trained",
        "Names of classes",
        "How latent classes are matched to labels: as training left them, or matched with the validation "
        "split's gold labels (Hungarian method). Labels cannot name classes where most of them are wrong.",
    )
    holdout: float = setting(
        0.1,
        "Held-out share of training tasks",
        "Share of train tasks held out when there is no valid split.",
        gt=0,
        lt=1,
    )
    backbone: str = setting("mlp", "Network", "Name of a classifier network, or 'package.module:Class'.")
    backbone_settings: dict[str, Any] = Field(
        default_factory=dict, title="Settings of the network", description="Settings of the network."
    )
    standardise: bool | Literal["auto"] = setting(
        "auto",
        "Standardise features",
        "Scale features to mean 0 and variance 1 on train; auto: when their scales differ wildly.",
    )
    augment: Literal["no", "affine", "affine+flip", "crop", "crop+flip"] = setting(
        "no",
        "Image augmentation",
        "Change training images at random: shift, shear and scale them, or crop them with a margin of an "
        "eighth of the side; also flip them left to right.",
    )
    precision: Literal["float32", "bfloat16"] = setting("float32", "Precision", "Arithmetic of the network.")
    deterministic: bool = setting(False, "Deterministic kernels", "Use deterministic kernels only (slower on CUDA).")


class CnnSettings(Settings):
    """Settings of the four-convolution network."""

    width: int = setting(32, "Channels", "Channels of every convolution.", ge=1)
    hidden: int = setting(128, "Hidden units", "Units of the fully connected layer.", ge=1)
    dropout: float = setting(0.5, "Dropout (share)", "Share of hidden units dropped in training.", ge=0, lt=1)


class MlpSettings(Settings):
    """Settings of the network with one hidden layer."""

    hidden: int = setting(128, "Hidden units", "Hidden units.", ge=1)
    dropout: float = setting(0.5, "Dropout (share)", "Share of hidden units dropped in training.", ge=0, lt=1)
    batch_norm: bool = setting(
        False,
        "Batch normalisation",
        "Batch normalisation of input and hidden layer, without scale and shift (CoNAL on Music).",
    )


class TaggerSettings(Settings):
    """Settings of the tagger."""

    embedding: int = setting(128, "Embedding", "Size of a token's embedding, trained here.", ge=8, multiple_of=8)
    filters: int = setting(128, "Filters", "Filters of the convolution over 5 tokens.", ge=1)
    hidden: int = setting(50, "Hidden state", "Size of the GRU's hidden state.", ge=1)
    dropout: float = setting(0.5, "Dropout (share)", "Share of filters and hidden state dropped.", ge=0, lt=1)


class RatingCrowdLayerSettings(Settings):
    """Settings of the crowd layer for ratings."""

    connection: Literal["s", "b", "s+b"] = setting(
        "b",
        "Connection",
        "What a worker's rating is of the network's: a scale (s), a bias (b), or both (Rodrigues 2018).",
    )
    noise_lr: float = setting(1.0, "Learning rate of the crowd layer", "As a multiple of the network's.", gt=0)


class RatingDlEmSettings(Settings):
    """Settings of EM for ratings."""

    strength: float = setting(
        5.0,
        "Strength of the pooled variance",
        "Ratings of its own that the pooled variance counts for in a worker's.",
        gt=0,
    )


class RatingWdnSettings(Settings):
    """Settings of Weighted Doctor Net for ratings."""

    combine: Literal["weight", "bias", "weight+bias"] = setting(
        "weight+bias",
        "How outputs are combined",
        "By a weight per worker, a bias per worker (the best in Rodrigues 2018), or both.",
    )
