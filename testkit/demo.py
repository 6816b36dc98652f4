"""The embedded demo dataset: handwritten digits labelled by 40 imagined workers.

``python -m testkit.demo [FOLDER]`` makes it again, byte for byte (scikit-learn has the images).
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from crowdcore.core.errors import need_extra
from crowdcore.core.types import AnyArray, IntArray
from crowdcore.data.dataset import CrowdDataset, Media
from crowdcore.data.rows import Rows
from crowdcore.data.simulate.base import as_tasks, draw_labels, numbered
from crowdcore.data.simulate.classes import Conal
from crowdcore.data.writers import write_folder

CLASSES = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
N_WORKERS, N_VALID, N_TEST, N_UNKNOWN = 40, 200, 400, 40
FEW = (3, 5, 8, 12, 16)  # labels left of the workers who gave the fewest
NOISE = Conal(
    n_workers=N_WORKERS - 3,
    per_task=4,
    workload="beta",
    targets=(0, 7, 2, 8, 9, 5, 6, 7, 8, 9),  # one → seven, three → eight, four → nine
    common_strength=0.7,
    individual_strength=0.2,
    strength_spread=0.08,
    proportion=0.4,
    omega_spread=1.5,
    seed=2021,
)


def make() -> CrowdDataset:
    """1,797 digits in three splits; the training ones labelled by 37 workers under CoNAL's noise, by one who answers
    at random, one who always gives the same answer, and one who copies. ``truth`` says who and how.

    Raises:
        MissingExtraError: scikit-learn is not installed.
    """
    rng = np.random.default_rng(NOISE.seed)
    images, gold = _digits()
    n = len(gold)
    split = np.zeros(n, np.int8)
    held_out = rng.permutation(n)[: N_VALID + N_TEST]
    split[held_out[:N_VALID]], split[held_out[N_VALID:]] = 1, 2
    tasks = replace(
        as_tasks(((images / 16).reshape(n, -1).astype(np.float32), gold), "demo", split),
        classes=CLASSES,
        task_ids=numbered("digit-", n),
        media=Media(images=Rows.from_array((images * 255 // 16).astype(np.uint8))),
    )
    crowd = _add_odd_workers(_leave_few(NOISE.run(tasks), rng), rng)
    unknown = rng.choice(np.flatnonzero(split == 0), N_UNKNOWN, replace=False)
    known = gold.copy()
    known[unknown] = -1
    return replace(crowd, name="demo", gold=known)


def _digits() -> tuple[AnyArray, IntArray]:
    """(1797, 8, 8) grey values 0…16 and (1797,) classes."""
    try:
        from sklearn.datasets import load_digits
    except ImportError as error:
        raise need_extra("Making the demo dataset", "sklearn") from error
    digits = load_digits()
    return digits.images.astype(np.int64), digits.target.astype(np.int32)


def _leave_few(ds: CrowdDataset, rng: np.random.Generator) -> CrowdDataset:
    """Leave the workers with the fewest labels only some of them."""
    keep = np.ones(ds.n_annotations, bool)
    for worker, count in zip(np.argsort(ds.labels_per_worker), FEW, strict=False):
        keep[rng.permutation(np.flatnonzero(ds.worker == worker))[count:]] = False
    return ds.where(keep)


def _add_odd_workers(ds: CrowdDataset, rng: np.random.Generator) -> CrowdDataset:
    """Add a worker who answers at random, one with a single answer and one who copies, all at random numbers."""
    truth = ds.truth
    assert truth is not None and truth.worker_confusion is not None
    assert truth.omega is not None and truth.used_common is not None
    at_random, single, copier = range(ds.n_workers, N_WORKERS)
    leader = int(np.argsort(ds.labels_per_worker)[-3])
    only_one = np.zeros((10, 10))
    only_one[:, CLASSES.index("one")] = 1
    confusion = np.concatenate(
        [truth.worker_confusion, [np.full((10, 10), 0.1), only_one, truth.worker_confusion[leader]]]
    )
    copied = rng.permutation(np.flatnonzero(ds.worker == leader))[:140]
    train = np.flatnonzero(ds.annotated)
    untouched = np.setdiff1d(train, ds.task[ds.worker == leader])
    own = {at_random: (train, 240), single: (train, 160), copier: (untouched, 30)}
    task = np.concatenate([rng.choice(tasks, n, replace=False) for tasks, n in own.values()])
    worker = np.repeat(list(own), [n for _, n in own.values()])
    label = draw_labels(confusion, worker, ds.gold[task], rng)
    none = np.zeros(len(task))

    number = rng.permutation(N_WORKERS)  # of each of the workers above
    ids = numbered("w", N_WORKERS)
    ordinary = ["few labels" if count <= max(FEW) else "" for count in ds.labels_per_worker]
    roles = np.array([*ordinary, "random answers", "single answer", f"copier of {ids[number[leader]]}"])
    all_tasks = np.concatenate([ds.task, ds.task[copied], task])
    all_workers = number[np.concatenate([ds.worker, np.full(len(copied), copier), worker])]
    order = np.lexsort((all_workers, all_tasks))
    back = np.argsort(number)
    return replace(
        ds,
        worker_ids=ids,
        task=all_tasks[order],
        worker=all_workers[order],
        label=np.concatenate([ds.label, ds.label[copied], label])[order],
        truth=replace(
            truth,
            worker_confusion=confusion[back].round(6),
            omega=np.concatenate([truth.omega, truth.omega[copied], none])[order].round(6),
            used_common=np.concatenate([truth.used_common, truth.used_common[copied], none > 0])[order],
            worker_role=tuple(roles[back].tolist()),
        ),
    )


def write(folder: Path) -> CrowdDataset:
    """Make the dataset and write it, with its README, in our on-disk format."""
    ds = make()
    write_folder(ds, folder, table="csv", readme=_readme(ds), overwrite=True)
    return ds


def _readme(ds: CrowdDataset) -> str:
    truth = ds.truth
    assert truth is not None and truth.used_common is not None
    true = ds.gold[ds.task]
    right, common = 100 * (ds.label == true)[true >= 0].mean(), 100 * truth.used_common.mean()
    train, valid, test = np.bincount(ds.split)
    odd = {role: worker for worker, role in zip(ds.worker_ids, truth.worker_role, strict=True)}
    copied = next(role for role in odd if role.startswith("copier"))
    few = [worker for worker, role in zip(ds.worker_ids, truth.worker_role, strict=True) if role == "few labels"]
    return f"""# Demo: handwritten digits labelled by {ds.n_workers} imagined workers

