"""Mutated files of every format, read by crowdcore and by Python's csv and json (and pyarrow for Parquet).

Claim: no traceback, no hang, and no silent difference in rows, task and worker ids, labels or gold. A file is read (all
is equal), asked about (something is to be accepted; rows left out are counted) or refused.
`python -m benchmarks.fuzz_readers [FILES [FIRST_SEED]]`; a seed makes the same file again.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor

from testkit.fuzz_readers import many

FILES = 100_000


def main() -> int:
    n, first = (int(word) for word in (*sys.argv[1:3], *(FILES, 0)[len(sys.argv) - 1 :]))
    step = max(n // 100, 1)
    verdicts: Counter[tuple[str, str]] = Counter()
    faults: list[str] = []
    start = time.perf_counter()
    with ProcessPoolExecutor() as pool:
        for part, new in pool.map(many, [range(i, min(i + step, first + n)) for i in range(first, first + n, step)]):
            verdicts += part
            faults += new
            print(f"{verdicts.total() + len(faults):,} files, {len(faults)} differ", file=sys.stderr, flush=True)
    names = ("read", "asked", "refused")
    print(f"{n:,} files in {time.perf_counter() - start:.0f} s\n{'':22}" + "".join(f"{name:>10}" for name in names))
    for kind in sorted({kind for kind, _ in verdicts}):
        print(f"{kind:22}" + "".join(f"{verdicts[kind, name]:10,}" for name in names))
    print(*faults[:20], sep="\n\n")
    print(f"claim: no traceback, no hang, no silent difference; {len(faults)} of {n:,} files differ: "
          f"{'NOT met' if faults else 'met'}")  # fmt: skip
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
