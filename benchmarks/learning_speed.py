"""CoNAL's training on LabelMe, one CPU thread: against the authors' data flow, and against its matrix products alone.

The stand-in for the authors' code is their data flow on the CPU: dense (N, R) and (N, R, C) targets through a
`DataLoader`, all workers' outputs for every task, one seed at a time, a fresh Adam every epoch.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import DataLoader, Dataset

from crowdcore.data import load_dataset
from crowdcore.data.dataset import CrowdDataset
from crowdcore.learning import methods
from crowdcore.learning.api import split_settings
from crowdcore.learning.training.data import Data, Feed
from crowdcore.learning.training.loop import Replica, make_replicas, start_epoch
from crowdcore.learning.training.problem import make_problem
from crowdcore.learning.training.steps import Optimiser, Replicas, Steps

HIDDEN, EMBEDDING, ROUNDS = 128, 20, 9


class DenseTargets(Dataset[tuple[Tensor, ...]]):
    """Tasks with a (R,) row of labels, -1 = missing, and its one-hot form."""

    def __init__(self, crowd: CrowdDataset) -> None:
        train = np.flatnonzero(crowd.split == 0)
        position = np.full(crowd.n_tasks, -1)
        position[train] = np.arange(len(train))
        self.features = torch.from_numpy(np.asarray(crowd.features[train]))
        self.labels = torch.full((len(train), crowd.n_workers), -1)
        self.labels[position[crowd.task], crowd.worker.astype(int)] = torch.from_numpy(crowd.label.astype(int))
        self.one_hot = torch.zeros(len(train), crowd.n_workers, crowd.n_classes)
        i, r = (self.labels >= 0).nonzero(as_tuple=True)
        self.one_hot[i, r, self.labels[i, r]] = 1
        self.gold = torch.from_numpy(crowd.gold[train].astype(int))

    def __len__(self) -> int:
        return len(self.features)

    def __getitem__(self, i: int) -> tuple[Tensor, ...]:
        return torch.tensor(i), self.features[i], self.labels[i], self.one_hot[i], self.gold[i]


class AuthorsNetwork(nn.Module):
    """The authors' network and noise layers for all R workers at once."""

    def __init__(self, n_features: int, n_workers: int, n_classes: int) -> None:
        super().__init__()
        self.hidden, self.output = nn.Linear(n_features, HIDDEN), nn.Linear(HIDDEN, n_classes)
        self.dropout = nn.Dropout(0.5)
        self.own = nn.Parameter(2 * torch.eye(n_classes).repeat(n_workers, 1, 1))
        self.common = nn.Parameter(2 * torch.eye(n_classes))
        self.inner, self.outer = nn.Linear(n_features, HIDDEN), nn.Linear(HIDDEN, EMBEDDING)
        self.worker = nn.Linear(n_workers, EMBEDDING)
        self.register_buffer("workers", torch.eye(n_workers))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        p = torch.softmax(self.output(self.dropout(functional.relu(self.hidden(x)))), 1)
        v = functional.normalize(self.outer(self.inner(x)))
        u = functional.normalize(self.worker(self.workers))
        rate = torch.sigmoid(torch.einsum("ij,kj->ik", v, u))[:, :, None]
        shared = torch.einsum("ij,jk->ik", p, self.common)[:, None, :]
        own = torch.einsum("ik,jkl->ijl", p, self.own)
        return p, (rate * shared + (1 - rate) * own).transpose(1, 2)


def authors_epoch(crowd: CrowdDataset, batch_size: int) -> Callable[[], None]:
    """One epoch of the stand-in."""
    torch.manual_seed(0)
    loader = DataLoader(DenseTargets(crowd), batch_size=batch_size, shuffle=True)
    model = AuthorsNetwork(crowd.features.shape[1], crowd.n_workers, crowd.n_classes)

    def epoch() -> None:
        optimiser = torch.optim.Adam(model.parameters(), lr=1e-2)
        correct = 0
        for _, x, labels, one_hot, gold in loader:
            one_hot[one_hot == -1] = 0
            p, out = model(x)
            correct += int((p.argmax(1) == gold).sum())
            mask = labels != -1
            loss = functional.cross_entropy(out.transpose(1, 2)[mask], labels[mask])
            loss = loss - 1e-5 * torch.norm((model.own - model.common).flatten(1), dim=1).sum()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()

    return epoch


