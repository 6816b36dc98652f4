"""CoNAL-EM: common and individual confusions estimated without features."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np

from crowdcore.aggregation._decomposition import (
    Decomposition,
    Priors,
    common_share,
    first_split,
    improve,
    is_named,
    log_prior,
    mixed,
    name_by_evenness,
    name_by_votes,
    new_names,
    regroup,
)
from crowdcore.aggregation._em import (
    NO_EVIDENCE,
    ConfusionEM,
    ConfusionParameters,
    Engine,
    Fitted,
    class_shares,
    label_table,
    start_posterior,
    too_few_labels,
)
from crowdcore.aggregation.base import AggregationResult
from crowdcore.core.em import LabelTable, Sums
from crowdcore.core.errors import DataError
from crowdcore.core.settings import setting
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset

_STEPS = 30  # closed-form updates of the split per pass over the annotations
_PASSES, _STILL = 20, 1e-5  # at most so many times, or until no cell of the common confusion moves more
_COARSE = 1e-4  # gain in nats per annotation and iteration at which a random start is first compared
_HOPELESS = 0.03  # nats per annotation behind the best from which it is abandoned
_MARGIN = 1e-3  # nats per annotation that a further start must gain over the votes
_DOUBT = 5.0  # nats of evidence per class that another name needs
_BLOCK = 1 << 20  # annotations whose ω is computed at once
_FEW = 20  # labels per worker and class that the split should rest on


class ConalParameters(NamedTuple):
    """Parameters of CoNAL-EM.

    Attributes:
        split: common and own confusions, ω, groups.
        prior: (C,) class shares.
        log_prior_density: of both, up to a constant.
        name: (C,) final class of each class of the start
    """

    split: Decomposition
    prior: FloatArray
    log_prior_density: float
    name: IntArray

    def logs(self) -> tuple[FloatArray, FloatArray]:
        """(n_workers * C, C) log confusion in the layout of `Sums.counts`, and (C,) log prior."""
        confusion = mixed(self.split).transpose(0, 2, 1)
        with np.errstate(divide="ignore"):  # a class that no task has
            return np.log(confusion.reshape(-1, confusion.shape[2])), np.log(self.prior)


class ConalEM(ConfusionEM):
    """Common and individual confusions and ω by exact EM (the appendix B of CoNAL, without features).

    An annotation is drawn from the common confusion with probability ω, else from the worker's own:
    ``p(y | z = c, r) = ω_rc π^g[c, y] + (1 - ω_rc) π^r[c, y]``, and ``q_i(c) ∝ ρ_c Π_r p(y_i^r | c, r)``.

    **ω.** The paper's ω_i^r is a network of features. Without them an ω per annotation would be its own
    responsibility and run to 0 or 1, so it is one number per worker and true class: the annotations then enter the
    M-step only through expected counts ``n_rcl = Σ_i q_i(c) 1[y_i^r = l]``, and a pass costs what one of
    Dawid–Skene costs. The result's ``omega`` is the posterior ``P(s_i^r = 1 | all annotations)``.

    **EM.** Given z, the sources s are independent, so the E-step is exact: ``a_rcl = n_rcl · ω π^g / (ω π^g +
    (1 - ω) π^r)`` is taken jointly with z (the paper takes both marginally, which need not raise the likelihood).
    M-step: ``π^g_c ∝ Σ_r a_rc``, ``ω_rc = Σ_l a_rcl / Σ_l n_rcl``, ``π^r_c ∝ n_rc - a_rc``, with the priors below.
    ``log_likelihood`` is the log-likelihood plus the log prior density; it never falls.

    **Priors.** Any split of a worker's confusion has the same likelihood, so priors must choose:
    ``common_prior`` credits the common confusion with what both could explain; own mistakes may go anywhere, but
    own accuracies on a class are drawn to a mean μ_c that is learnt, ``π^r_cc ~ Beta(κ_c μ_c, κ_c (1 - μ_c))`` on the
    logit scale, with a κ_c (``accuracy_prior``) that by default is as large as the spread of the workers' accuracies
    allows; and the common accuracy is drawn to the same mean by ``accuracy_tie``: right answers alone do not tell
    where they came from, mistakes do.

    **Start.** Dawid–Skene from the votes and from ``restarts`` random confusions (the likeliest is kept). It finds
    the classes but not their names: where a shared mistake is more frequent than the truth, the votes misname
    them. With ``rename`` a class is renamed if the workers' counts are clearly more probable so, truths being given
    evenly and mistakes unevenly by the workers. Known tasks or an earlier result fix the names.

    **Groups.** With ``groups`` > 1 each worker shares the common confusion of one of G groups, chosen jointly.

    ``confusion`` and ``counts`` of the result are the workers' own part.
    """

    name: ClassVar[str] = "conal-em"
    title: ClassVar[str] = "CoNAL-EM (common and individual confusions)"
    restarts_in_run: ClassVar[bool] = True
    paper: ClassVar[str] = "Chu, Ma & Wang, AAAI 2021, appendix B, arXiv:2012.13052"

    max_iterations: int = setting(200, "Iterations at most", "Maximum number of iterations.", ge=1)
    groups: int = setting(1, "Groups of workers", "Groups, each with its own common confusion.", ge=1, le=20)
    common_prior: float = setting(
        1.0,
        "Prior of the common confusion (labels)",
        "Annotations credited to the common confusion per worker and class.",
        gt=0,
        le=1000,
    )
    accuracy_prior: float | None = setting(
        None,
        "Prior of own accuracies (labels)",
        "Annotations by which own accuracies on a class shrink to their mean; empty: from their spread.",
        gt=0,
        le=10_000,
    )
    accuracy_tie: float = setting(
        3.0,
        "Tie of the common accuracy (labels per worker)",
        "Annotations per worker by which the common accuracy is shrunk towards that mean.",
        gt=0,
        le=10_000,
    )
    smoothing: float = setting(
        0.01, "Smoothing (labels)", "Added to the counts of common labels and of own mistakes.", gt=0
    )
    restarts: int = setting(3, "Random restarts", "Random starts of Dawid–Skene besides the votes.", ge=0, le=1000)
    rename: bool = setting(
        True, "Rename classes by the evidence", "Let the evidence rename classes if most workers share a mistake."
    )

    @property
    def priors(self) -> Priors:
        """The priors of the split."""
        return Priors(self.common_prior, self.accuracy_prior, self.accuracy_tie, self.smoothing)

    def decompose(self, counts: FloatArray) -> Decomposition:
        """Common and own confusions of one group, and ω, of given counts.

        Args:
            counts: (n_workers, C, C) expected number of labels, row = true class.
        """
        split = first_split(counts, 1, self.priors)
        for _ in range(_PASSES):
            before, split = split.common, improve(split, counts, self.priors, _STEPS)
            if np.abs(split.common - before).max() < _STILL:
                break
        return split

    def class_names(self, counts: FloatArray) -> IntArray:
        """(C,) name of each class by the evidence of counts as in `decompose`."""
        return name_by_evenness(counts, _DOUBT)

    def m_step(self, sums: Sums, n_workers: int, before: ConalParameters | None = None) -> ConalParameters:
        """Improve the split of the counts, from its start where there is none before."""
        counts = sums.by_class(n_workers)
        if before is None:
            before = self._parameters(first_split(counts, self.groups, self.priors), sums)
        split = improve(before.split, counts, self.priors, _STEPS)
        if self.groups > 1:
            split = regroup(split, counts, self.priors)
        return self._parameters(split, sums)

    def run(self, engine: Engine, n_workers: int, named: bool = False) -> Fitted:
        """Find the classes and their names (unless ``named``), then exact EM; see `SumsEM.run`."""
        if named:
            return super().run(engine, n_workers)
        sums, name = self._find_classes(engine, n_workers)
        fitted = self.iterate_from(engine, n_workers, sums, self.m_step)
        return fitted._replace(parameters=fitted.parameters._replace(name=name))

    def _parameters(self, split: Decomposition, sums: Sums) -> ConalParameters:
        prior, density = class_shares(sums, self.prior_smoothing)
        return ConalParameters(split, prior, density + log_prior(split, self.priors), np.arange(len(prior)))

    def _find_classes(self, engine: Engine, n_workers: int) -> tuple[Sums, IntArray]:
        """Sums of the best Dawid–Skene run under their final names, and the final names of the votes' classes."""
        votes = engine.start()
        n_classes, used = len(votes.classes), votes.classes > 0
        sums, best_value = self._free_run(engine, n_workers, votes)
        best, best_name = self._named(sums, np.arange(n_classes), n_workers)
        coarse = self.model_copy(update={"tolerance": max(_COARSE, self.tolerance)})
        rng = np.random.default_rng(self.seed)
        for _ in range(self.restarts):
            shared = 0.9 * rng.dirichlet(np.ones(n_classes), n_classes).T + 0.1 / n_classes
            confusion = np.broadcast_to(shared, (n_workers, n_classes, n_classes))
            sums = engine.step(ConfusionParameters(confusion, used / used.sum(), 0.0))
            sums, value = coarse._free_run(engine, n_workers, sums)
            if value < best_value - _HOPELESS * engine.n_annotations:
                continue
            sums, value = self._free_run(engine, n_workers, sums)
            if value > best_value + _MARGIN * engine.n_annotations:
                sums, name = self._named(sums, name_by_votes(sums.by_class(n_workers)), n_workers)
                if is_named(sums.by_class(n_workers)):
                    best, best_name, best_value = sums, name, value
        return best, best_name

    def _named(self, sums: Sums, by_votes: IntArray, n_workers: int) -> tuple[Sums, IntArray]:
        """Sums under the names by votes, or by evidence if renaming is on; and the new names."""
        sums = _renamed(sums, by_votes)
        if not self.rename:
            return sums, np.arange(len(by_votes))
        name = self.class_names(sums.by_class(n_workers))
        return _renamed(sums, name), name

    def _free_run(self, engine: Engine, n_workers: int, sums: Sums) -> tuple[Sums, float]:
        """Dawid–Skene from given sums: final sums and objective."""
        fitted = self.iterate_from(engine, n_workers, sums, super().m_step)
        return fitted.sums, float(fitted.trace.log_likelihood[-1])

    def parts(self, parameters: Any, sums: Sums) -> dict[str, Any]:
        """Common and own confusions, own counts, prior, groups; worker weight = accuracy of both together."""
        split = _ordered(parameters.split)
        counts = sums.by_class(len(split.own))
        own_counts = counts * (1 - common_share(split))
        idle = counts.sum((1, 2)) < NO_EVIDENCE
        own = split.own.copy()
        own[own_counts.sum(2) < NO_EVIDENCE] = np.nan
        accuracy = mixed(split).diagonal(axis1=1, axis2=2) @ parameters.prior
        return {
            "confusion": own,
            "counts": own_counts,
            "prior": parameters.prior,
            "common_confusion": split.common if self.groups > 1 else split.common[0],
            "worker_weight": np.where(idle, np.nan, accuracy),
            "group": np.where(idle, -1, split.group).astype(np.int32) if self.groups > 1 else None,
        }

    def notes(self, dataset: CrowdDataset) -> tuple[str, ...]:
        """Warn if the split of most workers rests on few labels."""
        return too_few_labels(dataset, _FEW, dataset.n_classes)

    def _fit(self, dataset: CrowdDataset, known: IntArray | None, start: AggregationResult | None) -> AggregationResult:
        if dataset.n_classes < 2:
            raise DataError(f"{dataset.name} has one class only", "There is nothing to confuse.")
        table = label_table(dataset, known)
        named = start is not None or (known is not None and bool((known >= 0).any()))
        engine = self.engine(table, start_posterior(dataset, known, start))
        fitted = self.run(engine, dataset.n_workers, named)
        posterior, name = engine.posterior, fitted.parameters.name
        renamed = (new_names(dataset.classes, name),) if (name != np.arange(len(name))).any() else ()
        return self.result(
            dataset,
            posterior,
            known=known,
            omega=_omega(table, dataset.task, posterior, fitted.parameters.split),
            notes=(*renamed, *self.notes(dataset)),
            **self.parts(fitted.parameters, fitted.sums),
            **fitted.trace._asdict(),
        )


def _renamed(sums: Sums, name: IntArray) -> Sums:
    """Rename class k of the sums to ``name[k]``."""
    old = np.argsort(name)
    return sums._replace(counts=sums.counts[:, old], classes=sums.classes[old])


def _ordered(split: Decomposition) -> Decomposition:
    """Order groups by size, largest first (among equals the more accurate common confusion)."""
    size = np.bincount(split.group[split.active], minlength=len(split.common))
    order = np.lexsort((-split.common.trace(axis1=1, axis2=2), -size))
    return split._replace(common=split.common[order], group=np.argsort(order)[split.group])


def _omega(table: LabelTable, task: IntArray, posterior: FloatArray, split: Decomposition) -> FloatArray:
    """(n_annotations,) ``P(s = 1) = Σ_c q_i(c) · share of the common confusion in p(y_i^r | c, r)``."""
    share = common_share(split).transpose(0, 2, 1).reshape(-1, split.own.shape[2])
    omega = np.empty(table.n_annotations)
    for first in range(0, table.n_annotations, _BLOCK):
        part = slice(first, first + _BLOCK)
        omega[part] = np.einsum("ac,ac->a", posterior[task[part]], share[table.cell[part]])
    return omega
