"""Processor time of the first Overview after the fit: 514,000 simulated annotations, and judges_civil where it is.

Claim: at most 2 s of wall time on two free cores for the simulated crowd. Wall time is printed, too, but the machine
may be shared; the claim is checked by processor time over the cores that the loops use.
"""

from __future__ import annotations

import sys
import time

from crowdcore import exhibits, load_dataset
from crowdcore.core.compiled import cores
from crowdcore.data.catalogue import list_datasets
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.simulate import large
from crowdcore.exhibits import verdicts

BOUND = 2.0


def first_overview(dataset: CrowdDataset) -> tuple[float, float]:
    """Seconds of processor time and of wall time, after the fit."""
    view = exhibits.view(dataset, "auto")
    began, clock = time.process_time(), time.perf_counter()
    for make in (verdicts.verdicts, verdicts.worker_verdicts, verdicts.task_verdicts, verdicts.mistakes_in_words):
        make(view)
    return time.process_time() - began, time.perf_counter() - clock


def main() -> int:
    first_overview(load_dataset("demo"))  # loads the compiled loops
    crowds = [large(n_tasks=102_800, n_workers=500, n_classes=10, per_task=5)]
    crowds += [load_dataset("judges_civil")] if "judges_civil" in list_datasets() else []
    spent = []
    for crowd in crowds:
        processor, clock = first_overview(crowd)
        spent.append(processor)
        print(f"{crowd.name}: {crowd.n_annotations:,} annotations, processor {processor:.2f} s, clock {clock:.2f} s")
    return int(spent[0] / min(cores(), 2) > BOUND)


if __name__ == "__main__":
    sys.exit(main())
