"""Every fault on the results page names an existing test."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_row_names_a_test():
    rows = [
        line
        for line in (ROOT / "benchmarks/results/faults.md").read_text(encoding="utf-8").splitlines()
        if "::" in line
    ]
    assert len(rows) == 41
    for row in rows:
        path, name = re.search(r"`(tests/\S+\.py)::(test_\w+)` \|$", row).groups()
        tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
        assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, f"{path} has no {name}"
