"""Markov chains of true tags, workers who confuse them, and words, by variational Bayes: HMM-Crowd and BSC-seq.

Without sentences every task is a chain of its own, so that workers and class shares remain."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, NamedTuple

import numpy as np
import pyarrow as pa
import scipy.sparse
from scipy.special import gammaln, psi

from crowdcore.aggregation._em import ENOUGH, NO_EVIDENCE, EMAggregator, start_posterior, too_few_labels
from crowdcore.aggregation.base import LARGE, AggregationResult
from crowdcore.core.chains import Chains, ChainSums
from crowdcore.core.counts import cell_counts, cells
from crowdcore.core.memory import release_memory
from crowdcore.core.settings import setting
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.encoder import encode
from crowdcore.data.sentences import rows_of
from crowdcore.data.tags import scheme_of, worker_sequences

_BLOCK = 1 << 16  # tokens whose words are looked up at once

NEVER = 0.02
"""Prior count of a move that IOB2 does not allow; unseen, its expected logarithm is about -50."""


class Experts(NamedTuple):
    """Owners of a confusion: workers, or workers after a tag of their own.

    Attributes:
        of: (n_annotations,) expert behind each annotation.
        worker: (n_experts,) worker of each expert.
        prior: (n_experts, C, C) Dirichlet prior of row = true class over column = given class.
    """

    of: IntArray
    worker: IntArray
    prior: FloatArray


class _Rows(NamedTuple):
    """Distributions in rows: expected logarithms, and their part of the objective."""

    log: FloatArray
    objective: float


def _variational(counts: FloatArray, prior: FloatArray) -> _Rows:
    """``E ln θ`` of ``Dir(prior + counts)``, and its ``-KL`` from the prior."""
    given = prior + counts
    total = given.sum(-1, keepdims=True)
    log = psi(given) - psi(total)
    of_prior = gammaln(prior.sum(-1)).sum() - gammaln(prior).sum()
    kl = gammaln(total).sum() - gammaln(given).sum() - of_prior + (counts * log).sum()
    return _Rows(log, -float(kl))


class ChainEM(EMAggregator):
    """EM for true tags that are a Markov chain with Dirichlet-distributed rows of confusions."""

    sequential: ClassVar[bool] = True

    smoothing: float = setting(
        0.1, "Prior count of a confusion", "Dirichlet prior of each entry of a worker's confusions.", gt=0
    )
    diagonal: float = setting(1.0, "Prior count of being right", "Added to the diagonal of that prior.", ge=0)
    move_smoothing: float = setting(1.0, "Prior count of a move", "Prior of each transition between true tags.", gt=0)
    word_smoothing: float = setting(0.1, "Prior count of a word", "Prior of each word given the true tag.", gt=0)
    words: bool = setting(True, "Use words", "Let the true tags depend on the words.")

    @abstractmethod
    def experts(self, dataset: CrowdDataset) -> Experts:
        """Owner of the confusion behind each annotation."""

    def _fit(self, dataset: CrowdDataset, known: IntArray | None, start: AggregationResult | None) -> AggregationResult:
        n_classes, experts = dataset.n_classes, self.experts(dataset)
        evident = dataset.annotated if known is None else dataset.annotated | (known >= 0)
        cut = np.arange(dataset.n_tasks + 1) if dataset.sentences is None else dataset.sentences.start
        kept = np.flatnonzero(np.add.reduceat(evident, cut[:-1]))
        tasks = slice(None) if len(kept) == len(cut) - 1 else rows_of(cut, kept)
        chains = Chains(np.concatenate([[0], np.cumsum(cut[kept + 1] - cut[kept])]))
        cell = cells(experts.of, dataset.label, n_classes)
        n_cells = len(experts.worker) * n_classes
        word, n_words = self._words(dataset, tasks)
        large = 8 * dataset.n_tasks * n_classes >= LARGE
        if large:
            release_memory()  # of looking up the words
        moves = self._move_prior(dataset)
        posterior = start_posterior(dataset, known, start)
        belief = posterior[tasks]  # the posterior itself, unless nobody tagged some sentences
        begin = dataset.task_start
        if len(belief) < len(posterior):  # other tasks have no annotations
            begin = np.append(begin[:-1][tasks], dataset.n_annotations)
        clamped = None if known is None else known[tasks]
        if large:
            release_memory()  # of the start
        sums = _first_sums(belief, chains, np.where(moves == NEVER, -50.0, 0.0))
        log: FloatArray = np.empty((n_cells, n_classes))
        log_word: FloatArray = np.empty((n_words, n_classes))
        path: tuple[FloatArray, FloatArray] = (moves[-1], moves[:-1])

        def confused() -> FloatArray:
            given = cell_counts(begin, cell, belief, n_cells)
            return given.reshape(-1, n_classes, n_classes).transpose(0, 2, 1)

        def log_emission(at: slice) -> FloatArray:
            edge = begin[at.start : at.stop + 1]
            total = _summed(edge - edge[0], cell(slice(int(edge[0]), int(edge[-1]))), log)
            if n_words:
                total += log_word[word[at]]
            _clamp(total, None if clamped is None else clamped[at])
            return total

        def step() -> float:
            nonlocal sums, log, log_word, path
            rows = _variational(confused(), experts.prior)
            first, move = _variational(sums.first, moves[-1]), _variational(sums.pairs, moves[:-1])
            log = rows.log.transpose(0, 2, 1).reshape(n_cells, n_classes)
            objective = rows.objective + first.objective + move.objective
            if n_words:
                text = _variational(
                    _of_words(word, belief, n_words).T, np.full((n_classes, n_words), self.word_smoothing)
                )
                log_word = text.log.T
                objective += text.objective
            path = (first.log, move.log)
            sums = chains.update(belief, log_emission, *path)
            return sums.log_likelihood + objective

        trace = self.iterate(step, dataset.n_annotations)
        if large:
            release_memory()  # of the rounds
        counts = np.zeros((dataset.n_workers, n_classes, n_classes))
        np.add.at(counts, experts.worker, confused())
        prior = experts.prior[np.unique(experts.worker, return_index=True)[1]]
        confusion = counts + prior
        confusion /= confusion.sum(2, keepdims=True)
        confusion[counts.sum(2) < NO_EVIDENCE] = np.nan
        shares = belief.sum(0)
        posterior[tasks] = belief
        notes = too_few_labels(dataset, ENOUGH, n_classes)
        parts = {"confusion": confusion, "counts": counts, "prior": shares / shares.sum(), "notes": notes}
        result = self.result(dataset, posterior, known=known, **parts, **trace._asdict())
        if dataset.sentences is not None:
            result.labels[tasks] = chains.most_probable(log_emission, *path)
            result.labels[~evident] = -1
        return result

    def _words(self, dataset: CrowdDataset, tasks: IntArray | slice) -> tuple[IntArray, int]:
        """(n,) number of each token's word, and how many words there are; none without sentences."""
        if dataset.sentences is None or not self.words:
            return np.empty(0, np.int32), 0
        words = encode(pa.array(dataset.sentences.words[tasks].astype("str"), pa.large_string()))
        return words.codes, len(words.values)

    def _move_prior(self, dataset: CrowdDataset) -> FloatArray:
        """(C + 1, C) prior count of each move; the last row is that of the first tag."""
        moves = np.full((dataset.n_classes + 1, dataset.n_classes), self.move_smoothing)
        scheme = scheme_of(dataset)
        if scheme is not None:
            moves[scheme.invalid] = NEVER
        return moves


