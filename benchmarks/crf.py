"""CRF-MA beside the same field learnt from aggregated tags and from gold: spans on training and on new sentences.

``CROWDCORE_DATA=… python -m benchmarks.crf [dataset]`` (default: conll_ner) prints a row for each, in %, with the
objective of CRF-MA, Spearman's correlation of the workers' reliabilities with the F1 of their spans, and processor
seconds.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

import crowdcore as cc
from crowdcore.aggregation import AggregationResult
from crowdcore.core.types import IntArray


def of_one_worker(dataset: cc.CrowdDataset, labels: IntArray) -> cc.CrowdDataset:
    """The crowd whose only worker gave these tags."""
    task = np.flatnonzero(labels >= 0)
    parts = {"task": task, "worker": np.zeros(len(task), np.int32), "label": labels[task]}
    return replace(dataset, worker_ids=pd.Index(["one"]), extra=None, file_row=None, truth=None, **parts)  # type: ignore[arg-type]


def measured(
    name: str, dataset: cc.CrowdDataset, crowd: cc.CrowdDataset, start: AggregationResult | None = None
) -> None:
    began = time.process_time()
    result = cc.aggregation.CRFMA().fit(crowd, start=start)
    seconds = time.process_time() - began
    assert dataset.sentences is not None and result.tagger is not None and result.worker_weight is not None
    labels = result.tagger.tag_new(dataset)
    cells = []
    for found in (cc.analysis.tagging_scores(dataset, result.labels), cc.analysis.tagging_scores(dataset, labels)):
        cells += [f"{100 * x:.1f}" for x in (found.precision, found.recall, found.f1)]
    if crowd is dataset:
        f1 = cc.analysis.span_scores(dataset, resamples=0).value[2]
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
    found = {name: cc.aggregation.get(name).fit(dataset) for name in ("majority-vote", "bsc-seq")}
    measured("the crowd (CRF-MA), from bsc-seq on", dataset, dataset, start=found["bsc-seq"])
    for name, result in found.items():
        measured(f"tags by {name}", dataset, of_one_worker(dataset, result.labels))
    measured("gold", dataset, of_one_worker(dataset, np.where(dataset.annotated, dataset.gold, -1)))


if __name__ == "__main__":
    main()
