"""Choice of the best Gaussian classes, alternating with networks if wanted."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from crowdcore.aggregation._decomposition import Decomposition, new_names
from crowdcore.aggregation.conal_em import ConalEM
from crowdcore.core.errors import SettingError
from crowdcore.core.settings import Settings
from crowdcore.core.types import AnyArray, IntArray
from crowdcore.learning.base import CrowdMethod
from crowdcore.learning.gaussian.classes import Blocks
from crowdcore.learning.gaussian.em import GaussianFit, fit_gaussians, gold_power, held_out_power
from crowdcore.learning.gaussian.evidence import Annotations
from crowdcore.learning.gaussian.space import Space, fit_space
from crowdcore.learning.method_settings import EmOptions, GaussianSettings
from crowdcore.learning.networks.layers import Linear
from crowdcore.learning.networks.network import make_network
from crowdcore.learning.networks.ops import softmax
from crowdcore.learning.networks.targets import cross_entropy
from crowdcore.learning.training.data import Batch, Data
from crowdcore.learning.training.inputs import refuse_not_finite
from crowdcore.learning.training.loop import Replica
from crowdcore.learning.training.problem import Problem
from crowdcore.learning.training.trainer import train_stack

_SPLITS = ConalEM()  # splits counts and names classes with its default priors
_BALANCES, _SHARPENINGS = (0.0, 0.3, 0.5), (1.0, 1.5)
_UNJUDGED = (0.15, 0.3, 0.5)  # balances where only labels choose: shares that drift foretell shared mistakes
_ENOUGH, _NUMBERS, _FEWEST = 10_000, 20_000_000, 2_000  # tasks, or numbers in them, to estimate the space from
_CALIBRATING = 20  # annotated tasks with gold, at least, that say how sure the posterior should be
_CHUNK = 4096  # tasks at a time


@dataclass(frozen=True, eq=False)
class Chosen:
    """The chosen fit.

    Args:
        space: where its classes are.
        fit: classes, posterior, confusions.
        power: β of the posterior q^β that is as sure as gold or labels that it has not seen allow.
        split: the workers' confusions as a common one and their own.
        notes: what chose it, and which classes have other names than the votes give, one sentence each.
        network: what makes the features of the space from inputs; None: inputs are the features.
    """

    space: Space
    fit: GaussianFit
    power: float
    split: Decomposition
    notes: tuple[str, ...]
    network: nn.Module | None = None

    @property
    def posterior(self) -> Tensor:
        """(n, C) calibrated posterior of the annotated tasks."""
        return softmax(self.power * self.fit.posterior.clamp_min(1e-300).log())


@torch.no_grad()
def choose_gaussians(problem: Problem, settings: GaussianSettings, network: nn.Module | None = None) -> Chosen:
    """Fit every combination of balance and sharpening that the settings leave open.

    Labels that validate choose the one with the highest accuracy, and ties go to the one under which the crowd's
    labels are most likely; without such labels that likelihood chooses, at the temperature that it prefers itself.
    EM finds the classes and the votes name them; where the workers' counts are clearly more probable under other names,
    EM goes on from those, and validation labels may still choose the fit with the names of the votes.

    Args:
        problem: what is learnt from.
        settings: of space and EM.
        network: makes features from prepared inputs.

    Raises:
        DataError: features hold NaN or infinite values.
    """
    n, device = problem.n_train, problem.device
    network = None if network is None else network.to(device)
    space = _space(problem, settings, network)
    valid, judged = problem.splits["valid"], bool(problem.validated_on) and bool((problem.valid_label >= 0).any())
    seen = {"no": n, "validation": valid.stop, "all": len(problem.order)}[settings.unlabelled]
    x = _coordinates(space, problem, network, max(seen, valid.stop if judged else 0))
    annotations = _annotations(problem, problem.splits["train"])
    labelled, everything = Blocks(x[:n]), Blocks(x[:seen]) if seen > n else None
    checked = torch.from_numpy(problem.valid_label).to(device)
    balances = (_BALANCES if judged else _UNJUDGED) if settings.balance is None else (settings.balance,)
    sharpenings = (_SHARPENINGS if judged else (1.0,)) if settings.sharpening is None else (settings.sharpening,)
    best: tuple[float, float] = (-np.inf, -np.inf)
    for balance, sharpening in itertools.product(balances, sharpenings):
        fit = fit_gaussians(labelled, annotations, settings, balance, sharpening, 0, everything)
        name, fits = _names(annotations, fit, settings), {"votes": fit}
        if name is not None:
            q = fit.posterior[:, torch.from_numpy(np.argsort(name)).to(device)]
            renamed = fit_gaussians(labelled, annotations, settings, balance, sharpening, 0, everything, q)
            fits = {**fits, "evidence": renamed} if judged else {"evidence": renamed}
        for named_by, fit in fits.items():
            right = _accuracy(fit.log_probs(x[valid]), checked) if judged else 0.0
            score = (right, float(fit.log_likelihood[-1]))
            if score > best:
                best, best_fit, chosen = score, fit, (balance, sharpening)
                moved = name if named_by == "evidence" else None
    by = f"validation accuracy ({100 * best[0]:.1f} %)" if judged else f"the labels' likelihood ({best[1]:.3f})"
    n_fits = len(balances) * len(sharpenings)
    shared = f"A share of {best_fit.shared:.2f} of the pairs of labels of one task agree in mistakes (η)."
    notes = [f"Balance {chosen[0]:g} and sharpening {chosen[1]:g} were chosen among {n_fits} fits by {by}. {shared}"]
    if moved is not None:
        notes.append(new_names(problem.dataset.classes, moved))
    held_out = _annotations(problem, valid)
    both = torch.where(torch.bincount(held_out.task, minlength=held_out.n_tasks) > 0, checked, -1)
    if "gold" in problem.validated_on and (n_gold := int((both >= 0).sum())) >= _CALIBRATING:
        power = gold_power(best_fit, best_fit.log_probs(x[valid]), held_out, both)
        basis = f"the gold of {n_gold:,} annotated validation tasks"
    else:
        power = held_out_power(best_fit, labelled, annotations, settings, *chosen, everything)
        basis = "labels that it has not seen"
    if power < 1:
        notes.append(f"The posterior shown is q to the power of {power:g}, calibrated on {basis}.")
    best_fit = _on_host(best_fit)
    split = _SPLITS.decompose(annotations.counts(best_fit.posterior.to(device)).cpu().numpy())
    return Chosen(space.cpu(), best_fit, power, split, tuple(notes), None if network is None else network.cpu())


def _annotations(problem: Problem, tasks: slice) -> Annotations:
    """Annotations of some tasks, renumbered from 0."""
    some = slice(*np.searchsorted(problem.task, (tasks.start, tasks.stop)))
    columns = (problem.task[some] - tasks.start, problem.worker[some], problem.label[some])
    task, worker, label = (torch.from_numpy(np.ascontiguousarray(column)).to(problem.device) for column in columns)
    return Annotations(task, worker, label, tasks.stop - tasks.start, problem.n_workers, problem.n_classes)


def _names(annotations: Annotations, fit: GaussianFit, settings: EmOptions) -> IntArray | None:
    """(C,) other names of the classes under which the workers' counts are clearly more probable, or None."""
    if not settings.rename:
        return None
    name = _SPLITS.class_names(annotations.counts(fit.posterior).cpu().numpy())
    return name if (name != np.arange(len(name))).any() else None


