"""Does `next_labels` buy more accuracy than labels at random, or than labels for the most uncertain tasks?

Real crowds with gold. All but one label per task (two where tasks have five or more) are hidden; half of the hidden
ones are revealed in ten batches, and after each the truth is inferred anew by five iterations of pooled Dawid–Skene
from the votes.

- random: any hidden annotation;
- entropy: of the tasks with the most uncertain posterior, one hidden annotation each, of any worker;
- information: `next_labels`, task and worker by the information about the class;
- with workers: the same with ``explore=1``, the information about class and confusion together.

Gold is for the curve alone. Seeds differ in the labels shown at the start and in random choices; the crowd is the same,
so bands over seeds do not cover other crowds. ``python -m benchmarks.next_labels [SEEDS [DATASET …]]``, 20 seeds and
seven sets by default; writes ``benchmarks/results/next-labels.png`` if all were run.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

from crowdcore.core.types import FloatArray
from testkit.label_budget import BATCHES, SHARE, STRATEGIES, crowd, curve

SETS = ("bluebird", "rte", "temp", "cifar10s", "labelme", "music", "leaves")
PICTURE = Path(__file__).resolve().parent / "results" / "next-labels.png"


def draw(curves: dict[str, FloatArray], budgets: dict[str, FloatArray]) -> None:
    """Accuracy along the labels per task, a panel per set, with bands of one standard deviation over seeds."""
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    from crowdcore.figures.theme import PALETTE
    from testkit.steps import small

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
        scores = np.array([[curve(ds, strategy, seed) for seed in range(seeds)] for strategy in STRATEGIES])
        start = 2 if ds.n_annotations >= 5 * ds.n_tasks else 1
        first = int(np.minimum(ds.labels_per_task, start).sum())
        steps = np.linspace(0, SHARE, BATCHES + 1)
        budgets[name], curves[name] = (first + steps * (ds.n_annotations - first)) / ds.n_tasks, scores
        along = 100 * scores[:, :, 1:].mean(2)  # mean over the budget, (strategy, seed)
        for k, strategy in enumerate(STRATEGIES):
            at = [100 * scores[k, :, step].mean() for step in (2, 5, 10)]
            gaps = [along[k] - along[other] for other in (0, 1)]
            args = [
                f"{g.mean():+.1f} ± {g.std(ddof=1):.1f}" if k > other and seeds > 1 else ""
                for other, g in enumerate(gaps)
            ]
            span = f"{budgets[name][0]:.1f} to {budgets[name][-1]:.1f}"
            row = [name if not k else "", span if not k else "", strategy, *[f"{a:.1f}" for a in at]]
            print("| " + " | ".join([*row, f"{along[k].mean():.1f}", *args]) + " |", flush=True)
        lines.append(
            f"{name}: {100 * scores[:, :, 0].mean():.1f} % at the start, {time.process_time() - began:.0f} s of CPU"
        )
    print("\n".join(["", *lines]))
    if not sys.argv[2:]:
        draw(curves, budgets)
    return 0


if __name__ == "__main__":
    sys.exit(main())
