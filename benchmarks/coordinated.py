"""Are coordinated workers found, and honest crowds left alone?

Honest crowds are those of `testkit.planted` (unequal skills, unequal difficulty, foils, dense and sparse), crowds
with CoNAL's common confusion that workers share to different degrees, and crowds in which every worker takes each class
for another one of the own. Claim: at the level of the pages (5/9 of 5 %) at most 5 % of honest crowds of each kind hold
a group (two standard errors of the simulation are granted). Attacks: k workers (the leader included) copy a leader,
push class 0 to class 1, or imitate the common confusion, at a rate. The table has the share of them in the group with
most of them, and the share of crowds with an honest worker in a group (the worst column).

``python -m benchmarks.coordinated [CROWDS] [FIRST SEED]``; 50 honest crowds of each kind by default, and half as many
of each attack. ``python -m benchmarks.coordinated CROWDS SEED "2 classes"`` attacks only crowds of that kind, and names
of references, as ``majority-vote``, judge by these alone.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from crowdcore import analysis
from crowdcore.data import simulate
from crowdcore.data.dataset import CrowdDataset
from testkit.planted import ATTACKED, HONEST, attacked_crowd, caught, common_confusion, honest_crowd, own_confusions

REFERENCES = ("gold", "dawid-skene", "majority-vote")
LEVEL = 5 * 0.05 / 9  # of the pages: verdicts name workers who guess or drift as well, at 5 % in all
ATTACKS = ("copy", "push", "imitate")
SIZES, RATES = (2, 3, 5, 8), (0.9, 0.5)


def honest(seeds: range, references: Sequence[str]) -> float:
    """Print how often a worker is named in honest crowds; return the worst share."""
    kinds: dict[str, Callable[[int], CrowdDataset]] = {
        kind: lambda seed, s=settings: honest_crowd(seed, **s) for kind, settings in HONEST.items()
    }
    kinds |= {"common confusion, unequally shared": common_confusion, "own confusions of every worker": own_confusions}
    worst = 0.0
    print(
        f"| {len(seeds)} honest crowds of each kind | "
        + " | ".join(references)
        + " |\n|---|"
        + "--:|" * len(references)
    )
    for kind, made in kinds.items():
        shares = [
            float(np.mean([bool(analysis.coordinated_workers(made(s), reference, level=LEVEL).groups) for s in seeds]))
            for reference in references
        ]
        worst = max(worst, *shares)
        print(f"| {kind} | " + " | ".join(f"{share:.2f}" for share in shares) + " |", flush=True)
    return worst


def attacked(seeds: range, kinds: str, references: Sequence[str]) -> None:
    """Print the share of attackers found, in the crowds whose name begins with `kinds`."""
    heads = " | ".join(f"{size} at {100 * rate:.0f} %" for rate in RATES for size in SIZES)
    print(f"\n| {len(seeds)} crowds of each attack | reference | {heads} | honest named |")
    print("|---|---|" + "--:|" * (len(RATES) * len(SIZES) + 1))
    for kind, settings in ATTACKED.items():
        for attack in ATTACKS if "2 classes" not in kind else ATTACKS[:1]:
            for reference in references if kind.startswith(kinds) else ():
                means = [
                    np.mean([_run(seed, reference, attack, size, rate, settings) for seed in seeds], 0)
                    for rate in RATES
                    for size in SIZES
                ]
                parts = " | ".join(f"{share:.2f}" for share, _ in means)
                print(f"| {attack}, {kind} | {reference} | {parts} | {max(h for _, h in means):.2f} |", flush=True)


def large() -> None:
    """Print the time for 300,000 rows."""
    crowd = simulate.copy_leader(honest_crowd(0, n_tasks=60_000, n_workers=1000, n_classes=8), [1, 2], 0, 0.9)
    analysis.coordinated_workers(honest_crowd(0))  # loads the compiled loops
    began = time.process_time()
    groups = [group.members.tolist() for group in analysis.coordinated_workers(crowd, "gold", level=LEVEL).groups]
    seconds = time.process_time() - began
    print(f"\n{crowd.n_annotations:,} annotations: {seconds:.1f} s of processor time; groups {groups}")


def main() -> int:
    crowds = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    references = [word for word in sys.argv[3:] if word in REFERENCES] or REFERENCES
    for kind in set(sys.argv[3:]).difference(REFERENCES):
        attacked(range(first, first + crowds), kind, references)
        return 0
    worst, bound = honest(range(first, first + crowds), references), 0.05 + 2 * np.sqrt(0.05 * 0.95 / crowds)
    attacked(range(first, first + crowds, 2), "", references)
    large()
    print(f"Worst share of honest crowds with a group: {worst:.2f} (at most {bound:.2f})")
    return int(worst > bound)


def _run(
    seed: int, reference: str, attack: str, size: int, rate: float, settings: Mapping[str, Any]
) -> tuple[float, bool]:
    crowd = attacked_crowd(seed, attack, size, rate, **settings)
    return caught(analysis.coordinated_workers(crowd, reference, level=LEVEL), size)


if __name__ == "__main__":
    sys.exit(main())
