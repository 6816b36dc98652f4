"""EM with Gaussian classes and confusions of workers, calibration of its posterior, and the choice of the best fit."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from crowdcore.aggregation._decomposition import Decomposition, first_split, new_names
from crowdcore.aggregation.conal_em import ConalEM
from crowdcore.core.errors import SettingError
from crowdcore.core.settings import Settings
from crowdcore.core.types import AnyArray, IntArray
from crowdcore.learning.base import CrowdMethod
from crowdcore.learning.gaussian.evidence import Annotations
from crowdcore.learning.gaussian.space import Blocks, Classes, Space, fit_space
from crowdcore.learning.method_settings import EmOptions, GaussianSettings
from crowdcore.learning.networks.layers import Linear
from crowdcore.learning.networks.network import make_network
from crowdcore.learning.networks.ops import cross_entropy, log_softmax, softmax
from crowdcore.learning.settings import execution
from crowdcore.learning.training.data import Batch, Data
from crowdcore.learning.training.inputs import refuse_not_finite
from crowdcore.learning.training.loop import Replica, Stage
from crowdcore.learning.training.problem import Problem
from crowdcore.learning.training.trainer import train_stack
from crowdcore.learning.validation import by_gold

_POWERS = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)
_SMALLEST = 1e-300
_DRAWS, _ROUNDS = 2, 10  # labels of every task that are held out, one at a time, and rounds of EM without them
_FEWEST, _MOST = 20, 4096  # fewest tasks with several labels, and most tasks, for which labels are held out

_TEMPERATURES = (0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.85, 1.0)
_BALANCING = 15  # steps of the biases towards the wanted class shares
_ENOUGH = 10_000  # tasks to estimate temperature, biases and the space from
_FEW = 100_000  # numbers up to which all temperatures are tried at once


@dataclass(frozen=True, eq=False)
class GaussianFit:
    """Result of the EM.

    Args:
        classes: fitted on all tasks.
        temperature: T.
        bias: (C,) log prior.
        posterior: (n, C) q of the annotated tasks.
        confusion: (R, C, C) of the workers.
        shared: η.
        log_likelihood: (rounds,) mean over annotated tasks of ``log Σ_c p_i(c) Π_r π^{r,-i}[c, y_i^r]``, out of fold.
    """

    classes: Classes
    temperature: float
    bias: Tensor
    posterior: Tensor
    confusion: Tensor
    shared: float
    log_likelihood: Tensor

    def log_probs(self, x: Tensor) -> Tensor:
        """log p of tasks in the space, (n, D) -> (n, C)."""
        return log_softmax(self.temperature * self.classes.scores(x) + self.bias)


def fit_gaussians(
    labelled: Blocks,
    annotations: Annotations,
    settings: EmOptions,
    balance: float,
    sharpening: float,
    seed: int,
    everything: Blocks | None = None,
    start: Tensor | None = None,
) -> GaussianFit:
    """Rounds of EM.

    Classes are fitted on annotated tasks with weights q and, from the second round on, on unlabelled ones with weights
    p. E-step: ``q_i ∝ exp(T s_i + b) Π_r π^{r,-i}[·, y_i^r]^w_i`` with scores s out of random folds, T of the grid that
    makes the labels most likely (times `sharpening`), b that pulls class shares towards balance, and
    ``w_i = 1 / (1 + (m_i - 1) η)`` for m_i labels of workers who share mistakes.

    Args:
        labelled: annotated tasks in the space.
        annotations: of those tasks.
        settings: of the EM.
        balance: ρ.
        sharpening: factor of the temperature.
        seed: of the folds.
        everything: the annotated tasks, then tasks without labels.
        start: (n, C) the first q; default: vote shares.
    """
    n, shuffle = len(labelled.x), torch.Generator().manual_seed(seed)
    q = annotations.votes() if start is None else start
    history, shared = [], settings.shared or 0.0
    counts, pseudo = annotations.counts(q), (settings.smoothing, settings.pooling)
    blocks, soft = labelled, q  # unlabelled tasks have no weights before the second round
    for _ in range(settings.rounds):
        scores = blocks.out_of_fold(soft, settings.shrinkage, settings.folds, shuffle)
        every = annotations.log_evidence(q, counts, annotations.prior(counts, *pseudo))
        evidence = annotations.weight(shared) * every
        agreed = _temperature(scores[:n], evidence)
        temperature = sharpening * agreed
        logits = temperature * scores
        bias = _bias(logits, evidence, balance)
        log_p = log_softmax(logits + bias)
        history.append(torch.logsumexp(log_p[:n] + every, 1).mean())
        q = softmax(log_p[:n] + evidence)
        counts = annotations.counts(q)
        confusion = annotations.confusion(counts, *pseudo)
        if settings.shared is None:
            shared = annotations.shared_mistakes(softmax(agreed * scores[:n] + bias), confusion)
        soft = q
        if everything is not None:
            first = blocks is labelled
            unseen = labelled.fit(q, settings.shrinkage).scores(everything.x[n:]) if first else scores[n:]
            blocks, soft = everything, torch.cat([q, softmax(temperature * unseen + bias)])
    return GaussianFit(
        blocks.fit(soft, settings.shrinkage),
        temperature,
        bias,
        q,
        confusion,
        shared,
        torch.stack(history),
    )


def _temperature(scores: Tensor, evidence: Tensor) -> float:
    """Temperature at which features explain the labels best."""
    scores, evidence = _thinned(scores), _thinned(evidence)
    at_once = max(1, _FEW // scores.numel())  # for small crowds a call costs more than its arithmetic
    likelihood = [
        torch.logsumexp(log_softmax(some * scores) + evidence, 2).mean(1)
        for some in torch.split(scores.new_tensor(_TEMPERATURES).view(-1, 1, 1), at_once)
    ]
    return _TEMPERATURES[int(torch.cat(likelihood).argmax())]


def _bias(logits: Tensor, evidence: Tensor, balance: float) -> Tensor:
    """(C,) log prior that moves class shares by a part ρ towards equal shares."""
    n_classes = logits.shape[1]
    bias = logits.new_zeros(n_classes)
    if balance == 0:
        return bias
    informed = logits.clone()
    informed[: len(evidence)] += evidence
    informed = _thinned(informed)
    wanted = ((1 - balance) * softmax(informed).mean(0) + balance / n_classes).log()
    for _ in range(_BALANCING):
        bias = bias + wanted - softmax(informed + bias).mean(0).clamp_min(1e-6).log()
    return bias


def _thinned(rows: Tensor) -> Tensor:
    """At most `_ENOUGH` evenly spaced rows."""
    return rows[:: max(1, len(rows) // _ENOUGH)]


def held_out_power(
    fit: GaussianFit,
    labelled: Blocks,
    annotations: Annotations,
    settings: EmOptions,
    balance: float,
    sharpening: float,
    everything: Blocks | None = None,
) -> float:
    """β ≤ 1 under which labels are most likely given the posterior of their task by EM without them, to the power of β.

    A random label of every task that has several is held out, EM goes on without these labels from the fit, and
    ``Σ log Σ_c q_i(c)^β / Z_i · π^r[c, y_i^r]`` is summed over them, then over as many other ones. Where few tasks have
    several labels, or tasks are so many that one label hardly moves the classes, `posterior_power` is used. Arguments
    after the fit, whose posterior is too sure, are those it was fitted with.
    """
    if annotations.n_tasks > _MOST or int(annotations.one_of_each_task(0).sum()) < _FEWEST:
        return posterior_power(fit, annotations, settings)
    likelihood = fit.posterior.new_zeros(len(_POWERS))
    shorter = settings.model_copy(update={"rounds": min(settings.rounds, _ROUNDS)})
    for draw in range(_DRAWS):
        out = annotations.one_of_each_task(draw)
        rest = annotations.where(~out)
        without = fit_gaussians(labelled, rest, shorter, balance, sharpening, 0, everything, fit.posterior)
        log_q = without.posterior.clamp_min(_SMALLEST).log()[annotations.task[out]]
        given = without.confusion[annotations.worker[out], :, annotations.label[out]].log()
        terms = [torch.logsumexp(log_softmax(power * log_q) + given, 1).sum() for power in _POWERS]
        likelihood += torch.stack(terms)
    return _POWERS[int(likelihood.argmax())]


def posterior_power(fit: GaussianFit, annotations: Annotations, settings: EmOptions) -> float:
    """β ≤ 1 under which labels are most likely given the posterior of their task without them, to the power of β.

    Maximises ``Σ_(i,r) log Σ_c q_i^{-r}(c)^β / Z_i^r · π^{r,-i}[c, y_i^r]``. The most probable class stays the same.
    The Gaussian classes have seen these labels, so that β is too large where tasks are few.
    """
    q, prior, features = fit.posterior, *_backed_out(fit, annotations, settings)
    likelihood = q.new_zeros(len(_POWERS))
    for *_, terms, rest in annotations.without_each(q, features, prior, fit.shared):
        for k, power in enumerate(_POWERS):
            likelihood[k] += torch.logsumexp(log_softmax(power * rest) + terms, 1).sum()
    return _POWERS[int(likelihood.argmax())]


def _backed_out(fit: GaussianFit, annotations: Annotations, settings: EmOptions) -> tuple[Tensor, Tensor]:
    """Pseudo-counts of the fit's confusions, and (n, C) log evidence of the features in its posterior."""
    counts = annotations.counts(fit.posterior)
    prior = annotations.prior(counts, settings.smoothing, settings.pooling)
    evidence = annotations.weight(fit.shared) * annotations.log_evidence(fit.posterior, counts, prior)
    return prior, fit.posterior.clamp_min(_SMALLEST).log() - evidence


