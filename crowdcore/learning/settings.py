"""How a training run goes, whatever the method: optimiser, batches, validation, hardware."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from crowdcore.core.settings import Settings

__all__ = ["TrainSettings"]


class TrainSettings(Settings):
    """Settings of the trainer; those of a method are a model of their own next to it."""

    epochs: int = Field(100, ge=1, description="Passes over the training tasks.")
    batch_size: int = Field(64, ge=1, description="Tasks per step; all annotations of a task come along.")
    lr: float = Field(1e-3, gt=0, description="Learning rate.")
    optimizer: Literal["adam", "sgd"] = Field("adam", description="Optimiser.")
    momentum: float = Field(0.9, ge=0, lt=1, description="Momentum (SGD).")
    weight_decay: float = Field(0.0, ge=0, description="L2 penalty on all parameters, added to the gradient.")
    schedule: Literal["constant", "cosine", "step"] = Field(
        "constant", description="Learning rate over epochs: constant, cosine to 0, or times 0.1 at 1/2 and 3/4."
    )
    restart_optimizer: bool = Field(False, description="Forget the optimiser's moments at every epoch.")
    patience: int | None = Field(
        None, ge=1, description="Stop a replica after so many epochs without a better validation accuracy."
    )
    select_on: Literal["auto", "gold", "consensus", "holdout", "none"] = Field(
        "auto",
        description="What selects the epoch: gold or majority vote of the valid split, held-out train tasks, nothing.",
    )
    holdout: float = Field(0.1, gt=0, lt=1, description="Share of train tasks held out when there is no valid split.")
    holdout_seed: int = Field(0, ge=0, description="Which tasks are held out.")
    backbone: str = Field("mlp", description="Name of a classifier network, or 'package.module:Class'.")
    backbone_settings: dict[str, Any] = Field(default_factory=dict, description="Settings of the network.")
    standardise: bool | Literal["auto"] = Field(
        "auto", description="Scale features to mean 0 and variance 1 on train; auto: when their scales differ wildly."
    )
    augment: Literal["no", "affine", "affine+flip"] = Field(
        "no", description="Shift, shear and scale training images at random; also flip them left to right."
    )
    precision: Literal["float32", "bfloat16"] = Field("float32", description="Arithmetic of the network.")
    feed: Literal["auto", "device", "stream"] = Field(
        "auto", description="Keep all inputs on the device, or gather every batch on the host (memory flat in N)."
    )
    stack: Literal["auto", "all", "none"] = Field(
        "auto", description="Train replicas side by side, or one after another; auto: where it pays."
    )
    record: bool = Field(True, description="Record a step once and replay it, where the run is long enough.")
    deterministic: bool = Field(False, description="Use deterministic kernels only (slower on CUDA).")
