"""Files that unfold to gigabytes: each is refused in one sentence, and its reader never grows; then the cost of safety.

    CROWDCORE_DATA=… python -m benchmarks.bombs

Printed: the sentence, the seconds until it came, and by how much this process (the app's part) grew; then the time to
open datasets in a child process beside the time to open them here.
"""

from __future__ import annotations

import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import crowdcore as cc
from crowdcore.core.confined import run_confined
from crowdcore.core.errors import CrowdError
from crowdcore.data import examine
from crowdcore.data.unpack import unpack_zip
from testkit import bombs

GROWTH, PATIENCE = 300, 330.0  # MiB, and seconds
DATASETS, REPEATS = ("demo", "labelme", "cifar10n"), 5


def zip_of_zeros(path: Path) -> Path:
    path.write_bytes(bombs.zipped({f"{n}": bytes(1 << 28) for n in range(20)}))
    return path


def csv_of_names(path: Path) -> Path:
    """43 MB of distinct names, which show only when it is read."""
    with path.open("w") as file:
        file.write("task,worker,label\n")
        for n in range(1_000_000):
            file.write(f"task {n:020d},worker {n:09d},{n % 5}\n")
    return path


BOMBS: tuple[tuple[Callable[[Path], Path], Callable[..., object], bool], ...] = (
    (lambda path: bombs.parquet_of_many_rows(path, 999_000_000), examine, True),
    (lambda path: bombs.parquet_of_long_cells(path, 1 << 29), examine, True),
    (bombs.csv_of_many_columns, examine, True),
    (zip_of_zeros, unpack_zip, True),
    (csv_of_names, examine, False),  # large, and whether it fits depends on the machine
)


def peak() -> int:
    """MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


def main() -> int:
    failed = False
    for make, read, must in BOMBS:
        with tempfile.TemporaryDirectory() as folder:
            file = make(Path(folder, "bomb"))
            size, before, began, text = file.stat().st_size, peak(), time.monotonic(), ""
            try:
                run_confined(read, file, *([file.with_suffix(".unpacked")] if read is unpack_zip else []))
            except CrowdError as refusal:
                text = str(refusal)
            seconds, grown = time.monotonic() - began, peak() - before
        failed |= (must and not text) or grown > GROWTH or seconds > PATIENCE
        print(f"{size / 1e6:8.1f} MB: {seconds:6.1f} s, grew by {grown:4} MiB: {text[:150] or 'it was read'}")
    for name in DATASETS:
        times: dict[bool, list[float]] = {False: [], True: []}
        for confined in [False, True] * REPEATS:
            began = time.perf_counter()
            run_confined(cc.load_dataset, name) if confined else cc.load_dataset(name)
            times[confined].append(time.perf_counter() - began)
        here, there = statistics.median(times[False]), statistics.median(times[True])
        print(f"{name}: opened here in {here:.3f} s, in a child in {there:.3f} s")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
