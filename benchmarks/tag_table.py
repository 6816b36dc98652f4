"""The crowd layer's table on tags: spans that taggers find on the test split of conll_ner, a line per run.

    python -m benchmarks.tag_table --seeds 5

``--embedding 128 --filters 512 --epochs 30`` is nearer to the paper's network, and takes a GPU.
"""

from __future__ import annotations

import argparse
from typing import Any

import pandas as pd

import crowdcore as cc
from crowdcore.analysis.evaluation.paired_tests import signed_rank
from crowdcore.learning import tagged_spans, train

ROWS: dict[str, tuple[str, dict[str, Any]]] = {
    "DL-MV": ("dl-mv", {}),
    "DL-CL (VW+B)": ("crowd-layer", {"connection": "vw+b", "start": "votes"}),
    "DL-CL (MW)": ("crowd-layer", {"connection": "mw", "start": "votes"}),
    "DL-CL (VW)": ("crowd-layer", {"connection": "vw", "start": "votes"}),
    "DL-DS": ("dl-ds", {}),
    "DL-EM": ("dl-em", {}),
    "DL-TRUE": ("dl-true", {}),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", nargs="*", default=list(ROWS), choices=list(ROWS))
    for name, default in (("seeds", 5), ("epochs", 8), ("embedding", 64), ("filters", 64), ("hidden", 50)):
        parser.add_argument(f"--{name}", type=int, default=default)
    given = parser.parse_args()
    network = {name: getattr(given, name) for name in ("embedding", "filters", "hidden")}
    training = {"epochs": given.epochs, "lr": 3e-3, "schedule": "cosine", "backbone_settings": network}
    dataset = cc.load_dataset("conll_ner")
    found: dict[str, pd.DataFrame] = {}
    for name in given.rows:
        method, own = ROWS[name]
        result = train(dataset, method, seeds=given.seeds, **training, **own)  # type: ignore[arg-type]
        found[name] = tagged_spans(dataset, result)
        told = found[name].drop(columns="seed")
        print(name, "; ".join(f"{m} {v.mean():.3f} ± {v.std():.3f}" for m, v in told.items()), flush=True)
    for name, table in found.items():
        if name != "DL-MV" and "DL-MV" in found:
            gap = table["f1"] - found["DL-MV"]["f1"]
            print(f"{name} − DL-MV: F1 {gap.mean():+.3f}, p = {signed_rank(gap.to_numpy()):.3g} over {len(gap)} seeds")


if __name__ == "__main__":
    main()
