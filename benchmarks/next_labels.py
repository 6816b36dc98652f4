"""Does `next_labels` buy more accuracy than labels at random, or than labels for the most uncertain tasks?

Real crowds with gold. All but one label per task (two where tasks have five or more) are hidden; in ten batches half of
the hidden ones are revealed, chosen among the annotations that exist, and the truth is inferred anew by five iterations
of pooled Dawid–Skene from the votes.

- random: any hidden annotation;
- entropy: of the tasks with the most uncertain posterior, one hidden annotation each, of any worker;
- information: `next_labels`, task and worker by the information about the class;
- with workers: the same with ``explore=1``, the information about class and confusion together.

Gold is for the curve alone. Seeds differ in the labels shown at the start and in random choices; the crowd is the same,
so bands over seeds say nothing of other crowds. ``python -m benchmarks.next_labels [SEEDS [DATASET …]]``, 20 seeds and
seven sets by default; writes ``benchmarks/results/next-labels.png`` where all were run.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd

import crowdcore as cc
from crowdcore import aggregation
from crowdcore.analysis.labels.next_labels import FIT, next_labels
from crowdcore.core.types import BoolArray, FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.subset import take_tasks

SETS = ("bluebird", "rte", "temp", "cifar10s", "labelme", "music", "leaves")
STRATEGIES = ("random", "entropy", "information", "with workers")
BATCHES, SHARE = 10, 0.5
PICTURE = Path(__file__).resolve().parent / "results" / "next-labels.png"


def crowd(name: str) -> CrowdDataset:
    """Annotated tasks with gold; of a worker's repeats on a task the first label."""
    ds = cc.load_dataset(name)
    ds = take_tasks(ds, np.flatnonzero(ds.annotated & (ds.gold >= 0)))
    first = np.unique(ds.task.astype(np.int64) * ds.n_workers + ds.worker, return_index=True)[1]
    return ds.where(np.isin(np.arange(ds.n_annotations), first))


def shown_first(ds: CrowdDataset, labels: int, rng: np.random.Generator) -> BoolArray:
    """(n_annotations,) so many random labels of each task."""
    order = np.lexsort((rng.random(ds.n_annotations), ds.task))
    place = np.arange(ds.n_annotations) - ds.task_start[ds.task]
    shown = np.zeros(ds.n_annotations, bool)
    shown[order[place < labels]] = True
    return shown


def chosen(ds: CrowdDataset, shown: BoolArray, n: int, strategy: str, rng: np.random.Generator) -> IntArray:
    """Numbers of the annotations to reveal."""
    hidden = rng.permutation(np.flatnonzero(~shown))
    if strategy == "random":
        return hidden[:n]
    known = ds.where(shown)
    fit = aggregation.get("pooled-dawid-skene", **FIT).fit(known)
    if strategy == "entropy":
        entropy = -(fit.posterior * np.log(np.maximum(fit.posterior, 1e-300))).sum(1)
        task = ds.task[hidden]
        turn = pd.Series(task).groupby(task).cumcount().to_numpy()  # each task's first hidden label, then second, …
        return hidden[np.lexsort((-entropy[task], turn))[:n]]
    open_pairs = np.zeros((ds.n_tasks, ds.n_workers), bool)
    open_pairs[ds.task[hidden], ds.worker[hidden]] = True
    explore = 1.0 if strategy == "with workers" else 0.0
    found = next_labels(known, n, fit=fit, open_pairs=open_pairs, explore=explore)
    row = np.full((ds.n_tasks, ds.n_workers), -1)
    row[ds.task[hidden], ds.worker[hidden]] = hidden
    picked = row[found.task, found.worker]
    rest = hidden[~np.isin(hidden, picked)]  # where nothing is expected to tell anything: at random
    return np.r_[picked, rest[: n - len(picked)]]