def our_epoch(
    crowd: CrowdDataset, batch_size: int, seeds: int, name: str = "conal", **settings: Any
) -> Callable[[], None]:
    """One epoch of ours, ``seeds`` replicas side by side; nothing is evaluated."""
    method = methods.get(name)
    training, own = split_settings(method, {"batch_size": batch_size, **settings})
    problem = make_problem(crowd, training)
    data = Data(problem, torch.device("cpu"))
    replicas = Replicas(make_replicas(problem, method, [Replica(own, s) for s in range(seeds)], training), data.device)
    rates = [method.rate(own, name) for name in replicas.parameters]
    optimiser = Optimiser(list(replicas.parameters.values()), training, rates)
    feed = Feed(data, tuple(range(seeds)), batch_size, fixed_width=True)
    steps = Steps(replicas, optimiser, feed, record=True)
    count = iter(range(10**9))

    def epoch() -> None:
        number = next(count)
        start_epoch(replicas, data, number)
        optimiser.start_epoch(number)
        steps.epoch(number)

    return epoch


def products(crowd: CrowdDataset, batch_size: int) -> Callable[[], None]:
    """The matrix products of one epoch of CoNAL, forward and backward, with nothing around them."""
    n = int((crowd.split == 0).sum())
    b, steps = min(batch_size, n), -(-n // batch_size)
    a = round(crowd.n_annotations * b / n)
    d, c, r = crowd.features.shape[1], crowd.n_classes, crowd.n_workers
    x, hidden, out, v = (torch.randn(b, k) for k in (d, HIDDEN, c, EMBEDDING))
    w1, w2, wv, wg = (torch.randn(i, o) for i, o in ((d, HIDDEN), (HIDDEN, c), (d, EMBEDDING), (c, c)))
    p, rows = torch.randn(a, 1, c), torch.randn(r, c, c)[torch.randint(r, (a,))]
    column = torch.randn(a, c, 1)

    def epoch() -> None:
        for _ in range(steps):
            x @ w1, hidden @ w2, out @ wg, x @ wv, torch.bmm(p, rows)
            x.T @ hidden, hidden.T @ out, out @ w2.T, out.T @ out, out @ wg.T, x.T @ v
            torch.bmm(rows, column), torch.bmm(column, p)

    return epoch


def milliseconds(tasks: dict[str, Callable[[], None]]) -> dict[str, float]:
    """Median processor time of each task over rounds that take turns."""
    for task in tasks.values():
        task()
        task()
    times: dict[str, list[float]] = {name: [] for name in tasks}
    for _ in range(ROUNDS):
        for name, task in tasks.items():
            began = time.process_time()
            task()
            times[name].append(1e3 * (time.process_time() - began))
    return {name: statistics.median(values) for name, values in times.items()}


def verdict(claim: str, value: float, bound: float, at_least: bool) -> None:
    met = value >= bound if at_least else value <= bound
    print(f"  {claim}: {value:.2f} ({'≥' if at_least else '≤'} {bound:g} claimed) {'MET' if met else 'NOT MET'}")


def main() -> None:
    torch.set_num_threads(1)
    crowd = load_dataset("labelme")
    for batch_size in (1024, 64):
        tasks = {
            "authors": authors_epoch(crowd, batch_size),
            "ours, authors' variant": our_epoch(crowd, batch_size, 1, variant="authors"),
            "ours, mixture": our_epoch(crowd, batch_size, 1, variant="mixture"),
            "ours": our_epoch(crowd, batch_size, 1, variant="paper"),
            "ours ×5": our_epoch(crowd, batch_size, 5, variant="paper"),
            "ours ×10": our_epoch(crowd, batch_size, 10, variant="paper"),
            "products": products(crowd, batch_size),
        }
        ms = milliseconds(tasks)
        ms["ours ×5"] /= 5
        ms["ours ×10"] /= 10
        print(f"CoNAL on LabelMe, batches of {batch_size}, one thread, ms per epoch and seed (median of {ROUNDS}):")
        for name, value in ms.items():
            print(f"  {name:24s} {value:7.2f}  {crowd.n_annotations / value:8.0f} thousand annotations/s")
        stack = min(ms["ours"], ms["ours ×5"], ms["ours ×10"])
        verdict("authors' data flow / ours, per seed", ms["authors"] / stack, 2.5, True)
        verdict(
            "authors' data flow / ours, same variant, one seed", ms["authors"] / ms["ours, authors' variant"], 2.5, True
        )
        if batch_size == 1024:
            verdict("step / its matrix products", ms["ours"] / ms["products"], 3, False)
    coupled(crowd)
    sys.stdout.flush()


def coupled(crowd: CrowdDataset) -> None:
    """What an epoch of CCC costs beside one of the crowd layer, grouping and meta sets included."""
    for batch_size in (128, 64):
        ms = milliseconds(
            {
                "crowd-layer": our_epoch(crowd, batch_size, 1, "crowd-layer"),
                "ccc": our_epoch(crowd, batch_size, 1, "ccc", warm_up=0.0),
            }
        )
        print(f"LabelMe, batches of {batch_size}, ms per epoch: " + ", ".join(f"{k} {v:.2f}" for k, v in ms.items()))
        verdict("CCC's epoch per model / the crowd layer's", ms["ccc"] / 2 / ms["crowd-layer"], 4, False)


if __name__ == "__main__":
    main()
