"""`gaussian-em` on many tasks: time and memory of its parts, beside a lower bound.

    python -m benchmarks.gaussian_size [tasks] [setting=value ...]

Default 10⁵ tasks × 512 float32 features in a memory-mapped file, 3 labels a task, 500 workers, 10 classes, six fits of
20 rounds. Peak memory is the process's own (RssAnon, Linux), above that before training; the memory map is
not counted. Claimed: at most three times the features from 10⁶ tasks on. Parts are seconds of the processor, of all
threads together. The lower bound is the multiplications of the algorithm at the speed of this machine's matrix product,
float64, and one reading of the file.
"""

from __future__ import annotations

import functools
import json
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from crowdcore.data import simulate
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.rows import Rows
from crowdcore.learning.gaussian import fit, space
from crowdcore.learning.method_settings import GaussianSettings
from testkit.training import train_as

N_FEATURES, HELD = 512, 2000
seconds: Counter[str] = Counter()


def timed(module: Any, name: str, part: str, inside: str = "") -> None:
    """Count the seconds of a function as a part, and deduct them from the calling part."""
    function = getattr(module, name)

    @functools.wraps(function)
    def measured(*args: Any, **kwargs: Any) -> Any:
        start = time.process_time()
        try:
            return function(*args, **kwargs)
        finally:
            spent = time.process_time() - start
            seconds[part] += spent
            seconds[inside] -= spent

    setattr(module, name, measured)


def make_crowd(n_tasks: int, folder: Path) -> CrowdDataset:
    """Ten clusters; the last tasks validate with gold."""
    crowd = simulate.large(n_tasks=n_tasks, n_workers=500, n_classes=10, per_task=3)
    rng = np.random.default_rng(0)
    centres = 0.25 * rng.standard_normal((10, N_FEATURES), dtype=np.float32)
    file = folder / "features.npy"
    shape = (n_tasks, N_FEATURES)
    out = np.lib.format.open_memmap(file, mode="w+", dtype=np.float32, shape=shape)
    for first in range(0, n_tasks, 10_000):
        gold = crowd.gold[first : first + 10_000]
        out[first : first + 10_000] = centres[gold] + rng.standard_normal((len(gold), N_FEATURES), dtype=np.float32)
    out.flush()
    split = np.zeros(n_tasks, np.int8)
    split[-HELD:] = 1
    rows = Rows((file,), np.zeros(n_tasks, np.int8), np.arange(n_tasks))
    return replace(crowd, features=rows, split=split, truth=None).where(split[crowd.task] == 0)


def own_memory() -> int:
    """Bytes of the process, without mapped files."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith("RssAnon")).split()[1])


class Peak(threading.Thread):
    """The most memory in use until `ended` is set."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.most, self.ended = 0, threading.Event()
        self.start()

    def run(self) -> None:
        while not self.ended.wait(0.05):
            self.most = max(self.most, own_memory())


def rate() -> float:
    """Multiplications and additions of a matrix product per second of the processor."""
    a = torch.randn(1500, 1500, dtype=torch.float64)
    a @ a
    start = time.process_time()
    for _ in range(5):
        a @ a
    return 5 * 2 * 1500**3 / (time.process_time() - start)


def reading(file: Path) -> float:
    """Seconds to read a file once."""
    start = time.process_time()
    with file.open("rb") as source:
        while source.read(1 << 24):
            pass
    return time.process_time() - start


def main() -> None:
    n = int(float(sys.argv[1])) if len(sys.argv) > 1 else 100_000
    given = {name: json.loads(value) for name, value in (a.split("=") for a in sys.argv[2:])}
    device = given.pop("device", "cpu")
    settings = GaussianSettings(**given)
    with tempfile.TemporaryDirectory() as folder:
        crowd = make_crowd(n, Path(folder))
        size = n * N_FEATURES * 4
        landmarks, d, c = min(n, space._EXACT), settings.dimensions, crowd.n_classes
        fits = len(fit._BALANCES if settings.balance is None else "1")
        fits *= len(fit._SHARPENINGS if settings.sharpening is None else "1")
        per_task = landmarks * (N_FEATURES + d) if settings.gamma else N_FEATURES * d
        per_task += d * d + fits * settings.rounds * 2 * d * c
        bound = reading(Path(folder) / "features.npy") + 2 * n * per_task / rate()
        timed(fit, "_space", "space", "network")
        timed(fit, "_coordinates", "coordinates", "network")
        timed(fit, "_features", "reading", "coordinates")
        timed(fit, "Blocks", "second moments", "network")
        timed(fit, "fit_gaussians", "EM", "network")
        timed(fit.Annotations, "log_evidence", "evidence", "EM")
        timed(fit, "_temperature", "temperature", "EM")
        timed(fit, "_bias", "balance", "EM")
        before, peak, start = own_memory(), Peak(), time.process_time()
        began = time.perf_counter()
        how = {"seeds": 1, "epochs": 1, "batch_size": 1024, "feed": "stream"}
        result = train_as(crowd, "gaussian-em", device=device, **how, **given)
        wall = time.perf_counter() - began
        seconds["network"] += time.process_time() - start
        peak.ended.set()
    chosen_note = next(note for note in result.notes if "were chosen" in note)
    right = (result.probabilities["last"][0].argmax(1) == result.gold)[: n - HELD].mean()
    print(f"{crowd}; {torch.get_num_threads()} threads; {chosen_note} Right on training tasks: {100 * right:.1f} %")
    for part, spent in seconds.items():
        if part:
            print(f"  {part:15} {spent:8.1f} s")
    whole = sum(spent for part, spent in seconds.items() if part)
    print(f"  {'all':15} {whole:8.1f} s, lower bound without the network {bound:.1f} s; on the clock {wall:.0f} s")
    added = peak.most - before
    met = "met" if added <= 3 * size else "NOT MET" if n >= 1_000_000 else "NOT MET (not claimed for so few tasks)"
    print(f"  memory: {added / 2**20:.0f} MB at most; claimed ≤ 3 times the features, is {added / size:.2f}: {met}")


if __name__ == "__main__":
    main()