def curve(ds: CrowdDataset, strategy: str, seed: int) -> FloatArray:
    """(BATCHES + 1,) accuracy against gold along the budget."""
    rng = np.random.default_rng(seed)
    shown = shown_first(ds, 2 if ds.n_annotations >= 5 * ds.n_tasks else 1, rng)
    batch = round(SHARE * (~shown).sum() / BATCHES)
    found = []
    for step in range(BATCHES + 1):
        labels = aggregation.get("pooled-dawid-skene", **FIT).fit(ds.where(shown)).labels
        found.append(float((labels == ds.gold).mean()))
        if step < BATCHES:
            shown[chosen(ds, shown, batch, strategy, rng)] = True
    return np.array(found)


def draw(curves: dict[str, FloatArray], budgets: dict[str, FloatArray]) -> None:
    """Accuracy along the labels per task, a panel per set, with bands of one standard deviation over seeds."""
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    from crowdcore.figures.theme import PALETTE
    from tests.browser.pictures import small

    figure = make_subplots(4, 2, subplot_titles=list(curves), vertical_spacing=0.09, horizontal_spacing=0.1)
    for panel, (name, of) in enumerate(curves.items()):
        x = budgets[name]
        at = {"row": panel // 2 + 1, "col": panel % 2 + 1}
        for k, strategy in enumerate(STRATEGIES):
            mean, spread, color = 100 * of[k].mean(0), 100 * of[k].std(0), PALETTE[k]
            band = {"x": np.r_[x, x[::-1]], "y": np.r_[mean - spread, (mean + spread)[::-1]]}
            soft = {"fill": "toself", "fillcolor": color, "opacity": 0.15, "line_width": 0, "hoverinfo": "skip"}
            figure.add_trace(go.Scatter(**band, **soft, showlegend=False), **at)
            line = {"x": x, "y": mean, "name": strategy, "line_color": color, "mode": "lines"}
            figure.add_trace(go.Scatter(**line, showlegend=panel == 0), **at)
    figure.update_xaxes(title_text="labels per task", title_standoff=4)
    figure.update_yaxes(title_text="accuracy (%)", title_standoff=4)
    figure.update_layout(legend={"orientation": "h", "y": -0.06}, margin_t=50, paper_bgcolor="white")
    PICTURE.write_bytes(small(figure.to_image("png", width=900, height=1150, scale=1.5)))


def main() -> int:
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    names = sys.argv[2:] or list(SETS)
    curves, budgets, lines = {}, {}, []
    print(
        f"| set ({seeds} seeds) | labels per task | strategy | 10 % | 25 % | 50 % | along the budget | against random |"
    )
    print("|---|--:|---|--:|--:|--:|--:|--:|")
    for name in names:
        ds, began = crowd(name), time.process_time()
        found = np.array([[curve(ds, strategy, seed) for seed in range(seeds)] for strategy in STRATEGIES])
        start = 2 if ds.n_annotations >= 5 * ds.n_tasks else 1
        first = int(np.minimum(ds.labels_per_task, start).sum())
        steps = np.linspace(0, SHARE, BATCHES + 1)
        budgets[name], curves[name] = (first + steps * (ds.n_annotations - first)) / ds.n_tasks, found
        along = 100 * found[:, :, 1:].mean(2)  # mean over the budget, (strategy, seed)
        for k, strategy in enumerate(STRATEGIES):
            at = [100 * found[k, :, step].mean() for step in (2, 5, 10)]
            gaps = [along[k] - along[other] for other in (0, 1)]
            told = [
                f"{g.mean():+.1f} ± {g.std(ddof=1):.1f}" if k > other and seeds > 1 else ""
                for other, g in enumerate(gaps)
            ]
            span = f"{budgets[name][0]:.1f} to {budgets[name][-1]:.1f}"
            row = [name if not k else "", span if not k else "", strategy, *[f"{a:.1f}" for a in at]]
            print("| " + " | ".join([*row, f"{along[k].mean():.1f}", *told]) + " |", flush=True)
        lines.append(
            f"{name}: {100 * found[:, :, 0].mean():.1f} % at the start, {time.process_time() - began:.0f} s of CPU"
        )
    print("\n".join(["", *lines]))
    if not sys.argv[2:]:
        draw(curves, budgets)
    return 0


if __name__ == "__main__":
    sys.exit(main())
