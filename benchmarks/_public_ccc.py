"""CCC's published code on songs: its training loop unchanged, with a network and datasets for features plugged in.

The code is for CIFAR-10N and has neither, so both are ours, following the paper: 128 ReLU units, batch
normalisation, Adam at 10⁻², batches of 128, 200 epochs of which 50 warm up, γ = 0.3, 20 groups, M = 160.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import math
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from crowdcore.core.types import AnyArray, FloatArray

_ARGUMENTS = {
    **{"epoch_warmup": 50, "epoch_ccc": 150, "bs": 128, "meta_bs": 128, "meta_size": 160, "nb_group": 20},
    **{"optim": "adam", "lr_init": 1e-2, "crct_rate": 0.3, "num_act": 2, "epoch_ft": -1, "no_warm": False},
    **{"dataset": "music", "arch": "resnet34", "test_bs": 512, "num_workers": 0},
    **{"data_path": "", "sideinfo_path": "", "split_ratio": 1.0, "device": torch.device("cpu")},
}


class Songs(NamedTuple):
    """Features, true classes and labels (n, R), -1 where a worker gave none."""

    features: FloatArray
    gold: AnyArray
    labels: AnyArray


class _Rows:
    """Aligned columns, as a dataset of the published code."""

    def __init__(self, *columns: AnyArray, **attributes: Any) -> None:
        self.columns = [torch.as_tensor(column) for column in columns]
        vars(self).update(attributes)

    def __len__(self) -> int:
        return len(self.columns[0])


class _Loader:
    """Batches of rows as torch's loader yields them, but sliced at once instead of row by row."""

    def __init__(self, dataset: _Rows, batch_size: int, shuffle: bool, **_: Any) -> None:
        self.dataset, self.batch_size, self.shuffle = dataset, batch_size, shuffle

    def __len__(self) -> int:
        return math.ceil(len(self.dataset) / self.batch_size)

    def __iter__(self) -> Iterator[list[torch.Tensor]]:
        n = len(self.dataset)
        for batch in (torch.randperm(n) if self.shuffle else torch.arange(n)).split(self.batch_size):
            yield [column[batch] for column in self.dataset.columns]


def accuracies(checkout: Path, train: Songs, valid: Songs, test: Songs, dropout: float, seed: int) -> FloatArray:
    """Validation accuracy and loss, test accuracy of every epoch after the warm-up, (epochs, 3), in %."""
    if str(checkout) not in sys.path:
        sys.path.insert(0, str(checkout))
    source = sys.modules.setdefault("cifar10n", ModuleType("cifar10n"))
    source.CIFAR10N = None  # type: ignore[attr-defined]
    code, tools, model = (importlib.import_module(name) for name in ("train_ccc", "utils_ccc", "model.CL_model"))
    given = (train.labels[..., None] == np.arange(10)).astype(np.float32)
    facts = {"data": train.features, "target_gt": train.gold, "target_cs": train.labels}
    crowd = _Rows(train.features, train.labels, given, train.gold, np.arange(len(train.gold)), **facts)
    judges = [_Rows(part.features, part.gold, part.gold) for part in (test, valid)]

    def of_class(data_idx: AnyArray, cls: int, **_: Any) -> _Rows:
        index, label = torch.as_tensor(data_idx), torch.full((len(data_idx),), cls)
        return _Rows(train.features[data_idx], label, data_idx=index, targets=label)

    def meta(meta_idx: list[int], meta_label: list[int], **_: Any) -> _Rows:
        return _Rows(train.features[meta_idx], np.array(meta_label))

    source.CIFAR10N_PC, source.CIFAR10NMETA = of_class, meta  # type: ignore[attr-defined]
    model.ResNet34 = lambda num_classes, in_dim: _network(in_dim, num_classes, dropout)
    code.DataLoader = tools.DataLoader = _Loader
    code.get_dataset = lambda args: (crowd, *judges, 10, train.features.shape[1], given.shape[1])
    seen: list[tuple[float, float]] = []
    code.eval_mean = _noting(tools.eval_mean, seen)
    with tempfile.TemporaryDirectory() as folder, _silent(), _without_cuda():
        code.set_seed(seed)
        Path(folder, "music").mkdir()
        code.main(argparse.Namespace(**_ARGUMENTS, results_dir=folder))
    epochs = np.array(seen).reshape(-1, 2, 2)  # (epochs, test or validation, accuracy and loss)
    return np.column_stack([epochs[:, 1], epochs[:, 0, 0]])


def _network(n_features: int, n_classes: int, dropout: float) -> nn.Module:
    """Build the papers' network for these features from CCC's layers, normalised as in CoNAL's code."""
    layers = importlib.import_module("model.modules")

    class Network(layers.MetaModule):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.hidden, self.output = layers.MetaLinear(n_features, 128), layers.MetaLinear(128, n_classes)
            self.first_norm, self.second_norm = (nn.BatchNorm1d(size, affine=False) for size in (n_features, 128))
            self.dropout = nn.Dropout(dropout)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            hidden = self.dropout(torch.relu(self.hidden(self.first_norm(x))))
            return self.output(self.second_norm(hidden))  # type: ignore[no-any-return]

    return Network()


def _noting(evaluate: Callable[..., tuple[float, float, float]], seen: list[tuple[float, float]]) -> Callable[..., Any]:
    """Wrap CCC's evaluation of the mean of both models to record accuracy and loss."""

    def noted(*args: Any) -> tuple[float, float, float]:
        first, second, accuracy = evaluate(*args)
        seen.append((float(accuracy), (first + second) / 2))
        return first, second, accuracy

    return noted


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        yield


@contextlib.contextmanager
def _without_cuda() -> Iterator[None]:
    """Keep tensors on the CPU: CCC's code calls `.cuda()`."""
    kept = torch.Tensor.cuda, nn.Module.cuda
    torch.Tensor.cuda = nn.Module.cuda = lambda self, *_, **__: self  # type: ignore[method-assign,assignment]
    try:
        yield
    finally:
        torch.Tensor.cuda, nn.Module.cuda = kept  # type: ignore[method-assign]
