"""On one GPU: methods × five seeds × two datasets, the time of a step's parts, and the memory of a large crowd.

    CROWDCORE_DATA=<folder with labelme and music> python -m benchmarks.learning_gpu [part ...]

Parts: same (replicas alone and among others, CPU and GPU), suite, kernels, images, memory, large. Without a GPU every
part runs on the CPU on a tenth of the work or less, and says so.
"""

from __future__ import annotations

import resource
import sys
import time
from dataclasses import replace

import numpy as np
import torch

from crowdcore.data import load_dataset, simulate
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.rows import Rows
from crowdcore.learning import backbones, methods, train
from crowdcore.learning.api import split_settings
from crowdcore.learning.training.data import Data, Feed
from crowdcore.learning.training.device import numeric_kernels
from crowdcore.learning.training.events import EpochEvent
from crowdcore.learning.training.loop import Replica, make_replicas
from crowdcore.learning.training.problem import make_problem
from crowdcore.learning.training.steps import Optimiser, Replicas, Steps
from testkit.training import train_as

METHODS = (
    "dl-mv",
    "dl-ds",
    "vanilla",
    "soft-bootstrap",
    "single-cm",
    "dl-em",
    "crowd-layer",
    "trace",
    "conal",
    "max-mig",
    "wdn",
    "unionnet",
    "geocrowdnet",
    "annot-mix",
    "coinnet",
)
GPU = torch.cuda.is_available()
DEVICE = torch.device("cuda" if GPU else "cpu")


def wait() -> None:
    if GPU:
        torch.cuda.synchronize()


def megabytes() -> float:
    """Peak memory: of the device on a GPU, else of the process."""
    if GPU:
        return torch.cuda.max_memory_allocated() / 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10


def same() -> None:
    """Compare a replica alone with itself among others, recorded with eager, on both devices."""
    crowd = load_dataset("labelme")
    print("Largest relative difference of the loss over 5 epochs, seed 3, batches of 64:")
    run = {"epochs": 5, "batch_size": 64, "lr": 1e-3}
    for method in METHODS:
        among = train_as(crowd, method, seeds=[1, 3, 5, 7], device=str(DEVICE), stack="all", **run)
        others = {
            "alone": train(crowd, method, seeds=[3], device=str(DEVICE), **run),
            "eager": train_as(crowd, method, seeds=[3], device=str(DEVICE), record=False, **run),
            "on CPU": train(crowd, method, seeds=[3], device="cpu", **run),
            "streamed": train_as(crowd, method, seeds=[3], device=str(DEVICE), feed="stream", **run),
        }
        loss = among.curves["loss"][:, 1]
        differences = {k: np.abs(r.curves["loss"][:, 0] / loss - 1).max() for k, r in others.items()}
        verdict = "same" if max(differences.values()) < 1e-3 else "NOT THE SAME"
        print(f"  {method:15s} {', '.join(f'{k} {v:.1e}' for k, v in differences.items())}  {verdict}", flush=True)


def suite() -> None:
    """Check the claim that everything takes under 60 s."""
    epochs = 100 if GPU else 10
    began, total = time.perf_counter(), 0.0
    for name in ("labelme", "music"):
        crowd = load_dataset(name)
        for method in METHODS:
            start = time.perf_counter()
            settings = {"backbone_settings": {"batch_norm": True}, "lr": 5e-3} if name == "music" else {"lr": 1e-3}
            result = train(crowd, method, seeds=5, epochs=epochs, batch_size=64, device=str(DEVICE), **settings)
            wait()
            seconds = time.perf_counter() - start
            total += seconds
            accuracy = 100 * result.accuracy("test")
            print(
                f"  {name:8s} {method:15s} {seconds:6.2f} s, {result.annotations_per_second / 1e6:6.2f} M annotations/s"
                f" (with evaluation), selected {accuracy.mean():.2f} ± {accuracy.std():.2f}",
                flush=True,
            )
    seconds = time.perf_counter() - began
    where = "GPU" if GPU else "CPU, a tenth of the epochs"
    work = f"{len(METHODS)} methods × 5 seeds × 2 datasets, {epochs} epochs each ({where})"
    print(f"{work}: {seconds:.1f} s (training {total:.1f} s)")
    if GPU:
        print(f"  ≤ 60 s claimed: {'MET' if seconds <= 60 else 'NOT MET'}")


