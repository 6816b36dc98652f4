"""The embedded panel: nine imagined models of three families judge 300 answers.

``python -m testkit.judges_demo [FOLDER]`` makes it again, byte for byte.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.simulate.base import as_tasks, numbered
from crowdcore.data.simulate.judges import Judges
from crowdcore.data.writers import write_folder

FAMILIES, SIZES, N_ITEMS, N_UNKNOWN = ("kestrel", "merlin", "osprey"), ("large", "medium", "small"), 300, 60
PANEL = Judges(n_workers=len(FAMILIES) * len(SIZES), families=len(FAMILIES), missing=0.02, seed=2026)
NAMES = tuple(f"{family}-{size}" for size in SIZES for family in FAMILIES)


def make() -> CrowdDataset:
    """300 answers, passed or failed by nine judges; the truth of 60 is left out."""
    rng = np.random.default_rng(PANEL.seed)
    gold = (rng.random(N_ITEMS) < 0.6).astype(np.int32)
    tasks = as_tasks((None, gold), "judges")
    panel = PANEL.run(replace(tasks, classes=("fail", "pass"), task_ids=numbered("answer-", N_ITEMS)))
    truth = panel.truth
    assert truth is not None and truth.worker_confusion is not None
    known = gold.copy()
    known[rng.choice(N_ITEMS, N_UNKNOWN, replace=False)] = -1
    truth = replace(truth, worker_confusion=truth.worker_confusion.round(6))
    return replace(panel, name="judges", worker_ids=pd.Index(NAMES, dtype=object), gold=known, truth=truth)


def write(folder: Path) -> CrowdDataset:
    """Make the dataset and write it, with its README, in our on-disk format."""
    panel = make()
    write_folder(panel, folder, table="csv", readme=_readme(panel), overwrite=True)
    return panel


def _readme(panel: CrowdDataset) -> str:
    known = panel.gold[panel.task] >= 0
    right = 100 * (panel.label == panel.gold[panel.task])[known].mean()
    return f"""# Judges: {panel.n_workers} imagined models judge {panel.n_tasks} answers

No model and no answer is real: every verdict was drawn by `python -m testkit.judges_demo`, which makes this folder
again, byte for byte. Settings, seed and the items that mislead each family are in `truth.npz`.

- {panel.n_tasks} answers, each `pass` or `fail`; the truth of {N_UNKNOWN} is left out.
- {panel.n_annotations} verdicts by {panel.n_workers} judges, {right:.1f} % of them right.
- Three families (`{"`, `".join(FAMILIES)}`): the judges of one share blind spots, on
  {100 * PANEL.family:.0f} % of the answers.
- {100 * PANEL.shared:.0f} % of the answers mislead the whole panel, and all find the same answers hard.
"""


def main() -> None:
    """Write the panel into the folder given, else where the package has it."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[1] / "data" / "judges"
    print(f"{write(folder)!r} written to {folder}")


if __name__ == "__main__":
    main()
