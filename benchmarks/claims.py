"""False claims that the pages make of honest crowds, one function per claim.

Honest crowds (`testkit.planted`): everybody knows something, nobody copies, drifts or pushes a mistake, and wrong
labels fall on the wrong classes at random or on a foil of the task's own. So every worker who is accused, every shared
cell, pair, group, change and failed rule below is false. Aim: at most 5 % of crowds (two standard errors granted) for
each claim, whatever the reference.

``python -m benchmarks.claims [CROWDS] [FIRST SEED] [REFERENCE …] [KIND …] [CLAIM …]``; 50 crowds of each kind by
default, with `auto`, the default without gold, and all claims (``trained`` measures one of them). The kind ``unequal``
stands for the crowds of `benchmarks.mistakes`, with tasks so unequally hard that votes are often wrong, and workers
worse than chance; they are made only if asked for, and have no two rounds.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np

from crowdcore import analysis, exhibits
from crowdcore.analysis.checks.rules import recommended, rules_of
from crowdcore.exhibits import coordinated, overview, verdicts, worker_page, workers
from crowdcore.exhibits.view import View
from testkit.erring import PAIRS, TASKS, unequal
from testkit.planted import HONEST, honest_crowd, two_rounds

LEVEL = 0.05
_NAMES = ("dependent_workers_percent", "shared_mistakes", "drifting_workers_percent", "spamming_workers_percent")
RULES = rules_of({f"max_{name}": recommended()[f"max_{name}"] for name in _NAMES})
"""The rules that no honest crowd fails, as recommended; the others are about its tasks and its (made) times."""


def removed(view: View) -> bool:
    """Overview: a worker is no better than guessing."""
    return bool((verdicts.workers_judged(view).verdict == "remove").any())


def together(view: View) -> bool:
    """Overview: a worker copies, or acts with others."""
    return bool(verdicts.workers_judged(view).together.any())


def drifts(view: View) -> bool:
    """Overview: a worker became worse."""
    return bool(verdicts.workers_judged(view).drifts.any())


def trained(view: View) -> bool:
    """Overview: a worker makes one mistake again and again."""
    return bool(verdicts.workers_judged(view).train.any())


def shared(view: View) -> bool:
    """Shared mistakes: workers share a mistake beyond chance."""
    return bool(verdicts.guideline_cells(view).any())


def pairs(view: View) -> bool:
    """Pairs: two workers are named."""
    return bool(workers.worker_pairs(view).table["named"].any())


def in_groups(view: View) -> bool:
    """Coordinated workers: there is a group."""
    return bool(coordinated.coordinated(view).groups)


def one_worker(view: View) -> bool:
    """One worker: a shared confusion, or answers that became faster, slower or too fast."""
    speed = worker_page.worker_speed(view).table
    too_fast = "too_fast" in speed and speed["too_fast"].any()
    changed = "changed after" in speed and speed["changed after"].notna().any()
    return bool(too_fast or changed or verdicts.common_confusions(view))


def set_apart(view: View) -> bool:
    """Annotators: a mistake sets a group apart."""
    return any(note.startswith("“") for note in workers.worker_groups(view).notes)


def rules_failed(view: View) -> bool:
    """Check: a rule about what workers do has failed."""
    return bool(overview.checked(view, RULES).failed())


CLAIMS: dict[str, Callable[[View], bool]] = {
    claim.__name__.replace("_", " "): claim
    for claim in (
        *(removed, together, drifts, trained, shared, pairs),
        *(in_groups, one_worker, set_apart, rules_failed),
    )
}
ROUNDS = "two rounds"
UNEQUAL = {f"{design}, {tasks}": (PAIRS[design], TASKS[tasks]) for design in PAIRS for tasks in TASKS}


def claims(kind: str, seed: int, reference: str, names: tuple[str, ...]) -> list[bool]:
    """Evaluate each claim on one crowd; the last one is that its two rounds differ."""
    if kind in HONEST:
        crowd = honest_crowd(seed, **HONEST[kind])
    else:
        crowd = unequal(*UNEQUAL[kind], np.random.default_rng(seed))
    view = exhibits.view(crowd, reference)
    made = [CLAIMS[name](view) for name in names if name in CLAIMS]
    if ROUNDS in names:
        made.append(bool(analysis.rounds(two_rounds(seed, "tasks", HONEST[kind]), reference, by="round").alarm))
    return made


def main() -> int:
    numbers = [int(word) for word in sys.argv[1:3]]
    crowds, first = [*numbers, *(50, 0)[len(numbers) :]]
    every = (*CLAIMS, ROUNDS)
    is_unequal = "unequal" in sys.argv[3:]
    kinds = [*UNEQUAL] if is_unequal else [word for word in sys.argv[3:] if word in HONEST] or [*HONEST]
    names = tuple(name for name in every if name in sys.argv[3:]) or every[: -1 if is_unequal else None]
    references = [word for word in sys.argv[3:] if word not in ("unequal", *HONEST, *every)] or ["auto"]
    print(f"| {crowds} honest crowds of each kind | reference | " + " | ".join(names) + " |")
    print("|---|---|" + "--:|" * len(names))
    worst, bound = 0.0, LEVEL + 2 * np.sqrt(LEVEL * (1 - LEVEL) / crowds)
    for kind in kinds:
        for reference in references:
            shares = np.mean([claims(kind, seed, reference, names) for seed in range(first, first + crowds)], 0)
            worst = max(worst, shares.max())
            print(f"| {kind} | {reference} | " + " | ".join(f"{share:.2f}" for share in shares) + " |", flush=True)
    print(f"Worst share: {worst:.2f} (at most {bound:.2f})")
    return int(worst > bound)


if __name__ == "__main__":
    sys.exit(main())
