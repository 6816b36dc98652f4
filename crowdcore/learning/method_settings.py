"""Settings of the built-in methods: defaults, bounds, one-line descriptions. No torch here.

A method of one's own may have its settings in its own file.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal, TypeAlias

from pydantic import Field

from crowdcore.core.settings import Settings, setting
from crowdcore.learning.settings import swept


def swept_setting(default: Any, title: str, description: str, **bounds: Any) -> Any:
    """A `setting` in which replicas of one stack may differ."""
    return setting(default, title, description, json_schema_extra=swept, **bounds)


def noise_rate(default: float) -> Any:
    """The learning rate of noise layers."""
    words = "As a multiple of the classifier's: noise layers must move by several logits to be learnt."
    return setting(default, "Learning rate of the noise layers", words, gt=0)


class NoiseLayerSettings(Settings):
    """Settings of every method with a noise layer."""

    noise_lr: float = noise_rate(20.0)


class DirectStartSettings(NoiseLayerSettings):
    """Settings of methods that are a model of the workers themselves and need no first stage."""

    candidates: ClassVar[tuple[str, ...]] = ("identity", "dawid-skene")
    """The starts that best-of tries."""
    start: Literal["identity", "votes", "dawid-skene", "best-of"] = swept_setting(
        "dawid-skene",
        "Start of the confusions",
        "Near the identity, at the estimates under the vote shares, at Dawid-Skene's; best-of: the first and the "
        "last, of which the lower training loss is kept.",
    )


Start: TypeAlias = Literal["identity", "votes", "dawid-skene", "trace", "best-of"]


def start_of(what: str, default: Start, source: str = "") -> Any:
    """Setting for the start of matrices; ``source`` is the paper that has the default."""
    words = (
        "Identity; confusions under the vote shares; or a first stage that learns one confusion per worker, from "
        "Dawid-Skene's estimates or with trace regularisation; best-of: both stages, of which the lower training "
        f"loss is kept.{source and f' {source}: {default}.'}"
    )
    return swept_setting(default, f"Start of the {what}", words)


class StartSettings(NoiseLayerSettings):
    """Settings of every method with a matrix per worker."""

    candidates: ClassVar[tuple[str, ...]] = ("dawid-skene", "trace")
    """The starts that best-of tries."""
    start: Start = start_of("noise layers", "dawid-skene")
    start_epochs: float = setting(
        0.25,
        "Epochs of the first stage",
        "As a share of the epochs, in addition to them; not used if the start is the identity or votes.",
        gt=0,
        le=1,
    )
    vote_epochs: float = setting(
        0.0,
        "Epochs on the majority vote",
        "The network alone learns the vote shares before anything else, for this share of the epochs, in addition"
        " to them: what steadies a crowd layer on tags (Rodrigues's code: 5 before 30).",
        ge=0,
        le=1,
    )


class WorkerModelSettings(DirectStartSettings):
    """Settings of the methods that are a `WorkerModel`."""

    noise_lr: float = noise_rate(10.0)


class CommonNoiseSettings(StartSettings):
    """Settings of methods with common and individual matrices."""

    regularisation: float = swept_setting(
        1e-5,
        "Strength of the distance term, λ",
        "λ of the distances between common and individual matrices (Table 2).",
        ge=0,
    )
    embedding: int = setting(20, "Embedding size", "Dimension of the embeddings of tasks and workers (20 to 80).", ge=1)
    normalise: Literal["none", "worker", "both"] = setting(
        "none",
        "Embeddings of length 1",
        "None, so that ω is free; both (paper), which confines ω to 0.27 … 0.73; or the worker's only (authors, "
        "Music).",
    )
    omega_lr: float = setting(1.0, "Learning rate of ω's network", "As a multiple of the classifier's.", gt=0)
    initial_scale: float = setting(
        2.0, "Scale of the identity start", "All matrices start as this times the identity (start = identity).", gt=0
    )


class TaskConfusionSettings(Settings):
    """Settings of methods with confusions per task."""

    embedding: int = setting(16, "Embedding size", "Dimension of the embeddings of tasks and workers.", ge=1)
    right: float = setting(0.9, "Probability of a right label, η", "η of every worker at the start.", gt=0, lt=1)
    noise_lr: float = setting(
        1.0, "Learning rate of the workers' model", "As a multiple of the classifier's; the paper's is 1.", gt=0
    )


class FoldSettings(Settings):
    """Settings of methods that may predict out of fold."""

    folds: int = setting(
        0,
        "Folds of the E-step",
        "Number of networks, each trained without one fold of the tasks; the E-step of a task uses the network "
        "that has not seen it, and predictions are averaged. 0 = one network; K networks take K times as long.",
        ge=0,
        le=20,
    )


class EmSettings(FoldSettings):
    """Settings of EM."""

    leave_one_out: bool = setting(
        False, "Leave-one-out confusions", "Leave a task's own labels out of the confusions in its E-step."
    )
    smoothing: float = swept_setting(
        0.1,
        "Smoothing, α",
        "α of the symmetric Dirichlet prior of the confusions' rows (Rodrigues 2018, MAP estimates).",
        gt=0,
    )


class AggregateSettings(Settings):
    """Settings of aggregate-then-train."""

    targets: Literal["soft", "hard"] = setting(
        "soft", "Targets", "Train on the posterior (soft) or on its most probable class (hard)."
    )


class EmOptions(Settings):
    """Settings of EM with Gaussian classes."""

    rounds: int = setting(20, "Rounds", "Rounds of EM, starting from vote shares.", ge=1)
    balance: float | None = setting(
        None,
        "Balance, ρ",
        "How far class shares are pulled to equal ones; 0 = not at all; empty: 0.3, 0.5 and 0 are tried, without "
        "validation labels 0.15 instead of 0.",
        ge=0,
        le=1,
    )
    sharpening: float | None = setting(
        None, "Sharpening", "Factor of the temperature that best explains the labels; empty: 1 and 1.5 are tried.", gt=0
    )
    shrinkage: float = setting(
        0.1, "Shrinkage", "Shrinkage of the covariance towards a multiple of the identity.", ge=0, le=1
    )
    folds: int = setting(5, "Folds", "Scores of a task are by classes fitted without its fold.", ge=2)
    smoothing: float = setting(0.1, "Smoothing, α", "Pseudo-count of every cell of a worker's confusion.", gt=0)
    shared: float | None = setting(
        None,
        "Shared mistakes, η",
        "Share of a task's pairs of labels whose mistakes are one: m labels count as m / (1 + (m - 1) η). 0 = "
        "workers err independently; empty: estimated from pairs that agree beyond that.",
        ge=0,
        le=1,
    )
    pooling: float = setting(
        2.0, "Pooling, κ", "Pseudo-labels that a worker's row takes from the confusion of all workers together.", ge=0
    )
    rename: bool = setting(
        True,
        "Rename classes by the evidence",
        "Where most labels of a class may be one shared mistake, its name is what workers say evenly.",
    )


class FeaturesSeen(Settings):
    """Choice of the features without labels that shape the classes."""

    unlabelled: Literal["no", "validation", "all"] = setting(
        "no",
        "Features without labels",
        "Features that shape Gaussian classes beside those of training tasks: no others, those of validation "
        "tasks, or those of all tasks, the test features themselves. Never compare results of different values.",
    )


class GaussianSettings(EmOptions, FeaturesSeen):
    """Settings of Gaussian classes: of the space, of what is seen, and of the EM."""

    gamma: float = setting(0.25, "Kernel width, γ", "γ of the kernel; 0 = linear components.", ge=0)
    dimensions: int = setting(300, "Dimensions", "Maximum number of principal components.", ge=1)
    alternate: int = setting(
        0,
        "Rounds of networks",
        "Times that a network is trained on the posterior, and the classes are fitted on its last layer.",
        ge=0,
    )


class AutoSettings(FeaturesSeen):
    """Settings of auto."""

    chosen: str = setting(
        "",
        "Chosen method",
        "A method with its settings, as in 'gaussian-em balance=0.3', or several with their weights, as in '0.7 "
        "gaussian-em + 0.3 dl-em^0.6' (^ is a power of its probabilities), to train without trials; empty: trials"
        " choose.",
    )


class CccSettings(DirectStartSettings):
    """Settings of CCC."""

    variant: Literal["paper", "authors"] = setting(
        "paper",
        "Variant",
        "The paper; or the authors' code: meta sets of labels instead of tasks, a virtual step of the last layer,"
        " probabilities of labels plus 0.00001.",
    )
    n_groups: int = setting(25, "Groups of workers", "How many, G; no more than there are workers.", ge=1)
    meta_size: int | None = setting(
        None,
        "Size of a meta set",
        "How many tasks, M, the same number for every label; by default a fifth of the training tasks.",
        ge=1,
    )
    correction_rate: float = swept_setting(
        0.5,
        "Correction rate, γ",
        "Largest entry of the corrections, as a share of that of the workers' matrices.",
        ge=0,
    )
    warm_up: float = setting(
        0.25,
        "Epochs of the warm-up",
        "Share of the epochs, the first ones, in which the models learn as crowd layers.",
        ge=0,
        le=1,
    )
    meta_layers: Literal["all", "last"] = setting(
        "all", "Layers of the virtual step", "All layers of the network, or the last one: cheaper for deep networks."
    )


class CoinNetSettings(WorkerModelSettings):
    """Settings of COINNet."""

    strength: float = swept_setting(
        0.01,
        "Strength of the volume, λ",
        "λ of the logarithm of the volume of a batch's predictions; 0 = without.",
        ge=0,
    )
    sparsity: float = swept_setting(
        0.1, "Strength of the outliers' penalty, μ", "μ of the outliers of a batch's tasks.", ge=0
    )


class ConalSettings(CommonNoiseSettings):
    """Settings of CoNAL."""

    variant: Literal["mixture", "paper", "authors"] = setting(
        "mixture",
        "Variant",
        "A mixture of confusions, with ω free; the paper's mixture of two softmax layers, with one learning rate "
        "and embeddings of length 1; or the authors' code: one softmax of the mixture, a two-layer map for the "
        "tasks, a fresh optimiser every epoch.",
    )
    omega_input: Literal["features", "task"] = setting(
        "features",
        "Input of ω",
        "ω depends on the task's features, or on a free vector learnt for every training task.",
    )
    rank: int | None = setting(
        None,
        "Rank of the workers' matrices",
        "Individual matrices scale·I + U V of this rank, for very many workers; not for the mixture.",
        ge=1,
    )


class ConalGroupsSettings(CommonNoiseSettings):
    """Settings of group-wise CoNAL."""

    n_groups: int = setting(2, "Groups of workers", "How many, G.", ge=2)


class CrowdLayerSettings(StartSettings):
    """Settings of the crowd layer."""

    connection: Literal["mw", "vw", "vw+b"] = setting(
        "mw", "Connection", "A matrix (mw), a weight per class (vw), or weight and bias per class (Rodrigues 2018)."
    )
    rank: int | None = setting(
        None,
        "Rank of the workers' matrices",
        "Matrices I + U V of this rank instead of full ones (mw), for very many workers.",
        ge=1,
    )


class CrowdArSettings(StartSettings):
    """Settings of CrowdAR."""

    noise_lr: float = setting(
        1.0, "Learning rate of the matrices", "As a multiple of the classifier's; the paper's is 1.", gt=0
    )
    start: Start = start_of("matrices", "identity", "Cao 2023")
    trust: float = swept_setting(
        0.9,
        "Weight of the labels' loss, λ",
        "λ of the labels' cross-entropy; 1 - λ is that of the reliabilities' (Cao 2023, eq. 5).",
        ge=0,
        le=1,
    )
    embedding: int = setting(128, "Embedding size", "Hidden units of the layer that finds difficulties.", ge=1)


class CrowdlabSettings(FoldSettings):
    """Settings of the CROWDLAB-style ensemble."""

    folds: int = setting(
        5,
        "Folds of the ensemble",
        "Number of networks, each trained without one fold of the tasks; a task's ensemble uses the network that "
        "has not seen it, and predictions are averaged. 0 = one network, not out of fold.",
        ge=0,
        le=20,
    )


class DlAggregateSettings(AggregateSettings):
    """Settings of aggregate-then-train with any aggregator."""

    aggregator: str = setting("majority-vote", "Aggregator", "Name of the aggregator.")
    aggregator_settings: dict[str, Any] = Field(
        default_factory=dict, title="Settings of the aggregator", description="By name."
    )


class DlEmSettings(EmSettings):
    """Settings of DL-EM."""

    e_step: Literal["epoch", "batch"] = setting(
        "epoch", "E-step", "EM over the training set once an epoch, or incrementally in every batch (Rodrigues 2018)."
    )


class GaussianEmSettings(GaussianSettings):
    """Settings of gaussian-em."""

    label_smoothing: float = setting(
        0.05, "Label smoothing", "Share of the targets that is spread evenly over all classes.", ge=0, lt=1
    )


class GeoCrowdNetSettings(WorkerModelSettings):
    """Settings of GeoCrowdNet."""

    volume: Literal["f", "w"] = setting(
        "f", "Volume", "Of the predictions of a batch's tasks (F), or of the workers' confusions (W)."
    )
    strength: float = swept_setting(
        0.01,
        "Strength of the volume, λ",
        "λ of the logarithm of the volume (Ibrahim 2023, eq. 8 and 9); 0 = without regularisation.",
        ge=0,
    )


class MadlSettings(TaskConfusionSettings):
    """Settings of MaDL."""

    right: float = setting(
        0.8, "Probability of a right label, η", "η of every worker at the start (Herde 2023, eq. 19).", gt=0, lt=1
    )


class MaxMigSettings(StartSettings):
    """Settings of Max-MIG."""

    noise_lr: float = setting(
        10.0, "Learning rate of the aggregator", "As a multiple of the classifier's; 1 in the authors' code.", gt=0
    )
    start: Start = start_of("aggregator", "votes", "Cao 2019")
    prior: Literal["uniform", "votes"] = setting(
        "uniform", "Prior of the classes, p", "Uniform, as in the authors' code, or the mean of the vote shares."
    )


class MbemSettings(EmSettings):
    """Settings of MBEM."""

    rounds: int = setting(
        5,
        "Rounds",
        "Equal parts of the epochs; each begins with a new posterior, the first with the vote shares.",
        ge=1,
    )


class SingleCmSettings(NoiseLayerSettings):
    """Settings of the single confusion matrix."""

    strength: float = swept_setting(
        0.01,
        "Strength of the trace penalty, λ",
        "λ of tr(π), which lets noise diffuse into π (Sukhbaatar 2015, 3.3).",
        ge=0,
    )


class SoftBootstrapSettings(Settings):
    """Settings of soft bootstrapping."""

    trust: float = swept_setting(
        0.95, "Weight of the vote, β", "β, weight of the vote in the target (Reed 2015, 3.2).", ge=0, le=1
    )


class TraceSettings(WorkerModelSettings):
    """Settings of trace regularisation."""

    strength: float = swept_setting(
        0.01,
        "Strength of the trace penalty, λ",
        "λ of the sum of traces (Tanno 2019, eq. 4); 0 = without regularisation.",
        ge=0,
    )


class UnionNetSettings(StartSettings):
    """Settings of UnionNet."""

    variant: Literal["a", "b"] = setting(
        "b",
        "Variant",
        "Softmax over all workers' labels after the transition (a), or a transition whose rows are probabilities "
        "of all workers' labels (b).",
    )
    start: Start = start_of("transition", "votes")


class WdnSettings(Settings):
    """Settings of Weighted Doctor Net."""

    mixing_epochs: float = setting(
        0.25,
        "Epochs of the mixing weights alone",
        "The last epochs, as a share of all, in which the network is frozen and only the weights learn.",
        gt=0,
        lt=1,
    )
    noise_lr: float = setting(20.0, "Learning rate of the mixing weights", "As a multiple of the classifier's.", gt=0)