def _space(problem: Problem, settings: GaussianSettings, network: nn.Module | None) -> Space:
    """The space of the training tasks, estimated from a sample if there are many."""
    enough = max(_FEWEST, min(_ENOUGH, _NUMBERS // math.prod(problem.rows.shape[1:])))
    some = np.sort(np.random.default_rng(0).permutation(problem.n_train)[:enough])
    x = torch.cat([_features(problem, network, part) for part in np.split(some, range(_CHUNK, len(some), _CHUNK))])
    if network is not None:
        return fit_space(x, settings.gamma, settings.dimensions, 0)
    prepared = problem.preparation
    shape = (-1, 1, 1) if prepared.image else (-1,)
    mean, scale = (torch.tensor(part, dtype=torch.float32).reshape(shape) for part in (prepared.mean, prepared.scale))
    return fit_space(x, settings.gamma, settings.dimensions, 0, mean, scale)


def _coordinates(space: Space, problem: Problem, network: nn.Module | None, n: int) -> Tensor:
    """(n, D) of the first tasks, computed in float64, so that devices agree, and kept in float32, a chunk at a time."""
    x = torch.empty(n, len(space.offset), device=problem.device)
    for start in range(0, n, _CHUNK):
        tasks = slice(start, min(start + _CHUNK, n))
        x[tasks] = space(_features(problem, network, tasks), torch.float64).float()
    return x


@torch.no_grad()
def _features(problem: Problem, network: nn.Module | None, tasks: slice | IntArray) -> Tensor:
    """(n, …) prepared inputs of some tasks on the device, or the network's output for them."""
    order = problem.order[tasks]
    rows: AnyArray = np.ascontiguousarray(problem.rows[order])
    refuse_not_finite(rows, problem.dataset.task_ids[order])
    inputs = problem.preparation(torch.from_numpy(rows).to(problem.device))
    features: Tensor = inputs if network is None else network(inputs)
    return features


def _on_host(value: Any) -> Any:
    """A tensor, or a dataclass with all its tensors, in the host's memory."""
    if isinstance(value, Tensor):
        return value.cpu()
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{f.name: _on_host(getattr(value, f.name)) for f in fields(value)})
    return value


def _accuracy(log_probs: Tensor, label: Tensor) -> float:
    known = label >= 0
    return float((log_probs[known].argmax(1) == label[known]).double().mean())


class _OnTargets(CrowdMethod):
    """A network alone, on given targets."""

    name: ClassVar[str] = "on-targets"
    learns_confusions: ClassVar[bool] = False

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """Cross-entropy with the targets."""
        assert batch.target is not None
        return {"cross_entropy": cross_entropy(self.log_probs(batch.features), batch.target)}


def without_last_layer(network: nn.Module) -> nn.Module:
    """The network up to what its last linear layer takes, as buffers, so that it is not trained.

    Raises:
        SettingError: it has no such layer inside.
    """
    linear = [name for name, module in network.named_modules() if name and isinstance(module, nn.Linear | Linear)]
    if not linear:
        raise SettingError("alternate", "be 0 for a network without a linear layer", type(network).__name__)
    network.set_submodule(linear[-1], nn.Identity())
    for module in network.modules():
        for name, parameter in list(module.named_parameters(recurse=False)):
            delattr(module, name)
            module.register_buffer(name, parameter.detach())
    return network


def fit_alternating(problem: Problem, settings: GaussianSettings) -> Chosen:
    """Gaussian classes of the inputs; then, ``alternate`` times, a network on their posterior and Gaussian classes of
    its last layer. The networks are trained as the problem's settings say, with seed 0."""
    chosen = choose_gaussians(problem, settings)
    for _ in range(settings.alternate):
        targets = chosen.fit.posterior.numpy().astype(np.float32)
        data = Data(problem, torch.device(problem.device), targets=targets)
        replicas = [Replica(Settings(), 0)]
        outcome = train_stack(data, _OnTargets, replicas, problem.training, lambda epoch, metrics, seconds: False)
        network = make_network(problem.training, problem.input_shape)(problem.n_classes)
        state = {name.removeprefix("classifier."): torch.tensor(v[0]) for name, v in outcome.model.items()}
        network.load_state_dict(state)
        chosen = choose_gaussians(problem, settings, without_last_layer(network).eval())
    return chosen
