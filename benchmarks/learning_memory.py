"""CoNAL for 10⁶ tasks × 3 labels, 5,000 workers and 100 classes: memory with individual matrices of low rank.

    python -m benchmarks.learning_memory [tasks]

A dense gradient of the individual matrices is R·C² numbers a step, and Adam keeps as many twice. With rank k they are
R·2Ck (`rank=4` here, also for the crowd layer). Peaks are of the process, reset before training (Linux only); the
first includes the trainer's own copy of features and annotations, the last the export of the recovered confusions,
which is dense by definition.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path

import torch

from benchmarks.learning_gpu import with_features
from crowdcore.data import simulate
from crowdcore.learning import EpochEvent, Event, train

RANK, BATCH = 4, 4096


def resident(kind: str) -> float:
    """MB of this process: now (VmRSS), or the peak since the last reset (VmHWM)."""
    line = next(r for r in Path("/proc/self/status").read_text().splitlines() if r.startswith(kind))
    return int(line.split()[1]) / 1024


def main() -> None:
    torch.set_num_threads(1)
    n_tasks = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    crowd = with_features(simulate.large(n_tasks=n_tasks, n_workers=5_000, n_classes=100, per_task=3), 64)
    crowd = replace(crowd, truth=None)  # or recovery errors would need the dense confusions after every epoch
    print(f"{crowd}; one epoch of CoNAL, rank {RANK}, batches of {BATCH}", flush=True)
    Path("/proc/self/clear_refs").write_text("5")
    before, during, start = resident("VmRSS"), [], time.perf_counter()

    def listen(event: Event) -> None:
        if isinstance(event, EpochEvent):
            during.append(resident("VmHWM"))

    result = train(
        crowd, "conal", seeds=1, epochs=1, batch_size=BATCH, rank=RANK, variant="paper", device="cpu", select_on="none",
        on_event=listen,
    )  # fmt: skip
    seconds = time.perf_counter() - start
    low = sum(v[0].nbytes for k, v in result.model.items() if k.startswith("individual")) / 2**20
    dense = crowd.n_workers * crowd.n_classes**2 * 4 / 2**20
    added = during[0] - before
    print(f"  {seconds:.0f} s, {result.annotations_per_second / 1e3:.0f} thousand annotations/s")
    print(f"  gradient of the individual matrices: {low:.1f} MB a step, dense would be {dense:.0f} MB")
    print(f"  matrices, gradient and Adam's moments: {4 * low:.0f} MB, dense would be {4 * dense:.0f} MB")
    print(
        f"  memory: {before:.0f} MB before training (data included), peak {during[0]:.0f} MB while training "
        f"(+{added:.0f} MB), {resident('VmHWM'):.0f} MB with the export of the dense confusions in float64"
    )
    met = low < dense / 10
    print(f"  gradient of a step below a tenth of the dense one: {'MET' if met else 'NOT MET'}")


if __name__ == "__main__":
    main()
