"""Would `auto` infer better labels if it weighed one more aggregator?

``python -m benchmarks.aggregators_candidate NAME [CROWDS] [FIRST SEED] [DATASET …]``: on each kind of crowd of
`testkit.crowds` and `benchmarks.aggregators_hard`, and on datasets with gold, the accuracy in % of the best
aggregator that `auto` weighs now, of the new one, of `auto`, and of `auto` with the new one. ± is the standard error of
the difference over crowds.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from unittest.mock import patch

import numpy as np

from benchmarks.aggregators_hard import difference, kinds
from crowdcore import aggregation, load_dataset
from crowdcore.aggregation import auto
from crowdcore.core.types import FloatArray
from crowdcore.data.dataset import CrowdDataset
from testkit.crowds import DEPENDENT, INDEPENDENT, simulated


def accuracies(crowd: CrowdDataset, name: str) -> FloatArray:
    """(n_candidates + 3,) in %: of the candidates, the new one, `auto`, and `auto` with it."""
    candidates = {**auto._CANDIDATES, name: {}}
    results = [aggregation.get(each, **settings).fit(crowd) for each, settings in candidates.items()]
    results.append(aggregation.get("auto").fit(crowd))
    with patch.object(auto, "_CANDIDATES", candidates):
        results.append(aggregation.get("auto").fit(crowd))
    judged = crowd.annotated & (crowd.gold >= 0)
    return np.array([100 * (each.labels == crowd.gold)[judged].mean() for each in results])


def crowds() -> dict[str, Callable[[int], CrowdDataset]]:
    """Kind of crowd -> function of a seed."""
    made = {kind: lambda seed, k=kind: simulated(k, seed) for kind in INDEPENDENT | DEPENDENT}
    return made | kinds()


def row(name: str, table: FloatArray) -> FloatArray:
    """Print the row of a kind; return the gain of `auto` by the new one, and (2,) the distances of both to the best."""
    best = table[:, :-3].mean(0).max()
    cells = [f"{x:.1f}" for x in (best, *table[:, -3:].mean(0))]
    gain = difference(table[:, -1], table[:, -2]) if len(table) > 1 else f"{table[0, -1] - table[0, -2]:+.1f}"
    print(f"| {name} | " + " | ".join([*cells, gain]) + " |", flush=True)
    before, after = table[:, -2:].mean(0)
    return np.array([after - before, before - max(best, table[:, -3].mean()), after - max(best, table[:, -3].mean())])


def main() -> None:
    name, words = [*sys.argv, "item-response"][1], sys.argv[2:]
    numbers, datasets = [int(word) for word in words if word.isdigit()], [w for w in words if not w.isdigit()]
    n, first = [*numbers, *(5, 9000)[len(numbers) :]]
    print(f"| {n} crowds | best candidate | {name} | auto | auto with {name} | difference |\n|---|" + "--:|" * 5)
    rows = [row(each, accuracies(load_dataset(each), name)[None]) for each in datasets]
    rows += [row(kind, np.array([accuracies(of(first + k), name) for k in range(n)])) for kind, of in crowds().items()]
    gain, before, after = np.transpose(rows)
    print(f"mean difference {gain.mean():+.2f}, lowest {gain.min():+.2f}; against the best: {before.mean():.2f}, then ")
    print(f"{after.mean():.2f} in the mean, {before.min():.2f}, then {after.min():.2f} at the lowest")


if __name__ == "__main__":
    main()
