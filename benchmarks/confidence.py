"""Is a fit as sure as it is right, does the guard speak where it is not, and are tempered probabilities better?

``python -m benchmarks.confidence [CROWDS] [FIRST SEED] [--out FILE]`` fits six aggregators to crowds of each kind of
`testkit.crowds`, `testkit.known_truth` (honest), `benchmarks.aggregators_hard`, and to panels of judges who err
together; ``python -m benchmarks.confidence real [NAME …]`` to datasets with gold. Tables: how often the guard warns
(`aggregation.confidence`), without gold and with gold for a fifth of the tasks, by the excess of a fit's confidence
over its accuracy; then by kind and aggregator the accuracy of labels with P ≥ .99, and the expected calibration error,
as fitted, tempered without gold, and calibrated on a fifth of the gold, each judged by the gold of the other tasks.
"""

from __future__ import annotations

import argparse
import itertools
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.aggregators_hard import kinds
from crowdcore import aggregation, load_dataset
from crowdcore.analysis.gold_scores import calibration
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset
from testkit.crowds import COLLAPSING, DEPENDENT, INDEPENDENT, simulated
from testkit.known_truth import HONEST, Known, panel

NAMES = ("auto", "dawid-skene", "one-coin", "mace", "glad", "item-response")
REAL = ("labelme", "music", "leaves", "bluebird", "rte", "temp", "product", "possent", "sentiment_amt", "cifar10s")
REAL += ("judges_civil",)
GAPS = (-1.0, 0.05, 0.10, 0.15, 1.0)
SHARE = 0.2  # of the tasks whose gold is shown to the guard and to the calibration
MOST = 400_000  # annotations times classes of a crowd
SURE = 0.99
HOW = ("as fitted", "tempered", "by gold")


class Row(NamedTuple):
    """One fit: its excess confidence, whether the guard warns without and with gold, and its calibration per `HOW`.

    Attributes:
        gap: mean confidence minus share of right labels, of the tasks whose gold judges.
        speaks: (2,) without and with gold.
        sure, right: (3,) labels with P ≥ .99, and those of them that are right.
        error: (3,) expected calibration errors.
    """

    gap: float
    speaks: FloatArray
    sure: IntArray
    right: IntArray
    error: FloatArray


def measured(crowd: CrowdDataset, name: str, seed: int) -> Row | None:
    """Judge a fit by the gold that was not shown; None where a class is lost, which another guard reports."""
    fit = aggregation.get(name).fit(crowd)
    if fit.collapsed or any("is all but lost" in note or "is inflated" in note for note in fit.notes):
        return None
    shown = np.random.default_rng([seed, 1]).random(crowd.n_tasks) < SHARE
    gold, rest = (np.where(some & crowd.annotated, crowd.gold, -1) for some in (shown, ~shown))
    judged = rest >= 0
    enough = (gold >= 0).sum() >= 20
    confidences = [aggregation.confidence(crowd, fit, some) for some in (None, gold)]
    tempered = aggregation.temper(fit, crowd)
    results = [fit, tempered, aggregation.temper(fit, crowd, gold) if enough else tempered]
    sure = [result.posterior[judged].max(1) >= SURE for result in results]
    right = [(result.labels == crowd.gold)[judged] for result in results]
    return Row(
        float(fit.posterior[judged].max(1).mean() - right[0].mean()),
        np.array([each is not None and each.too_sure for each in confidences]),
        np.array([some.sum() for some in sure]),
        np.array([(some & good).sum() for some, good in zip(sure, right, strict=True)]),
        np.array([float(calibration(result, rest).error) for result in results]),
    )


def crowds() -> Mapping[str, Callable[[int], CrowdDataset]]:
    """Kind of crowd with gold -> function of a seed."""

    def known(make: Callable[[np.random.Generator], Known], seed: int) -> CrowdDataset:
        crowd = make(np.random.default_rng(seed))
        return replace(crowd.dataset, gold=crowd.true.astype(np.int32))

    made: dict[str, Callable[[int], CrowdDataset]] = {
        kind: partial(simulated, kind) for kind in INDEPENDENT | DEPENDENT | COLLAPSING
    }
    made |= {f"honest: {kind}": partial(known, make) for kind, make in HONEST.items() if "gold" not in kind}
    made |= kinds()
    for judges in (6, 12, 24):
        for correlation in (0.15, 0.25, 0.4):
            make = partial(panel, n_judges=judges, correlation=correlation)
            made[f"{judges} judges, errors correlate {correlation}"] = partial(known, make)
    return made


