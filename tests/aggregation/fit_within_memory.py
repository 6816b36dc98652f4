"""Run by `test_partitions`: peak memory in MB, above the imports, of a fit in memory or over partitions."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pandas as pd

import crowdcore as cc


def peak() -> float:
    """Highest resident memory of this process in MB."""
    return int(re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[1]) / 1024


def main(how: str, source: str, out: str) -> None:
    model = cc.aggregation.get("dawid-skene", max_iterations=2)
    warm = Path(source) / "warm"
    cc.aggregation.fit_partitions(warm, model, f"{out}-warm")
    model.fit(cc.from_frame(pd.read_parquet(warm)))
    before = peak()
    if how == "memory":
        model.fit(cc.from_frame(pd.read_parquet(Path(source) / "big")))
    else:
        cc.aggregation.fit_partitions(Path(source) / "big", model, out, memory_limit=int(how))
    print(peak() - before)


if __name__ == "__main__":
    main(*sys.argv[1:])
