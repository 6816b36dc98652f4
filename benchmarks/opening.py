"""Opening large files of ratings and of tagged sentences, and aggregating them: time and memory.

``python -m benchmarks.opening [ratings] [sentences]`` simulates a million ratings and 100,000 sentences of five workers
each (or the given numbers), writes each in every format, and has a fresh process open it and aggregate. Claim: the
memory taken, beyond the libraries, is at most three times the file, in at most 30 seconds of processor time. Some
formats are compressed, or write one row for many annotations: printed beside them are the size of the same annotations
as a long CSV, the bytes of the opened dataset's arrays, a lower bound for reading, and those with the arrays of the
larger result, a lower bound for aggregating.
"""

from __future__ import annotations

import crowdcore as cc  # before pandas, as commands and the app import it: it chooses Arrow's memory pool

# isort: split
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.ratings import crowd
from crowdcore.core import compiled
from crowdcore.data import RatingDataset, write_conll, write_folder, write_long, write_wide
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.tags import find_spans, need_tags

TIMES, SECONDS = 3.0, 30.0
METHODS = {"ratings": ("mean", "raykar-em"), "sentences": ("majority-vote", "hmm-crowd")}


def main() -> int:
    n_ratings, n_sentences = (int(word) for word in (*sys.argv[1:3], *(1_000_000, 100_000)[len(sys.argv) - 1 :]))
    rated = crowd(0, n_ratings // 5, 1000, 5)[0]
    few = crowd(0, n_ratings // 5, 20, 5)[0]
    once = np.unique(few.task.astype(np.int64) * 20 + few.worker, return_index=True)[1]
    few = few.where(np.isin(np.arange(few.n_annotations), once))  # a wide table holds no repeats
    tagged = cc.data.simulate.tags(n_sentences=n_sentences, per_sentence=5, n_workers=200, types=("LOC", "PER", "ORG"))
    few_taggers = cc.data.simulate.tags(n_sentences=n_sentences, per_sentence=5, n_workers=20)
    print(
        "| what | file, MiB | as long CSV | arrays | with result | open, s | aggregate, s | memory, MiB: open | ",
        end="",
    )
    print("and aggregate | times the file | at least | times the CSV |")
    print(12 * "|---" + "|")
    met, plain = True, {}
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        for name, write in MADE.items():
            dataset = {"r": few if "wide" in name else rated, "s": few_taggers if "conll" in name else tagged}[name[0]]
            path = home / name.replace(" ", "-")
            write(dataset, path)
            size = sum(f.stat().st_size for f in path.iterdir()) if path.is_dir() else path.stat().st_size
            if id(dataset) not in plain:
                plain[id(dataset)] = write_long(dataset, home / "plain.csv").stat().st_size
            command = [sys.executable, "-m", "benchmarks.opening", "--open", name, str(path)]
            document = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
            times = document["memory"] / size
            spent = ", ".join(f"{method} {seconds:.1f}" for method, seconds in document["aggregate"].items())
            memory = document["memory_open"], document["memory"]
            sizes = size, plain[id(dataset)], document["arrays"], document["least"]
            mib = [f"{n / 2**20:.0f}" for n in (*sizes, *memory)]
            ratios = times, document["least"] / size, document["memory"] / plain[id(dataset)]
            cells = name, *mib[:4], f"{document['open']:.1f}", spent, *mib[4:], *(f"{ratio:.2f}" for ratio in ratios)
            print(f"| {' | '.join(cells)} |", flush=True)
            met = met and times <= TIMES and document["open"] + sum(document["aggregate"].values()) <= SECONDS
    print(f"claim: {TIMES:g} times the file, {SECONDS:g} s: {'met' if met else 'NOT met'}")
    return not met


def write_doccano(dataset: CrowdDataset, path: Path) -> None:
    """A line for each worker and sentence, as doccano wrote them when it named the user."""
    assert dataset.sentences is not None
    scheme, start = need_tags(dataset), dataset.sentences.start
    order = np.lexsort((dataset.task, dataset.worker))
    task, worker, label = (part[order] for part in (dataset.task, dataset.worker, dataset.label))
    sentence = dataset.sentences.of_task[task]
    first = np.ones(len(order), bool)
    first[1:] = (np.diff(sentence) != 0) | (np.diff(worker) != 0)
    spans = find_spans(label, first, scheme)
    words = dataset.sentences.words.to_numpy()
    lengths = np.array([len(word) + 1 for word in words])
    at = np.concatenate([[0], np.cumsum(lengths)])
    texts = [" ".join(words[a:b]) for a, b in pairwise(start)]
    begins = np.flatnonzero(first)
    edges = np.searchsorted(spans.start, np.append(begins, len(order)))
    with path.open("w", encoding="utf-8") as file:
        for turn, place in enumerate(begins):
            number = int(sentence[place])
            own = slice(edges[turn], edges[turn + 1])
            low = at[task[spans.start[own]]] - at[start[number]]
            high = at[task[spans.end[own] - 1] + 1] - 1 - at[start[number]]
            types = [scheme.types[kind] for kind in spans.type[own]]
            given = [*zip(low.tolist(), high.tolist(), types, strict=True)]
            name = str(dataset.worker_ids[worker[place]])
            record = {"id": number, "text": texts[number], "label": given, "username": name}
            file.write(json.dumps(record) + "\n")


MADE: dict[str, Callable[[Any, Path], Any]] = {
    "ratings long.csv": write_long,
    "ratings long.parquet": write_long,
    "ratings wide.csv": write_wide,
    "ratings folder": write_folder,
    "sentences conll": write_conll,
    "sentences spans.jsonl": write_doccano,
    "sentences folder": write_folder,
}


def opened(name: str, path: Path) -> None:
    """Open a file in this process and aggregate it; print seconds and bytes as JSON."""
    kind = name.partition(" ")[0]
    aggregators = [cc.aggregation.ratings.get(m) if kind == "ratings" else cc.aggregation.get(m) for m in METHODS[kind]]
    small = crowd(0, 20, 5, 3)[0] if kind == "ratings" else cc.data.simulate.tags(n_sentences=5)
    if "wide" in name:
        small = small.where(np.append(True, np.diff(small.task) > 0))
    large, compiled.LARGE = compiled.LARGE, 0  # so that Numba is loaded, too
    with tempfile.TemporaryDirectory() as folder:  # so that the imports of reading and aggregating do not count
        MADE[name](small, Path(folder) / path.name)
        read(name, Path(folder) / path.name)
    for aggregator in aggregators:
        aggregator.fit(small)
    compiled.LARGE = large
    before = memory("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins here
    began = time.process_time()
    dataset = read(name, path)
    values = {"open": time.process_time() - began, "aggregate": {}}
    values["memory_open"], values["arrays"] = memory("VmHWM") - before, array_bytes(dataset)
    values["least"] = values["arrays"]
    for method, aggregator in zip(METHODS[kind], aggregators, strict=True):
        began = time.process_time()
        result = aggregator.fit(dataset)
        values["aggregate"][method] = time.process_time() - began
        values["least"] = max(values["least"], values["arrays"] + array_bytes(result))
        del result
    print(json.dumps(values | {"memory": memory("VmHWM") - before}))


def read(name: str, path: Path) -> RatingDataset | CrowdDataset:
    """Read a file as its kind."""
    if name.startswith("ratings"):
        return cc.read_ratings(path, -2, 3, accept=True, **({"missing": []} if "wide" in name else {}))
    return cc.read_dataset(path, accept=True, unmarked="keep")


def array_bytes(whole: object) -> int:
    """Bytes of the arrays and ids of a dataset or result; of tagged sentences also those of the words."""
    parts = [*vars(whole).values()]
    if isinstance(whole, CrowdDataset) and whole.sentences:
        parts += vars(whole.sentences).values()
    return sum(part.nbytes for part in parts if isinstance(part, np.ndarray | pd.Index))


def memory(key: str) -> int:
    """Bytes by a line of this process's status."""
    lines = Path(f"/proc/{os.getpid()}/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith(key)).split()[1])


if __name__ == "__main__":
    if sys.argv[1:2] == ["--open"]:
        opened(sys.argv[2], Path(sys.argv[3]))
    else:
        sys.exit(main())