The images are real, the workers are not: every label was drawn by `python -m testkit.demo`, which
makes this folder again, byte for byte. Settings, seed and everything that generated a label are in `truth.npz`.

- {ds.n_tasks} tasks: {train} to train on (labelled), {valid} to validate, {test} to test; 8 × 8 images, 64 features.
- {ds.n_annotations} annotations by {ds.n_workers} workers, {right:.1f} % of them right. The true class of {N_UNKNOWN}
  training tasks is left out, as it often is in practice.
- All workers share a confusion (CoNAL's noise): `one` is taken for `seven`, `three` for `eight`, `four` for `nine`.
  {common:.0f} % of the annotations come from it; how likely depends on the image and on the worker.
- Each worker has a confusion of their own besides.
- {odd["random answers"]} answers at random, {odd["single answer"]} always says `one`, {odd[copied]} copies most labels
  from {copied.removeprefix("copier of ")}, and {", ".join(few)} gave only a few labels.

Images: digits of scikit-learn, from E. Alpaydin, C. Kaynak, Optical Recognition of Handwritten Digits, UCI Machine
Learning Repository, 1998 (CC BY 4.0), https://doi.org/10.24432/C50P49. Noise: Chu, Ma, Wang, AAAI 2021.
"""


def main() -> None:
    """Write the demo dataset into the folder given, else where the package has it."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[1] / "data" / "demo"
    print(f"{write(folder)!r} written to {folder}")


if __name__ == "__main__":
    main()