def guard_table(rows: Mapping[tuple[str, str], list[Row]]) -> list[str]:
    """Table of how often the guard warns, by the gap."""
    words = [f"{low:.2f} to {high:.2f}" for low, high in itertools.pairwise(GAPS)]
    words[0], words[-1] = "up to 0.05", "0.15 and more"
    lines = [
        "| says more than is right by | " + " | ".join(words) + " |",
        "|---|" + "--:|" * len(words),
    ]
    groups = {"all": NAMES, **{name: (name,) for name in NAMES}}
    for how, at in (("no gold", 0), ("a fifth of gold", 1)):
        for group, names in groups.items():
            every = [row for (_, name), some in rows.items() if name in names for row in some]
            gap, speaks = np.array([row.gap for row in every]), np.array([row.speaks[at] for row in every])
            cells = []
            for low, high in itertools.pairwise(GAPS):
                of = speaks[(gap > low) & (gap <= high)] if low < 0 else speaks[(gap >= low) & (gap < high)]
                cells.append(f"{of.mean():.2f} of {len(of)}" if len(of) else "–")
            lines.append(f"| {group}, {how} | " + " | ".join(cells) + " |")
    return lines


def sure_table(rows: Mapping[tuple[str, str], list[Row]]) -> list[str]:
    """Table of labels with P ≥ .99 and calibration errors, for the kinds where fewer than 95 % of these are right."""
    lines = [
        "| crowds | aggregator | " + " | ".join(f"P ≥ .99 right, {how}" for how in HOW) + " | error | | |",
        "|---|---|--:|--:|--:|--:|--:|--:|",
    ]
    total: dict[str, list[Row]] = defaultdict(list)
    for (kind, name), some in rows.items():
        total[name] += some
        if some and _share(some, 0) < 0.95:
            lines.append(_line(kind, name, some))
    return lines + [_line("**all kinds**", name, some) for name, some in total.items()]


def _share(some: list[Row], how: int) -> float:
    sure = sum(row.sure[how] for row in some)
    return float(sum(row.right[how] for row in some) / sure) if sure else 1.0


def _line(kind: str, name: str, some: list[Row]) -> str:
    counts = [sum(int(row.sure[how]) for row in some) for how in range(3)]
    shares = [f"{_share(some, how):.3f} of {n:,}" if (n := counts[how]) else "none" for how in range(3)]
    errors = [f"{error:.3f}" for error in np.mean([row.error for row in some], 0)]
    return f"| {kind} | {name} | " + " | ".join([*shares, *errors]) + " |"


def main() -> None:
    ask = argparse.ArgumentParser()
    ask.add_argument("words", nargs="*", default=["2", "9000"])
    ask.add_argument("--out", type=Path)
    args = ask.parse_args()
    rows: dict[tuple[str, str], list[Row]] = defaultdict(list)
    if args.words[0] == "real":
        made, seeds = {name: lambda _, n=name: load_dataset(n) for name in args.words[1:] or REAL}, range(1)
    else:
        n, first = (int(word) for word in (*args.words, *("2", "9000")[len(args.words) :]))
        made, seeds = dict(crowds()), range(first, first + n)
    for kind, make in made.items():
        for seed in seeds:
            crowd = make(seed)
            for name in NAMES if crowd.n_annotations * crowd.n_classes <= MOST else ():
                row = measured(crowd, name, seed)
                if row is not None:
                    rows[kind, name].append(row)
        print(kind, flush=True)
    text = "\n\n".join("\n".join(table(rows)) for table in (guard_table, sure_table))
    if args.out is None:
        print(text)
    else:
        args.out.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
