"""CoNAL's training on LabelMe, one CPU thread: beside the authors' code, and beside its matrix products alone.

    CROWDCORE_DATA=<folder> python -m benchmarks.learning_speed <checkout of zdchu/CoNAL> [rounds]

Whole runs of one seed and 60 epochs take turns in one process, set-up included: the authors' `main.py` reads their
arrays, trains and evaluates the valid and the test split after every epoch; ours opens LabelMe, trains, evaluates all
three splits and concludes. Both see the same 512 features. Printed are medians of processor time, and of time on the
clock; the first round does not count. Their code is unchanged, except that `.cuda()` stays on the CPU, `einsum` takes
its operands as PyTorch now wants them, and the batch size is ours.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import statistics
import sys
import tempfile
import time
import types
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from crowdcore.data import load_dataset
from crowdcore.data.dataset import CrowdDataset
from crowdcore.learning import methods, train
from crowdcore.learning.api import split_settings
from crowdcore.learning.training.data import Data, Feed
from crowdcore.learning.training.loop import Replica, make_replicas, start_epoch
from crowdcore.learning.training.problem import make_problem
from crowdcore.learning.training.steps import Optimiser, Replicas, Steps

HIDDEN, EMBEDDING, ROUNDS, EPOCHS = 128, 20, 9, 60


def authors(checkout: Path, crowd: CrowdDataset) -> Callable[..., None]:
    """The authors' program on LabelMe's arrays, as a function of the batch size and of whether to evaluate."""
    folder = Path(tempfile.mkdtemp())
    for k, name in enumerate(("train", "valid", "test")):
        place = folder / "ldmi/data/labelme" / name
        place.mkdir(parents=True)
        tasks = np.flatnonzero(crowd.split == k)
        np.save(place / f"data_{name}_vgg16.npy", np.asarray(crowd.features[tasks]))
        np.save(place / f"labels_{name}.npy", crowd.gold[tasks].astype(np.int64))
        if name == "train":
            answers = np.full((crowd.n_tasks, crowd.n_workers), -1)
            answers[crowd.task, crowd.worker] = crowd.label
            np.save(place / "answers.npy", answers[tasks])
    (folder / "code").mkdir()
    os.chdir(folder / "code")
    einsum = torch.einsum
    torch.einsum = lambda rule, *given: einsum(rule, *(given[0] if isinstance(given[0], tuple) else given))
    torch.Tensor.cuda = torch.nn.Module.cuda = lambda self, *_: self  # type: ignore[assignment, method-assign]
    sys.modules["IPython"] = types.ModuleType("IPython")
    sys.path.insert(0, str(checkout))
    program = (checkout / "main.py").read_text(encoding="utf-8")

    def run(batch_size: int, evaluate: bool = True) -> None:
        code: dict[str, Any] = {"__name__": "main"}
        exec(re.sub(r"batch_size=1024", f"batch_size={batch_size}", program), code)
        if not evaluate:
            code["test"] = lambda **_: (0, 0, 0)
        with contextlib.redirect_stdout(io.StringIO()):
            code["main"](types.SimpleNamespace(num_epochs=EPOCHS), model=True)

    return run


def whole_runs(checkout: Path, crowd: CrowdDataset, rounds: int) -> None:
    """Print the seconds of whole runs that take turns, and the ratio of ours to theirs."""
    theirs = authors(checkout, crowd)

    def ours(batch_size: int, **settings: Any) -> None:
        options: dict[str, Any] = {"epochs": EPOCHS, "batch_size": batch_size, "device": "cpu", **settings}
        train(load_dataset("labelme"), "conal", seeds=1, on_event=lambda event: None, **options)

    for size in (1024, 64):
        tasks: dict[str, Callable[[], None]] = {
            "authors": lambda size=size: theirs(size),  # type: ignore[misc]
            "authors, without evaluation": lambda size=size: theirs(size, False),  # type: ignore[misc]
            "ours, authors' variant": lambda size=size: ours(size, variant="authors"),  # type: ignore[misc]
            "ours": lambda size=size: ours(size),  # type: ignore[misc]
        }
        taken: dict[str, list[tuple[float, float]]] = {name: [] for name in tasks}
        for _ in range(rounds + 1):
            for name, task in tasks.items():
                began = time.process_time(), time.perf_counter()
                task()
                taken[name].append((time.process_time() - began[0], time.perf_counter() - began[1]))
        print(f"One seed, {EPOCHS} epochs of LabelMe, batches of {size}: s of processor, s on the clock")
        median = {
            name: [statistics.median(column) for column in zip(*rows[1:], strict=True)] for name, rows in taken.items()
        }
        for name, (processor, clock) in median.items():
            print(f"  {name:28s} {processor:6.2f} {clock:7.2f}", flush=True)
        for other in ("authors", "authors, without evaluation"):
            verdict(f"{other} / ours, same variant", median[other][0] / median["ours, authors' variant"][0], 2, True)


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
    warnings.simplefilter("ignore")
    crowd = load_dataset("labelme")
    ms = milliseconds({"ours": our_epoch(crowd, 1024, 1, variant="paper"), "products": products(crowd, 1024)})
    verdict("step / its matrix products, batches of 1024", ms["ours"] / ms["products"], 3, False)
    if len(sys.argv) > 1:
        whole_runs(Path(sys.argv[1]).resolve(), crowd, int((*sys.argv[2:], "3")[0]))
    coupled(crowd)
    sys.stdout.flush()


def coupled(crowd: CrowdDataset) -> None:
    """Print the cost of an epoch of CCC beside one of the crowd layer, grouping and meta sets included."""
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