def gold_power(fit: GaussianFit, log_p: Tensor, annotations: Annotations, gold: Tensor) -> float:
    """β ≤ 1 under which the gold of tasks that EM has not seen is most likely, ``Σ_i log q_i(gold_i)^β / Z_i``.

    Args:
        fit: fit whose posterior is too sure.
        log_p: (n, C) of the features of these tasks.
        annotations: their annotations.
        gold: (n,) true class, -1 = unknown.
    """
    terms = fit.confusion[annotations.worker, :, annotations.label].log()
    evidence = torch.zeros_like(log_p).index_add_(0, annotations.task, terms)
    known = torch.nonzero(gold >= 0).squeeze(1)
    log_q = (log_p + annotations.weight(fit.shared) * evidence)[known]
    likelihood = [log_softmax(power * log_q).gather(1, gold[known].unsqueeze(1)).sum() for power in _POWERS]
    return _POWERS[int(torch.stack(likelihood).argmax())]


_SPLITS = ConalEM()  # splits counts and names classes with its default priors
_BALANCES, _SHARPENINGS = (0.0, 0.3, 0.5), (1.0, 1.5)
_UNJUDGED = (0.15, 0.3, 0.5)  # balances where only labels choose, which reward shares that drift to shared mistakes
_NUMBERS, _LEAST = 20_000_000, 2_000  # numbers in tasks, and tasks at least, to estimate the space from
_CALIBRATING = 20  # fewest annotated tasks with gold that calibrate the posterior
_CHUNK = 4096  # tasks at a time


