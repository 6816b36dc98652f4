"""Outcome of a stack of replicas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from crowdcore.core.types import AnyArray, FloatArray, IntArray

Parts = dict[str, AnyArray]


@dataclass(frozen=True, eq=False)
class Outcome:
    """Outcome of a stack of S replicas; "selected" and "last" are the models of these epochs.

    Args:
        history: metric -> (epochs, S), NaN after a replica's last epoch.
        selected_epoch: (S,) from 0.
        last_epoch: (S,) from 0.
        predicted: "selected" and "last" -> (S, n, C) float32 probabilities, tasks in the problem's order; of ratings
            (S, n) on their scale from 0 to 1.
        recovered: "selected" and "last" -> part -> (S, ...) float64; see `base.Recovered`, and ``omega`` (S, A) in the
            problem's order.
        names: "selected" and "last" -> (S, C) the latent class behind each class, see `naming.match_names`; of ratings
            nothing.
        kept_epochs: (K,) epochs whose matrices and ω were kept, 0 = the start.
        kept: part -> (K, S, ...) float32, classes named as in the selected model.
        final_loss: (S,) mean negative log-likelihood of the training annotations under the last model.
        model: name -> (S, ...) the selected model.
        seconds: (epochs,) wall time of training and evaluation.
    """

    history: dict[str, FloatArray]
    selected_epoch: IntArray
    last_epoch: IntArray
    predicted: dict[str, FloatArray]
    recovered: dict[str, Parts]
    names: dict[str, IntArray]
    kept_epochs: IntArray
    kept: Parts
    final_loss: FloatArray
    model: Parts
    seconds: FloatArray

    def replica(self, s: int) -> Outcome:
        """The outcome of one replica alone, a stack of one."""
        one = slice(s, s + 1)

        def of(parts: Mapping[str, AnyArray]) -> Parts:
            return {name: value[one] for name, value in parts.items()}

        return Outcome(
            {name: rows[:, one] for name, rows in self.history.items()},
            self.selected_epoch[one],
            self.last_epoch[one],
            of(self.predicted),
            {at: of(parts) for at, parts in self.recovered.items()},
            of(self.names),
            self.kept_epochs,
            {name: value[:, one] for name, value in self.kept.items()},
            self.final_loss[one],
            of(self.model),
            self.seconds / len(self.selected_epoch),
        )

    @classmethod
    def join(cls, outcomes: Sequence[Outcome]) -> Outcome:
        """Several stacks as one; shorter histories are filled with NaN, seconds add up, epochs kept by all stay."""
        if len(outcomes) == 1:
            return outcomes[0]
        epochs = max(len(o.seconds) for o in outcomes)

        def joined(parts: Sequence[Parts], axis: int = 0) -> Parts:
            return {name: np.concatenate([p[name] for p in parts], axis) for name in parts[0]}

        def filled(rows: FloatArray) -> FloatArray:
            return np.pad(rows, [(0, epochs - len(rows)), (0, 0)], constant_values=np.nan)

        shared = np.array(sorted(set.intersection(*(set(o.kept_epochs.tolist()) for o in outcomes))), np.int64)

        def at_shared(o: Outcome) -> Parts:
            return {name: value[np.isin(o.kept_epochs, shared)] for name, value in o.kept.items()}

        return cls(
            joined([{k: filled(v) for k, v in o.history.items()} for o in outcomes], 1),
            np.concatenate([o.selected_epoch for o in outcomes]),
            np.concatenate([o.last_epoch for o in outcomes]),
            joined([o.predicted for o in outcomes]),
            {at: joined([o.recovered[at] for o in outcomes]) for at in outcomes[0].recovered},
            joined([o.names for o in outcomes]),
            shared,
            joined([at_shared(o) for o in outcomes], 1),
            np.concatenate([o.final_loss for o in outcomes]),
            joined([o.model for o in outcomes]),
            np.sum([np.pad(o.seconds, (0, epochs - len(o.seconds))) for o in outcomes], 0),
        )
