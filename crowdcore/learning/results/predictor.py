"""Predictions of a finished run on tasks it has not seen."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from crowdcore.core.errors import DataError, SettingError
from crowdcore.core.types import AnyArray, FloatArray, IntArray
from crowdcore.learning import methods
from crowdcore.learning.networks.network import Ensemble, make_network
from crowdcore.learning.settings import TrainSettings, drop_retired

if TYPE_CHECKING:
    from crowdcore.learning.results.result import TrainingResult

_CHUNK = 4096
_PREFIX = "classifier."


def predict_proba(result: TrainingResult, features: AnyArray) -> FloatArray:
    """(S, n, C) float32 class probabilities, on the CPU.

    Args:
        result: a finished run.
        features: (n, *row shape) rows as the dataset stores them.

    Raises:
        SettingError: rows of another shape than those trained on.
        DataError: NaN or infinite values.
    """
    features = np.asarray(features)
    if features.ndim < 2 or result.preparation.input_shape(features.shape[1:]) != result.input_shape:
        raise SettingError("features", f"be rows for inputs of shape {result.input_shape}", features.shape)
    if features.dtype.kind == "f" and not np.isfinite(features).all():
        raise DataError("The features hold NaN or infinite values", "Fill or drop them first.")
    parts = []
    for classifier in classifiers(result):
        with torch.no_grad():
            pieces = [
                torch.softmax(classifier(result.preparation(torch.from_numpy(piece))), -1)
                for piece in np.split(features, _cuts(features, result.training["backbone"] == "tagger"))
            ]
        parts.append(torch.cat(pieces).numpy())
    return np.stack(parts)


def _cuts(features: AnyArray, words: bool) -> AnyArray:
    """Where to cut rows into pieces: every `_CHUNK`, or at the next sentence, whose number is the last column."""
    cuts = np.arange(_CHUNK, len(features), _CHUNK)
    if not words:
        return cuts
    begins = np.append(np.flatnonzero(np.diff(features[:, -1])) + 1, len(features))
    found = np.unique(begins[np.searchsorted(begins, cuts)])
    return found[found < len(features)]


def classifiers(result: TrainingResult) -> Iterator[nn.Module]:
    """The selected classifier of every seed, from prepared inputs to logits of the named classes, on the CPU."""
    training = TrainSettings(**drop_retired(result.training))
    n_networks = result.settings.get("networks", 1)
    for s in range(len(result.seeds)):
        with torch.random.fork_rng(devices=[]):
            network = make_network(training, result.input_shape)
            method, n_classes = methods.get(result.method), len(result.classes)
            own = method.Settings(**{k: v for k, v in result.settings.items() if k in method.Settings.model_fields})
            classifier: Any = method.make_classifier(network, n_classes, result.n_workers, own)
            if n_networks > 1 and not method.candidates:  # of gaussian-em in crowdcore 0.2
                classifier.network = Ensemble(network, n_classes, n_networks)
        state = {k.removeprefix(_PREFIX): v[s] for k, v in result.model.items() if k.startswith(_PREFIX)}
        classifier.load_state_dict({k: torch.tensor(v) for k, v in state.items()})
        order = result.names["selected"][s]
        same = bool((order == np.arange(len(order))).all())
        yield (classifier if same else nn.Sequential(classifier, Named(order))).eval()


class Named(nn.Module):
    """Logits in the order of the class names.

    Args:
        order: (C,) the latent class behind each class.
    """

    order: Tensor

    def __init__(self, order: IntArray) -> None:
        super().__init__()
        self.register_buffer("order", torch.from_numpy(np.ascontiguousarray(order)))

    def forward(self, logits: Tensor) -> Tensor:
        """(B, C) -> (B, C)."""
        return logits.index_select(-1, self.order)