def steps_of(crowd: CrowdDataset, method_name: str, batch_size: int, seeds: int, record: bool) -> tuple[Steps, Feed]:
    method = methods.get(method_name)
    training, own = split_settings(method, {"batch_size": batch_size, "lr": 1e-3})
    problem = make_problem(crowd, training)
    data = Data(problem, DEVICE, targets=method.targets(problem, own))
    stack = [Replica(own, s) for s in range(seeds)]
    replicas = Replicas(make_replicas(problem, method, stack, training), DEVICE)
    optimiser = Optimiser(list(replicas.parameters.values()), training)
    optimiser.start_epoch(0)
    feed = Feed(data, tuple(range(seeds)), batch_size, fixed_width=record)
    return Steps(replicas, optimiser, feed, record), feed


def kernels() -> None:
    """Time of an epoch's parts, recorded and eager."""
    crowd = load_dataset("labelme")
    print("Training epochs without evaluation, LabelMe, 5 seeds (kernel time from the profiler):")
    for batch_size in (64, 1024):
        for method in METHODS:
            line = f"  batch {batch_size:4d} {method:15s}"
            for record in (False, True):
                steps, feed = steps_of(crowd, method, batch_size, 5, record)
                for e in range(3):
                    steps.epoch(e)
                wait()
                n = 5 if GPU else 3
                start = time.perf_counter()
                for e in range(n):
                    steps.epoch(e)
                wait()
                seconds = (time.perf_counter() - start) / n
                speed = 5 * crowd.n_annotations / seconds / 1e6
                line += f" | {'recorded' if record else 'eager'} {1e3 * seconds / feed.n_batches:7.3f} ms/step"
                line += f" {speed:6.2f} M annotations/s"
                if GPU:
                    line += f", in kernels {100 * kernel_seconds(steps, n) / (seconds * n):3.0f} %"
            print(line, flush=True)


def kernel_seconds(steps: Steps, n: int) -> float:
    """Time that the device spends in kernels and copies during ``n`` epochs."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        for e in range(n):
            steps.epoch(e)
        wait()
    return sum(event.self_device_time_total for event in profiler.key_averages()) / 1e6


def with_features(crowd: CrowdDataset, n_features: int, seed: int = 0) -> CrowdDataset:
    """Gaussian features around the true class's centre; the last 2 % of the tasks validate and test."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((crowd.n_classes, n_features), dtype=np.float32)
    features = rng.standard_normal((crowd.n_tasks, n_features), dtype=np.float32)
    for start in range(0, crowd.n_tasks, 1 << 17):
        features[start : start + (1 << 17)] += centres[crowd.gold[start : start + (1 << 17)]]
    split = np.zeros(crowd.n_tasks, np.int8)
    n = crowd.n_tasks // 100
    split[-2 * n : -n], split[-n:] = 1, 2
    return replace(crowd, features=Rows.from_array(features), split=split)


def images() -> None:
    """CoNAL over ResNet-18, beside a loop that trains the network alone on as many images."""
    n = 20_000 if GPU else 300
    crowd = simulate.large(n_tasks=n, n_workers=300, n_classes=10, per_task=3)
    pixels = np.random.default_rng(0).integers(0, 256, (n, 32, 32, 3), dtype=np.uint8)
    pixels[np.arange(n), 3 * crowd.gold] = 255  # a white line where the class says
    crowd = replace(crowd, features=Rows.from_array(pixels), split=np.zeros(n, np.int8))
    print(f"{n:,} images of 32×32 with three labels each, ResNet-18, batches of 128, second epoch:")
    run = {"epochs": 2, "batch_size": 128, "lr": 1e-3, "select_on": "none", "device": str(DEVICE)}
    for precision in ("float32", "bfloat16"):
        seconds: list[float] = []
        train(
            crowd,
            "conal",
            seeds=1,
            backbone="resnet18",
            precision=precision,
            on_event=lambda event, s=seconds: s.append(event.seconds) if isinstance(event, EpochEvent) else None,
            **run,
        )
        alone = network_alone(pixels, crowd.gold, precision == "bfloat16")
        speed = f"{n / seconds[-1]:8,.0f} images/s with evaluation, the network alone {n / alone:8,.0f}"
        print(f"  {precision:8s} {speed}, ratio {alone / seconds[-1]:.2f}", flush=True)