@dataclass(frozen=True, eq=False)
class Chosen:
    """The chosen fit.

    Args:
        space: space of its classes.
        fit: classes, posterior, confusions.
        power: β of the posterior q^β that is as sure as gold or labels that it has not seen allow.
        split: the workers' confusions as a common one and their own.
        counts: (R, C, C) labels of each worker by class, each against the posterior without it.
        balance, sharpening: of the fit.
        n_fits: number of fits that were tried.
        score: accuracy on labels that validate, NaN without such; and mean log-likelihood of the crowd's labels.
        basis: labels that calibrated the posterior, in words.
        renamed: a sentence on classes with other names than the votes give, or "".
        network: makes the features of the space from inputs; None: inputs are the features.
    """

    space: Space
    fit: GaussianFit
    power: float
    split: Decomposition
    counts: Tensor
    balance: float
    sharpening: float
    n_fits: int
    score: tuple[float, float]
    basis: str
    renamed: str = ""
    network: nn.Module | None = None

    @property
    def posterior(self) -> Tensor:
        """(n, C) calibrated posterior of the annotated tasks."""
        return softmax(self.power * self.fit.posterior.clamp_min(1e-300).log())


def notes_on(fits: Sequence[Chosen]) -> tuple[str, ...]:
    """Notes on the choice of the fits of some seeds, and on classes with other names than the votes give."""
    right, likelihood = np.transpose([one.score for one in fits])
    by = f"the labels' likelihood ({_span(likelihood, '.3f')})"
    by = by if np.isnan(right).any() else f"validation accuracy ({_span(100 * right, '.1f')} %)"
    counted = Counter(f"Balance {one.balance:g} and sharpening {one.sharpening:g}" for one in fits).most_common()
    seeds = [f" for {n} of {len(fits)} seeds" if len(counted) > 1 else "" for _, n in counted]
    chosen = "; ".join(words + of_seeds for (words, _), of_seeds in zip(counted, seeds, strict=True))
    shared = _span([one.fit.shared for one in fits], ".2f")
    notes = [
        f"{chosen} were chosen among {fits[0].n_fits} fits by {by}. A share of {shared} of the pairs of labels of one "
        "task agree in mistakes (η)."
    ]
    renamed = Counter(one.renamed for one in fits if one.renamed)
    notes += [note if n == len(fits) else f"{note} So in {n} of {len(fits)} seeds." for note, n in renamed.items()]
    if (least := min(one.power for one in fits)) < 1:
        powers = _span([one.power for one in fits], "g")
        basis = next(one.basis for one in fits if one.power == least)
        notes.append(f"The posterior shown is q to the power of {powers}, calibrated on {basis}.")
    return tuple(notes)


