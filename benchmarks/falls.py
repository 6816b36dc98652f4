"""Is a worker who becomes worse still found where labels come in sessions, and is nobody else named?

Planted crowds of `benchmarks.verdicts`: one worker guesses in the second half of the time. Each worker's labels are cut
into 1, 2, 4, 10 or 20 sessions, a day apart. Honest crowds: in each session, a worker guesses 0 to 40 % of the labels.

``python -m benchmarks.falls [CROWDS] [FIRST SEED]``; 50 crowds of each kind by default.
"""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pandas as pd

from benchmarks.verdicts import DRIFTING, HONEST, PLANTED, honest_crowd, planted_crowd
from crowdcore import analysis
from crowdcore.analysis.verdicts.drift import drift
from crowdcore.analysis.verdicts.peers import peer_beliefs
from crowdcore.analysis.verdicts.workers import DRIFTING as SHARE
from crowdcore.core.types import BoolArray, IntArray
from crowdcore.data.dataset import CrowdDataset

SESSIONS = (1, 2, 4, 10, 20)
KINDS = ("4 classes, sparse", "4 classes, few labels", "4 classes, dense", "2 classes, sparse")


def in_sessions(crowd: CrowdDataset, sessions: int) -> tuple[CrowdDataset, IntArray]:
    """The crowd with each worker's labels in that many sessions, in the same order, and each label's session."""
    assert crowd.extra is not None
    rank = crowd.extra["timestamp"].groupby(crowd.worker).rank(method="first").to_numpy() - 1
    session = (rank * sessions / np.bincount(crowd.worker)[crowd.worker]).astype(int)
    times = pd.DataFrame({"timestamp": 1_700_000_000 + 86_400 * session + 10 * rank})
    return replace(crowd, extra=times), session


def uneven(crowd: CrowdDataset, session: IntArray, seed: int) -> CrowdDataset:
    """An honest crowd whose workers guess more in some of their sessions."""
    rng = np.random.default_rng(seed)
    share = rng.uniform(0, 0.4, (crowd.n_workers, session.max() + 1))[crowd.worker, session]
    guessed = rng.integers(crowd.n_classes, size=len(share))
    return replace(crowd, label=np.where(rng.random(len(share)) < share, guessed, crowd.label))


def falling(crowd: CrowdDataset, reference: str) -> BoolArray:
    """(n_workers,) who is said to have become worse."""
    found = drift(crowd, peer_beliefs(crowd, analysis.resolve_reference(crowd, reference)))
    assert found is not None
    return np.nan_to_num(found.adjusted, nan=1) <= SHARE * 0.05


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