def network_alone(pixels: np.ndarray, gold: np.ndarray, reduced: bool) -> float:
    """Seconds of the second epoch of ResNet-18 on gold labels, the least that training on images costs."""
    network = backbones.build("resnet18", (3, 32, 32), 10, {}).to(DEVICE)
    optimiser = torch.optim.Adam(network.parameters(), lr=1e-3, fused=True)
    x, y = torch.from_numpy(pixels).to(DEVICE), torch.from_numpy(gold.astype(np.int64)).to(DEVICE)
    began = 0.0
    with numeric_kernels(deterministic=False):
        for _ in range(2):
            wait()
            began = time.perf_counter()
            for some in torch.randperm(len(x), device=DEVICE).split(128):
                with torch.autocast(DEVICE.type, torch.bfloat16, enabled=reduced):
                    logits = network(x[some].permute(0, 3, 1, 2) / 255)
                optimiser.zero_grad()
                torch.nn.functional.cross_entropy(logits.float(), y[some]).backward()
                optimiser.step()
            wait()
    return time.perf_counter() - began


def memory() -> None:
    """Device memory against the number of tasks, inputs streamed from the host."""
    print("Peak memory of one epoch of CoNAL, batches of 512, inputs streamed:")
    peaks = []
    for n_tasks in (20_000, 100_000, 400_000) if GPU else (5_000, 20_000):
        crowd = with_features(simulate.large(n_tasks=n_tasks, n_workers=200, n_classes=10, per_task=3), 64)
        if GPU:
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
        method = methods.get("conal")
        training, own = split_settings(method, {"batch_size": 512, "select_on": "none"})
        problem = make_problem(crowd, training)
        data = Data(problem, DEVICE, resident=False)
        replicas = Replicas(make_replicas(problem, method, [Replica(own, 0)], training), DEVICE)
        optimiser = Optimiser(list(replicas.parameters.values()), training)
        Steps(replicas, optimiser, Feed(data, (0,), 512), record=False).epoch(0)
        wait()
        peaks.append(megabytes())
        print(f"  {n_tasks:8,d} tasks: {peaks[-1]:7.1f} MB", flush=True)
    if GPU:
        print(f"  flat in N (largest / smallest ≤ 1.1 claimed): {max(peaks) / min(peaks):.2f}")


def large() -> None:
    """10⁶ tasks × 3 labels, 5,000 workers, 100 classes, matrices of low rank."""
    n_tasks = 1_000_000 if GPU else 50_000
    crowd = with_features(simulate.large(n_tasks=n_tasks, n_workers=5_000, n_classes=100, per_task=3), 64)
    print(f"{crowd}: CoNAL with individual matrices of rank 4, one epoch, batches of 1,024")
    if GPU:
        torch.cuda.reset_peak_memory_stats()
    start = time.perf_counter()
    result = train(
        crowd,
        "conal",
        seeds=1,
        epochs=1,
        batch_size=1024,
        rank=4,
        variant="paper",
        lr=5e-3,
        device=str(DEVICE),
        select_on="none",
    )
    seconds = time.perf_counter() - start
    factors = sum(v[0].size for k, v in result.model.items() if k.startswith("individual")) * 4 / 2**20
    dense = crowd.n_workers * crowd.n_classes**2 * 4 / 2**20
    print(
        f"  {seconds:.1f} s in all, {result.annotations_per_second / 1e6:.2f} M annotations/s, test accuracy "
        f"{100 * result.accuracy('test', at='last')[0]:.1f} %"
    )
    print(f"  gradient of the individual matrices: {factors:.1f} MB a step instead of {dense:.0f} MB dense")
    print(f"  peak {'device' if GPU else 'process'} memory {megabytes():.0f} MB", flush=True)


def main() -> None:
    parts = {"same": same, "suite": suite, "kernels": kernels, "images": images, "memory": memory, "large": large}
    name = torch.cuda.get_device_name() if GPU else "no GPU here: CPU, on less work"
    print(f"torch {torch.__version__}, {name}")
    for part in sys.argv[1:] or parts:
        print(f"== {part}")
        parts[part]()


if __name__ == "__main__":
    main()
