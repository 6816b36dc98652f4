"""Workers who become worse, where labels come in sessions: are they still found, and is nobody else named?

Planted crowds of `testkit.planted`: one worker guesses in the second half of the time. Each worker's labels are cut
into 1, 2, 4, 10 or 20 sessions, a day apart. Honest crowds: in each session, a worker guesses 0 to 40 % of the labels.

``python -m benchmarks.falls [CROWDS] [FIRST SEED]``; 50 crowds of each kind by default.
"""

from __future__ import annotations

import sys

import numpy as np

from testkit.planted import DRIFTING, HONEST, PLANTED, falling, honest_crowd, in_sessions, planted_crowd, uneven

SESSIONS = (1, 2, 4, 10, 20)
KINDS = ("4 classes, sparse", "4 classes, few labels", "4 classes, dense", "2 classes, sparse")


def main(crowds: int = 50, first: int = 0) -> None:
    """Print both tables."""
    heads = " | ".join(map(str, SESSIONS))
    print(f"| the fall is found | reference | {heads} |\n|---|---|{'--:|' * len(SESSIONS)}")
    for kind in KINDS:
        for reference in ("gold", "dawid-skene"):
            planted = [planted_crowd(seed, **PLANTED[kind]) for seed in range(first, first + crowds)]
            shares = [np.mean([falling(in_sessions(c, n)[0], reference)[DRIFTING] for c in planted]) for n in SESSIONS]
            print(f"| {kind} | {reference} | " + " | ".join(f"{share:.2f}" for share in shares) + " |", flush=True)
    print(f"\n| honest crowds with a fall | reference | {heads} |\n|---|---|{'--:|' * len(SESSIONS)}")
    for kind in ("4 classes, sparse", "4 classes, dense", "2 classes, sparse"):
        for reference in ("gold", "dawid-skene"):
            shares = []
            for sessions in SESSIONS:
                honest = (
                    (s, *in_sessions(honest_crowd(s, **HONEST[kind]), sessions)) for s in range(first, first + crowds)
                )
                shares.append(np.mean([falling(uneven(c, session, s), reference).any() for s, c, session in honest]))
            print(f"| {kind} | {reference} | " + " | ".join(f"{share:.2f}" for share in shares) + " |", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
