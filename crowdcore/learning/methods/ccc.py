"""CCC: two coupled crowd layers, each corrected by what the other one is surest of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad

from crowdcore.core.errors import SettingError
from crowdcore.core.settings import Settings
from crowdcore.learning.base import CrowdMethod, EpochContext, Network, Recovered
from crowdcore.learning.method_settings import CccSettings
from crowdcore.learning.networks.layers import KMeans, Random
from crowdcore.learning.networks.network import Ensemble
from crowdcore.learning.networks.ops import cross_entropy, gather_rows, log_label, log_softmax, softmax, worker_product
from crowdcore.learning.training.data import Batch
from crowdcore.learning.training.problem import Problem
from crowdcore.learning.training.steps import learning_rate

_MODELS = 2
_FLOOR = 1e-5  # added to probabilities of labels in the authors' code


class Ccc(CrowdMethod):
    """``-mean log softmax(p (T^r + V^g(r)))[y_i^r]``, summed over two models with T, V, groups g and p of their own.

    Every epoch after the warm-up, k-means puts the workers' T^r into G groups, and the tasks with the smallest
    ``-log p(c)`` among those with a label c, M/C for every c, become the meta set of the other model. Every step
    starts from V = 0: a virtual step ``θ' = θ - η ∇_θ L(T + V, θ)`` (eq. 10) of the classifier, the gradient g of its
    cross-entropy on a batch of the meta set with respect to V, through that step (eq. 11), and ``V = -γ max(T) /
    max|g| g``; then T and θ are trained with V fixed (eq. 12). η is the trainer's learning rate.

    Predictions are the mean of both models'. V is averaged over the steps of an epoch for what is recovered:
    confusions are those of T + V, again the mean of both models'; groups are those of the first.
    """

    name: ClassVar[str] = "ccc"
    title: ClassVar[str] = "Coupled confusion correction (CCC)"
    paper: ClassVar[str] = "Zhang et al.: Coupled Confusion Correction, AAAI 2024"
    recovers: ClassVar[tuple[str, ...]] = ("worker_confusion", "correction", "group")
    Settings: ClassVar[type[Settings]] = CccSettings
    variants: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "authors": {"start": "identity", "noise_lr": 1.0, "meta_layers": "last", "batch_size": 128}
    }

    correction_rate: Tensor
    virtual_lr: Tensor
    group: Tensor
    correction: Tensor
    meta_task: Tensor
    meta_label: Tensor

    def __init__(self, problem: Problem, settings: CccSettings, network: Network) -> None:
        super().__init__(problem, settings, network)
        c, training = self.n_classes, problem.training
        n_groups = min(settings.n_groups, self.n_workers)
        self.authors, self.last_layer = settings.variant == "authors", settings.meta_layers == "last"
        self.training_settings = training
        self.warm_up = round(settings.warm_up * training.epochs)
        self.n_steps = -(-problem.n_train // training.batch_size)
        candidates = problem.n_train_annotations if self.authors else problem.n_train
        wanted = problem.n_train / 5 if settings.meta_size is None else settings.meta_size
        if wanted == settings.meta_size and wanted < c:
            raise SettingError("meta_size", f"be at least {c}, a task for every class", wanted)
        self.per_class = min(max(1, round(wanted / c)), candidates)
        self.per_step = min(training.batch_size, c * self.per_class)
        self.matrices = nn.Parameter(torch.eye(c).repeat(_MODELS, self.n_workers, 1, 1))
        self.random, self.k_means = Random(), KMeans(n_groups)
        self.keep("correction_rate", settings.correction_rate)
        self.state("virtual_lr", torch.tensor(0.0))
        self.register_buffer("group", torch.zeros(_MODELS, self.n_workers, dtype=torch.int64))
        self.register_buffer("correction", torch.zeros(_MODELS, n_groups, c, c))
        self.state("meta_task", torch.zeros(_MODELS, c * self.per_class, dtype=torch.int64))
        self.state("meta_label", self.meta_task - 1)

    @classmethod
    def make_classifier(cls, network: Network, n_classes: int, n_workers: int, settings: Any) -> nn.Module:
        """Two networks."""
        return Ensemble(network, n_classes, _MODELS)

    @torch.no_grad()
    def start_from(self, confusion: Tensor) -> None:
        """Set matrices with these confusions, whose rows have mean 0."""
        logits = confusion.log()
        self.matrices.copy_((logits - logits.mean(-1, keepdim=True)).expand_as(self.matrices))

    def train_log_probs(self, features: Tensor, task: Tensor) -> Tensor:
        """log p of each model, (B, 2, C)."""
        return self.classifier.each(features)  # type: ignore[operator,no-any-return]

    def start_epoch(self, context: EpochContext) -> None:
        """Group the workers, and distil the meta sets."""
        if context.epoch < self.warm_up:
            return
        self.virtual_lr.fill_(learning_rate(self.training_settings, context.epoch))
        self.correction.zero_()
        self.group.copy_(self.k_means(self.matrices.flatten(2)))
        distilled = [self._distil(context, log_p) for log_p in context.log_probs.unbind(1)]
        task, label = (torch.stack(part[::-1]) for part in zip(*distilled, strict=True))
        self.meta_task.copy_(task)
        self.meta_label.copy_(label)

    def _distil(self, context: EpochContext, log_p: Tensor) -> tuple[Tensor, Tensor]:
        """Tasks (M,) with the smallest losses under a model, and their labels, -1 where too few tasks have it."""
        n, c = log_p.shape
        given = torch.arange(c, device=log_p.device) == context.label.unsqueeze(1)
        candidate = context.task
        if not self.authors:
            given = torch.zeros(n, c, device=log_p.device).index_add(0, candidate, given.to(torch.float32)) > 0
            candidate = torch.arange(n, device=log_p.device)
        loss = torch.where(given, -log_p.index_select(0, candidate), torch.inf)
        smallest, at = loss.topk(self.per_class, 0, largest=False)
        label = torch.where(smallest < torch.inf, torch.arange(c, device=log_p.device), -1)
        return candidate[at].flatten(), label.flatten()

    def extra(self, epoch: int, n_steps: int) -> tuple[Tensor, Tensor] | None:
        """Batches of the meta sets, shuffled: tasks and labels, (n_steps, 2, m) each; none during the warm-up."""
        if epoch < self.warm_up:
            return None
        size = self.meta_task.shape[1]
        order = self.random.uniform((_MODELS, size)).argsort(-1)
        at = torch.arange(n_steps * self.per_step, device=order.device) % size
        shuffled = (part.gather(1, order)[:, at] for part in (self.meta_task, self.meta_label))
        task, label = (part.reshape(_MODELS, n_steps, self.per_step).transpose(0, 1) for part in shuffled)
        return task, label

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """Cross-entropy of every worker's labels under each model, after virtual and meta steps of its own."""
        losses = []
        for k, network in enumerate(self.classifier.networks):  # type: ignore[arg-type]
            matrices = self.matrices[k]
            if batch.extra is not None:
                v = self._meta_step(k, network, batch)
                self.correction[k].add_(v / self.n_steps)
                matrices = matrices + v[self.group[k]]
            losses.append(self._cross_entropy(softmax(network(batch.features)), matrices, batch))
        return {"cross_entropy": torch.stack(losses).sum()}

    def _cross_entropy(self, p: Tensor, matrices: Tensor, batch: Batch) -> Tensor:
        """L(T + V, θ), mean over the annotations."""
        (of_annotations,) = gather_rows(batch.row, p)
        log_likelihood = log_label(worker_product(of_annotations, matrices, batch.worker), batch.label)
        if self.authors:
            log_likelihood = (log_likelihood.exp() + _FLOOR).log()
        return -batch.mean(log_likelihood)

    def _meta_step(self, k: int, network: nn.Module, batch: Batch) -> Tensor:
        """V of a model, (G, C, C)."""
        assert batch.extra is not None and batch.extra_label is not None
        parameters = {name: p.detach() for name, p in network.named_parameters()}
        meta = dict(list(parameters.items())[-2 if self.last_layer else 0 :])
        before = {name: b.clone() for name, b in network.named_buffers()}
        matrices, group = self.matrices[k].detach(), self.group[k]
        features, label = batch.extra[k], batch.extra_label[k]

        def logits(theta: dict[str, Tensor], x: Tensor) -> Tensor:
            buffers = {name: b.clone() for name, b in before.items()}
            return functional_call(network, {**parameters, **buffers, **theta}, x)  # type: ignore[no-any-return]

        def virtual_loss(theta: dict[str, Tensor], v: Tensor) -> Tensor:
            return self._cross_entropy(softmax(logits(theta, batch.features)), matrices + v[group], batch)

        def meta_loss(v: Tensor) -> Tensor:
            slope = grad(virtual_loss)(meta, v)
            theta = {name: p - self.virtual_lr * slope[name] for name, p in meta.items()}
            return cross_entropy(log_softmax(logits(theta, features)), label)

        gradient: Tensor = grad(meta_loss)(torch.zeros_like(self.correction[k]))
        v: Tensor = -self.correction_rate * matrices.max() / gradient.abs().max().clamp_min(1e-30) * gradient
        return v

    def recovered(self) -> Recovered:
        """Confusions of T + V, how far they are from those of T, and groups."""
        v = torch.stack([of.index_select(0, g) for of, g in zip(self.correction, self.group, strict=True)])
        corrected, plain = (torch.softmax(t, -1).mean(0) for t in (self.matrices + v, self.matrices))
        return {"worker_confusion": corrected, "correction": corrected - plain, "group": self.group[0]}
