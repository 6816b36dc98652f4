"""Every aggregator but the Dawid–Skene family: time and memory at 10⁵ and 10⁶ annotations, and against crowd-kit.

``python -m benchmarks.aggregators_speed [annotations ...]``: 10 classes (two for KOS), 500 workers, 5 labels a task.
crowd-kit runs on as many annotations as it finishes in seconds, in the same run, with its default settings where not
said otherwise; its Wawa and ZeroBasedSkill are completed by its majority vote, as their prediction fails under
scikit-learn 1.9. Peak memory is that of a fresh process above its imports and the annotations. Dawid–Skene, one-coin
and the hard variant are in `benchmarks.dawid_skene`.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import crowdcore as cc
from crowdcore.data.simulate import large

SETTINGS: dict[str, dict[str, Any]] = {
    "wawa": {},
    "zero-based-skill": {},
    "kos": {},
    "m-msr": {},
    "mace": {},
    "item-response": {},
    "glad": {},
    "worker-clustering": {"clusters": 3},
    "conal-em": {},
    "auto": {},
}
_AT_MOST = {"auto": 10.0, "item-response": 5.0}  # times one Dawid–Skene


def main() -> None:
    if sys.argv[1:2] == ["--memory"]:
        return print(memory_of(*sys.argv[2:]))
    for size in sys.argv[1:] or ["1e5", "1e6"]:
        everything(int(float(size)))
    against_crowd_kit()
    no_dense_matrix()
    return None


def everything(n_annotations: int) -> None:
    print(f"\n{n_annotations:.0e} annotations: seconds, iterations, accuracy, peak MB above the annotations")
    for name, settings in SETTINGS.items():
        dataset = crowd(name, n_annotations)
        result = cc.aggregation.get(name, **settings).fit(dataset)
        seconds = statistics.median([result.seconds, *(again(name, settings, dataset) for _ in range(2))])
        accuracy = float((result.labels == dataset.gold).mean())
        if name in _AT_MOST:
            one = statistics.median(again("dawid-skene", {}, dataset) for _ in range(3))
            verdict(f"times one Dawid–Skene, {name}", _AT_MOST[name], seconds / one, False)
        peak = float(child("--memory", name, str(n_annotations), "500"))
        print(f"  {name:18s} {seconds:7.3f} {len(result.log_likelihood):4d} {accuracy:7.4f} {peak:7.0f}")


def against_crowd_kit() -> None:
    """Same data, same run; EM methods with the same number of iterations."""
    import crowdkit.aggregation as kit

    print("\nagainst crowd-kit (seconds, ours and theirs; accuracies)")
    cases: list[tuple[str, int, float, dict[str, Any], Callable[[Any], Any]]] = [
        ("wawa", 100_000, 1, {}, lambda f: kit.MajorityVote().fit(f, skills=kit.Wawa().fit(f).skills_)),
        ("zero-based-skill", 20_000, 1, {}, lambda f: weighted(kit, f)),
        ("kos", 20_000, 1, {}, lambda f: kit.KOS().fit(f)),
        ("m-msr", 10_000, 1, {}, lambda f: msr(kit, f)),
        (
            "mace",
            5_000,
            1,
            {"tolerance": 0, "max_iterations": 51, "class_prior": "uniform"},
            lambda f: kit.MACE(n_restarts=1).fit(f),
        ),
        ("glad", 20_000, 100, {"tolerance": 0, "max_iterations": 2}, lambda f: kit.GLAD(n_iter=2, tol=-np.inf).fit(f)),
    ]
    for name, n, bound, settings, theirs in cases:
        dataset = crowd(name, n, workers=100)
        frame = dataset.annotations[["task", "worker", "label"]].astype(str)
        ours = statistics.median(again(name, settings, dataset) for _ in range(3))
        result = cc.aggregation.get(name, **settings).fit(dataset)
        began = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            labels = theirs(frame).labels_.reindex(dataset.task_ids).to_numpy()
        seconds = time.perf_counter() - began
        right = [float(np.mean(label == dataset.gold)) for label in (result.labels, codes(dataset, labels))]
        print(f"  {name:18s} {n:.0e}: {ours:.4f} and {seconds:.2f}; {right[0]:.4f} and {right[1]:.4f}")
        verdict(f"times crowd-kit's speed, {name}", bound, seconds / ours, True)


def no_dense_matrix() -> None:
    """20,000 workers: one dense workers × workers matrix of float64 would take 3.2 GB."""
    print("\n2·10⁵ annotations of 20,000 workers: peak MB above the annotations")
    for name in ("m-msr", "kos"):
        peak = float(child("--memory", name, "200000", "20000"))
        print(f"  {name}: {peak:.0f} MB")
        verdict("MB, a tenth of a dense workers × workers matrix", 320, peak, False)


def crowd(name: str, n_annotations: int, workers: int = 500) -> cc.CrowdDataset:
    dataset = large(n_tasks=n_annotations // 5, n_workers=workers, n_classes=2 if name == "kos" else 10)
    assert dataset.task_start[-1] == dataset.labels_per_worker.sum()  # both kept: an opened dataset has them
    return dataset


def again(name: str, settings: dict[str, Any], dataset: cc.CrowdDataset) -> float:
    return cc.aggregation.get(name, **settings).fit(dataset).seconds


def memory_of(name: str, n_annotations: str, workers: str) -> float:
    """Peak megabytes above imports and annotations, in this fresh process, on Linux."""
    dataset = crowd(name, int(n_annotations), int(workers))
    cc.aggregation.get(name)  # its imports
    before = resident("VmRSS")
    cc.aggregation.get(name, **SETTINGS[name]).fit(dataset)
    return (resident("VmHWM") - before) / 1024


def resident(key: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(key)).split()[1])


def child(*arguments: str) -> str:
    command = [sys.executable, "-m", "benchmarks.aggregators_speed", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def weighted(kit: Any, frame: Any) -> Any:
    return kit.MajorityVote().fit(frame, skills=kit.ZeroBasedSkill(n_iter=20).fit(frame).skills_)


def msr(kit: Any, frame: Any) -> Any:
    model = kit.MMSR()
    model.labels_ = model.fit(frame).predict(frame)
    return model


def codes(dataset: cc.CrowdDataset, labels: np.ndarray) -> np.ndarray:
    number = {name: c for c, name in enumerate(dataset.classes)}
    return np.array([number.get(label, -1) for label in labels])


def verdict(claim: str, bound: float, measured: float, more: bool) -> None:
    met = measured >= bound if more else measured <= bound
    print(f"    {'met' if met else 'NOT MET'}: {'at least' if more else 'at most'} {bound:g} {claim}: {measured:.3g}")


if __name__ == "__main__":
    main()