def _span(values: AnyArray | Sequence[float], digits: str) -> str:
    """Least and largest value, or one number where both read alike."""
    return " to ".join(dict.fromkeys(f"{end:{digits}}" for end in (min(values), max(values))))


@torch.no_grad()
def choose_gaussians(
    problem: Problem, settings: GaussianSettings, seed: int = 0, network: nn.Module | None = None
) -> Chosen:
    """Fit every combination of balance and sharpening that the settings leave open.

    Labels that validate choose the one with the highest accuracy, and ties go to the one under which the crowd's
    labels are most likely; without such labels that likelihood chooses, at the temperature that it prefers itself.
    EM finds the classes and the votes name them; where the workers' counts are clearly more probable under other names,
    EM goes on from those, and validation labels may still choose the fit with the names of the votes.

    Args:
        problem: the data to learn from.
        settings: settings of space and EM.
        seed: seed of landmarks, blocks and folds.
        network: makes features from prepared inputs.

    Raises:
        DataError: features hold NaN or infinite values.
    """
    n, device, brief = problem.n_train, problem.device, execution().brief
    network = None if network is None else network.to(device)
    space = _space(problem, settings, seed, network)
    valid = problem.splits["valid"]
    judged = bool(problem.validated_on) and bool((problem.valid_label >= 0).any())
    seen = {"no": n, "validation": valid.stop, "all": len(problem.order)}[settings.unlabelled]
    x = _coordinates(space, problem, network, max(seen, valid.stop if judged else 0))
    annotations = _annotations(problem, problem.splits["train"])
    labelled = Blocks(x[:n], seed)
    everything = Blocks(x[:seen], seed) if seen > n else None
    checked = torch.from_numpy(problem.valid_label).to(device)
    balances = (_BALANCES if judged else _UNJUDGED) if settings.balance is None else (settings.balance,)
    sharper = _SHARPENINGS if judged and not brief else (1.0,)
    sharpenings = sharper if settings.sharpening is None else (settings.sharpening,)
    best: tuple[float, float] = (-np.inf, -np.inf)
    for balance, sharpening in itertools.product(balances, sharpenings):
        fit = fit_gaussians(labelled, annotations, settings, balance, sharpening, seed, everything)
        fits = {"votes": fit}
        if (name := _names(annotations, fit, settings)) is not None:
            q = fit.posterior[:, torch.from_numpy(np.argsort(name)).to(device)]
            renamed = fit_gaussians(labelled, annotations, settings, balance, sharpening, seed, everything, q)
            fits = {**fits, "evidence": renamed} if judged else {"evidence": renamed}
        for named_by, fit in fits.items():
            right = (
                float((fit.log_probs(x[valid]).argmax(1) == checked)[checked >= 0].double().mean()) if judged else 0.0
            )
            score = (right, float(fit.log_likelihood[-1]))
            if score > best:
                best, best_fit, chosen = score, fit, (balance, sharpening)
                moved = name if named_by == "evidence" else None
    held_out = _annotations(problem, valid)
    both = torch.where(torch.bincount(held_out.task, minlength=held_out.n_tasks) > 0, checked, -1)
    power, basis = 1.0, ""
    if not brief and by_gold(problem.validated_on) and (n_gold := int((both >= 0).sum())) >= _CALIBRATING:
        power = gold_power(best_fit, best_fit.log_probs(x[valid]), held_out, both)
        basis = f"the gold of {n_gold:,} annotated validation tasks"
    elif not brief:
        power = held_out_power(best_fit, labelled, annotations, settings, *chosen, everything)
        basis = "labels that it has not seen"
    prior, features = _backed_out(best_fit, annotations, settings)
    counts, _ = annotations.left_out(best_fit.posterior, features, prior, best_fit.shared)
    best_fit = _on_host(best_fit)
    of_workers = annotations.counts(best_fit.posterior.to(device)).cpu().numpy()
    split = first_split(of_workers, 1, _SPLITS.priors) if brief else _SPLITS.decompose(of_workers)
    return Chosen(
        space.cpu(),
        best_fit,
        power,
        split,
        counts.cpu(),
        *chosen,
        n_fits=len(balances) * len(sharpenings),
        score=best if judged else (np.nan, best[1]),
        basis=basis,
        renamed="" if moved is None else new_names(problem.dataset.classes, moved),
        network=None if network is None else network.cpu(),
    )


