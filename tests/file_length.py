"""Refuse tracked Python files of more than 500 lines: one idea per file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

LIMIT = 500


def main() -> int:
    files = subprocess.run(["git", "ls-files", "*.py"], check=True, capture_output=True, text=True).stdout
    long = [(f, n) for f in files.split() if (n := len(Path(f).read_text().splitlines())) > LIMIT]
    for name, lines in long:
        print(f"{name}: {lines} lines, at most {LIMIT} allowed")
    return 1 if long else 0


if __name__ == "__main__":
    sys.exit(main())
