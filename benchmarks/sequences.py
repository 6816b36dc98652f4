"""Aggregators of a crowd that tags tokens: token accuracy and spans, and the time for many sentences.

``CROWDCORE_DATA=… python -m benchmarks.sequences [dataset]`` prints a table for the tagged sentences with gold
(default: conll_ner). ``python -m benchmarks.sequences speed [sentences]`` simulates a crowd (default: 100,000
sentences, 5 workers each), and prints the processor seconds of reading it from Parquet, of the span scores of its
workers, and of each aggregator, with the peak of memory beside the size of the data.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from pathlib import Path

import crowdcore as cc

NAMES = ("majority-vote", "span-majority", "dawid-skene", "hmm-crowd", "bsc-seq")
FITS = [*((name, {}) for name in (*NAMES, "auto")), ("hmm-crowd", {"words": False}), ("bsc-seq", {"words": False})]


def main() -> None:
    if sys.argv[1:2] == ["speed"]:
        return speed(int(sys.argv[2]) if sys.argv[2:] else 100_000)
    dataset = cc.load_dataset(sys.argv[1] if sys.argv[1:] else "conll_ner")
    print("| method | token accuracy | precision | recall | F1 | processor seconds |\n|---|---|---|---|---|---|")
    for name, settings in FITS:
        began = time.process_time()
        labels = cc.aggregation.get(name, **settings).fit(dataset).labels
        seconds = time.process_time() - began
        scores = cc.analysis.tagging_scores(dataset, labels)
        title = name + "".join(f", {key}={value}" for key, value in settings.items())
        shares = (scores.token_accuracy, scores.precision, scores.recall, scores.f1)
        print("|", title, "|", " | ".join(f"{100 * x:.1f}" for x in shares), "|", f"{seconds:.1f} |", flush=True)
    return None


def speed(n_sentences: int) -> None:
    crowd = cc.data.simulate.tags(n_sentences=n_sentences, per_sentence=5, n_workers=200, types=("LOC", "PER", "ORG"))
    with tempfile.TemporaryDirectory() as folder:
        path = cc.data.write_folder(crowd, Path(folder) / "crowd")
        size = sum(file.stat().st_size for file in path.iterdir()) / 2**20
        del crowd
        began = time.process_time()
        crowd = cc.read_dataset(path)
        print(f"{crowd}; {size:.0f} MiB on disk")
        print(f"reading: {time.process_time() - began:.1f} s, peak {peak():.0f} MiB")
    began = time.process_time()
    cc.analysis.span_scores(crowd)
    print(f"span scores, 200 resamples: {time.process_time() - began:.1f} s, peak {peak():.0f} MiB")
    for name in NAMES:
        began = time.process_time()
        result = cc.aggregation.get(name).fit(crowd)
        seconds, steps = time.process_time() - began, max(len(result.log_likelihood), 1)
        f1 = cc.analysis.tagging_scores(crowd, result.labels).f1
        print(f"{name}: {seconds:.1f} s ({seconds / steps:.2f} s an iteration), F1 {f1:.3f}, peak {peak():.0f} MiB")


def peak() -> float:
    """Peak of this process's memory in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
