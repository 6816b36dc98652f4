"""CRF-MA beside the same field learnt from aggregated tags and from gold: spans on training and on new sentences.

``CROWDCORE_DATA=… python -m benchmarks.crf [dataset]`` (default: conll_ner) prints a row for each, in %, with the
objective of CRF-MA, Spearman's correlation of the workers' reliabilities with the F1 of their spans, and processor
seconds. ``python -m benchmarks.crf simulated`` prints the F1 of both starts on 20 simulated crowds, and of the tags
they start from.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Literal, TypeAlias

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

import crowdcore as cc
from crowdcore.core.types import IntArray
from crowdcore.data.simulate import spans, tags

Start: TypeAlias = Literal["votes", "bsc-seq"]
STARTS: tuple[Start, ...] = ("votes", "bsc-seq")


def of_one_worker(dataset: cc.CrowdDataset, labels: IntArray) -> cc.CrowdDataset:
    """The crowd whose only worker gave these tags."""
    task = np.flatnonzero(labels >= 0)
    parts = {"task": task, "worker": np.zeros(len(task), np.int32), "label": labels[task]}
    return replace(dataset, worker_ids=pd.Index(["one"]), extra=None, file_row=None, truth=None, **parts)  # type: ignore[arg-type]


def measured(name: str, dataset: cc.CrowdDataset, crowd: cc.CrowdDataset, start: Start = "bsc-seq") -> None:
    began = time.process_time()
    result = cc.aggregation.CRFMA(start=start).fit(crowd)
    seconds = time.process_time() - began
    assert dataset.sentences is not None and result.tagger is not None and result.worker_weight is not None
    labels = result.tagger.tag_new(dataset)
    cells = []
    for score in (cc.analysis.tagging_scores(dataset, result.labels), cc.analysis.tagging_scores(dataset, labels)):
        cells += [f"{100 * x:.1f}" for x in (score.precision, score.recall, score.f1)]
    if crowd is dataset:
        f1 = cc.analysis.span_scores(dataset, n_resamples=0).value[2]
        cells += [f"{result.log_likelihood[-1]:.0f}", f"{spearmanr(f1, result.worker_weight).statistic:.2f}"]
    else:
        cells += ["", ""]
    print("|", name, "|", " | ".join(cells), "|", f"{seconds:.0f} |", flush=True)


def main() -> None:
    dataset = cc.load_dataset(sys.argv[1] if sys.argv[1:] else "conll_ner")
    print(
        "| learnt from | training: precision | recall | F1 | test: precision | recall | F1 | objective | r | seconds |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    measured("the crowd (CRF-MA)", dataset, dataset)
    measured("the crowd (CRF-MA), from vote shares on", dataset, dataset, "votes")
    for name in ("majority-vote", "bsc-seq"):
        result = cc.aggregation.get(name).fit(dataset)
        measured(f"tags by {name}", dataset, of_one_worker(dataset, result.labels), "votes")
    measured("gold", dataset, of_one_worker(dataset, np.where(dataset.annotated, dataset.gold, -1)), "votes")


CROWDS: dict[str, Callable[..., cc.CrowdDataset]] = {
    "tokens confused": tags,
    "tokens confused, poor workers": partial(tags, worst=0.2, best=0.8),
    "spans": spans,
    "spans, most missed": partial(spans, missed=0.35, careless=3, careless_missed=0.8),
}


def simulated() -> None:
    """Print F1 in % on annotated and new sentences from both starts, five crowds a kind; how often BSC-seq's leads."""
    starts = "from votes | from bsc-seq | leads"
    print(f"| crowd | majority vote | bsc-seq | CRF-MA {starts} | new: {starts} |\n{9 * '|---'}|")
    for name, make in CROWDS.items():
        rows = []
        for seed in range(5):
            crowd = make(n_sentences=600, n_test=300, n_workers=12, per_sentence=3, seed=seed)
            fits = [cc.aggregation.CRFMA(start=start).fit(crowd) for start in STARTS]
            plain = [cc.aggregation.get(method).fit(crowd).labels for method in ("majority-vote", "bsc-seq")]
            labels = [*plain, *(fit.labels for fit in fits), *(fit.tagger.tag_new(crowd) for fit in fits if fit.tagger)]
            rows.append([cc.analysis.tagging_scores(crowd, label).f1 for label in labels])
        f1 = np.array(rows)
        mean, leads = 100 * f1.mean(0), [int((f1[:, k + 1] > f1[:, k]).sum()) for k in (2, 4)]
        cells = [f"{x:.1f}" for x in mean]
        print("|", " | ".join([name, *cells[:4], f"{leads[0]} of 5", *cells[4:], f"{leads[1]} of 5"]), "|", flush=True)


if __name__ == "__main__":
    simulated() if sys.argv[1:] == ["simulated"] else main()
