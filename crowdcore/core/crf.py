"""Linear-chain conditional random field on sparse features, learnt from expected counts by L-BFGS."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize

from crowdcore.core.chains import Chains
from crowdcore.core.types import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Crf:
    """``p(z | x) ∝ exp(first[z_1] + Σ_t x_t · weight[:, z_t] + Σ_{t>1} move[z_{t-1}, z_t])``.

    Args:
        table: (V + 1 + C, C), the weights of V features, those of the first state, those of moves.
    """

    table: FloatArray

    @classmethod
    def untrained(cls, n_features: int, n_classes: int) -> Crf:
        """All paths are equally likely."""
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
        """Some rounds towards the largest ``⟨table, expected⟩ - Σ log Z - ridge/2 ‖table‖²``, from here.

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
        back = x.T.tocsr()

        def loss(flat: FloatArray) -> tuple[float, FloatArray]:
            crf = Crf(flat.reshape(expected.shape))
            sums = chains.forward_backward(crf.scores(x), crf.first, crf.move)
            slope = np.vstack([back @ sums.posterior, sums.first, sums.pairs]) - expected + ridge * crf.table
            return sums.log_likelihood - float((crf.table * expected).sum()) + ridge / 2 * float(flat @ flat), (
                slope.ravel()
            )

        start = self.table.ravel()
        found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": rounds})
        return Crf(found.x.reshape(expected.shape)) if found.fun <= loss(start)[0] else self