def _summed(edge: IntArray, cell: IntArray, log: FloatArray) -> FloatArray:
    """(n, C) sum of ``log[cell]`` over the annotations ``edge[i]:edge[i + 1]`` of each of n tasks."""
    return np.asarray(scipy.sparse.csr_array((np.ones(len(cell)), cell, edge), (len(edge) - 1, len(log))) @ log)


def _of_words(word: IntArray, belief: FloatArray, n_words: int) -> FloatArray:
    """(n_words, C) sum of the beliefs about the tokens of each word, block by block of tokens."""
    total: FloatArray = np.zeros((n_words, belief.shape[1]))
    for at in range(0, len(word), _BLOCK):
        own = word[at : at + _BLOCK]
        seen = scipy.sparse.csr_array((np.ones(len(own)), own, np.arange(len(own) + 1)), (len(own), n_words))
        total += np.asarray(seen.T @ belief[at : at + _BLOCK])
    return total


def _first_sums(posterior: FloatArray, chains: Chains, moves: FloatArray) -> ChainSums:
    """The sums as if neighbours were independent, but for ``moves`` (C + 1, C)."""

    def log_emission(at: slice) -> FloatArray:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(posterior[at] + (posterior[at].sum(1) == 0)[:, None]))

    return chains.update(None, log_emission, moves[-1], moves[:-1])


