"""Forward-backward, Viterbi and conditional random fields over many chains at once.

Each position is one step, vectorised over the chains.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from crowdcore.core.types import AnyArray, BoolArray, FloatArray, IntArray

Emissions: TypeAlias = Callable[[slice], FloatArray]
"""Logarithms of the emissions (m, C) of some elements."""

ELEMENTS = 1 << 16
"""Elements of the chains in a batch, about."""

LOWEST = -600.0
"""Logarithm of a state's share of an element's emission below which it counts as this: nothing may underflow."""


@dataclass(frozen=True, eq=False)
class ChainSums:
    """Result of forward-backward.

    Args:
        posterior: (n, C) P(state) of each element, rows sum to 1.
        first: (C,) expected number of chains that begin in each state.
        pairs: (C, C) expected number of steps from one state to another.
        log_likelihood: of all chains.
    """

    posterior: FloatArray
    first: FloatArray
    pairs: FloatArray
    log_likelihood: float


class _Batch:
    """Some chains, laid out by position so that each step reads one block; methods as those of `Chains`."""

    def __init__(self, start: IntArray) -> None:
        lengths = np.diff(start)
        longest_first = np.argsort(-lengths, kind="stable")
        self.start, self.longest_first = start, longest_first
        running = np.bincount(lengths)[::-1].cumsum()[::-1][1:]  # chains that reach each position
        self.cut = np.concatenate([[0], np.cumsum(running)])
        position = np.repeat(np.arange(len(running)), running)
        chain = np.arange(self.cut[-1]) - self.cut[position]
        self.order = (start[:-1][longest_first][chain] + position).astype(np.int32)

    def _blocks(self, values: AnyArray) -> list[AnyArray]:
        return [values[a:b] for a, b in zip(self.cut[:-1], self.cut[1:], strict=True)]

    def _unordered(self, values: AnyArray) -> AnyArray:
        out = np.empty_like(values)
        out[self.order] = values
        return out

    def forward_backward(
        self,
        log_emission: FloatArray,
        log_first: FloatArray,
        log_move: FloatArray,
        weight: FloatArray | None,
        out: FloatArray | None,
    ) -> ChainSums:
        first, move = np.exp(log_first), np.exp(log_move)
        emission, top = self._emission(log_emission)
        del log_emission  # each of these is as large as a batch
        alpha, scale, log_scale = self._forward(emission, top, first, move)
        heavy = np.ones(len(self.longest_first)) if weight is None else weight[self.longest_first]
        e, a, c = self._blocks(emission), self._blocks(alpha), self._blocks(scale)
        pairs, beta = np.zeros_like(move), np.ones_like(e[-1])
        for t in range(len(e) - 1, 0, -1):
            coming = e[t] * beta / c[t][:, None]
            a[t] *= beta
            before = slice(len(e[t]))
            pairs += a[t - 1][before].T @ (coming * heavy[before, None])
            beta = np.ones_like(e[t - 1])
            beta[before] = coming @ move.T
        a[0] *= beta
        alpha /= alpha.sum(1, keepdims=True)
        if out is not None:
            out[self.order] = alpha
        return ChainSums(alpha[:0] if out is None else out, heavy @ a[0], pairs * move, float(log_scale.sum()))

    def log_partition(self, log_emission: FloatArray, log_first: FloatArray, log_move: FloatArray) -> FloatArray:
        log_scale = self._forward(*self._emission(log_emission), np.exp(log_first), np.exp(log_move))[2]
        sums: FloatArray = np.add.reduceat(self._unordered(log_scale), self.start[:-1])
        return sums

    def _emission(self, log_emission: FloatArray) -> tuple[FloatArray, FloatArray]:
        """By position: the emissions beside the likeliest state's, and the logarithm of that (n, 1)."""
        emission = log_emission[self.order]
        top = emission.max(1, keepdims=True)
        emission -= top
        np.maximum(emission, LOWEST, out=emission)
        return np.exp(emission, out=emission), top

    def _forward(
        self, emission: FloatArray, top: FloatArray, first: FloatArray, move: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """By position: P(state | elements up to here), their scale, and its logarithm."""
        alpha, scale = np.empty_like(emission), np.empty(len(emission))
        e, a, c = self._blocks(emission), self._blocks(alpha), self._blocks(scale)
        for t in range(len(e)):
            a[t][:] = e[t] * (first if t == 0 else a[t - 1][: len(e[t])] @ move)
            c[t][:] = a[t].sum(1)
            a[t] /= c[t][:, None]
        return alpha, scale, np.log(scale) + top[:, 0]

    def most_probable(self, log_emission: FloatArray, log_first: FloatArray, log_move: FloatArray) -> IntArray:
        score = log_emission[self.order]
        del log_emission  # as large again
        back: IntArray = np.zeros(score.shape, np.min_scalar_type(score.shape[1]))
        s, k = self._blocks(score), self._blocks(back)
        s[0][:] += log_first
        for t in range(1, len(s)):
            coming = s[t - 1][: len(s[t]), :, None] + log_move
            k[t][:] = coming.argmax(1)
            s[t][:] += coming.max(1)
        path: IntArray = score.argmax(1).astype(np.int32)  # right where a chain ends
        p = self._blocks(path)
        for t in range(len(s) - 1, 0, -1):
            going = np.arange(len(p[t]))
            p[t - 1][going] = k[t][going, p[t]]
        return np.asarray(self._unordered(path))


class Chains:
    """Chains of different length, processed in batches, which bounds the memory.

    Args:
        start: (n_chains + 1,) offsets; chain s is the elements ``start[s]:start[s + 1]``, at least one.
    """

    def __init__(self, start: IntArray) -> None:
        self.start = start
        edges = np.unique(np.append(np.searchsorted(start, np.arange(0, start[-1], ELEMENTS)), len(start) - 1))
        self._chains = [slice(a, b) for a, b in pairwise(edges)]
        self._elements = [slice(int(start[a]), int(start[b])) for a, b in pairwise(edges)]
        self._batches = [_Batch(start[a : b + 1] - start[a]) for a, b in pairwise(edges)]

    def forward_backward(
        self,
        log_emission: FloatArray,
        log_first: FloatArray,
        log_move: FloatArray,
        weight: FloatArray | None = None,
    ) -> ChainSums:
        """Posterior of every element, and the expected counts behind first states and moves.

        ``p(z) ∝ first[z_1] e_1[z_1] Π_t move[z_{t-1}, z_t] e_t[z_t]``; none of the tables has to be normalised.

        Args:
            log_emission: (n, C), -inf for states that cannot be (e^-600 beside the likeliest).
            log_first: (C,).
            log_move: (C, C) from a row's state to a column's, finite.
            weight: (n_chains,) how often each chain counts in ``first`` and ``pairs``; default once.
        """
        posterior = np.empty_like(log_emission)
        return self.update(posterior, log_emission.__getitem__, log_first, log_move, weight)

    def update(
        self,
        posterior: FloatArray | None,
        log_emission: Emissions,
        log_first: FloatArray,
        log_move: FloatArray,
        weight: FloatArray | None = None,
    ) -> ChainSums:
        """`forward_backward` with emissions computed batch by batch, filling a posterior (n, C).

        Without one, the ``posterior`` of the sums is empty.
        """
        first, pairs, log_likelihood = np.zeros_like(log_first), np.zeros_like(log_move), 0.0
        for chains, elements, batch in zip(self._chains, self._elements, self._batches, strict=True):
            heavy = None if weight is None else weight[chains]
            own = None if posterior is None else posterior[elements]
            sums = batch.forward_backward(log_emission(elements), log_first, log_move, heavy, own)
            first, pairs, log_likelihood = first + sums.first, pairs + sums.pairs, log_likelihood + sums.log_likelihood
        return ChainSums(np.empty((0, len(first))) if posterior is None else posterior, first, pairs, log_likelihood)

    def log_partition(self, log_emission: FloatArray, log_first: FloatArray, log_move: FloatArray) -> FloatArray:
        """(n_chains,) logarithm of the sum over all paths of each chain; arguments as in `forward_backward`."""
        parts = zip(self._elements, self._batches, strict=True)
        return np.concatenate([batch.log_partition(log_emission[at], log_first, log_move) for at, batch in parts])

    def most_probable(
        self, log_emission: FloatArray | Emissions, log_first: FloatArray, log_move: FloatArray
    ) -> IntArray:
        """(n,) states of each chain's most probable path (Viterbi)."""
        emission = log_emission if callable(log_emission) else log_emission.__getitem__
        path: IntArray = np.empty(self.start[-1], np.int32)
        for at, batch in zip(self._elements, self._batches, strict=True):
            path[at] = batch.most_probable(emission(at), log_first, log_move)
        return path


@dataclass(frozen=True, eq=False)
class Crf:
    """Linear-chain conditional random field on sparse features, learnt from expected counts by L-BFGS.

    ``p(z | x) ∝ exp(first[z_1] + Σ_t x_t · weight[:, z_t] + Σ_{t>1} move[z_{t-1}, z_t])``

    Args:
        table: (V + 1 + C, C), the weights of V features, those of the first state, those of moves.
    """

    table: FloatArray

    @classmethod
    def untrained(cls, n_features: int, n_classes: int) -> Crf:
        """Return a field in which all paths are equally likely."""
        return cls(np.zeros((n_features + 1 + n_classes, n_classes)))

    @property
    def first(self) -> FloatArray:
        """(C,) weights of the first state."""
        return np.asarray(self.table[-self.table.shape[1] - 1])

    @property
    def move(self) -> FloatArray:
        """(C, C) weights of moves, from a row's state to a column's."""
        return np.asarray(self.table[-self.table.shape[1] :])

    def scores(self, x: Any) -> FloatArray:
        """(n, C) ``x_t · weight`` of sparse features (n, V)."""
        return np.asarray(x @ self.table[: x.shape[1]])

    def posterior(self, x: Any, chains: Chains) -> FloatArray:
        """(n, C) P(state) of each element."""
        return chains.forward_backward(self.scores(x), self.first, self.move).posterior

    def most_probable(self, x: Any, chains: Chains, forbidden: BoolArray | None = None) -> IntArray:
        """(n,) states of the most probable paths; ``forbidden`` (C + 1, C) are moves, the last row first states."""
        first, move = self.first.copy(), self.move.copy()
        if forbidden is not None:
            first[forbidden[-1]], move[forbidden[:-1]] = -np.inf, -np.inf
        return chains.most_probable(self.scores(x), first, move)

    def learn(self, x: Any, chains: Chains, expected: FloatArray, ridge: float, rounds: int) -> Crf:
        """Take some ascent steps on ``⟨table, expected⟩ - Σ log Z - ridge/2 ‖table‖²``.

        Args:
            x: sparse (n, V) features of the chains' elements.
            chains: of them.
            expected: (V + 1 + C, C) how often each feature has occurred with each state, each state was first, each
                move was made.
            ridge: precision of the normal prior.
            rounds: of L-BFGS at most.

        Returns:
            A field whose objective is no lower.
        """
        from scipy.optimize import minimize  # slow to import

        back = x.T.tocsr()

        def loss(flat: FloatArray) -> tuple[float, FloatArray]:
            crf = Crf(flat.reshape(expected.shape))
            sums = chains.forward_backward(crf.scores(x), crf.first, crf.move)
            slope = np.vstack([back @ sums.posterior, sums.first, sums.pairs]) - expected + ridge * crf.table
            return sums.log_likelihood - float((crf.table * expected).sum()) + ridge / 2 * float(flat @ flat), (
                slope.ravel()
            )

        start = self.table.ravel()
        best = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": rounds})
        return Crf(best.x.reshape(expected.shape)) if best.fun <= loss(start)[0] else self
