"""Run every benchmark, or those named: ``python -m benchmarks [dawid_skene …]``; each in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def main() -> int:
    names = sorted(p.stem for p in Path(__file__).parent.glob("[a-z]*.py"))
    wanted = sys.argv[1:] or names
    unknown = sorted(set(wanted) - set(names))
    if unknown:
        print(f"No benchmark called {', '.join(unknown)}. There are: {', '.join(names)}.", file=sys.stderr)
        return 2
    failed = []
    for name in wanted:
        print(f"\n===== {name} =====", flush=True)
        if subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], check=False).returncode:
            failed.append(name)
    if failed:
        print(f"\nFailed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
