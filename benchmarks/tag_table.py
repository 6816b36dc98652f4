"""The crowd layer's table on tags: spans that taggers find on the test split of conll_ner, a line per run.

    python -m benchmarks.tag_table --seeds 6

``--split valid`` judges on the held-out training sentences, on which settings are chosen. ``--embedding 128
--filters 512 --epochs 30`` is nearer to the paper's network, and needs a GPU.
"""

from __future__ import annotations

import argparse
from typing import Any

import pandas as pd

import crowdcore as cc
from crowdcore.analysis.method_tests import signed_rank
from crowdcore.learning import tagged_spans, train

VOTES = {"start": "votes"}
FIRST = {"vote_epochs": 0.25}  # the network alone, on the majority vote; the authors' code: 5 epochs before 30
ROWS: dict[str, tuple[str, dict[str, Any]]] = {
    "DL-MV": ("dl-mv", {}),
    "DL-CL (VW+B)": ("crowd-layer", {"connection": "vw+b", **VOTES}),
    "DL-CL (MW)": ("crowd-layer", {"connection": "mw", **VOTES}),
    "DL-TRUE": ("dl-true", {}),
    "DL-CL (VW+B), pre-trained": ("crowd-layer", {"connection": "vw+b", **VOTES, **FIRST}),
    "DL-CL (MW), authors' code": ("crowd-layer", {"connection": "mw", "start": "identity", "noise_lr": 1, **FIRST}),
    "CoNAL": ("conal", VOTES),
    "DL-DN": ("doctor-net", {}),
    "DL-WDN": ("wdn", {}),
    "DL-EM": ("dl-em", {}),
    "DL-DS": ("dl-ds", {}),
    "DL-CL (VW)": ("crowd-layer", {"connection": "vw", **VOTES}),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", nargs="*", default=list(ROWS), choices=list(ROWS))
    parser.add_argument("--split", default="test", choices=["valid", "test"])
    for name, default in (("seeds", 6), ("epochs", 8), ("embedding", 64), ("filters", 64), ("hidden", 50)):
        parser.add_argument(f"--{name}", type=int, default=default)
    given = parser.parse_args()
    network = {name: getattr(given, name) for name in ("embedding", "filters", "hidden")}
    training = {"epochs": given.epochs, "lr": 3e-3, "schedule": "cosine", "backbone_settings": network}
    dataset = cc.load_dataset("conll_ner")
    runs: list[pd.DataFrame] = []
    for seed in range(given.seeds):
        for name in given.rows:
            method, own = ROWS[name]
            result = train(dataset, method, seeds=[seed], **training, **own)
            spans = tagged_spans(dataset, result, given.split).assign(row=name)
            print(spans.to_csv(index=False, header=not runs, float_format="%.4f").strip(), flush=True)
            runs.append(spans)
    table = pd.concat(runs).set_index(["seed", "row"])
    for row, group in table.groupby("row", sort=False):
        several = len(group) > 1
        print(row, "; ".join(f"{m} {v.mean():.3f}" + f" ± {v.std():.3f}" * several for m, v in group.items()))
    f1 = table["f1"].unstack()
    for name in given.rows if "DL-MV" in f1 else ():
        gap = (f1[name] - f1["DL-MV"]).to_numpy()
        if name != "DL-MV":
            print(f"{name} − DL-MV: F1 {gap.mean():+.3f}, p = {signed_rank(gap):.3g} over {len(gap)} seeds")


if __name__ == "__main__":
    main()