def _clamp(log_emission: FloatArray, known: IntArray | None) -> None:
    """Leave known tasks no other state, in place."""
    if known is not None:
        at = np.flatnonzero(known >= 0)
        log_emission[at] = -np.inf
        log_emission[at, known[at]] = 0.0


class HMMCrowd(ChainEM):
    """HMM-Crowd: ``p(z, y, v) = Π_t τ[z_{t-1}, z_t] Ω[z_t, v_t] Π_r π^r[z_t, y_t^r]`` over the tokens of a sentence.

    E-step: forward-backward with ``E ln π^r``, ``E ln τ``, ``E ln Ω``; then ``q(π^r_c) = Dir(α + counts)``, and so for
    the rows of τ and Ω (the paper does so for π, and takes the likeliest τ and Ω). Moves that IOB2 does not allow get
    next to no prior. Labels are the most probable path. Without sentences, every task is a sentence of one token.

    Examples:
        >>> import crowdcore as cc
        >>> crowd = cc.data.simulate.tags(n_sentences=200, seed=1)
        >>> votes = cc.aggregation.MajorityVote().fit(crowd)
        >>> f1 = [cc.analysis.tagging_scores(crowd, r.labels).f1 for r in (votes, cc.aggregation.HMMCrowd().fit(crowd))]
        >>> f1[1] > f1[0]
        True
    """

    name: ClassVar[str] = "hmm-crowd"
    title: ClassVar[str] = "HMM-Crowd"
    paper: ClassVar[str] = "Nguyen et al.: Aggregating and Predicting Sequence Labels from Crowd Annotations, ACL 2017"

    def experts(self, dataset: CrowdDataset) -> Experts:
        """The workers."""
        one = self.smoothing + self.diagonal * np.eye(dataset.n_classes)
        prior = np.broadcast_to(one, (dataset.n_workers, *one.shape))
        return Experts(dataset.worker, np.arange(dataset.n_workers), prior)


class BSCSeq(ChainEM):
    """BSC-seq: a worker's tag depends on the true tag and on the worker's own tag before.

    ``p(y_t^r = l | z_t = c, y_{t-1}^r = m) = A^r[c, m, l]``, all rows of A, of the moves between true tags and of the
    words under Dirichlet priors, inferred by variational Bayes (the paper's sections 3 and 4). Moves that IOB2 does
    not allow get next to no prior. Labels are the most probable path. Without sentences no tag stands before another.

    Examples:
        >>> import crowdcore as cc
        >>> result = cc.aggregation.BSCSeq().fit(cc.data.simulate.tags(n_sentences=50, seed=1))
        >>> result.confusion.shape
        (8, 5, 5)
    """

    name: ClassVar[str] = "bsc-seq"
    title: ClassVar[str] = "Bayesian sequence combination"
    paper: ClassVar[str] = "Simpson & Gurevych: A Bayesian Approach for Sequence Tagging with Crowds, EMNLP 2019"

    def experts(self, dataset: CrowdDataset) -> Experts:
        """Each worker after each own tag, and at the start of a sentence (the last of each)."""
        n = dataset.n_classes
        before = np.full(dataset.n_annotations, n)
        if dataset.sentences is not None:
            sequences = worker_sequences(dataset)
            label = dataset.label[sequences.rows]
            before[sequences.rows] = np.where(sequences.first, n, np.roll(label, 1))
        one = np.broadcast_to(self.smoothing + self.diagonal * np.eye(n), (n + 1, n, n)).copy()
        scheme = scheme_of(dataset)
        if scheme is not None:
            one[np.broadcast_to(scheme.invalid[:, None, :], one.shape)] = NEVER
        prior = np.tile(one, (dataset.n_workers, 1, 1))
        return Experts(dataset.worker * (n + 1) + before, np.repeat(np.arange(dataset.n_workers), n + 1), prior)
