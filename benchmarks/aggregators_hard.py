"""`item-response` against the other aggregators on hard crowds, where votes are wrong together.

``python -m benchmarks.aggregators_hard [CROWDS] [FIRST SEED]``: mean accuracies in % over 10 crowds of each kind by
default. Kinds: the honest crowds of `testkit.planted`; the unequal ones of `benchmarks.mistakes`, where most labels
of a hard task may be wrong, some with foils; and crowds in which 8 of 20 workers copy a leader, or push class 0 to
class 1, in 90 % of the tasks (`benchmarks.coordinated`). ± is the standard error of the difference over crowds.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np

from benchmarks.claims import UNEQUAL
from crowdcore import aggregation
from crowdcore.core.types import FloatArray
from crowdcore.data.dataset import CrowdDataset
from testkit.erring import unequal
from testkit.planted import ATTACKED, HONEST, attacked_crowd, honest_crowd

NAMES = ("majority-vote", "dawid-skene", "one-coin", "glad", "mace", "pooled-dawid-skene", "auto", "item-response")


def kinds() -> dict[str, Callable[[int], CrowdDataset]]:
    """Kind of crowd -> function of a seed."""
    made: dict[str, Callable[[int], CrowdDataset]] = {
        name: lambda seed, s=settings: honest_crowd(seed, **s) for name, settings in HONEST.items()
    }
    for name, (design, tasks) in UNEQUAL.items():
        made[name] = lambda seed, d=design, t=tasks: unequal(d, t, np.random.default_rng(seed))
    for attack in ("copy", "push"):
        for name, settings in ATTACKED.items():
            made[f"8 workers {attack}: {name}"] = lambda seed, a=attack, s=settings: attacked_crowd(
                seed, a, 8, 0.9, **s
            )
    return made


def accuracies(crowd: CrowdDataset) -> FloatArray:
    """(n_names,) in %."""
    return np.array([100 * (aggregation.get(name).fit(crowd).labels == crowd.gold).mean() for name in NAMES])


def difference(new: FloatArray, old: FloatArray) -> str:
    gain = new - old
    return f"{gain.mean():+.1f} ± {gain.std(ddof=1) / len(gain) ** 0.5:.1f}"


def main() -> None:
    numbers = [int(word) for word in sys.argv[1:]]
    crowds, first = [*numbers, *(10, 5000)[len(numbers) :]]
    print(f"| {crowds} crowds | " + " | ".join(NAMES) + " | against auto | against the best other |")
    print("|---|" + "--:|" * (len(NAMES) + 2))
    for name, made in kinds().items():
        shares = np.array([accuracies(made(seed)) for seed in range(first, first + crowds)])
        best = shares[:, shares[:, :-1].mean(0).argmax()]
        cells = [f"{x:.1f}" for x in shares.mean(0)]
        cells += [difference(shares[:, -1], shares[:, -2]), difference(shares[:, -1], best)]
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
