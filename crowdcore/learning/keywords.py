"""The keywords of `train`, so that type checkers and editors know them; a test compares them with the settings."""

from __future__ import annotations

from typing import Any, Literal, TypedDict


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
    backbone: str
    backbone_settings: dict[str, Any]
    standardise: bool | Literal["auto"]
    augment: Literal["no", "affine", "affine+flip", "crop", "crop+flip"]
    precision: Literal["float32", "bfloat16"]
    deterministic: bool
    aggregator: str
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
