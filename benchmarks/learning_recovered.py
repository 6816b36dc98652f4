"""Recovery of workers' skills and of shared mistakes by runs, against gold.

    CROWDCORE_DATA=<LabelMe and Music> python -m benchmarks.learning_recovered workers|shared [seeds] [method …]
    python -m benchmarks.learning_recovered simulated [crowds] [method …]

workers: on LabelMe and Music, mean (lowest … highest) over training seeds of the selected epoch: over the workers with
at least 20 labels, Spearman's correlation of the shown skill (mean diagonal over the classes that a worker labelled)
with the one observed by gold, their mean absolute difference, and the ratio of their standard deviations; the share of
observed entries within their 95 % interval, of rows with 3 labels or more; in brackets the same of the method's own
matrices (mixed by ω where it has one). shared: the share of labels that the shared mistake explains in the largest
observed cells, with its interval, beside π^g; correlations of ω and of the probability of a shared mistake with labels
that repeat another's mistake on their task, over all labels and over wrong ones. simulated: both on crowds of five
kinds (`testkit.crowds_with_features`) of seeds 2000, …, without gold; "source": the correlation with a label's source.

Gold of training tasks judges here; it trains nowhere.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping

import numpy as np
import torch
from scipy.stats import spearmanr

from crowdcore import analysis
from crowdcore.analysis import confusion_of_counts, count_interval
from crowdcore.core.types import FloatArray
from crowdcore.data import CrowdDataset, load_dataset
from crowdcore.exhibits import view
from crowdcore.exhibits.recovered import of_run, posterior
from crowdcore.learning import TrainingResult, train, worker_counts
from testkit.crowds_with_features import KINDS

METHODS = ("gaussian-em", "crowd-layer", "conal", "trace", "ccc")
OTHERS = ("dl-em", "dl-ds", "max-mig", "geocrowdnet", "mbem", "crowdlab")
LEAST, EVIDENCE = 20, 3  # labels of a worker, and of a row
RANKS: Mapping[str, Mapping[str, float]] = {
    "labelme": {"gaussian-em": 0.85, **dict.fromkeys(("crowd-layer", "conal", "trace", "ccc"), 0.72)},
    "music": dict.fromkeys((*METHODS, *OTHERS), 0.8),
}
CELL = ("opencountry", "mountain", 0.12)


def compared(crowd: CrowdDataset, matrices: FloatArray) -> FloatArray:
    """(S, 3) rank correlation, mean absolute difference and ratio of deviations of the skills."""
    observed = analysis.worker_confusion(crowd, "gold")
    many = crowd.labels_per_worker >= LEAST
    rows = []
    for s in range(len(matrices)):
        skills = analysis.skill_comparison(observed, np.nan_to_num(matrices[s : s + 1]), seeds=[s])
        learnt, seen = skills.learned[many], skills.observed[many]
        rows.append([spearmanr(learnt, seen).statistic, np.abs(learnt - seen).mean(), learnt.std() / seen.std()])
    return np.array(rows)


def coverage(crowd: CrowdDataset, counts: FloatArray) -> float:
    """Share of the observed entries that lie in their intervals."""
    observed = analysis.worker_confusion(crowd, "gold")
    low, high = count_interval(counts.mean(0))
    inside = (low - 1e-9 <= observed.matrices) & (observed.matrices <= high + 1e-9)
    return float(inside[np.broadcast_to((observed.evidence >= EVIDENCE)[..., None], inside.shape)].mean())


def workers(crowd: CrowdDataset, result: TrainingResult, rank: float | None) -> None:
    counts = worker_counts(result, crowd)
    assert counts is not None
    shown = compared(crowd, np.stack([confusion_of_counts(one) for one in counts]))
    before = ""
    if result.worker_confusion is not None:
        own = analysis.effective_confusion(crowd, *result.recovered_at(), group=result.group)
        before = " [{:.2f} {:.3f} {:.2f}]".format(*compared(crowd, own).mean(0))
    rho, mae, ratio = shown.T
    names = {
        "skill ρ": (rho, "" if rank is None else f"≥ {rank}: {'MET' if rho.mean() >= rank else 'NOT MET'}"),
        "difference": (mae, f"≤ 0.05: {'MET' if mae.mean() <= 0.05 else 'NOT MET'}"),
        "deviation, of observed": (ratio, f"0.7 … 1.3: {'MET' if 0.7 <= ratio.mean() <= 1.3 else 'NOT MET'}"),
    }
    print(f"  {result.method:12s}{before}")
    for name, (values, claim) in names.items():
        print(f"    {name:24s}{values.mean():.3f} ({values.min():.3f} … {values.max():.3f})  {claim}", flush=True)
    print(f"    in their intervals      {coverage(crowd, counts):.3f}", flush=True)


def shared(crowd: CrowdDataset, result: TrainingResult) -> None:
    counts, run = worker_counts(result, crowd), of_run(view(crowd, "gold"), result)
    assert counts is not None
    part = analysis.shared_part(crowd, counts, posterior(run), seeds=result.seeds)
    observed = analysis.worker_confusion(crowd, "gold").crowd
    off = np.nan_to_num(observed) * (1 - np.eye(crowd.n_classes))
    own = None if result.common_confusion is None or result.common_confusion.ndim == 4 else result.common_confusion
    print(f"  {result.method}: largest observed cells: observed, shared part [95 %], π^g of the method")
    for cell in np.argsort(-off.ravel())[:6]:
        a, b = divmod(int(cell), crowd.n_classes)
        words = f"{part.share[a, b]:.2f} [{part.low[a, b]:.2f}, {part.high[a, b]:.2f}]"
        text = "–" if own is None else f"{own[:, a, b].mean():.2f} ± {own[:, a, b].std():.2f}"
        claim = ""
        if (crowd.classes[a], crowd.classes[b]) == CELL[:2]:
            claim = f"  ≥ {CELL[2]}: {'MET' if part.share[a, b] >= CELL[2] else 'NOT MET'}"
        print(f"    {crowd.classes[a]} → {crowd.classes[b]}: {observed[a, b]:.2f}, {words}, {text}{claim}")
    source = None if crowd.truth is None else crowd.truth.used_common
    wrong = (crowd.label != crowd.gold[crowd.task]) & (crowd.gold[crowd.task] >= 0)
    omega = None if result.omega is None else result.omega.mean(0)
    for name, values in (("ω", omega), ("shared mistake", part.mistake)):
        if values is None:
            continue
        use = analysis.omega_use(crowd, values, "gold")
        words = f"all {use.omega_correlation:.2f}, wrong {use.wrong_correlation:.2f}"
        if source is not None and source.any():
            known = ~np.isnan(values)
            every, of_wrong = (np.corrcoef(values[k], source[k])[0, 1] for k in (known, known & wrong))
            words += f"; source: all {every:.2f}, wrong {of_wrong:.2f}"
        means = "right {:.2f}, wrong as others {:.2f}, wrong alone {:.2f}".format(*use.omega)
        print(f"    {name}: {words}; mean of labels that are {means}", flush=True)


def simulated(crowds: int, methods: tuple[str, ...]) -> None:
    for make in KINDS.values():
        for seed in range(2000, 2000 + crowds):
            crowd = make(seed)
            right = (crowd.gold[crowd.task] == crowd.label).mean()
            print(f"{crowd.name}: {100 * right:.0f} % of the labels right")
            for method in methods:
                result = train(crowd, method, seeds=2, select_on="none", device="cpu")
                workers(crowd, result, 0.8)
                shared(crowd, result)


def main() -> None:
    torch.set_num_threads(1)
    part, *rest = sys.argv[1:] or ["workers"]
    number = next((int(a) for a in rest if a.isdigit()), 3)
    methods = tuple(a for a in rest if not a.isdigit()) or METHODS
    if part == "simulated":
        simulated(number, methods)
        return
    for name in ("labelme", "music"):
        crowd = load_dataset(name)
        print(f"{name}, defaults, {number} seeds")
        for method in methods:
            result = train(crowd, method, seeds=number, device="cpu")
            if part == "workers":
                workers(crowd, result, RANKS[name].get(method))
            else:
                shared(crowd, result)


if __name__ == "__main__":
    main()
