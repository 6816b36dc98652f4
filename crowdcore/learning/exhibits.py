"""What there is to see of several results: each figure with its table, for the pages, the command line and reports.

Results come under the names that figures and tables call them by (`variation.names`).
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal, TypeAlias

import numpy as np
import pandas as pd

from crowdcore import analysis, figures
from crowdcore.core.types import FloatArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.figures import Exhibit
from crowdcore.learning import comparison, variation
from crowdcore.learning.result import At, TrainingResult

__all__ = [
    "AT_WORDS",
    "Results",
    "accuracies",
    "along",
    "calibration",
    "classes",
    "cost",
    "curve_metrics",
    "curves",
    "differences",
    "recovery",
    "scores",
    "seeds",
    "truth",
]

Results: TypeAlias = Mapping[str, TrainingResult]

AT_WORDS: Mapping[At, str] = {
    "selected": "Selected on validation",
    "last": "Last epoch",
    "best": "Best on test (optimistic)",
}
_OVER = "mean ± standard deviation over seeds"


def accuracies(results: Results) -> Exhibit:
    """Test accuracy in per cent, mean and standard deviation over seeds, in the three columns never mixed."""
    rows = []
    for name, result in results.items():
        said = comparison.row(result)
        columns: dict[str, float] = {}
        for at in comparison.AT:
            head = "best, optimistic" if at == "best" else at
            columns |= {f"{head} %": 100 * said[f"{at}_mean"], f"{head} ±": 100 * said[f"{at}_std"]}
        rows.append({"run": name, **columns, "seeds": len(result.seeds), "validated on": result.validated_on or "–"})
    notes = ("The best epoch on the test split is optimistic: compare it only with papers that report it.",)
    return Exhibit("accuracy", "Test accuracy", None, pd.DataFrame(rows), (*notes, *comparison.warnings(results)))


def seeds(results: Results, at: At = "selected") -> Exhibit:
    """Test accuracy of every seed."""
    reached = {name: comparison.accuracies(r) for name, r in results.items()}
    bands = [analysis.band(_drawn(name), r.method, [at], [reached[name][at]]) for name, r in results.items()]
    figure = figures.seed_accuracies([a[at] for a in reached.values()], bands, subtitle=f"{AT_WORDS[at]}, {_OVER}")
    rows = [pd.DataFrame(dict(reached[n])).assign(run=n, seed=r.seeds) for n, r in results.items()]
    return Exhibit("seeds", "Test accuracy of every seed", figure, pd.concat(rows)[["run", "seed", *comparison.AT]])


def classes(results: Results, at: Literal["selected", "last"] = "selected") -> Exhibit:
    """Accuracy among the test tasks of each class."""
    bands = comparison.class_bands(results, at)
    drawn = [replace(b, name=_drawn(b.name), x=np.array([_drawn(c) for c in b.x])) for b in bands]
    table = analysis.band_frame(bands, "class", "accuracy").rename(columns={"values": "seeds"})
    tasks: dict[tuple[str, str], int] = {}
    for name, r in results.items():
        gold = r.gold[r.split == comparison.TEST]
        n = np.bincount(gold[gold >= 0], minlength=len(r.classes)).tolist()
        tasks |= {(name, c): k for c, k in zip(r.classes, n, strict=True)}
    table["test tasks"] = [tasks[key] for key in zip(table["run"], table["class"], strict=True)]
    figure = figures.class_accuracy(drawn, subtitle=f"{AT_WORDS[at]}, {_OVER}")
    return Exhibit("classes", "Test accuracy per class", figure, table)


def scores(results: Results, at: Literal["selected", "last"] = "selected") -> Exhibit:
    """Accuracy, macro F1, negative log-likelihood and calibration error on the test split."""
    return Exhibit("scores", f"Scores on the test split, {AT_WORDS[at].lower()}", None, comparison.scores(results, at))


def cost(results: Results) -> Exhibit:
    """Device, time and throughput."""
    notes = ("Seconds are wall time, all seeds together; annotations/s count every seed and epoch.",)
    return Exhibit("cost", "Time and cost", None, comparison.cost(results), notes)


def differences(results: Results, at: At = "selected") -> tuple[Exhibit, Exhibit] | None:
    """Paired tests and the critical-difference diagram over the seeds that all have; None with too few of either."""
    reached = comparison.same_seeds(results, at)
    if len(reached) < 2 or len(next(iter(reached.values()))) < 2:
        return None
    tests, ranks = analysis.paired_tests(reached), analysis.critical_difference(reached)
    joined = f"mean rank over {ranks.n_blocks} seeds, 1 is best · joined: not apart at {ranks.level:.0%}"
    drawn = replace(ranks, names=tuple(map(_drawn, ranks.names)))
    figure = figures.critical_difference(drawn, {_drawn(n): r.method for n, r in results.items()}, subtitle=joined)
    return (
        Exhibit("paired-tests", "Paired tests over seeds (Wilcoxon, Holm)", None, tests.frame(), (tests.caveat,)),
        Exhibit("critical-difference", "Mean ranks and critical difference", figure, ranks.frame(), (ranks.caveat,)),
    )


def curve_metrics(results: Results) -> dict[str, str]:
    """Metric -> what it is, of all that any of the results followed; the most telling first."""
    found = dict.fromkeys(m for r in results.values() for m in r.curves)
    known = {m: words for m, words in comparison.METRICS.items() if m in found}
    return known | {m: m.replace("_", " ").capitalize() for m in found if m not in known}


def curves(results: Results, metric: str = "test_accuracy") -> Exhibit:
    """One metric over epochs."""
    having = {name: r for name, r in results.items() if metric in r.curves}
    bands, words = comparison.curve_bands(having, metric), curve_metrics(results).get(metric, metric)
    figure = figures.learning_curves(
        [replace(b, name=_drawn(b.name)) for b in bands],
        words,
        selected=[r.selected_epoch for r in having.values()],
        percent=metric.endswith("accuracy"),
        title=words,
        subtitle=f"{_OVER} · diamond: median of the selected epochs",
    )
    table = analysis.band_frame(bands, "epoch", metric).rename(columns={"values": "seeds"})
    return Exhibit(f"curves-{metric.replace('_', '-')}", f"{words} by epoch", figure, table)


def calibration(results: Results) -> Exhibit | None:
    """Reliability of the test posterior; None where no gold judges it."""
    found = {}
    for name, r in results.items():
        gold = r.gold[r.split == comparison.TEST]
        if (gold >= 0).any():
            found[name] = analysis.calibration_of_seeds(r.method, r.posterior("test"), gold)
    if not found:
        return None
    figure = figures.calibration({_drawn(n): c for n, c in found.items()}, title="Calibration on the test split")
    tables = [c.frame().rename(columns={"tasks": "labels"}).assign(run=n) for n, c in found.items()]
    table = pd.concat(tables, ignore_index=True)
    notes = ("All seeds together; the intervals count every task once, as seeds see the same tasks.",)
    return Exhibit(
        "calibration", "Share of right labels by their probability", figure, table[["run", *table.columns[:-1]]], notes
    )


def along(results: Sequence[TrainingResult], known: Sequence[variation.Facts], x: str, at: At = "selected") -> Exhibit:
    """Test accuracy along a setting or a property of the crowd."""
    reached = [comparison.accuracies(r)[at] for r in results]
    bands = variation.along(results, known, x, reached)
    words = variation.in_words(x)
    drawn = [replace(b, name=_drawn(b.name)) for b in bands]
    figure = figures.accuracy_along(
        drawn, words, title=f"Test accuracy by {words}", subtitle=f"{AT_WORDS[at]}, {_OVER}"
    )
    without = sorted({r.method for r, one in zip(results, known, strict=True) if x not in one})
    notes = (f"Left out, as they have no {words}: {', '.join(without)}.",) if without else ()
    name = "along-" + "-".join(words.split())
    return Exhibit(name, f"Test accuracy by {words}", figure, analysis.band_frame(bands, words, "accuracy"), notes)


def recovery(results: Results, dataset: CrowdDataset) -> Exhibit | None:
    """How near each result came to the truth that generated the crowd; None where none is known."""
    rows = []
    for name, result in results.items():
        found = comparison.recovery(result, dataset)
        if found:
            columns: dict[str, object] = {"run": name}
            for what, values in found.items():
                columns |= {what: values.mean(), f"{what} ±": values.std(ddof=1) if len(values) > 1 else np.nan}
            rows.append(columns)
    if not rows:
        return None
    notes = ("Recovery error: mean over workers and true classes of the squared distance of the rows, 0 to 2 (Tanno).",)
    return Exhibit("recovery", "How near the recovered confusions come to the truth", None, pd.DataFrame(rows), notes)


def truth(results: Results, dataset: CrowdDataset, worker: int | None, called: str = "") -> Exhibit | None:
    """The truth beside what each result recovered (CoNAL, Figs. 5 and 7): means over seeds on one colour scale.

    Args:
        results: those without such a confusion are left out.
        dataset: with its truth.
        worker: whose confusion; None: the common one.
        called: what to call the worker.
    """
    if dataset.truth is None:
        return None
    true = dataset.truth.common_confusion if worker is None else dataset.truth.worker_confusion
    if true is None:
        return None
    matrices: dict[str, FloatArray] = {"truth": np.asarray(true if worker is None else true[worker], np.float64)}
    for name, r in results.items():
        found = r.common_confusion if worker is None else r.worker_confusion
        learnt = None if found is None else found.mean(0) if worker is None else found[:, worker].mean(0)
        if learnt is not None and learnt.shape == matrices["truth"].shape:
            matrices[name] = learnt
    if len(matrices) == 1 or matrices["truth"].ndim != 2:
        return None
    what = "Common confusion" if worker is None else f"Confusion of {called or dataset.worker_ids[worker]}"
    figure = figures.confusion(
        list(matrices.values()),
        [_drawn(c) for c in dataset.classes],
        names=[_drawn(n) for n in matrices],
        title=_drawn(what),
        subtitle="what generated the labels, and what was learnt (mean over seeds)",
    )
    a, b = (axis.ravel() for axis in np.indices((dataset.n_classes, dataset.n_classes)))
    classes = np.array(dataset.classes, object)
    table = pd.DataFrame({"true": classes[a], "given": classes[b], **{n: m.ravel() for n, m in matrices.items()}})
    return Exhibit("truth-common" if worker is None else f"truth-worker-{worker + 1}", what, figure, table)


def _drawn(text: object) -> str:
    """Plotly reads tags in names."""
    return html.escape(str(text), quote=False)