def _annotations(problem: Problem, tasks: slice) -> Annotations:
    """Annotations of some tasks, renumbered from 0."""
    part = slice(*np.searchsorted(problem.task, (tasks.start, tasks.stop)))
    columns = (problem.task[part] - tasks.start, problem.worker[part], problem.label[part])
    task, worker, label = (torch.from_numpy(np.ascontiguousarray(column)).to(problem.device) for column in columns)
    return Annotations(task, worker, label, tasks.stop - tasks.start, problem.n_workers, problem.n_classes)


def _names(annotations: Annotations, fit: GaussianFit, settings: EmOptions) -> IntArray | None:
    """(C,) other names of the classes under which the workers' counts are clearly more probable, or None."""
    if not settings.rename:
        return None
    name = _SPLITS.class_names(annotations.counts(fit.posterior).cpu().numpy())
    return name if (name != np.arange(len(name))).any() else None


def _space(problem: Problem, settings: GaussianSettings, seed: int, network: nn.Module | None) -> Space:
    """Fit the space of the training tasks, or of a sample, which is the same for all seeds, as shapes must be."""
    enough = max(_LEAST, min(_ENOUGH, _NUMBERS // math.prod(problem.rows.shape[1:])))
    sample = np.sort(np.random.default_rng(0).permutation(problem.n_train)[:enough])
    chunks = np.split(sample, range(_CHUNK, len(sample), _CHUNK))
    x = torch.cat([_features(problem, network, chunk) for chunk in chunks])
    if network is not None:
        return fit_space(x, settings.gamma, settings.dimensions, seed)
    prepared = problem.preparation
    shape = (-1, 1, 1) if prepared.image else (-1,)
    mean, scale = (torch.tensor(part, dtype=torch.float32).reshape(shape) for part in (prepared.mean, prepared.scale))
    return fit_space(x, settings.gamma, settings.dimensions, seed, mean, scale)


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
    """Move a tensor, or all tensors of a dataclass, to the host's memory."""
    if isinstance(value, Tensor):
        return value.cpu()
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{f.name: _on_host(getattr(value, f.name)) for f in fields(value)})
    return value


class _OnTargets(CrowdMethod):
    """A network alone, on given targets."""

    name: ClassVar[str] = "on-targets"
    learns_confusions: ClassVar[bool] = False

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """Cross-entropy with the targets."""
        assert batch.target is not None
        return {"cross_entropy": cross_entropy(self.log_probs(batch.features), batch.target)}


def without_last_layer(network: nn.Module) -> nn.Module:
    """Cut a network before its last linear layer; its parameters become buffers, so that it is not trained.

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


def fit_alternating(problem: Problem, settings: GaussianSettings, seed: int) -> Chosen:
    """Fit Gaussian classes of the inputs; then, ``alternate`` times, train a network on their posterior and fit
    Gaussian classes of its last layer. Networks are trained with the problem's settings and the same seed."""
    chosen = choose_gaussians(problem, settings, seed)
    for _ in range(settings.alternate):
        targets = chosen.fit.posterior.numpy().astype(np.float32)
        data = Data(problem, torch.device(problem.device), targets=targets)
        outcome = train_stack(Stage(data, [Replica(Settings(), seed)], problem.training), _OnTargets)
        network = make_network(problem.training, problem.input_shape)(problem.n_classes)
        state = {name.removeprefix("classifier."): torch.tensor(v[0]) for name, v in outcome.model.items()}
        network.load_state_dict(state)
        chosen = choose_gaussians(problem, settings, seed, without_last_layer(network).eval())
    return chosen
